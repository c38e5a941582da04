/**
 * The examples of docs/operate/expressions.md: each is compiled, and is true of one object and not
 * of another.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTree } from '../../core/judge/expression/read-tree.ts'
import type { ExpressionSubject } from '../../core/judge/expression.ts'
import { evaluate } from '../../core/judge/expression.ts'
import { compileExpression } from './compile.ts'

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'operate', 'expressions.md')
const NOW = Date.UTC(2026, 10, 20)

type Part = Partial<ExpressionSubject['object']>

function subject(part: Part, fields: Readonly<Record<string, string>> = {}): ExpressionSubject {
  const object = {
    name: 'web',
    namespace: 'shop',
    uid: 'u1',
    createdAt: NOW - 3_600_000,
    deletedAt: null,
    finalizers: [],
    ownerReferences: [],
    labels: [],
    annotations: [],
    ...part,
  }
  return { object, fields: new Map(Object.entries(fields)) }
}

function ownedBy(kind: string): Part {
  const reference = { apiVersion: 'batch/v1', kind, name: 'x', uid: 'u2' }
  return { ownerReferences: [{ ...reference, controller: true, blockOwnerDeletion: null }] }
}

/** In the order of the page: an object of which the example is true, and others. */
const CASES: readonly (readonly [ExpressionSubject, ...ExpressionSubject[]])[] = [
  [
    subject({}, { 'status.phase': 'Failed', 'status.startTime': '2026-11-18T11:00:00Z' }),
    subject({}, { 'status.phase': 'Failed', 'status.startTime': '2026-11-19T11:00:00Z' }),
    subject({}, { 'status.phase': 'Running', 'status.startTime': '2026-11-18T11:00:00Z' }),
    subject({}, { 'status.phase': 'Failed' }),
  ],
  [
    subject({ annotations: [{ key: 'janitor/ttl', value: '59m' }] }),
    subject({ annotations: [{ key: 'janitor/ttl', value: '61m' }] }),
    subject({ annotations: [{ key: 'janitor/ttl', value: 'soon' }] }),
    subject({}),
  ],
  [
    subject({}, { 'spec.replicas': '0' }),
    subject({}, { 'spec.replicas': '1' }),
    subject({ labels: [{ key: 'keep', value: '' }] }, { 'spec.replicas': '0' }),
    subject({}),
  ],
  [subject(ownedBy('Job')), subject(ownedBy('CronJob'))],
  [
    subject({ name: 'preview-1' }),
    subject({ name: 'preview-1', namespace: 'production' }),
    subject({ name: 'preview-1', namespace: '' }),
    subject({}),
  ],
]

test('each example of the page is compiled, and true of what it is meant for', () => {
  const page = readFileSync(PAGE, 'utf8')
  const examples = [...page.matchAll(/```cel\n([\s\S]*?)```/g)].map(([, source = '']) => source)
  assert.equal(examples.length, CASES.length)
  for (const [index, [holds, ...others]] of CASES.entries()) {
    const source = examples[index] ?? ''
    const compilation = compileExpression(source)
    assert.ok(compilation.type === 'Compiled', source)
    const tree = readTree(compilation.expression.tree)
    assert.ok(tree)
    assert.equal(evaluate(tree, holds, NOW), true, source)
    for (const other of others) assert.notEqual(evaluate(tree, other, NOW), true, source)
  }
})
