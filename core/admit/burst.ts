/**
 * Reasons to open a breaker: more deletions requested than on any ordinary day, a server that
 * refuses most requests, a large share of a kind deleted at once.
 *
 * What must stay true: checked only where budgets count and commands are carried out; each count is
 * bounded and covers the last minutes. Counted by namespace first; the cluster's count takes from
 * each namespace at most a quarter of what opens a breaker: so one namespace, or three, never open
 * the breaker of all others.
 *
 * Not here: what an open breaker does (breaker.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { RecordStep, Step } from '../graph/outcome.ts'
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
import type { ObjectMeta } from '../model/object.ts'
import type { BudgetClass } from '../model/policy.ts'
import { limitOf } from '../model/policy.ts'
import type { Proof } from '../model/proof.ts'
import type { ClusterState, MinuteCounts, Pace } from '../model/state.ts'
import { closedAt, openBreaker } from './breaker.ts'
import { countMade, noteListed } from './rule-hold.ts'

const MINUTE_MS = 60_000
const WINDOW_MINUTES = 10
/** The largest share of the cluster's limit that one namespace can reach. */
const NAMESPACE_SHARE = 0.25

export function isWatchful(facts: ClusterFacts): boolean {
  const { budgets, mode } = facts.policy.policy
  return budgets !== null && mode === 'enforce'
}

function nowOf(step: Step, state: ClusterState): number {
  return Math.max(state.now, step.at.timestamp)
}

/** The minutes that count now: none before that breaker was closed. */
function counting(
  facts: ClusterFacts,
  namespace: string,
  minutes: readonly MinuteCounts[],
  now: number,
): readonly MinuteCounts[] {
  const closed = Math.ceil(closedAt(facts, namespace) / MINUTE_MS)
  return since(minutes, Math.max(closed, minuteOf(now) - WINDOW_MINUTES + 1))
}

/** Counts the observations of the record, once its facts are written. */
export function countObservations(record: RecordStep): void {
  for (const each of record.observations.splice(0)) {
    const step = record.in(each.type === 'result' ? each.event.cluster : each.cluster)
    const { state } = step.graph
    if (state === undefined) continue
    if (each.type === 'result') noteSettled(step, state, each.event)
    else if (each.type === 'made') countMade(step, each.object, nowOf(step, state))
    else if (each.type === 'listed') noteListed(step, each.kind, nowOf(step, state))
    else noteDeparture(step, state, each.object, each.proof)
  }
}

/** So many have asked to be deleted, the last one in `namespace`. */
export function noteDemand(
  step: Step,
  state: ClusterState,
  budget: BudgetClass,
  namespace: string,
  minutes: readonly MinuteCounts[],
  about: string,
): void {
  if (!isWatchful(step.graph)) return
  const limit = limitOf(step.graph.policy.policy.budgets, budget)
  const most = Math.max(BURST_TIMES * limit, BURST_LEAST)
  const now = nowOf(step, state)
  const opens = (asked: number): string | undefined =>
    asked > most ? demandText(budget, asked, limit, about) : undefined
  openFor(step, namespace, minutes, now, most, opens)
}

function demandText(budget: BudgetClass, asked: number, limit: number, about: string): string {
  const things = budget === 'deleted' ? 'deletions' : 'objects'
  const last = about === '' ? '' : `, the last one since ${about}`
  return `within ten minutes ${asked} ${things} of evidence ${budget} asked to go, of a budget of ${limit}${last}`
}

/**
 * An owner was deleted by another actor, and neither with its namespace nor by the controller that
 * owns it.
 */
function noteDeparture(step: Step, state: ClusterState, object: ObjectMeta, proof: Proof): void {
  if (proof.class !== 'deleted' || proof.isOurs || !isWatchful(step.graph)) return
  const { namespace, uid, kind, name } = object
  if (step.graph.isEnding(namespace) || !step.graph.isNamed(uid, object)) return
  if (isOfLiveOwner(step.graph, object) || isSelfDeleting(object)) return
  const now = nowOf(step, state)
  const minutes = withOne(step.graph.share(object), now, WINDOW_MINUTES, namespace)
  step.graph.setShare(object, minutes)
  const deleted = sumOf(byNamespace(since(minutes, minuteOf(now) - WINDOW_MINUTES + 1)))
  const all = deleted + step.graph.members(object).count
  const most = Math.max(MASS_COUNT, all * MASS_SHARE)
  const rest = `of ${all} objects of kind ${kind} were deleted that others hang on, the last one ${name}`
  const opens = (gone: number): string | undefined =>
    gone > most ? `within ten minutes ${gone} ${rest}` : undefined
  openFor(step, namespace, minutes, now, most, opens)
}

/** Its own owner lives: a controller replaces or cleans up its own objects. */
function isOfLiveOwner(facts: ClusterFacts, object: ObjectMeta): boolean {
  return object.ownerReferences.some(
    (reference) => standingOf(facts, object, reference).standing === 'solid',
  )
}

/** Jobs have a time to live (`ttlSecondsAfterFinished`), which metadata does not show. */
function isSelfDeleting({ group, kind }: ObjectMeta): boolean {
  return group === 'batch' && kind === 'Job'
}

function openFor(
  step: Step,
  namespace: string,
  minutes: readonly MinuteCounts[],
  now: number,
  most: number,
  because: (count: number) => string | undefined,
): void {
  const inNamespace = counting(step.graph, namespace, minutes, now)
  const own = because(byNamespace(inNamespace).get(namespace) ?? 0)
  if (own !== undefined) openBreaker(step, namespace, own)
  const inAll = byNamespace(counting(step.graph, '', minutes, now))
  const all = because(sumOf(inAll, Math.floor(most * NAMESPACE_SHARE)))
  if (all !== undefined) openBreaker(step, '', all)
}

/**
 * A command that our own gate holds back is no answer of a server, and a dry run for lack of the
 * lock (2xx) is no refusal. The cluster counts from one namespace at most a quarter of the refusals
 * that open its breaker.
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
  { code, reason }: CommandSettled,
  namespace: string,
  isRefused: boolean,
): Pace {
  const minute = minuteOf(nowOf(step, state))
  const found = step.graph.pace(namespace)
  const former = found?.minute === minute ? found : NO_PACE
  const settled = former.settled + 1
  const refused = former.refused + Number(isRefused)
  const counted: Pace = { type: 'Pace', minute, settled, refused }
  step.graph.setPace(namespace, counted)
  const isCounted = minute * MINUTE_MS >= closedAt(step.graph, namespace)
  if (isCounted && isRefused && settled >= REFUSED_LEAST && refused * 2 > settled) {
    const because = `${refused} of ${settled} commands of a minute were refused, the last one with ${code}: ${reason}`
    openBreaker(step, namespace, because)
  }
  return counted
}

const NO_PACE = { settled: 0, refused: 0 }
