/**
 * The client as one executable, for machines without Node: the Node that runs this, with the bundle
 * inside.
 *
 * What must stay true: it is for the system and processor that it is made on, since only such a one
 * was ever run; the licences of Node and of the bundled packages are part of it.
 *
 * Not here: the bundle (client.ts). The program that runs Kinfold is no executable: it loads
 * LevelDB's addon and awaits at the top of modules.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ClientBundle, licencesOf, packed } from './client.ts'

export const EXECUTABLE = 'kinfold-client'
/** The platform of the executable. */
export const PLATFORM: string = `${process.platform}-${process.arch}`
/** Of Node, which checks there whether a program was put into it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const SHEBANG = /^#!.*\n/

/** macOS would refuse it until it is signed anew, and on Windows it is untested. */
export function canMakeExecutable(): boolean {
  return process.platform === 'linux'
}

/** Writes the executable, whole or not at all. */
export function makeExecutable({ code }: ClientBundle, file: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-executable-'))
  try {
    const at = (name: string): string => join(folder, name)
    const config = {
      main: at('client.cjs'),
      output: at('client.blob'),
      disableExperimentalSEAWarning: true,
      // These would hold for one Node and one processor only, and the start is short without.
      useSnapshot: false,
      useCodeCache: false,
    }
    writeFileSync(config.main, code.replace(SHEBANG, ''))
    writeFileSync(at('config.json'), JSON.stringify(config))
    const node = (...args: readonly string[]): unknown =>
      execFileSync(process.execPath, args, { stdio: 'pipe' })
    node('--experimental-sea-config', at('config.json'))
    copyFileSync(process.execPath, at(EXECUTABLE))
    chmodSync(at(EXECUTABLE), 0o755)
    const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js')
    node(postject, at(EXECUTABLE), 'NODE_SEA_BLOB', config.output, '--sentinel-fuse', FUSE)
    copyFileSync(at(EXECUTABLE), file)
    chmodSync(file, 0o755)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Writes a .tar.gz of it, with the licences. */
export function packExecutable(bundle: ClientBundle, file: string): void {
  packed(file, (folder) => {
    makeExecutable(bundle, join(folder, EXECUTABLE))
    writeFileSync(join(folder, 'THIRD-PARTY-LICENCES.txt'), licencesOf(bundle), { mode: 0o644 })
    copyFileSync(nodeLicence(), join(folder, 'NODE-LICENCE.txt'))
    chmodSync(join(folder, 'NODE-LICENCE.txt'), 0o644)
  })
}

/** As npm's package of Node and the distribution of Node have it. */
function nodeLicence(): string {
  const file = join(dirname(dirname(process.execPath)), 'LICENSE')
  if (!existsSync(file) || !/Node\.js is licensed/.test(readFileSync(file, 'utf8'))) {
    throw new Error(`${process.execPath} has no licence beside it: run it with the Node of npm ci`)
  }
  return file
}
