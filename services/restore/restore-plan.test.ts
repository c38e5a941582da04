/** What a restore plans: owners first, references that hold, and nothing that would be collected again. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectMeta, OwnerReference } from '../../core/object.ts'
import { RESTORED_FROM } from '../../ports/restorer.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { type Look, type LostOwners, planRestore, type Step } from './restore-plan.ts'
import { rootsOf, subtreeOf } from './selection.ts'

const ABSENT: Look = { type: 'Absent' }
/** More frames than a stack holds. */
const CHAIN = 50_000

/** `rs <- deploy` reads "rs names deploy as its owner"; uids are `u-` and the name. */
function archived(line: string, more: Partial<ArchivedObject> = {}): ArchivedObject {
  const [name = '', owners = ''] = line.split(' <- ')
  const ownerReferences = owners.split(', ').flatMap((owner) => (owner ? [referenceTo(owner)] : []))
  return {
    ...{ type: 'Archived', cluster: 'c', uid: `u-${name}`, group: '', kind: 'ConfigMap' },
    ...{ namespace: 'default', name, version: 'v1', resource: 'configmaps' },
    ...{ resourceVersion: '7', ownerReferences, command: '0-1-0', at: 1, content: 'whole' },
    ...{ keyId: '', nonce: new Uint8Array(), digest: '', partition: 0, offset: 0n },
    ...more,
  }
}

function referenceTo(name: string): OwnerReference {
  const flags = { controller: null, blockOwnerDeletion: null }
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: `u-${name}`, ...flags }
}

function found(uid: string, more: { from?: string; isGoing?: boolean } = {}): Look {
  const annotations = more.from === undefined ? [] : [{ key: RESTORED_FROM, value: more.from }]
  const object = { uid, annotations, deletedAt: more.isGoing === true ? 1 : null }
  return { type: 'Found', object: object as unknown as ObjectMeta }
}

function show(step: Step): string {
  const { name } = step.object
  switch (step.type) {
    case 'create': {
      const owners = step.references.map(({ becomes, uid }) => `${becomes} ${uid}`.trim())
      return [`create ${name}`, ...owners].join('; ')
    }
    case 'keep':
      return `keep ${name} as ${step.uid}`
    case 'refuse':
      return `refuse ${name}: ${step.reason.slice(0, 40)}`
  }
}

const LOST = 'owner ConfigMap/deploy (uid u-deploy) ne'

/** What the archive has, what is there now by name, what becomes of lost owners, and the plan. */
const plans: readonly (readonly [
  string,
  readonly (string | ArchivedObject)[],
  Readonly<Record<string, Look>>,
  LostOwners,
  readonly string[],
])[] = [
  [
    'makes owners first, whatever the order they were deleted in',
    ['pod <- rs', 'rs <- deploy', 'deploy'],
    {},
    'refuse',
    ['create deploy', 'create rs; made u-deploy', 'create pod; made u-rs'],
  ],
  [
    'leaves what would be collected again',
    ['rs <- deploy', 'pod <- rs'],
    {},
    'refuse',
    [`refuse rs: ${LOST}`, 'refuse pod: owner ConfigMap/rs (uid u-rs) neither li'],
  ],
  [
    'keeps references to owners that live',
    ['rs <- deploy'],
    { deploy: found('u-deploy') },
    'refuse',
    ['create rs; same u-deploy'],
  ],
  [
    'takes an owner that is being deleted for lost',
    ['rs <- deploy'],
    { deploy: found('u-deploy', { isGoing: true }) },
    'refuse',
    [`refuse rs: ${LOST}`],
  ],
  [
    'names what bears the name now only if asked',
    ['rs <- deploy', 'pod <- rs'],
    { deploy: found('u-new') },
    'relink',
    ['create rs; other u-new', 'create pod; made u-rs'],
  ],
  [
    'does not by itself',
    ['rs <- deploy'],
    { deploy: found('u-new') },
    'refuse',
    [`refuse rs: ${LOST}`],
  ],
  [
    'drops lost references only if asked, and no others',
    ['rs <- deploy, other'],
    { other: found('u-other') },
    'drop',
    ['create rs; dropped; same u-other'],
  ],
  [
    'never takes unknown for lost',
    ['rs <- deploy'],
    { deploy: { type: 'Unknown', reason: '403' } },
    'drop',
    ['refuse rs: owner ConfigMap/deploy could not be look'],
  ],
  [
    'goes on where an earlier restore stopped',
    ['rs <- deploy', 'pod <- rs', 'deploy'],
    { deploy: found('v-1', { from: 'u-deploy' }), rs: found('v-2', { from: 'u-rs' }) },
    'refuse',
    ['keep deploy as v-1', 'keep rs as v-2', 'create pod; other v-2'],
  ],
  [
    'finds an owner that was restored by itself',
    ['rs <- deploy'],
    { deploy: found('v-1', { from: 'u-deploy' }) },
    'refuse',
    ['create rs; other v-1'],
  ],
  [
    'touches nothing of another object in the place',
    ['deploy', 'rs <- deploy'],
    { deploy: found('u-new') },
    'refuse',
    ['refuse deploy: another object of that name is there (ui', `refuse rs: ${LOST}`],
  ],
  [
    'keeps what lives after all',
    ['deploy'],
    { deploy: found('u-deploy') },
    'refuse',
    ['keep deploy as u-deploy'],
  ],
  [
    'waits for what is still going',
    ['deploy'],
    { deploy: found('u-deploy', { isGoing: true }) },
    'refuse',
    ['refuse deploy: it is being deleted: wait until it is go'],
  ],
  [
    'makes no ring',
    ['a <- b', 'b <- a', 'c <- a'],
    {},
    'refuse',
    ['a', 'b', 'c'].map((name) => `refuse ${name}: it and its owners own each other in a ri`),
  ],
  [
    'makes no Secret of its metadata',
    [archived('deploy', { content: 'metadata' })],
    {},
    'refuse',
    ['refuse deploy: of a Secret only the metadata was archiv'],
  ],
  [
    'takes no owner by its uid alone',
    ['deploy', archived('rs', { ownerReferences: [{ ...referenceTo('other'), uid: 'u-deploy' }] })],
    {},
    'refuse',
    ['create deploy', 'refuse rs: owner ConfigMap/other (uid u-deploy) nei'],
  ],
  [
    'takes no owner out of another namespace',
    [archived('deploy', { namespace: 'elsewhere' }), 'rs <- deploy'],
    {},
    'refuse',
    ['create deploy', `refuse rs: ${LOST}`],
  ],
]

