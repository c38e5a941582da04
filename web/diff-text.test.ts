/**
 * A difference says who and what, and never more than the answer; its command is one command,
 * whatever is in a name.
 */
import { equal } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { HOSTILE_NAMES } from '../testing/hostile.ts'
import { placeOf } from './base/place.ts'
import { type DiffRow, detailsOf, diffCommand, linkOf } from './diff-text.ts'

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const OWNER = {
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u1' },
  ...{ controller: true, blockOwnerDeletion: null },
}
const THERE = { phase: 'observed', deletionTimestamp: null, owners: [OWNER] } as const
const ROW: DiffRow = {
  cluster: { id: 'c', name: 'north', scope: 'north' },
  ...{ group: '', kind: 'Pod', namespace: 'shop', name: 'a', uid: 'pod-a' },
  ...{ at: '2026-01-31T09:30:00.000Z', createdAt: null, change: 'changed' },
  ...{ from: THERE, to: THERE, deletion: null },
}
const gone = (deletion: DiffRow['deletion']): DiffRow => {
  return { ...ROW, change: 'deleted', to: null, deletion }
}
const NOBODY = {
  ...{ root: null, isInferred: false, isRootKnown: true, unseenSince: null },
  ...{ deletedBy: null, unproven: null, rootDeletedBy: null },
} as const
const BY = { ...NOBODY, evidence: null, command: null, text: '' } as const

for (const [row, text] of [
  [{ ...ROW, change: 'added', from: null }, 'owned by ReplicaSet/web'],
  [{ ...ROW, change: 'added', from: null, to: { ...THERE, owners: [] } }, ''],
  [gone({ ...BY, by: 'others' }), 'no audit log says by whom'],
  [gone({ ...BY, by: 'unknown' }), 'no audit log says by whom'],
  [
    gone({
      ...NOBODY,
      by: 'kinfold',
      evidence: 'deleted',
      command: '0-1-0',
      text: 'reap: its owner is deleted',
    }),
    'by Kinfold; delete: its owner is deleted (the deletion was observed)',
  ],
  [
    { ...ROW, to: { ...THERE, phase: 'deleting', deletionTimestamp: '2026-01-31T09:30:00Z' } },
    'was: exists; is: being deleted',
  ],
  [{ ...ROW, to: { ...THERE, owners: [] } }, 'owners ReplicaSet/web → none'],
  [
    { ...ROW, to: { ...THERE, owners: [{ ...OWNER, uid: 'u2' }] } },
    'owners ReplicaSet/web: uid u1 → u2',
  ],
  [
    { ...ROW, to: { ...THERE, owners: [{ ...OWNER, controller: null }] } },
    'owners ReplicaSet/web: controller or blockOwnerDeletion is another',
  ],
] as const satisfies readonly (readonly [DiffRow, string])[]) {
  test(`it is "${text}"`, () => equal(detailsOf(row), text))
}

test('each leads to its object at a moment at which it was there', () => {
  const at = (row: DiffRow, to: string): string => {
    const { view, words } = placeOf(linkOf(row, { from: 'pos:0-1', to }))
    return [view, words['at'], words['beside']].filter(Boolean).join()
  }
  equal(at(gone({ ...BY, by: 'others' }), 'pos:0-9'), 'past,pos:0-1')
  equal(at({ ...ROW, change: 'added' }, 'pos:0-9'), 'past,pos:0-9')
  equal(at({ ...ROW, change: 'added' }, ''), 'object')
  equal(at(ROW, 'pos:0-9'), 'past,pos:0-1,pos:0-9')
})

const ALL = { cluster: '', namespace: undefined, kind: '', from: '2026-01-31T09:30:00Z', to: '' }

test('the command asks the same', () => {
  equal(diffCommand(ALL), 'kinfold diff -A --from 2026-01-31T09:30:00Z')
  const asked = {
    cluster: 'north',
    namespace: 'shop',
    kind: 'pods',
    from: 'pos:0-1',
    to: 'pos:0-9',
  }
  equal(diffCommand(asked), 'kinfold diff pods --cluster north -n shop --from pos:0-1 --to pos:0-9')
})

for (const name of HOSTILE_NAMES) {
  test(`${JSON.stringify(name)} as a namespace is one word, or no command is offered`, () => {
    const command = diffCommand({ ...ALL, namespace: name })
    if (command === undefined) return equal(UNSEEN.test(name), true)
    const words = command.replace('kinfold diff', 'printf "%s\\n"')
    const shown = execFileSync('sh', ['-c', words], { encoding: 'utf8' })
    equal(shown, `-n\n${name}\n--from\n${ALL.from}\n`)
  })

  test(`nothing of an owner ${JSON.stringify(name)} is hidden`, () => {
    const row = { ...ROW, to: { ...THERE, owners: [{ ...OWNER, name, uid: name }] } }
    equal(UNSEEN.test(detailsOf(row)), false)
  })
}
