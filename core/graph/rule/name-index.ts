/**
 * Which objects are known by a name: of the kinds of which a rule may say that there is none, or
 * what one is like.
 *
 * What must stay true: it is kept up wherever a node is written or leaves, whatever the rules are,
 * so a rule finds all that is known. What waits for a name is judged again when an object of that
 * name comes, leaves, or is read with other fields.
 *
 * Not here: what a rule makes of that (judge/beside.ts).
 */
import type { Node } from '../../model/node.ts'
import type { Coordinates, GroupKind } from '../../model/object.ts'
import { isKnownByName } from '../../model/rule/rule.ts'
import { judgeWaiters } from '../agenda.ts'
import type { Step } from '../outcome.ts'

/** Null where there is none, before or after. */
export function noteNamed(step: Step, before: Node | null, after: Node | null): void {
  const object = (after ?? before)?.object
  if (object === undefined || !isKnownByName(object)) return
  const { graph } = step
  const { uid } = object
  const known = graph.named(object)
  if (before === null) graph.setNamed(object, [...known, uid])
  else if (after === null) {
    const others = known.filter((each) => each !== uid)
    graph.setNamed(object, others)
  } else if (isAlike(before, after)) return
  if (graph.keeping !== undefined) judgeWaiters(step, nameKind(object))
}

/** To a rule about what it is like. */
function isAlike(before: Node, after: Node): boolean {
  const [a, b] = [before.object.projected, after.object.projected]
  if (before.doubt !== after.doubt) return false
  if (a === b) return true
  if (a === null || b === null || a.reads !== b.reads) return false
  if (a.fields.length !== b.fields.length) return false
  return a.fields.every(({ key, value }, at) => {
    const other = b.fields[at]
    return other?.key === key && other.value === value
  })
}

/** As a kind that is waited for: none is served that has such a group. */
export function nameKind({ group, kind, namespace, name }: Coordinates): GroupKind {
  return { group: NAMES, kind: `${kind}.${group}/${namespace}/${name}` }
}

const NAMES = 'name/'

export function isNameKind({ group }: GroupKind): boolean {
  return group === NAMES
}
