/**
 * RFC 6902, case by case.
 */
import { deepEqual, throws } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { applyJsonPatch, PatchFailure } from './json-patch.ts'

const cases = [
  ['adds a field', {}, [{ op: 'add', path: '/a', value: 1 }], { a: 1 }],
  ['adds into a list', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
  ['adds to the end of a list', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
  ['replaces', { a: 1 }, [{ op: 'replace', path: '/a', value: [] }], { a: [] }],
  ['removes an entry', { a: [1, 2, 3] }, [{ op: 'remove', path: '/a/1' }], { a: [1, 3] }],
  ['removes a field', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
  ['copies', { a: { b: 1 } }, [{ op: 'copy', from: '/a/b', path: '/c' }], { a: { b: 1 }, c: 1 }],
  ['moves', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
  [
    'reads ~1 and ~0',
    { 'a/b': { 'c~d': 1 } },
    [{ op: 'remove', path: '/a~1b/c~0d' }],
    { 'a/b': {} },
  ],
  [
    'tests in any order of fields',
    { a: { b: 1, c: 2 } },
    testOf({ c: 2, b: 1 }),
    { a: { b: 1, c: 2 } },
  ],
] as const

const failures = [
  ['a value that differs', { a: 1 }, testOf(2)],
  ['a field that is missing where the test has false', { a: {} }, testOf({ b: false })],
  ['false where the test has no field', { a: { b: false } }, testOf({})],
  ['a test of nothing', {}, testOf(1)],
  ['a removal of nothing', {}, [{ op: 'remove', path: '/a' }]],
  ['a removal beyond the end', { a: [1] }, [{ op: 'remove', path: '/a/1' }]],
  ['an index with a leading zero', { a: [1, 2] }, [{ op: 'remove', path: '/a/01' }]],
  ['a replacement of nothing', {}, [{ op: 'replace', path: '/a', value: 1 }]],
  ['a path through nothing', {}, [{ op: 'add', path: '/a/b', value: 1 }]],
  ['an unknown operation', {}, [{ op: 'bogus', path: '/a' }]],
] as const

suite('a JSON Patch', () => {
  for (const [what, document, operations, expected] of cases) {
    test(what, () => {
      const before = structuredClone(document)
      deepEqual(applyJsonPatch(document, operations), expected)
      deepEqual(document, before, 'what it was applied to has changed')
    })
  }
  for (const [what, document, operations] of failures) {
    test(`fails at ${what}`, () => {
      throws(() => applyJsonPatch(document, operations), PatchFailure)
    })
  }
})

function testOf(value: unknown): readonly { op: string; path: string; value: unknown }[] {
  return [{ op: 'test', path: '/a', value }]
}
