/**
 * The values of a partition's store. Their keys are made in key.ts.
 *
 * What must stay true: a key that is missing can only ever lead to "unverified". Small values that
 * change often are kept apart from big ones that do not, since every change is a record on the log.
 */

import type { ClusterElsewhere, ElsewhereState } from './event.ts'
import type { SetHash } from './hash.ts'
import type { SyncId } from './id.ts'
import type { HeldBy, Node, Ruling } from './node.ts'
import type {
  ClusterId,
  Coordinates,
  GroupKind,
  OwnerReference,
  ResourceVersion,
  Scope,
  Uid,
} from './object.ts'
import type { KnownOwner } from './owner.ts'
import type { BudgetClass, Policy, Protection } from './policy.ts'
import type { EnforcedRule, Rule } from './rule/rule.ts'

export type StateValue =
  | Node
  | OwnerChunk
  | Seen
  | Members
  | Edge
  | Count
  | Owner
  | Kind
  | KindName
  | ClusterState
  | PolicyState
  | Directives
  | Wait
  | Due
  | Queued
  | Verification
  | Gets
  | Work
  | Ring
  | RingVisit
  | Agenda
  | LaneTurn
  | Lane
  | HeldNode
  | HeldPlan
  | PlanRuling
  | FirstApproval
  | Ticket
  | Budget
  | Ending
  | Definition
  | Breaker
  | Pace
  | Share
  | RuleRun
  | RuleTurns
  | RuleTurn
  | RuleOwner
  | ClusterRules
  | KeepGroup
  | Kept
  | Keeps
  | Keeping
  | Named
  | Using
  | UseKind
  | Uses
  | Usage
  | UserRow
  | PolicyRule
  | Elsewhere
  | ElsewhereCluster
  | ElsewhereNamespace
  | UnreadableHome
  | Position

/**
 * `owners/<cluster>/<uid>/<name>`: some of the owner references of a node that has many, in order,
 * with what the node says of each. Only where a node becomes bytes is it taken apart, and put
 * together where bytes become a node (services/graph/fold/bytes/long-node.ts): the fold has whole
 * nodes, and reads none of these.
 */
export interface OwnerChunk {
  readonly type: 'OwnerChunk'
  readonly references: readonly OwnerReference[]
  readonly places: Node['places']
  readonly namedAt: Node['namedAt']
}

/** `seen/<cluster>/<kind>/<uid>`: the newest confirmed version, and when it was last listed. */
export interface Seen {
  readonly type: 'Seen'
  readonly resourceVersion: ResourceVersion
  /** The last relist it was in; 0 for none. */
  readonly sync: SyncId
  /** Of the last sighting: versions of another epoch do not compare. */
  readonly clusterEpoch: number
}

/** `edge/<cluster>/<owner's uid>/<coordinates>/<dependent's uid>`. */
export interface Edge {
  readonly type: 'Edge'
}

/**
 * `count/<cluster>/<owner's uid>/<coordinates>`: the edges that name an owner at these coordinates.
 */
export interface Count {
  readonly type: 'Count'
  readonly dependents: number
  /**
   * Those with `blockOwnerDeletion` that may ever be deleted: a blocked dependent stays for good,
   * so no owner waits for it.
   */
  readonly blocking: number
  /** Those of `blocking` that wait for dependents of their own. */
  readonly waiting: number
  /**
   * Those of a kind that is absent from discovery: they have the reference until the kind is served
   * again.
   */
  readonly unserved: number
}

/** `owner/<cluster>/<uid>/<coordinates>`: an owner that is no node here. */
export interface Owner {
  readonly type: 'Owner'
  readonly known: KnownOwner
}

/**
 * - `unserved`: not in discovery (never, or no longer).
 * - `unmonitored`: served, but not watched.
 * - `unsynced`: watched, no complete list yet.
 * - `synced`: from the first complete list until a break.
 */
export type KindPhase = 'unserved' | 'unmonitored' | 'unsynced' | 'synced'

