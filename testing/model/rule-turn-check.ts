/**
 * The turns of deletions by rules are those of the nodes, and all that wait are called in the end.
 *
 * Not here: the other relations of keys (state-check.ts).
 */
import { ruleTurnKey, ruleTurnsKey } from '../../core/graph/key.ts'
import { ruleTurnOf } from '../../core/graph/rule/rule-turn.ts'
import { DELETIONS_BY_RULES } from '../../core/model/constant.ts'
import type { Node } from '../../core/model/node.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { RuleTurns, StateValue } from '../../core/model/state.ts'

export interface ExpectedTurns {
  /** The keys of those that wait. */
  readonly waiting: Set<string>
  /** By namespace. */
  readonly underWay: Map<string, number>
}

export function expectTurn(
  turns: Map<string, ExpectedTurns>,
  cluster: ClusterId,
  node: Node,
): void {
  const turn = ruleTurnOf(node)
  if (turn === null) return
  const key = ruleTurnsKey(cluster)
  const known = turns.get(key) ?? { waiting: new Set(), underWay: new Map() }
  turns.set(key, known)
  const { namespace, uid } = node.object
  if (turn === 'waits') known.waiting.add(ruleTurnKey(cluster, namespace, uid))
  else known.underWay.set(namespace, (known.underWay.get(namespace) ?? 0) + 1)
}

/** `turns`: of the nodes, by the key of `RuleTurns`. */
export function checkTurns(
  entries: ReadonlyMap<string, StateValue>,
  turns: ReadonlyMap<string, ExpectedTurns>,
): string[] {
  const complaints: string[] = []
  const waiting = new Set([...turns.values()].flatMap((each) => [...each.waiting]))
  for (const [key, value] of entries) {
    if (value.type === 'RuleTurn' && !waiting.delete(key)) complaints.push(`${key}: it waits not`)
    if (value.type !== 'RuleTurns') continue
    complaints.push(...checkCounts(value, turns.get(key)).map((it) => `${key}: ${it}`))
  }
  for (const key of waiting) complaints.push(`${key}: it waits, and is not called`)
  for (const key of turns.keys()) if (!entries.has(key)) complaints.push(`${key} is missing`)
  return complaints
}

function checkCounts(found: RuleTurns, expected: ExpectedTurns | undefined): string[] {
  const { waiting = new Set(), underWay = new Map<string, number>() } = expected ?? {}
  const complaints: string[] = []
  if (found.waiting !== waiting.size) complaints.push(`${waiting.size} wait`)
  const sum = found.underWay.reduce((all, { count }) => all + count, 0)
  const isSame = found.underWay.every((each) => underWay.get(each.namespace) === each.count)
  if (!isSame || found.underWay.length !== underWay.size) complaints.push('others are under way')
  if (sum > DELETIONS_BY_RULES) complaints.push(`${sum} are under way`)
  if (waiting.size > 0 && sum === 0) complaints.push('some wait for nothing')
  return complaints
}
