/** Paths of fields: what is one, and what is refused. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { readPath } from './field-path.ts'

test('a path is steps, and elements of lists by a field of theirs', () => {
  deepEqual(readPath('status.conditions[type=Complete].lastTransitionTime'), {
    steps: [
      { type: 'field', name: 'status' },
      { type: 'field', name: 'conditions' },
      { type: 'element', name: 'type', value: 'Complete' },
      { type: 'field', name: 'lastTransitionTime' },
    ],
    as: 'text',
  })
  equal(readPath('data.expiration:base64')?.as, 'base64')
  equal(readPath('status.certificate:not-after')?.as, 'not-after')
  equal(readPath('status.conditions[type=example.com/Ready].status')?.steps.length, 4)
})

test('what is no path is refused', () => {
  const texts = [
    '',
    '.',
    'a..b',
    'a.',
    '[x=y]',
    'a[b]',
    'a[b=]',
    'a b',
    'a.b:c',
    '0',
    'a'.repeat(254),
  ]
  for (const text of [...texts, Array.from({ length: 9 }, () => 'a').join('.')]) {
    equal(readPath(text), undefined, text)
  }
})