/** `kind/<cluster>/<kind>`. */
export interface Kind {
  readonly type: 'Kind'
  readonly phase: KindPhase
  readonly resource: string
  readonly scope: Scope
  readonly versions: readonly string[]
  readonly ambiguous: boolean
  readonly aggregated: boolean
  readonly reason: string
  /** Log time since when it is in `phase`. */
  readonly since: number
  /**
   * Offset of the record by which it became `synced`, last: what that list held is before it; -1
   * for none.
   */
  readonly listedBy: number
  /** Append time of that record. */
  readonly listedAt: number
  /** Epoch of the cluster that `synced` holds for. */
  readonly clusterEpoch: number
  /** The relist that is being published; 0 for none. */
  readonly openSync: SyncId
  /** Offset at which the open, or else the last, relist started; -1 for none. */
  readonly relistedAt: bigint
  /** The same of the last relist that finished. */
  readonly syncedAt: bigint
  /** Kinds of dependents that have blocked an owner of this kind. */
  readonly blockers: readonly GroupKind[]
  /** Append times at which it was reported absent from discovery: the last few. */
  readonly goneAt: readonly number[]
  /** Append time since when its scope is another; 0 for one that never changed. */
  readonly scopedAt: number
}

/** `members/<cluster>/<kind>`: the uids of a kind; none where it has none. */
export interface Members {
  readonly type: 'Members'
  readonly set: SetHash
}

/** `kindname/<cluster>/<kind in lower case>`. */
export interface KindName {
  readonly type: 'KindName'
  /** Those that were served, ever, and are written otherwise. */
  readonly kinds: readonly string[]
}

/** `cluster/<cluster>`. */
export interface ClusterState {
  readonly type: 'ClusterState'
  readonly name: string
  readonly epoch: number
  readonly clusterEpoch: number
  /** Offset of the present watcher's start: between two watchers the cluster was unwatched. */
  readonly startedAt: bigint
  /**
   * Offset at which this epoch of the cluster began here: what was found or published before proves
   * nothing about it.
   */
  readonly epochAt: bigint
  /** Append time of that start. */
  readonly startedTime: number
  /** Monitored kinds, and those of them with a complete list in this epoch of the cluster. */
  readonly monitored: number
  readonly synced: number
  /** Append time of the last heartbeat, never going back. */
  readonly now: number
  /** No timer is due before. */
  readonly nextDue: number
  readonly pulses: readonly Pulse[]
  /**
   * How far the API server's clock was ever seen ahead of log time, in milliseconds. Times of the
   * one and of the other are compared as if it were so still: log time may have stood while Kinfold
   * was down and nothing confirmed how long (decision 0054).
   */
  readonly clockLeadMs: number
}

export interface Pulse extends GroupKind {
  /** Log time of the kind's last proof of life. */
  readonly aliveAt: number
}

/** `policy`. */
export interface PolicyState {
  readonly type: 'PolicyState'
  readonly policy: Policy
  /** Offset of the event. */
  readonly position: bigint
  /**
   * Offset at which `enforce` was entered: deletions observed before it are held, protected and
   * priced as missing is, and verified once more.
   */
  readonly enforcedAt: bigint
  /** What it protected until just now and no longer does; null for nothing. */
  readonly former: FormerProtection | null
}

export interface FormerProtection {
  /** Of all policies in that time together. */
  readonly protection: Protection
  /** Log time. */
  readonly until: number
}

/**
 * `directives`: the users' directives that still hold. Few: all of it is read with each verdict.
 */
export interface Directives {
  readonly type: 'Directives'
  readonly pauses: readonly Pause[]
  readonly protections: readonly ProtectedSubject[]
  /** The rules that orders enforce. */
  readonly rules: readonly EnforcedRule[]
  /** Clusters whose owners no longer count. */
  readonly forgotten: readonly ForgottenCluster[]
  /** When a pause or an open breaker last ended, in any cluster. */
  readonly resumedAt: bigint
}

export interface Pause {
  /** Empty for all. */
  readonly cluster: ClusterId
  readonly who: string
  readonly why: string
}

export interface ProtectedSubject {
  /** Empty for all. */
  readonly cluster: ClusterId
  /** As in protection.ts. */
  readonly subject: string
  readonly who: string
  readonly why: string
  /**
   * Append time at which it was lifted: it counts for a while longer. Null while the protection is
   * set.
   */
  readonly liftedAt: number | null
}

