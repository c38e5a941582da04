/**
 * Policies of other tools as rules: what each becomes, and a sentence for what no rule can say.
 *
 * What must stay true: what is printed is a section that a start takes.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { runKinfold } from '../../../testing/process/kinfold-command.ts'
import { configRules } from '../../config/config-rules.ts'
import { importCleaner } from './cleaner.ts'
import type { Imported } from './imported.ts'
import { importJanitor } from './janitor.ts'
import { importKyverno } from './kyverno.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-import-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function written(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

function one(text: string, by: (content: unknown) => readonly Imported[]): Imported {
  const [imported] = by(parse(text))
  if (imported === undefined) throw new Error('nothing imported')
  return imported
}

/** In one line, without what is the same in all. */
function shown({ rules, leftOut }: Imported): string {
  configRules(rules, 'f')
  const texts = rules.map((each) => JSON.stringify(each).replaceAll('"', ''))
  return leftOut === '' ? texts.join(' ') : `- ${leftOut}`
}

const OWN = 'annotations:{janitor/ttl:{exists:false}'
const EXCEPT = 'exceptNamespaces:[kube-system]'
const janitor = (condition: string, rest = 'resources: [deployments], ttl: 4d'): string =>
  `[{ id: r, jmespath: ${JSON.stringify(condition)}, ${rest} }]`

const JANITOR: readonly (readonly [string, string])[] = [
  [
    janitor("metadata.labels.app == 'web'"),
    `{name:r,match:{kinds:[Deployment.apps],${EXCEPT},labels:app=web,${OWN}}},after:4d}`,
  ],
  [
    janitor(`metadata.labels."a.b/c" && starts_with(metadata.namespace, 'pr-')`),
    `{name:r,match:{kinds:[Deployment.apps],namespaces:[pr-*],${EXCEPT},labels:a.b/c,a.b/c!=,${OWN}}},after:4d}`,
  ],
  [
    janitor("metadata.annotations.a == 'b' && metadata.labels.c != 'd'"),
    `{name:r,match:{kinds:[Deployment.apps],${EXCEPT},labels:c!=d,${OWN},a:b}},after:4d}`,
  ],
  [
    janitor("metadata.labels.a == 'b'", 'resources: [namespaces, jobs], ttl: 90m'),
    `{name:r,match:{kinds:[Namespace,Job.batch],${EXCEPT},labels:a=b,${OWN}}},after:90m}`,
  ],
  [janitor("metadata.labels.a == 'b'", 'resources: [jobs], ttl: forever'), ''],
  [
    janitor('!(spec.template.metadata.labels.application)'),
    '- its condition "!(spec.template.metadata.labels.application)" is more than labels, annotations and a namespace that are equal',
  ],
  [janitor('_context.pvc_is_not_mounted'), '- its condition "_context.pvc_is_not_mounted" is more'],
  [janitor("metadata.labels.a == 'b' || metadata.labels.c == 'd'"), '- its condition'],
  [janitor(`metadata.annotations."janitor/ttl" == '1h'`), '- its condition'],
  [
    janitor("metadata.labels.a == 'b'", "resources: ['*'], ttl: 4d"),
    '- it is about all kinds, and a rule names its kinds',
  ],
  [
    janitor("metadata.labels.a == 'b'", 'resources: [widgets], ttl: 4d'),
    '- which kind has the resource "widgets" is not known',
  ],
  [
    janitor("metadata.namespace == 'a'", 'resources: [namespaces], ttl: 4d'),
    '- its condition asks for the namespace of a Namespace, which has none',
  ],
  [janitor("metadata.labels.a == 'b'", 'resources: [jobs], ttl: 4 days'), '- its ttl "4 days"'],
]

for (const [text, expected] of JANITOR) {
  test(`kube-janitor: ${text.slice(5, 90)}`, () => {
    const found = shown(one(text, (content) => importJanitor(content as unknown[]).policies))
    equal(found.slice(0, expected.startsWith('-') ? expected.length : undefined), expected)
  })
}

