/**
 * Which owners in other clusters objects name, and what objects wait for that name one.
 *
 * What must stay true: it is kept up wherever a node is written or leaves, whatever the rules are:
 * an owner has a row exactly while an object names it, so there are no more rows than objects. One
 * namespace takes no room of another: where too many objects of one name such owners, nothing is
 * said of any of them (judge/elsewhere.ts).
 *
 * Not here: what is published about such owners (observe/elsewhere.ts).
 */
import { FEW_NAMERS, MOST_NAMERS } from '../../model/constant.ts'
import type { Node } from '../../model/node.ts'
import type { ClusterId, GroupKind, Uid } from '../../model/object.ts'
import { type OwnerElsewhereName, ownerNamedBy } from '../../model/rule/elsewhere.ts'
import { judgeWaiters } from '../agenda.ts'
import type { Step } from '../outcome.ts'
import { nameKind } from './name-index.ts'

/** Null where there is none, before or after. */
export function noteElsewhere(step: Step, before: Node | null, after: Node | null): void {
  if (before !== null && before.object === after?.object) return
  const [had, has] = [namingOf(before), namingOf(after)]
  if (had?.cluster !== has?.cluster || had?.uid !== has?.uid) {
    if (had !== null) count(step, had, -1)
    if (has !== null) count(step, has, 1)
  }
  if (had?.within === has?.within) return
  if (had !== null) countWithin(step, had.within, -1)
  if (has !== null) countWithin(step, has.within, 1)
}

/** `within`: the namespace of the object that names it. */
function namingOf(node: Node | null): (OwnerElsewhereName & { readonly within: string }) | null {
  const named = node && ownerNamedBy(node.object.annotations)
  return named && { ...named, within: node.object.namespace }
}

function count({ graph }: Step, { cluster, uid }: OwnerElsewhereName, by: 1 | -1): void {
  const { namers = 0, fact = null } = graph.elsewhere(cluster, uid) ?? {}
  const left = namers + by
  graph.setElsewhere(cluster, uid, left <= 0 ? null : { type: 'Elsewhere', namers: left, fact })
}

function countWithin(step: Step, namespace: string, by: number): void {
  const { graph } = step
  const { namers: had = 0, isOver: wasOver = false } = graph.elsewhereNamers(namespace) ?? {}
  const namers = Math.max(0, had + by)
  const isOver = namers > (wasOver ? FEW_NAMERS : MOST_NAMERS)
  const row = { type: 'ElsewhereNamespace', namers, isOver } as const
  graph.setElsewhereNamers(namespace, namers === 0 ? null : row)
  if (isOver !== wasOver && graph.keeping !== undefined) judgeWaiters(step, namersWait(namespace))
}

/** What objects wait for that name it: another state of that owner. */
export function elsewhereWait(owner: ClusterId, uid: Uid): GroupKind {
  return nameKind({ group: 'elsewhere', kind: 'owner', namespace: owner, name: uid })
}

/** How the cluster of their owners is followed. */
export function elsewhereClusterWait(owner: ClusterId): GroupKind {
  return nameKind({ group: 'elsewhere', kind: 'cluster', namespace: owner, name: '' })
}

/** Fewer, or more, objects of their namespace name such owners than may. */
export function namersWait(namespace: string): GroupKind {
  return nameKind({ group: 'elsewhere', kind: 'namers', namespace, name: '' })
}
