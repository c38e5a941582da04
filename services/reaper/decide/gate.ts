/**
 * Whether a command may be sent now: a decision over facts, and which owners have to be verified
 * before.
 *
 * What must stay true: an unknown fact blocks. The gate never waits and has no third answer: a
 * command that may not be sent now settles as blocked (an expired one, too), and the fold issues it
 * again.
 *
 * Not here: getting the facts and the live GETs (proof.ts, control.ts), the guard inside the call
 * itself (guard.ts).
 */
import type { Guarding } from '../../../core/graph/guarding.ts'
import { protectedNow, protectedPlace } from '../../../core/graph/guarding.ts'
import { isAsSaid } from '../../../core/judge/beside.ts'
import { duenessOf, hasAnnotation } from '../../../core/judge/rule.ts'
import { exemptBecause } from '../../../core/judge/unused.ts'
import {
  type AnnotateObject,
  type Command,
  type DeleteObject,
  droppedBy,
  isForced,
  isOrdered,
  type OrphanDependent,
  type OwnerClaim,
  ruleOf,
} from '../../../core/model/command.ts'
import { type Phase, phaseOf } from '../../../core/model/node.ts'
import { isSamePlace, type ObjectMeta } from '../../../core/model/object.ts'
import type { Mode } from '../../../core/model/policy.ts'
import { refusedKey } from '../../../core/model/rule/annotation.ts'
import { ownerNamedBy } from '../../../core/model/rule/elsewhere.ts'
import { BEYOND_READS } from '../../../core/model/rule/field-path.ts'
import type { KindRules, Rule } from '../../../core/model/rule/rule.ts'
import { besideOf, isReadFor, readsWithin, rulesOfKind } from '../../../core/model/rule/rule.ts'
import type { GetAnswer } from '../../../ports/cluster.ts'
import { projectionDigest, projectionOf } from '../../../ports/record/projection.ts'

export interface Facts {
  /** Since the command was appended. */
  readonly ageMs: number
  /**
   * Time since the deciding event was on the log. Never less than its age: a fold that lags decides
   * by old events.
   */
  readonly newsMs: number
  /** This process has a connection to the command's cluster. */
  readonly isReachable: boolean
  /** The cluster's epoch now; undefined while no watcher has published any. */
  readonly clusterEpoch: number | undefined
  /** A watcher is connected to it, or has resumed. */
  readonly isConnected: boolean
  /** The other cluster in which the command has an owner; null where it names none. */
  readonly elsewhere: OtherCluster | null
  /** Empty when it is not. */
  readonly pausedBecause: string
  /**
   * Why this process may delete nothing there: what it deletes could soon not be recorded, or
   * another one runs on a copy of its data directory. Empty where it may.
   */
  readonly barredBecause: string
  /** The present protection. */
  readonly guarding: Guarding
  /**
   * Why no command of the command's rule may be carried out now. Empty where it may, and for a
   * command without a rule.
   */
  readonly ruleBecause: string
  /** The rule of the command; undefined where it names none, or one that is another by now. */
  readonly rule: Rule | undefined
  /**
   * All rules that objects are read for here. A policy may have become known while one was read.
   */
  readonly readFor: readonly Rule[]
  /**
   * Since the deciding event was on the log this reaper has run, and no call to the cluster has
   * failed: it cannot have been restored unseen.
   */
  readonly isUnbroken: boolean
  /** The strictest that this reaper may do. */
  readonly mode: Mode
  /** The policy's now: a command given under another one is not carried out beyond it. */
  readonly policyMode: Mode
  /**
   * Why only dry runs are allowed for lack of the cluster's own lock; undefined when nothing is
   * missing.
   */
  readonly unlocked: string | undefined
}

/** A cluster that is only asked whether an owner is there. */
export type OtherCluster = Pick<Facts, 'isReachable' | 'clusterEpoch' | 'isConnected'>

export interface GateBounds {
  readonly commandLifeMs: number
  readonly waitingProofAfterMs: number
  readonly goneProofAfterMs: number
  /** Finalizers of others that an order may have this reaper remove. */
  readonly mayRemove: readonly string[]
}

