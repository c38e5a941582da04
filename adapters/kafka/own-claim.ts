/**
 * What this process says of itself to its group, and when it has to say it again.
 *
 * What must stay true: it is said anew with each generation of the group, so every share is made
 * from what all members know by then. Between two generations only two things are worth another
 * one: a partition that waits for this process may move, or its load is another altogether.
 *
 * Not here: how shares are chosen (ports/share-out.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import { type Report, weightOf } from '../../ports/share-out.ts'
import type { Claim, Given } from './assignor.ts'

/** For so long a load is another before partitions move because of it. */
const LOAD_MS = 300_000
/** What was found ready so shortly before counts as ready, however it swings. */
const READY_MS = 5_000
/** How many times it has to be as much, or as little. */
const LOAD_RATIO = 2

export class OwnClaim {
  readonly #clock: Clock
  readonly #report: (() => Report) | undefined
  #claim: Claim
  #next: readonly number[] = []
  #saidMs: number
  /** As the group knows them: of a partition that is new to it a process knows nothing. */
  #loads: Report['loads'] = []
  #found: { readonly ready: readonly number[]; readonly atMs: number } | undefined

  constructor(
    { url, policy }: Pick<Claim, 'url' | 'policy'>,
    clock: Clock,
    report: (() => Report) | undefined,
  ) {
    this.#clock = clock
    this.#report = report
    this.#claim = { url, generation: -1, policy, active: [], standby: [] }
    this.#saidMs = clock.monotonicMs()
  }

  /** As it is now; from here on that counts as said. */
  say(): Claim {
    const nowMs = this.#clock.monotonicMs()
    this.#saidMs = nowMs
    const report = this.#report?.()
    if (report === undefined) return this.#claim
    const { ready: found = [], atMs = Number.NEGATIVE_INFINITY } = this.#found ?? {}
    const lately = nowMs - atMs <= READY_MS ? found : []
    const ready = [...new Set([...report.ready, ...lately])]
    this.#claim = { ...this.#claim, ready, loads: this.#loadsIn(report) }
    return this.#claim
  }

  given({ active, standby, next, leaving = [], loads }: Given, generation: number): void {
    const { url, policy, ready, loads: said } = this.#claim
    const report = { ...(ready && { ready }), ...(said && { loads: said }) }
    const kept = leaving.length > 0 && { leaving }
    this.#claim = { url, policy, generation, active, standby, ...kept, ...report }
    this.#next = next
    this.#loads = loads
    this.#found = undefined
  }

  #loadsIn({ loads }: Report): Report['loads'] {
    const known = new Set(loads.map(([partition]) => partition))
    const { active } = this.#claim
    const isUnknown = (partition: number): boolean =>
      active.includes(partition) && !known.has(partition)
    return [...loads, ...this.#loads.filter(([partition]) => isUnknown(partition))]
  }

  /** It answers for nothing yet, and is to. */
  get isPreparing(): boolean {
    return this.#claim.active.length === 0 && this.#next.length > 0
  }

  /** A new generation would change something. */
  get isOutdated(): boolean {
    const report = this.#report?.()
    if (report === undefined) return false
    const said = this.#claim.ready ?? []
    const isReady = (each: number): boolean => report.ready.includes(each) && !said.includes(each)
    const found = this.#next.filter(isReady)
    if (found.length > 0) {
      this.#found = { ready: found, atMs: this.#clock.monotonicMs() }
      return true
    }
    if (this.#clock.monotonicMs() - this.#saidMs < LOAD_MS) return false
    const [was, is] = [weightIn(this.#claim.loads ?? []), weightIn(this.#loadsIn(report))]
    return Math.max(was, is) >= LOAD_RATIO * Math.min(was, is)
  }
}

function weightIn(loads: Report['loads']): number {
  return loads.reduce((sum, [, events]) => sum + weightOf(events), 1)
}
