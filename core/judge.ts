/**
 * Judges one node: its verdict, whether that may be carried out now, and the command for it.
 *
 * What must stay true: judged from the state as it is now, so a lost trigger cannot change what is
 * decided in the end.
 *
 * Not here: the judgement itself (verdict.ts), whether it may be carried out (admission.ts),
 * commands (issue.ts), looking owners up (verification.ts).
 */
import type { Decision } from './admit/admission.ts'
import { admit } from './admit/admission.ts'
import { ask, pay } from './admit/budget.ts'
import { mayIssue } from './admit/hold.ts'
import { untrustedPolicy } from './admit/policy-hold.ts'
import { countDeleted, noteDue } from './admit/rule-hold.ts'
import { countKept, noteUnsure } from './admit/rule-keep.ts'
import { beginWalk, ensureTimer, nodeTimer } from './graph/agenda.ts'
import type { ClusterFacts } from './graph/facts.ts'
import { putNode } from './graph/link.ts'
import type { Step } from './graph/outcome.ts'
import { tell, touch } from './graph/outcome.ts'
import { ownerPlace } from './graph/owner-place.ts'
import { leaveIndex } from './graph/rule/keep-index.ts'
import { ANY_KIND, waitFor } from './graph/wait.ts'
import { attemptFor, baseOf } from './issue/issue.ts'
import { targetOf } from './issue/target.ts'
import { endVerification, verifyOwners } from './issue/verification.ts'
import { isMisplaced, recentWarnings, ruleWarning, warningsOf } from './issue/warning.ts'
import { completionOf, mayBeRing } from './judge/completion.ts'
import type { Judgement } from './judge/verdict.ts'
import { decide, kindsAwaited, lastRequest, reasonsOf } from './judge/verdict.ts'
import type { CommandBase } from './model/command.ts'
import { lanes } from './model/hash.ts'
import type { Hold, Node, Verdict } from './model/node.ts'
import { admissionOf, nodePhase } from './model/node.ts'
import type { GroupKind, Uid } from './model/object.ts'
import { FINALIZER_ORPHAN } from './model/object.ts'
import type { Rule } from './model/rule/rule.ts'
import { digestOf, isEnforced } from './model/rule/rule.ts'
import type { ClusterState } from './model/state.ts'

/**
 * Judges a node from the state as it is now. Does nothing for a node that is missing, reaped or
 * untrusted.
 */
export function judge(step: Step, uid: Uid): void {
  const held = step.graph.node(uid)
  const state = step.graph.state
  if (held === undefined || state === undefined) return
  // By now an object outside its cycle blocks it.
  const isOpen = held.ringed && !mayBeRing(step.graph, held)
  const node = isOpen ? { ...held, ringed: false } : held
  const awaited = relistsAwaited(step.graph, node)
  for (const kind of awaited ?? []) waitFor(step, kind, uid)
  if (awaited === undefined || awaited.length > 0) return leaveUnjudged(step, node)

  const judgement = decided(step, node)
  const time = Math.max(step.at.timestamp, state.now)
  const { rule } = judgement
  if (rule !== null) noteDue(step, rule, node, time)
  const admitted = admit(step.graph, node, judgement, time)
  const { hold: asking, price: due } = admitted
  const about = reasonsOf(judgement.stands)
  // Its request may open a breaker, which then holds it.
  const hasAsked = asking && due && ask(step, state, asking, due, about)
  const decision = hasAsked ? admit(step.graph, node, judgement, time) : admitted
  for (const kind of kindsAwaited(decision)) waitFor(step, kind, uid)
  if (decision.action.type === 'verify') verifyOwners(step, state, node, decision.stands)
  else endVerification(step, node.object)
  const completion = completionOf(step.graph, node)
  if (completion?.type === 'wait') lookAgain(step, node, completion.until)
  const warned = warn(step, state, node, decision)
  const { isWarned } = warned
  const warnedAt = warnAhead(step, state, node, decision) ?? warned.warnedAt
  const attempt = attemptFor(step, state, node, decision)
  const isIssued = attempt !== node.attempt && attempt !== null && !attempt.isDryRun
  if (rule !== null && isIssued) countDeleted(step, rule, node, time)
  const verdict = sameVerdict(node.verdict, decision.verdict) ? node.verdict : decision.verdict
  const { price } = decision
  const wanted =
    price === null || decision.hold === null
      ? decision.hold
      : pay(step, state, node, decision.hold, price, about)
  const hold = isSameHold(node.hold, wanted) ? node.hold : wanted
  // When the last of those that orphan it was deleted; null when none does.
  const request = decision.action.type === 'drop' ? lastRequest(decision.stands) : null
  const letGoAt = later(node.letGoAt, request)
  const isSameDecision = verdict === node.verdict && hold === node.hold && letGoAt === node.letGoAt
  ruleTimers(step, state, uid, { ...judgement, hold })
  const isSame = attempt === node.attempt && isSameDecision
  const dueBy = rule === null ? '' : digestOf(rule)
  const isToldAlike = isWarned === node.isWarned && warnedAt === node.warnedAt
  if (isSame && node === held && isToldAlike && dueBy === node.dueBy) return
  if (rule === null && hold?.until != null && hold !== node.hold) nodeTimer(step, hold.until, uid)
  // A dry run takes nothing off, but then the mark stays for good.
  const isFreeing = attempt !== node.attempt && attempt?.finalizer === FINALIZER_ORPHAN
  const isFreed = node.isFreed || isFreeing

  const noted = { isWarned, warnedAt, dueBy }
  putNode(step, held, { ...node, isFreed, letGoAt, ...noted, verdict, hold, attempt })
  const isNews = verdict !== node.verdict || !isHeldAlike(hold, node.hold)
  if (!isNews || verdict === null) return
  touch(step, uid)
  const { type, because, evidence, basis } = verdict
  const admission = admissionOf({ hold, attempt })
  tell(step, node.object, 'verdict', `${type}: ${because}`, {
    evidence,
    basis,
    admission,
  })
}

