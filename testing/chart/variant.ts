/**
 * The output of Helm for the chart with the value files below deploy/helm/kinfold/ci: the variants
 * that tests judge.
 *
 * What must stay true: each value file there is a variant; none is left out.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Manifest } from '../../cli/setup/role-manifest.ts'
import { CHART, rendered } from '../../scripts/chart.ts'

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))
const VALUE_FILES = join(ROOT, CHART, 'ci')

/** Names of value files. */
export function variants(): readonly string[] {
  return readdirSync(VALUE_FILES).sort()
}

export function valueFile(variant: string): string {
  return join(VALUE_FILES, variant)
}

export function render(variant: string, ...args: readonly string[]): readonly Manifest[] {
  return rendered(ROOT, ['--values', valueFile(variant), ...args])
}

/**
 * Of the Prometheus operator, whose CustomResourceDefinitions the test's API server does not have.
 */
export function isOfOperator({ apiVersion }: Manifest): boolean {
  return apiVersion.startsWith('monitoring.coreos.com/')
}

export function named(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter(
    (each) => each.kind === kind && (name === undefined || each.metadata['name'] === name),
  )
  const [first] = found
  if (first === undefined || found.length > 1) {
    throw new Error(`there are ${found.length} ${kind} ${name ?? ''}`)
  }
  return first
}
