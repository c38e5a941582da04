/** The section `rules`: what a rule is that was written, and a sentence for each mistake. */
import { deepEqual, equal, match, notEqual, throws } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { compileExpression } from '../../adapters/cel/compile.ts'
import { type Rule, type RuleCase, readsOf, ruleDigest } from '../../core/model/rule/rule.ts'
import { BUILTINS } from './builtin.ts'
import { RULE_KEYS, rulesOf } from './rule-config.ts'

function rulesIn(yaml: string): readonly Rule[] {
  return rulesOf(parse(yaml), 'f: rules', compileExpression)
}

/** One rule with this beside its name. */
function ruleIn(yaml: string): Rule {
  const [rule] = rulesIn(`[{ name: r, ${yaml} }]`)
  if (rule === undefined) throw new Error('no rule')
  return rule
}

test('without the section there are no rules', () => {
  deepEqual(rulesOf(undefined, 'f', compileExpression), [])
  deepEqual(rulesOf([], 'f', compileExpression), [])
})

const EXAMPLE = `
- name: old-previews
  match:
    kinds: [Namespace, Job.batch]
    namespaces: ['preview-*']
    exceptNamespaces: [kube-system]
    labels: 'preview=true,!keep'
    annotations: { example.com/temporary: 'true', example.com/a: { exists: false } }
  after: 72h
  for: 10m
  warn: 1h
  limit: { perHour: 200, percent: 20 }
  propagationPolicy: Foreground
- name: expired
  match: { kinds: [ConfigMap] }
  since: { annotation: example.com/expires }
- name: cases
  match: { kinds: [Job.batch] }
  cases:
    - when:
        status.conditions[type=Complete].status: 'True'
        spec.suspend: { not: [true] }
        spec.parallelism: [1, 2]
      since: { field: 'status.conditions[type=Complete].lastTransitionTime' }
      after: { seconds: spec.ttlSecondsAfterFinished }
    - since: { field: status.completionTime }
      after: { annotation: example.com/ttl }
`

test('a rule is what was written, and the rest is the default', () => {
  const created = { type: 'created' }
  const system = ['kube-system', 'kube-public', 'kube-node-lease']
  const none = {
    ...{ namespaces: [], exceptNamespaces: system, labels: [], annotations: [] },
    owner: null,
    terminating: false,
  }
  const rest = {
    ...{ propagationPolicy: 'Background', gracePeriodSeconds: null, failFirst: false },
    account: null,
    ...{ forMs: 0, warnMs: 0, limit: null, keep: null, absent: null, beside: null, unused: null },
    ...{ elsewhere: null, annotate: null },
  }
  const complete = 'status.conditions[type=Complete]'
  deepEqual(rulesIn(EXAMPLE), [
    {
      name: 'old-previews',
      match: {
        kinds: [
          { group: '', kind: 'Namespace' },
          { group: 'batch', kind: 'Job' },
        ],
        namespaces: ['preview-*'],
        exceptNamespaces: ['kube-system'],
        labels: [
          { key: 'preview', operator: 'in', values: ['true'] },
          { key: 'keep', operator: 'absent', values: [] },
        ],
        annotations: [
          { key: 'example.com/temporary', operator: 'in', values: ['true'] },
          { key: 'example.com/a', operator: 'absent', values: [] },
        ],
        expression: null,
        owner: null,
        terminating: false,
      },
      cases: [{ fields: [], since: created, after: { type: 'fixed', ms: 259_200_000 } }],
      propagationPolicy: 'Foreground',
      gracePeriodSeconds: null,
      failFirst: false,
      account: null,
      forMs: 600_000,
      warnMs: 3_600_000,
      limit: { perHour: 200, percent: 20 },
      keep: null,
      absent: null,
      beside: null,
      unused: null,
      elsewhere: null,
      annotate: null,
    },
    {
      name: 'expired',
      match: { kinds: [{ group: '', kind: 'ConfigMap' }], ...none, expression: null },
      cases: [
        {
          fields: [],
          since: { type: 'annotation', key: 'example.com/expires' },
          after: { type: 'fixed', ms: 0 },
        },
      ],
      ...rest,
    },
    {
      name: 'cases',
      match: { kinds: [{ group: 'batch', kind: 'Job' }], ...none, expression: null },
      cases: [
        {
          fields: [
            { key: `${complete}.status`, operator: 'in', values: ['True'] },
            { key: 'spec.suspend', operator: 'not-in', values: ['true'] },
            { key: 'spec.parallelism', operator: 'in', values: ['1', '2'] },
          ],
          since: { type: 'field', path: `${complete}.lastTransitionTime` },
          after: { type: 'seconds', path: 'spec.ttlSecondsAfterFinished' },
        },
        {
          fields: [],
          since: { type: 'field', path: 'status.completionTime' },
          after: { type: 'duration', annotation: 'example.com/ttl' },
        },
      ],
      ...rest,
    },
  ])
})

