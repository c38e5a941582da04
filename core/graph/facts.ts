/**
 * What can be asked of one cluster at one moment: all that the rules of judging, admitting and
 * issuing read.
 *
 * What must stay true: no rule knows how a subject lies in memory or under which key it is stored,
 * so that another form of the state is another implementation and no other rule. A rule is given no
 * cluster, since the facts are those of one. An answer is that of now: what a record has changed is
 * seen at once.
 *
 * Made once for a cluster and a record (fold) or a question (view), never for each call.
 *
 * Not here: changing them (cluster-graph.ts), the agenda, which is one for all clusters
 * (agenda.ts), pages of keys (services/graph).
 */
import type { SetHash } from '../model/hash.ts'
import { EMPTY_SET } from '../model/hash.ts'
import type { Node } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import type { BudgetClass } from '../model/policy.ts'
import type { EnforcedRule, Rule } from '../model/rule/rule.ts'
import type {
  Breaker,
  Budget,
  ClusterState,
  Count,
  DefinitionSpan,
  Directives,
  Elsewhere,
  ElsewhereCluster,
  ElsewhereNamespace,
  FirstApproval,
  Gets,
  HeldNode,
  KeepGroup,
  Keeping,
  Keeps,
  Kind,
  KnownPolicies,
  KnownPolicy,
  Lane,
  MinuteCounts,
  Pace,
  PlanRuling,
  PolicyState,
  Queued,
  Ring,
  RingVisit,
  RuleOwner,
  RuleRun,
  RuleTurns,
  Seen,
  Usage,
  UseKind,
  UserRow,
  Uses,
  Using,
  Verification,
  Work,
} from '../model/state.ts'
import type { StateReader } from './graph.ts'
import { directivesOf, policyOf, typed } from './graph.ts'
import {
  approvalKey,
  breakerKey,
  breakerKeyOf,
  budgetKey,
  clusterKey,
  clusterRulesKey,
  countKey,
  definitionKey,
  elsewhereClusterKey,
  elsewhereKey,
  elsewhereNamespaceKey,
  endingKey,
  getsKey,
  heldKey,
  keepGroupKey,
  keepingKey,
  keepsKey,
  kindKey,
  kindNameKey,
  laneKey,
  membersKey,
  namedKey,
  nodeKey,
  ownerKey,
  paceKey,
  planKey,
  policyRuleKey,
  queuedKey,
  ringKey,
  ringVisitKey,
  ruleOwnerKey,
  ruleRunKey,
  ruleTurnsKey,
  rulingKey,
  seenKey,
  shareKey,
  unreadableHomeKey,
  unreadableKey,
  usageKey,
  useKindKey,
  userKey,
  usesKey,
  usingKey,
  verificationKey,
  waitKey,
  workKey,
} from './key.ts'
import { enforcedIn, knownPolicies, rulesIn } from './rule/cluster-rules.ts'

export interface ClusterFacts {
  /** Empty: facts that are about all clusters. */
  readonly cluster: ClusterId
  /** Undefined until its first watcher has started. */
  readonly state: ClusterState | undefined
  /** Of all clusters. */
  readonly policy: PolicyState
  /** Of all clusters: each names its own. */
  readonly directives: Directives
  /** Those of the policy, then those that objects of the cluster have. */
  readonly rules: readonly Rule[]
  /** Which of them are carried out: by orders, or by annotations of those objects. */
  readonly enforced: readonly EnforcedRule[]
  /** Undefined: no object has a rule. */
  readonly clusterRules: KnownPolicies | undefined

  /** An object, with what was decided about it. */
  node(uid: Uid): Node | undefined
  /** The version at which it was seen, and by which list. */
  seen(kind: GroupKind, uid: Uid): Seen | undefined
  /** It is judged again once more is known of that kind. */
  isWaiting(kind: GroupKind, dependent: Uid): boolean
  /** What is known of an owner that is no node at these coordinates. */
  owner(uid: Uid, place: Coordinates): KnownOwner | undefined
  /** Of the references that name an owner at these coordinates. */
  count(owner: Uid, place: Coordinates): Count | undefined
  /** An owner by where it is, or by the object that it is. */
  isNamed(owner: Uid, place: Coordinates): boolean
  /** How far its owners are looked up. */
  verification(uid: Uid): Verification | undefined
  /** That it is on the agenda by itself. */
  queued(uid: Uid): Queued | undefined
  /** What holds it, and since which record. */
  held(uid: Uid): HeldNode | undefined

