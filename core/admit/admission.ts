/**
 * Whether the action of a judgement may be carried out now, or what holds it.
 *
 * What must stay true: a judgement that is held is remembered with all that it says; where only the whole of it is held, its part is carried out.
 *
 * Not here: what should become of an object (verdict.ts), what holds it (hold.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Stand } from '../judge/standing.ts'
import type { Action, Judgement } from '../judge/verdict.ts'
import type { Hold, Node, Verdict } from '../model/node.ts'
import type { Effect } from './hold.ts'
import { holdOf, ruledText } from './hold.ts'
import type { Price } from './price.ts'

export interface Decision {
  readonly verdict: Verdict | null
  readonly action: Action
  readonly stands: readonly Stand[]
  readonly hold: Hold | null
  /** The price of carrying it out, if that is still to be counted. */
  readonly price: Price | null
}

/** `time`: of the record that has it judged. */
export function admit(
  facts: ClusterFacts,
  node: Node,
  judgement: Judgement,
  time: number,
): Decision {
  const { verdict, action, stands, part } = judgement
  if (verdict === null || verdict.evidence === null)
    return { verdict, action, stands, hold: null, price: null }
  const { evidence, because } = verdict
  const going = { effect: effectOf(action), what: whatOf(action), evidence, stands, time }
  const { hold, price, because: held } = holdOf(facts, node, going)
  if (held === '') {
    const approved = evidence === 'bulk' ? `; ${ruledText(hold?.ruling ?? null)}` : ''
    return { verdict: { ...verdict, because: because + approved }, action, stands, hold, price }
  }
  if (part !== null) return admit(facts, node, part, time)
  return {
    verdict: { ...verdict, type: 'held', because: `${because}; ${held}` },
    action: { type: 'none' },
    stands,
    hold,
    price,
  }
}

function effectOf({ type }: Action): Effect {
  return type === 'delete' || type === 'finish' ? type : 'drop'
}

/** The text of the action that a person is asked to approve. */
function whatOf(action: Action): string {
  return action.type === 'drop' ? `drop ${action.indexes.join(',')}` : action.type
}
