/**
 * What a restore plans: owners first, references that hold, and nothing that would be collected
 * again.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '../../core/graph/identity.ts'
import type { ObjectMeta, OwnerReference, Pair } from '../../core/model/object.ts'
import { FORMER_RESTORED_FROM } from '../../ports/restorer.ts'
import { type ArchivedObject, placeOf } from './archive-reader.ts'
import { GUARDS, type Guard } from './guarded-kind.ts'
import type { OwnerStatus } from './owner-status.ts'
import { planRestore, type Wishes } from './restore-plan.ts'
import { isUnmanaged, type LackingReference, type Step } from './restore-step.ts'
import { markOf } from './restored-mark.ts'
import { identityIn, rootsOf, subtreeOf } from './selection.ts'
import type { Look } from './survey.ts'

const ALL: Wishes['included'] = new Set(GUARDS)

function unserved(): undefined {
  return undefined
}

function rootOf(uid: string): Identity {
  return identityIn(archived(uid.slice('u-'.length)))
}

const ABSENT: Look = { type: 'Absent' }
/** More frames than a stack holds. */
const CHAIN = 50_000

/**
 * `rs <- deploy` reads "rs names deploy as its owner", `rs <- *deploy` "as its controller"; uids
 * are `u-` and the name.
 */
function archived(line: string, more: Partial<ArchivedObject> = {}): ArchivedObject {
  const [name = '', owners = ''] = line.split(' <- ')
  const ownerReferences = referencesTo(owners)
  return {
    ...{ type: 'Archived', cluster: 'c', uid: `u-${name}`, group: '', kind: 'ConfigMap' },
    ...{ namespace: 'default', name, version: 'v1', resource: 'configmaps' },
    ...{ resourceVersion: '7', ownerReferences, command: '0-1-0', createdAt: 0, at: 1 },
    rule: '',
    ownerElsewhere: '',
    content: 'whole',
    ...{ keyId: '', nonce: new Uint8Array(), digest: '', partition: 0, offset: 0n },
    ...more,
  }
}

/** Of a kind that holds no data. */
function work(line: string, more: Partial<ArchivedObject> = {}): ArchivedObject {
  return archived(line, { kind: 'Work', ...more })
}

function referencesTo(owners: string): readonly OwnerReference[] {
  return owners.split(', ').flatMap((owner) => {
    if (owner === '') return []
    return owner.startsWith('*') ? [controlledBy(owner.slice(1))] : [referenceTo(owner)]
  })
}

function controlledBy(name: string): OwnerReference {
  return { ...referenceTo(name), kind: 'Work', controller: true }
}

function referenceTo(name: string): OwnerReference {
  const flags = { controller: null, blockOwnerDeletion: null }
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: `u-${name}`, ...flags }
}

/** `from`: the names of the objects whose marks it has, its own or one that a controller copied. */
function found(uid: string, more: Partial<Living> & { from?: string } = {}): Look {
  const from = more.from?.split(', ') ?? []
  return foundWith(
    uid,
    from.map((name) => markOf(archived(name))),
    more,
  )
}

interface Living {
  readonly isGoing: boolean
  readonly owners: string
}

function foundWith(
  uid: string,
  annotations: readonly Pair[],
  { isGoing = false, owners = '' }: Partial<Living> = {},
): Look {
  const ownerReferences = referencesTo(owners)
  const object = { uid, annotations, ownerReferences, deletedAt: isGoing ? 1 : null }
  return { type: 'Found', object: object as unknown as ObjectMeta }
}

/** As the first version marked what it made: there a copy took the place of an object's own. */
function formerMark(name: string): Pair {
  return { key: FORMER_RESTORED_FROM, value: `u-${name}` }
}

function show(step: Step): string {
  const { name } = step.object
  switch (step.type) {
    case 'create': {
      const owners = step.references.map(({ becomes, uid }) => `${becomes} ${uid}`.trim())
      const unmanaged = isUnmanaged(step) ? ['unmanaged'] : []
      return [`create ${name}`, ...owners, ...unmanaged].join('; ')
    }
    case 'link': {
      const owners = step.references.map(({ becomes, uid }) => `${becomes} ${uid}`)
      return [`link ${name}`, ...owners, ...step.lacks.map(lack)].join('; ')
    }
    case 'keep':
      return [`keep ${name} as ${step.uid}`, ...step.lacks.map(lack)].join('; ')
    case 'leave':
      return `leave ${name} to ${step.controller.name}`
    case 'refuse':
      return `refuse ${name}: ${step.reason.slice(0, 40)}`
  }
}

function lack({ reference, cause }: LackingReference): string {
  return `${reference.name} ${cause}`
}

