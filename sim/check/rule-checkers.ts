/**
 * Checkers of rules: what one deletes, how much, and what the graph has read for them (I39).
 *
 * What must stay true: the law is that of ../rule/rule-law.ts, and shares no code with the graph.
 *
 * Not here: that a rule deletes all that it should (../rule/rule-leftovers.ts), safeguards of any
 * deletion (safeguard-checkers.ts).
 */
import type { Node } from '../../core/model/node.ts'
import { rulesOfKind } from '../../core/model/rule/rule.ts'
import type { Checker, World } from '../model.ts'
import { noteOrder } from '../rule/person.ts'
import {
  mayBeByOwners,
  noteCommand,
  objectionTo,
  overLimit,
  ruleBehind,
  ruledObject,
} from '../rule/rule-law.ts'
import { TENANT } from '../workload.ts'
import { statesOf } from './states.ts'

export const ruleCheckers: readonly Checker[] = [
  {
    invariant:
      'I39: a rule deletes what is due by it at just that version, while an order enforces it, and has its guards',
    appended: (world, { topic, records }) => {
      for (const { value } of topic === 'commands' || topic === 'orders' ? records : []) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record?.type === 'DeleteObject') noteCommand(world, record)
        if (record?.type === 'RuleOrder') noteOrder(world, record)
      }
      return ''
    },
    effect: (seen) => {
      const rule = ruleBehind(seen)
      if (rule === undefined || mayBeByOwners(seen)) return ''
      seen.world.reached('rule')
      return objectionTo(seen, rule)
    },
  },
  {
    invariant: 'I39: within an hour a rule deletes no more than its limit of what became due then',
    effect: (seen) => {
      const rule = ruleBehind(seen)
      return rule?.limit == null || mayBeByOwners(seen) ? '' : overLimit(seen, rule)
    },
  },
  {
    invariant: 'I39: the graph has of each object what rules read of it, as the API server has it',
    rest: async (world) => (world.policy.rules.length === 0 ? [] : await misread(world)),
  },
]

async function misread(world: World): Promise<readonly string[]> {
  const nodes = new Map((await statesOf(world)).flatMap((entries) => [...entries]))
  const complaints: string[] = []
  for (const site of world.sites) {
    for (const object of site.all()) {
      const { uid, name, namespace } = object.metadata
      const node = nodes.get(`node/${site.id}/${uid}`)
      // Of what is beyond the caps only the identity is known.
      if (node?.type !== 'Node' || namespace === TENANT) continue
      if (!isReadAs(world, node, ruledObject(object)))
        complaints.push(`${name} is read otherwise (I39)`)
    }
  }
  return complaints
}

function isReadAs(world: World, { object }: Node, there: ReturnType<typeof ruledObject>): boolean {
  const reads = rulesOfKind(world.policy.rules, object)?.reads
  if (reads === undefined) return true
  const { labels, annotations, fields, digest } = reads
  const told = [
    labels.map((key) => valueIn(object.labels, key)),
    annotations.map((key) => valueIn(object.annotations, key)),
    fields.map((path) => valueIn(object.projected?.fields ?? [], path)),
  ]
  const right = [
    labels.map((key) => there.labels[key]),
    annotations.map((key) => there.annotations[key]),
    fields.map((path) => there.field(path)),
  ]
  return (
    (object.projected?.reads ?? '') === digest && JSON.stringify(told) === JSON.stringify(right)
  )
}

function valueIn(
  pairs: readonly { readonly key: string; readonly value: string }[],
  key: string,
): string | undefined {
  return pairs.find((pair) => pair.key === key)?.value
}
