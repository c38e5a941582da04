/**
 * The internal records of the services, on the log and in the store of an index.
 *
 * What must stay true: every shape here has its schema in schemas/, and absent is null.
 *
 * Not here: events, commands and public records (core/model).
 */

import type { CommandId, SyncId } from '../../core/model/id.ts'
import type { Node } from '../../core/model/node.ts'
import type {
  ClusterId,
  Coordinates,
  GroupKind,
  ObjectMeta,
  OwnerReference,
  ResourceVersion,
  Uid,
} from '../../core/model/object.ts'
import type { Mode, Protection } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { FormerRecord } from './former-value.ts'
import type { ChunkName } from './lineage.ts'
import type { ListEdit } from './list-edit.ts'

/**
 * Small, compacted. In `orders`, which the graph alone may write: `pause/<cluster>` (`pause/` for
 * all), `protect/policy`, `protect/<cluster>/<subject>` (control-key.ts). In `control`:
 * `relist/<cluster>/<group>/<kind>`, `cluster/<cluster>`.
 */
export interface Control {
  readonly type: 'Control'
  readonly verb: 'pause' | 'resume' | 'relist' | 'epoch' | 'protect' | 'unprotect'
  readonly cluster: ClusterId
  readonly kind: GroupKind | null
  /** `epoch`: the cluster's epoch. Others: grows with each request. */
  readonly number: number
  readonly connected: boolean
  /** Of `protect/policy`: the policy's protection. */
  readonly protection: Protection | null
  /** In addition: the policy's mode. Null where none is published. */
  readonly mode: Mode | null
  readonly who: string
  readonly why: string
}

/** In `orders` under `rules/policy` (control-key.ts): the rules of the policy, as it is. */
export interface RuleBook {
  readonly type: 'RuleBook'
  readonly rules: readonly Rule[]
  readonly who: string
}

/**
 * In `orders` under `marks/policy`: labels and annotations that are published of every object
 * because answers read them (manager-mark.ts). Nothing is decided by them.
 */
export interface MarkBook {
  readonly type: 'MarkBook'
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  readonly who: string
}

/** In `orders` under `rule/<name>`: the order to enforce a rule, or to do so no more. */
export interface RuleOrder {
  readonly type: 'RuleOrder'
  readonly name: string
  /** `ruleDigest` of the rule that is enforced; empty: none is. */
  readonly digest: string
  readonly who: string
  readonly why: string
}

/**
 * In `orders` under `policy-status/<cluster>/<uid>`: what an object of a cluster that is a policy
 * does, for its status there. It permits nothing.
 */
export interface PolicyStatus {
  readonly type: 'PolicyStatus'
  readonly cluster: ClusterId
  /** That has the cluster. */
  readonly partition: number
  readonly kind: string
  readonly version: string
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  /** Of the object that was read. */
  readonly generation: number | null
  /** Of its rule; empty where there is none, and then `problem` says why. */
  readonly digest: string
  readonly problem: string
  readonly isEnforced: boolean
  readonly matched: number
  readonly due: number
  readonly held: number
  /** What holds all of the rule, or is not counted; empty for nothing. */
  readonly note: string
}

/**
 * In `events`: the `Directive` or `PolicyChanged` at this offset of `orders` takes effect in this
 * partition from here on. This record only names it; its content is in `orders`, which only the
 * graph may write.
 */
export interface OrderGiven {
  readonly type: 'OrderGiven'
  readonly offset: bigint
  /** SHA-256 of the record's value, in hexadecimal digits. */
  readonly digest: string
}

/**
 * In `events`: an `ObjectUpdated` of an object with a long list of owner references, which has what
 * changed in the list since the watcher published the object last
 * (services/graph/fold/bytes/edited-object.ts).
 */
export interface ObjectEdited {
  readonly type: 'ObjectEdited'
  readonly cluster: ClusterId
  /** Of the watcher. */
  readonly epoch: number
  readonly sync: SyncId | null
  /** Without its references. */
  readonly object: ObjectMeta
  /** `projectionHash` of the content whose list the edits are of. */
  readonly base: string
  /** `projectionHash` of the object, with all its references. */
  readonly hash: string
  readonly edits: readonly ListEdit<OwnerReference>[]
}

/**
 * In a store, under the key of a node: a node with a long list of owner references, which are in
 * chunks of their own (services/graph/fold/bytes/long-node.ts).
 */
export interface LongNode {
  readonly type: 'LongNode'
  /** Without its references, and without what it says of each. */
  readonly node: Omit<Node, 'type'>
  /** All together they are the list, in this order. */
  readonly chunks: readonly ChunkName[]
}

/**
 * In `control`, compacted, under `partition/<cluster>` (control-key.ts): which partition has all of
 * a cluster's records.
 */
export interface Assignment {
  readonly type: 'Assignment'
  readonly cluster: ClusterId
  readonly partition: number
  /** That the cluster had when they were last counted. */
  readonly objects: number
}

/**
 * In `control`, compacted, under `name/<cluster>` (control-key.ts): what its watcher calls a
 * cluster. Processes that do not have the cluster learn it here.
 */
export interface ClusterName {
  readonly type: 'ClusterName'
  readonly cluster: ClusterId
  readonly name: string
}

/** The position of the watch of a kind, written once everything up to it is acknowledged. */
export interface Watermark extends GroupKind {
  readonly type: 'Watermark'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly clusterEpoch: number
  readonly resource: string
  readonly resourceVersion: ResourceVersion
  readonly sync: number
  /**
   * `projectionDigest` of the published fields of each object; under another one more fields were
   * published, or fewer.
   */
  readonly projection: string
  /** The partition of the records it covers; -1: written before a cluster had one. */
  readonly partition: number
  /** Of the kind, in lower case, as discovery gives them: for queries. */
  readonly shortNames: readonly string[]
}