export interface Blocked {
  readonly type: 'Blocked'
  readonly reason: string
  /** Because of its protection. */
  readonly isSpared: boolean
}

export type Pass =
  | {
      readonly type: 'Go'
      readonly dryRun: boolean
      /** Why it is a dry run although an effect was requested: then the fold asks again. */
      readonly insteadBecause?: string
    }
  | Blocked

const GO: Pass = { type: 'Go', dryRun: false }
const ONLY_DRY = 'this reaper makes dry runs only (--mode)'
const SOFTENED = 'the policy asks for dry runs only by now'
const GO_DRY = { type: 'Go', dryRun: true } as const satisfies Pass

/** Everything that can be decided without asking the cluster. */
export function judge(command: Command, facts: Facts, bounds: GateBounds): Pass {
  const hindered = hindrance(command, facts, bounds)
  if (hindered !== undefined) return { type: 'Blocked', reason: hindered, isSpared: false }
  const spared = sparedPlace(command, facts)
  if (spared !== '') return { type: 'Blocked', reason: spared, isSpared: true }
  const missing =
    missingGuard(command) ?? forbiddenOrder(command, bounds) ?? otherwiseRuled(command, facts)
  if (missing !== undefined) return { type: 'Blocked', reason: missing, isSpared: false }
  if (command.mode === 'dry-run') return GO_DRY
  // A process that asked for an effect would take a dry run's success for its completion, also once
  // this reaper may do more.
  if (facts.mode === 'dry-run') return { ...GO_DRY, insteadBecause: ONLY_DRY }
  if (facts.policyMode === 'dry-run') return { ...GO_DRY, insteadBecause: SOFTENED }
  const { unlocked } = facts
  return unlocked === undefined ? GO : { ...GO_DRY, insteadBecause: unlocked }
}

function hindrance(command: Command, facts: Facts, bounds: GateBounds): string | undefined {
  if (facts.ageMs > bounds.commandLifeMs) return 'expired'
  if (facts.pausedBecause !== '') return facts.pausedBecause
  if (facts.barredBecause !== '') return facts.barredBecause
  if (!facts.isReachable) return 'this reaper has no connection to the cluster'
  if (facts.clusterEpoch === undefined || !facts.isConnected) return 'the watcher is not connected'
  if (facts.clusterEpoch !== command.clusterEpoch) {
    return `the cluster's epoch is ${facts.clusterEpoch}, the command's ${command.clusterEpoch}`
  }
  if (facts.mode === 'observe') return 'this reaper only observes'
  if (facts.policyMode === 'observe') return 'the policy only observes by now'
  if (isByRule(command) && facts.ruleBecause !== '') return facts.ruleBecause
  const unasked = elsewhereUnasked(command, facts)
  if (unasked !== undefined) return unasked
  const unproven = unprovenByRule(command, facts, bounds)
  if (unproven !== undefined) return unproven
  return needsApproval(command) ? 'needs approval' : undefined
}

/** In which other cluster it has an owner; undefined for none. */
export function clusterElsewhere(command: Command): OwnerClaim | undefined {
  return 'owners' in command ? command.owners.find(({ cluster }) => cluster !== '') : undefined
}

/** Why the other cluster cannot be asked now, or not for what the command says. */
function elsewhereUnasked(command: Command, { elsewhere }: Facts): string | undefined {
  const claim = clusterElsewhere(command)
  if (claim === undefined) return undefined
  const { cluster } = claim
  const isOne = 'owners' in command && command.owners.every((each) => each === claim)
  if (!isOne) return `the command names an owner in cluster ${cluster}, and others`
  if (elsewhere === null || !elsewhere.isReachable) {
    return `this reaper has no connection to cluster ${cluster}, where the owner was`
  }
  if (elsewhere.clusterEpoch === undefined || !elsewhere.isConnected) {
    return `the watcher of cluster ${cluster}, where the owner was, is not connected`
  }
  if (elsewhere.clusterEpoch === claim.clusterEpoch) return undefined
  return `the epoch of cluster ${cluster} is ${elsewhere.clusterEpoch}, the command's ${claim.clusterEpoch}`
}

