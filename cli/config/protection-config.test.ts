/** The section `protection`: what it adds, and each mistake in it one sentence. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { policyFor } from '../../core/model/policy.ts'
import { protectionOf } from './protection-config.ts'

const { protection } = policyFor('dry-run', 'guarded')

test('without a section it is as the preset has it', () => {
  deepEqual(protectionOf(undefined, 'f', 'guarded'), protection)
})

test('a section adds to the kinds and says the rest', () => {
  const section = { kinds: ['Widget.example.com', 'Secret'], labels: ['tier=gold'] }
  const made = protectionOf(section, 'f', 'guarded')
  deepEqual(made.kinds.slice(protection.kinds.length), [{ group: 'example.com', kind: 'Widget' }])
  deepEqual(made.labels, ['tier=gold'])
  equal(made.othersMarks, true)
  equal(protectionOf({ othersMarks: false }, 'f', 'guarded').othersMarks, false)
})

const bad: readonly (readonly [string, unknown, RegExp])[] = [
  ['a list', ['Secret'], /^f: expected a mapping with kinds, namespaces/],
  ['an unknown key', { kind: ['Secret'] }, /^f: unknown key kind; known are kinds, namespaces/],
  ['no list', { kinds: 'Secret' }, /^f.kinds: expected a list of texts/],
  ['an empty entry', { namespaces: [''] }, /^f.namespaces: "" is no namespace/],
  [
    'no name of a namespace',
    { namespaces: ['Vault'] },
    /^f.namespaces: no namespace can be called/,
  ],
  ['a resource', { kinds: ['pods'] }, /^f.kinds: pods is no kind: kinds are written as/],
  [
    'a kind without group',
    { kinds: ['Secret', 'Job'] },
    /^f.kinds: the core group has no kind Job/,
  ],
  ['no key', { labels: ['=gold'] }, /^f.labels: "=gold" is no label, such as tier/],
  ['no flag', { othersMarks: 'no' }, /^f.othersMarks: expected true or false/],
  ['too many', { namespaces: Array(201).fill('a') }, /^f.namespaces: 201 entries/],
]

for (const [what, section, message] of bad) {
  test(`${what} ends the start`, () => {
    throws(() => protectionOf(section, 'f', 'guarded'), { name: 'ExitError', message, exitCode: 2 })
  })
}