export interface ForgottenCluster {
  /** Of the objects that name owners there. */
  readonly cluster: ClusterId
  /** The one that is forgotten. */
  readonly owner: ClusterId
  readonly who: string
  readonly why: string
  /** Append time. */
  readonly at: number
}

/**
 * `waits/<cluster>/<kind in lower case>/<dependent's uid>`: judged again when that kind gets in
 * sync or is served.
 */
export interface Wait {
  readonly type: 'Wait'
}

/** `queued/<cluster>/<uid>`: a work of the agenda judges that object; there is one. */
export interface Queued {
  readonly type: 'Queued'
  /** False: only the witness of its verification was answered, so perhaps no verdict is due yet. */
  readonly isWhole: boolean
}

/**
 * `verification/<cluster>/<dependent's uid>`: an object with many owners, or in a namespace with
 * many live GETs under way, whose verdict is `verify`.
 *
 * One reference is the witness: while its owner is unknown the verdict stays, whatever the other
 * GETs are answered (core/issue/verification.ts). So an answer costs two references, not all of
 * them.
 */
export interface Verification {
  readonly type: 'Verification'
  /**
   * Index of a reference: when it was judged last, none before it was unverified. As many as it
   * has: none is waited for.
   */
  readonly witness: number
  /** Index of the first reference whose owner was not asked for. */
  readonly next: number
  /** A work of the agenda asks for the others; there is one. */
  readonly isQueued: boolean
}

/**
 * `gets/<cluster>/<lane>`: how many owners have a live GET under way for objects of a namespace.
 */
export interface Gets {
  readonly type: 'Gets'
  readonly count: number
  /** Those of another epoch of the cluster are answered in vain. */
  readonly clusterEpoch: number
}

/**
 * `due/<cluster>/<time>/<what>/<of what>`: something to check again once that time is reached; its
 * key says what (`timerOf`).
 */
export interface Due {
  readonly type: 'Due'
}

/** `work/<cluster>/<lane>/<number>`: work that fans out, taken a page at a time. */
export interface Work {
  readonly type: 'Work'
  /** Empty for all of them. */
  readonly cluster: ClusterId
  /**
   * Its lane: a namespace, `*` for cluster-scoped objects, empty for work on a whole kind or
   * cluster; or that of its live GETs.
   */
  readonly namespace: string
  /**
   * The turn at which it was requested, or the work that caused it: it is no older than any with a
   * larger one.
   */
  readonly number: number
  /** The last key dealt with; empty at the start. */
  readonly cursor: string
  readonly todo: Todo
}

/**
 * What a work does, to each key of its pages.
 *
 * - `subject`: judges one object. - `verify`: asks for the owners of one object that are not known.
 * - `dependents`, `waits`, `verdicts`: judges what names an owner, what waits for a kind,
 *   everything. - `ruled`: what rules of an object are about.
 * - `missing`, `missed`: counts the objects that a list did not hold; then they leave.
 * - `suspects`, `forget`: objects whose kind is no longer served, or no longer watched.
 * - `timers`: those that are due.
 * - `relist`: asks for lists of all kinds.
 * - `rulings`: what a person said of held objects. - `policies`, `rule-end`: rules of objects.
 * - `uses`: what the objects of a kind use, by the rules as they are now.
 * - `ring`, `ring-end`: searches for an ownership cycle; removes what the search left, and releases
 *   the cycle.
 * - `tickets`: the queue of a budget.
 * - `turns`: the objects that wait to be deleted by a rule.
 * - `keep`: moves the boundary of a group of which a rule keeps the newest.
 */
export type Todo =
  | { readonly type: 'subject' | 'verify'; readonly uid: Uid }
  | DependentsTodo
  | RuledTodo
  | { readonly type: 'waits'; readonly kind: GroupKind }
  | { readonly type: 'verdicts' | 'timers' | 'turns' }
  | KeyTodo
  | MissingTodo
  | MissedTodo
  | { readonly type: 'ring'; readonly root: Uid }
  | RingEndTodo
  | TicketsTodo
  | KeepTodo
  | UsesTodo

/** Done to one key after the other. */
export type KeyTodo =
  | { readonly type: 'suspects' | 'forget'; readonly kind: GroupKind }
  | { readonly type: 'relist' | 'rulings' }
  /** Which of these objects have rules in force: one of them left. */
  | { readonly type: 'policies'; readonly kind: GroupKind }
  | RuleEndTodo

