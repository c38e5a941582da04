/**
 * Budgets: how many deletions may begin within any ten minutes of log time: in a cluster, and of
 * those in a namespace.
 *
 * What must stay true: never more deletions begin than the policy allows. Nothing is granted ahead:
 * a deletion that costs something begins when nothing else holds it, or it waits; a deletion by
 * others is a lease of a minute for all its dependents, renewed at the price of another. A
 * namespace uses at most half of what the others have left, so it cannot use up their budget.
 *
 * Not here: which deletions cost something (price.ts).
 */
import {
  enqueue,
  isBehind,
  judgeDependents,
  newestNumber,
  replaceFirst,
  setTimer,
} from '../graph/agenda.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { markDirty } from '../graph/outcome.ts'
import { endOfNamespace, namespaceOfTicket } from '../graph/row.ts'
import { byNamespace, minuteOf, mostOf, since, sumOf, withOne } from '../graph/window.ts'
import { BUDGET_MINUTES, KEYS_PER_PAGE, LEASE_MS } from '../model/constant.ts'
import type { Hold, Node } from '../model/node.ts'
import type { Coordinates, Uid } from '../model/object.ts'
import type { AbsentOwner } from '../model/owner.ts'
import type { BudgetClass } from '../model/policy.ts'
import { limitOf } from '../model/policy.ts'
import type { Budget, ClusterState, Ticket, TicketsTodo, Work } from '../model/state.ts'
import { noteDemand } from './burst.ts'
import type { Price } from './price.ts'

const MINUTE_MS = 60_000

/** How many more may begin now. */
export function roomOf(
  facts: ClusterFacts,
  { class: budget, namespace }: Pick<Price, 'class' | 'namespace'>,
  now: number,
): number {
  const limit = limitOf(facts.policy.policy.budgets, budget)
  const { begun } = facts.budget(budget) ?? NO_BUDGET
  const counted = since(begun, minuteOf(now) - BUDGET_MINUTES + 1)
  const own = mostOf(counted, namespace)
  const others = sumOf(byNamespace(counted)) - own
  return Math.max(0, Math.ceil((limit - others) / 2) - own)
}

/** Its price is paid: a deletion by others for a minute, an object for good. */
export function isLeased(facts: ClusterFacts, { root }: Price, now: number): boolean {
  const owner = root === null ? undefined : facts.owner(root.uid, root.place)
  return owner?.type === 'absent' && owner.leasedAt > 0 && now < owner.leasedAt + LEASE_MS
}

/** A budget of a cluster, with the step that changes it. */
class Account {
  readonly step: Step
  readonly state: ClusterState
  readonly class: BudgetClass

  constructor(step: Step, state: ClusterState, budget: BudgetClass) {
    this.step = step
    this.state = state
    this.class = budget
  }

  get now(): number {
    return Math.max(this.state.now, this.step.at.timestamp)
  }

  get budget(): Budget {
    return this.step.graph.budget(this.class) ?? NO_BUDGET
  }

  put(change: Partial<Budget>): void {
    this.step.graph.setBudget(this.class, { ...this.budget, ...change })
  }

  /** One has asked to be deleted: that may be too many. */
  ask(namespace: string, about: string): void {
    const asked = withOne(this.budget.asked, this.now, BUDGET_MINUTES, namespace)
    this.put({ asked })
    noteDemand(this.step, this.state, this.class, namespace, asked, about)
  }

  /** One begins to be deleted. */
  begin(namespace: string): void {
    this.put({ begun: withOne(this.budget.begun, this.now, BUDGET_MINUTES, namespace) })
  }

  /** The dependents of an owner may begin to be deleted, for a minute. */
  lease(uid: Uid, place: Coordinates, owner: AbsentOwner): void {
    this.begin(place.namespace)
    this.putOwner({ uid, place }, { ...owner, turn: 'asked', leasedAt: this.now })
  }

  /** No GET of it is under way, so none has to be counted. */
  putOwner({ uid, place }: NonNullable<Price['root']>, known: AbsentOwner): void {
    this.step.graph.setOwner(uid, place, known)
  }

  queue(namespace: string, ticket: Omit<Ticket, 'type' | 'number'>): void {
    const { next, dueAt } = this.budget
    const number = newestNumber(this.step)
    this.step.graph.putTicket(this.class, namespace, next, { type: 'Ticket', ...ticket, number })
    if (dueAt === 0) budgetDue(this.step, this.class)
    this.put({ next: next + 1, dueAt: dueAt === 0 ? Math.max(1, this.state.now) : dueAt })
  }

  /** Some objects still wait: they are judged again in the next minute. */
  lookAgain(): void {
    if (this.budget.dueAt > Math.max(1, this.state.now)) return
    const dueAt = (minuteOf(this.state.now) + 1) * MINUTE_MS
    this.put({ dueAt })
    const timer = { type: 'budget', budget: this.class } as const
    setTimer(this.step, dueAt, timer)
  }
}

