/**
 * Judges one node: decides, remembers the verdict, and has the command issued that it calls for.
 *
 * What must stay true: judged from the state as it is now, so a lost trigger cannot change what is decided in the end.
 *
 * Not here: the decision itself (verdict.ts), commands (issue.ts), looking owners up (verification.ts).
 */
import { beginWalk, nodeTimer } from './agenda.ts'
import type { CommandBase } from './command.ts'
import { targetOf } from './command.ts'
import { completionOf, mayBeRing } from './completion.ts'
import { GRANT_MS } from './constant.ts'
import type { StateReader } from './graph.ts'
import { clusterOf, kindOf, nodeOf, policyOf, seenOf } from './graph.ts'
import { mayIssue } from './hold.ts'
import { attemptFor, baseOf } from './issue.ts'
import { ANY_KIND, unreadableHomeKey, unreadableKey } from './key.ts'
import { putNode } from './link.ts'
import type { Attempt, Hold, Node, Verdict } from './node.ts'
import type { ClusterId, GroupKind, Uid } from './object.ts'
import { FINALIZER_ORPHAN } from './object.ts'
import type { Step } from './outcome.ts'
import { tell, touch } from './outcome.ts'
import { kindOfReference } from './standing.ts'
import type { ClusterState } from './state.ts'
import { askFor } from './ticket.ts'
import type { Decision } from './verdict.ts'
import { decide, kindsAwaited, lastRequest } from './verdict.ts'
import { verifyOwners } from './verification.ts'
import { waitFor } from './wait.ts'
import { isMisplaced, warningsOf } from './warning.ts'

/** Judges a node from the state as it is now. Nothing happens to one that is not there, is reaped or in doubt. */
export function judge(step: Step, cluster: ClusterId, uid: Uid): void {
  const held = nodeOf(step.graph, cluster, uid)
  const state = clusterOf(step.graph, cluster)
  if (held === undefined || state === undefined) return
  // Something outside of its ring blocks it by now.
  const isOpen = held.ringed && !mayBeRing(step.graph, cluster, held)
  const node = isOpen ? { ...held, ringed: false } : held
  const awaited = relistsAwaited(step.graph, state, cluster, node)
  for (const kind of awaited ?? []) waitFor(step, cluster, kind, uid)
  if (awaited === undefined || awaited.length > 0) return

  const decision = decide(step.graph, cluster, node, Math.max(step.at.timestamp, state.now))
  for (const kind of kindsAwaited(decision)) waitFor(step, cluster, kind, uid)
  if (decision.action.type === 'verify') verifyOwners(step, state, cluster, decision.stands)
  const completion = completionOf(step.graph, cluster, node)
  if (completion?.type === 'wait') lookAgain(step, cluster, node, completion.until)
  const isWarned = warn(step, state, cluster, node, decision)
  const attempt = attemptFor(step, state, cluster, node, decision)
  const verdict = sameVerdict(node.verdict, decision.verdict) ? node.verdict : decision.verdict
  const wanted = paying(step, cluster, node, decision)
  const hold = isSameHold(node.hold, wanted) ? node.hold : wanted
  const isSame = attempt === node.attempt && verdict === node.verdict && hold === node.hold
  if (isSame && node === held && isWarned === node.isWarned) return
  if (hold?.until != null && hold !== node.hold) nodeTimer(step, cluster, hold.until, uid)
  const isNews = verdict !== node.verdict
  const letGoAt = isNews ? later(node.letGoAt, letGo(decision)) : node.letGoAt
  const isFreed = node.isFreed || (attempt !== node.attempt && isFreeing(attempt))

  putNode(step, cluster, held, { ...node, isFreed, letGoAt, isWarned, verdict, hold, attempt })
  if (verdict === node.verdict || verdict === null) return
  touch(step, cluster, uid)
  tell(step, { ...node.object, cluster }, 'verdict', `${verdict.type}: ${verdict.because}`, {
    evidence: verdict.evidence,
    basis: verdict.basis,
  })
}

