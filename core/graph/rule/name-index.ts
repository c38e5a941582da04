/**
 * How many objects are known by a name: of the kinds of which a rule may say that there is none.
 *
 * What must stay true: it is kept up wherever a node is written or leaves, whatever the rules are,
 * so a rule finds all that is known. What waits for a name is judged again when an object of that
 * name comes or leaves.
 *
 * Not here: what a rule makes of that (judge/absent.ts).
 */
import type { Coordinates, GroupKind, ObjectMeta } from '../../model/object.ts'
import { isKnownByName } from '../../model/rule/rule.ts'
import { judgeWaiters } from '../agenda.ts'
import type { Step } from '../outcome.ts'

export function noteNamed(step: Step, object: ObjectMeta, by: 1 | -1): void {
  if (!isKnownByName(object)) return
  const { graph } = step
  graph.setNamed(object, graph.named(object) + by)
  if (graph.keeping !== undefined) judgeWaiters(step, nameKind(object))
}

/** As a kind that is waited for: none is served that has such a group. */
export function nameKind({ group, kind, namespace, name }: Coordinates): GroupKind {
  return { group: NAMES, kind: `${kind}.${group}/${namespace}/${name}` }
}

const NAMES = 'name/'

export function isNameKind({ group }: GroupKind): boolean {
  return group === NAMES
}
