/**
 * The CleanupPolicies that a person of a namespace writes: a specification, and the rule that it
 * has to be.
 *
 * What must stay true: the rule is written here once more, and not read from the specification; of
 * one that is to be refused it is what its author wanted.
 *
 * Not here: who writes them, and when (../fault/policy-tenant.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'
import type { Rule, RuleCase, Term } from '../../core/model/rule/rule.ts'
import type { Chance } from '../../testing/seeded.ts'

const MINUTE = 60_000

/** Of each namespace. The server refuses whatever the second one wants to delete. */
export const ABLE = 'cleaner'
export const POWERLESS = 'powerless'

export function accountOf(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`
}

export interface DrawnPolicy {
  readonly spec: object
  readonly rule: Rule
  readonly account: string
  /** It has to do nothing at all. */
  readonly isRefused: boolean
}

interface Part {
  readonly spec: object
  readonly match: object
  readonly kinds: readonly GroupKind[]
  readonly labels: readonly Term[]
  readonly cases: readonly RuleCase[]
}

const KINDS: readonly [GroupKind, ...GroupKind[]] = [
  { group: '', kind: 'ConfigMap' },
  { group: '', kind: 'Secret' },
  { group: 'apps', kind: 'ReplicaSet' },
]
const COMPLETE = 'status.conditions[type=Complete]'

const SORTS: readonly [(chance: Chance) => Part, ...((chance: Chance) => Part)[]] = [
  (chance) => {
    const minutes = chance.below(12)
    return {
      ...{ spec: { after: minutes === 0 ? 0 : `${minutes}m` }, match: { labels: 'tier=temp' } },
      kinds: kindsOf(chance),
      labels: [{ key: 'tier', operator: 'in', values: ['temp'] }],
      cases: [{ fields: [], since: { type: 'created' }, after: fixed(minutes) }],
    }
  },
  (chance) => ({
    ...{ spec: { after: '5m' }, match: { labels: 'tier,!keep' }, kinds: kindsOf(chance) },
    labels: [
      { key: 'tier', operator: 'exists', values: [] },
      { key: 'keep', operator: 'absent', values: [] },
    ],
    cases: [{ fields: [], since: { type: 'created' }, after: fixed(5) }],
  }),
  (chance) => ({
    ...{ spec: { since: { annotation: 'expires' } }, match: {}, kinds: kindsOf(chance) },
    labels: [],
    cases: [{ fields: [], since: { type: 'annotation', key: 'expires' }, after: fixed(0) }],
  }),
  (chance) => ({
    ...{ spec: { after: { annotation: 'ttl' } }, match: {}, kinds: kindsOf(chance), labels: [] },
    cases: [
      { fields: [], since: { type: 'created' }, after: { type: 'duration', annotation: 'ttl' } },
    ],
  }),
  () => ({
    spec: {
      when: { [`${COMPLETE}.status`]: 'True' },
      since: { field: `${COMPLETE}.lastTransitionTime` },
      after: { seconds: 'spec.ttlSecondsAfterFinished' },
    },
    ...{ match: {}, kinds: [{ group: 'batch', kind: 'Job' }], labels: [] },
    cases: [
      {
        fields: [{ key: `${COMPLETE}.status`, operator: 'in', values: ['True'] }],
        since: { type: 'field', path: `${COMPLETE}.lastTransitionTime` },
        after: { type: 'seconds', path: 'spec.ttlSecondsAfterFinished' },
      },
    ],
  }),
]

export interface PolicyPlace {
  readonly namespace: string
  readonly name: string
}

/** One that is to be carried out, mostly by an account that may. */
export function drawnPolicy(place: PolicyPlace, chance: Chance): DrawnPolicy {
  const { spec, match, kinds, labels, cases } = chance.pick(SORTS)(chance)
  const waits = chance.pick([0, 0, 0, 1])
  const propagationPolicy = chance.pick(['Background', 'Background', 'Orphan'] as const)
  const account = chance.next() < 0.8 ? ABLE : POWERLESS
  const { namespace, name } = place
  return {
    spec: {
      ...{ ...spec, serviceAccountName: account, propagationPolicy },
      ...(waits > 0 && { for: `${waits}m` }),
      match: { ...match, kinds: kinds.map(written) },
    },
    rule: {
      name: `${namespace}/${name}`,
      match: {
        ...{ kinds, namespaces: [namespace], exceptNamespaces: [], labels, annotations: [] },
        ...{ expression: null, owner: null, terminating: false },
      },
      ...{ cases, propagationPolicy, forMs: waits * MINUTE, warnMs: 0 },
      ...{
        gracePeriodSeconds: null,
        failFirst: false,
        limit: null,
        keep: null,
        absent: null,
        beside: null,
      },
    },
    account: accountOf(namespace, account),
    isRefused: false,
  }
}

/** Its author wants what no CleanupPolicy may do. */
export function refusedPolicy(place: PolicyPlace, chance: Chance): DrawnPolicy {
  const right = drawnPolicy(place, chance)
  const { rule } = right
  const spec = right.spec as { readonly match: object }
  const others = ['blue', 'green', 'red', 'kube-system'].filter((each) => each !== place.namespace)
  const other = others[chance.below(others.length)] ?? ''
  const wrong: readonly [DrawnPolicy, ...DrawnPolicy[]] = [
    {
      ...right,
      spec: { ...spec, match: { ...spec.match, namespaces: [other] } },
      rule: { ...rule, match: { ...rule.match, namespaces: [other] } },
    },
    {
      ...right,
      spec: { ...spec, match: { ...spec.match, namespaces: [place.namespace, other] } },
      rule: { ...rule, match: { ...rule.match, namespaces: [place.namespace, other] } },
    },
    { ...right, spec: { ...spec, serviceAccountName: undefined } },
    {
      ...{ ...right, spec: { ...spec, serviceAccountNamespace: other } },
      account: accountOf(other, ABLE),
    },
    secretReader(right, place),
  ]
  return { ...chance.pick(wrong), isRefused: true }
}

/** It would find out what is in a Secret by what is deleted. */
function secretReader({ rule, account }: DrawnPolicy, place: PolicyPlace): DrawnPolicy {
  const secrets = [{ group: '', kind: 'Secret' }]
  const cases: readonly RuleCase[] = [
    {
      fields: [{ key: 'data.password', operator: 'absent', values: [] }],
      ...{ since: { type: 'created' }, after: fixed(0) },
    },
  ]
  const match = { ...rule.match, kinds: secrets, labels: [], namespaces: [place.namespace] }
  const when = { 'data.password': { exists: false } }
  return {
    ...{
      spec: { serviceAccountName: ABLE, match: { kinds: ['Secret'] }, when, after: 0 },
      account,
    },
    rule: { ...rule, match, cases, propagationPolicy: 'Background', forMs: 0 },
    isRefused: true,
  }
}

function kindsOf(chance: Chance): readonly GroupKind[] {
  const kinds = KINDS.filter(() => chance.next() < 0.6)
  return kinds.length === 0 ? [KINDS[0]] : kinds
}

function written({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

function fixed(minutes: number): RuleCase['after'] {
  return { type: 'fixed', ms: minutes * MINUTE }
}