/** Of each rule whether it is taken: the first that matches an object counts for it. */
const ORDERS: readonly (readonly [string, readonly boolean[]])[] = [
  ['a=1 4d, a=1 1d', [true, false]],
  ['a=1 1d, a=1 4d', [true, true]],
  ['a=1 4d, a=2 1d', [true, true]],
  ['a=1 4d, b=1 1d', [true, false]],
  ['a=1 forever, b=1 1d', [true, false]],
  ['a=1 0s, b=1 1d', [true, false]],
  ['?=1 4d, b=1 1d, b=1 5d', [false, false, true]],
  ['?=1 soon, b=1 1d', [false, false]],
]

for (const [text, taken] of ORDERS) {
  test(`kube-janitor: of ${text} those are taken that no rule before keeps for longer`, () => {
    const entries = text.split(', ').map((each, index) => {
      const [, key = '', value = '', ttl = ''] = /^(.)=(.) (\S+)$/.exec(each) ?? []
      const jmespath = key === '?' ? 'x' : `metadata.labels.${key} == '${value}'`
      return { id: `r${index}`, resources: ['jobs'], jmespath, ttl }
    })
    const { policies } = importJanitor(entries)
    deepEqual(
      policies.map(({ leftOut }) => leftOut === ''),
      taken,
    )
  })
}

const POLLED = "schedule: '*/5 * * * *'"
const pods = 'group: "", version: v1, kind: Pod'
const selecting = (selector: string, rest = POLLED): string =>
  `{ resourcePolicySet: { resourceSelectors: [{ ${selector} }] }, ${rest} }`

const CLEANERS: readonly (readonly [string, string])[] = [
  [
    selecting(`${pods}, labelFilters: [{ key: a, operation: Equal, value: b }]`),
    '{name:r,match:{kinds:[Pod],namespaces:[*,kube-system,kube-public,kube-node-lease],labels:a=b},after:0s}',
  ],
  [
    selecting(
      `${pods}, namespace: x, labelFilters: [{ key: a, operation: Different, value: b }]`,
      `${POLLED}, action: Delete, deleteOptions: { propagationPolicy: Foreground }, notifications: []`,
    ),
    '{name:r,match:{kinds:[Pod],namespaces:[x],labels:a!=b},after:0s,propagationPolicy:Foreground}',
  ],
  [
    selecting('group: batch, version: v1, kind: Job, namespace: x'),
    '{name:r,match:{kinds:[Job.batch],namespaces:[x]},after:0s,propagationPolicy:Orphan}',
  ],
  [selecting(`${pods}, evaluate: "function"`), '- it decides by Lua, which is not read'],
  [selecting(`${pods}, namespaceSelector: a=b`), '- resourceSelectors.namespaceSelector has no'],
  [
    selecting(`${pods}, namespace: x`, "schedule: '0 2 * * *'"),
    '- its schedule "0 2 * * *" has no counterpart: a rule deletes as soon as an object is due',
  ],
  [selecting(pods, `${POLLED}, action: Scan`), '- its action is Scan, and a rule deletes'],
  [selecting(pods, `${POLLED}, occurrenceThreshold: 3`), '- its occurrenceThreshold counts runs'],
  [
    selecting(pods, `${POLLED}, blastRadiusLimit: { maxCount: 3 }`),
    '- its blastRadiusLimit is of a run, and a limit is of an hour',
  ],
  [
    selecting(pods, `${POLLED}, deleteOptions: { gracePeriodSeconds: 0 }`),
    '- deleteOptions.gracePeriodSeconds has no counterpart',
  ],
  ['{}', '- it selects nothing'],
]

for (const [text, expected] of CLEANERS) {
  test(`k8s-cleaner: ${text.slice(0, 100)}`, () => {
    const found = shown(one(text, (spec) => [importCleaner('r', spec)]))
    equal(found.slice(0, expected.startsWith('-') ? expected.length : undefined), expected)
  })
}

const deleting = (conditions: readonly string[], rest = "apiGroups: [''], resources: [pods]") =>
  JSON.stringify({
    matchConstraints: { resourceRules: [parse(`{ ${rest} }`)] },
    conditions: conditions.map((expression, index) => ({ name: `c${index}`, expression })),
    schedule: '*/1 * * * *',
  })
const OLD = "time.now() - timestamp(object.metadata.creationTimestamp) > duration('72h')"
const cleanup = (resources: string, rest = ''): string =>
  `{ match: { any: [{ resources: { ${resources} } }] }, schedule: '* * * * *', ${rest} }`
const SINCE = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
const aged = `conditions: { all: [{ key: "${SINCE}", operator: GreaterThan, value: 24h }] }`

