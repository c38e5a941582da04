/**
 * Reads the counts of two collectors: the tallies of each cluster, and the newest objects on which
 * they disagree.
 *
 * What must stay true: an object that exists though Kinfold would have deleted it is counted when
 * the report is asked for, by the cluster's log time: so an unreachable cluster adds no
 * disagreement.
 */
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import type { Mode } from '../../../core/model/policy.ts'
import type { Evidence } from '../../../core/model/proof.ts'
import type { Store, StoreView } from '../../../ports/store.ts'
import { entriesIn, prefixRange } from '../../../ports/store.ts'
import type { Agreement, Would } from './shadow-case.ts'
import { quantile } from './shadow-lag.ts'

/** Log time that the other collector is given for what Kinfold would have taken at once. */
export const PATIENCE_MS: number = 2 * 60_000
/**
 * Cases kept of each cluster and sort, the newest; and as many reported of those that still exist.
 */
export const KEPT = 100
const PAGE_LIMIT = 500

/** One object that both do not agree on. */
export interface ShadowCase {
  readonly agreement: Exclude<Agreement, 'agreed'>
  readonly cluster: ClusterId
  readonly clusterName: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  readonly because: string
  readonly evidence: Evidence | null
  /** When it was deleted; of `ours` since when it would have been. */
  readonly at: number
}

export interface ShadowCount {
  readonly cluster: ClusterId
  readonly clusterName: string
  readonly agreed: number
  readonly theirs: number
  readonly ours: number
  readonly unclear: number
  /** Would go, and the other collector still has time for it. */
  readonly pending: number
  /** From the verdict to the other collector's delete; null before there was one. */
  readonly medianLagMs: number | null
  readonly p99LagMs: number | null
}

export interface ShadowReport {
  /** Null while nothing is compared. */
  readonly since: number | null
  readonly mode: Mode | null
  readonly patienceMs: number
  readonly clusters: readonly ShadowCount[]
  /** `theirs` and `ours`, then what is unclear; the newest of each cluster. */
  readonly cases: readonly ShadowCase[]
}

/** The stored tallies of a cluster. Of `ours` only those that were kept after all. */
export interface Tally {
  readonly clusterName: string
  readonly agreed: number
  readonly theirs: number
  readonly ours: number
  readonly unclear: number
  /** How many there ever were: the number of the next one. */
  readonly cases: number
  readonly lags: Readonly<Record<string, number>>
}

/** It would go, since `at`. */
export type Pending = ShadowCase & Would

export const NO_TALLY: Tally = {
  ...{ clusterName: '', agreed: 0, theirs: 0, ours: 0, unclear: 0, cases: 0 },
  lags: {},
}

interface Waiting {
  clusterName: string
  pending: number
  overdue: number
}

export async function readShadow(
  store: Store,
  now: (cluster: ClusterId) => number | undefined,
): Promise<Pick<ShadowReport, 'clusters' | 'cases'>> {
  await using view = store.view()
  const tallies = new Map<ClusterId, Tally>()
  for await (const [key, tally] of all<Tally>(view, 'tally/')) {
    tallies.set(decodeURIComponent(key.slice('tally/'.length)), tally)
  }
  const cases: ShadowCase[] = []
  for await (const [, told] of all<ShadowCase>(view, 'case/')) cases.push(told)
  const waiting = new Map<ClusterId, Waiting>()
  for await (const [, told] of all<Pending>(view, 'would/')) {
    const { cluster, clusterName } = told
    const count = waiting.get(cluster) ?? { clusterName, pending: 0, overdue: 0 }
    waiting.set(cluster, count)
    if (told.isHeld) continue
    if ((now(cluster) ?? 0) - told.at < PATIENCE_MS) count.pending += 1
    else if (++count.overdue <= KEPT) cases.push(still(told))
  }
  const clusters = [...new Set([...tallies.keys(), ...waiting.keys()])]
  return {
    clusters: clusters.map((each) => countOf(each, tallies.get(each), waiting.get(each))),
    cases: cases.sort(byAgreementAndTime),
  }
}

function countOf(cluster: ClusterId, tally = NO_TALLY, waiting?: Waiting): ShadowCount {
  const { agreed, theirs, ours, unclear, lags } = tally
  return {
    cluster,
    clusterName: tally.clusterName || (waiting?.clusterName ?? ''),
    agreed,
    theirs,
    ours: ours + (waiting?.overdue ?? 0),
    unclear,
    pending: waiting?.pending ?? 0,
    medianLagMs: quantile(lags, 0.5),
    p99LagMs: quantile(lags, 0.99),
  }
}

function still({ isHeld: _, ...told }: Pending): ShadowCase {
  return { ...told, because: `${told.because}; it is still there` }
}

async function* all<T>(view: StoreView, prefix: string): AsyncIterable<readonly [string, T]> {
  for await (const [key, bytes] of entriesIn(view, prefixRange(prefix, PAGE_LIMIT))) {
    yield [key, JSON.parse(Buffer.from(bytes).toString()) as T]
  }
}

const ORDER: readonly Agreement[] = ['theirs', 'ours', 'unclear']

function byAgreementAndTime(a: ShadowCase, b: ShadowCase): number {
  return ORDER.indexOf(a.agreement) - ORDER.indexOf(b.agreement) || b.at - a.at
}
