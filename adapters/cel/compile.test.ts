/**
 * What of CEL is compiled, with what it reads, and what is refused, with which sentence: a row a
 * case. Hostile texts end soon.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTree } from '../../core/judge/expression/read-tree.ts'
import { evaluate } from '../../core/judge/expression.ts'
import type { CompiledExpression } from '../../ports/expression.ts'
import { compileExpression } from './compile.ts'

function compiled(source: string): CompiledExpression {
  const compilation = compileExpression(source)
  if (compilation.type === 'Refused') assert.fail(`${source}: ${compilation.reason}`)
  return compilation.expression
}

function refused(source: string): string {
  const compilation = compileExpression(source)
  if (compilation.type === 'Compiled') assert.fail(`${source} is compiled`)
  return compilation.reason
}

test('an expression says which fields and keys it reads, in order and once', () => {
  const source =
    'object.spec.b.c == "x" || has(object.spec.a) || object.status.phase == object.spec.b.c || ' +
    'object.type == "x" || object.data.k == "v" || "z/y" in object.metadata.labels || ' +
    'object.metadata.labels.app == "x" || has(object.metadata.annotations.note) || ' +
    'object.metadata.finalizers.exists(f, f == object.metadata.annotations["k"])'
  const { tree, ...read } = compiled(source)
  assert.deepEqual(read, {
    source,
    fields: ['data.k', 'spec.a', 'spec.b.c', 'status.phase', 'type'],
    labels: ['app', 'z/y'],
    annotations: ['k', 'note'],
  })
  assert.ok(readTree(tree))
})

const REFUSED: readonly (readonly [source: string, ...parts: readonly string[]])[] = [
  ['', 'it ends where something is expected'],
  ['object.metadata.name ==', 'line 1, column 24', 'it ends where'],
  ['true &&\n  obj', '`obj` (line 2, column 3) is unknown', 'object and now'],
  [
    'object.metadata.nam == "n"',
    'object.metadata.nam',
    'does not exist',
    'object.metadata has name',
  ],
  ['object.metadata.labels == "n"', 'only the keys that an expression names', '["key"]'],
  ['has(object.metadata.labels)', 'only the keys'],
  ['object.metadata.labels[object.metadata.name] == "n"', 'has to be written out'],
  ['object.metadata.name in object.metadata.labels', 'is not written out'],
  ['has(object.metadata.labels["x"])', '"key" in object.metadata.labels'],
  [
    'object.stauts.phase == "x"',
    'no field that can be projected',
    'spec, status, data, type, reason',
  ],
  ['object.spec == "x"', 'no field that can be projected'],
  ['object.type.name == "x"', 'no field that can be projected'],
  ['object == object', 'is the whole object'],
  ['object.spec["node-name"] == "x"', 'has "node-name"', 'plain names and dots'],
  ['object.spec.__proto__ == "x"', 'has "__proto__"'],
  ['object.spec.constructor.name == "x"', 'has "constructor"'],
  ['object.__proto__.name == "x"', 'no field that can be projected'],
  ['object.spec.a == "x" || object.spec.a.b == "y"', 'object.spec.a.b is in a field'],
  ['object.spec.replicas > 3', 'string > int', 'int(object.spec.replicas)'],
  ['object.metadata.name', 'is a string', 'true or false'],
  ['duration("1h")', 'is a duration'],
  ['1 == 1.0', 'int == double', 'both sides'],
  ['object.metadata.name == null', 'has(object.spec.nodeName)'],
  [
    'object.metadata.name.matches("^(a+)+$")',
    'regular expression',
    'startsWith, endsWith or contains',
  ],
  ['matches(object.metadata.name, "a")', 'regular expression'],
  ['6 * 7 == 42', '`6 * 7`', 'there are + and -'],
  ['object.metadata.ownerReferences[0].kind == "Job"', 'exists(x, …) or all(x, …)'],
  ['object.metadata.ownerReferences == []', 'is a list'],
  ['object.metadata.ownerReferences.map(o, o.kind) == []', 'cannot be called so'],
  ['object.metadata.ownerReferences.exists(o, o)', 'is an owner reference', 'o.kind'],
  ['object.metadata.ownerReferences.exists(o, o.namespace == "x")', 'kind, name, uid'],
  ['object.metadata.ownerReferences.exists(o, o.name)', 'must return bool'],
  ['object.metadata.finalizers.exists(f, f.name == "x")', 'a finalizer is a text'],
  ['object.metadata.finalizers.exists(now, now == "x")', 'has a meaning already'],
  ['["a"].exists(x, x == "a")', 'the lists are object.metadata.ownerReferences'],
  ['"a" in ["a", object.metadata.name]', 'is not written out'],
  ['"a" in object.metadata.ownerReferences', 'cannot be to the right of `in`'],
  ['{"a": 1} == {"a": 1}', 'there are no maps'],
  ['duration("1 day") < duration("1h")', '"1 day" is no duration', 'duration("36h")'],
  ['timestamp("2026-02-30T00:00:00Z") < now', 'no time of RFC 3339'],
  ['duration("1ns") < duration("1h")', 'finer than a millisecond'],
  ['9223372036854775808 > 0', 'at most 64 bits'],
  ['1u == 1u', 'values are texts'],
  [`1${'+1'.repeat(50)} > 0`, 'nested too deeply', 'at most 40 levels'],
  ['now.getHours() == 1', 'cannot be called so'],
  ['cel.bind(x, 1, x == 1)', 'cannot be called so'],
  ['`a`', 'cannot be read at line 1, column 1'],
  [`"${'x'.repeat(5_000)}" == ""`, 'at most 4096 are possible'],
]

test('what cannot be evaluated is refused, with what was found and what is possible', () => {
  for (const [source, ...parts] of REFUSED) {
    const reason = refused(source)
    for (const part of parts) assert.ok(reason.includes(part), `${source}: ${reason}`)
  }
})

const OWNERS = 'object.metadata.ownerReferences'
const FINALIZERS = 'object.metadata.finalizers'

test('what takes too many steps is refused before it is evaluated', () => {
  const rows: readonly (readonly [source: string, part: string])[] = [
    [`${FINALIZERS}.all(f, ${FINALIZERS}.all(g, f != g))`, 'takes up to'],
    [`${FINALIZERS}.all(f, ${OWNERS}.all(o, o.name.contains(f)))`, 'takes up to'],
    [`${OWNERS}.all(a, ${OWNERS}.all(b, ${OWNERS}.all(c, a.uid == c.uid)))`, 'at most 2 macros'],
    [
      Array.from({ length: 8 }, () => `${OWNERS}.all(a, ${OWNERS}.all(b, a.uid == b.uid))`).join(
        ' && ',
      ),
      'takes up to',
    ],
  ]
  for (const [source, part] of rows) assert.ok(refused(source).includes(part), source)
})

test('hostile texts end soon, in a sentence', () => {
  const rows = [
    `${'!'.repeat(1_999)}true`,
    `${'!'.repeat(4_000)}true`,
    `${'-'.repeat(4_000)}1`,
    `${'('.repeat(2_000)}true${')'.repeat(2_000)}`,
    `${'['.repeat(4_000)}`,
    `${'{'.repeat(4_000)}`,
    `object${'.a'.repeat(2_000)}`,
    `object.spec${'.a'.repeat(60)} == 1`,
    `1${'+1'.repeat(2_000)} > 0`,
    `true${' ? true : true'.repeat(290)}`,
    `"a" in [${'"a",'.repeat(1_000)}]`,
    `has(${'a,'.repeat(1_000)}a)`,
    `"${'\\u0041'.repeat(600)}" == 1`,
    `'''${'\n'.repeat(4_000)}`,
    '\u0000',
    '\ud800',
    '// nothing',
    'a'.repeat(4_096),
    'x'.repeat(10_000_000),
  ]
  const start = performance.now()
  for (const source of rows) assert.ok(refused(source).length < 1_000, source.slice(0, 40))
  assert.ok(performance.now() - start < 5_000)
})

test('long chains of operators are no deep ones', () => {
  compiled(`false${'||false'.repeat(500)}`)
  compiled(`true${'&&true'.repeat(500)}`)
})

test('the costliest expression for the largest object ends soon, whatever its texts', () => {
  const long = 'a'.repeat(4_095)
  const owner = {
    apiVersion: long,
    kind: long,
    name: `${long}b`,
    uid: long,
    controller: null,
    blockOwnerDeletion: null,
  }
  const object = {
    name: `${'a'.repeat(2_000)}b`,
    namespace: long,
    uid: long,
    createdAt: 0,
    deletedAt: null,
    finalizers: Array.from({ length: 256 }, () => long),
    ownerReferences: Array.from({ length: 64 }, () => owner),
    labels: [],
    annotations: [],
  }
  const rows = [
    `${FINALIZERS}.exists(f, f.contains(object.metadata.name) || f.lowerAscii().contains("ab") || size(f) == 1)`,
    `${OWNERS}.exists(o, ${OWNERS}.exists(p, o.uid == p.name || o.uid != p.kind || p.uid == o.name))`,
    `${OWNERS}.exists(o, o.uid.contains(o.kind + "b") || o.apiVersion.contains(object.metadata.name))`,
  ]
  const start = performance.now()
  for (const source of rows) {
    const tree = readTree(compiled(source).tree)
    assert.ok(tree)
    assert.notEqual(evaluate(tree, { object, fields: new Map() }, 0), true)
  }
  assert.ok(performance.now() - start < 5_000)
})
