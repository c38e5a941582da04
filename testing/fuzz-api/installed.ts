/**
 * Schemathesis, which asks an endpoint all that its OpenAPI document permits, and much that it does
 * not: where the tests have it, and how it is installed.
 *
 * What must stay true: finding never fetches; where KINFOLD_REQUIRE_SERVERS is 1, as on CI, its
 * absence is an error. The folder is named for what is in requirements.txt, appears under its name
 * only when it is whole (made beside it, then renamed), and what is there already is left alone.
 *
 * Not here: running it (fuzz.ts), the command that installs it (../servers.ts).
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serversFolder } from '../cluster/binaries.ts'

export const SCHEMATHESIS = 'schemathesis'

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const INSTALL = [
  ['python3', '-m', 'venv', '.'],
  ['bin/python', '-m', 'pip', 'install', '--only-binary', ':all:', '-r', REQUIREMENTS],
] as const

function installedFolder(): string {
  const version = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12)
  return join(serversFolder(), `${SCHEMATHESIS}-${version}`)
}

/**
 * Its command: a module, since a script of a virtual environment names the folder that it was made
 * in.
 */
export function schemathesisCommand(): readonly [string, ...string[]] {
  return [join(installedFolder(), 'bin', 'python'), '-m', 'schemathesis.cli']
}

/**
 * The reason to skip a test that needs it, or undefined. Throws it where KINFOLD_REQUIRE_SERVERS is
 * 1.
 */
export function missingSchemathesis(): string | undefined {
  if (existsSync(installedFolder())) return undefined
  const missing = `${SCHEMATHESIS} not installed; run \`npm run servers ${SCHEMATHESIS}\``
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(missing)
  return `skipped: ${missing}`
}

/** Answers the sentence that says why it failed, if it did. */
export async function installSchemathesisUnlessThere(): Promise<string | undefined> {
  const folder = installedFolder()
  if (existsSync(folder)) {
    console.log(`${SCHEMATHESIS}: there already (${folder})`)
    return undefined
  }
  const began = performance.now()
  const unfinished = `${folder}.${process.pid}.unfinished`
  try {
    mkdirSync(unfinished, { recursive: true })
    for (const [command, ...args] of INSTALL) {
      const program = command.includes('/') ? join(unfinished, command) : command
      const options = { cwd: unfinished, encoding: 'utf8' } as const
      const { status, stdout, stderr } = spawnSync(program, args, options)
      if (status === 0) continue
      const logFile = `${folder}.install.log`
      writeFileSync(logFile, `${stdout ?? ''}${stderr ?? ''}`)
      return `${SCHEMATHESIS} was not installed by "${[command, ...args].join(' ')}": it needs Python 3.11 or newer with venv. The output is in ${logFile}.`
    }
    // Two runs at once end with the folder of one of them; either is whole.
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${SCHEMATHESIS}: installed in ${seconds} s (${folder})`)
  return undefined
}