  kind(of: GroupKind): Kind | undefined
  /** The uids of a kind: of now, also where the rest is of a moment. */
  members(kind: GroupKind): SetHash
  /** The kinds that are equal to this one in lower case. */
  kindsWritten(lower: GroupKind): readonly string[]
  /** When a CustomResourceDefinition of that name was being deleted. */
  definitionSpans(name: string): readonly DefinitionSpan[]
  /** A namespace is being deleted, or was until just now. */
  isEnding(namespace: string): boolean
  /**
   * Offset of the last record of a namespace or the whole cluster that was unreadable; -1: none.
   */
  unreadableAt(namespace: string): bigint

  /** Of a namespace, or (empty) of the cluster; whether it is open is said by breaker.ts. */
  breaker(namespace: string): Breaker | undefined
  /** That of all clusters. */
  readonly breakerOfAll: Breaker | undefined
  budget(budget: BudgetClass): Budget | undefined
  /** How the commands of a minute settle, in a namespace or (empty) in the cluster. */
  pace(namespace: string): Pace | undefined
  /** Owners of a kind that others deleted, by minute. */
  share(kind: GroupKind): readonly MinuteCounts[]
  /** What became due by a rule. */
  ruleRun(rule: string): RuleRun | undefined
  readonly ruleTurns: RuleTurns
  /** The objects of a controller that a rule deleted. */
  ruleOwner(rule: string, controller: Uid): RuleOwner | undefined
  /** A group of objects of which a rule keeps the newest; the rule by its digest. */
  keepGroup(rule: string, group: string): KeepGroup | undefined
  /** In which groups an object is. */
  keeps(uid: Uid): Keeps | undefined
  /** Which objects are at these coordinates, of the kinds that are known by name. */
  named(place: Coordinates): readonly Uid[]
  /** Undefined where no rule asks what nothing uses. */
  readonly using: Using | undefined
  useKind(kind: GroupKind): UseKind | undefined
  uses(uid: Uid): Uses | undefined
  usage(place: Coordinates): Usage | undefined
  user(place: Coordinates, uid: Uid): UserRow | undefined
  /** An owner in another cluster; undefined where no object names it. */
  elsewhere(owner: ClusterId, uid: Uid): Elsewhere | undefined
  /** How the cluster of such owners is followed; undefined where it never was. */
  elsewhereCluster(owner: ClusterId): ElsewhereCluster | undefined
  /** How many objects of a namespace name owners in other clusters. */
  elsewhereNamers(namespace: string): ElsewhereNamespace | undefined
  /** Undefined where no object is in any. */
  readonly keeping: Keeping | undefined
  /** The objects that wait for approval. */
  readonly plan: SetHash
  readonly ruling: PlanRuling | undefined
  readonly firstApproval: FirstApproval | undefined

  gets(lane: string): Gets | undefined
  lane(name: string): Lane | undefined
  work(lane: string, number: number): Work | undefined
  ring(root: Uid): Ring | undefined
  ringVisit(root: Uid, visited: Uid): RingVisit | undefined
}

export function factsOf(reader: StateReader, cluster: ClusterId): ClusterFacts {
  return new StoredFacts(reader, cluster)
}

/** The facts of each cluster that one reader has: made once for each. */
export class FactsByCluster {
  readonly #reader: StateReader
  readonly #facts = new Map<ClusterId, ClusterFacts>()

  constructor(reader: StateReader) {
    this.#reader = reader
  }

  of(cluster: ClusterId): ClusterFacts {
    const known = this.#facts.get(cluster)
    if (known !== undefined) return known
    const facts = factsOf(this.#reader, cluster)
    this.#facts.set(cluster, facts)
    return facts
  }
}

/** The facts as they are stored today: a value under a key each. */
export class StoredFacts<Reader extends StateReader = StateReader> implements ClusterFacts {
  readonly cluster: ClusterId
  protected readonly reader: Reader

