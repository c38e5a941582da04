/**
 * The command `npm run release -- DIR [--url URL --homepage URL] [--executable]`: all files of a
 * release, in a new folder: the package, the client as a plugin of kubectl, notes, the bill of
 * materials, the licences of the packages that come with it, and checksums of these. If `--url`
 * says where the files will be, also the manifests for krew and Homebrew. `--executable` adds the
 * client for machines without Node, of 45 MB.
 *
 * What must stay true: it publishes nothing and changes nothing but the folder, and `dist`; a
 * version that the changelog does not have, or a licence that is not allowed, ends it. Exit codes:
 * 0 made, 2 bad input, 4 a failure.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { homebrewFormula, krewManifest, type ReleasedFile } from './channel.ts'
import { clientBundle, PLUGIN, packClient } from './client.ts'
import { canMakeExecutable, EXECUTABLE, PLATFORM, packExecutable } from './client-executable.ts'
import {
  billOfMaterials,
  bundledPackages,
  licenceTexts,
  notesOf,
  refusedLicences,
  runtimePackages,
} from './release-part.ts'

const ROOT = join(import.meta.dirname, '..', '..')

process.exitCode = await release(process.argv.slice(2))

async function release(words: readonly string[]): Promise<number> {
  let read: ReturnType<typeof flagsOf>
  try {
    read = flagsOf(words)
  } catch (error) {
    return fail(2, (error as Error).message)
  }
  const { folder, published, isExecutable } = read
  if (isExecutable && !canMakeExecutable()) return fail(2, '--executable is for Linux')
  if (existsSync(folder)) return fail(2, `${folder} is there already: name another folder`)
  const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
  const { version } = JSON.parse(text('package.json')) as { version: string }
  const notes = notesOf(text('CHANGELOG.md'), version)
  if (notes === undefined) return fail(2, `CHANGELOG.md has no section ${version}`)
  const lock = text('package-lock.json')
  const packages = [...runtimePackages(lock), ...bundledPackages(lock)]
  const refused = refusedLicences(packages)
  if (refused.length > 0) return fail(4, `licences that are not allowed: ${refused.join(', ')}`)

  const files = {
    'NOTES.md': notes,
    [`kinfold-${version}.cdx.json`]: `${JSON.stringify(billOfMaterials(ROOT), null, 2)}\n`,
    'THIRD-PARTY-LICENCES.txt': licenceTexts(ROOT, packages),
  }
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const pack = ['pack', '--loglevel=error', '--pack-destination', resolve(folder)]
  execFileSync('npm', pack, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  const client = `${PLUGIN}-${version}.tar.gz`
  const bundle = await clientBundle()
  packClient(bundle, join(folder, client))
  if (isExecutable) {
    packExecutable(bundle, join(folder, `${EXECUTABLE}-${version}-${PLATFORM}.tar.gz`))
  }
  if (published !== undefined) {
    const at = { version, ...published }
    const krew = krewManifest(at, released(folder, client))
    writeFileSync(join(folder, 'kinfold.krew.yaml'), krew)
    const formula = homebrewFormula(at, released(folder, `kinfold-${version}.tgz`))
    writeFileSync(join(folder, 'kinfold.rb'), formula)
  }
  writeFileSync(join(folder, 'SHA256SUMS'), checksums(folder))
  console.log(`${folder}: ${readdirSync(folder).join(', ')}`)
  return 0
}

/** Throws for wrong flags. */
function flagsOf(words: readonly string[]): {
  readonly folder: string
  readonly published: { readonly url: string; readonly homepage: string } | undefined
  readonly isExecutable: boolean
} {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      url: { type: 'string' },
      homepage: { type: 'string' },
      executable: { type: 'boolean', default: false },
    },
  })
  const [folder, ...more] = positionals
  if (folder === undefined || more.length > 0) throw new Error('expected a folder to make')
  const { url, homepage, executable: isExecutable } = values
  if (url === undefined && homepage === undefined) {
    return { folder, published: undefined, isExecutable }
  }
  for (const each of [url, homepage]) {
    // Both are written into files that package managers read as code.
    if (each === undefined || !/^https:\/\/[\w.-]+(\/[\w.~%+-]+)*\/?$/.test(each)) {
      throw new Error('expected --url and --homepage, each an https:// URL')
    }
  }
  const published = { url: url!.replace(/\/$/, ''), homepage: homepage! }
  return { folder, published, isExecutable }
}

/** As `sha256sum -c` reads them. */
function checksums(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => `${released(folder, name).sha256}  ${name}\n`)
  return lines.join('')
}

function released(folder: string, name: string): ReleasedFile {
  const content = readFileSync(join(folder, name))
  return { name, sha256: createHash('sha256').update(content).digest('hex') }
}

function fail(code: number, message: string): number {
  console.error(`error: ${message}`)
  return code
}