/**
 * For audits: the position of a partition, and the running SHA-256 over all its changes, commands
 * and history until then.
 */
export interface Digest {
  readonly type: 'Digest'
  readonly partition: number
  /** Next event to fold. */
  readonly position: bigint
  readonly state: string
  readonly outputs: string
  readonly foldVersion: number
}

/**
 * A piece of a partition's store at a position. `last` closes the snapshot; only then it counts.
 */
export interface Snapshot {
  readonly type: 'Snapshot'
  readonly partition: number
  readonly position: bigint
  readonly state: string
  readonly outputs: string
  readonly chunk: number
  readonly last: boolean
  readonly keys: readonly string[]
  /** Encoded store values, in the order of `keys`. */
  readonly values: readonly Uint8Array[]
}

export interface DeadLetter {
  readonly type: 'DeadLetter'
  readonly topic: string
  readonly partition: number
  readonly position: bigint
  readonly key: string
  readonly reason: string
  /** SHA-256 of the record's value. */
  readonly digest: string
}

/**
 * A piece of an object as it was right before its delete, or as it was when its deletion was
 * observed, under `cluster/uid`. `last` closes it; only then it counts. Its identity and its owners
 * are in the clear, so that a subtree is found without the key.
 */
export interface Archived extends Coordinates {
  readonly type: 'Archived'
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly version: string
  readonly resource: string
  /** The one that the DELETE is sent with; of an observed deletion, the deletion's own. */
  readonly resourceVersion: ResourceVersion
  readonly ownerReferences: readonly OwnerReference[]
  /** Empty: its deletion was observed. */
  readonly command: CommandId
  /** The name of the rule that had it deleted; empty: none. */
  readonly rule: string
  /** Its creation, in milliseconds; null: unknown. */
  readonly createdAt: number | null
  /** Its annotation `kinfold.io/owner`; empty where that names no owner in another cluster. */
  readonly ownerElsewhere: string
  /** When it was read, or its deletion observed, in milliseconds. */
  readonly at: number
  /**
   * `metadata`: a Secret for which no operator enabled archiving; it cannot be created again from
   * that.
   */
  readonly content: 'whole' | 'metadata'
  /** Of the key that it is encrypted with; empty when it is not. */
  readonly keyId: string
  readonly nonce: Uint8Array
  /** SHA-256 of all pieces together, as they are stored. */
  readonly digest: string
  readonly chunk: number
  readonly last: boolean
  readonly piece: Uint8Array
}

/**
 * In `archive`: deletions of a namespace were observed and not archived, since it had its share of
 * the disk. Written in place of the objects, at most once an hour, so later ones may be counted
 * nowhere.
 */
export interface ArchiveGap {
  readonly type: 'ArchiveGap'
  readonly cluster: ClusterId
  /** Empty: cluster-scoped objects. */
  readonly namespace: string
  /** Of the first and of the last that this record counts, in milliseconds. */
  readonly from: number
  readonly to: number
  readonly count: number
}

/**
 * In `actors`, which the graph alone may write: who asked an API server for a deletion, as the
 * audit log of that server says. No verdict rests on it. All texts are those of a server's clients,
 * cut to a length (services/graph/actors/audit-event.ts).
 */
export interface Actor {
  readonly type: 'Actor'
  readonly cluster: ClusterId
  /**
   * Of the request. A client may choose it, so it is unique only together with what was asked for.
   */
  readonly auditId: string
  readonly verb: DeletionVerb
  readonly group: string
  /** Plural, as in paths. */
  readonly resource: string
  readonly namespace: string
  /** Empty: of a collection. */
  readonly name: string
  /** Null where the audit log does not say which one was deleted. */
  readonly uid: Uid | null
  readonly user: string
  /** As whom that user asked; null for themselves. */
  readonly impersonated: string | null
  readonly agent: string
  /** Its query says so, and its body, which decides, is not in the audit log. */
  readonly mayBeDryRun: boolean
  /** False, at level Metadata: a body that asks for a dry run would not be seen. */
  readonly isBodyKnown: boolean
  /** When the request came and when it was answered, by the server's clock, in milliseconds. */
  readonly from: number
  readonly at: number
}

/** In `actors`, too: from when to when not all requests of a cluster are kept. */
export interface ActorGap {
  readonly type: 'ActorGap'
  readonly cluster: ClusterId
  /** Null: of any. */
  readonly namespace: string | null
  /** Whose requests these were; null: anybody's. */
  readonly user: string | null
  readonly cause: GapCause
  /** When the API server answered them: from the first moment to the first behind it, in ms. */
  readonly from: number
  readonly to: number
}

/** `share`: more than that user may have kept. `unreadable`: events that are none, or half. */
export type GapCause = 'share' | 'unreadable'

/** `evict`: a pod, by its subresource. */
export type DeletionVerb = 'delete' | 'deletecollection' | 'evict'

export type ServiceRecord =
  | Control
  | OrderGiven
  | RuleBook
  | MarkBook
  | RuleOrder
  | PolicyStatus
  | ObjectEdited
  | LongNode
  | Assignment
  | ClusterName
  | Watermark
  | Digest
  | FormerRecord
  | Snapshot
  | DeadLetter
  | Archived
  | ArchiveGap
  | Actor
  | ActorGap
