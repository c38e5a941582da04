/**
 * How long cascades take: for each object that Kinfold deleted, the time since the deletion that
 * began its cascade.
 *
 * What must stay true: an object of which no deleted owner is remembered here has no time: neither
 * a guess nor zero.
 *
 * Not here: what is deleted, and when (core).
 */
import { factsOf } from '../../../core/graph/facts.ts'
import type { StateReader } from '../../../core/graph/graph.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import type { Event } from '../../../core/model/event.ts'
import { goneOf } from '../../../core/model/owner.ts'
import { objectKey } from '../../../core/model/partition.ts'
import { BoundedMap } from '../../../runtime/telemetry/bounded-map.ts'

/**
 * Deleted objects that are remembered, some 150 bytes each: of more, the oldest are forgotten, and
 * objects below them have no time.
 */
const REMEMBERED = 20_000

export class CascadeTimes {
  /**
   * By `objectKey`, of deleted objects: append time of the deletion that began their cascade, or of
   * their own.
   */
  readonly #beganMs: BoundedMap<string, number>

  constructor(most: number = REMEMBERED) {
    this.#beganMs = new BoundedMap(most)
  }

  /**
   * In milliseconds; undefined where the record says of no deletion by Kinfold, or nothing tells
   * when its cascade began. `graph`: with the record folded.
   */
  folded(event: Event, at: At, outcome: Outcome, graph: StateReader): number | undefined {
    if (event.type !== 'ObjectDeleted') return undefined
    const { cluster, object } = event
    const key = objectKey(cluster, object.uid)
    if (outcome.touched.get(key)?.last?.phase !== 'gone') return undefined
    const isOurs = goneOf(factsOf(graph, cluster).owner(object.uid, object))?.isOurs === true
    // Of several owners the one whose cascade began last: until then the object had an owner.
    const owners = object.ownerReferences.map(({ uid }) =>
      this.#beganMs.get(objectKey(cluster, uid)),
    )
    const known = owners.filter((ms) => ms !== undefined)
    const beganMs = isOurs && known.length > 0 ? Math.max(...known) : undefined
    if (!isOurs || beganMs !== undefined) this.#beganMs.set(key, beganMs ?? at.timestamp)
    return beganMs === undefined ? undefined : Math.max(0, at.timestamp - beganMs)
  }
}
