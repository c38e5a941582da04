/**
 * The command `npm run release -- DIR`: all files of a release, in a new folder: the package, its notes, its bill of materials, the licences of what comes with it, and
 * checksums of these.
 *
 * What must stay true: it publishes nothing and changes nothing but the folder, and `dist`; a version that the changelog does not have, or a licence that is not allowed,
 * ends it. Exit codes: 0 made, 2 bad input, 4 a failure.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  billOfMaterials,
  licenceTexts,
  notesOf,
  refusedLicences,
  runtimePackages,
} from './release-part.ts'

const ROOT = join(import.meta.dirname, '..')

process.exitCode = release(process.argv.slice(2))

function release([folder, ...more]: readonly string[]): number {
  if (folder === undefined || more.length > 0) return fail(2, 'expected a folder to make')
  if (existsSync(folder)) return fail(2, `${folder} is there already: name another folder`)
  const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
  const { version } = JSON.parse(text('package.json')) as { version: string }
  const notes = notesOf(text('CHANGELOG.md'), version)
  if (notes === undefined) return fail(2, `CHANGELOG.md has no section ${version}`)
  const packages = runtimePackages(text('package-lock.json'))
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
  writeFileSync(join(folder, 'SHA256SUMS'), checksums(folder))
  console.log(`${folder}: ${readdirSync(folder).join(', ')}`)
  return 0
}

/** As `sha256sum -c` reads them. */
function checksums(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => {
      const content = readFileSync(join(folder, name))
      return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`
    })
  return lines.join('')
}

function fail(code: number, message: string): number {
  console.error(`error: ${message}`)
  return code
}
