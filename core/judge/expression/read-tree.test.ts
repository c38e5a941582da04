/**
 * Which texts are trees of expressions: a row a case, and all of a hostile kind are none.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readTree } from './read-tree.ts'

const YES = { op: 'bool', value: true }

function nested(depth: number): unknown {
  return depth === 0 ? YES : { op: 'not', of: nested(depth - 1) }
}

function macro(list: string, holds: unknown): unknown {
  return { op: 'exists', list, holds }
}

const TREES: readonly unknown[] = [
  YES,
  { op: 'int', value: '-9223372036854775808' },
  { op: 'timestamp', ms: 0 },
  { op: 'has', of: { op: 'label', key: 'app' } },
  { op: 'has', of: { op: 'list', list: 'owners' } },
  { op: 'in', item: { op: 'string', value: 'a' }, list: { op: 'values', values: [] } },
  { op: 'and', of: [YES, YES, YES] },
  { op: 'choose', when: YES, yes: YES, no: YES },
  macro('owners', { op: 'owner', of: 0, name: 'controller' }),
  macro(
    'owners',
    macro('finalizers', {
      op: '==',
      left: { op: 'owner', of: 0, name: 'uid' },
      right: { op: 'finalizer', of: 1 },
    }),
  ),
  nested(39),
]

const NONE: readonly (readonly [why: string, tree: unknown])[] = [
  ['no node', null],
  ['a list', [YES]],
  ['an unknown case', { op: 'matches', left: YES, right: YES }],
  ['a name of a prototype', { op: 'constructor' }],
  ['a name of a prototype', { op: '__proto__' }],
  ['no case', { value: true }],
  ['another part', { op: 'now', at: 1 }],
  ['a part too few', { op: 'not' }],
  ['a part of another name', { op: 'not', off: YES }],
  ['a value of another type', { op: 'bool', value: 'true' }],
  ['an int as a number', { op: 'int', value: 1 }],
  ['an int of more bits', { op: 'int', value: '9223372036854775808' }],
  ['a double that is none', { op: 'double', value: null }],
  ['a time out of range', { op: 'timestamp', ms: 1e300 }],
  ['a time between milliseconds', { op: 'duration', ms: 0.5 }],
  ['an unknown name', { op: 'metadata', name: 'resourceVersion' }],
  ['an element without a macro', { op: 'owner', of: 0, name: 'uid' }],
  ['an element of another list', macro('owners', { op: 'finalizer', of: 0 })],
  ['an element of an inner macro', macro('owners', { op: 'owner', of: 1, name: 'uid' })],
  ['an element of none', macro('owners', { op: 'owner', of: -1, name: 'uid' })],
  ['an unknown list', macro('length', YES)],
  ['macros in macros', macro('owners', macro('owners', macro('owners', YES)))],
  ['too many steps', macro('finalizers', macro('finalizers', YES))],
  ['has() of a value', { op: 'has', of: YES }],
  ['a list as a value', { op: 'list', list: 'owners' }],
  ['a list in a list', { op: 'in', item: YES, list: { op: 'values', values: [nested(1)] } }],
  ['one operand', { op: 'and', of: [YES] }],
  ['operands that are no list', { op: 'or', of: { length: 2, 0: YES, 1: YES } }],
  ['a conversion to another type', { op: 'to', type: 'string', of: YES }],
  ['too deep', nested(40)],
]

test('each tree is read as it was written', () => {
  for (const tree of TREES) assert.deepEqual(readTree(JSON.stringify(tree)), tree)
})

test('anything else is none', () => {
  for (const [why, tree] of NONE) assert.equal(readTree(JSON.stringify(tree)), undefined, why)
})

test('a text that is no JSON, or too long, is none', () => {
  assert.equal(readTree(''), undefined)
  assert.equal(readTree('{'), undefined)
  assert.equal(readTree('['.repeat(60_000)), undefined)
  assert.equal(readTree(`${JSON.stringify(YES)}${' '.repeat(70_000)}`), undefined)
  assert.equal(readTree('{"op":"not","__proto__":{"of":{"op":"now"}}}'), undefined)
})

test('any JSON ends in a tree or in none', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (json) => {
      assert.equal(readTree(json), undefined)
    }),
  )
})