/** What the objects of a kind use is found anew. */
export interface UsesTodo {
  readonly type: 'uses'
  readonly kind: GroupKind
  /** As of which (`Using.table`). */
  readonly table: string
}

/** The rule left, and what is remembered of controllers leaves with it. */
export interface RuleEndTodo {
  readonly type: 'rule-end'
  readonly rule: string
}

/** Rules about objects of a kind changed, of a namespace or (empty) of all. */
export interface RuledTodo {
  readonly type: 'ruled'
  readonly kind: GroupKind
  readonly namespace: string
}

export interface DependentsTodo {
  readonly type: 'dependents'
  readonly owner: Uid
  /** The coordinates by which the owner is named, as in the edges' keys. */
  readonly place: string
}

export interface MissingTodo {
  readonly type: 'missing'
  readonly kind: GroupKind
  readonly list: CheckedList
}

export interface MissedTodo {
  readonly type: 'missed'
  readonly kind: GroupKind
  readonly list: CheckedList
  /** For the objects that others deleted. */
  readonly evidence: 'missing' | 'bulk'
}

/** A complete list, and how many objects it is found to miss until now. */
export interface CheckedList {
  readonly sync: SyncId
  readonly resourceVersion: ResourceVersion
  /** Of the cluster when it was published. */
  readonly clusterEpoch: number
  /** How many it held. */
  readonly listed: number
  /** Missing ones whose deletion Kinfold initiated, and others. */
  readonly ours: number
  readonly others: number
}

export interface RingEndTodo {
  readonly type: 'ring-end'
  readonly root: Uid
  /** The index at which the cycle begins that the search found; null for none. */
  readonly first: number | null
}

export interface KeepTodo {
  readonly type: 'keep'
  /** `ruleDigest`. */
  readonly rule: string
  readonly group: string
  /** All up to the boundary are judged; false: it is moved. */
  readonly isAgain: boolean
}

export interface TicketsTodo {
  readonly type: 'tickets'
  readonly budget: BudgetClass
  /** A namespace was skipped, whose work was still to be judged. */
  readonly isAgain: boolean
}

/** `agenda`: the turns of lanes; `head` is the number of the first, `tail` the next free one. */
export interface Agenda {
  readonly type: 'Agenda'
  readonly head: number
  readonly tail: number
}

/** `turn/<number>`: whose turn it is. */
export interface LaneTurn {
  readonly type: 'LaneTurn'
  readonly cluster: ClusterId
  readonly namespace: string
  /**
   * So many turns it leaves to others, since its last one judged as many references as those would.
   */
  readonly owed: number
}

/**
 * `lane/<cluster>/<namespace>`: works in order, as `Work.namespace` has them; `head` is the number
 * of the first, `tail` the next free one.
 */
export interface Lane {
  readonly type: 'Lane'
  readonly head: number
  readonly tail: number
  /** The largest `Work.number` put there. */
  readonly newest: number
  /** Until `head` is at `until` there may be older work after newer work, none older than this. */
  readonly oldest: number
  readonly until: number
  /** It has no turn: it waits until live GETs are answered. */
  readonly isParked: boolean
}

/**
 * `walk/<cluster>/<uid>`: a search over what a waiting owner waits for, depth first, to find owners
 * that wait for each other.
 */
export interface Ring {
  readonly type: 'Ring'
  /** The current object of the search. */
  readonly current: Uid
  /** Visited so far. */
  readonly visited: number
  /** Requested again meanwhile. */
  readonly again: boolean
}

/**
 * `ring/<cluster>/<uid>/<visited uid>`: as in Tarjan's algorithm for strongly connected components.
 */
export interface RingVisit {
  readonly type: 'RingVisit'
  readonly index: number
  /** The lowest index that it is known to lead back to. */
  readonly low: number
  /** The object visited before; empty where the search began. */
  readonly from: Uid
  /** The last edge read. */
  readonly cursor: string
}

/** `held/<cluster>/<uid>`: a node that is held, by anything but mode observe. */
export interface HeldNode {
  readonly type: 'HeldNode'
  readonly by: HeldBy
  /**
   * Offset of the record that made it so: an object that waits for approval since a later one than
   * a ruling's is not covered by the ruling.
   */
  readonly position: bigint
}

