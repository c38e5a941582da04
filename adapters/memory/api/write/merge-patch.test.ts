/**
 * Merge patches, plain and strategic, as kubectl apply and client-go send them.
 */
import { deepEqual } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { applyMergePatch, applyStrategicMergePatch } from './merge-patch.ts'

const plain = [
  ['merges fields', { a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3, c: 2 } }],
  ['removes by null', { a: { b: 1, c: 2 } }, { a: { b: null } }, { a: { c: 2 } }],
  ['replaces lists', { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ['drops nulls from what it adds', {}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
] as const

const A = { name: 'a', image: 'a:1' }
const B = { name: 'b', image: 'b:1' }

const strategic = [
  ['merges maps', { x: { a: 1 } }, { x: { b: 2 } }, { x: { a: 1, b: 2 } }],
  ['removes by null', { x: { a: 1, b: 2 } }, { x: { a: null } }, { x: { b: 2 } }],
  [
    'merges containers by name',
    { containers: [A, B] },
    { containers: [{ name: 'b', image: 'b:2' }] },
    { containers: [A, { name: 'b', image: 'b:2' }] },
  ],
  [
    'adds containers that are new',
    { containers: [A] },
    { containers: [B] },
    { containers: [A, B] },
  ],
  [
    'deletes an entry',
    { containers: [A, B] },
    { containers: [{ name: 'a', $patch: 'delete' }] },
    { containers: [B] },
  ],
  [
    'merges env and ports within a container',
    { containers: [{ ...A, env: [{ name: 'X', value: '1' }], ports: [{ containerPort: 80 }] }] },
    {
      containers: [
        {
          name: 'a',
          env: [
            { name: 'X', $patch: 'delete' },
            { name: 'Y', value: '2' },
          ],
          ports: [{ containerPort: 80, name: 'http' }],
        },
      ],
    },
    {
      containers: [
        { ...A, env: [{ name: 'Y', value: '2' }], ports: [{ containerPort: 80, name: 'http' }] },
      ],
    },
  ],
  [
    'merges ports of a Service by port',
    { ports: [{ port: 80 }, { port: 81 }] },
    { ports: [{ port: 81, $patch: 'delete' }] },
    { ports: [{ port: 80 }] },
  ],
  [
    'drops owner references by uid',
    { ownerReferences: [{ uid: 'u', name: 'o' }, { uid: 'v' }] },
    { ownerReferences: [{ $patch: 'delete', uid: 'u' }] },
    { ownerReferences: [{ uid: 'v' }] },
  ],
  [
    'leaves what is not there to be deleted',
    { ownerReferences: [{ uid: 'v' }] },
    { ownerReferences: [{ $patch: 'delete', uid: 'u' }] },
    { ownerReferences: [{ uid: 'v' }] },
  ],
  [
    'adds to finalizers',
    { finalizers: ['a/b'] },
    { finalizers: ['a/b', 'c/d'] },
    { finalizers: ['a/b', 'c/d'] },
  ],
  [
    'deletes from finalizers',
    { finalizers: ['a/b', 'c/d'] },
    { '$deleteFromPrimitiveList/finalizers': ['a/b'] },
    { finalizers: ['c/d'] },
  ],
  [
    'orders as it is told',
    { containers: [A, B] },
    { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] },
    { containers: [B, A] },
  ],
  [
    'keeps only what it is told to keep',
    { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
    { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
    { strategy: { type: 'Recreate' } },
  ],
  ['replaces a map', { x: { a: 1 } }, { x: { $patch: 'replace', b: 2 } }, { x: { b: 2 } }],
  [
    'replaces a list',
    { containers: [A] },
    { containers: [{ $patch: 'replace' }, B] },
    { containers: [B] },
  ],
  ['replaces lists of no key', { args: ['a'] }, { args: ['b'] }, { args: ['b'] }],
] as const

suite('a merge patch', () => {
  for (const [what, document, patch, expected] of plain) {
    test(what, () => deepEqual(applyMergePatch(document, patch), expected))
  }
})

suite('a strategic merge patch', () => {
  for (const [what, document, patch, expected] of strategic) {
    test(what, () => deepEqual(applyStrategicMergePatch(document, patch), expected))
  }
})
