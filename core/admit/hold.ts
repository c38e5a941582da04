/**
 * Why a verdict may not be carried out now although its references allow it (the first reason that
 * fits), and since when it could have been.
 *
 * What must stay true: an unknown state holds. Whatever ends a reason has the object judged again.
 * A hold is never shorter than in the policy: it counts from the latest of the events that make the
 * object a candidate for deletion.
 *
 * Not here: what is protected (protection.ts), what users direct while Kinfold runs (directive.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { goneElsewhereSince } from '../judge/elsewhere.ts'
import { waitMsOf } from '../judge/rule.ts'
import type { Stand } from '../judge/standing.ts'
import type { HeldBy, Hold, Node, Ruling, Turn } from '../model/node.ts'
import type { Holds } from '../model/policy.ts'
import { limitOf } from '../model/policy.ts'
import type { Evidence } from '../model/proof.ts'
import { weaker } from '../model/proof.ts'
import { digestOf, type Rule } from '../model/rule/rule.ts'
import { timeText } from '../model/text.ts'
import { brokenBecause } from './breaker.ts'
import { isLeased, roomOf } from './budget.ts'
import { pausedBecause } from './paused.ts'
import type { Price } from './price.ts'
import { priceOf } from './price.ts'
import { protectedBecause } from './protection.ts'
import { heldByRule, heldForTurn, waitsSince } from './rule-hold.ts'

/**
 * The effect of the verdict: `delete` an object, `annotate` it, `drop` references, or `finish` an
 * owner's deletion by removing a finalizer.
 */
export type Effect = 'delete' | 'annotate' | 'drop' | 'finish'

/** Whether anything at all may be sent to this cluster now, live GETs and warnings included. */
export function mayIssue(facts: ClusterFacts): boolean {
  return facts.policy.policy.mode !== 'observe' && pausedBecause(facts) === ''
}

export interface Going {
  readonly effect: Effect
  /** The same in full: the text that a person approves. */
  readonly what: string
  readonly evidence: Evidence
  /** All that it is judged by. */
  readonly stands: readonly Stand[]
  /** Of the record that has it judged. */
  readonly time: number
  /** Of evidence `rule`; null for any other. */
  readonly rule: Rule | null
}

export interface Held {
  /** The hold to remember; null for nothing. */
  readonly hold: Hold | null
  /** The price of its beginning, if it has not begun yet; null for nothing. */
  readonly price: Price | null
}

export function holdOf(facts: ClusterFacts, node: Node, going: Going): Held {
  const since = isOtherRule(node, going) ? going.time : sinceOf(facts, node, going)
  const { holds } = facts.policy.policy
  const counted = countedAs(facts, going)
  const holdMs = going.rule === null ? holdMsOf(holds, going.effect, counted) : waitMsOf(going.rule)
  const { rule } = going
  const from = rule === null ? since : waitsSince(node, rule, since, going.time)
  const endsAt = holdMs === 0 ? null : from + holdMs
  const ruling = rulingFor(facts, node, going)
  const whole = priceOf(facts, node, counted, going.effect === 'delete', going.stands)
  const isLeasedNow = whole !== null && isLeased(facts, whole, going.time)
  const price = isLeasedNow || node.hold?.turn === 'begun' ? null : whole
  const hindrance = hindranceOf(facts, node, going, counted, endsAt, ruling, price)
  const { by, because, until } = hindrance ?? NOTHING
  const turn = turnOf(node, rule, by, whole)
  if (by === null && endsAt === null && ruling === null && turn === 'none')
    return { hold: null, price: null }
  return { hold: { by, because, since, until, what: going.what, ruling, turn }, price }
}

/** A deletion that began has begun, even if the reasons that allowed it end. */
function turnOf(node: Node, rule: Rule | null, by: HeldBy | null, whole: Price | null): Turn {
  if (rule !== null) return by === 'budget' ? 'queued' : 'none'
  return by === null && whole !== null ? 'begun' : (node.hold?.turn ?? 'none')
}

interface Hindrance {
  readonly by: HeldBy | null
  readonly because: string
  readonly until: number | null
}

const NOTHING: Hindrance = { by: null, because: '', until: null }