const LOST = 'owner ConfigMap/deploy (uid u-deploy) do'

/** What the archive has, what is there now by name, what becomes of lost owners, and the plan. */
const plans: readonly (readonly [
  string,
  readonly (string | ArchivedObject)[],
  Readonly<Record<string, Look>>,
  Wishes['lost'] | 'controlled',
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
    'orders what has no owner among them, then their dependents, by kind and name',
    [work('b <- *rs'), 'settings', work('a <- *rs'), work('rs'), 'data'],
    {},
    'controlled',
    ['create data', 'create settings', 'create rs', 'create a; made u-rs', 'create b; made u-rs'],
  ],
  [
    'leaves what would be collected again',
    ['rs <- deploy', 'pod <- rs'],
    {},
    'refuse',
    [`refuse rs: ${LOST}`, 'refuse pod: owner ConfigMap/rs (uid u-rs) is refused'],
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
    ['refuse rs: owner ConfigMap/deploy (uid u-deploy) is'],
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
    ['refuse rs: owner ConfigMap/deploy (uid u-deploy) wa'],
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
    { deploy: found('v-1', { from: 'deploy' }), rs: found('v-2', { from: 'rs' }) },
    'refuse',
    ['keep deploy as v-1', 'keep rs as v-2; deploy not-asked', 'create pod; other v-2'],
  ],
  [
    'goes on where controllers have copied the marks of owners to their dependents',
    ['deploy', 'rs <- deploy', 'pod <- rs', 'log <- pod'],
    {
      deploy: found('v-1', { from: 'deploy' }),
      rs: found('v-2', { from: 'deploy, rs', owners: 'deploy' }),
      pod: found('v-3', { from: 'deploy, rs, pod', owners: 'rs' }),
    },
    'refuse',
    ['keep deploy as v-1', 'keep rs as v-2', 'keep pod as v-3', 'create log; other v-3'],
  ],
  [
    'takes what a controller made meanwhile for another object, whatever was copied to it',
    ['deploy', 'rs <- deploy', 'pod <- rs'],
    { deploy: found('v-1', { from: 'deploy' }), rs: found('u-new', { from: 'deploy' }) },
    'refuse',
    [
      'keep deploy as v-1',
      'refuse rs: another object of that name is there (ui',
      'refuse pod: owner ConfigMap/rs (uid u-rs) was replac',
    ],
  ],
  [
    'takes nothing for an owner that bears its mark in another place',
    [archived('pod', { ownerReferences: [{ ...referenceTo('rs'), uid: 'u-deploy' }] })],
    { rs: found('v-2', { from: 'deploy, rs' }) },
    'drop',
    ['create pod; dropped'],
  ],
  [
    'knows by all of its marks what was restored twice',
    ['rs', 'pod <- rs', archived('rs', { uid: 'u-later' })],
    {
      rs: foundWith('v-2', [markOf(archived('rs')), markOf(archived('rs', { uid: 'u-later' }))]),
    },
    'refuse',
    ['keep rs as v-2', 'keep rs as v-2', 'create pod; other v-2'],
  ],
  [
    'knows what an older version made, as far as its mark is its own',
    ['deploy', 'rs <- deploy', 'pod'],
    {
      deploy: foundWith('v-1', [formerMark('deploy')]),
      rs: foundWith('v-2', [formerMark('deploy')]),
      pod: foundWith('v-3', [formerMark('pod')]),
    },
    'refuse',
    [
      'keep deploy as v-1',
      'keep pod as v-3',
      'refuse rs: another object of that name is there (ui',
    ],
  ],
  [
    'finds an owner that was restored by itself',
    ['rs <- deploy'],
    { deploy: found('v-1', { from: 'deploy' }) },
    'refuse',
    ['create rs; other v-1'],
  ],
  [
    'touches nothing of another object in the place',
    ['deploy', 'rs <- deploy'],
    { deploy: found('u-new') },
    'refuse',
    [
      'refuse deploy: another object of that name is there (ui',
      'refuse rs: owner ConfigMap/deploy (uid u-deploy) wa',
    ],
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
    ['refuse deploy: it is being deleted: wait until it is de'],
  ],
  [
    'makes no ring',
    ['a <- b', 'b <- a', 'c <- a'],
    {},
    'refuse',
    ['a', 'b', 'c'].map((name) => `refuse ${name}: it is in or below an ownership cycle, so`),
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
    ['create deploy', 'refuse rs: owner ConfigMap/other (uid u-deploy) doe'],
  ],
  [
    'takes no owner out of another namespace',
    [archived('deploy', { namespace: 'elsewhere' }), 'rs <- deploy'],
    {},
    'refuse',
    [`refuse rs: ${LOST}`, 'create deploy'],
  ],
  [
    'leaves to a controller that was created again what it makes by itself, and restores the rest below it',
    [work('rs <- *deploy'), work('pod <- *rs'), 'settings <- deploy'],
    { deploy: found('u-new') },
    'relink',
    ['create settings; other u-new', 'leave rs to deploy', 'leave pod to rs'],
  ],
  [
    'leaves it without being asked to relink',
    [work('rs <- *deploy'), work('pod <- *rs')],
    { deploy: found('u-new') },
    'refuse',
    ['leave rs to deploy', 'leave pod to rs'],
  ],
  [
    'leaves to a controller that it creates, or that exists, what that makes by itself',
    [work('deploy'), work('rs <- *deploy'), work('job <- *cron')],
    { cron: found('u-cron') },
    'refuse',
    ['create deploy', 'leave job to cron', 'leave rs to deploy'],
  ],
  [
    'leaves nothing to a controller that is lost or being deleted, or that could not be read',
    [work('rs <- *deploy'), work('pod <- *set'), work('job <- *cron')],
    {
      set: found('u-set', { isGoing: true }),
      cron: { type: 'Unknown', reason: '403' },
    },
    'refuse',
    [
      'refuse job: owner Work/cron could not be looked up: ',
      'refuse pod: owner Work/set (uid u-set) is being dele',
      'refuse rs: owner Work/deploy (uid u-deploy) does no',
    ],
  ],
  [
    'creates what a controller makes by itself if asked',
    [work('deploy'), work('rs <- *deploy')],
    {},
    'controlled',
    ['create deploy', 'create rs; made u-deploy'],
  ],
  [
    'restores the data of a controller that exists, since it cannot make that again',
    [archived('claim <- *set', { kind: 'PersistentVolumeClaim' }), 'settings <- *set'],
    { set: found('u-new') },
    'relink',
    ['create settings; other u-new', 'create claim; other u-new'],
  ],
  [
    'leaves data that its controller has made again, and takes no other of its name for that',
    ['token <- *set', 'settings <- *set'],
    {
      set: found('u-new'),
      token: foundWith('u-token-2', [], { owners: '*new' }),
      settings: found('u-x'),
    },
    'refuse',
    ['refuse settings: another object of that name is there (ui', 'leave token to set'],
  ],
  [
    'refuses data below what is left to a controller, and keeps no silence about it',
    [work('pod <- *set'), archived('claim <- *pod', { kind: 'PersistentVolumeClaim' })],
    { set: found('u-set') },
    'refuse',
    ['leave pod to set', 'refuse claim: owner Work/pod is left to its controller'],
  ],
  [
    'leaves a Secret of which only the metadata was archived to its controller',
    [archived('token <- *set', { kind: 'Secret', content: 'metadata' })],
    { set: found('u-set') },
    'refuse',
    ['leave token to set'],
  ],
  [
    'leaves what a controller makes below an object that it drops the owner of',
    [work('rs <- *deploy'), work('pod <- *rs')],
    {},
    'drop',
    ['create rs; dropped; unmanaged', 'leave pod to rs'],
  ],
  [
    'links what was restored without its owner',
    ['settings <- deploy', work('rs <- *deploy')],
    {
      deploy: found('u-new'),
      settings: found('v-1', { from: 'settings' }),
      rs: foundWith('v-2', [markOf(work('rs'))]),
    },
    'relink',
    ['link settings; other u-new', 'link rs; other u-new'],
  ],
  [
    'links it to an owner that it creates',
    ['deploy', 'settings <- deploy, other'],
    { settings: found('v-1', { from: 'settings', owners: 'other' }) },
    'relink',
    ['create deploy', 'link settings; made u-deploy'],
  ],
  [
    'says what an object lacks that was restored without its owner, and links nothing unasked',
    ['settings <- deploy, gone, unread', 'theme <- *deploy'],
    {
      deploy: found('u-new'),
      unread: { type: 'Unknown', reason: '403' },
      settings: found('v-1', { from: 'settings' }),
      theme: found('v-2', { from: 'theme', owners: '*other' }),
    },
    'refuse',
    [
      'keep settings as v-1; deploy not-asked; gone absent; unread unknown',
      'keep theme as v-2; deploy controlled',
    ],
  ],
  [
    'links nothing that the restore did not create, and nothing that names such an owner already',
    ['settings <- deploy', 'theme <- deploy'],
    {
      deploy: found('u-new'),
      settings: found('u-settings'),
      theme: found('v-1', { from: 'theme', owners: 'deploy' }),
    },
    'relink',
    ['keep settings as u-settings', 'keep theme as v-1'],
  ],
]

