/**
 * Budgets: how much may begin to be deleted within any ten minutes of log time: in a cluster, and of that in a namespace.
 *
 * What must stay true: never more begins than the policy has. Nothing is granted ahead: what costs something is let through in the moment in which nothing else holds it, or
 * waits; a deletion by others is a lease of a minute for all its dependents, and renewed at the price of another. No namespace uses more than half of what the others have left, so
 * it cannot use up theirs.
 *
 * Not here: what costs something (price.ts).
 */
import { enqueue, judgeDependents, setTimer } from '../graph/agenda.ts'
import type { StateReader } from '../graph/graph.ts'
import { clusterOf, nodeOf, ownerOf, policyOf } from '../graph/graph.ts'
import {
  budgetKey,
  endOfNamespaceTickets,
  namespaceOfTicket,
  ownerKey,
  ticketKey,
} from '../graph/key.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { markDirty } from '../graph/outcome.ts'
import { byNamespace, minuteOf, since, sumOf, withOne } from '../graph/window.ts'
import { BUDGET_MINUTES, KEYS_PER_PAGE, LEASE_MS } from '../model/constant.ts'
import type { Hold, Node } from '../model/node.ts'
import type { ClusterId, Coordinates, Uid } from '../model/object.ts'
import type { BudgetClass } from '../model/policy.ts'
import { limitOf } from '../model/policy.ts'
import type { Budget, ClusterState, Owner, Ticket, Work } from '../model/state.ts'
import { noteDemand } from './burst.ts'
import type { Price } from './price.ts'

const MINUTE_MS = 60_000

/** How many more may begin now. */
export function roomOf(
  graph: StateReader,
  cluster: ClusterId,
  budget: BudgetClass,
  namespace: string,
  now: number,
): number {
  const limit = limitOf(policyOf(graph).policy.budgets, budget)
  const { begun } = budgetOf(graph, cluster, budget)
  const counts = byNamespace(since(begun, minuteOf(now) - BUDGET_MINUTES + 1))
  const own = counts.get(namespace) ?? 0
  const others = sumOf(counts) - own
  return Math.max(0, Math.ceil((limit - others) / 2) - own)
}

/** What it costs has begun: a deletion by others for a minute, an object for good. */
export function isLeased(
  graph: StateReader,
  cluster: ClusterId,
  { root }: Price,
  now: number,
): boolean {
  const owner = root === null ? undefined : ownerOf(graph, cluster, root.uid, root.place)
  return owner !== undefined && owner.leasedAt > 0 && now < owner.leasedAt + LEASE_MS
}

/**
 * What is to be remembered of one whose beginning costs something: it begins, waits in the queue of its namespace, or (while it is held otherwise for not much longer) has
 * asked.
 */
export function pay(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  node: Node,
  hold: Hold,
  price: Price,
  about: string,
): Hold {
  const isSoon = hold.by === 'hold' && (hold.until ?? 0) - state.now <= LEASE_MS
  if (hold.by !== null && hold.by !== 'budget' && !isSoon) return hold
  const payer = { step, state, cluster, price, about }
  if (price.root !== null) {
    payForOwner(payer, price.root, hold)
    return hold
  }
  if (hold.by === null) {
    count(step, state, cluster, price)
    return hold
  }
  // An object that is held asks once that is over: until then its owner may be back.
  if (hold.by !== 'budget' || hold.turn === 'queued') return hold
  if (hold.turn === 'none') ask(payer)
  takeTicket(payer, { uid: node.object.uid, coordinates: null })
  return { ...hold, turn: 'queued' }
}

interface Payer {
  readonly step: Step
  readonly state: ClusterState
  readonly cluster: ClusterId
  readonly price: Price
  /** For people: why. */
  readonly about: string
}

function payForOwner(payer: Payer, root: NonNullable<Price['root']>, { by }: Hold): void {
  const { step, cluster } = payer
  const { uid, place } = root
  const owner = ownerOf(step.graph, cluster, uid, place)
  if (owner === undefined) return
  if (owner.turn === 'none') ask(payer)
  const { group, kind, namespace, name } = place
  if (by === null) return lease(step, payer.state, cluster, payer.price.class, uid, place, owner)
  if (by === 'budget' && owner.turn !== 'queued') {
    takeTicket(payer, { uid, coordinates: { group, kind, namespace, name } })
  }
  const turn = by === 'budget' ? 'queued' : 'asked'
  const isSame = owner.turn === turn || owner.turn === 'queued'
  if (!isSame) step.graph.put(ownerKey(cluster, uid, place), { ...owner, turn })
}

/** Its dependents may begin to be deleted, for a minute. */
function lease(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  budget: BudgetClass,
  uid: Uid,
  place: Coordinates,
  owner: Owner,
): void {
  count(step, state, cluster, { class: budget, namespace: place.namespace })
  const leased = { ...owner, turn: 'asked', leasedAt: nowOf(step, state) } as const
  step.graph.put(ownerKey(cluster, uid, place), leased)
}