/** Namespaces, exceptions, and what is excepted in the end. */
const SYSTEM: readonly (readonly [string, string, string])[] = [
  ['', '', 'kube-system kube-public kube-node-lease'],
  ['', '[ci]', 'ci kube-system kube-public kube-node-lease'],
  ['', '[kube-system]', 'kube-system kube-public kube-node-lease'],
  ['[preview-*]', '', ''],
  ["['*']", '', 'kube-system kube-public kube-node-lease'],
  ["['*', kube-system]", '', 'kube-public kube-node-lease'],
  ['[kube-*]', '[kube-public]', 'kube-public kube-system kube-node-lease'],
  ['[kube-system]', '', ''],
]

for (const [namespaces, except, expected] of SYSTEM) {
  test(`of namespaces ${namespaces || 'all'} but ${except || 'none'}, left out are ${expected || 'none'}`, () => {
    const within = namespaces === '' ? '' : `namespaces: ${namespaces}, `
    const without = except === '' ? '' : `exceptNamespaces: ${except}, `
    const rule = ruleIn(`match: { ${within}${without}kinds: [Pod], labels: a }, after: 1h`)
    equal(rule.match.exceptNamespaces.join(' '), expected)
  })
}

test('a built-in rule is about the namespaces of its twin', () => {
  const [jobs] = rulesIn('[{ builtin: finished-jobs }]')
  deepEqual(jobs?.match.exceptNamespaces, [])
})

test('an order names a rule by what it says, whatever the order of its keys', () => {
  const of = (text: string): string => ruleDigest(ruleIn(text))
  const digest = of('match: { kinds: [Pod], labels: a }, after: 1h, for: 1m')
  equal(of('for: 60s, after: 60m, match: { labels: a, kinds: [Pod] }'), digest)
  notEqual(of('for: 61s, after: 60m, match: { labels: a, kinds: [Pod] }'), digest)
})

const POD = 'match: { kinds: [Pod] }'

const AFTER: readonly (readonly [string, RuleCase['after']])[] = [
  ['90m', { type: 'fixed', ms: 5_400_000 }],
  ['1h30m', { type: 'fixed', ms: 5_400_000 }],
  ['2w', { type: 'fixed', ms: 1_209_600_000 }],
  ['{ seconds: spec.a }', { type: 'seconds', path: 'spec.a' }],
]

for (const [text, after] of AFTER) {
  test(`after: ${text}`, () => deepEqual(ruleIn(`${POD}, after: ${text}`).cases[0]?.after, after))
}

/** Nothing at once but what is selected. */
const SELECTED: readonly string[] = [
  'match: { kinds: [Pod], labels: a=b }, after: 0s',
  'match: { kinds: [Pod], labels: a }, after: 0',
  'match: { kinds: [Pod], annotations: { a: b } }, after: 0s',
  "match: { kinds: [Pod], namespaces: ['a-*'] }, after: 0s",
  `${POD}, when: { status.phase: Failed }, after: 0s`,
  `${POD}, since: { annotation: a }, after: 0s`,
  `${POD}, after: { annotation: a }`,
  'match: { kinds: [Namespace], namespaces: [a] }, after: 1h',
  'match: { kinds: [Secret], labels: a }, after: 1h',
  'match: { kinds: [Secret] }, since: { annotation: a }',
]

for (const text of SELECTED) test(`${text} is a rule`, () => equal(ruleIn(text).name, 'r'))