for (const [what, objects, now, lost, expected] of plans) {
  test(`a plan ${what}`, () => {
    const chosen = objects.map((each) => (typeof each === 'string' ? archived(each) : each))
    const at = (name: string, kind = 'ConfigMap'): Look => {
      const look = now[name] ?? ABSENT
      if (look.type !== 'Found') return look
      return { ...look, object: { ...look.object, group: '', kind, name } }
    }
    const survey = {
      at: ({ name, kind }: ArchivedObject) => at(name, kind),
      owner: (_: ArchivedObject, { name }: OwnerReference) => at(name),
    }
    const controlled = lost === 'controlled'
    const wishes: Wishes = { lost: controlled ? 'refuse' : lost, controlled, included: ALL }
    deepEqual(planRestore(chosen, survey, wishes).map(show), expected)
  })
}

test('a mark says whose it is, and is a key that the API takes whatever the uid', () => {
  const uid = '8f14e45f-ceea-467f-a0e2-5f0f2b1c3d4e'
  const { key, value } = markOf(archived('web', { uid, group: 'apps', kind: 'ReplicaSet' }))
  deepEqual([key, value], [`restored-from.kinfold.dev/${uid}`, 'ReplicaSet.apps/web'])
  for (const odd of ['', 'a/b', 'ä', 'x'.repeat(128), '-a']) {
    match(markOf(archived('web', { uid: odd })).key, /^restored-from\.kinfold\.dev\/[0-9a-f]{63}$/)
  }
})

