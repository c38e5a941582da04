/**
 * Reasons to open a breaker: more deletions requested than on any ordinary day, a server that refuses most requests, a large share of a kind deleted at once.
 *
 * What must stay true: checked only where budgets count and commands are carried out; each count is bounded and covers the last minutes. Counted by namespace first;
 * the cluster's count takes from each namespace at most a quarter of what opens a breaker: so one namespace, or three, never open the breaker of all others.
 *
 * Not here: what an open breaker does (breaker.ts).
 */
import type { StateReader } from '../graph/graph.ts'
import { clusterOf, isNamed, kindOf, policyOf } from '../graph/graph.ts'
import { paceKey, shareKey } from '../graph/key.ts'
import type { Step } from '../graph/outcome.ts'
import { byNamespace, minuteOf, since, sumOf, withOne } from '../graph/window.ts'
import { standingOf } from '../judge/standing.ts'
import {
  BURST_LEAST,
  BURST_TIMES,
  MASS_COUNT,
  MASS_SHARE,
  REFUSED_LEAST,
} from '../model/constant.ts'
import type { CommandSettled } from '../model/event.ts'
import type { ClusterId, ObjectMeta } from '../model/object.ts'
import type { BudgetClass } from '../model/policy.ts'
import { limitOf } from '../model/policy.ts'
import type { Proof } from '../model/proof.ts'
import type { ClusterState, MinuteCounts, Pace } from '../model/state.ts'
import { isEnding } from '../observe/cause.ts'
import { closedAt, openBreaker } from './breaker.ts'

const MINUTE_MS = 60_000
const WINDOW_MINUTES = 10
/** The largest share of the cluster's limit that one namespace can reach. */
const NAMESPACE_SHARE = 0.25

export function isWatchful(graph: StateReader): boolean {
  const { budgets, mode } = policyOf(graph).policy
  return budgets !== null && mode === 'enforce'
}

function nowOf(step: Step, state: ClusterState): number {
  return Math.max(state.now, step.at.timestamp)
}

/** The minutes that count now: none before that breaker was closed. */
function counting(
  graph: StateReader,
  cluster: ClusterId,
  namespace: string,
  minutes: readonly MinuteCounts[],
  now: number,
): readonly MinuteCounts[] {
  const closed = Math.ceil(closedAt(graph, cluster, namespace) / MINUTE_MS)
  return since(minutes, Math.max(closed, minuteOf(now) - WINDOW_MINUTES + 1))
}

/** Counts the observations of the record, once its facts are written. */
export function countObservations(step: Step): void {
  for (const each of step.observations.splice(0)) {
    const cluster = each.type === 'result' ? each.event.cluster : each.cluster
    const state = clusterOf(step.graph, cluster)
    if (state === undefined) continue
    if (each.type === 'result') noteSettled(step, state, each.event)
    else noteDeparture(step, state, cluster, each.object, each.proof)
  }
}

/** So many have asked to be deleted, the last one in `namespace`. */
export function noteDemand(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  budget: BudgetClass,
  namespace: string,
  minutes: readonly MinuteCounts[],
  about: string,
): void {
  if (!isWatchful(step.graph)) return
  const limit = limitOf(policyOf(step.graph).policy.budgets, budget)
  const most = Math.max(BURST_TIMES * limit, BURST_LEAST)
  const now = nowOf(step, state)
  const opens = (asked: number): string | undefined =>
    asked > most ? demandText(budget, asked, limit, about) : undefined
  openFor(step, cluster, namespace, minutes, now, most, opens)
}

function demandText(budget: BudgetClass, asked: number, limit: number, about: string): string {
  const things = budget === 'deleted' ? 'deletions' : 'objects'
  const last = about === '' ? '' : `, the last one since ${about}`
  return `within ten minutes ${asked} ${things} of evidence ${budget} asked to go, of a budget of ${limit}${last}`
}