test('an expression is compiled when the config is read, and selects', () => {
  const text = `match: { kinds: [Pod], expression: "object.status.phase == 'Failed'" }, after: 0s`
  const { expression } = ruleIn(text).match
  deepEqual(
    [expression?.source, expression?.fields],
    ["object.status.phase == 'Failed'", ['status.phase']],
  )
})

const long = 'a'.repeat(50)
const many = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join(', ')

/** What stands beside `name: r`. */
const WRONG: readonly (readonly [string, RegExp])[] = [
  ['colour: red', /^f: rules\[0\]: unknown key colour; known are name, match, /],
  ['after: 1h', /^f: rules\.r\.match: is missing/],
  ['match: Pod, after: 1h', /^f: rules\.r\.match: expected a mapping with kinds, /],
  ['match: { kind: Pod }, after: 1h', /^f: rules\.r\.match: unknown key kind; known are kinds/],
  ['match: { labels: a }, after: 1h', /^f: rules\.r\.match\.kinds: expected kinds such as/],
  ['match: { kinds: Pod }, after: 1h', /match\.kinds: expected a list of texts, not "Pod"/],
  ['match: { kinds: [pods] }, after: 1h', /match\.kinds: pods is no kind/],
  ['match: { kinds: [Job] }, after: 1h', /kinds: the core group has no kind Job: write its group/],
  ['match: { kinds: [A/B] }, after: 1h', /kinds: "A\/B" is no kind/],
  ['match: { kinds: [Job.Batch] }, after: 1h', /"Job.Batch" is no kind/],
  [
    'match: { kinds: [Pod], owner: { kinds: [Job] } }, after: 1h',
    /owner\.kinds: the core group has/,
  ],
  [`match: { kinds: [${many(51, (i) => `K.a${i}`)}] }, after: 1h`, /51 kinds, and 50 are the most/],
  ['match: { kinds: [Node] }, after: 1h', /no rule is about Node: the pods on it go with one/],
  ['match: { kinds: [PersistentVolume] }, after: 1h', /PersistentVolume/],
  [
    "match: { kinds: [PersistentVolume, Pod], labels: 'a=b' }, after: 1h",
    /a rule that only reports is about one kind \(PersistentVolume: it is storage/,
  ],
  [
    'match: { kinds: [StorageClass.storage.k8s.io] }, after: 1h',
    /no rule is about StorageClass.storage.k8s.io: a rule deletes no storage/,
  ],
  [
    'match: { kinds: [CustomResourceDefinition.apiextensions.k8s.io] }, after: 1h',
    /no rule is about CustomResourceDefinition.apiextensions.k8s.io: all objects/,
  ],
  ['match: { kinds: [Event] }, after: 1h', /Events are never watched/],
  ['match: { kinds: [Pod], namespaces: [A] }, after: 1h', /"A" is no name of a namespace/],
  ['match: { kinds: [Pod], namespaces: [] }, after: 1h', /namespaces: is empty; leave it out/],
  ['match: { kinds: [Pod], exceptNamespaces: a }, after: 1h', /exceptNamespaces: expected a list/],
  [
    `match: { kinds: [Pod], namespaces: [${many(201, (i) => `n${i}`)}] }, after: 1h`,
    /201 entries, and 200 are the most/,
  ],
  ['match: { kinds: [Pod], labels: [a] }, after: 1h', /labels: expected a label selector such as/],
  ["match: { kinds: [Pod], labels: 'a in b' }, after: 1h", /labels: "a in b" is no label selector/],
  ['match: { kinds: [Pod], annotations: [a] }, after: 1h', /annotations: expected a mapping of/],
  ['match: { kinds: [Pod], annotations: {} }, after: 1h', /annotations: expected at least one key/],
  ['match: { kinds: [Pod], annotations: { -a: b } }, after: 1h', /"-a" is no key of an annotation/],
  [
    'match: { kinds: [Pod], annotations: { kubectl.kubernetes.io/last-applied-configuration: a } }, after: 1h',
    /the whole object as it was applied/,
  ],
  [
    'match: { kinds: [Pod], annotations: { a: null } }, after: 1h',
    /annotations\.a: expected texts/,
  ],
  ['match: { kinds: [Pod], annotations: { a: [] } }, after: 1h', /a: 0 values, and from 1 to 100/],
  [
    'match: { kinds: [Pod], annotations: { a: {} } }, after: 1h',
    /annotations\.a: expected a value/,
  ],
  [
    'match: { kinds: [Pod], annotations: { a: { exists: yes } } }, after: 1h',
    /annotations\.a\.exists: expected true or false/,
  ],
  ["match: { kinds: [Pod], expression: 'a' }, after: 1h", /^f: rules\.r\.match\.expression: \S/],
  [
    `match: { kinds: [Secret], expression: "object.data.a == 'b'" }, after: 1h`,
    /data\.a of a Secret is not read/,
  ],
  ['match: { kinds: [Pod], expression: 5 }, after: 1h', /expression: expected an expression of/],
  [POD, /^f: rules\.r: after is missing, such as 72h, or since/],
  [`${POD}, after: 1h, cases: [{ after: 1h }]`, /after and cases exclude each other/],
  [`${POD}, cases: []`, /cases: expected a list of 1 to 20 mappings/],
  [`${POD}, cases: [{ when: { a: b } }]`, /^f: rules\.r\.cases\[0\]: after is missing/],
  [`${POD}, cases: [{ if: { a: b } }]`, /cases\[0\]: unknown key if; known are when, since, after/],
  [`${POD}, after: soon`, /^f: rules\.r\.after: expected a duration such as 30m/],
  [`${POD}, after: 5`, /after: expected a duration/],
  [`${POD}, after: -5m`, /after: expected a duration/],
  [`${POD}, after: 36501d`, /at most 36500d/],
  [`${POD}, after: { seconds: a, annotation: b }`, /after: expected a duration, \{seconds: PATH\}/],
  [`${POD}, after: { seconds: 'a b' }`, /after\.seconds: "a b" is no path of a field/],
  [`${POD}, since: { field: 'a[b' }`, /since\.field: "a\[b" is no path of a field/],
  [`${POD}, since: { field: a.b.c.d.e.f.g.h.i }`, /is no path of a field/],
  [`${POD}, since: { field: a${'.b'.repeat(300)} }`, /is no path of a field/],
  [`${POD}, since: { field: metadata.labels.a }`, /is read by match\.labels and/],
  [`${POD}, since: { field: metadata.managedFields }`, /or not at all/],
  [`${POD}, since: {}`, /since: expected \{field: PATH\} or \{annotation: KEY\}/],
  [`${POD}, since: creation`, /since: expected a mapping with field, annotation/],
  [`${POD}, after: 0s`, /^f: rules\.r: would delete all objects of its kinds at once; it takes/],
  ["match: { kinds: [Pod], labels: '!keep' }, after: 0s", /all objects of its kinds at once/],
  ["match: { kinds: [Pod], namespaces: ['*'] }, after: 0s", /all objects of its kinds at once/],
  [`${POD}, cases: [{ after: 1h }, { after: 0s }]`, /all objects of its kinds at once/],
  ['match: { kinds: [Namespace] }, after: 1h', /would delete each Namespace for its age alone/],
  ['match: { kinds: [Pod, Secret] }, after: 1h', /would delete each Secret for its age alone/],
  [
    'match: { kinds: [Secret] }, since: { field: data.password }',
    /^f: rules\.r: data\.password of a Secret is not read; type is, and data\.expiration/,
  ],
  [
    'match: { kinds: [Pod, Secret], labels: a }, when: { spec.a: b }, after: 1h',
    /spec\.a of a Secret is not read/,
  ],
  [
    `${POD}, cases: [${many(12, (i) => `{ when: { spec.${long}${i}: a }, after: 1h }`)}]`,
    /^f: rules: the paths of Pod have \d+ characters, and 512 are the most/,
  ],
  [`${POD}, after: 1h, for: soon`, /^f: rules\.r\.for: expected a duration/],
  [`${POD}, after: 1h, warn: 1`, /^f: rules\.r\.warn: expected a duration/],
  [`${POD}, after: 1h, limit: 5`, /^f: rules\.r\.limit: expected a mapping with perHour, percent/],
  [`${POD}, after: 1h, limit: {}`, /limit: expected perHour or percent over 0/],
  [`${POD}, after: 1h, limit: { perHour: -1 }`, /limit\.perHour: expected a whole number from 0/],
  [`${POD}, after: 1h, limit: { percent: 101 }`, /limit\.percent: expected a whole number from 0/],
  [`${POD}, after: 1h, limit: { a: 1 }`, /limit: unknown key a; known are perHour, percent/],
  [`${POD}, after: 1h, propagationPolicy: Later`, /"Later" is none of Background, Foreground/],
  [`${POD}, after: 1h, gracePeriodSeconds: -1`, /gracePeriodSeconds: expected a whole number/],
  [
    'match: { kinds: [Pod, ConfigMap] }, after: 1h, gracePeriodSeconds: 0',
    /^f: rules\.r: gracePeriodSeconds is of Pods only, not of ConfigMap$/,
  ],
  [
    'match: { kinds: [Pod], terminating: true }, after: 1h',
    /^f: rules\.r: match\.terminating takes gracePeriodSeconds, /,
  ],
  ['match: { kinds: [Pod], terminating: 1 }, after: 1h', /match\.terminating: expected true or/],
  [
    'match: { kinds: [Pod], terminating: true }, after: 0, gracePeriodSeconds: 0',
    /would delete all objects of its kinds at once/,
  ],
  [
    'match: { kinds: [Pod] }, after: 0, annotate: { key: a.io/b, value: x }',
    /would annotate all objects of its kinds at once/,
  ],
  [`${POD}, after: 1h, annotate: stale`, /annotate: expected a mapping with key, value/],
  [`${POD}, after: 1h, annotate: { value: x }`, /annotate\.key: expected the key of an annotation/],
  [
    `${POD}, after: 1h, annotate: { key: a.io/b }`,
    /annotate\.value: expected a text of at most 256/,
  ],
  [`${POD}, after: 1h, annotate: { key: stale, value: x }`, /it is no key in a domain, such as/],
  ...[
    ['kubernetes.io/x', 'kubernetes.io'],
    ['kubectl.kubernetes.io/restartedAt', 'kubernetes.io'],
    ['pod.x-k8s.io/y', 'x-k8s.io'],
    ['kinfold.dev/enforce', 'kinfold.dev'],
    ['meta.helm.sh/release-name', 'helm.sh'],
    ['argocd.argoproj.io/sync-options', 'argoproj.io'],
  ].map(([key, domain]): readonly [string, RegExp] => [
    `${POD}, after: 1h, annotate: { key: ${key}, value: x }`,
    new RegExp(
      `annotate\\.key: no rule sets "${key}": keys of ${domain} have effects of their own`,
    ),
  ]),
  ...['warn: 1h', 'propagationPolicy: Orphan', 'gracePeriodSeconds: 5', 'failFirst: true'].map(
    (other): readonly [string, RegExp] => [
      `${POD}, after: 1h, ${other}, annotate: { key: a.io/b, value: x }`,
      /is of a deletion, and a rule with annotate deletes nothing/,
    ],
  ),
  [
    `match: { kinds: [Pod], terminating: true, labels: a }, after: 1h, annotate: { key: a.io/b, value: x }`,
    /annotate is about objects that stay/,
  ],
  [
    `${POD}, after: 1h, failFirst: true`,
    /failFirst takes gracePeriodSeconds: 0: add it, or leave failFirst out/,
  ],
  [
    `${POD}, after: 1h, failFirst: true, gracePeriodSeconds: 0, when: { status.phase: Running }`,
    /failFirst sets a Pod to Failed first, which changes status\.phase, .*: decide by another field, or leave failFirst out \(unscheduled-pods, orphaned-pods, out-of-service-pods have it: /,
  ],
  [
    'match: { kinds: [ConfigMap], labels: a }, after: 1h, failFirst: true, gracePeriodSeconds: 0',
    /gracePeriodSeconds is of Pods only/,
  ],
  [`${POD}, keep: { by: cluster }`, /keep\.newest: is missing/],
  [`${POD}, keep: { newest: 0, by: cluster }`, /keep\.newest: expected a whole number from 1/],
  [`${POD}, keep: { newest: 3 }`, /keep\.by: is missing: owner, namespace, cluster or/],
  [`${POD}, keep: { newest: 3, by: age }`, /"age" is none of owner, namespace, cluster/],
  [`${POD}, keep: { newest: 3, by: { label: 'a b' } }`, /keep\.by\.label: expected the key of/],
  [
    'match: { kinds: [ConfigMap] }, keep: { newest: 3, by: cluster }',
    /would delete each ConfigMap for its age alone/,
  ],
  [
    'match: { kinds: [Pod], terminating: true }, gracePeriodSeconds: 0, keep: { newest: 1, by: cluster }',
    /^f: rules\.r: keep is about objects that live/,
  ],
  ['builtin: finished-jobs, keep: { newest: 3 }', /this built-in rule keeps none; leave it out/],
  ['builtin: terminated-pods, keep: { by: owner }', /unknown key by; known are newest/],
  [`${POD}, absent: { kind: Pod, name: { field: a } }`, /absent\.kind: expected Node; no other/],
  [`${POD}, absent: { kind: Node, name: a }`, /absent\.name: expected a mapping with field/],
  [`${POD}, absent: { kind: Node, name: { field: 'a b' } }`, /"a b" is no path of a field/],
  ['match: { kinds: [Pod], owner: any }, after: 1h', /match\.owner: expected none or \{kinds: /],
  [
    'match: { kinds: [Pod], owner: { kinds: [] } }, after: 1h',
    /match\.owner\.kinds: expected kinds/,
  ],
  [
    'match: { kinds: [ConfigMap], owner: none }, after: 1h',
    /would delete each ConfigMap for its age alone/,
  ],
  [`${POD}, beside: { kind: Node, name: { field: a } }`, /beside\.when: is missing/],
  [`${POD}, beside: { kind: Pod, name: { field: a }, when: { a: b } }`, /beside\.kind: expected/],
  [
    `${POD}, absent: { kind: Node, name: { field: a } }, beside: { kind: Node, name: { field: a }, when: { a: b } }`,
    /absent and beside exclude each other/,
  ],
  ['builtin: unscheduled-pods, match: { terminating: true }', /terminating: are fixed/],
  ['builtin: jobs', /^f: rules\.r\.builtin: is none of finished-jobs, certificate-requests, /],
  ['builtin: toString', /builtin: is none of finished-jobs/],
  ['builtin: finished-jobs, after: 1h', /\(built in\): unknown key after; known are name, builtin/],
  [
    'builtin: finished-jobs, match: { kinds: [Pod] }',
    /^f: rules\.r\.match\.kinds: are fixed in this built-in rule/,
  ],
  ['builtin: bootstrap-tokens, match: { namespaces: [a] }', /match\.namespaces: are fixed/],
  ['builtin: janitor', /^f: rules\.r\.match\.kinds: expected kinds such as/],
  [
    'builtin: janitor, match: { kinds: [Pod], annotations: { janitor/ttl: 1h } }',
    /annotations\.janitor\/ttl: is read by this built-in rule itself/,
  ],
]

for (const [text, message] of WRONG) {
  test(`${text.slice(0, 90)} is refused`, () =>
    throws(() => ruleIn(text), { name: 'SettingError', message }))
}

/** The whole section. */
const WRONG_SECTIONS: readonly (readonly [string, RegExp])[] = [
  ['{ a: b }', /^f: rules: expected a list of rules$/],
  ['[a]', /^f: rules\[0\]: expected a mapping with name, match/],
  [`[{ ${POD}, after: 1h }]`, /^f: rules\[0\]: name is missing, or none/],
  [`[{ name: A, ${POD}, after: 1h }]`, /^f: rules\[0\]: name is missing, or none/],
  [`[{ name: ${'a'.repeat(64)}, ${POD}, after: 1h }]`, /63 at most/],
  [`[{ name: a, ${POD}, after: 1h }, { name: a, ${POD}, after: 2h }]`, /two rules are called a$/],
  [
    '[{ builtin: finished-jobs }, { builtin: finished-jobs }]',
    /two rules are called finished-jobs/,
  ],
  [
    `[${many(101, (i) => `{ name: r${i}, ${POD}, after: 1h }`)}]`,
    /^f: rules: 101 rules, and 100 are the most/,
  ],
  [
    `[${many(60, (i) => `{ builtin: janitor, name: r${i}, ${POD} }`)}]`,
    /^f: rules: 120 rules with built-in ones, and 100 are the most/,
  ],
  [
    `[${many(100, (i) => `{ name: r${i}, match: { kinds: [Pod], namespaces: [${many(30, (j) => `n${j}-${long}`)}] }, after: 1h }`)}]`,
    /characters as JSON, and 65536 are the most/,
  ],
]

for (const [text, message] of WRONG_SECTIONS) {
  test(`${text.slice(0, 90)} is no section`, () =>
    throws(() => rulesIn(text), { name: 'SettingError', message }))
}

test('a built-in rule is what it says, narrowed by what the config says', () => {
  const [jobs, ttl, expires] = rulesIn(`
- { builtin: finished-jobs, name: jobs, match: { exceptNamespaces: [ci], labels: a }, for: 1h }
- { builtin: janitor, match: { kinds: [Pod], labels: '!keep' }, limit: { perHour: 5 } }
`)
  equal(jobs?.name, 'jobs')
  deepEqual(jobs?.match.exceptNamespaces, ['ci'])
  deepEqual(jobs?.match.labels, [{ key: 'a', operator: 'exists', values: [] }])
  deepEqual([jobs?.forMs, jobs?.propagationPolicy], [3_600_000, 'Foreground'])
  deepEqual([ttl?.name, expires?.name], ['janitor', 'janitor-expires'])
  for (const rule of [ttl, expires]) {
    deepEqual(rule?.match.exceptNamespaces, ['kube-system'])
    deepEqual(rule?.match.labels, [{ key: 'keep', operator: 'absent', values: [] }])
    deepEqual(rule?.limit, { perHour: 5, percent: 0 })
  }
})

test('a rule that keeps the newest needs no age', () => {
  const [owned, labelled, terminated] = rulesIn(`
- { name: owned, match: { kinds: [ReplicaSet.apps] }, keep: { newest: 3, by: owner } }
- { name: labelled, match: { kinds: [Pod] }, after: 1h, keep: { newest: 1, by: { label: app } } }
- { builtin: terminated-pods, keep: { newest: 500 } }
`)
  deepEqual(owned?.cases, [
    { fields: [], since: { type: 'created' }, after: { type: 'fixed', ms: 0 } },
  ])
  deepEqual(owned?.keep, { newest: 3, by: { type: 'owner' }, first: [] })
  deepEqual(labelled?.keep?.by, { type: 'label', key: 'app' })
  deepEqual([terminated?.keep?.newest, terminated?.keep?.first.length], [500, 2])
})

test('a rule that annotates says which annotation, and reads it', () => {
  const [plain, kept] = rulesIn(`
- { name: a, match: { kinds: [Pod], labels: b }, after: 1h, annotate: { key: a.io/b, value: true } }
- { name: c, match: { kinds: [Job.batch] }, keep: { newest: 3, by: owner }, annotate: { key: a.io/b, value: '' } }
`)
  deepEqual(plain?.annotate, { key: 'a.io/b', value: 'true' })
  deepEqual(kept?.annotate, { key: 'a.io/b', value: '' })
  deepEqual(
    readsOf([plain!]).map(({ annotations }) => annotations),
    [['a.io/b']],
  )
})

test('a rule about what names no Node waits for forty seconds at least', () => {
  const [short, long, orphaned] = rulesIn(`
- { name: a, match: { kinds: [Pod] }, absent: { kind: Node, name: { field: spec.nodeName } } }
- { name: b, match: { kinds: [Pod] }, absent: { kind: Node, name: { field: a } }, for: 1h }
- { builtin: orphaned-pods }
`)
  deepEqual(short?.absent, { group: '', kind: 'Node', field: 'spec.nodeName' })
  deepEqual([short?.forMs, long?.forMs, orphaned?.forMs], [40_000, 3_600_000, 40_000])
})

test('what most rules do not have is no part of their digests', () => {
  const [plain] = rulesIn('- { name: a, match: { kinds: [Pod], labels: b }, after: 1h }')
  equal(ruleDigest(plain!), '40a2d0faf7f51a8f7c7d7dbaa27e1675')
})

test('unused asks about kinds whose users are known, and takes users of its own', () => {
  const match = { kinds: ['Secret', 'ConfigMap'] }
  const of = (unused: object, more: object = {}): Rule => {
    const [rule] = rulesOf([{ name: 'r', match, unused, ...more }], 'f', compileExpression)
    if (rule === undefined) throw new Error('no rule')
    return rule
  }
  const plain = of({ for: '30d' })
  equal(plain.unused?.forMs, 30 * 24 * 3_600_000)
  deepEqual(plain.match.exceptNamespaces, ['kube-system', 'kube-public', 'kube-node-lease'])
  deepEqual(plain.cases[0]?.after, { type: 'fixed', ms: 0 })
  const usersOf = ({ unused }: Rule, kind: string): number =>
    unused?.uses.filter(({ users }) => users.some((each) => each.kind === kind)).length ?? 0
  equal(usersOf(plain, 'Rollout'), 0)
  const rollout = { kind: 'Rollout.argoproj.io', podSpec: 'spec.template.spec' }
  equal(usersOf(of({ for: '30d', uses: [rollout] }), 'Rollout'), 2, 'ConfigMap and Secret')
  equal(usersOf(of({ for: '30d', uses: [{ kind: 'Any.example.com' }] }), 'Any'), 2)
  const database = {
    kind: 'Database.example.com',
    used: 'Secret',
    paths: ['spec.users[].ref.name'],
  }
  equal(usersOf(of({ for: '30d', uses: [database] }), 'Database'), 1)
  const [built] = rulesOf([{ builtin: 'unused', match }], 'f', compileExpression)
  deepEqual(built?.match, plain.match)
  deepEqual(built?.unused, plain.unused)
  const wrong: readonly (readonly [object, object, RegExp])[] = [
    [{ for: '30d' }, { match: { kinds: ['Job.batch'] } }, /what uses a Job\.batch is not known/],
    [{}, {}, /unused\.for: is missing/],
    [{ for: '14m' }, {}, /unused\.for: expected a duration of 15m at least/],
    [
      { for: '30d', uses: [{ ...database, podSpec: 'spec' }] },
      {},
      /podSpec takes no used and paths/,
    ],
    [{ for: '30d', uses: [{ ...rollout, paths: [] }] }, {}, /podSpec takes no used and paths/],
    [{ for: '30d', uses: [{ kind: 'Deployment' }] }, {}, /uses\[0\]\.kind: the core group has no/],
    [{ for: '30d', uses: [{ kind: 7 }] }, {}, /expected a kind such as/],
    [{ for: '30d', uses: [{ ...database, used: 'Secrt' }] }, {}, /used: the core group has no/],
    [{ for: '30d', uses: [{ ...database, paths: ['spec..a'] }] }, {}, /is no path to a name/],
    [{ for: '30d', uses: [{ ...database, used: 'Pod' }] }, {}, /used: is none of/],
    [{ for: '30d', uses: [{ kind: 'pod' }] }, {}, /pod is no kind/],
    [{ for: '30d' }, { keep: { newest: 1, by: 'cluster' } }, /unused takes no keep/],
  ]
  for (const [unused, more, sentence] of wrong) throws(() => of(unused, more), sentence)
})

test('the rules of the document are rules', () => {
  const root = join(import.meta.dirname, '..', '..')
  const page = readFileSync(join(root, 'docs', 'operate', 'rules.md'), 'utf8')
  // The first of them is a whole file.
  const section = /```yaml\n(?:apiVersion: \S+\nkind: Config\n)?rules:\n(.*?)```/gs
  const blocks = [...page.matchAll(section)].map(([, text = '']) => text)
  const names = blocks.map((text) => rulesIn(text).map(({ name }) => name))
  deepEqual(names, [
    ['old-previews', 'finished-jobs'],
    ['done', 'expires'],
    ['history', 'terminated-pods'],
    ['lost', 'orphaned-pods', 'orphaned-pods-terminating'],
    ['shut-down', 'out-of-service-pods'],
    ['mark-previews'],
    ['janitor', 'janitor-expires'],
  ])
  for (const key of RULE_KEYS) match(page, new RegExp(`\\| .*\`${key}[.\`]`), key)
  for (const builtin of Object.keys(BUILTINS)) match(page, new RegExp(`^\\| \`${builtin}\` `, 'm'))
})