/** Before what the verdict brings about, so that the Event is there when the object goes. Answers whether it is, or will be. */
function warn(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  node: Node,
  { verdict, stands }: Decision,
): boolean {
  if (verdict === null || !comesWithWarning(verdict) || !stands.some(isMisplaced)) return false
  // An Event has no dry run, so none is asked for in one.
  const isReal = policyOf(step.graph).policy.mode === 'enforce'
  if (node.isWarned || !isReal || !mayIssue(step.graph, cluster)) return node.isWarned
  const { object } = node
  const target = targetOf(object, kindOf(step.graph, cluster, object))
  const { because, basis } = verdict
  const base = (): CommandBase => ({
    ...baseOf(step, state, cluster, target),
    evidence: 'O',
    because,
    basis,
  })
  for (const warning of warningsOf(stands, object.namespace, base)) {
    step.outcome.commands.push(warning)
  }
  return true
}

/** Of an owner that waits for dependents: what may let it go though none of them tells. */
function lookAgain(step: Step, cluster: ClusterId, node: Node, until: number | null): void {
  const { uid } = node.object
  if (until !== null) {
    waitFor(step, cluster, ANY_KIND, uid)
    nodeTimer(step, cluster, until, uid)
  } else if (mayBeRing(step.graph, cluster, node)) beginWalk(step, cluster, uid)
}

/** The kinds to be relisted before a node is judged, none when it may be now; undefined when it is reaped or in doubt. */
export function relistsAwaited(
  graph: StateReader,
  state: ClusterState,
  cluster: ClusterId,
  { object, phase }: Node,
): readonly GroupKind[] | undefined {
  if (phase === 'reaped' || phase === 'suspect') return undefined
  const seen = seenOf(graph, cluster, object, object.uid)
  if (seen?.clusterEpoch !== state.clusterEpoch) return undefined
  // Records about one home have its key; those about a whole cluster have the cluster's.
  const unreadableAt = [unreadableHomeKey(cluster, object.namespace), unreadableKey(cluster)]
    .map((key) => graph.get(key))
    .reduce(
      (at, one) => (one?.type === 'UnreadableHome' && one.position > at ? one.position : at),
      -1n,
    )
  if (unreadableAt < 0n) return []
  // Records of this home were lost: only what was listed since then is known.
  const named = object.ownerReferences.map(kindOfReference)
  const waitedFor = phase === 'waiting' || phase === 'orphaning'
  const blockers = waitedFor ? (kindOf(graph, cluster, object)?.blockers ?? []) : []
  const kinds = [object, ...named, ...blockers]
  return kinds.filter((kind) => {
    const known = kindOf(graph, cluster, kind)
    return known?.phase === 'synced' && known.syncedAt <= unreadableAt
  })
}

/** When the last of those that orphan it was deleted; null when none does. */
function letGo({ action, stands }: Decision): number | null {
  return action.type === 'drop' ? lastRequest(stands) : null
}

function later(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}

/** A dry run takes nothing off, but then the mark stays for good. */
function isFreeing(attempt: Attempt | null): boolean {
  return attempt?.intent.startsWith(`finish ${FINALIZER_ORPHAN}`) === true
}

/** These verdicts, and no others, come with a warning. */
function comesWithWarning(verdict: Verdict | null): boolean {
  return ['reap', 'drop', 'held', 'blocked'].includes(verdict?.type ?? '')
}

/** What it costs is asked for in time. */
function paying(
  step: Step,
  cluster: ClusterId,
  node: Node,
  { hold, price, stands }: Decision,
): Hold | null {
  if (hold === null || price === null) return hold
  if (hold.by !== 'hold' && hold.by !== 'budget') return hold
  // A grant that waited out a long hold would be one that is saved up.
  const now = clusterOf(step.graph, cluster)?.now ?? 0
  if (hold.by === 'hold' && (hold.until ?? 0) - now > GRANT_MS) return hold
  const about = stands.map(({ reason }) => reason).join('; ')
  const pass = askFor(step, cluster, { ...node, hold }, price, about)
  return pass === hold.pass ? hold : { ...hold, pass }
}

function isSameHold(a: Hold | null, b: Hold | null): boolean {
  if (a === null || b === null) return a === b
  const isRuledAlike = a.ruling === b.ruling && a.what === b.what
  if (a.pass !== b.pass || a.lapsedAt !== b.lapsedAt) return false
  return a.by === b.by && a.since === b.since && a.until === b.until && isRuledAlike
}

/** Verdicts that differ only in the events they rest on are the same to people. */
function sameVerdict(a: Verdict | null, b: Verdict | null): boolean {
  if (a === null || b === null) return a === b
  return a.type === b.type && a.evidence === b.evidence && a.because === b.because
}
