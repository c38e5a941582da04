/**
 * The verdict on one object as a dependent: the first row of the table that fits, and the evidence
 * it rests on.
 *
 * What must stay true: judged from the state alone, never from the edge that led here. Every
 * verdict says which events and which policy it rests on.
 *
 * Not here: whether it may be carried out now (admission.ts), whether a command is already under
 * way, and issuing one (judge.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { KIND_CAUSE_MS } from '../model/constant.ts'
import type { Node, Verdict } from '../model/node.ts'
import type { Coordinates, ObjectMeta, PropagationPolicy } from '../model/object.ts'
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../model/object.ts'
import type { Evidence, Proof } from '../model/proof.ts'
import { weaker } from '../model/proof.ts'
import { kindOfReference } from '../model/reference.ts'
import type { Rule } from '../model/rule/rule.ts'
import { mayHaveGone, wasRedefined, wentWithDefinition } from '../observe/cause.ts'
import { completionOf } from './completion.ts'
import { judgeByRules } from './rule.ts'
import type { Stand } from './standing.ts'
import { standsOf } from './standing.ts'

export type Action =
  | { readonly type: 'finish'; readonly finalizer: string }
  | { readonly type: 'delete'; readonly policy: PropagationPolicy }
  | { readonly type: 'annotate'; readonly key: string; readonly value: string }
  /** Indexes of references, descending. */
  | { readonly type: 'drop'; readonly indexes: readonly number[] }
  | { readonly type: 'verify' }
  | { readonly type: 'none' }

/** What should become of it, whatever holds that. */
export interface Judgement {
  readonly verdict: Verdict | null
  readonly action: Action
  readonly stands: readonly Stand[]
  /** The part of it that is carried out where something holds the whole; null for none. */
  readonly part: Judgement | null
  /** The rule that has it deleted or annotated; null where owners decide. */
  readonly rule: Rule | null
  /** Log time at which a rule says something else; null for never, as the object is now. */
  readonly nextAt: number | null
}

const NO_ACTION: Action = { type: 'none' }
const NO_RULE = { rule: null, nextAt: null } as const
const NO_JUDGEMENT: Judgement = {
  ...{ verdict: null, action: NO_ACTION, stands: [], part: null },
  ...NO_RULE,
}

/** By its owners; and where those have nothing to be done, by the rules. */
export function decide(facts: ClusterFacts, node: Node): Judgement {
  const judgement = decideByOwners(facts, node)
  const { verdict } = judgement
  // Where an owner is not known, or cannot be, it is decided before any rule is asked.
  if (!isLeftToRules(verdict)) return judgement
  const ruled = judgeByRules(facts, node)
  if (ruled === null) return judgement
  const { due, nextAt } = ruled
  if (due === null) return { ...judgement, nextAt }
  const { rule, because } = due
  const basis = basisOf(node.position, [], facts.policy.position)
  const action = ruledAction(facts, node, rule)
  return {
    verdict: { type: action.type, evidence: 'rule', because, basis, rule: rule.name },
    action,
    ...{ stands: [], part: null, rule, nextAt },
  }
}

/** Owners have nothing to be done. */
export function isLeftToRules(verdict: Verdict | null): boolean {
  return verdict === null || verdict.type === 'keep' || verdict.type === 'deleting'
}

function ruledAction(facts: ClusterFacts, node: Node, rule: Rule): RuledAction {
  const { annotate } = rule
  if (annotate === null) return { type: 'delete', policy: ruledPropagation(facts, node, rule) }
  return { type: 'annotate', key: annotate.key, value: annotate.value }
}

type RuledAction = Extract<Action, { type: 'delete' | 'annotate' }>

/**
 * In the foreground an object without dependents is gone at once, too, after a second call that
 * removes its finalizer: that one is spared. Not so where an object has finalizers of a policy and
 * no others: an API server answers 409 to each DELETE of it in the background that names a
 * resourceVersion, since it compares that with the version of an empty object.
 */
function ruledPropagation(
  facts: ClusterFacts,
  { object }: Node,
  { propagationPolicy }: Rule,
): PropagationPolicy {
  if (propagationPolicy === 'Orphan') return 'Orphan'
  if (hasPolicyAlone(object)) return 'Foreground'
  if (propagationPolicy !== 'Foreground' || facts.isNamed(object.uid, object)) {
    return propagationPolicy
  }
  const { monitored = 1, synced = 0 } = facts.state ?? {}
  return synced === monitored ? 'Background' : propagationPolicy
}

function hasPolicyAlone({ finalizers }: ObjectMeta): boolean {
  if (finalizers.length === 0) return false
  return finalizers.every((each) => each === FINALIZER_ORPHAN || each === FINALIZER_FOREGROUND)
}