/** Kind and namespace, the spec, and what it becomes. */
const KYVERNO: readonly (readonly [string, string, string])[] = [
  ['DeletingPolicy', deleting([OLD]), '{name:r,match:{kinds:[Pod]},after:72h}'],
  [
    'DeletingPolicy',
    deleting([`object.metadata.labels.a == 'b' && ${OLD.replace('time.now()', 'now()')}`]),
    '{name:r,match:{kinds:[Pod],labels:a=b},after:72h}',
  ],
  [
    'DeletingPolicy',
    deleting([
      "timestamp(object.metadata.creationTimestamp) < now() - duration('1h30m')",
      "has(object.metadata.labels) && 'x.y/z' in object.metadata.labels",
      "object.metadata.namespace.startsWith('pr-')",
    ]),
    '{name:r,match:{kinds:[Pod],namespaces:[pr-*],labels:x.y/z},after:1h30m}',
  ],
  [
    'NamespacedDeletingPolicy/shop',
    deleting([OLD], 'apiGroups: [apps], resources: [deployments]'),
    '{name:r,match:{kinds:[Deployment.apps],namespaces:[shop]},after:72h}',
  ],
  ['DeletingPolicy', deleting(["object.metadata.name == 'x'"]), '- its condition "object.metadata'],
  ['DeletingPolicy', deleting([`!(${OLD})`]), '- its condition "!('],
  ['DeletingPolicy', deleting([`${OLD} || true`]), '- its condition "time.now'],
  [
    'DeletingPolicy',
    deleting([OLD], "apiGroups: ['*'], resources: [pods]"),
    '- its resourceRules name more than kinds',
  ],
  [
    'DeletingPolicy',
    deleting([OLD], 'apiGroups: [example.com], resources: [widgets]'),
    '- which kind has the resource "widgets.example.com" is not known',
  ],
  ['DeletingPolicy', '{ variables: [] }', '- spec.variables has no counterpart'],
  [
    'ClusterCleanupPolicy',
    cleanup(
      "kinds: [Pod, apps/v1/Deployment], namespaces: ['pr-*'], selector: { matchLabels: { a: b }, matchExpressions: [{ key: c, operator: NotIn, values: [d, e] }] }",
      aged,
    ),
    '{name:r,match:{kinds:[Pod,Deployment.apps],namespaces:[pr-*],labels:a=b,c notin (d,e)},after:24h}',
  ],
  [
    'ClusterCleanupPolicy',
    cleanup(
      'kinds: [v1/Pod], annotations: { a: b }',
      'exclude: { any: [{ resources: { namespaces: [x] } }] }',
    ),
    '{name:r,match:{kinds:[Pod],exceptNamespaces:[x],annotations:{a:b}},after:0s}',
  ],
  [
    'CleanupPolicy/shop',
    cleanup('kinds: [batch/v1/Job]', `${aged}, deletionPropagationPolicy: Background`),
    '{name:r,match:{kinds:[Job.batch],namespaces:[shop]},after:24h,propagationPolicy:Background}',
  ],
  [
    'ClusterCleanupPolicy',
    `{ match: { any: [{ resources: { kinds: [Pod] } }, { resources: { kinds: [Job] } }] }, schedule: '* * * * *', ${aged} }`,
    '{name:r-1,match:{kinds:[Pod]},after:24h} {name:r-2,match:{kinds:[Job.batch]},after:24h,propagationPolicy:Orphan}',
  ],
  ['ClusterCleanupPolicy', cleanup('kinds: [Pod], names: [a]'), '- match.resources.names has no'],
  ['ClusterCleanupPolicy', cleanup('kinds: [Widget]'), '- which group the kind "Widget" is of'],
  ['ClusterCleanupPolicy', cleanup("kinds: ['*']"), '- its kind "*" has a wildcard'],
  ['ClusterCleanupPolicy', cleanup('kinds: [Pod/exec]'), '- its kind "Pod/exec" has a subresource'],
  [
    'ClusterCleanupPolicy',
    cleanup('kinds: [Pod], selector: { matchLabels: { a: "b*" } }'),
    '- selector.matchLabels.a has a wildcard',
  ],
  [
    'ClusterCleanupPolicy',
    cleanup('kinds: [Pod, Job]', aged),
    '- it names no propagation policy: dependents of Job.batch are orphaned',
  ],
  [
    'ClusterCleanupPolicy',
    cleanup(
      'kinds: [Pod]',
      'conditions: { all: [{ key: "{{ target.metadata.name }}", operator: Equals, value: a }] }',
    ),
    '- its condition "{{ target.metadata.name }}" is not read',
  ],
  ['CleanupPolicy/kube-system', cleanup('kinds: [Pod]', aged), '- it is about kube-system'],
  ['CleanupPolicy/a', cleanup('kinds: [Pod], namespaces: [b]', aged), '- it is in the namespace a'],
]

