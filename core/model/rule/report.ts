/**
 * Rules that only report: what they are about is not Kinfold's to delete, or it is not sure enough
 * yet.
 *
 * What must stay true: no order enforces one.
 */
import type { RuleElsewhere } from './elsewhere.ts'
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

/**
 * The same, with what the endpoint takes no order for: the fold carries such a rule out, and is
 * tested with it (decision 0096, "What is left").
 */
export function onlyReportsBecause({
  match,
  elsewhere,
}: {
  readonly match: { readonly kinds: readonly GroupKind[] }
  readonly elsewhere: RuleElsewhere | null
}): string {
  if (elsewhere !== null) {
    return 'not every deletion in another cluster is told from a removal without one yet'
  }
  return reportsBecause(match)
}