/** By its coordinates; empty when nothing protects it. */
function sparedPlace(command: Command, { guarding }: Facts): string {
  if (!isRuled(command) && !isOrdered(command)) return ''
  return protectedPlace(command.target, command.evidence, guarding)
}

/**
 * Why the object of a DELETE, an annotation or an order, as it was just read, is to stay as it is;
 * empty when it may be changed, or is not the one that was meant.
 */
export function sparedBecause(command: Command, read: GetAnswer, { guarding }: Facts): string {
  if (read.type !== 'Found' || read.object.uid !== command.target.uid) return ''
  const { object } = read
  const isMeant = isRuled(command)
    ? object.deletedAt === null || isForced(command)
    : isOrdered(command)
  if (!isMeant) return ''
  return protectedNow(object, command.evidence, guarding)
}

/**
 * Which labels and annotations are read with an object because they may protect it, by a digest:
 * for an object that was read under others it is unknown whether it has these. What rules read
 * protects nothing.
 */
export function marksAskedFor({ guarding }: Facts): string {
  const subjects = guarding.subjects.map(({ subject }) => subject)
  return projectionDigest(projectionOf(guarding.policy, subjects, []))
}

/**
 * Labels and annotations that users chose: observations published before that do not contain them.
 */
export function isReadFirst(command: DeleteObject | AnnotateObject, facts: Facts): boolean {
  const { target, rule } = command
  const { policy, subjects } = facts.guarding
  // A restore brings an object back with the uid and a version that it had, and other content: no
  // owner of it is verified, so it is judged by the rule once more.
  if (isForced(command) || (rule !== null && !facts.isUnbroken)) return true
  if (target.aggregated || policy.labels.length > 0 || policy.annotations.length > 0) return true
  return subjects.some(({ subject }) => /^(label|annotation)\//.test(subject))
}

/**
 * Why the object, as it was just read, is not what the rule decided about; empty where it is, where
 * the command is of no rule, and where another object was read.
 */
export function ruleObjection(
  command: Command,
  read: GetAnswer,
  { rule, readFor }: Pick<Facts, 'rule' | 'readFor'>,
): string {
  if (!isRuled(command) || command.rule === null) return ''
  if (read.type !== 'Found' || read.object.uid !== command.target.uid) return ''
  // By a call whose answer was lost, or by another client.
  const isDone =
    command.type === 'AnnotateObject' &&
    hasAnnotation({ annotate: command.annotation }, read.object)
  if (isDone) return ''
  const isOfPolicy = command.rule.policy !== null
  // Another by now, or removed: the gate says so.
  if (rule === undefined) return isOfPolicy ? RULE_UNKNOWN : ''
  const ofRule = rulesOfKind([rule], read.object)
  if (ofRule === null) return 'it is of no kind that the rule is about'
  const ofAll = isOfPolicy ? rulesOfKind(readFor, read.object) : null
  if (!isReadWith(read.object, ofRule) || (ofAll !== null && !isReadFor(read.object, ofAll))) {
    return `the object was not read with all that rule ${rule.name} reads`
  }
  const found = duenessOf(rule, read.object, command.decidedAt)
  const isLeftAlone = rule.unused !== null && exemptBecause(rule.unused, read.object) !== ''
  const isOther = rule.elsewhere !== null && !isOfClaimed(command, read.object)
  const isDue = found !== null && found.at <= command.decidedAt && !isLeftAlone && !isOther
  return isDue ? '' : `the object, as it is now, is not due by rule ${rule.name}`
}

const RULE_UNREAD = 'its rule is not known here'
export const RULE_UNKNOWN = 'the policy of its rule is not known here'

/**
 * What was left out of an object beyond the caps, or of its metadata alone, would seem absent. Any
 * other was read here with what all rules of its kind read, this one among them.
 */
function isReadWith({ projected }: ObjectMeta, { reads }: KindRules): boolean {
  if (projected === null) return reads.digest === ''
  return projected.reads !== BEYOND_READS
}

/** A bulk deletion needs a person's approval; and even then its owners are verified once more. */
function needsApproval(command: Command): boolean {
  if (command.evidence !== 'bulk' || command.type === 'VerifyOwner') return false
  const mayBe = command.type === 'DeleteObject' || command.type === 'OrphanDependent'
  return !mayBe || command.approvedBy === ''
}

/**
 * A rule that keeps the newest, or asks what nothing uses, decided by other objects, which nothing
 * in the call names: they may be others by now, so its command is carried out at once or not at
 * all. What a rule says of one other object is verified by a claim.
 */
function unprovenByRule(
  command: Command,
  { rule, newsMs, isUnbroken }: Facts,
  { goneProofAfterMs }: GateBounds,
): string | undefined {
  if (!isRuled(command) || rule === undefined) return undefined
  const isLate = !isUnbroken || newsMs > goneProofAfterMs
  if (rule.keep !== null && isLate) return `what rule ${rule.name} keeps was counted too long ago`
  if (rule.unused !== null && isLate) return 'what uses the object was seen too long ago'
  const unclaimed = unclaimedElsewhere(command, rule)
  if (unclaimed !== undefined) return unclaimed
  const beside = besideOf(rule)
  const { freshness, owners } = command
  const wanted = rule.absent === null ? 'beside' : 'absent'
  const isClaimed = owners.some(
    ({ group, kind, claim }) => claim === wanted && kind === beside?.kind && group === beside.group,
  )
  if (beside === null || (freshness === 'recheck' && isClaimed)) return undefined
  return `the command of rule ${rule.name} does not say which ${beside.kind} is ${wanted}`
}

/**
 * An owner in another cluster is asked for there: a GET in the command's own cluster would find
 * none, whatever became of it.
 */
function unclaimedElsewhere(
  { owners, freshness }: DeleteObject | AnnotateObject,
  { name, elsewhere }: Rule,
): string | undefined {
  const claimed = owners.find(({ claim }) => claim === 'gone-elsewhere')
  if (elsewhere === null) {
    return claimed === undefined ? undefined : `rule ${name} asks for no owner in another cluster`
  }
  if (freshness === 'recheck' && claimed?.cluster === elsewhere.cluster) return undefined
  return `the command of rule ${name} does not say which owner in another cluster is gone`
}

/** It names the owner that the command says is gone, and has none here. */
function isOfClaimed({ owners }: DeleteObject | AnnotateObject, object: ObjectMeta): boolean {
  const named = ownerNamedBy(object.annotations)
  if (named === null || object.ownerReferences.length > 0) return false
  return owners.some((owner) => {
    const isSame = owner.cluster === named.cluster && owner.uid === named.uid
    return owner.claim === 'gone-elsewhere' && isSame && isSamePlace(owner, named)
  })
}

/** A rule may have it. */
function isRuled(command: Command): command is DeleteObject | AnnotateObject {
  return command.type === 'DeleteObject' || command.type === 'AnnotateObject'
}

function isByRule(command: Command): boolean {
  return ruleOf(command) !== null
}

/**
 * A program that can write commands to the log must not have this reaper set any annotation, nor
 * delete what a rule only marks: it is what the rule says that was enforced, and never a key that
 * has an effect of its own.
 */
function otherwiseRuled(command: Command, { rule }: Facts): string | undefined {
  if (!isRuled(command)) return undefined
  const annotate = rule?.annotate ?? null
  if (command.type === 'DeleteObject') {
    return annotate === null ? undefined : `rule ${rule?.name} annotates, and deletes nothing`
  }
  const { key, value } = command.annotation
  const refused = refusedKey(key)
  if (refused !== '') return `annotation ${key} is never set: ${refused}`
  // That of a policy is known once it was read, and then this is asked again.
  if (rule === undefined) return command.rule.policy === null ? RULE_UNREAD : undefined
  if (annotate?.key === key && annotate.value === value) return undefined
  return `rule ${rule.name} sets no annotation ${key} with that value`
}

/**
 * An empty precondition is none to an API server, so a command without its guard is refused here
 * (I2, I4). That of a rule has no owners to verify, and perhaps no references: its guard is the
 * version that it was judged by.
 */
function missingGuard(command: Command): string | undefined {
  const { target } = command
  if (command.type === 'VerifyOwner' || command.type === 'WarnObject') return undefined
  if (isByRule(command) !== (command.evidence === 'rule')) {
    return 'the command has evidence of a rule and names none, or names one without it'
  }
  const beyond = isRuled(command) ? beyondPolicy(command) : undefined
  if (beyond !== undefined) return beyond
  if (target.uid === '') return 'the command names no uid'
  if (command.type === 'RemoveFinalizer') {
    return command.finalizers.includes(command.finalizer) ? undefined : 'no such finalizer listed'
  }
  if (isRuled(command) && target.resourceVersion === '') {
    return 'the command names no resourceVersion'
  }
  if (command.type === 'AnnotateObject') return undefined
  if (command.type === 'OrphanDependent' && !dropsListed(command)) {
    return 'the command drops no reference, or one that it does not list'
  }
  if (isByRule(command)) return undefined
  const { references, listDigest } = command
  if (references.length === 0 && listDigest === null) return 'the object had no owner references'
  const { freshness, owners } = command
  return freshness === 'recheck' && owners.length === 0 ? unverifiable(command) : undefined
}

/** Of a policy in a namespace: nothing outside of it, and by no account of another. */
function beyondPolicy({ target, rule }: DeleteObject | AnnotateObject): string | undefined {
  const policy = rule?.policy ?? null
  if (policy === null || policy.namespace === '') return undefined
  if (target.namespace !== policy.namespace) {
    return `the policy is of namespace ${policy.namespace}, and the object is not in it`
  }
  if (policy.account.startsWith(`system:serviceaccount:${policy.namespace}:`)) return undefined
  return 'the command names no account of the namespace of its policy'
}

/**
 * A program that can write commands to the log must not have this reaper take any finalizer off, so
 * the list is this process' own, too.
 */
function forbiddenOrder(command: Command, { mayRemove }: GateBounds): string | undefined {
  if (!isOrdered(command)) return undefined
  const { target, finalizer, deletedAt } = command
  if (target.resourceVersion === '') return 'the command names no resourceVersion'
  if (deletedAt === 0) return 'the command does not say since when the object is being deleted'
  if (mayRemove.includes(finalizer)) return undefined
  return `this reaper may not remove the finalizer ${finalizer} (finalizers.mayRemove)`
}

/**
 * An owner is left out of a command's claims only where its kind is not served: no GET can confirm
 * its absence then (core/issue/issue.ts).
 */
function unverifiable(command: DeleteObject | OrphanDependent): string {
  const acted = command.type === 'DeleteObject' ? command.references : droppedBy(command).values()
  const kinds = new Set<string>()
  for (const reference of acted) {
    if (reference !== undefined) kinds.add(`${reference.kind} (${reference.apiVersion})`)
  }
  if (kinds.size === 0)
    return 'the kinds of its owners are not served, so that their absence cannot be verified'
  const some = [...kinds].slice(0, MOST_NAMED)
  const more = kinds.size > some.length ? ' and others' : ''
  const served = kinds.size === 1 ? 'kind is' : 'kinds are'
  return `the owner's ${served} not served, so that its absence cannot be verified: ${some.join(', ')}${more}`
}

/** As everywhere, a text names no more than five references. */
const MOST_NAMED = 5

function dropsListed(command: OrphanDependent): boolean {
  const dropped = [...droppedBy(command).values()]
  return dropped.length > 0 && dropped.every((reference) => reference !== undefined)
}

/**
 * Owners to be verified before the call. A fact that a live watch observed a moment ago needs no
 * GET, unless the cluster may have been restored since: that brings owner and dependent back with
 * their uids and versions, so the guard inside the call would not notice. A restore takes longer
 * than a moment.
 */
export function claimsToProve(
  command: Command,
  { newsMs, isUnbroken }: Pick<Facts, 'newsMs' | 'isUnbroken'>,
  bounds: GateBounds,
): readonly OwnerClaim[] {
  if (!isRuled(command) && command.type !== 'OrphanDependent') return NONE
  // Where owners are verified anyway, one that waits is verified, too: the age of that observation
  // is unknown.
  if (command.freshness === 'recheck') return command.owners
  if (!isUnbroken || newsMs > bounds.goneProofAfterMs) return command.owners
  if (newsMs <= bounds.waitingProofAfterMs) return NONE
  return command.owners.filter(({ claim }) => claim !== 'absent')
}

/**
 * Whether a live GET of that age has to be followed by another, as an event of that age would be.
 */
export function isOutdated(
  { claim }: OwnerClaim,
  ageMs: number,
  { waitingProofAfterMs, goneProofAfterMs }: GateBounds,
): boolean {
  const isGone = claim === 'absent' || claim === 'gone-elsewhere'
  return ageMs > (isGone ? goneProofAfterMs : waitingProofAfterMs)
}

const NONE: readonly OwnerClaim[] = []

function foundDisproof(claim: OwnerClaim, owner: string, phase: Phase): string | undefined {
  switch (claim.claim) {
    case 'absent':
      return `${owner} exists`
    case 'waiting':
      return phase === 'waiting' ? undefined : `${owner} does not wait for its dependents`
    case 'orphaning':
      // If it is unclear its dependents stay: also when the finalizer is removed by now.
      return phase === 'waiting' || phase === 'observed'
        ? `${owner} does not orphan its dependents`
        : undefined
    case 'beside':
      return `${owner} is named by no rule`
    case 'gone-elsewhere':
      return `${owner} is there`
  }
}

/**
 * For a live GET that disproves the claim: the object that exists and was claimed to be deleted.
 */
export function foundAgainst({ claim, uid }: OwnerClaim, look: GetAnswer): ObjectMeta | undefined {
  if (claim !== 'absent' || look.type !== 'Found' || uid === '') return undefined
  return look.object.uid === '' ? undefined : look.object
}

/** Why this live GET does not confirm the claim; undefined when it does. */
export function disproof(
  claim: OwnerClaim,
  look: GetAnswer,
  facts: Pick<Facts, 'rule' | 'readFor'>,
): string | undefined {
  return claim.claim === 'beside' ? otherDisproof(claim, look, facts) : ownerDisproof(claim, look)
}

/** What is not there, or was not read with all that rules read of it, is not as the rule says. */
function otherDisproof(
  claim: OwnerClaim,
  look: GetAnswer,
  facts: Pick<Facts, 'rule' | 'readFor'>,
): string | undefined {
  const { kind, name, uid } = claim
  const { rule, readFor } = facts
  const other = `${kind}/${name}`
  switch (look.type) {
    case 'Absent':
      return `${other} is not there`
    case 'Unknown':
      return `${other} could not be looked up: ${look.reason}`
    case 'Found': {
      if (rule == null || rule.beside === null) return RULE_UNKNOWN
      if (look.object.uid !== uid) return `${other} is another one by now`
      const digest = readsWithin(readFor, rule.beside)?.digest ?? ''
      const isSo = isAsSaid(rule.beside, look.object, digest)
      return isSo ? undefined : `${other} is not as rule ${rule.name} says`
    }
  }
}

function ownerDisproof(claim: OwnerClaim, look: GetAnswer): string | undefined {
  const owner = `owner ${claim.kind}/${claim.name}`
  switch (look.type) {
    case 'Absent':
      return undefined // Of a waiting owner too: it is deleted by now.
    case 'Unknown':
      return `${owner} could not be looked up: ${look.reason}`
    case 'Found':
      if (look.object.uid === '') return `${owner} was found without a uid`
      if (claim.uid === '') return `${claim.kind}/${claim.name} exists`
      if (look.object.uid !== claim.uid) return undefined
      return foundDisproof(claim, owner, phaseOf(look.object))
  }
}