test('a subtree is all that hung on an object, itself included if it is there', () => {
  const lines = ['pod <- rs', 'rs <- deploy', 'other <- else', 'job']
  const objects = new Map(lines.map((line) => [archived(line).uid, archived(line)]))
  const names = (uid: string): string[] => subtreeOf(objects, rootOf(uid)).map(({ name }) => name)
  deepEqual([names('u-deploy'), names('u-job'), names('u-nobody')], [['rs', 'pod'], ['job'], []])
})

test('a chain as long as anybody may make it is found and planned without a stack that grows', () => {
  const names = Array.from({ length: CHAIN }, (_, index) => `c${index}`)
  const chain = names.map((name, index) =>
    archived(index === 0 ? name : `${name} <- c${index - 1}`),
  )
  // The last one first, as an archive may have them.
  const objects = new Map(chain.toReversed().map((each) => [each.uid, each]))
  const chosen = subtreeOf(objects, rootOf('u-c0'))
  equal(chosen.length, CHAIN)
  const survey = { at: () => ABSENT, owner: () => ABSENT }
  const steps = planRestore(chosen.toReversed(), survey, {
    ...{ lost: 'refuse', controlled: false, included: ALL },
  })
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
  const roots = rootsOf(
    objects,
    { kind: 'ConfigMaps', name: 'deploy', namespace: 'default' },
    unserved,
  )
  deepEqual(
    roots.map(({ identity }) => identity.uid),
    ['u-later', 'u-deploy'],
  )
  const elsewhere = { kind: 'ConfigMap', name: 'deploy', namespace: 'elsewhere' }
  deepEqual(rootsOf(objects, elsewhere, unserved), [])
})

