/**
 * The parts of a release that are made from the repository: its notes, the packages that are
 * installed with it, their licences, the bill of materials.
 *
 * What must stay true: a package whose licence is not on the list stops a release; no registry is
 * asked.
 *
 * Not here: the tarball, files, checksums (release.ts).
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Those that Apache-2.0 can be distributed with, without further duties than to pass their text on.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
])

export interface RuntimePackage {
  readonly path: string
  readonly name: string
  readonly version: string
  readonly licence: string
}

interface Locked {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
}

/** The packages of package-lock.json that are installed with Kinfold. */
export function runtimePackages(lock: string): readonly RuntimePackage[] {
  const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, Locked>> }
  return Object.entries(packages)
    .filter(([path, { dev, link }]) => path !== '' && dev !== true && link !== true)
    .map(([path, { version = '', license = '' }]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license,
    }))
}

/**
 * Packages whose code is in the page that the endpoint sends (page.ts): not installed, and
 * distributed all the same.
 */
export const BUNDLED: readonly string[] = ['d3-hierarchy', 'preact']

export function bundledPackages(lock: string): readonly RuntimePackage[] {
  const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, Locked>> }
  return BUNDLED.map((name) => {
    const path = `node_modules/${name}`
    const { version = '', license = '' } = packages[path] ?? {}
    return { path, name, version, licence: license }
  })
}

export function refusedLicences(packages: readonly RuntimePackage[]): readonly string[] {
  return packages
    .filter(({ licence }) => !ALLOWED.has(licence))
    .map(({ name, version, licence }) => `${name}@${version}: ${licence || 'no licence'}`)
}

/** Every package with its licence and, where the package has one, the text of it. */
export function licenceTexts(root: string, packages: readonly RuntimePackage[]): string {
  return packages
    .map(({ path, name, version, licence }) => {
      const folder = join(root, path)
      const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each))
      const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim()
      return `${name} ${version}\n${licence}\n\n${text === '' ? '(The package has no text of it.)' : text}\n`
    })
    .join(`\n${'-'.repeat(72)}\n\n`)
}

/** The notes of a version in the changelog; undefined where it does not have it. */
export function notesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1)
  const found = sections.find((each) => /^[\d.]+(?=[,\s])/.exec(each)?.[0] === version)
  if (found === undefined) return undefined
  return `# Kinfold ${version}\n\n${found.slice(found.indexOf('\n')).trim()}\n`
}

export interface BillOfMaterials {
  readonly bomFormat: string
  readonly specVersion: string
  readonly metadata: { readonly component: { name: string; readonly version: string } }
  readonly components: readonly {
    readonly name: string
    readonly version: string
    readonly purl: string
  }[]
}

/**
 * As npm writes it. It leaves out what the checkout itself takes for development, also where
 * Kinfold brings it along, so it sees what a user installs.
 */
export function billOfMaterials(root: string): BillOfMaterials {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-bill-'))
  try {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    const kept = new Set(runtimePackages(JSON.stringify(lock)).map(({ path }) => path))
    lock.packages = Object.fromEntries(
      Object.entries(lock.packages).filter(([path]) => path === '' || kept.has(path)),
    )
    for (const each of [manifest, lock.packages['']]) delete each.devDependencies
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
    const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 } as const
    const bill: BillOfMaterials = JSON.parse(execFileSync('npm', args, options))
    // npm calls it like the folder.
    bill.metadata.component.name = manifest.name
    const bundled = bundledPackages(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    return { ...bill, components: [...bill.components, ...bundled.map(componentOf)] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function componentOf({ name, version, licence }: RuntimePackage): {
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly object[]
} {
  const licenses = [{ license: { id: licence } }]
  return { type: 'library', name, version, purl: `pkg:npm/${name}@${version}`, licenses }
}
