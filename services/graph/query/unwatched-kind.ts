/**
 * Kinds that a cluster serves and nobody watches, or has listed yet: why nothing of them was ever seen.
 *
 * What must stay true: it is told from the fold's own state, and never as an absence.
 *
 * Not here: which kinds are watched (services/watcher/catalog.ts).
 */
import { groupKindIn, kindsPrefix } from '../../../core/graph/key.ts'
import type { GroupKind } from '../../../core/model/object.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type { View } from './view.ts'

/** In words, of those that the question may mean: `Odd.x.io is not watched in north: its lists have no resourceVersion`. */
export async function unwatchedIn(
  view: View,
  isMeant: (kind: GroupKind) => boolean,
): Promise<readonly string[]> {
  const told: string[] = []
  for await (const [key, bytes] of view.entries(kindsPrefix(view.cluster))) {
    const known = groupKindIn(key)
    const value = view.codec.decode(bytes) as StateValue
    if (value.type !== 'Kind' || !isMeant(known)) continue
    const name = known.group === '' ? known.kind : `${known.kind}.${known.group}`
    if (value.phase === 'unmonitored') {
      told.push(`${name} is not watched in ${view.name}: ${value.reason}`)
    } else if (value.phase === 'unsynced') {
      told.push(`${name} is not listed in ${view.name} yet; /readyz?verbose says why`)
    }
  }
  return told
}