/**
 * The turn to remember for a deletion that has a price: it begins, waits in the queue of its
 * namespace, or (while something else holds it for not much longer) has asked.
 */
export function pay(
  step: Step,
  state: ClusterState,
  node: Node,
  hold: Hold,
  price: Price,
  about: string,
): Hold {
  if (!isTime(hold, state)) return hold
  const account = new Account(step, state, price.class)
  if (price.root !== null) payForOwner(account, price.root, hold)
  else if (hold.by === null) account.begin(price.namespace)
  else if (hold.by === 'budget' && hold.turn !== 'queued') {
    // An object that is held asks once that is over: until then its owner may be back.
    if (hold.turn === 'none') account.ask(price.namespace, about)
    account.queue(price.namespace, { uid: node.object.uid, coordinates: null })
    return { ...hold, turn: 'queued' }
  }
  return hold
}

/**
 * Counts the deletion of an owner among those that ask, before anything of it begins. True where it
 * had not asked: that may have opened a breaker.
 */
export function ask(
  step: Step,
  state: ClusterState,
  hold: Hold,
  { class: budget, root }: Price,
  about: string,
): boolean {
  if (root === null || !isTime(hold, state)) return false
  const owner = step.graph.owner(root.uid, root.place)
  if (owner?.type !== 'absent' || owner.turn !== 'none') return false
  const account = new Account(step, state, budget)
  account.putOwner(root, { ...owner, turn: 'asked' })
  account.ask(root.place.namespace, about)
  return true
}

/** Nothing but the budget holds it, or nothing but a hold that is over within a minute. */
function isTime({ by, until }: Hold, { now }: ClusterState): boolean {
  return by === null || by === 'budget' || (by === 'hold' && (until ?? 0) - now <= LEASE_MS)
}

function payForOwner(
  account: Account,
  { uid, place }: NonNullable<Price['root']>,
  { by }: Hold,
): void {
  const { step } = account
  const owner = step.graph.owner(uid, place)
  if (owner?.type !== 'absent') return
  if (by === null) return account.lease(uid, place, owner)
  if (by !== 'budget' || owner.turn === 'queued') return
  const { group, kind, namespace, name } = place
  account.queue(namespace, { uid, coordinates: { group, kind, namespace, name } })
  account.putOwner({ uid, place }, { ...owner, turn: 'queued' })
}

/** Judges the waiting objects again. */
export function budgetDue(step: Step, budget: BudgetClass): void {
  enqueue(step, { todo: { type: 'tickets', budget, isAgain: false } })
}

/**
 * A page of tickets. Each waits until everything requested before it has been judged: so all have
 * asked before the first one is deleted, and a burst is noticed. Returns the key after which it
 * continues; undefined when it is done.
 */
export function useTickets(
  step: Step,
  work: Work,
  todo: TicketsTodo,
  keys: readonly string[],
): string | undefined {
  const { cursor } = work
  // A called object is as new as the objects that ask now.
  step.record.work = null
  const state = step.graph.state
  if (state === undefined) return undefined
  const account = new Account(step, state, todo.budget)
  /** Objects of this page that were called: they begin when they are judged. */
  let called = 0
  let former = ''
  for (const key of keys) {
    const namespace = namespaceOfTicket(key)
    if (namespace !== former) called = 0
    former = namespace
    const ticket = step.graph.ticketAt(key)
    if (ticket !== undefined && isBehind(step, namespace, ticket.number)) {
      replaceFirst(step, { ...work, todo: { ...todo, isAgain: true } })
      return endOfNamespace(key)
    }
    const price = { class: account.class, namespace }
    if (roomOf(step.graph, price, account.now) <= called) {
      account.lookAgain()
      return endOfNamespace(key)
    }
    step.graph.removeRow(key)
    if (ticket === undefined) continue
    if (ticket.coordinates === null) called++
    useTicket(account, ticket)
  }
  if (keys.length === KEYS_PER_PAGE) return keys.at(-1)
  if (todo.isAgain) enqueue(step, { ...work, todo: { ...todo, isAgain: false } })
  else if (cursor !== '') account.lookAgain()
  else if (account.budget.dueAt <= Math.max(1, state.now)) account.put({ dueAt: 0 })
  return undefined
}

/**
 * Whether it is still to be deleted is found when it is judged. A deletion by others is counted at
 * once, so that its dependents do not exceed the remaining budget.
 */
function useTicket(account: Account, { uid, coordinates: place }: Ticket): void {
  const { step } = account
  if (place === null) {
    const node = step.graph.node(uid)
    if (node?.hold?.turn !== 'queued') return
    putNode(step, node, { ...node, hold: { ...node.hold, turn: 'called' } })
    return markDirty(step, uid)
  }
  const owner = step.graph.owner(uid, place)
  if (owner?.type !== 'absent' || owner.turn !== 'queued') return
  account.lease(uid, place, owner)
  judgeDependents(step, uid, place)
}

const NO_BUDGET: Budget = { type: 'Budget', asked: [], begun: [], next: 1, dueAt: 0 }
