/**
 * Tickets: a partition's place in the queue for a token, by a number that only grows.
 *
 * What must stay true: what is asked of the cluster's home is how many tickets there are, so a note that is lost, late or doubled does no harm; one note
 * for a record, cluster and class. A timer asks again while any waits.
 *
 * Not here: what is granted (budget.ts), what becomes of it (token.ts).
 */
import { setTimer } from './agenda.ts'
import { TOKEN_RETRY_MS } from './constant.ts'
import type { StateReader } from './graph.ts'
import { clusterOf, ownerOf } from './graph.ts'
import { ownerKey, ticketKey, tokensKey } from './key.ts'
import type { Node, Pass } from './node.ts'
import type { ClusterId, Coordinates, Uid } from './object.ts'
import type { Step } from './outcome.ts'
import { homeOf, partitionOf } from './partition.ts'
import type { BudgetClass } from './policy.ts'
import type { Price } from './price.ts'
import { isStanding } from './price.ts'
import type { TokenCount } from './state.ts'

/** The pass of an object that is held, once what it costs is asked for. An owner's deletion is paid for while the hold lasts, an object when it is over. */
export function askFor(
  step: Step,
  cluster: ClusterId,
  { object, hold }: Node,
  price: Price,
  about: string,
): Pass {
  const { root } = price
  const pass = hold?.pass ?? 'none'
  if (root === null) {
    if (pass !== 'none' || hold?.by !== 'budget') return pass
    takeTicket(step, cluster, price.class, object.uid, null, about)
    return 'asked'
  }
  const owner = ownerOf(step.graph, cluster, root.uid, root.place)
  if (owner === undefined || owner.pass === 'asked') return pass
  if (owner.pass === 'granted' && isStanding(step.graph, owner, hold?.lapsedAt ?? -1n)) return pass
  step.graph.put(ownerKey(cluster, root.uid, root.place), { ...owner, pass: 'asked' })
  takeTicket(step, cluster, price.class, root.uid, root.place, about)
  return pass
}

function takeTicket(
  step: Step,
  cluster: ClusterId,
  budget: BudgetClass,
  uid: Uid,
  place: Coordinates | null,
  about: string,
): void {
  const count = tokenCountOf(step.graph, cluster, budget)
  const number = count.asked + 1
  const coordinates = place && {
    group: place.group,
    kind: place.kind,
    namespace: place.namespace,
    name: place.name,
  }
  step.graph.put(ticketKey(cluster, budget, number), { type: 'Ticket', uid, coordinates })
  putTokenCount(step, cluster, { ...count, asked: number })
  sendAsked(step, cluster, budget, about)
}

/** Tells the home how many have been asked for, and looks again while some are not granted. */
export function sendAsked(
  step: Step,
  cluster: ClusterId,
  budget: BudgetClass,
  about: string,
): void {
  const count = tokenCountOf(step.graph, cluster, budget)
  const { partition, partitions } = step.at
  const { notes } = step.outcome
  const said = notes.findIndex(
    ({ event }) =>
      event.type === 'TokensAsked' && event.cluster === cluster && event.budget === budget,
  )
  if (said >= 0) notes.splice(said, 1)
  const key = homeOf(cluster, '')
  const { asked } = count
  notes.push({
    partition: partitionOf(key, partitions),
    key,
    event: { type: 'TokensAsked', cluster, partition, budget, asked, about },
  })
  const now = clusterOf(step.graph, cluster)?.now ?? 0
  if (count.lookAt > now) return
  const lookAt = now + TOKEN_RETRY_MS
  putTokenCount(step, cluster, { ...count, lookAt })
  setTimer(step, cluster, lookAt, { what: 'budget', uid: budget, coordinates: null })
}

export function tokenCountOf(
  graph: StateReader,
  cluster: ClusterId,
  budget: BudgetClass,
): TokenCount {
  const tokens = graph.get(tokensKey(cluster, budget))
  return tokens?.type === 'TokenCount' ? tokens : { ...NONE, budget }
}

export function putTokenCount(step: Step, cluster: ClusterId, count: TokenCount): void {
  step.graph.put(tokensKey(cluster, count.budget), count)
}

const NONE: Omit<TokenCount, 'budget'> = {
  type: 'TokenCount',
  asked: 0,
  granted: 0,
  grantedAt: 0,
  used: 0,
  lookAt: 0,
}