/** As a dependent, and when nothing is to be done about that, as an owner that is being deleted. */
function decideByOwners(facts: ClusterFacts, node: Node): Judgement {
  const { deletedAt, ownerReferences } = node.object
  if (ownerReferences.length === 0 && deletedAt === null) return NO_JUDGEMENT
  const stands = standsOf(facts, node)
  const conclude = verdictMaker(facts, node, stands)

  if (some(stands, 'orphaned')) return asOrphan(facts, node, stands, conclude)
  if (deletedAt !== null) return asOwner(facts, node, conclude)
  const solid = those(stands, 'solid')
  if (solid.length === stands.length) return conclude('keep', solid, null, NO_ACTION)
  const dangling = those(stands, 'dangling')
  const before = dangling.filter((stand) => mayHaveGoneBefore(stand, node.letGoAt))
  const isBlocked = some(stands, 'unresolvable')
  // A reference whose owner was not known to be deleted when the object was orphaned is dropped
  // like one whose owner was: otherwise the result would depend on which watch published first.
  if (before.length > 0 && (isBlocked || before.length === stands.length)) {
    const evidence = evidenceOf(facts, node, before)
    const because = `${reasonsOf(before)}, maybe before another owner orphaned it`
    return conclude('drop', because, evidence, dropping(stands, before))
  }
  if (isBlocked) return conclude('blocked', those(stands, 'unresolvable'), null, NO_ACTION)
  if (some(stands, 'unverified')) {
    return conclude('verify', those(stands, 'unverified'), null, { type: 'verify' })
  }
  const waiting = those(stands, 'waiting')
  const useless = [...dangling, ...waiting]
  const evidence = evidenceOf(facts, node, useless)
  if (solid.length > 0) return conclude('drop', useless, evidence, dropping(stands, useless))
  const policy = propagationOf(facts, node, waiting.length > 0)
  return conclude('delete', useless, evidence, { type: 'delete', policy })
}

type Conclude = ReturnType<typeof verdictMaker>

function some(stands: readonly Stand[], standing: Stand['standing']): boolean {
  return stands.some((stand) => stand.standing === standing)
}

function those(stands: readonly Stand[], standing: Stand['standing']): readonly Stand[] {
  const isAll = stands.every((stand) => stand.standing === standing)
  return isAll ? stands : stands.filter((stand) => stand.standing === standing)
}

function asOrphan(
  facts: ClusterFacts,
  node: Node,
  stands: readonly Stand[],
  conclude: Conclude,
): Judgement {
  const orphaning = those(stands, 'orphaned')
  const letGoAt = Math.max(lastRequest(orphaning) ?? 0, node.letGoAt ?? 0)
  const before = those(stands, 'dangling').filter((stand) => mayHaveGoneBefore(stand, letGoAt))
  const dropped = [...orphaning, ...before]
  const evidence = evidenceOf(facts, node, dropped)
  const orphaned = conclude('drop', orphaning, 'orphaning', dropping(stands, orphaning))
  // An owner that has to be verified does not delay an orphan: one that cannot be verified would
  // keep the owner that orphans waiting.
  if (weaker(evidence, 'waiting') === evidence) return orphaned
  // Nor does a reference that would be held: it is dropped later, and may not take the object.
  const all = conclude('drop', orphaning, evidence, dropping(stands, dropped))
  return { ...all, part: orphaned }
}

function asOwner(facts: ClusterFacts, node: Node, conclude: Conclude): Judgement {
  const completion = completionOf(facts, node)
  if (completion === undefined) {
    return node.object.ownerReferences.length === 0
      ? NO_JUDGEMENT
      : conclude('deleting', 'it is being deleted', null, NO_ACTION)
  }
  const { because } = completion
  if (completion.type === 'wait') return conclude('wait', because, null, NO_ACTION)
  return conclude('finish', because, 'orphaning', {
    type: 'finish',
    finalizer: completion.finalizer,
  })
}

function verdictMaker(facts: ClusterFacts, node: Node, stands: readonly Stand[]) {
  return (
    type: Verdict['type'],
    grounds: readonly Stand[] | string,
    evidence: Evidence | null,
    action: Action,
  ): Judgement => {
    const because = typeof grounds === 'string' ? grounds : reasonsOf(grounds)
    const basis = basisOf(node.position, stands, facts.policy.position)
    const verdict: Verdict = { type, evidence, because, basis, rule: null }
    return { verdict, action, stands, part: null, ...NO_RULE }
  }
}

/** The offsets of the events, each once and in their order, and that of the policy. */
function basisOf(own: bigint, stands: readonly Stand[], policy: bigint): readonly bigint[] {
  if (stands.length > 1) {
    const events = stands.flatMap((stand) => (stand.basis === null ? [] : [stand.basis]))
    return [...[...new Set([own, ...events])].sort(byOffset), policy]
  }
  const event = stands[0]?.basis ?? own
  if (event === own) return [own, policy]
  return event < own ? [event, own, policy] : [own, event, policy]
}

/** The class furthest down the table among the references acted upon. */
export function evidenceOf(facts: ClusterFacts, node: Node, stands: readonly Stand[]): Evidence {
  let evidence: Evidence = 'orphaning'
  for (const stand of stands) {
    if (stand.standing === 'waiting') evidence = weaker(evidence, 'waiting')
    if (stand.proof !== null) evidence = weaker(evidence, classOf(facts, node, stand, stand.proof))
  }
  return evidence
}

