/**
 * Calls objects that wait for their turn to be deleted by a rule, as turns become free.
 *
 * What must stay true: namespaces take turns: a call begins behind the namespace that was called
 * last. An object that is called is judged anew, so nothing is deleted that is not to go any more.
 *
 * Not here: counting turns (graph/rule/rule-turn.ts).
 */
import { enqueue } from '../graph/agenda.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { markDirty } from '../graph/outcome.ts'
import { endOfNamespace, namespaceOfTurn, subjectOf } from '../graph/row.ts'
import { freeTurns, freeTurnsOf } from '../graph/rule/rule-turn.ts'
import { TURNS_PER_PAGE } from '../model/constant.ts'
import { invariant } from '../model/invariant.ts'

/** Calls those of a page; returns the row behind which it goes on, undefined when it is done. */
export function callByRules(step: Step, rows: readonly string[]): string | undefined {
  const { graph } = step
  for (const row of rows) {
    if (freeTurns(graph) <= 0) return undefined
    if (freeTurnsOf(graph, namespaceOfTurn(row)) <= 0) return endOfNamespace(row)
    call(step, row)
  }
  if (rows.length === TURNS_PER_PAGE) return rows.at(-1)
  if (graph.ruleTurns.cursor === '') return undefined
  // From the first namespace on.
  graph.setRuleTurns({ ...graph.ruleTurns, cursor: '' })
  if (freeTurns(graph) > 0) enqueue(step, { todo: { type: 'turns' } })
  return undefined
}

function call(step: Step, row: string): void {
  const { graph } = step
  const node = graph.node(subjectOf(row))
  invariant(node !== undefined && node.hold !== null, 'a turn of no object')
  putNode(step, node, { ...node, hold: { ...node.hold, turn: 'called' } })
  graph.setRuleTurns({ ...graph.ruleTurns, cursor: endOfNamespace(row) })
  markDirty(step, node.object.uid)
}