test('T4: what hands out rights, or is a Secret, is created only where it is named', () => {
  const kinds: readonly (readonly [group: string, kind: string, guard: Guard])[] = [
    ['rbac.authorization.k8s.io', 'RoleBinding', 'rbac'],
    ['rbac.authorization.k8s.io', 'ClusterRole', 'rbac'],
    ['admissionregistration.k8s.io', 'ValidatingAdmissionPolicy', 'admission'],
    ['admissionregistration.k8s.io', 'MutatingWebhookConfiguration', 'admission'],
    ['certificates.k8s.io', 'CertificateSigningRequest', 'rbac'],
    ['certificates.k8s.io', 'ClusterTrustBundle', 'rbac'],
    ['authorization.openshift.io', 'RoleBinding', 'rbac'],
    ['security.openshift.io', 'SecurityContextConstraints', 'rbac'],
    ['user.openshift.io', 'Group', 'rbac'],
    ['oauth.openshift.io', 'OAuthClient', 'rbac'],
    ['config.openshift.io', 'OAuth', 'rbac'],
    ['iamauthenticator.k8s.aws', 'IAMIdentityMapping', 'rbac'],
    ['management.cattle.io', 'GlobalRole', 'rbac'],
    ['management.cattle.io', 'GlobalRoleBinding', 'rbac'],
    ['management.cattle.io', 'RoleTemplate', 'rbac'],
    ['management.cattle.io', 'ClusterRoleTemplateBinding', 'rbac'],
    ['management.cattle.io', 'ProjectRoleTemplateBinding', 'rbac'],
    ['flowcontrol.apiserver.k8s.io', 'FlowSchema', 'admission'],
    ['flowcontrol.apiserver.k8s.io', 'PriorityLevelConfiguration', 'admission'],
    ['policy', 'PodSecurityPolicy', 'admission'],
    ['extensions', 'PodSecurityPolicy', 'admission'],
    ['kyverno.io', 'ClusterPolicy', 'admission'],
    ['policies.kyverno.io', 'MutatingPolicy', 'admission'],
    ['templates.gatekeeper.sh', 'ConstraintTemplate', 'admission'],
    ['constraints.gatekeeper.sh', 'K8sRequiredLabels', 'admission'],
    ['mutations.gatekeeper.sh', 'Assign', 'admission'],
    ['apiextensions.k8s.io', 'CustomResourceDefinition', 'crds'],
    ['apiregistration.k8s.io', 'APIService', 'apiservices'],
    ['', 'Secret', 'secrets'],
  ]
  const survey = { at: () => ABSENT, owner: () => ABSENT }
  for (const [group, kind, guard] of kinds) {
    const planned = (included: readonly Guard[]): readonly Step[] => {
      const wishes = { lost: 'refuse', controlled: false, included: new Set(included) } as const
      return planRestore([archived('it', { group, kind })], survey, wishes)
    }
    const others = GUARDS.filter((each) => each !== guard)
    const [refused] = planned(others)
    deepEqual(refused?.type === 'refuse' && refused.guard, guard, kind)
    deepEqual(planned([guard]).map(show), ['create it'])
  }
})

test('kinds beside those that hand out rights are restored as any other', () => {
  const survey = { at: () => ABSENT, owner: () => ABSENT }
  const wishes = { lost: 'refuse', controlled: false, included: new Set<Guard>() } as const
  for (const [group, kind] of [
    ['policy', 'PodDisruptionBudget'],
    ['config.openshift.io', 'Proxy'],
    ['management.cattle.io', 'Project'],
    ['', 'ConfigMap'],
  ] as const) {
    const planned = planRestore([archived('it', { group, kind })], survey, wishes)
    deepEqual(planned.map(show), ['create it'], kind)
  }
})

const PLACE = placeOf(archived('far'))

/** What is known of the owner in another cluster, what becomes of lost owners, and the plan. */
const elsewhere: readonly (readonly [string, OwnerStatus | undefined, Wishes['lost'], string])[] = [
  ['is created by the same plan', { type: 'Created', place: PLACE }, 'refuse', 'made u-far in n'],
  ['is there', { type: 'Same', uid: 'u-far', place: PLACE }, 'refuse', 'same u-far in n'],
  ['was restored before', { type: 'Same', uid: 'u-2', place: PLACE }, 'refuse', 'other u-2 in n'],
  ['was replaced', { type: 'Other', uid: 'u-2', place: PLACE }, 'refuse', 'refused: other'],
  ['was replaced', { type: 'Other', uid: 'u-2', place: PLACE }, 'relink', 'other u-2 in n'],
  ['does not exist', { type: 'Lost', how: 'absent' }, 'refuse', 'refused: absent'],
  ['does not exist', { type: 'Lost', how: 'absent' }, 'relink', 'refused: absent'],
  ['does not exist', { type: 'Lost', how: 'absent' }, 'drop', 'dropped  in n'],
  ['could not be looked up', { type: 'Unknown', reason: 'silence' }, 'drop', 'refused: undefined'],
  ['is in a cluster to which no context leads', undefined, 'drop', 'unseen u-far in north'],
]

for (const [name, status, lost, expected] of elsewhere) {
  test(`an owner in another cluster that ${name} is as an owner here, with ${lost}`, () => {
    const object = archived('a', { ownerElsewhere: 'north//ConfigMap/hub/far/u-far' })
    const survey = { at: () => ABSENT, owner: () => ABSENT }
    const wishes = { lost, controlled: false, included: new Set<Guard>() }
    const found = status && { status, cluster: 'n' }
    const [step] = planRestore([object], survey, wishes, () => found)
    ok(step !== undefined)
    if (step.type === 'refuse') return equal(`refused: ${step.lost?.now}`, expected)
    ok(step.type === 'create' && step.elsewhere !== null)
    const { becomes, uid, cluster } = step.elsewhere
    equal(`${becomes} ${uid} in ${cluster}`, expected)
  })
}