for (const [what, objects, now, lost, expected] of plans) {
  test(`a plan ${what}`, () => {
    const chosen = objects.map((each) => (typeof each === 'string' ? archived(each) : each))
    const survey = {
      at: ({ name }: ArchivedObject) => now[name] ?? ABSENT,
      owner: (_: ArchivedObject, { name }: OwnerReference) => now[name] ?? ABSENT,
    }
    deepEqual(planRestore(chosen, survey, lost).map(show), expected)
  })
}

test('a subtree is all that hung on an object, itself included if it is there', () => {
  const lines = ['pod <- rs', 'rs <- deploy', 'other <- else', 'job']
  const objects = new Map(lines.map((line) => [archived(line).uid, archived(line)]))
  const names = (uid: string): string[] => subtreeOf(objects, uid).map(({ name }) => name)
  deepEqual([names('u-deploy'), names('u-job'), names('u-nobody')], [['rs', 'pod'], ['job'], []])
})

test('a chain as long as anybody may make it is found and planned without a stack that grows', () => {
  const names = Array.from({ length: CHAIN }, (_, index) => `c${index}`)
  const chain = names.map((name, index) =>
    archived(index === 0 ? name : `${name} <- c${index - 1}`),
  )
  // The last one first, as an archive may have them.
  const objects = new Map(chain.toReversed().map((each) => [each.uid, each]))
  const chosen = subtreeOf(objects, 'u-c0')
  equal(chosen.length, CHAIN)
  const survey = { at: () => ABSENT, owner: () => ABSENT }
  const steps = planRestore(chosen.toReversed(), survey, 'refuse')
  deepEqual(
    steps.map(({ object }) => object.name),
    names,
  )
  ok(steps.every(({ type }) => type === 'create'))
})

test('a name that several objects had is every one of them, the last first', () => {
  const first = archived('pod <- deploy', { uid: 'p-1', at: 1 })
  const second = archived('pod', {
    uid: 'p-2',
    at: 2,
    ownerReferences: [{ ...referenceTo('deploy'), uid: 'u-later' }],
  })
  const objects = new Map([first, second].map((each) => [each.uid, each]))
  const roots = rootsOf(objects, { kind: 'ConfigMaps', name: 'deploy', namespace: 'default' })
  deepEqual(
    roots.map(({ uid }) => uid),
    ['u-later', 'u-deploy'],
  )
  const elsewhere = { kind: 'ConfigMap', name: 'deploy', namespace: 'elsewhere' }
  deepEqual(rootsOf(objects, elsewhere), [])
})
