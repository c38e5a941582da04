/**
 * What an expression of a rule evaluates to: a row a case, written in CEL.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileExpression } from '../../adapters/cel/compile.ts'
import type { OwnerReference } from '../model/object.ts'
import { readTree } from './expression/read-tree.ts'
import type { ExpressionSubject } from './expression.ts'
import { evaluate, evaluation } from './expression.ts'

const NOW = 1_790_000_000_000
const HOUR = 3_600_000

function owner(kind: string, name: string, controller: boolean | null): OwnerReference {
  return {
    apiVersion: 'apps/v1',
    kind,
    name,
    uid: `${name}-uid`,
    controller,
    blockOwnerDeletion: null,
  }
}

const POD: ExpressionSubject = {
  object: {
    name: 'web-1',
    namespace: 'shop',
    uid: 'u1',
    createdAt: NOW - 2 * HOUR,
    deletedAt: null,
    finalizers: ['example.com/keep', 'orphan'],
    ownerReferences: [owner('ReplicaSet', 'web', true), owner('Widget', 'w', null)],
    labels: [
      { key: 'app', value: 'web' },
      { key: '__proto__', value: 'odd' },
    ],
    annotations: [
      { key: 'janitor/ttl', value: '90m' },
      { key: 'empty', value: '' },
    ],
  },
  fields: new Map([
    ['spec.replicas', '3'],
    ['spec.nodeName', 'node-1'],
    ['spec.ratio', '0.5'],
    ['spec.most', '9223372036854775807'],
    ['spec.nan', 'NaN'],
    ['spec.suspend', 'false'],
    ['status.startTime', '2026-09-21T13:33:20+00:00'],
    ['status.renewTime', '2026-09-21T14:13:20.123456Z'],
    ['status.never', '2026-02-30T00:00:00Z'],
    ['status.long', 'x'.repeat(5_000)],
  ]),
}

/** True, false, or a part of the error. */
type Row = readonly [source: string, expected: boolean | string]

function answerOf(source: string, subject = POD): boolean | { readonly error: string } {
  const compilation = compileExpression(source)
  if (compilation.type === 'Refused') assert.fail(`${source}: ${compilation.reason}`)
  const tree = readTree(compilation.expression.tree)
  assert.ok(tree, `${source} has a tree`)
  return evaluate(tree, subject, NOW)
}

function check(name: string, rows: readonly Row[], subject = POD): void {
  test(name, () => {
    for (const [source, expected] of rows) {
      const answer = answerOf(source, subject)
      if (typeof expected === 'boolean') assert.equal(answer, expected, source)
      else assert.ok(typeof answer === 'object' && answer.error.includes(expected), source)
    }
  })
}

check('metadata of the object is read', [
  ['object.metadata.name == "web-1"', true],
  ['object.metadata.namespace != "kube-system"', true],
  ['object.metadata.uid == "u1"', true],
  ['now - object.metadata.creationTimestamp == duration("2h")', true],
  ['now - object.metadata.creationTimestamp > duration("2h")', false],
  ['has(object.metadata.deletionTimestamp)', false],
  ['object.metadata.deletionTimestamp < now', 'object.metadata.deletionTimestamp is absent'],
])

check(
  'metadata that an object lacks is an error, not an empty text',
  [
    ['object.metadata.namespace != "kube-system"', 'object.metadata.namespace is absent'],
    ['has(object.metadata.namespace)', false],
    ['object.metadata.creationTimestamp < now', 'creationTimestamp is absent'],
    ['has(object.metadata.deletionTimestamp) && object.metadata.deletionTimestamp < now', true],
    ['has(object.metadata.ownerReferences)', false],
    ['size(object.metadata.ownerReferences) == 0', true],
    ['object.metadata.ownerReferences.all(o, false)', true],
    ['object.metadata.ownerReferences.exists(o, true)', false],
    ['object.metadata.ownerReferences.exists_one(o, true)', false],
  ],
  {
    ...POD,
    object: {
      ...POD.object,
      namespace: '',
      createdAt: null,
      deletedAt: NOW - 1,
      ownerReferences: [],
    },
  },
)

check('labels and annotations are read by their keys', [
  ['object.metadata.labels.app == "web"', true],
  ['object.metadata.labels["app"].startsWith("we")', true],
  ['object.metadata.labels["tier"] == "front"', 'the label "tier" is absent'],
  ['object.metadata.labels["tier"] != "front"', 'the label "tier" is absent'],
  ['"tier" in object.metadata.labels', false],
  ['has(object.metadata.labels.app)', true],
  ['"janitor/ttl" in object.metadata.annotations', true],
  [
    'now - object.metadata.creationTimestamp > duration(object.metadata.annotations["janitor/ttl"])',
    true,
  ],
  ['duration(object.metadata.annotations.empty) > duration("1s")', '"" is no duration'],
])

