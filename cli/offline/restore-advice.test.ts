/** What is advised about lost owners: have the owner again, relink, and last of all drop. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerReference } from '../../core/model/object.ts'
import type { ArchivedObject } from '../../services/restore/archive-reader.ts'
import type { LostOwner, Step } from '../../services/restore/restore-step.ts'
import { adviceFor, limitsOf } from './restore-advice.ts'

function referenceTo(name: string): OwnerReference {
  const flags = { controller: null, blockOwnerDeletion: null }
  return { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `u-${name}`, ...flags }
}

function objectOf(name: string): ArchivedObject {
  return { kind: 'ConfigMap', name, uid: `u-${name}` } as ArchivedObject
}

function refused(name: string, now?: LostOwner['now'], owner = 'web'): Step {
  const lost = now && { reference: referenceTo(owner), now }
  return { type: 'refuse', object: objectOf(name), reason: 'because', lost, guard: undefined }
}

function lacking(name: string, cause: 'not-asked' | 'absent'): Step {
  const lacks = [{ reference: referenceTo('web'), cause }]
  return { type: 'keep', object: objectOf(name), uid: 'v', isRestored: true, lacks }
}

const LAST = 'Last resort: --lost-owners drop'

const cases: readonly (readonly [string, readonly Step[], readonly string[]])[] = [
  [
    'an owner that does not exist, once however many lack it',
    [refused('a', 'absent'), refused('b', 'absent'), refused('c', 'absent', 'cart')],
    ['First create Deployment/web, Deployment/cart again (kubectl apply), then ru', LAST],
  ],
  [
    'an owner that is being deleted',
    [refused('a', 'terminating')],
    ['Deployment/web: wait until it is deleted, create it again (kubectl apply), ', LAST],
  ],
  [
    'an owner whose name another object has',
    [refused('a', 'other')],
    ['Deployment/web: another object of that name exists; to make it the owner, r', LAST],
  ],
  [
    'an owner that could be restored itself',
    [refused('a', 'absent', 'archived')],
    ['Deployment/archived is in the archive: restore it first (kinfold restore ui', LAST],
  ],
  [
    'what was restored without an owner that exists',
    [lacking('a', 'not-asked'), lacking('b', 'absent')],
    ['ConfigMap/a: restored without an owner that exists; --lost-owners relink ad'],
  ],
  ['what is refused for another reason', [refused('a')], []],
]
for (const [what, steps, expected] of cases) {
  test(`advises about ${what}`, () => {
    const advice = adviceFor(steps, (uid) => uid === 'u-archived')
    deepEqual(
      advice.map((line) => (line.startsWith(LAST) ? LAST : line.slice(0, 75))),
      expected,
    )
  })
}

test('names a few of many', () => {
  const steps = Array.from({ length: 8 }, (_, i) => refused(`a${i}`, 'absent', `w${i}`))
  const [first = ''] = adviceFor(steps, () => false)
  deepEqual(first.match(/w\d/g), ['w0', 'w1', 'w2', 'w3', 'w4'])
  deepEqual(first.includes(' and 3 more '), true)
})

test('a plan that creates something says what is in no plan', () => {
  const created: Step = { type: 'create', object: objectOf('a'), references: [], elsewhere: null }
  deepEqual(limitsOf([lacking('a', 'absent'), refused('b')], true), [])
  const begun = (isArchived: boolean): readonly string[] =>
    limitsOf([refused('b'), created], isArchived).map((each) => each.slice(0, 24))
  deepEqual(begun(true), ['What is not in the archi', 'Dependents that were orp'])
  deepEqual(begun(false), ['Dependents that were orp'])
})
