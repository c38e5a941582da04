/**
 * Checkers of rules: what one deletes, how much, what the graph has read for them (I39), and what
 * permits a policy of a cluster to delete (I40).
 *
 * What must stay true: the law is that of ../rule/rule-law.ts, and shares no code with the graph.
 *
 * Not here: that a rule deletes all that it should (../rule/rule-leftovers.ts), safeguards of any
 * deletion (safeguard-checkers.ts).
 */
import type { Node } from '../../core/model/node.ts'
import { type Rule, rulesOfKind } from '../../core/model/rule/rule.ts'
import type { Checker, World } from '../model.ts'
import { isAnnotation, noteAnnotation, objectionToAnnotation } from '../rule/annotation-law.ts'
import { isPowerless } from '../rule/drawn-policy.ts'
import { noteOrder } from '../rule/person.ts'
import { policyRules } from '../rule/policy-history.ts'
import {
  accountIn,
  isByClusterPolicy,
  mayBeByOwners,
  noteCommand,
  objectionTo,
  objectionToPolicy,
  overLimit,
  ruleBehind,
} from '../rule/rule-law.ts'
import { ruledObject } from '../rule/ruled-object.ts'
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
        if (record?.type === 'AnnotateObject') noteAnnotation(world, record)
        if (record?.type === 'RuleOrder') noteOrder(world, record)
      }
      return ''
    },
    effect: (seen) => {
      const rule = ruleBehind(seen)
      if (rule === undefined || mayBeByOwners(seen)) return ''
      if (accountIn(seen.acting) === undefined) seen.world.reached('rule')
      for (const each of ['unused', 'keep', 'absent'] as const) {
        if (rule[each] !== null) seen.world.reached(`${each} rule`)
      }
      return objectionTo(seen, rule)
    },
  },
  {
    invariant:
      'I41: a rule annotates what is due by it at just that version, with what it says and nothing else, while an order enforces it',
    effect: (seen) => {
      if (!isAnnotation(seen)) return ''
      return objectionToAnnotation(seen)
    },
  },
  {
    invariant:
      'I40: a DELETE by a policy is sent as its account, and while the policy exists there, is not refused, and is enforced as it is',
    request: (world, { request }) => {
      const { 'impersonate-user': account = '' } = request.headers
      if (isPowerless(account)) world.reached('policy forbidden')
      return ''
    },
    effect: (seen) => {
      if (accountIn(seen.acting) !== undefined) seen.world.reached('policy rule')
      if (isByClusterPolicy(seen)) seen.world.reached('cluster policy rule')
      return seen.acting.request.method === 'DELETE' ? objectionToPolicy(seen) : ''
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
    const rules = [...world.policy.rules, ...policyRules(world, site)]
    for (const object of site.all()) {
      const { uid, name, namespace } = object.metadata
      const node = nodes.get(`node/${site.id}/${uid}`)
      // Of what is beyond the caps only the identity is known.
      if (node?.type !== 'Node' || namespace === TENANT) continue
      if (!isReadAs(rules, node, ruledObject(object)))
        complaints.push(`${name} is read otherwise (I39)`)
    }
  }
  return complaints
}

function isReadAs(
  rules: readonly Rule[],
  { object }: Node,
  there: ReturnType<typeof ruledObject>,
): boolean {
  const reads = rulesOfKind(rules, object)?.reads
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