check('names of prototypes are keys like others', [
  ['object.metadata.labels["__proto__"] == "odd"', true],
  ['"constructor" in object.metadata.labels', false],
  ['object.metadata.labels["constructor"] == "x"', 'is absent'],
  ['has(object.metadata.annotations.__proto__)', false],
  ['has(object.spec.toString)', false],
  ['object.spec.hasOwnProperty == "x"', 'object.spec.hasOwnProperty is absent'],
])

check('declared fields are texts until they are converted', [
  ['object.spec.nodeName == "node-1"', true],
  ['int(object.spec.replicas) > 2', true],
  ['int(object.spec.replicas) in [1, -2, 3]', true],
  ['double(object.spec.ratio) < 1.0', true],
  ['double(object.spec.replicas) == 3.0', true],
  ['bool(object.spec.suspend)', false],
  ['now - timestamp(object.status.startTime) == duration("40m")', true],
  ['timestamp(object.status.renewTime) - now == duration("123ms")', true],
  ['has(object.spec.paused)', false],
  ['object.spec.paused == "true"', 'object.spec.paused is absent'],
  ['int(object.spec.nodeName) == 1', '"node-1" is no int'],
  ['timestamp(object.status.never) < now', 'is no time of RFC 3339'],
  ['bool(object.spec.nodeName)', '"node-1" is no bool'],
  ['double(object.spec.nodeName) > 1.0', '"node-1" is no double'],
])

check('an error is left out where another operand decides, on either side', [
  ['object.spec.none == "x" || true', true],
  ['true || object.spec.none == "x"', true],
  ['object.spec.none == "x" || false', 'is absent'],
  ['false || object.spec.none == "x"', 'is absent'],
  ['object.spec.none == "x" && false', false],
  ['false && object.spec.none == "x"', false],
  ['object.spec.none == "x" && true', 'is absent'],
  ['!(object.spec.none == "x")', 'is absent'],
  ['object.spec.none == "x" ? true : true', 'is absent'],
  ['true ? true : object.spec.none == "x"', true],
  ['false ? object.spec.none == "x" : false', false],
])

check('macros look at each element, and leave an error out where another decides', [
  ['object.metadata.ownerReferences.exists(o, o.kind == "Widget")', true],
  ['object.metadata.ownerReferences.exists(o, o.controller)', true],
  [
    'object.metadata.ownerReferences.all(o, o.controller)',
    'controller of an owner reference is absent',
  ],
  ['object.metadata.ownerReferences.all(o, has(o.controller) && o.controller)', false],
  ['object.metadata.ownerReferences.exists(o, o.controller && o.kind == "Job")', false],
  ['object.metadata.ownerReferences.exists(o, o.controller && o.kind == "Widget")', 'is absent'],
  ['object.metadata.ownerReferences.exists_one(o, o.kind == "Widget")', true],
  ['object.metadata.ownerReferences.exists_one(o, o.apiVersion == "apps/v1")', false],
  ['object.metadata.ownerReferences.exists_one(o, o.controller)', 'is absent'],
  ['object.metadata.finalizers.exists(f, f.startsWith("example.com/"))', true],
  ['object.metadata.finalizers.all(f, f == "orphan")', false],
  ['"orphan" in object.metadata.finalizers', true],
  ['size(object.metadata.finalizers) == 2 && object.metadata.finalizers.size() == 2', true],
  [
    'object.metadata.ownerReferences.exists(o, object.metadata.finalizers.exists(f, f == o.name))',
    false,
  ],
  [
    'object.metadata.ownerReferences.all(o, object.metadata.ownerReferences.exists(p, p.uid == o.uid))',
    true,
  ],
])

