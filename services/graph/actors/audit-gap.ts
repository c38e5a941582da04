/**
 * Which moments of which audit logs are not whole: a record on the log for each five minutes of
 * each user of whom something was left out, so that every process says it, for as long as names are
 * kept.
 *
 * What must stay true: nothing is left out whose moment has no record; and however much is left
 * out, a cluster has a bounded number of these a day: beyond so many in the same five minutes one
 * for all users and namespaces, beyond so many a day one for all times.
 *
 * Not here: what is left out (audit-feed.ts), how it is said (query/index/actor-doubt.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ActorGap } from '../../../ports/record/service-record.ts'

export const GAP_MS = 300_000
const DAY_MS = 86_400_000
/** Users, each of a namespace, that are named of one five minutes. */
const MOST_NAMED = 20
const MOST_A_DAY = 5_000
/** Of all times, as far as keys have room. */
export const FOR_EVER = { from: 0, to: 9_999_999_999_999 }

export interface LeftOut extends Pick<ActorGap, 'namespace' | 'user' | 'cause'> {
  /** When it was answered, by the API server's clock. */
  readonly at: number
}

interface Written {
  day: number
  readonly keys: Set<string>
  /** Of five minutes. */
  readonly named: Map<number, number>
}

export class AuditGaps {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** By cluster: what is on the log already. Known clusters alone are let in. */
  readonly #written = new Map<ClusterId, Written>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** What has to be on the log for it; undefined: it is there. */
  missing(cluster: ClusterId, { namespace, user, cause, at }: LeftOut): ActorGap | undefined {
    const written = this.#of(cluster)
    const from = Math.floor(at / GAP_MS) * GAP_MS
    const anybody = { namespace: null, user: null }
    const exact = { namespace, user, from, to: from + GAP_MS }
    const ways =
      written.keys.size < MOST_A_DAY
        ? (written.named.get(from) ?? 0) < MOST_NAMED
          ? exact
          : { ...exact, ...anybody }
        : { ...anybody, ...FOR_EVER }
    const gap: ActorGap = { type: 'ActorGap', cluster, cause, ...ways }
    const all = [exact, { ...exact, ...anybody }, { ...anybody, ...FOR_EVER }]
    const isThere = all.some((each) => written.keys.has(keyOf({ ...gap, ...each })))
    return isThere ? undefined : gap
  }

  /** It is on the log. */
  wrote(gap: ActorGap): void {
    const { keys, named } = this.#of(gap.cluster)
    const key = keyOf(gap)
    if (keys.has(key)) return
    keys.add(key)
    if (gap.namespace !== null) named.set(gap.from, (named.get(gap.from) ?? 0) + 1)
  }

  #of(cluster: ClusterId): Written {
    const day = Math.floor(this.#clock.monotonicMs() / DAY_MS)
    const known = this.#written.get(cluster)
    if (known?.day === day) return known
    const fresh = { day, keys: new Set<string>(), named: new Map<number, number>() }
    this.#written.set(cluster, fresh)
    return fresh
  }
}

function keyOf({ namespace, user, cause, from, to }: ActorGap): string {
  return JSON.stringify([namespace, user, cause, from, to])
}
