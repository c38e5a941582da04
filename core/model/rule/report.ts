/**
 * Rules that only report: what they are about is not Kinfold's to delete.
 *
 * What must stay true: no order enforces one.
 */
import { isBinding } from '../use/binding-use.ts'
import type { GroupKind } from './group-kind.ts'

/** As `KIND.GROUP`, and why. */
const REPORTED: Readonly<Record<string, string>> = {
  'PersistentVolume.': 'it is storage, which only its provisioner deletes',
}

/** A role that is made again would be bound to no subject. */
const BINDINGS_STAY = 'what it names may be made again, and is bound again then'

/** Of a whole rule; empty where an order can enforce it. */
export function reportOf({ match, unused }: Reporting): string {
  const binding = unused === null ? undefined : match.kinds.find(isBinding)
  return reportsBecause(match) || (binding === undefined ? '' : `${binding.kind}: ${BINDINGS_STAY}`)
}

interface Reporting {
  readonly match: { readonly kinds: readonly GroupKind[] }
  readonly unused: unknown
}

/** Why nothing enforces a rule about these kinds; empty where an order can. */
export function reportsBecause({ kinds }: { readonly kinds: readonly GroupKind[] }): string {
  for (const { group, kind } of kinds) {
    const why = REPORTED[`${kind}.${group}`]
    if (why !== undefined) return `${kind}: ${why}`
  }
  return ''
}
