/**
 * The CleanupPolicies that a person of a namespace writes, and the ClusterCleanupPolicies of who
 * administers the cluster: a specification, and the rule that it has to be.
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

export function isPowerless(account: string): boolean {
  return account.endsWith(`:${POWERLESS}`)
}

export interface DrawnPolicy {
  readonly spec: object
  readonly rule: Rule
  /** Empty: the reaper's own rights delete. */
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
  /** Empty: of the whole cluster. */
  readonly namespace: string
  readonly name: string
}

/** One that is to be carried out, mostly by an account that may. */
export function drawnPolicy(place: PolicyPlace, chance: Chance): DrawnPolicy {
  const { spec, match, kinds, labels, cases } = chance.pick(SORTS)(chance)
  const waits = chance.pick([0, 0, 0, 1])
  const propagationPolicy = chance.pick(['Background', 'Background', 'Orphan'] as const)
  const { reach, given, account, spec: own } = ownedBy(place, chance)
  return {
    spec: {
      ...{ ...spec, ...own, propagationPolicy },
      ...(waits > 0 && { for: `${waits}m` }),
      match: { ...match, ...given, kinds: kinds.map(written) },
    },
    rule: {
      name: `${place.namespace || '*'}/${place.name}`,
      match: {
        ...{ kinds, ...reach, labels, annotations: [] },
        ...{ expression: null, owner: null, terminating: false },
      },
      ...{ cases, propagationPolicy, forMs: waits * MINUTE, warnMs: 0 },
      ...{ gracePeriodSeconds: null, failFirst: false, limit: null, keep: null },
      ...{ absent: null, beside: null, unused: null, elsewhere: null },
      ...{ annotate: null, account: account === '' ? null : account },
    },
    account,
    isRefused: false,
  }
}

interface Owned {
  /** The namespaces of its rule. */
  readonly reach: Pick<Rule['match'], 'namespaces' | 'exceptNamespaces'>
  /** What its specification says of them. */
  readonly given: object
  readonly account: string
  /** The account, as its specification says it. */
  readonly spec: object
}

/** By whose rights, and where. */
function ownedBy({ namespace }: PolicyPlace, chance: Chance): Owned {
  if (namespace !== '') {
    const name = chance.next() < 0.8 ? ABLE : POWERLESS
    const reach = { namespaces: [namespace], exceptNamespaces: [] }
    const account = accountOf(namespace, name)
    return { reach, given: {}, account, spec: { serviceAccountName: name } }
  }
  const [namespaces, exceptNamespaces] = chance.pick(REACHES)
  const isAll = namespaces.length === 0
  const given = {
    ...(!isAll && { namespaces }),
    ...(exceptNamespaces.length > 0 && { exceptNamespaces }),
  }
  const except = isAll ? [...exceptNamespaces, ...SYSTEM] : exceptNamespaces
  const reach = { namespaces, exceptNamespaces: except }
  const name = chance.pick(['', '', ABLE, ABLE, POWERLESS])
  if (name === '') return { reach, given, account: '', spec: {} }
  const spec = { serviceAccountName: name, serviceAccountNamespace: 'green' }
  return { reach, given, account: accountOf('green', name), spec }
}

type Reach = readonly [namespaces: readonly string[], exceptNamespaces: readonly string[]]

const REACHES: readonly [Reach, ...Reach[]] = [
  [[], []],
  [[], ['red']],
  [['b*', 'green'], []],
  [['green', 'red'], ['r*']],
]
/** Left out where a rule does not name them one by one. */
const SYSTEM = ['kube-system', 'kube-public', 'kube-node-lease'] as const

/** Its author wants what no CleanupPolicy may do, or no ClusterCleanupPolicy. */
export function refusedPolicy(place: PolicyPlace, chance: Chance): DrawnPolicy {
  const right = drawnPolicy(place, chance)
  return place.namespace === ''
    ? refusedOfCluster(right, chance)
    : refusedOfNamespace(right, place, chance)
}

function refusedOfNamespace(right: DrawnPolicy, place: PolicyPlace, chance: Chance): DrawnPolicy {
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

/** A key is misspelt, so it is about more than was meant; or its account is of no namespace. */
function refusedOfCluster(right: DrawnPolicy, chance: Chance): DrawnPolicy {
  const spec = right.spec as { readonly match: object }
  const { rule } = right
  const all = { match: { kinds: ['Secret'] }, after: '5m' }
  const secrets = { ...rule.match, kinds: [{ group: '', kind: 'Secret' }], labels: [] }
  const cases: readonly RuleCase[] = [{ fields: [], since: { type: 'created' }, after: fixed(5) }]
  const wrong: readonly [DrawnPolicy, ...DrawnPolicy[]] = [
    { ...right, spec: { ...spec, match: { ...spec.match, lables: 'tier=other' } } },
    {
      ...{ ...right, spec: { ...spec, serviceAccountName: ABLE, serviceAccountNamespace: '' } },
      account: accountOf('', ABLE),
    },
    {
      ...right,
      spec: { ...spec, serviceAccountName: undefined, serviceAccountNamespace: 'green' },
      account: '',
    },
    { ...right, spec: all, account: '', rule: { ...rule, match: secrets, cases } },
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
