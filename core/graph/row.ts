/**
 * The rows of a page, such as the dependents of an owner or the tickets of a budget: what each
 * names, and which page has them.
 *
 * What must stay true: the rules take a row from a page and give it back here, to a question about
 * it or as the place where work continues; they never take it apart. That a row is the key of a
 * stored value is known below this file only.
 *
 * Not here: reading pages (services/graph), the keys themselves (key.ts).
 */

import { TURNS_PER_PAGE } from '../model/constant.ts'
import { lanes } from '../model/hash.ts'
import type { ClusterId, Coordinates, Uid } from '../model/object.ts'
import type { DependentsTodo } from '../model/state.ts'
import type { PageRequest } from './agenda.ts'
import type { ClusterFacts } from './facts.ts'
import {
  coordinatesIn,
  coordinatesPart,
  countKeyOfEdges,
  edgesPrefix,
  lastPart,
  padded,
  ruleTurnsPrefix,
  turned,
} from './key.ts'

/** The subject of a row: the dependent of an edge, the visited object of a search. */
export function subjectOf(row: string): Uid {
  return lastPart(row)
}

export function namespaceOfTicket(row: string): string {
  return decodeURIComponent(row.split('/')[3] ?? '')
}

export function namespaceOfTurn(row: string): string {
  return decodeURIComponent(row.split('/')[2] ?? '')
}

/** The place of an object among others: the oldest is the least, and who is first before it. */
export function keptOrder(isFirst: boolean, createdAt: number, uid: Uid): string {
  const tie = lanes(uid).map((lane) => padded(lane, 10))
  return [isFirst ? '0' : '1', padded(Math.max(0, createdAt), 15), ...tie].join('')
}

/** Of an object of which a rule keeps the newest, in either direction. */
export function orderOfKept(row: string): string {
  const [way = '', order = ''] = row.split('/').slice(-3)
  return way === 'up' ? order : turned(order)
}

/** After all tickets, or turns, of that one's namespace. */
export function endOfNamespace(row: string): string {
  return `${row.slice(0, row.lastIndexOf('/'))}/~`
}

/** The owner whose dependents are judged. */
export function ownerIn({ owner, place }: DependentsTodo): {
  readonly uid: Uid
  readonly place: Coordinates
} {
  return { uid: owner, place: coordinatesIn(place) }
}

/** Coordinates as a todo has them. */
export function placeText(place: Coordinates): string {
  return coordinatesPart(place)
}

/** The dependents that name an owner at coordinates; none where those are empty. */
export function pageOfDependents(
  cluster: ClusterId,
  { owner, place }: Pick<DependentsTodo, 'owner' | 'place'>,
): Pick<PageRequest, 'prefix' | 'countKey'> {
  const prefix = edgesPrefix(cluster, owner, place)
  return { prefix, countKey: countKeyOfEdges(prefix) }
}

/** The objects that wait for their turn. `cursor`: of the work; empty at first. */
export function pageOfTurns({ cluster, ruleTurns }: ClusterFacts, cursor: string): PageRequest {
  const prefix = ruleTurnsPrefix(cluster)
  const after = cursor === '' ? ruleTurns.cursor : cursor
  return { prefix, after, limit: TURNS_PER_PAGE, countKey: null }
}