/**
 * The class of a proof for this dependent: its own cause, weaker if the dependent came late, or a
 * bulk deletion by later knowledge.
 */
function classOf(
  facts: ClusterFacts,
  node: Node,
  { place, isLate }: Stand,
  proof: Proof,
): Evidence {
  if (proof.clusterEpoch !== facts.state?.clusterEpoch) return 'bulk'
  const { preset } = facts.policy.policy
  if (preset === 'guarded' && wentWithItsKind(facts, proof, place)) return 'bulk'
  if (proof.class === 'not-found' && isOlderThanKind(facts, node, proof, place)) return 'bulk'
  return isLate ? 'not-found' : proof.class
}

/**
 * A reference made before the owner's kind got this scope, was absent for a while or was defined
 * anew means an owner that was elsewhere, or was deleted with its kind: that none is found where
 * the kind's objects are now proves little. All objects of the kind were deleted then, a bulk
 * deletion.
 */
function isOlderThanKind(
  facts: ClusterFacts,
  { object }: Node,
  { at }: Proof,
  place: Coordinates | null,
): boolean {
  const kind = place === null ? undefined : facts.kind(place)
  if (kind === undefined || place === null) return false
  const { scopedAt, goneAt, resource } = kind
  const lead = facts.state?.clockLeadMs ?? 0
  // By its server's clock, which may be ahead of the log time that the rest is in.
  const createdAt = (object.createdAt ?? 0) - lead
  if (createdAt < scopedAt || mayHaveGone(goneAt, createdAt + 1, at - 1)) return true
  return wasRedefined(facts, { resource, group: place.group }, createdAt + 1, at - 1)
}

/**
 * When a user deletes a CustomResourceDefinition, its objects are deleted one by one first, each as
 * if it had been deleted on purpose.
 */
function wentWithItsKind(facts: ClusterFacts, { at }: Proof, place: Coordinates | null): boolean {
  if (place === null) return false
  const { goneAt = [], resource = '' } = facts.kind(place) ?? {}
  if (mayHaveGone(goneAt, at, at + KIND_CAUSE_MS)) return true
  return wentWithDefinition(facts, { resource, group: place.group }, at)
}

/**
 * How a DELETE of it propagates: as its own finalizers ask (kubernetes/kubernetes#44058), but in
 * the foreground under a waiting owner when it has dependents itself (D11, D12).
 */
function propagationOf(
  facts: ClusterFacts,
  node: Node,
  isOwnerWaiting: boolean,
): PropagationPolicy {
  const { object } = node
  if (isOwnerWaiting && facts.isNamed(object.uid, object)) return 'Foreground'
  if (object.finalizers.includes(FINALIZER_ORPHAN)) return 'Orphan'
  if (object.finalizers.includes(FINALIZER_FOREGROUND)) return 'Foreground'
  return 'Background'
}

/** When the last of those that orphan it was deleted; null when none does. */
export function lastRequest(stands: readonly Stand[]): number | null {
  const times = stands.flatMap(({ orphanedAt }) => (orphanedAt === null ? [] : [orphanedAt]))
  return times.length === 0 ? null : Math.max(...times)
}

/**
 * The request of the last owner decides: a reference that dangled before an owner orphaned the
 * object must not delete the orphan. If no watch observed the owner's deletion, its time is
 * unknown: then it counts as before, so that the orphan is kept.
 */
function mayHaveGoneBefore({ proof }: Stand, letGoAt: number | null): boolean {
  if (letGoAt === null || proof === null) return false
  return proof.class !== 'deleted' || proof.at - proof.ageMs <= letGoAt
}

/**
 * By one command, whose patch has two operations for each: a server takes 10,000 of them. The rest
 * is dropped by the next.
 */
const MOST_DROPPED = 4_000

function dropping(stands: readonly Stand[], dropped: readonly Stand[]): Action {
  const isDropped = new Set(dropped)
  const indexes = stands.flatMap((stand, index) => (isDropped.has(stand) ? [index] : []))
  return { type: 'drop', indexes: indexes.reverse().slice(0, MOST_DROPPED) }
}

/** An object may have thousands. */
const MOST_REASONS = 5

export function reasonsOf(stands: readonly Stand[]): string {
  const [first] = stands
  if (first !== undefined && stands.length === 1) return first.reason
  const named = stands.slice(0, MOST_REASONS).map(({ reason }) => reason)
  const more = stands.length - named.length
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

function byOffset(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The kinds a blocked or unverified verdict waits for. */
export function kindsAwaited({
  stands,
}: Pick<Judgement, 'stands'>): ReturnType<typeof kindOfReference>[] {
  return stands
    .filter(({ standing }) => standing === 'unresolvable' || standing === 'unverified')
    .map(({ reference }) => kindOfReference(reference))
}
