/**
 * Another version of this program: a copy of what runs, with another number of the package or of
 * the fold, beside the same packages.
 *
 * What must stay true: but for those numbers it is this checkout as it is now, tests left out.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = ['adapters', 'cli', 'core', 'playground', 'ports', 'runtime', 'schemas', 'services']
const POLICY = 'core/model/policy.ts'
const FOLD_VERSION = /^export const FOLD_VERSION = \d+$/m

export interface CheckoutVersions {
  /** Of the package. */
  readonly version?: string
  readonly foldVersion?: number
}

/** Into a folder that exists; resolves with the path of its `cli/main.ts`. */
export function copyCheckout(folder: string, { version, foldVersion }: CheckoutVersions): string {
  for (const name of FOLDERS) {
    const filter = (file: string): boolean => !file.endsWith('.test.ts')
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const described = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const text = JSON.stringify({ ...described, version: version ?? described.version }, null, 2)
  writeFileSync(join(folder, 'package.json'), `${text}\n`)
  if (foldVersion !== undefined) {
    const policy = readFileSync(join(folder, POLICY), 'utf8')
    if (!FOLD_VERSION.test(policy)) throw new Error(`${POLICY} has no FOLD_VERSION`)
    const other = policy.replace(FOLD_VERSION, `export const FOLD_VERSION = ${foldVersion}`)
    writeFileSync(join(folder, POLICY), other)
  }
  return join(folder, 'cli/main.ts')
}