/** It may be another than it was counted as. */
function leaveUnjudged(step: Step, { object }: Node): void {
  leaveIndex(step, object.uid)
  endVerification(step, object)
}

/** By what rules count, the object itself included. */
function decided(step: Step, node: Node): Judgement {
  const first = decide(step.graph, node)
  const judgement = countKept(step, node, first) ? decide(step.graph, node) : first
  if (judgement.rule !== null) noteUnsure(step, judgement.rule, node)
  return judgement
}

/** An object that is due later is judged again so often until then. */
const FAR_MS = 24 * 3_600_000

/**
 * For a far time the same one, whatever that time is: no timer is cancelled, and the author of an
 * object may put off its end, or name the year 9999, as often as they like; a rule in dry run that
 * would warn ahead holds until another time with each judgement. Each object has its own moment of
 * the day, so that not all are judged at once.
 */
function ruleTimers(
  step: Step,
  { now }: ClusterState,
  uid: Uid,
  { rule, nextAt, hold }: Pick<Decision, 'rule' | 'hold'> & Pick<Judgement, 'nextAt'>,
): void {
  if (nextAt === null && rule === null) return
  const [lane] = lanes(uid)
  const own = lane % FAR_MS
  const daily = (Math.floor((now - own) / FAR_MS) + 1) * FAR_MS + own
  for (const timeMs of [nextAt, rule === null ? null : (hold?.until ?? null)]) {
    if (timeMs !== null) ensureTimer(step, timeMs - now <= FAR_MS ? timeMs : daily, uid)
  }
}

/** The warnings of a node with the one that a rule gives now; null where it gives none. */
function warnAhead(
  step: Step,
  state: ClusterState,
  node: Node,
  { verdict, hold, rule }: Decision,
): readonly number[] | null {
  if (rule === null || rule.warnMs === 0 || verdict === null || hold?.by !== 'hold') return null
  const isSaid = node.warnedAt.some((at) => at >= hold.since)
  if (isSaid || !isInForce(step, rule) || hold.until === null) return null
  const { because, basis } = verdict
  const target = targetOf(node.object, step.graph.kind(node.object))
  const base = { ...baseOf(step, state, target), evidence: 'rule', because, basis } as const
  step.outcome.commands.push(ruleWarning(base, rule, hold.until))
  return [...recentWarnings(node, state.now), Math.max(step.at.timestamp, state.now)]
}

