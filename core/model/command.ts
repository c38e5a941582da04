/**
 * A request to a reaper: a claim about a cluster, whose result comes back as an event.
 *
 * What must stay true: a command carries all that its guard needs (uid, resourceVersion, the
 * references it was judged by), so carrying it out twice, late or from a replayed log changes
 * nothing that it was not judged for.
 *
 * Not here: how an answer is read (services/reaper), when one is issued (fold.ts).
 */
import type { CommandId } from './id.ts'
import {
  type ClusterId,
  type Coordinates,
  isOfCollector,
  type OwnerReference,
  type PropagationPolicy,
  type ResourceVersion,
  type Uid,
} from './object.ts'
import type { Mode } from './policy.ts'
import type { Evidence, Freshness } from './proof.ts'
import type { RuleAnnotation } from './rule/rule.ts'

export type Command =
  | DeleteObject
  | AnnotateObject
  | OrphanDependent
  | RemoveFinalizer
  | VerifyOwner
  | WarnObject
export type CommandType = Command['type']

export interface CommandBase {
  readonly id: CommandId
  readonly cluster: ClusterId
  /** A newer epoch of the cluster voids the command. */
  readonly clusterEpoch: number
  /** Where its result is to be appended. */
  readonly partition: number
  /** The reaper takes the stricter of this and its own. Never `observe`: then nothing is issued. */
  readonly mode: Exclude<Mode, 'observe'>
  /** The subject of the command; for `VerifyOwner` the owner. */
  readonly target: Target
  readonly evidence: Evidence
  /** One sentence for people: why. */
  readonly because: string
  /** Offsets, in `partition`, of the events that the verdict rests on; the policy's last. */
  readonly basis: readonly bigint[]
}

/** Everything a path needs. `uid` may be a text that a user typed in a reference. */
export interface Target extends Coordinates {
  readonly version: string
  readonly resource: string
  readonly uid: Uid
  /** As held by the graph; empty for `VerifyOwner`. */
  readonly resourceVersion: ResourceVersion
  /** Served by an aggregated API server: GET before DELETE. */
  readonly aggregated: boolean
}

/**
 * One owner whose absence, waiting or orphaning the reaper verifies before the call, where
 * freshness or age asks for it.
 */
export interface OwnerClaim extends Coordinates {
  /** Empty: any object of that name, of a rule that decided since there is none. */
  readonly uid: Uid
  readonly version: string
  readonly resource: string
  /**
   * `beside`: it is as the command's rule says. `gone-elsewhere`: it was deleted, in another
   * cluster.
   */
  readonly claim: 'absent' | 'waiting' | 'orphaning' | 'beside' | 'gone-elsewhere'
  /** Where it is, for `gone-elsewhere`; empty: the command's own cluster. */
  readonly cluster: ClusterId
  /** Of that cluster: another one, and it may have been restored since. 0 for the own. */
  readonly clusterEpoch: number
  /**
   * Of an owner in another cluster, by its server's clock: its namespace and its definition are
   * older, unless they were deleted with it, and made again.
   */
  readonly createdAt: number | null
}

export interface DeleteObject extends CommandBase {
  readonly type: 'DeleteObject'
  readonly propagationPolicy: PropagationPolicy
  /** In seconds; null for the server's default. */
  readonly gracePeriodSeconds: number | null
  /**
   * All references the object was judged by, in its order. On the log none where `listDigest`
   * stands for them.
   */
  readonly references: readonly OwnerReference[]
  /**
   * Of the fold's own command null. On the log, where there are many references: what stands for
   * them (runtime/list-digest.ts).
   */
  readonly listDigest: string | null
  readonly finalizers: readonly string[]
  readonly owners: readonly OwnerClaim[]
  readonly freshness: Freshness
  /** Who approved it, for `bulk`; empty for no approval. */
  readonly approvedBy: string
  /**
   * Log time of the oldest fact behind the decision: it may be untrue now, however late the command
   * comes. 0 for unknown. Where an owner waits or orphans it is no later than the request of that
   * owner's deletion: a watcher that lags publishes what was true then.
   */
  readonly decidedAt: number
  /**
   * The rule that decided, and then `owners` is what it says of other objects; null where owners
   * did.
   */
  readonly rule: CommandRule | null
}

