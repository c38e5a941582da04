/**
 * What must hold of the owners in other clusters that objects name: each has a row, with as many
 * objects as name it, counted anew from the nodes, and so has each namespace.
 */
import { clusterIn, elsewhereKey, elsewhereNamespaceKey } from '../../core/graph/key.ts'
import { ownerNamedBy } from '../../core/model/rule/elsewhere.ts'
import type { StateValue } from '../../core/model/state.ts'

export function checkElsewhere(entries: ReadonlyMap<string, StateValue>): string[] {
  const expected = new Map<string, number>()
  const known = new Map<string, number>()
  for (const [key, value] of entries) {
    if (value.type === 'Elsewhere' || value.type === 'ElsewhereNamespace') {
      known.set(key, value.namers)
    }
    const owner = value.type === 'Node' ? ownerNamedBy(value.object.annotations) : null
    if (owner === null || value.type !== 'Node') continue
    const cluster = clusterIn(key)
    for (const row of [
      elsewhereKey(cluster, owner.cluster, owner.uid),
      elsewhereNamespaceKey(cluster, value.object.namespace),
    ]) {
      expected.set(row, (expected.get(row) ?? 0) + 1)
    }
  }
  return [...new Set([...expected.keys(), ...known.keys()])].flatMap((key) => {
    const [is, should] = [known.get(key) ?? 0, expected.get(key) ?? 0]
    return is === should ? [] : [`${key}: it counts ${is} objects, and there are ${should}`]
  })
}
