/**
 * The facts of one cluster with the verbs that change them.
 *
 * What must stay true: a change is seen by the next question about the same facts; the order of
 * changes is the order in which they reach the changelog. `null` removes a fact. Who writes which
 * fact is said by the file that owns it: nodes are written in link.ts only, owners in gets.ts only.
 *
 * Not here: the agenda's turns, which are one list for all clusters (agenda.ts).
 */
import type { SetHash } from '../model/hash.ts'
import type { Node } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import type { BudgetClass } from '../model/policy.ts'
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
  KeptRow,
  Kind,
  KnownPolicies,
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
  StateValue,
  Ticket,
  UnreadableHome,
  Usage,
  UseKind,
  UserRow,
  Uses,
  Using,
  Verification,
  Work,
} from '../model/state.ts'
import { StoredFacts } from './facts.ts'
import type { Graph } from './graph.ts'
import { typed } from './graph.ts'
import type { Timer } from './key.ts'
import {
  approvalKey,
  breakerKeyOf,
  budgetKey,
  clusterKey,
  clusterRulesKey,
  countKey,
  DIRECTIVES_KEY,
  definitionKey,
  dueKey,
  elsewhereClusterKey,
  elsewhereKey,
  elsewhereNamespaceKey,
  endingKey,
  getsKey,
  heldKey,
  keepGroupKey,
  keepingKey,
  keepsKey,
  keptKey,
  kindKey,
  kindNameKey,
  laneKey,
  membersKey,
  namedKey,
  nodeKey,
  ownerKey,
  POLICY_KEY,
  paceKey,
  planKey,
  policyRuleKey,
  queuedKey,
  ringKey,
  ringVisitKey,
  ruleOwnerKey,
  ruleRunKey,
  ruleTurnKey,
  ruleTurnsKey,
  rulingKey,
  seenKey,
  shareKey,
  ticketKey,
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

export class ClusterGraph extends StoredFacts<Graph> {
  setState(state: ClusterState): void {
    this.#put(clusterKey(this.cluster), state)
  }

  setPolicy(policy: PolicyState): void {
    this.#put(POLICY_KEY, policy)
  }

  setDirectives(directives: Directives): void {
    this.#put(DIRECTIVES_KEY, directives)
  }

  setNode(uid: Uid, node: Node | null): void {
    this.#put(nodeKey(this.cluster, uid), node)
  }

  setSeen(kind: GroupKind, uid: Uid, seen: Seen | null): void {
    this.#put(seenKey(this.cluster, kind, uid), seen)
  }

  setOwner(uid: Uid, place: Coordinates, known: KnownOwner | null): void {
    this.#put(ownerKey(this.cluster, uid, place), known && { type: 'Owner', known })
  }

  setCount(owner: Uid, place: Coordinates, count: Count | null): void {
    this.#put(countKey(this.cluster, owner, place), count)
  }

  /** `row`: as link.ts names it. */
  setEdge(row: string, isThere: boolean): void {
    this.#put(row, isThere ? { type: 'Edge' } : null)
  }

  setVerification(uid: Uid, verification: Verification | null): void {
    this.#put(verificationKey(this.cluster, uid), verification)
  }

  setQueued(uid: Uid, queued: Queued | null): void {
    this.#put(queuedKey(this.cluster, uid), queued)
  }

  setHeld(uid: Uid, held: HeldNode | null): void {
    this.#put(heldKey(this.cluster, uid), held)
  }

  setKind(of: GroupKind, kind: Kind): void {
    this.#put(kindKey(this.cluster, of), kind)
  }

  setMembers(kind: GroupKind, set: SetHash): void {
    this.#put(membersKey(this.cluster, kind), set.count === 0 ? null : { type: 'Members', set })
  }

  setKindsWritten(lower: GroupKind, kinds: readonly string[]): void {
    this.#put(kindNameKey(this.cluster, lower), { type: 'KindName', kinds })
  }

  setDefinitionSpans(name: string, spans: readonly DefinitionSpan[]): void {
    this.#put(definitionKey(this.cluster, name), { type: 'Definition', spans })
  }

  setEnding(namespace: string, isEnding: boolean): void {
    this.#put(endingKey(this.cluster, namespace), isEnding ? { type: 'Ending' } : null)
  }

  /** `home`: as in partition.ts. */
  setUnreadable(home: string, unreadable: UnreadableHome): void {
    this.#put(unreadableKey(home), unreadable)
  }

  setBreaker(namespace: string, breaker: Breaker): void {
    this.#put(breakerKeyOf(this.cluster, namespace), breaker)
  }

  setBudget(of: BudgetClass, budget: Budget): void {
    this.#put(budgetKey(this.cluster, of), budget)
  }

  setPace(namespace: string, pace: Pace): void {
    this.#put(paceKey(this.cluster, namespace), pace)
  }

  setShare(kind: GroupKind, minutes: readonly MinuteCounts[]): void {
    this.#put(shareKey(this.cluster, kind), { type: 'Share', minutes })
  }

  setRuleRun(rule: string, run: RuleRun | null): void {
    this.#put(ruleRunKey(this.cluster, rule), run)
  }

  setRuleOwner(rule: string, controller: Uid, owner: RuleOwner | null): void {
    this.#put(ruleOwnerKey(this.cluster, rule, controller), owner)
  }

  setRuleTurns(turns: RuleTurns): void {
    this.#put(ruleTurnsKey(this.cluster), turns)
  }

  setRuleTurn(namespace: string, uid: Uid, isWaiting: boolean): void {
    this.#put(ruleTurnKey(this.cluster, namespace, uid), isWaiting ? { type: 'RuleTurn' } : null)
  }

  /** `position`: of the record. A policy that is as before is the same object. */
  setClusterRules({ policies, isOver }: KnownPolicies, position: bigint): void {
    const former = this.clusterRules?.policies ?? []
    const uids = policies.map(({ uid }) => uid)
    for (const { uid } of former) {
      if (!uids.includes(uid)) this.#put(policyRuleKey(this.cluster, uid), null)
    }
    for (const policy of policies) {
      if (former.includes(policy)) continue
      this.#put(policyRuleKey(this.cluster, policy.uid), { type: 'PolicyRule', policy })
    }
    const index = { type: 'ClusterRules', uids, isOver, changedAt: position } as const
    const isNone = policies.length === 0 && !isOver
    this.#put(clusterRulesKey(this.cluster), isNone ? null : index)
  }

  setKeepGroup(rule: string, name: string, group: KeepGroup | null): void {
    this.#put(keepGroupKey(this.cluster, rule, name), group)
  }

  /** Its row in both directions. */
  setKept(row: KeptRow, uid: Uid, isThere: boolean): void {
    for (const way of ['up', 'down'] as const) {
      this.#put(keptKey(this.cluster, row, way, uid), isThere ? { type: 'Kept' } : null)
    }
  }

  setKeeps(uid: Uid, keeps: Keeps | null): void {
    this.#put(keepsKey(this.cluster, uid), keeps)
  }

  setNamed(place: Coordinates, uids: readonly Uid[]): void {
    this.#put(namedKey(this.cluster, place), uids.length === 0 ? null : { type: 'Named', uids })
  }

  setUsing(using: Using | null): void {
    this.#put(usingKey(this.cluster), using)
  }

  setUseKind(kind: GroupKind, use: UseKind | null): void {
    this.#put(useKindKey(this.cluster, kind), use)
  }

  setUses(uid: Uid, uses: Uses | null): void {
    this.#put(usesKey(this.cluster, uid), uses)
  }

  setUsage(place: Coordinates, usage: Usage | null): void {
    this.#put(usageKey(this.cluster, place), usage)
  }

  setUser(place: Coordinates, uid: Uid, row: UserRow | null): void {
    this.#put(userKey(this.cluster, place, uid), row)
  }

  setElsewhere(owner: ClusterId, uid: Uid, elsewhere: Elsewhere | null): void {
    this.#put(elsewhereKey(this.cluster, owner, uid), elsewhere)
  }

  setElsewhereCluster(owner: ClusterId, known: ElsewhereCluster): void {
    this.#put(elsewhereClusterKey(this.cluster, owner), known)
  }

  setElsewhereNamers(namespace: string, row: ElsewhereNamespace | null): void {
    const key = elsewhereNamespaceKey(this.cluster, namespace)
    this.#put(key, row)
  }

  setKeeping(keeping: Keeping | null): void {
    this.#put(keepingKey(this.cluster), keeping)
  }

  setPlan(set: SetHash): void {
    this.#put(planKey(this.cluster), set.count === 0 ? null : { type: 'HeldPlan', set })
  }

  setRuling(ruling: PlanRuling): void {
    this.#put(rulingKey(this.cluster), ruling)
  }

  setFirstApproval(approval: FirstApproval | null): void {
    this.#put(approvalKey(this.cluster), approval)
  }

  setGets(lane: string, gets: Gets | null): void {
    this.#put(getsKey(this.cluster, lane), gets)
  }

  setLane(name: string, lane: Lane | null): void {
    this.#put(laneKey(this.cluster, name), lane)
  }

  setWork(lane: string, number: number, work: Work | null): void {
    this.#put(workKey(this.cluster, lane, number), work)
  }

  setRing(root: Uid, ring: Ring | null): void {
    this.#put(ringKey(this.cluster, root), ring)
  }

  setRingVisit(root: Uid, visited: Uid, visit: RingVisit): void {
    this.#put(ringVisitKey(this.cluster, root, visited), visit)
  }

  isDue(timeMs: number, timer: Timer): boolean {
    return this.reader.get(dueKey(this.cluster, timeMs, timer)) !== undefined
  }

  setDue(timeMs: number, timer: Timer): void {
    this.#put(dueKey(this.cluster, timeMs, timer), { type: 'Due' })
  }

  setWaiting(kind: GroupKind, dependent: Uid, isWaiting: boolean): void {
    this.#put(waitKey(this.cluster, kind, dependent), isWaiting ? { type: 'Wait' } : null)
  }

  /** At the end of the queue: `number` grows with each. */
  putTicket(budget: BudgetClass, namespace: string, number: number, ticket: Ticket): void {
    this.#put(ticketKey(this.cluster, budget, namespace, number), ticket)
  }

  /** `row`: of a page, as row.ts has them. */
  ticketAt(row: string): Ticket | undefined {
    return typed(this.reader.get(row), 'Ticket')
  }

  ringVisitAt(row: string): RingVisit | undefined {
    return typed(this.reader.get(row), 'RingVisit')
  }

  removeRow(row: string): void {
    this.#put(row, null)
  }

  #put(key: string, value: StateValue | null): void {
    if (value === null) this.reader.remove(key)
    else this.reader.put(key, value)
  }
}