/**
 * Its own grace period may be shorter than the object has: it may be meant for an object that is
 * being deleted, and ends what runs of it without its consent.
 */
export function isForced(command: DeleteObject | AnnotateObject): boolean {
  return command.type === 'DeleteObject' && command.gracePeriodSeconds !== null
}

/** A rule's, in the place of a DELETE: the object gets one annotation, and nothing else. */
export interface AnnotateObject extends CommandBase {
  readonly type: 'AnnotateObject'
  readonly annotation: RuleAnnotation
  /** As for a DELETE by a rule: what it says of other objects. */
  readonly owners: readonly OwnerClaim[]
  readonly freshness: Freshness
  readonly decidedAt: number
  readonly rule: CommandRule
}

/** The rule that has it; null where owners decided. */
export function ruleOf(command: Command): CommandRule | null {
  return command.type === 'DeleteObject' || command.type === 'AnnotateObject' ? command.rule : null
}

/** The rule of a command: carried out only while an order enforces the rule of that digest. */
export interface CommandRule {
  readonly name: string
  /** `ruleDigest`. */
  readonly digest: string
  /** The object that the rule is of; null for a rule of the policy. */
  readonly policy: RulePolicy | null
}

/** A CleanupPolicy or a ClusterCleanupPolicy, as its rule was when the command was issued. */
export interface RulePolicy {
  readonly kind: string
  readonly version: string
  /** Empty for a ClusterCleanupPolicy. */
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  /** With whose rights the object is deleted; empty: with those of the reaper. */
  readonly account: string
}

/**
 * Drop references from a dependent: when orphaning, and those without effect next to a solid one.
 */
export interface OrphanDependent extends CommandBase {
  readonly type: 'OrphanDependent'
  /**
   * As for a DELETE; but where `listDigest` stands for them, the dropped ones are here, in the
   * order of `drop`.
   */
  readonly references: readonly OwnerReference[]
  readonly listDigest: string | null
  /** Indexes into all references, descending: the order in which a JSON Patch may remove them. */
  readonly drop: readonly number[]
  readonly owners: readonly OwnerClaim[]
  readonly freshness: Freshness
  readonly approvedBy: string
  readonly decidedAt: number
}

/** What it drops, by index into the object's list; undefined where it names no such reference. */
export function droppedBy({
  references,
  listDigest,
  drop,
}: OrphanDependent): ReadonlyMap<number, OwnerReference | undefined> {
  return new Map(drop.map((at, place) => [at, references[listDigest === null ? at : place]]))
}

export interface RemoveFinalizer extends CommandBase {
  readonly type: 'RemoveFinalizer'
  /** The collector's own, or another that a person ordered to be removed. */
  readonly finalizer: string
  readonly finalizers: readonly string[]
  /**
   * Its deletionTimestamp: after a restore an object may exist again under the same uid with the
   * same finalizers. 0 for unknown.
   */
  readonly deletedAt: number
}

/**
 * A person ordered it: no other object, and no other version of it, is meant, and nothing but
 * that order stands for it.
 */
export function isOrdered(command: Command): command is RemoveFinalizer {
  return command.type === 'RemoveFinalizer' && !isOfCollector(command.finalizer)
}

/** Ask the server whether `target.uid` is at the target's coordinates. */
export interface VerifyOwner extends CommandBase {
  readonly type: 'VerifyOwner'
}

/** A Warning Event on the target, worded as upstream's. */
export interface WarnObject extends CommandBase {
  readonly type: 'WarnObject'
  readonly reason: string
  readonly message: string
}

/**
 * The result of a command:
 * - `done`: carried out; `object` is what the server returned, or null when the object is removed.
 * - `absent`: there was nothing left to do: the object was deleted, is another one, or is already
 *   being deleted.
 * - `would-go`: the server accepted it in a dry run.
 * - `stale`: the object is not the one the command was judged by; `object` is what the server
 *   holds.
 * - `blocked`: refused or not available now; `reason` says by whom.
 */
export type Outcome = 'done' | 'absent' | 'would-go' | 'stale' | 'blocked'
