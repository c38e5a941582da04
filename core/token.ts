/**
 * What a partition does with tokens that its cluster's home has granted: the oldest tickets go, at once or not at all.
 *
 * What must stay true: none is saved up. What may not go when its turn comes, or whose turn comes late, asks again.
 *
 * Not here: asking (ticket.ts), how many are granted (budget.ts).
 */
import { enqueue, judgeDependents } from './agenda.ts'
import { GRANT_MS, KEYS_PER_PAGE } from './constant.ts'
import type { TokensGranted } from './event.ts'
import { clusterOf, nodeOf, ownerOf } from './graph.ts'
import { judge } from './judge.ts'
import { lastPart, ownerKey } from './key.ts'
import { putNode } from './link.ts'
import type { ClusterId, Uid } from './object.ts'
import type { Step } from './outcome.ts'
import type { BudgetClass } from './policy.ts'
import type { Ticket, Work } from './state.ts'
import { putTokenCount, sendAsked, tokenCountOf } from './ticket.ts'

export function tokensGranted(step: Step, event: TokensGranted): void {
  const { cluster, budget, granted, at } = event
  const count = tokenCountOf(step.graph, cluster, budget)
  if (granted <= count.granted) return
  // What is left of an earlier grant makes this one as old as that.
  const grantedAt = count.used < count.granted ? count.grantedAt : at
  putTokenCount(step, cluster, { ...count, granted, grantedAt })
  enqueue(step, { work: 'tickets', cluster, uid: budget })
}

/** A page of tickets, the oldest first; true when no granted one is left. */
export function useTickets(step: Step, work: Work, keys: readonly string[]): boolean {
  const { cluster } = work
  const budget = work.uid as BudgetClass
  for (const key of keys) {
    const count = tokenCountOf(step.graph, cluster, budget)
    const number = Number(lastPart(key))
    if (number > count.granted) return true
    const ticket = step.graph.get(key)
    step.graph.remove(key)
    putTokenCount(step, cluster, { ...count, used: number })
    const now = Math.max(clusterOf(step.graph, cluster)?.now ?? 0, step.at.timestamp)
    const isFresh = now - count.grantedAt <= GRANT_MS
    if (ticket?.type === 'Ticket') useTicket(step, cluster, ticket, isFresh)
  }
  return keys.length < KEYS_PER_PAGE
}

function useTicket(step: Step, cluster: ClusterId, ticket: Ticket, isFresh: boolean): void {
  const { uid, coordinates } = ticket
  if (coordinates === null) return letGo(step, cluster, uid, isFresh)
  const owner = ownerOf(step.graph, cluster, uid, coordinates)
  if (owner?.pass !== 'asked') return
  const pass = isFresh ? 'granted' : 'none'
  step.graph.put(ownerKey(cluster, uid, coordinates), { ...owner, pass, passAt: step.at.position })
  judgeDependents(step, cluster, uid)
}

function letGo(step: Step, cluster: ClusterId, uid: Uid, isFresh: boolean): void {
  const node = nodeOf(step.graph, cluster, uid)
  if (node?.hold?.pass !== 'asked') return
  const pass = isFresh ? 'granted' : 'none'
  putNode(step, cluster, node, { ...node, hold: { ...node.hold, pass } })
  judge(step, cluster, uid)
  const after = nodeOf(step.graph, cluster, uid)
  const { hold } = after ?? {}
  if (after === undefined || hold == null || hold.by === null || hold.pass !== 'granted') return
  // Something else holds it by now: when that lets it go, it is another time.
  putNode(step, cluster, after, { ...after, hold: { ...hold, pass: 'none' } })
}

/** Some are not granted yet: the home is asked again. */
export function tokensDue(step: Step, cluster: ClusterId, budget: BudgetClass): void {
  const { asked, granted } = tokenCountOf(step.graph, cluster, budget)
  if (asked > granted) sendAsked(step, cluster, budget, '')
}