function count(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  { class: budget, namespace }: Pick<Price, 'class' | 'namespace'>,
): void {
  const former = budgetOf(step.graph, cluster, budget)
  const begun = withOne(former.begun, nowOf(step, state), BUDGET_MINUTES, namespace)
  step.graph.put(budgetKey(cluster, budget), { ...former, begun })
}

function takeTicket({ step, state, cluster, price }: Payer, ticket: Omit<Ticket, 'type'>): void {
  const { class: budget, namespace } = price
  const former = budgetOf(step.graph, cluster, budget)
  const key = ticketKey(cluster, budget, namespace, former.next)
  step.graph.put(key, { type: 'Ticket', ...ticket })
  // The first one is called behind all that is being judged now.
  if (former.dueAt === 0) enqueue(step, { work: 'tickets', cluster, uid: budget })
  const dueAt = former.dueAt === 0 ? Math.max(1, state.now) : former.dueAt
  step.graph.put(budgetKey(cluster, budget), { ...former, next: former.next + 1, dueAt })
}

function ask({ step, state, cluster, price, about }: Payer): void {
  const { class: budget, namespace } = price
  const former = budgetOf(step.graph, cluster, budget)
  const asked = withOne(former.asked, nowOf(step, state), BUDGET_MINUTES, namespace)
  step.graph.put(budgetKey(cluster, budget), { ...former, asked })
  noteDemand(step, state, cluster, budget, namespace, asked, about)
}

/** Another minute: those who wait are looked at. */
export function budgetDue(step: Step, cluster: ClusterId, budget: BudgetClass): void {
  enqueue(step, { work: 'tickets', cluster, uid: budget })
}

/** A page of tickets. Answers with the key behind which it goes on; undefined when it is over. */
export function useTickets(
  step: Step,
  { cluster, uid }: Work,
  keys: readonly string[],
): string | undefined {
  const budget = uid as BudgetClass
  const state = clusterOf(step.graph, cluster)
  if (state === undefined) return undefined
  /** Objects of this page that were called: they begin when they are judged. */
  let called = 0
  let former = ''
  for (const key of keys) {
    const namespace = namespaceOfTicket(key)
    if (namespace !== former) called = 0
    former = namespace
    if (roomOf(step.graph, cluster, budget, namespace, nowOf(step, state)) <= called) {
      lookAgain(step, state, cluster, budget)
      return endOfNamespaceTickets(key)
    }
    const ticket = step.graph.get(key)
    step.graph.remove(key)
    if (ticket?.type !== 'Ticket') continue
    if (ticket.coordinates === null) called++
    useTicket(step, state, cluster, budget, ticket)
  }
  if (keys.length === KEYS_PER_PAGE) return keys.at(-1)
  const { dueAt, ...rest } = budgetOf(step.graph, cluster, budget)
  if (dueAt <= Math.max(1, state.now))
    step.graph.put(budgetKey(cluster, budget), { ...rest, dueAt: 0 })
  return undefined
}

/** Whether it is still to be deleted is found when it is judged; a deletion by others is counted at once, so that what it would take along does not outnumber the room there is. */
function useTicket(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  budget: BudgetClass,
  { uid, coordinates }: Ticket,
): void {
  if (coordinates !== null) return useOwnerTicket(step, state, cluster, budget, uid, coordinates)
  const node = nodeOf(step.graph, cluster, uid)
  if (node?.hold?.turn !== 'queued') return
  putNode(step, cluster, node, { ...node, hold: { ...node.hold, turn: 'called' } })
  markDirty(step, cluster, uid)
}

function useOwnerTicket(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  budget: BudgetClass,
  uid: Uid,
  place: Coordinates,
): void {
  const owner = ownerOf(step.graph, cluster, uid, place)
  if (owner?.turn !== 'queued') return
  lease(step, state, cluster, budget, uid, place, owner)
  judgeDependents(step, cluster, uid, place)
}

/** Some wait still. */
function lookAgain(
  step: Step,
  { now }: ClusterState,
  cluster: ClusterId,
  budget: BudgetClass,
): void {
  const former = budgetOf(step.graph, cluster, budget)
  if (former.dueAt > Math.max(1, now)) return
  const dueAt = nextMinute(now)
  step.graph.put(budgetKey(cluster, budget), { ...former, dueAt })
  setTimer(step, cluster, dueAt, { what: 'budget', uid: budget, coordinates: null })
}

function nextMinute(now: number): number {
  return (minuteOf(now) + 1) * MINUTE_MS
}

function nowOf(step: Step, state: ClusterState): number {
  return Math.max(state.now, step.at.timestamp)
}

function budgetOf(graph: StateReader, cluster: ClusterId, budget: BudgetClass): Budget {
  const found = graph.get(budgetKey(cluster, budget))
  return found?.type === 'Budget' ? found : NO_BUDGET
}

const NO_BUDGET: Budget = { type: 'Budget', asked: [], begun: [], next: 1, dueAt: 0 }
