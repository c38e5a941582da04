/**
 * Objects that have the coordinates of a deleted owner under another uid: a user created it again,
 * or a backup tool restored it. `kubectl get` shows them, so an answer that says that an owner was
 * deleted has to name them, too.
 *
 * What must stay true: found by name in the index and then read from the graph, so only existing
 * objects are named; no decision depends on it.
 *
 * Not here: what the owner's absence counts for (core/judge/standing.ts).
 */
import type { Stand } from '../../../../core/judge/standing.ts'
import { standsOf } from '../../../../core/judge/standing.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { Coordinates, Uid } from '../../../../core/model/object.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { type Sight, WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'

/** An object may have thousands of references. */
const MOST_LOOKED_UP = 5

/**
 * The status of each reference of an object, and why, with the namesakes of owners that were
 * deleted.
 */
export async function standsWithNamesakes(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  node: Node,
  sight: Sight,
): Promise<readonly Stand[]> {
  const told: Stand[] = []
  let left = MOST_LOOKED_UP
  for (const stand of standsOf(view.facts, node)) {
    const isLookedUp = stand.standing === 'dangling' && left-- > 0
    const also = isLookedUp ? await namesakeOf(view, index, stand, sight) : ''
    told.push(also === '' ? stand : { ...stand, reason: `${stand.reason}; ${also}` })
  }
  return told
}

/** What to add to a verdict on an object; empty where no deleted owner has a namesake. */
export async function namesakeText(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  node: Node,
): Promise<string> {
  const dangling = standsOf(view.facts, node).filter(({ standing }) => standing === 'dangling')
  for (const stand of dangling.slice(0, MOST_LOOKED_UP)) {
    const also = await namesakeOf(view, index, stand, WHOLE)
    if (also !== '') return `; ${also}`
  }
  return ''
}

/** Of a moment of the past all that ever had the name: who had it then is seen in the graph. */
async function* uidsAt(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  place: Coordinates,
): AsyncIterable<Uid> {
  if (view.moment === null) return yield* index.namesOf(view.cluster).at(view.cluster, place)
  const { namespace, name } = place
  const asked = { cluster: view.cluster, namespaces: [namespace], name, isGone: true }
  for await (const [, { uid }] of index.namesOf(view.cluster).listed(asked, '')) yield uid
}

async function namesakeOf(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  { place, reference }: Stand,
  sight: Sight,
): Promise<string> {
  if (place === null) return ''
  for await (const uid of uidsAt(view, index, place)) {
    await view.turns.take()
    const node = uid === reference.uid ? undefined : view.node(uid)
    if (node === undefined || !isSamePlace(node.object, place)) continue
    if (!sight.isWhole && !(await sight.shows(node.object))) continue
    return `an object of that name exists, with another uid (${uid})`
  }
  return ''
}
