/**
 * Rules that only report: what they are about is not Kinfold's to delete.
 *
 * What must stay true: no order enforces one.
 */
import type { GroupKind } from './group-kind.ts'

/** As `KIND.GROUP`, and why. */
const REPORTED: Readonly<Record<string, string>> = {
  'PersistentVolume.': 'it is storage, which only its provisioner deletes',
}

/** Why nothing enforces it; empty where an order can. */
export function reportsBecause({ kinds }: { readonly kinds: readonly GroupKind[] }): string {
  for (const { group, kind } of kinds) {
    const why = REPORTED[`${kind}.${group}`]
    if (why !== undefined) return `${kind}: ${why}`
  }
  return ''
}