  constructor(reader: Reader, cluster: ClusterId) {
    this.reader = reader
    this.cluster = cluster
  }

  get state(): ClusterState | undefined {
    return typed(this.reader.get(clusterKey(this.cluster)), 'ClusterState')
  }

  get policy(): PolicyState {
    return policyOf(this.reader)
  }

  get directives(): Directives {
    return directivesOf(this.reader)
  }

  get rules(): readonly Rule[] {
    return rulesIn(this.policy, this.clusterRules)
  }

  get enforced(): readonly EnforcedRule[] {
    return enforcedIn(this.directives, this.clusterRules)
  }

  get clusterRules(): KnownPolicies | undefined {
    const index = typed(this.reader.get(clusterRulesKey(this.cluster)), 'ClusterRules')
    return index && knownPolicies(index, (uid) => this.policyRule(uid))
  }

  protected policyRule(uid: Uid): KnownPolicy | undefined {
    return typed(this.reader.get(policyRuleKey(this.cluster, uid)), 'PolicyRule')?.policy
  }

  node(uid: Uid): Node | undefined {
    return typed(this.reader.get(nodeKey(this.cluster, uid)), 'Node')
  }

  seen(kind: GroupKind, uid: Uid): Seen | undefined {
    return typed(this.reader.get(seenKey(this.cluster, kind, uid)), 'Seen')
  }

  isWaiting(kind: GroupKind, dependent: Uid): boolean {
    return this.reader.get(waitKey(this.cluster, kind, dependent)) !== undefined
  }

  owner(uid: Uid, place: Coordinates): KnownOwner | undefined {
    return typed(this.reader.get(ownerKey(this.cluster, uid, place)), 'Owner')?.known
  }

  count(owner: Uid, place: Coordinates): Count | undefined {
    return typed(this.reader.get(countKey(this.cluster, owner, place)), 'Count')
  }

  isNamed(owner: Uid, place: Coordinates): boolean {
    return this.count(owner, place) !== undefined
  }

  verification(uid: Uid): Verification | undefined {
    return typed(this.reader.get(verificationKey(this.cluster, uid)), 'Verification')
  }

  queued(uid: Uid): Queued | undefined {
    return typed(this.reader.get(queuedKey(this.cluster, uid)), 'Queued')
  }

  held(uid: Uid): HeldNode | undefined {
    return typed(this.reader.get(heldKey(this.cluster, uid)), 'HeldNode')
  }

  kind(of: GroupKind): Kind | undefined {
    return typed(this.reader.get(kindKey(this.cluster, of)), 'Kind')
  }

  members(kind: GroupKind): SetHash {
    return typed(this.reader.get(membersKey(this.cluster, kind)), 'Members')?.set ?? EMPTY_SET
  }

  kindsWritten(lower: GroupKind): readonly string[] {
    return typed(this.reader.get(kindNameKey(this.cluster, lower)), 'KindName')?.kinds ?? []
  }

  definitionSpans(name: string): readonly DefinitionSpan[] {
    return typed(this.reader.get(definitionKey(this.cluster, name)), 'Definition')?.spans ?? []
  }

  isEnding(namespace: string): boolean {
    if (namespace === '') return false
    return this.reader.get(endingKey(this.cluster, namespace)) !== undefined
  }

  unreadableAt(namespace: string): bigint {
    const ofHome = this.#unreadableAt(unreadableHomeKey(this.cluster, namespace))
    const ofCluster = this.#unreadableAt(unreadableKey(this.cluster))
    return ofHome > ofCluster ? ofHome : ofCluster
  }

  #unreadableAt(key: string): bigint {
    return typed(this.reader.get(key), 'UnreadableHome')?.position ?? -1n
  }

  breaker(namespace: string): Breaker | undefined {
    return typed(this.reader.get(breakerKeyOf(this.cluster, namespace)), 'Breaker')
  }

  get breakerOfAll(): Breaker | undefined {
    return typed(this.reader.get(breakerKey('')), 'Breaker')
  }

  budget(budget: BudgetClass): Budget | undefined {
    return typed(this.reader.get(budgetKey(this.cluster, budget)), 'Budget')
  }