for (const [what, text, expected] of KYVERNO) {
  test(`kyverno: ${what} ${text.slice(0, 100)}`, () => {
    const [kind = '', namespace = ''] = what.split('/')
    const found = shown(one(text, (spec) => [importKyverno({ kind, name: 'r', namespace, spec })]))
    equal(found.slice(0, expected.startsWith('-') ? expected.length : undefined), expected)
  })
}

const CLEANER = (name: string, spec: string): string =>
  `apiVersion: apps.projectsveltos.io/v1alpha1\nkind: Cleaner\nmetadata: { name: ${name} }\nspec: ${spec}\n`

test('what is printed is a section, and what is left out has a line and an exit code', async () => {
  const file = written(
    'cleaners.yaml',
    `${CLEANER('old', selecting(`${pods}, namespace: x`))}---\n${CLEANER('lua', selecting(`${pods}, evaluate: f`))}---\n${CLEANER('all', selecting(pods))}`,
  )
  const { code, stdout, stderr } = await runKinfold(['rules', 'import', file])
  equal(code, 1, stderr)
  const { rules } = parse(stdout) as { rules: unknown }
  deepEqual(
    configRules(rules, 'f').map(({ name }) => name),
    ['old'],
  )
  match(stderr, /^left out: Cleaner lua: it decides by Lua, which is not read$/m)
  match(stderr, /^left out: Cleaner all: rule all: would delete all objects of its kinds at once/m)
  match(stderr, /^2 policies left out$/m)
})

test('a ConfigMap of kube-janitor is read, and its flags are named', async () => {
  const text =
    'rules:\n- { id: a, resources: [jobs], jmespath: "metadata.labels.a == \'b\'", ttl: 1h }\n'
  const data = JSON.stringify({ 'rules.yaml': text })
  const file = written('map.yaml', `apiVersion: v1\nkind: ConfigMap\ndata: ${data}\n`)
  const { code, stdout, stderr } = await runKinfold(['rules', 'import', file])
  deepEqual([code, stdout.includes('name: a')], [0, true], stderr)
  match(stderr, /^note: janitor\/ttl and janitor\/expires are the built-in rule janitor/m)
  const other = await runKinfold(['rules', 'import', file, '--from', 'kyverno'])
  equal(other.code, 2)
  match(other.stderr, /ConfigMap is no policy of kyverno/)
})

test('one that keeps for ever is named, and what YAML 1.1 takes for another value is quoted', async () => {
  const file = written(
    'kept.yaml',
    `rules:
- { id: a, resources: [jobs], jmespath: "metadata.annotations.a == 'yes'", ttl: 1h }
- { id: kept, resources: [pods], jmespath: "metadata.labels.b == 'c'", ttl: forever }
`,
  )
  const { code, stdout, stderr } = await runKinfold(['rules', 'import', file])
  equal(code, 0, stderr)
  match(stdout, /^ +a: "yes"$/m)
  match(stderr, /^note: rules that keep what they match for ever need no entry: kept$/m)
})

for (const [name, text, sentence] of [
  ['nothing', '', /has no policies/],
  ['no YAML', 'a: [', /bad\.yaml: /],
  [
    'a Pod',
    'apiVersion: v1\nkind: Pod\n',
    /Pod is no policy of kube-janitor, k8s-cleaner, kyverno/,
  ],
  ['a ConfigMap of something else', 'apiVersion: v1\nkind: ConfigMap\n', /has no policies/],
  ['a text', 'hello', /a document is no policy/],
] as const) {
  test(`${name} is bad input`, async () => {
    const { code, stdout, stderr } = await runKinfold([
      'rules',
      'import',
      written('bad.yaml', text),
    ])
    deepEqual([code, stdout], [2, ''])
    match(stderr, sentence)
  })
}
