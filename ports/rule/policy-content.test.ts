/** Policies of a cluster: what rule each is, and a sentence for each mistake. */
import { deepEqual, equal, match, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { compileExpression } from '../../adapters/cel/compile.ts'
import type { PolicyContent } from '../../core/model/rule/policy-content.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { policyContent } from './policy-content.ts'
import { rulesOf } from './rule-config.ts'

function own(spec: string, name = 'old'): PolicyContent {
  return policyContent({ metadata: { namespace: 'a', name }, spec: parse(spec) }, compileExpression)
}

function wide(spec: string, name = 'old'): PolicyContent {
  return policyContent({ metadata: { name }, spec: parse(spec) }, compileExpression)
}

const ACCOUNT = 'serviceAccountName: cleaner'
const MATCH = 'match: { kinds: [ConfigMap], labels: x=y }'

test('a CleanupPolicy is the rule of a config file, in its own namespace, by its account', () => {
  const [rule] = rulesOf(
    [{ ...parse(`{ ${MATCH}, after: 1h, warn: 5m, limit: { perHour: 3 } }`), name: 'old' }],
    'f',
    compileExpression,
  )
  const {
    rule: made,
    problem,
    account,
  } = own(`{ ${ACCOUNT}, ${MATCH}, after: 1h, warn: 5m, limit: { perHour: 3 } }`)
  equal(problem, '')
  equal(account, 'system:serviceaccount:a:cleaner')
  deepEqual(made, {
    ...rule!,
    name: 'a/old',
    account,
    match: { ...rule!.match, namespaces: ['a'], exceptNamespaces: [] },
  })
})

test('by another account it is another rule', () => {
  const made = (spec: string): string => ruleDigest(own(`{ ${spec}, ${MATCH}, after: 1h }`).rule!)
  notEqual(made(ACCOUNT), made(ACCOUNT.replace('cleaner', 'other')))
  equal(made(ACCOUNT), made(ACCOUNT))
})

test('that names its own namespace is the same', () => {
  const named = own(`{ ${ACCOUNT}, match: { kinds: [Pod], namespaces: [a] }, after: 1h }`)
  const unnamed = own(`{ ${ACCOUNT}, match: { kinds: [Pod] }, after: 1h }`)
  equal(ruleDigest(named.rule!), ruleDigest(unnamed.rule!))
})

test('a ClusterCleanupPolicy is the rule of a config file; without an account the reaper deletes', () => {
  const [rule] = rulesOf(
    [{ ...parse(`{ ${MATCH}, after: 1h }`), name: 'old' }],
    'f',
    compileExpression,
  )
  const { rule: made, account } = wide(`{ ${MATCH}, after: 1h }`)
  equal(account, '')
  deepEqual(made, { ...rule!, name: '*/old' })
  const other = wide(`{ ${ACCOUNT}, serviceAccountNamespace: b, ${MATCH}, after: 1h }`)
  equal(other.account, 'system:serviceaccount:b:cleaner')
})

test('a policy annotates as a rule of a config file does, and no key that acts', () => {
  const annotate = (key: string): string => `annotate: { key: ${key}, value: yes }`
  for (const spec of [own(`{ ${ACCOUNT}, ${MATCH}, after: 1h, ${annotate('a.io/b')} }`)]) {
    deepEqual(spec.rule?.annotate, { key: 'a.io/b', value: 'yes' })
  }
  deepEqual(wide(`{ ${MATCH}, after: 1h, ${annotate('a.io/b')} }`).rule?.annotate?.key, 'a.io/b')
  for (const key of ['helm.sh/x', 'kinfold.dev/enforce', 'stale']) {
    const { rule, problem } = own(`{ ${ACCOUNT}, ${MATCH}, after: 1h, ${annotate(key)} }`)
    equal(rule, null)
    match(problem, /^spec\.annotate\.key: no rule sets /)
  }
})

test('a built-in rule is one of the whole cluster', () => {
  const [rule] = rulesOf([{ builtin: 'finished-jobs', name: 'old' }], 'f', compileExpression)
  deepEqual(wide('{ builtin: finished-jobs }').rule, { ...rule!, name: '*/old' })
})

/** Of a CleanupPolicy in namespace `a`, and what it is refused with. */
const OWN: readonly (readonly [string, RegExp])[] = [
  [`{ ${MATCH}, after: 1h }`, /^spec\.serviceAccountName: is missing/],
  [`{ serviceAccountName: '', ${MATCH}, after: 1h }`, /^spec\.serviceAccountName: expected a text/],
  [`{ serviceAccountName: "a\\r\\nb", ${MATCH}, after: 1h }`, /is no name of a ServiceAccount$/],
  [`{ serviceAccountName: 'a:b', ${MATCH}, after: 1h }`, /is no name of a ServiceAccount$/],
  [
    `{ ${ACCOUNT}, serviceAccountNamespace: b, ${MATCH}, after: 1h }`,
    /^spec\.serviceAccountNamespace: .* its own namespace, a; leave it out$/,
  ],
  [
    `{ ${ACCOUNT}, match: { kinds: [Pod], namespaces: [b] }, after: 1h }`,
    /^spec\.match\.namespaces: a CleanupPolicy is about its own namespace, a, and no other/,
  ],
  [`{ ${ACCOUNT}, match: { kinds: [Pod], namespaces: [a, b] }, after: 1h }`, /, and no other/],
  [`{ ${ACCOUNT}, match: { kinds: [Pod], namespaces: ['*'] }, after: 1h }`, /, and no other/],
  [`{ ${ACCOUNT}, match: { kinds: [Pod], namespaces: [] }, after: 1h }`, /, and no other/],
  [
    `{ ${ACCOUNT}, match: { kinds: [Pod], exceptNamespaces: [b] }, after: 1h }`,
    /^spec\.match\.exceptNamespaces: /,
  ],
  [
    `{ ${ACCOUNT}, ${MATCH}, absent: { kind: Node, name: { field: spec.nodeName } } }`,
    /^spec\.absent: .* take a ClusterCleanupPolicy/,
  ],
  [`{ ${ACCOUNT}, ${MATCH}, unused: { for: 30d } }`, /^spec\.unused: .* config file only/],
  [
    `{ ${ACCOUNT}, match: { kinds: [PersistentVolume], labels: x }, after: 1h }`,
    /is in no namespace/,
  ],
  [
    `{ ${ACCOUNT}, ${MATCH}, after: 1h, limit: { perHour: 5, percent: 20 } }`,
    /^spec\.limit\.percent: .* take perHour$/,
  ],
  [`{ ${ACCOUNT}, builtin: finished-jobs }`, /^spec\.builtin: .* take a ClusterCleanupPolicy/],
  [
    `{ ${ACCOUNT}, match: { kinds: [Namespace], labels: x }, after: 1h }`,
    /^spec\.match\.kinds: Nam/,
  ],
  [
    `{ ${ACCOUNT}, match: { kinds: [ClusterRole.rbac.authorization.k8s.io], labels: x }, after: 1h }`,
    /is in no namespace/,
  ],
  [`{ ${ACCOUNT}, match: { kinds: [Node], labels: x }, after: 1h }`, /no rule is about Node/],
  [
    `{ ${ACCOUNT}, match: { kinds: [CleanupPolicy.kinfold.dev], labels: x }, after: 1h }`,
    /no rule is about CleanupPolicy\.kinfold\.dev: it is a rule itself$/,
  ],
  // Its namespace selects nothing, whether it is named or not.
  [
    `{ ${ACCOUNT}, match: { kinds: [Secret], namespaces: [a] }, after: 1h }`,
    /^spec: would delete each Secret for its age alone; it takes labels, annotations or an expr/,
  ],
  [`{ ${ACCOUNT}, match: { kinds: [Pod] }, after: 0 }`, /^spec: would delete all objects/],
  [
    `{ ${ACCOUNT}, match: { kinds: [Secret], labels: x }, when: { data.password: x }, after: 1h }`,
    /^spec: data\.password of a Secret is not read/,
  ],
  [
    `{ ${ACCOUNT}, match: { kinds: [Pod], expression: '1 + true' }, after: 1h }`,
    /^spec\.match\.expression: /,
  ],
  [
    `{ ${ACCOUNT}, match: { kinds: [Pod], expression: 'object.metadata.finalizers.all(a, object.metadata.finalizers.all(b, a == b))' }, after: 1h }`,
    /^spec\.match\.expression: .*steps/,
  ],
  [
    `{ ${ACCOUNT}, match: { kinds: [Secret], expression: '"kubectl.kubernetes.io/last-applied-configuration" in object.metadata.annotations' }, after: 1h }`,
    /^spec\.match\.expression: .* is the whole object as it was applied/,
  ],
  [
    `{ ${ACCOUNT}, match: { kinds: [Pod], expression: '!has(object.spec.a.b.c.d.e.f.g.h)' }, after: 1h }`,
    /^spec\.match\.expression: .* is no path of a field that can be read/,
  ],
  [`{ ${ACCOUNT}, ${MATCH}, name: x, after: 1h }`, /^spec: unknown key name; known are match/],
  [`{ ${ACCOUNT}, after: 1h }`, /^spec\.match: is missing/],
  [`{ ${ACCOUNT}, match: x, after: 1h }`, /^spec\.match: expected a mapping/],
  [`{ ${ACCOUNT}, ${MATCH} }`, /^spec: after is missing/],
  [`{ ${ACCOUNT}, ${MATCH}, after: soon }`, /^spec\.after: expected a duration/],
  ['[]', /^spec: expected a mapping/],
  ['null', /^spec: expected a mapping/],
]

for (const [spec, problem] of OWN) {
  test(`a CleanupPolicy is refused: ${spec.slice(0, 120)}`, () => {
    const content = own(spec)
    equal(content.rule, null)
    match(content.problem, problem)
  })
}

const WIDE: readonly (readonly [string, RegExp])[] = [
  ['{ builtin: janitor, match: { kinds: [Pod] } }', /janitor is 2 rules, and a policy is one/],
  ['{ builtin: unused, match: { kinds: [ConfigMap] } }', /^spec\.unused: .* config file only/],
  ['{ builtin: none }', /^spec\.builtin: is none of /],
  ['{ builtin: finished-jobs, after: 1h }', /^spec \(built in\): unknown key after/],
  [`{ ${ACCOUNT}, ${MATCH}, after: 1h }`, /^spec\.serviceAccountNamespace: is missing/],
  [`{ serviceAccountNamespace: a, ${MATCH}, after: 1h }`, /^spec\.serviceAccountName: is missing/],
  ['{ match: { kinds: [Secret] }, after: 1h }', /labels, annotations, namespaces or an expression/],
]

for (const [spec, problem] of WIDE) {
  test(`a ClusterCleanupPolicy is refused: ${spec}`, () => {
    const content = wide(spec)
    equal(content.rule, null)
    match(content.problem, problem)
  })
}

test('is refused by a name that is no name of a rule', () => {
  match(wide(`{ ${MATCH}, after: 1h }`, 'a.b').problem, /^metadata\.name: name is missing, or none/)
  match(wide(`{ ${MATCH}, after: 1h }`, 'a'.repeat(64)).problem, /^metadata\.name/)
})

test('whatever an object is, it is a rule or a sentence of bounded length, and never both', () => {
  const spec = fc.dictionary(
    fc.constantFrom('match', 'when', 'after', 'cases', 'limit', 'serviceAccountName', '__proto__'),
    fc.jsonValue(),
  )
  const metadata = fc.record({ namespace: fc.jsonValue(), name: fc.constantFrom('a', 'b/c', 1) })
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.record({ metadata, spec })), (object) => {
      const { rule, problem } = policyContent(object, compileExpression)
      equal(rule === null, problem !== '')
      equal(problem.length <= 1_024, true)
    }),
  )
})