  pace(namespace: string): Pace | undefined {
    return typed(this.reader.get(paceKey(this.cluster, namespace)), 'Pace')
  }

  share(kind: GroupKind): readonly MinuteCounts[] {
    return typed(this.reader.get(shareKey(this.cluster, kind)), 'Share')?.minutes ?? []
  }

  ruleRun(rule: string): RuleRun | undefined {
    return typed(this.reader.get(ruleRunKey(this.cluster, rule)), 'RuleRun')
  }

  ruleOwner(rule: string, controller: Uid): RuleOwner | undefined {
    return typed(this.reader.get(ruleOwnerKey(this.cluster, rule, controller)), 'RuleOwner')
  }

  get ruleTurns(): RuleTurns {
    return typed(this.reader.get(ruleTurnsKey(this.cluster)), 'RuleTurns') ?? NO_RULE_TURNS
  }

  keepGroup(rule: string, group: string): KeepGroup | undefined {
    return typed(this.reader.get(keepGroupKey(this.cluster, rule, group)), 'KeepGroup')
  }

  keeps(uid: Uid): Keeps | undefined {
    return typed(this.reader.get(keepsKey(this.cluster, uid)), 'Keeps')
  }

  named(place: Coordinates): readonly Uid[] {
    return typed(this.reader.get(namedKey(this.cluster, place)), 'Named')?.uids ?? []
  }

  get using(): Using | undefined {
    return typed(this.reader.get(usingKey(this.cluster)), 'Using')
  }

  useKind(kind: GroupKind): UseKind | undefined {
    return typed(this.reader.get(useKindKey(this.cluster, kind)), 'UseKind')
  }

  uses(uid: Uid): Uses | undefined {
    return typed(this.reader.get(usesKey(this.cluster, uid)), 'Uses')
  }

  usage(place: Coordinates): Usage | undefined {
    return typed(this.reader.get(usageKey(this.cluster, place)), 'Usage')
  }

  user(place: Coordinates, uid: Uid): UserRow | undefined {
    return typed(this.reader.get(userKey(this.cluster, place, uid)), 'UserRow')
  }

  elsewhere(owner: ClusterId, uid: Uid): Elsewhere | undefined {
    return typed(this.reader.get(elsewhereKey(this.cluster, owner, uid)), 'Elsewhere')
  }

  elsewhereCluster(owner: ClusterId): ElsewhereCluster | undefined {
    return typed(this.reader.get(elsewhereClusterKey(this.cluster, owner)), 'ElsewhereCluster')
  }

  elsewhereNamers(namespace: string): ElsewhereNamespace | undefined {
    const key = elsewhereNamespaceKey(this.cluster, namespace)
    return typed(this.reader.get(key), 'ElsewhereNamespace')
  }

  get keeping(): Keeping | undefined {
    return typed(this.reader.get(keepingKey(this.cluster)), 'Keeping')
  }

  get plan(): SetHash {
    return typed(this.reader.get(planKey(this.cluster)), 'HeldPlan')?.set ?? EMPTY_SET
  }

  get ruling(): PlanRuling | undefined {
    return typed(this.reader.get(rulingKey(this.cluster)), 'PlanRuling')
  }

  get firstApproval(): FirstApproval | undefined {
    return typed(this.reader.get(approvalKey(this.cluster)), 'FirstApproval')
  }

  gets(lane: string): Gets | undefined {
    return typed(this.reader.get(getsKey(this.cluster, lane)), 'Gets')
  }

  lane(name: string): Lane | undefined {
    return typed(this.reader.get(laneKey(this.cluster, name)), 'Lane')
  }

  work(lane: string, number: number): Work | undefined {
    return typed(this.reader.get(workKey(this.cluster, lane, number)), 'Work')
  }

  ring(root: Uid): Ring | undefined {
    return typed(this.reader.get(ringKey(this.cluster, root)), 'Ring')
  }

  ringVisit(root: Uid, visited: Uid): RingVisit | undefined {
    return typed(this.reader.get(ringVisitKey(this.cluster, root, visited)), 'RingVisit')
  }
}

const NO_RULE_TURNS: RuleTurns = {
  type: 'RuleTurns',
  underWay: [],
  waiting: 0,
  freed: 0,
  cursor: '',
}