check('arithmetic of times, numbers and texts', [
  ['now + duration("1h") - now == duration("3600s")', true],
  ['now - duration("-90s") == now + duration("1m30s")', true],
  ['timestamp("2026-09-21T14:13:20Z") == now', true],
  ['timestamp(1790000000) == now', true],
  [
    'timestamp("2024-02-29T00:00:00Z") + duration("24h") == timestamp("2024-03-01T00:00:00Z")',
    true,
  ],
  ['timestamp("2026-01-01T01:30:00+01:30") == timestamp("2026-01-01T00:00:00Z")', true],
  ['int(object.spec.most) + 1 > 0', 'an int does not fit into 64 bits'],
  ['-int(object.spec.most) - 1 < 0', true],
  ['timestamp("9999-12-31T23:59:59Z") + duration("1s") > now', 'not in the years 1 to 9999'],
  ['2 - 3 == -1 && 1.5 + 1.5 == 3.0', true],
  ['"a" + "b" == "ab"', true],
  ['int(2.9) == 2 && int(-2.9) == -2', true],
  ['int(1e19) == 1', 'does not fit'],
  ['9007199254740993 > 9007199254740992.0', true],
  ['double(object.spec.nan) == double(object.spec.nan)', false],
  ['double(object.spec.nan) != 1.0', true],
  ['double(object.spec.nan) <= 1.0 || double(object.spec.nan) >= 1.0', false],
  ['false < true', true],
])

check('texts are searched and ordered by code points', [
  ['object.metadata.name.endsWith("-1")', true],
  ['object.metadata.name.contains("eb-")', true],
  ['"aab".contains("ab") && "".contains("") && !"a".contains("ab")', true],
  ['"ABC".lowerAscii() == "abc" && "Ä".lowerAscii() == "Ä"', true],
  ['size("a😀") == 2 && size("😀😀") == 2 && size("") == 0', true],
  ['"\\uffff" < "😀"', true],
  ['"a" < "ab" && "b" > "ab" && "" < "a"', true],
])

check('what is beyond a bound is an error, and is not looked at', [
  ['object.status.long == "x"', 'object.status.long has more than 4096 characters'],
  ['has(object.status.long)', true],
])

test('a list beyond its bound is an error for macros, and not for its size', () => {
  const finalizers = Array.from({ length: 100_000 }, (_, index) => `example.com/${index}`)
  const ownerReferences = Array.from({ length: 65 }, (_, index) => owner('Job', `j${index}`, null))
  const subject = { ...POD, object: { ...POD.object, finalizers, ownerReferences } }
  const rows: readonly Row[] = [
    ['object.metadata.finalizers.exists(f, true)', 'more than 256 finalizers'],
    ['"example.com/1" in object.metadata.finalizers', 'more than 256 finalizers'],
    ['size(object.metadata.finalizers) == 100000', true],
    ['object.metadata.ownerReferences.exists(o, true)', 'more than 64 owner references'],
    ['has(object.metadata.ownerReferences)', true],
  ]
  for (const [source, expected] of rows) {
    const answer = answerOf(source, subject)
    if (typeof expected === 'boolean') assert.equal(answer, expected, source)
    else assert.ok(typeof answer === 'object' && answer.error.includes(expected), source)
  }
})

/** From now, in hours; null for never. `e`: a millisecond more. The object is two hours old. */
const LASTING: readonly (readonly [source: string, hours: number | null, more: 'e' | ''])[] = [
  ['now - object.metadata.creationTimestamp > duration("36h")', 34, 'e'],
  ['now - object.metadata.creationTimestamp >= duration("36h")', 34, ''],
  ['duration("36h") < now - object.metadata.creationTimestamp', 34, 'e'],
  ['now - object.metadata.creationTimestamp > duration("1h")', null, ''],
  ['now - object.metadata.creationTimestamp < duration("3h")', 1, ''],
  ['object.metadata.creationTimestamp + duration("3h") == now', 1, ''],
  ['now - object.metadata.creationTimestamp == duration("2h")', 0, 'e'],
  ['now != now || now - now > duration("1h")', null, ''],
  ['object.metadata.name == "other" && now > object.metadata.creationTimestamp', null, ''],
  ['now > timestamp(object.status.never)', null, ''],
  [
    'now - object.metadata.creationTimestamp > (object.metadata.name == "web-1" ? duration("5h") : duration("4h"))',
    ...([3, 'e'] as const),
  ],
  [
    'now - object.metadata.creationTimestamp > duration("5h") || now > timestamp("2030-01-01T00:00:00Z")',
    ...([3, 'e'] as const),
  ],
]

for (const [source, hours, more] of LASTING) {
  test(`${source} lasts ${hours === null ? 'for ever' : `${hours} h`}`, () => {
    const compilation = compileExpression(source)
    assert.ok(compilation.type === 'Compiled')
    const tree = readTree(compilation.expression.tree)
    assert.ok(tree)
    const { until } = evaluation(tree, POD, NOW)
    assert.equal(until, hours === null ? null : NOW + hours * HOUR + more.length)
  })
}