/** An Event has no dry run: none is issued in mode dry-run, or by a rule that is in dry run. */
function isInForce({ graph }: Step, rule: Rule): boolean {
  const isReal = graph.policy.policy.mode === 'enforce' && mayIssue(graph)
  return isReal && isEnforced(rule, graph.enforced) && untrustedPolicy(graph, rule) === null
}

type Warned = Pick<Node, 'isWarned' | 'warnedAt'>

/** Before the verdict's command, so that the Event exists when the object is deleted. */
function warn(step: Step, state: ClusterState, node: Node, { verdict, stands }: Decision): Warned {
  const { warnedAt } = node
  if (verdict === null || !comesWithWarning(verdict) || !stands.some(isMisplaced)) {
    return { isWarned: false, warnedAt }
  }
  // An Event has no dry run, so none is issued in mode dry-run.
  const isReal = step.graph.policy.policy.mode === 'enforce'
  if (node.isWarned || !isReal || !mayIssue(step.graph)) {
    return { isWarned: node.isWarned, warnedAt }
  }
  const { object } = node
  const target = targetOf(object, step.graph.kind(object))
  const { because, basis } = verdict
  const base = (): CommandBase => ({
    ...baseOf(step, state, target),
    evidence: 'orphaning',
    because,
    basis,
  })
  const recent = recentWarnings(node, state.now)
  const times = [...recent]
  for (const warning of warningsOf(stands, object.namespace, recent.length, base)) {
    step.outcome.commands.push(warning)
    times.push(state.now)
  }
  // Where the hour has no room left, the next Event counts them, too.
  return { isWarned: times.length > recent.length, warnedAt: times }
}

/** For an owner that waits for dependents: a timer for what may release it without any event. */
function lookAgain(step: Step, node: Node, until: number | null): void {
  const { uid } = node.object
  if (until !== null) {
    waitFor(step, ANY_KIND, uid)
    nodeTimer(step, until, uid)
  } else if (mayBeRing(step.graph, node)) beginWalk(step, uid)
}

/**
 * The kinds to be relisted before a node is judged, none when it may be judged now; undefined when
 * it is reaped or untrusted.
 */
export function relistsAwaited(facts: ClusterFacts, node: Node): readonly GroupKind[] | undefined {
  const { object } = node
  const phase = nodePhase(node)
  if (phase === 'reaped' || phase === 'suspect') return undefined
  // It is about to be forgotten or untrusted, and is unwatched.
  const kind = facts.kind(object)
  if (kind?.phase === 'unmonitored' || kind?.phase === 'unserved') return [object]
  const seen = facts.seen(object, object.uid)
  if (seen === undefined || seen.clusterEpoch !== facts.state?.clusterEpoch) return undefined
  const unreadableAt = facts.unreadableAt(object.namespace)
  if (unreadableAt < 0n) return []
  // Records of this home were lost: only what was listed since then is known.
  const named = object.ownerReferences.map((it) => ownerPlace(facts, object, it).named)
  const waitedFor = phase === 'waiting' || phase === 'orphaning'
  const blockers = waitedFor ? (facts.kind(object)?.blockers ?? []) : []
  const kinds = [object, ...named, ...blockers]
  return kinds.filter((kind) => {
    const known = facts.kind(kind)
    return known?.phase === 'synced' && known.syncedAt <= unreadableAt
  })
}

function later(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}

/** These verdicts, and no others, have a warning. */
function comesWithWarning({ type }: Verdict): boolean {
  return type === 'delete' || type === 'drop' || type === 'blocked'
}

/** For people: what holds it, and why, is the same. */
function isHeldAlike(a: Hold | null, b: Hold | null): boolean {
  return (a?.by ?? null) === (b?.by ?? null) && (a?.because ?? '') === (b?.because ?? '')
}

function isSameHold(a: Hold | null, b: Hold | null): boolean {
  if (a === null || b === null) return a === b
  const isRuledAlike = a.ruling === b.ruling && a.what === b.what
  const isAsLong = a.since === b.since && a.until === b.until
  return a.turn === b.turn && isHeldAlike(a, b) && isAsLong && isRuledAlike
}

/** Verdicts that differ only in the events they rest on are the same to people. */
function sameVerdict(a: Verdict | null, b: Verdict | null): boolean {
  if (a === null || b === null) return a === b
  return a.type === b.type && a.evidence === b.evidence && a.because === b.because
}