/** `plan/<cluster>`: all that waits for approval; see `memberOf`. */
export interface HeldPlan {
  readonly type: 'HeldPlan'
  readonly set: SetHash
}

/** `ruling/<cluster>`: the last ruling of a person on all objects that waited for approval then. */
export interface PlanRuling {
  readonly type: 'PlanRuling'
  readonly verdict: Ruling['verdict']
  readonly who: string
  readonly why: string
  /** Log time at which an approval ends. */
  readonly until: number
  readonly position: bigint
}

/** `approval/<cluster>`: the first of two people has approved the set that waits for approval. */
export interface FirstApproval {
  readonly type: 'FirstApproval'
  readonly set: SetHash
  readonly who: string
  readonly why: string
  /** Log time at which it is forgotten. */
  readonly until: number
}

/**
 * `ticket/<cluster>/<class>/<namespace>/<number>`: an object that waits for the budget, or (with
 * coordinates) an owner whose dependents do.
 */
export interface Ticket {
  readonly type: 'Ticket'
  readonly uid: Uid
  readonly coordinates: Coordinates | null
  /** The turn on the agenda at which it was requested. */
  readonly number: number
}

/**
 * `budget/<cluster>/<class>`: the requested and the begun deletions of each of the last minutes.
 */
export interface Budget {
  readonly type: 'Budget'
  readonly asked: readonly MinuteCounts[]
  readonly begun: readonly MinuteCounts[]
  /** Number of the next ticket. */
  readonly next: number
  /** Log time at which waiting objects are judged again; 0 while none waits. */
  readonly dueAt: number
}

/** The counts of a minute, by namespace (window.ts). */
export interface MinuteCounts {
  /** Since 1970. */
  readonly minute: number
  readonly namespaces: readonly NamespaceCount[]
}

export interface NamespaceCount {
  readonly namespace: string
  readonly count: number
}

/** `ending/<cluster>/<namespace>`: that namespace is being deleted. */
export interface Ending {
  readonly type: 'Ending'
}

/**
 * `definition/<cluster>/<resource.group>`: when the CustomResourceDefinition of that kind was being
 * deleted, the last few times.
 */
export interface Definition {
  readonly type: 'Definition'
  readonly spans: readonly DefinitionSpan[]
}

export interface DefinitionSpan {
  readonly since: number
  /** Null while its deletion continues. */
  readonly until: number | null
}

/**
 * `breaker/<cluster>`, `breaker/<cluster>/<namespace>`: open while it was opened after it was
 * closed. Both in log time.
 */
export interface Breaker {
  readonly type: 'Breaker'
  readonly openedAt: number
  readonly closedAt: number
  readonly because: string
}

/**
 * `pace/<cluster>/<namespace>`: how commands of one minute settled; without a namespace those of
 * all.
 */
export interface Pace {
  readonly type: 'Pace'
  /** Since 1970. */
  readonly minute: number
  readonly settled: number
  readonly refused: number
}

/** `share/<cluster>/<kind>`: owners of a kind that others deleted within the last minutes. */
export interface Share {
  readonly type: 'Share'
  readonly minutes: readonly MinuteCounts[]
}

/** `rulerun/<cluster>/<rule>`: what became due by a rule within the last hour. */
export interface RuleRun {
  readonly type: 'RuleRun'
  /** `ruleDigest`: what another rule of that name counted is forgotten. */
  readonly digest: string
  readonly due: readonly MinuteCounts[]
  /** Log time since when all of it is held; 0 while it is not. */
  readonly heldAt: number
  readonly because: string
  /** Where it is over its limit in some namespaces only. */
  readonly heldIn: readonly HeldNamespace[]
}

export interface HeldNamespace {
  readonly namespace: string
  /** Log time. */
  readonly heldAt: number
  readonly because: string
}

/**
 * `ruleowner/<cluster>/<rule>/<owner's uid>`: objects of one controller that a rule deleted, and
 * that it made again. Of a rule that annotates, under the object's own uid: how often it set
 * the annotation, and how often that was removed.
 */
