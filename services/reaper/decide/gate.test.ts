/**
 * The gate's rules, one row each: facts that block, owners that are verified, live GETs that
 * disprove.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Command, OwnerClaim } from '../../../core/model/command.ts'
import type { OwnerReference } from '../../../core/model/object.ts'
import { policyFor } from '../../../core/model/policy.ts'
import { ruleIn } from '../../../testing/model/rule-notation.ts'
import {
  annotateObject,
  CLAIM,
  deleteByRule,
  deleteObject,
  MARKING,
  OWNER,
  object,
  orphanDependent,
  POD,
  removeFinalizer,
  verifyOwner,
  warnObject,
} from '../../../testing/rig/reaper.ts'
import { DEFAULT_REAPER_CONFIG as BOUNDS } from '../config.ts'
import { claimsToProve, disproof, type Facts, judge } from './gate.ts'

const FINE: Facts = {
  ageMs: 0,
  newsMs: 0,
  isReachable: true,
  clusterEpoch: 1,
  isConnected: true,
  elsewhere: null,
  pausedBecause: '',
  barredBecause: '',
  guarding: {
    policy: policyFor('enforce', 'guarded').protection,
    subjects: [],
    namespacesWhereUnseen: [],
  },
  ruleBecause: '',
  isUnbroken: true,
  mode: 'enforce',
  policyMode: 'enforce',
  unlocked: undefined,
  rule: undefined,
  readFor: [],
}

const verbs = [deleteObject(), orphanDependent(), removeFinalizer(), verifyOwner(), warnObject()]

for (const command of verbs) {
  test(`lets a ${command.type} go when nothing is against it`, () => {
    deepEqual(judge(command, FINE, BOUNDS), { type: 'Go', dryRun: false })
  })
}

const facts: readonly (readonly [string, Partial<Facts>, string])[] = [
  ['too old', { ageMs: 600_001 }, 'expired'],
  ['paused', { pausedBecause: 'paused' }, 'paused'],
  ['given while the disk is low', { barredBecause: 'disk: low' }, 'disk: low'],
  [
    'of a cluster out of reach',
    { isReachable: false },
    'this reaper has no connection to the cluster',
  ],
  ['of a cluster never heard of', { clusterEpoch: undefined }, 'the watcher is not connected'],
  ['without a watcher', { isConnected: false }, 'the watcher is not connected'],
  ['of an older epoch', { clusterEpoch: 2 }, "the cluster's epoch is 2, the command's 1"],
  ['of a newer epoch', { clusterEpoch: 0 }, "the cluster's epoch is 0, the command's 1"],
  ['where nothing may be done', { mode: 'observe' }, 'this reaper only observes'],
  ['given under another policy', { policyMode: 'observe' }, 'the policy only observes by now'],
]

for (const [what, more, reason] of facts) {
  test(`blocks every command that is ${what}`, () => {
    for (const command of verbs) {
      deepEqual(judge(command, { ...FINE, ...more }, BOUNDS), {
        type: 'Blocked',
        reason,
        isSpared: false,
      })
    }
  })
}

const RULED = { name: 'old', digest: 'd', policy: null }
const byRule: readonly (readonly [string, Command, Partial<Facts>, string | undefined])[] = [
  ['of an object without owners', deleteByRule(), {}, undefined],
  ['of an object that has some', deleteByRule({ references: [OWNER] }), {}, undefined],
  ['of a rule that is suspended', deleteByRule(), { ruleBecause: 'suspended' }, 'suspended'],
  ['while all is paused', deleteByRule(), { pausedBecause: 'paused' }, 'paused'],
  ['that names no uid', deleteByRule({ target: { ...POD, uid: '' } }), {}, 'names no uid'],
  [
    'that names no version',
    deleteByRule({ target: { ...POD, resourceVersion: '' } }),
    {},
    'names no resourceVersion',
  ],
  ['that names no rule', deleteByRule({ rule: null }), {}, 'has evidence of a rule and names none'],
  ['without the evidence of one', deleteObject({ rule: RULED }), {}, 'or names one without it'],
  [
    'that orphans by one',
    orphanDependent({ evidence: 'rule' }),
    {},
    'has evidence of a rule and names none',
  ],
  [
    'that removes a finalizer by one',
    removeFinalizer({ evidence: 'rule' }),
    {},
    'has evidence of a rule and names none',
  ],
  ['that warns ahead', warnObject({ evidence: 'rule' }), {}, undefined],
]

for (const [what, command, more, reason] of byRule) {
  test(`a rule's command ${what}: ${reason ?? 'goes'}`, () => {
    const pass = judge(command, { ...FINE, ...more }, BOUNDS)
    if (reason === undefined) return deepEqual(pass, { type: 'Go', dryRun: false })
    ok(pass.type === 'Blocked' && pass.reason.includes(reason) && !pass.isSpared, `${pass.type}`)
  })
}

const KEEPS = ruleIn('old pod 0 keep:1')
const UNUSED = ruleIn('old pod 0 unused:60')
const ABSENT = ruleIn('old pod 0 no-node:spec.nodeName')
const NODE: OwnerClaim = { ...CLAIM, group: '', kind: 'Node', uid: '', claim: 'absent' }
const FAR = ruleIn('old pod 0 elsewhere:north import:widget/a export:widget/a/c')
const FAR_OWNER: OwnerClaim = {
  ...{ ...CLAIM, claim: 'gone-elsewhere', cluster: 'north', clusterEpoch: 1 },
}
const NORTH = { isReachable: true, clusterEpoch: 1, isConnected: true }
const askedFar = deleteByRule({ owners: [FAR_OWNER], freshness: 'recheck' })
const unasked = 'this reaper has no connection to cluster north, where the owner was'
const unsaid = 'the command of rule old does not say which owner in another cluster is gone'
const counted = 'what rule old keeps was counted too long ago'
const seen = 'what uses the object was seen too long ago'
const unnamed = 'the command of rule old does not say which Node is absent'
const byOthers: readonly (readonly [string, Command, Partial<Facts>, string | undefined])[] = [
  ['keeps some', deleteByRule(), { rule: KEEPS, newsMs: 5_000 }, undefined],
  ['keeps some, a while ago', deleteByRule(), { rule: KEEPS, newsMs: 5_001 }, counted],
  ['asks what nothing uses', deleteByRule(), { rule: UNUSED, newsMs: 5_000 }, undefined],
  ['asks so, a while ago', deleteByRule(), { rule: UNUSED, newsMs: 5_001 }, seen],
  ['asks so, before a failure', deleteByRule(), { rule: UNUSED, isUnbroken: false }, seen],
  ['keeps some, before a failure', deleteByRule(), { rule: KEEPS, isUnbroken: false }, counted],
  [
    'misses another object',
    deleteByRule({ owners: [NODE], freshness: 'recheck' }),
    { rule: ABSENT, newsMs: 5_001 },
    undefined,
  ],
  ['misses none that is named', deleteByRule(), { rule: ABSENT }, unnamed],
  ['misses one unverified', deleteByRule({ owners: [NODE] }), { rule: ABSENT }, unnamed],
  ['asks elsewhere', askedFar, { rule: FAR }, unasked],
  ['asks where it can', askedFar, { rule: FAR, elsewhere: NORTH }, undefined],
  [
    'asks where it cannot',
    askedFar,
    { rule: FAR, elsewhere: { ...NORTH, isReachable: false } },
    unasked,
  ],
  [
    'asks what no watcher watches',
    askedFar,
    { rule: FAR, elsewhere: { ...NORTH, isConnected: false } },
    'the watcher of cluster north, where the owner was, is not connected',
  ],
  [
    'asks in a later epoch',
    askedFar,
    { rule: FAR, elsewhere: { ...NORTH, clusterEpoch: 2 } },
    "the epoch of cluster north is 2, the command's 1",
  ],
  [
    'asks for several',
    deleteByRule({ owners: [FAR_OWNER, NODE], freshness: 'recheck' }),
    { rule: FAR, elsewhere: NORTH },
    'the command names an owner in cluster north, and others',
  ],
  [
    'asks for none, though its command does',
    askedFar,
    { rule: ruleIn('old pod 0'), elsewhere: NORTH },
    'rule old asks for no owner in another cluster',
  ],
  [
    'asks another cluster',
    deleteByRule({ owners: [{ ...FAR_OWNER, cluster: 'west' }], freshness: 'recheck' }),
    { rule: FAR, elsewhere: NORTH },
    unsaid,
  ],
  ['asks elsewhere, and does not say', deleteByRule({ owners: [NODE] }), { rule: FAR }, unsaid],
]

for (const [what, command, more, reason] of byOthers) {
  test(`a command of a rule that ${what}: ${reason ?? 'goes'}`, () => {
    const pass = judge(command, { ...FINE, ...more }, BOUNDS)
    if (reason === undefined) return deepEqual(pass, { type: 'Go', dryRun: false })
    deepEqual(pass, { type: 'Blocked', reason, isSpared: false })
  })
}

const STALE = { key: 'example.com/stale', value: 'yes' }
const marks: readonly (readonly [string, Command, Partial<Facts>, string | undefined])[] = [
  ['of its rule', annotateObject(), {}, undefined],
  ['of a policy, not read yet', ofPolicy(), { rule: undefined }, undefined],
  ['of a rule that is not known', annotateObject(), { rule: undefined }, 'is not known here'],
  [
    'with another key',
    annotateObject({ annotation: { ...STALE, key: 'example.com/other' } }),
    {},
    'sets no annotation example.com/other',
  ],
  [
    'with another value',
    annotateObject({ annotation: { ...STALE, value: 'no' } }),
    {},
    'sets no annotation example.com/stale with that value',
  ],
  [
    'of a rule that deletes',
    annotateObject(),
    { rule: ruleIn('mark cm 60') },
    'sets no annotation',
  ],
  [
    'with a key that acts, whatever its rule says',
    annotateObject({ annotation: { key: 'argocd.argoproj.io/sync-wave', value: 'yes' } }),
    { rule: ruleIn('mark cm 60 annotate:argocd.argoproj.io/sync-wave=yes') },
    'keys of argoproj.io have effects of their own',
  ],
  ['that deletes instead', deleteByRule({}, MARKING), {}, 'annotates, and deletes nothing'],
  [
    'that names no version',
    annotateObject({ target: { ...POD, resourceVersion: '' } }),
    {},
    'names no resourceVersion',
  ],
  ['that names no uid', annotateObject({ target: { ...POD, uid: '' } }), {}, 'names no uid'],
  ['of a rule that is suspended', annotateObject(), { ruleBecause: 'suspended' }, 'suspended'],
  ['without evidence', annotateObject({ evidence: 'deleted' }), {}, 'names one without it'],
]

function ofPolicy(): Command {
  const named = { kind: 'CleanupPolicy', version: 'v1alpha1', namespace: 'ns', name: 'mark' }
  const account = 'system:serviceaccount:ns:a'
  const { rule, ...command } = annotateObject()
  return { ...command, rule: { ...rule, policy: { ...named, uid: 'p', account } } }
}

for (const [what, command, more, reason] of marks) {
  test(`an annotation ${what}: ${reason ?? 'goes'}`, () => {
    const pass = judge(command, { ...FINE, rule: MARKING, ...more }, BOUNDS)
    if (reason === undefined) return deepEqual(pass, { type: 'Go', dryRun: false })
    ok(pass.type === 'Blocked' && pass.reason.includes(reason), JSON.stringify(pass))
  })
}

test('an annotation of what is protected is not set', () => {
  const subject = { subject: 'namespace/ns', who: 'ann', why: '', scope: '' }
  const guarding = { ...FINE.guarding, subjects: [subject] }
  const pass = judge(annotateObject(), { ...FINE, rule: MARKING, guarding }, BOUNDS)
  ok(pass.type === 'Blocked' && pass.isSpared)
})

test('no other command asks whether a rule is enforced', () => {
  for (const command of verbs) {
    deepEqual(judge(command, { ...FINE, ruleBecause: 'suspended' }, BOUNDS), {
      ...{ type: 'Go', dryRun: false },
    })
  }
})

test('spares what a rule would delete and a user protects', () => {
  const subject = { subject: 'namespace/ns', who: 'ann', why: '', scope: '' }
  const guarding = { ...FINE.guarding, subjects: [subject] }
  const pass = judge(deleteByRule(), { ...FINE, guarding }, BOUNDS)
  ok(pass.type === 'Blocked' && pass.isSpared)
})

const CONFIG_MAP = ofKind('ConfigMap')
const WIDGET = { ...ofKind('Widget'), apiVersion: 'example.com/v1' }

function ofKind(kind: string): OwnerReference {
  const name = kind.toLowerCase()
  return { apiVersion: 'v1', kind, name, uid: name, controller: false, blockOwnerDeletion: false }
}

const faulty: readonly (readonly [string, Command, string])[] = [
  ['bulk', deleteObject({ evidence: 'bulk' }), 'needs approval'],
  ['bulk, orphaning', orphanDependent({ evidence: 'bulk' }), 'needs approval'],
  ['no uid', deleteObject({ target: { ...POD, uid: '' } }), 'the command names no uid'],
  [
    'no version',
    deleteObject({ target: { ...POD, resourceVersion: '' } }),
    'the command names no resourceVersion',
  ],
  ['no references', deleteObject({ references: [] }), 'the object had no owner references'],
  [
    'a recheck without an owner',
    deleteObject({ freshness: 'recheck', owners: [], references: [WIDGET] }),
    "the owner's kind is not served, so that its absence cannot be verified: Widget (example.com/v1)",
  ],
  [
    'a recheck without an owner, orphaning',
    orphanDependent({
      ...{ freshness: 'recheck', owners: [] },
      ...{ references: [CONFIG_MAP, WIDGET, WIDGET], drop: [1, 2] },
    }),
    "the owner's kind is not served, so that its absence cannot be verified: Widget (example.com/v1)",
  ],
  [
    'bulk, approved, without an owner',
    deleteObject({
      ...{ evidence: 'bulk', freshness: 'recheck', approvedBy: 'anna', owners: [] },
      references: [WIDGET, CONFIG_MAP],
    }),
    "the owner's kinds are not served, so that its absence cannot be verified: Widget (example.com/v1), ConfigMap (v1)",
  ],
  [
    'a recheck without an owner, of more kinds than are named',
    deleteObject({ freshness: 'recheck', owners: [], references: [...'abcdefg'].map(ofKind) }),
    "the owner's kinds are not served, so that its absence cannot be verified: a (v1), b (v1), c (v1), d (v1), e (v1) and others",
  ],
  [
    'nothing to drop',
    orphanDependent({ drop: [] }),
    'the command drops no reference, or one that it does not list',
  ],
  [
    'a drop of nothing',
    orphanDependent({ drop: [2] }),
    'the command drops no reference, or one that it does not list',
  ],
  ['a finalizer not listed', removeFinalizer({ finalizers: [] }), 'no such finalizer listed'],
]

for (const [what, command, reason] of faulty) {
  test(`blocks a command with ${what}`, () => {
    deepEqual(judge(command, FINE, BOUNDS), { type: 'Blocked', reason, isSpared: false })
  })
}

test('says of an object that it stays for what protects it', () => {
  const subject = { subject: 'namespace/ns', who: 'ann', why: '', scope: ' --cluster north' }
  const guarding = { ...FINE.guarding, subjects: [subject] }
  const reason = 'protected by ann; "kinfold unprotect namespace/ns --cluster north" releases it'
  deepEqual(judge(deleteObject(), { ...FINE, guarding }, BOUNDS), {
    ...{ type: 'Blocked', reason, isSpared: true },
  })
})

test('lets a mass cause go that a person approved, once its owners are looked at again', () => {
  for (const command of [deleteObject, orphanDependent]) {
    const approved = command({ evidence: 'bulk', freshness: 'recheck', approvedBy: 'anna' })
    deepEqual(judge(approved, FINE, BOUNDS), { type: 'Go', dryRun: false })
    deepEqual(claimsToProve(approved, FINE, BOUNDS), approved.owners)
  }
})

const insteadBecause = 'this reaper makes dry runs only (--mode)'
const modes = [
  ['enforce', 'enforce', { dryRun: false }],
  ['enforce', 'dry-run', { dryRun: true }],
  // The fold asked for an effect, and asks again.
  ['dry-run', 'enforce', { dryRun: true, insteadBecause }],
  ['dry-run', 'dry-run', { dryRun: true }],
] as const

for (const [mode, own, how] of modes) {
  test(`takes the stricter of ${mode} here and ${own} in the command`, () => {
    const pass = judge(deleteObject({ mode: own }), { ...FINE, mode }, BOUNDS)
    deepEqual(pass, { type: 'Go', ...how })
  })
}

test('takes the stricter of the policy now and what it was in the command', () => {
  const [now, before] = [{ ...FINE, policyMode: 'dry-run' } as const, FINE]
  deepEqual(judge(deleteObject(), now, BOUNDS), {
    type: 'Go',
    dryRun: true,
    insteadBecause: 'the policy asks for dry runs only by now',
  })
  const dry = deleteObject({ mode: 'dry-run' })
  for (const facts of [now, before])
    deepEqual(judge(dry, facts, BOUNDS), { type: 'Go', dryRun: true })
})

const absent = CLAIM
const waiting = { ...CLAIM, name: 'waits', claim: 'waiting' } as const
const orphaning = { ...CLAIM, name: 'orphans', claim: 'orphaning' } as const

// Freshness, then the owners that are verified for facts observed a moment ago, more than two
// seconds ago, more than five, and before the connection broke.
const proofs = [
  ['live', '', 'waits', 'rs waits', 'rs waits'],
  ['recheck', 'rs waits', 'rs waits', 'rs waits', 'rs waits'],
] as const

for (const [freshness, young, older, old, broken] of proofs) {
  test(`verifies the owners of a command that is ${freshness}`, () => {
    for (const command of [
      deleteObject({ freshness, owners: [absent, waiting] }),
      orphanDependent({ freshness, owners: [absent, waiting] }),
    ]) {
      const names = (newsMs: number, isUnbroken = true) =>
        claimsToProve(command, { newsMs, isUnbroken }, BOUNDS)
          .map(({ name }) => name)
          .join(' ')
      equal(names(2_000), young)
      equal(names(2_001), older)
      equal(names(5_000), older)
      equal(names(5_001), old)
      equal(names(1, false), broken)
    }
  })
}

const unknown = {
  type: 'Unknown',
  code: 403,
  reason: 'forbidden',
  transient: false,
  retryAfterMs: null,
} as const
const found = (more: Parameters<typeof object>[0]) =>
  ({ type: 'Found', object: object({ uid: CLAIM.uid, ...more }), code: 200 }) as const

// A live GET, then whether it confirms that the owner is absent, that it waits, and that it
// orphans; if it is unclear dependents stay.
const looks = [
  ['nothing', { type: 'Absent', code: 404 }, true, true, true],
  ['another uid', found({ uid: 'u-2', name: CLAIM.name }), true, true, true],
  ['no uid', found({ uid: '' }), false, false, false],
  ['no answer', unknown, false, false, false],
  ['the owner', found({}), false, false, false],
  ['the owner, going', found({ deletedAt: 1 }), false, false, true],
  [
    'the owner, waiting',
    found({ deletedAt: 1, finalizers: ['foregroundDeletion'] }),
    false,
    true,
    false,
  ],
  [
    'the owner, orphaning',
    found({ deletedAt: 1, finalizers: ['foregroundDeletion', 'orphan'] }),
    false,
    false,
    true,
  ],
] as const

const NO_RULE = { rule: undefined, readFor: [] }

for (const [what, look, provesAbsent, provesWaiting, provesOrphaning] of looks) {
  test(`is told by ${what}`, () => {
    equal(disproof(absent, look, NO_RULE) === undefined, provesAbsent)
    equal(disproof(waiting, look, NO_RULE) === undefined, provesWaiting)
    equal(disproof(orphaning, look, NO_RULE) === undefined, provesOrphaning)
  })
}

test('makes a dry run of every command while the lock that is required is not in force, and says why', () => {
  for (const command of verbs) {
    deepEqual(judge(command, { ...FINE, unlocked: 'no lock' }, BOUNDS), {
      type: 'Go',
      dryRun: true,
      insteadBecause: 'no lock',
    })
    const asked = { ...command, mode: 'dry-run' } as const
    deepEqual(judge(asked, { ...FINE, unlocked: 'no lock' }, BOUNDS), { type: 'Go', dryRun: true })
  }
})
