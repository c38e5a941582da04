/**
 * Reasons to open the breaker: more asked to go than any ordinary day does, servers that refuse most of what is asked, a large share of a kind deleted at once.
 *
 * What must stay true: looked at only where budgets count and something is done; each count is bounded and of the last minutes.
 *
 * Not here: what an open breaker does (breaker.ts).
 */
import { closedAt, openBreaker } from './breaker.ts'
import { BURST_LEAST, BURST_TIMES, REFUSED_LEAST } from './constant.ts'
import type { CommandSettled } from './event.ts'
import { dependentsElsewhere, dependentsOf, kindOf, policyOf } from './graph.ts'
import { endingKey, paceKey, shareKey } from './key.ts'
import type { ClusterId, ObjectMeta } from './object.ts'
import type { Step } from './outcome.ts'
import type { BudgetClass } from './policy.ts'
import { limitOf } from './policy.ts'
import type { Proof } from './proof.ts'
import { counting, deletedIn, isMass, shareText, tellShareSoon } from './share.ts'
import type { BudgetMinute, ClusterState, ShareMinute } from './state.ts'

const MINUTE_MS = 60_000

function isWatchful(step: Step): boolean {
  const { budgets, mode } = policyOf(step.graph).policy
  return budgets !== null && mode === 'enforce'
}

function nowOf(step: Step, state: ClusterState): number {
  return Math.max(state.now, step.at.timestamp)
}

/** At the cluster's home: so many tokens were asked for. */
export function noteDemand(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  budget: BudgetClass,
  minutes: readonly BudgetMinute[],
  about: string,
): void {
  if (!isWatchful(step)) return
  const counted = counting(step.graph, cluster, minutes, nowOf(step, state))
  const asked = counted.reduce((sum, each) => sum + each.asked, 0)
  const limit = limitOf(policyOf(step.graph).policy.budgets, budget)
  if (asked <= Math.max(BURST_TIMES * limit, BURST_LEAST)) return
  const things = budget === 'E1' ? 'deletions' : 'objects'
  const last = about === '' ? '' : `, the last one since ${about}`
  const because = `within ten minutes ${asked} ${things} of evidence ${budget} asked to go, of a budget of ${limit}${last}`
  openBreaker(step, cluster, because)
}

/** What our own gate holds back is no answer of a server, and a dry run for want of the lock (2xx) no refusal. */
export function noteSettled(step: Step, state: ClusterState, event: CommandSettled): void {
  const { cluster, verb, outcome, code, reason } = event
  if (verb === 'VerifyOwner' || verb === 'WarnObject' || !isWatchful(step)) return
  const minute = Math.floor(nowOf(step, state) / MINUTE_MS)
  const pace = step.graph.get(paceKey(cluster))
  const former = pace?.type === 'Pace' && pace.minute === minute ? pace : { settled: 0, refused: 0 }
  const isRefused = outcome === 'blocked' && code !== null && code >= 400
  const settled = former.settled + 1
  const refused = former.refused + Number(isRefused)
  step.graph.put(paceKey(cluster), { type: 'Pace', minute, settled, refused })
  const isCounted = minute * MINUTE_MS >= closedAt(step.graph, cluster)
  if (!isCounted || settled < REFUSED_LEAST || refused * 2 <= settled || !isRefused) return
  const because = `${refused} of ${settled} commands of a minute were refused, the last one with ${code}: ${reason}`
  openBreaker(step, cluster, because)
}

/** An owner was deleted by somebody else, and not with its namespace. */
export function noteDeparture(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  object: ObjectMeta,
  proof: Proof,
): void {
  if (proof.class !== 'E1' || proof.isOurs || !isWatchful(step)) return
  const { namespace, uid } = object
  const isEnding = namespace !== '' && step.graph.get(endingKey(cluster, namespace)) !== undefined
  const isOwner =
    dependentsOf(step.graph, cluster, uid) > 0 ||
    dependentsElsewhere(step.graph, cluster, uid, object) > 0
  if (isEnding || !isOwner) return
  const now = nowOf(step, state)
  const share = step.graph.get(shareKey(cluster, object))
  const former = share?.type === 'Share' ? share.minutes : []
  const counted = counting(step.graph, cluster, former, now)
  const minutes = withOne(counted, Math.floor(now / MINUTE_MS))
  step.graph.put(shareKey(cluster, object), { type: 'Share', minutes })
  tellShareSoon(step, cluster, object)
  const gone = deletedIn(minutes)
  const all = gone + (kindOf(step.graph, cluster, object)?.held.count ?? 0)
  if (!isMass(gone, all)) return
  openBreaker(step, cluster, `${shareText(object.kind, gone, all)}, the last one ${object.name}`)
}

function withOne(minutes: readonly ShareMinute[], minute: number): readonly ShareMinute[] {
  const former = minutes.find((each) => each.minute === minute)?.count ?? 0
  return [...minutes.filter((each) => each.minute !== minute), { minute, count: former + 1 }]
}
