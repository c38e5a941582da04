/**
 * How the objects of a tree look in a picture: by their state, or by what a plan would do with
 * each.
 *
 * What must stay true: what differs in colour differs in its sign and words, too; what a plan does
 * not list is never drawn as kept.
 */
import type { Plan, TreeNode } from '../../cli/answer.ts'
import { phaseText, shortText } from '../../services/graph/api/word.ts'
import type { Look, LookOf } from './folded.ts'

const PLAIN: Look = { tone: 'plain', sign: '', text: '' }

type State = Pick<TreeNode, 'phase' | 'verdict' | 'admission'>

/** One that exists and is kept needs no words. */
export function lookOfState({ phase, verdict, admission }: State): Look {
  if (phase === 'gone' || phase === 'absent' || phase === 'reaped') {
    return { tone: 'bad', sign: '✕', text: phaseText(phase) }
  }
  if (phase !== 'observed') return { tone: 'warm', sign: '…', text: phaseText(phase) }
  if (verdict === null || verdict.type === 'keep') return PLAIN
  return { tone: 'warm', sign: '!', text: shortText(verdict.type, admission) }
}

type Effect = Plan['objects'][number]['effect']

export const EFFECTS: Readonly<Record<Effect, Look>> = {
  deleted: { tone: 'bad', sign: '✕', text: 'deleted' },
  stuck: { tone: 'warm', sign: '…', text: 'deleted, but waits' },
  kept: { tone: 'good', sign: '✓', text: 'kept' },
  orphaned: { tone: 'good', sign: '↑', text: 'kept, without this owner' },
  blocked: { tone: 'warm', sign: '‖', text: 'blocked' },
}
const UNTOUCHED: Look = { tone: 'quiet', sign: '', text: 'not touched' }
const UNLISTED: Look = { tone: 'quiet', sign: '?', text: 'not listed' }

/** What is in no list is untouched only where the plan is whole, and lists all of it. */
export function lookOfPlan(
  plan: Pick<Plan, 'root' | 'objects' | 'counts' | 'total' | 'hidden'>,
): LookOf {
  const { objects, counts, total, hidden } = plan
  const effects = new Map([plan.root, ...objects].map(({ uid, effect }) => [uid, effect]))
  const known = counts.reduce((sum, { count }) => sum + count, 0)
  const isAll = total !== null && hidden === 0 && known === objects.length
  const other = isAll ? UNTOUCHED : UNLISTED
  return ({ uid }) => {
    const effect = effects.get(uid)
    return effect === undefined ? other : EFFECTS[effect]
  }
}
