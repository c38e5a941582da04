/**
 * Whether the action of a judgement may be carried out now, or what holds it.
 *
 * What must stay true: a judgement that is held is remembered with all that it says; where only the
 * whole of it is held, its part is carried out.
 *
 * Not here: what should become of an object (verdict.ts), what holds it (hold.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Stand } from '../judge/standing.ts'
import type { Action, Judgement } from '../judge/verdict.ts'
import type { Hold, Node, Verdict } from '../model/node.ts'
import type { EnforcedRule, Rule } from '../model/rule/rule.ts'
import { orderOf } from '../model/rule/rule.ts'
import type { Effect } from './hold.ts'
import { holdOf, ruledText } from './hold.ts'
import type { Price } from './price.ts'

export interface Decision {
  /** As it was judged, whatever holds it. */
  readonly verdict: Verdict | null
  /** None where it is held. */
  readonly action: Action
  readonly stands: readonly Stand[]
  /** What holds it, and what is remembered of that; null for nothing. */
  readonly hold: Hold | null
  /** The price of carrying it out, if that is still to be counted. */
  readonly price: Price | null
  /** As in the judgement. */
  readonly rule: Rule | null
}

/** `time`: of the record that has it judged. */
export function admit(
  facts: ClusterFacts,
  node: Node,
  judgement: Judgement,
  time: number,
): Decision {
  const { verdict, action, stands, part, rule } = judgement
  if (verdict === null || verdict.evidence === null)
    return { verdict, action, stands, hold: null, price: null, rule }
  const { evidence } = verdict
  const going = { effect: effectOf(action), what: whatOf(action), evidence, stands, time, rule }
  const { hold, price } = holdOf(facts, node, going)
  if (hold === null || hold.by === null) return { verdict, action, stands, hold, price, rule }
  if (part !== null) return admit(facts, node, part, time)
  return { verdict, action: { type: 'none' }, stands, hold, price, rule }
}

/**
 * Why a command is sent: the verdict, and the user who approved a bulk deletion or enforced a rule.
 */
export function becauseOf(
  { enforced }: ClusterFacts,
  { verdict, hold, rule }: Pick<Decision, 'verdict' | 'hold' | 'rule'>,
): string {
  const { evidence = null, because = '' } = verdict ?? {}
  if (evidence === 'bulk') return `${because}; ${ruledText(hold?.ruling ?? null)}`
  const order = rule === null ? undefined : orderOf(rule, enforced)
  return order === undefined ? because : `${because}; ${enforcedText(order)}`
}

/** A rule of an object of the cluster is enforced there, by an author that is not known here. */
function enforcedText({ who, why }: EnforcedRule): string {
  if (who === '') return 'enforced by its annotation'
  return `enforced by ${who}${why === '' ? '' : `: ${why}`}`
}

function effectOf({ type }: Action): Effect {
  return type === 'delete' || type === 'annotate' || type === 'finish' ? type : 'drop'
}

/** The text of the action that a person is asked to approve. */
function whatOf(action: Action): string {
  return action.type === 'drop' ? `drop ${action.indexes.join(',')}` : action.type
}
