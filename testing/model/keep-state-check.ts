/**
 * What must hold of the objects of which rules keep the newest, whenever an agenda is empty: the
 * boundary of each group is counted anew from its rows, and the rows from the nodes.
 *
 * What must stay true: which objects are due is taken from the oracle (rule-oracle.ts).
 */
import { factsOf } from '../../core/graph/facts.ts'
import type { StateReader } from '../../core/graph/graph.ts'
import { clusterIn, keepGroupKey, keptKey, lastPart, namedKey } from '../../core/graph/key.ts'
import { rowOf } from '../../core/judge/keep.ts'
import { relistsAwaited } from '../../core/judge.ts'
import type { Node } from '../../core/model/node.ts'
import { besideOf, isEnforced, rulesOfKind } from '../../core/model/rule/rule.ts'
import type { KeepGroup, StateValue } from '../../core/model/state.ts'
import { dueMsOf } from './rule-oracle.ts'
import { ruledOf } from './rule-state-check.ts'

type Entries = ReadonlyMap<string, StateValue>

export function checkKept(entries: Entries): string[] {
  const graph: StateReader = { get: (key) => entries.get(key) }
  const groups = new Map<string, string[]>()
  const rows = new Set<string>()
  const complaints: string[] = []
  for (const [key, value] of entries) {
    if (value.type === 'Keeps') {
      const [cluster, uid] = [clusterIn(key), lastPart(key)]
      if (factsOf(graph, cluster).node(uid) === undefined) complaints.push(`${key}: its node left`)
      for (const row of value.rows) {
        for (const way of ['up', 'down'] as const) rows.add(keptKey(cluster, row, way, uid))
        const group = keepGroupKey(cluster, row.rule, row.group)
        groups.set(group, [...(groups.get(group) ?? []), row.order])
      }
    }
    if (value.type === 'Node') complaints.push(...checkCounted(graph, clusterIn(key), value))
  }
  for (const [key, value] of entries) {
    if (value.type === 'Kept' && !rows.delete(key)) complaints.push(`${key}: no object has it`)
    if (value.type !== 'KeepGroup') continue
    complaints.push(...checkGroup(value, groups.get(key) ?? []).map((each) => `${key}: ${each}`))
    groups.delete(key)
  }
  complaints.push(...checkNamed(entries))
  for (const key of rows) complaints.push(`${key}: it is missing`)
  for (const key of groups.keys()) complaints.push(`${key}: it is missing`)
  return complaints
}

/** Objects of the kinds that are known by name. */
function checkNamed(entries: Entries): string[] {
  const expected = new Map<string, number>()
  const known = new Map<string, number>()
  for (const [key, value] of entries) {
    if (value.type === 'Named') known.set(key, value.uids.length)
    if (value.type !== 'Node' || value.object.kind !== 'Node') continue
    const named = namedKey(clusterIn(key), value.object)
    expected.set(named, (expected.get(named) ?? 0) + 1)
  }
  return [...new Set([...expected.keys(), ...known.keys()])].flatMap((key) => {
    const [is, should] = [known.get(key) ?? 0, expected.get(key) ?? 0]
    return is === should ? [] : [`${key}: ${is} objects are known by it, and there are ${should}`]
  })
}

function checkGroup({ newest, count, beyond, upTo, isAgain }: KeepGroup, orders: string[]) {
  const wanted = Math.max(0, orders.length - newest)
  const complaints: string[] = []
  if (count !== orders.length) complaints.push(`it counts ${count} of ${orders.length}`)
  if (beyond !== wanted) complaints.push(`${beyond} are beyond, and ${wanted} should be`)
  const upToIt = orders.filter((order) => order <= upTo).length
  if (upToIt !== wanted) complaints.push(`the boundary is behind ${upToIt}, not ${wanted}`)
  if (isAgain) complaints.push('some are to be judged again')
  return complaints
}

/**
 * Whatever is due by a rule that keeps some is counted, where rules decide about it, unless another
 * one that an order enforces has it deleted anyway.
 */
function checkCounted(graph: StateReader, cluster: string, node: Node): string[] {
  const { object, verdict } = node
  const facts = factsOf(graph, cluster)
  const ofKind = rulesOfKind(facts.rules, object)
  const isLeft = verdict === null || verdict.type === 'keep' || verdict.rule !== null
  if (ofKind === null || !isLeft || object.deletedAt !== null) return []
  if (relistsAwaited(facts, node)?.length !== 0) return []
  const rule = facts.rules.find(({ name }) => name === verdict?.rule)
  const isDeleting = rule !== undefined && rule.annotate === null
  const isPlain = isDeleting && rule.keep === null && besideOf(rule) === null
  if (isPlain && isEnforced(rule, facts.enforced)) return []
  if ((object.projected?.reads ?? '') !== ofKind.reads.digest) return []
  const held = facts.keeps(object.uid)?.rows ?? []
  return ofKind.indexed.flatMap((rule) => {
    const dueMs = (dueMsOf(rule, ruledOf(object)) ?? Number.POSITIVE_INFINITY) - rule.warnMs
    const row = dueMs <= (facts.state?.now ?? 0) ? rowOf(rule, object) : null
    const has = held.some((each) => each.rule === row?.rule && each.order === row.order)
    return row === null || has ? [] : [`${object.name} is not counted by rule ${rule.name}`]
  })
}