export interface RuleOwner {
  readonly type: 'RuleOwner'
  /** Log time at which the last one began to be deleted. */
  readonly deletedAt: number
  /** In a row, with less than the rule's time in between. */
  readonly deleted: number
  /** Of these, how many the controller made again right afterwards. */
  readonly replaced: number
}

/** `ruleturns/<cluster>`: deletions by rules that are under way, and how many wait. */
export interface RuleTurns {
  readonly type: 'RuleTurns'
  /** By namespace, none with a count of 0. */
  readonly underWay: readonly NamespaceCount[]
  readonly waiting: number
  /** Turns that became free since others were called. */
  readonly freed: number
  /** The end of the namespace that was called last; empty at first. */
  readonly cursor: string
}

/** `ruleturn/<cluster>/<namespace>/<uid>`: an object that waits for its turn. */
export interface RuleTurn {
  readonly type: 'RuleTurn'
}

/**
 * `clusterrules/<cluster>`: the objects of the cluster that have rules in force, CleanupPolicies
 * and ClusterCleanupPolicies. Each has a value of its own, so a change of one writes no other.
 */
export interface ClusterRules {
  readonly type: 'ClusterRules'
  /** The oldest first. */
  readonly uids: readonly Uid[]
  readonly isOver: boolean
  /** Offset of the last change of any of them. */
  readonly changedAt: bigint
}

/** `policyrule/<cluster>/<uid>`: the rule of one of them. */
export interface PolicyRule {
  readonly type: 'PolicyRule'
  readonly policy: KnownPolicy
}

/** Those of refused objects, and beyond the caps, are left out. */
export interface KnownPolicies {
  /** The oldest first. */
  readonly policies: readonly KnownPolicy[]
  /**
   * Some are left out: there are too many, or a younger one has the name. Once one leaves they are
   * looked for.
   */
  readonly isOver: boolean
}

/** An object that has a rule. */
export interface KnownPolicy {
  readonly uid: Uid
  /** Empty for a ClusterCleanupPolicy. */
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly createdAt: number
  readonly rule: Rule
  /** With whose rights its objects are deleted; empty: with those of the reaper. */
  readonly account: string
  /** Append time since when its annotation names the rule as it is; 0 for a dry run. */
  readonly enforcedAt: number
}

/**
 * `keepgroup/<cluster>/<rule's digest>/<group>`: how many objects of a group a rule counts, of
 * which it keeps the newest.
 */
export interface KeepGroup {
  readonly type: 'KeepGroup'
  /** So many stay. */
  readonly newest: number
  readonly count: number
  /** Those up to the boundary. */
  readonly beyond: number
  /** The boundary: the order of the last one that does not stay; empty for none. */
  readonly upTo: string
  /** Some were judged while the boundary had to move back. */
  readonly isAgain: boolean
}

/** `kept/<cluster>/<rule's digest>/<group>/<way>/<order>/<uid>`: twice, in both directions. */
export interface Kept {
  readonly type: 'Kept'
}

/** `keeps/<cluster>/<uid>`: the rows of an object. */
export interface Keeps {
  readonly type: 'Keeps'
  readonly rows: readonly KeptRow[]
  /** What it waits for by rules: names of objects, and kinds. */
  readonly waits: readonly GroupKind[]
}

/** `named/<cluster>/<coordinates>`: which objects have that name; one, but for a moment. */
export interface Named {
  readonly type: 'Named'
  readonly uids: readonly Uid[]
}

/**
 * `using/<cluster>`: rules ask what nothing uses, so what each object uses is followed. There is
 * none where no rule does.
 */
export interface Using {
  readonly type: 'Using'
  /** Of all that is read; empty once no rule asks any more, until all rows have left. */
  readonly table: string
  /** That are followed: users, and what they use. */
  readonly kinds: readonly GroupKind[]
  readonly used: readonly FollowedUse[]
  /** Offset of the last unreadable record since then; -1: none. */
  readonly lostAt: bigint
}

/** A kind that is used. */
export interface FollowedUse extends GroupKind {
  /** Of the rows that are about it. */
  readonly table: string
  /** Log time since when its uses are followed. */
  readonly since: number
}