/** An owner was deleted by another actor, and neither with its namespace nor by the controller that owns it. */
function noteDeparture(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  object: ObjectMeta,
  proof: Proof,
): void {
  if (proof.class !== 'deleted' || proof.isOurs || !isWatchful(step.graph)) return
  const { namespace, uid, kind, name } = object
  if (isEnding(step.graph, cluster, namespace) || !isNamed(step.graph, cluster, uid, object)) return
  if (isOfLiveOwner(step.graph, cluster, object) || isSelfDeleting(object)) return
  const now = nowOf(step, state)
  const key = shareKey(cluster, object)
  const share = step.graph.get(key)
  const former = share?.type === 'Share' ? share.minutes : []
  const minutes = withOne(former, now, WINDOW_MINUTES, namespace)
  step.graph.put(key, { type: 'Share', minutes })
  const deleted = sumOf(byNamespace(since(minutes, minuteOf(now) - WINDOW_MINUTES + 1)))
  const all = deleted + (kindOf(step.graph, cluster, object)?.held.count ?? 0)
  const most = Math.max(MASS_COUNT, all * MASS_SHARE)
  const rest = `of ${all} objects of kind ${kind} were deleted that others hang on, the last one ${name}`
  const opens = (gone: number): string | undefined =>
    gone > most ? `within ten minutes ${gone} ${rest}` : undefined
  openFor(step, cluster, namespace, minutes, now, most, opens)
}

/** Its own owner lives: a controller replaces or cleans up its own objects. */
function isOfLiveOwner(graph: StateReader, cluster: ClusterId, object: ObjectMeta): boolean {
  return object.ownerReferences.some(
    (reference) => standingOf(graph, cluster, object, reference).standing === 'solid',
  )
}

/** Jobs have a time to live (`ttlSecondsAfterFinished`), which metadata does not show. */
function isSelfDeleting({ group, kind }: ObjectMeta): boolean {
  return group === 'batch' && kind === 'Job'
}

function openFor(
  step: Step,
  cluster: ClusterId,
  namespace: string,
  minutes: readonly MinuteCounts[],
  now: number,
  most: number,
  because: (count: number) => string | undefined,
): void {
  const inNamespace = counting(step.graph, cluster, namespace, minutes, now)
  const own = because(byNamespace(inNamespace).get(namespace) ?? 0)
  if (own !== undefined) openBreaker(step, cluster, namespace, own)
  const inAll = byNamespace(counting(step.graph, cluster, '', minutes, now))
  const all = because(sumOf(inAll, Math.floor(most * NAMESPACE_SHARE)))
  if (all !== undefined) openBreaker(step, cluster, '', all)
}

/**
 * A command that our own gate holds back is no answer of a server, and a dry run for lack of the lock (2xx) is no refusal. The cluster counts from one namespace at most a quarter
 * of the refusals that open its breaker.
 */
export function noteSettled(step: Step, state: ClusterState, event: CommandSettled): void {
  const { verb, outcome, code, place } = event
  if (verb === 'VerifyOwner' || verb === 'WarnObject' || !isWatchful(step.graph)) return
  const isRefused = outcome === 'blocked' && code !== null && code >= 400
  const own = pace(step, state, event, place.namespace, isRefused)
  const isOfAll = !isRefused || own.refused <= REFUSED_LEAST * NAMESPACE_SHARE
  if (place.namespace !== '' && isOfAll) pace(step, state, event, '', isRefused)
}

/** Counts one command of this minute, in a namespace or (empty) in the cluster. */
function pace(
  step: Step,
  state: ClusterState,
  { cluster, code, reason }: CommandSettled,
  namespace: string,
  isRefused: boolean,
): Pace {
  const minute = minuteOf(nowOf(step, state))
  const key = paceKey(cluster, namespace)
  const found = step.graph.get(key)
  const former = found?.type === 'Pace' && found.minute === minute ? found : NO_PACE
  const settled = former.settled + 1
  const refused = former.refused + Number(isRefused)
  const counted: Pace = { type: 'Pace', minute, settled, refused }
  step.graph.put(key, counted)
  const isCounted = minute * MINUTE_MS >= closedAt(step.graph, cluster, namespace)
  if (isCounted && isRefused && settled >= REFUSED_LEAST && refused * 2 > settled) {
    const because = `${refused} of ${settled} commands of a minute were refused, the last one with ${code}: ${reason}`
    openBreaker(step, cluster, namespace, because)
  }
  return counted
}

const NO_PACE = { settled: 0, refused: 0 }
