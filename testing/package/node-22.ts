/**
 * The oldest Node that the package runs on, for the test that installs it: its folder, and fetching
 * it by npm, as node-22/package-lock.json pins it.
 *
 * What must stay true: finding never fetches; the folder appears under its name only when it is
 * whole. It is outside the checkout, so no command of the checkout runs on it by mistake.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { serversFolder } from '../cluster/binaries.ts'

const PINNED = join(import.meta.dirname, 'node-22')
const { version } = JSON.parse(readFileSync(join(PINNED, 'package.json'), 'utf8')) as {
  version: string
}
export const OLDEST_NODE: string = version

/** Undefined where it is not there to be run. */
export function findOldestNode(): string | undefined {
  const name = `node-${process.platform}-${process.arch}`
  const file = join(folder(), 'node_modules', name, 'bin', 'node')
  return existsSync(file) ? file : undefined
}

/**
 * The reason to skip a test that needs it, or undefined. Throws it where KINFOLD_REQUIRE_SERVERS is
 * 1.
 */
export function missingOldestNode(): string | undefined {
  if (findOldestNode() !== undefined) return undefined
  const missing = `Node ${version} not fetched; run \`npm run servers\``
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(missing)
  return `skipped: ${missing}`
}

/** Answers the sentence that says why it failed, if it did. */
export async function fetchOldestNodeUnlessThere(): Promise<string | undefined> {
  if (findOldestNode() !== undefined) {
    console.log(`node-22: there already (${folder()})`)
    return undefined
  }
  const unfinished = `${folder()}.${process.pid}.unfinished`
  try {
    mkdirSync(serversFolder(), { recursive: true })
    cpSync(PINNED, unfinished, { recursive: true })
    const options = { cwd: unfinished, encoding: 'utf8', stdio: 'pipe' } as const
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], options)
    rmSync(folder(), { recursive: true, force: true })
    renameSync(unfinished, folder())
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    return `node-22 was not fetched: ${stderr || message}`
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  const isThere = findOldestNode() !== undefined
  const none = `there is none on npm for ${process.platform} on ${process.arch}`
  console.log(`node-22: ${isThere ? `fetched (${folder()})` : none}`)
  return undefined
}

function folder(): string {
  return join(serversFolder(), `node-${version}`)
}