/** `usekind/<cluster>/<kind>`: how far the uses by objects of a kind are known. */
export interface UseKind {
  readonly type: 'UseKind'
  /** `Using.table`, as of which all its objects are known; empty: not yet. */
  readonly table: string
  /** Log time since when no use by them was missed. */
  readonly since: number
  /** Log time at which its watch was last found to have been silent; 0 for never. */
  readonly silentAt: number
  /** Log time since when heartbeats lack it, though it is listed; 0 while they have it. */
  readonly missingAt: number
}

/** `uses/<cluster>/<uid>`: what an object uses. */
export interface Uses {
  readonly type: 'Uses'
  /** As `coordinatesPart` has them. */
  readonly places: readonly string[]
}

/** `usage/<cluster>/<place>`: an object that is used, or is there; `*` as in model/use/use.ts. */
export interface Usage {
  readonly type: 'Usage'
  /** Those that are there, of the kinds that are followed. */
  readonly objects: readonly Uid[]
  /** Log time since when one of them is known; 0 for none, or since when none is (use-index.ts). */
  readonly thereAt: number
  readonly users: number
  /** Log time of the first use, and of the last one that ended; 0 for none. */
  readonly firstAt: number
  readonly lastAt: number
  /** Which user came or left last, as `KIND/NAME`; empty for none. */
  readonly last: string
}

/** `user/<cluster>/<place>/<uid>`: an object that uses it. */
export interface UserRow {
  readonly type: 'UserRow'
  /** Log time since when. */
  readonly since: number
}

export interface KeptRow {
  /** `ruleDigest`. */
  readonly rule: string
  readonly group: string
  readonly order: string
  /** Of the rule. */
  readonly newest: number
}

/** `keeping/<cluster>`: where no object has a row, and no record was lost, there is none. */
export interface Keeping {
  readonly type: 'Keeping'
  readonly count: number
  /** Offset of the last unreadable record of any namespace since then; -1: none. */
  readonly lostAt: bigint
}

/** `elsewhere/<cluster>/<owner's cluster>/<owner's uid>`: an owner that objects here name. */
export interface Elsewhere {
  readonly type: 'Elsewhere'
  /** How many objects name it: at least one. */
  readonly namers: number
  /** Null until anything was published about it. */
  readonly fact: ElsewhereFact | null
}

export interface ElsewhereFact {
  readonly state: ElsewhereState
  /** Log time since when it is in that state without a break. */
  readonly since: number
  readonly ownerEpoch: number
  readonly position: bigint
  readonly place: Coordinates
  readonly version: string
  readonly resource: string
  readonly createdAt: number | null
}

/** `elsewherecluster/<cluster>/<owner's cluster>`: how a cluster of such owners is followed. */
export interface ElsewhereCluster {
  readonly type: 'ElsewhereCluster'
  readonly state: ClusterElsewhere['state']
  readonly because: string
  /** Of the watcher that published it. */
  readonly epoch: number
  readonly ownerEpoch: number
  /** Log time since when it is followed without a break; 0 while it is not. */
  readonly since: number
  /** Log time, and offset, of what was published last. */
  readonly heardAt: number
  readonly position: bigint
}

/** `elsewherenamespace/<cluster>/<namespace>`: how many objects there name owners elsewhere. */
export interface ElsewhereNamespace {
  readonly type: 'ElsewhereNamespace'
  readonly namers: number
  /** There were too many, and are not few enough yet. */
  readonly isOver: boolean
}

/**
 * `unreadable/<home>`: nothing there is judged until the kinds concerned were relisted after
 * `position`.
 */
export interface UnreadableHome {
  readonly type: 'UnreadableHome'
  readonly position: bigint
  readonly reason: string
}

/** `position`: how far the events are folded, and the running digests of their results. */
export interface Position {
  readonly type: 'Position'
  readonly partition: number
  readonly partitions: number
  /** Next event to fold. */
  readonly position: bigint
  readonly state: string
  readonly outputs: string
  readonly foldVersion: number
  /**
   * Digest of the entry before `position`, as it was folded: whether the log still says the same
   * there. Empty where none was.
   */
  readonly last: string
  /**
   * Of `orders`, those that took effect last, by offset: each does so once
   * (services/graph/fold/order.ts).
   */
  readonly inForce: readonly string[]
}
