/**
 * A CleanupPolicy is read with its rule and with the annotation that enforces it; every other
 * object as ever, and a namespace's own reads count for its objects alone.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyContent } from '../../core/model/rule/policy-content.ts'
import type { KindReads } from '../../core/model/rule/rule.ts'
import type { Resource } from '../../ports/cluster.ts'
import { MARKED, type Projection } from '../../ports/record/projection.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { needsWhole } from './field.ts'
import { readMeta } from './meta.ts'

const POLICIES: Resource = {
  ...{ group: 'kinfold.dev', version: 'v1alpha1', resource: 'cleanuppolicies' },
  ...{ kind: 'CleanupPolicy', scope: 'Namespaced' },
}
const JOBS: Resource = { ...POLICIES, group: 'batch', resource: 'jobs', kind: 'Job' }
const META = { name: 'one', namespace: 'shop', uid: 'u', resourceVersion: '7' }
const ENFORCE = 'kinfold.dev/enforce'
const RULE = ruleIn('shop/one pod 60 namespace:shop')
const CONTENT: PolicyContent = { rule: RULE, problem: '', account: 'a' }

function projection(content: PolicyContent = CONTENT): Projection {
  return { ...MARKED, policyContent: () => content }
}

function raw(kind: string, annotations: object = {}): object {
  return { kind, metadata: { ...META, annotations }, spec: { a: 1 } }
}

test('it is asked for whole and has its rule', () => {
  ok(needsWhole(projection(), POLICIES))
  ok(!needsWhole(projection(), JOBS))
  const read = readMeta(raw('CleanupPolicy', { [ENFORCE]: 'd', x: 'y' }), POLICIES, projection())
  deepEqual(read?.projected, { reads: '', fields: [], policy: CONTENT })
  deepEqual(read?.annotations, [{ key: ENFORCE, value: 'd' }])
})

test('another object has none, whatever its annotations', () => {
  const read = readMeta(raw('Job', { [ENFORCE]: 'd' }), JOBS, projection())
  deepEqual([read?.projected, read?.annotations], [null, []])
})

test('one of which its metadata alone came has no rule; nor has one where none are compiled', () => {
  equal(readMeta(raw('PartialObjectMetadata'), POLICIES, projection())?.projected, null)
  equal(readMeta(raw('CleanupPolicy'), POLICIES, projection(), true)?.projected, null)
  equal(readMeta(raw('CleanupPolicy'), POLICIES, MARKED)?.projected, null)
  ok(!needsWhole(MARKED, POLICIES))
})

test('a rule that is too long is refused with a sentence', () => {
  const source = 'ä'.repeat(10_000)
  const expression = { source, tree: '', fields: [], labels: [], annotations: [] }
  const long = { ...RULE, match: { ...RULE.match, expression } }
  const read = readMeta(raw('CleanupPolicy'), POLICIES, projection({ ...CONTENT, rule: long }))
  equal(read?.projected?.policy?.rule, null)
  ok(/^the rule has \d+ bytes as JSON, at most 16384$/.test(read?.projected?.policy?.problem ?? ''))
})

test('what a namespace’s rules read is read of its objects alone', () => {
  const of = (namespace: string, path: string): KindReads => {
    const none = { labels: [], annotations: [] }
    return { group: 'batch', kind: 'Job', namespace, ...none, fields: [path], digest: path }
  }
  const kinds = [of('', 'spec.a'), of('shop', 'spec.b')]
  const read = (namespace: string): object | null | undefined =>
    readMeta({ kind: 'Job', metadata: { ...META, namespace }, spec: { a: 1, b: 2 } }, JOBS, {
      ...MARKED,
      kinds,
    })?.projected
  const field = (key: string, value: string) => ({
    reads: key,
    fields: [{ key, value }],
    policy: null,
  })
  deepEqual([read('shop'), read('other')], [field('spec.b', '2'), field('spec.a', '1')])
})