function hindranceOf(
  facts: ClusterFacts,
  node: Node,
  going: Going,
  counted: Evidence,
  until: number | null,
  ruling: Ruling | null,
  price: Price | null,
): Hindrance | null {
  const { effect, evidence } = going
  const isObserved = facts.policy.policy.mode === 'observe'
  const paused = isObserved ? '' : pausedBecause(facts)
  if (paused !== '') return { by: 'pause', because: paused, until: null }
  if (effect === 'delete' || effect === 'annotate') {
    const spared = protectedBecause(facts, node, counted)
    if (spared !== null) return { by: 'protection', ...spared }
  }
  const isRejected = ruling?.verdict === 'rejected'
  if (isRejected || (evidence === 'bulk' && ruling === null)) {
    const what = evidence === 'bulk' ? 'a bulk deletion' : 'what was rejected'
    const ruled = ruling === null ? '' : `; ${ruledText(ruling)}`
    return { by: 'approval', because: `${what} needs approval${ruled}`, until: null }
  }
  // After the reasons that would hold it in any mode: a user who compares Kinfold with another
  // collector sees those.
  if (isObserved) return { by: 'mode', because: 'mode observe only records', until: null }
  const isAsked = effect === 'finish' || (effect === 'drop' && evidence === 'orphaning')
  const broken = isAsked ? '' : brokenBecause(facts, node.object.namespace)
  if (broken !== '') return { by: 'breaker', because: broken, until: null }
  if (going.rule !== null) {
    return heldByRule(facts, node, going.rule, until) ?? heldForTurn(facts, node)
  }
  const before = counted === evidence ? '' : `evidence ${evidence} from before enforce`
  if (until !== null && (facts.state?.now ?? 0) < until) {
    const why = before || `evidence ${evidence}`
    const because = `held until ${timeText(until)} (${why})`
    return { by: 'hold', because, until }
  }
  // Objects are called one after the other, so that all have asked before the first one is deleted,
  // and a burst is noticed.
  const isCalled = price?.root != null || node.hold?.turn === 'called'
  if (price === null || (isCalled && roomOf(facts, price, going.time) > 0)) return null
  const because = (before && `${before}; `) + budgetText(facts, price)
  return { by: 'budget', because, until: null }
}

/**
 * The evidence by which the policy treats it. While nothing was enforced, deletions whose
 * dependents stayed have piled up: after `enforce` is entered those are held, protected and priced
 * as if only a relist had missed their owners. The cause itself does not change.
 */
function countedAs(facts: ClusterFacts, { evidence, stands }: Going): Evidence {
  if (evidence === 'orphaning') return evidence
  const { enforcedAt } = facts.policy
  const isOlder = ({ proof }: Stand): boolean =>
    proof?.class === 'deleted' && proof.position < enforcedAt
  return stands.some(isOlder) ? weaker(evidence, 'missing') : evidence
}

function budgetText(facts: ClusterFacts, price: Price): string {
  const limit = limitOf(facts.policy.policy.budgets, price.class)
  const things = price.class === 'deleted' ? 'deletions' : 'objects'
  return `the budget for evidence ${price.class} (${limit} ${things} in ten minutes) releases it in its turn`
}

/**
 * The ruling on this content and on this effect; an approval only until it expires, and only of a
 * bulk deletion. A rejection lasts also when the evidence is no longer `bulk`.
 */
function rulingFor(
  facts: ClusterFacts,
  { hold, hash }: Node,
  { evidence, what }: Going,
): Ruling | null {
  const ruling = hold?.ruling ?? null
  if (ruling === null || (evidence !== 'bulk' && ruling.verdict !== 'rejected')) return null
  if (ruling.hash !== hash || ruling.what !== what) return null
  const isOver = (facts.state?.now ?? 0) >= ruling.until
  return ruling.verdict === 'approved' && isOver ? null : ruling
}

/**
 * What it has waited for by another rule, by this one as it was, or by its owners, is not waited
 * for by this one as it is.
 */
function isOtherRule({ dueBy }: Node, { rule }: Going): boolean {
  return rule !== null && dueBy !== digestOf(rule)
}

/** Who ruled, and why. */
export function ruledText(ruling: Ruling | null): string {
  if (ruling === null) return ''
  const why = ruling.why === '' ? '' : `: ${ruling.why}`
  return `${ruling.verdict} by ${ruling.who}${why}`
}

/**
 * If a live watch observed the deletion, unneeded references are dropped with no hold: dropping
 * them deletes nothing.
 */
function holdMsOf(
  { deletedMs, missingMs, notFoundMs }: Holds,
  effect: Effect,
  counted: Evidence,
): number {
  switch (counted) {
    case 'deleted':
      return effect === 'delete' ? deletedMs : 0
    case 'missing':
      return missingMs
    case 'not-found':
      return notFoundMs
    case 'orphaning':
    case 'waiting':
    case 'bulk':
    case 'rule':
      return 0
  }
}

/**
 * An owner that was created and deleted again in between restarts the wait, though nothing was
 * judged meanwhile; in another cluster, too.
 */
function sinceOf(facts: ClusterFacts, node: Node, { stands, time, rule }: Going): number {
  const hasWaited = stands.length > 0 && stands.every((stand) => waitedWith(node, stand) !== null)
  const held = node.hold?.since ?? (hasWaited ? 0 : time)
  let since = rule === null ? held : Math.max(held, goneElsewhereSince(facts, rule, node.object))
  for (const stand of stands) {
    const begun = waitedWith(node, stand) ?? stand.proof?.at ?? 0
    if (begun > since) since = begun
  }
  return since
}

/**
 * Since when it has waited together with its owner, which was held and then deleted by Kinfold: a
 * cascade has one hold. Null for an object that was reported, or changed, after the owner was
 * deleted: that one has a hold of its own.
 */
function waitedWith({ position }: Node, { proof, isHearsay, isLate }: Stand): number | null {
  if (proof === null || isHearsay || isLate || position > proof.position) return null
  return proof.heldSince
}
