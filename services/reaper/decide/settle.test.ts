/**
 * The table of answers, every case of it: each kind of answer for each verb, in each mode, at the
 * first try and after the last.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ReapAnswer } from '../../../ports/cluster.ts'
import {
  annotateObject,
  deleteObject,
  OTHER_OWNER,
  OWNER,
  object,
  orphanDependent,
  removeFinalizer,
  verifyOwner,
  warnObject,
} from '../../../testing/rig/reaper.ts'
import { DEFAULT_REAPER_CONFIG as BOUNDS } from '../config.ts'
import { beforeDelete, type Effect, onAnswer, onLook, readBack, type Tried } from './settle.ts'

const FIRST: Tried = { dryRun: false, retries: 0, conflicts: 0 }
const LAST: Tried = { ...FIRST, retries: BOUNDS.retries }

const effects: Readonly<Record<Effect['type'], Effect>> = {
  DeleteObject: deleteObject(),
  OrphanDependent: orphanDependent(),
  RemoveFinalizer: removeFinalizer(),
  WarnObject: warnObject(),
  AnnotateObject: annotateObject(),
}
const VERBS = [
  ...(['DeleteObject', 'OrphanDependent', 'RemoveFinalizer', 'WarnObject'] as const),
  'AnnotateObject' as const,
]

const seen = object()
const unknown = (code: number | null, transient: boolean, retryAfterMs: number | null = null) =>
  ({ type: 'Unknown', code, reason: 'no answer', transient, retryAfterMs }) as const

/** Every type of answer has its shapes here, or this does not compile. */
const answers = {
  Removed: { Removed: { type: 'Removed', code: 200 } },
  Changed: { Changed: { type: 'Changed', object: seen, code: 200 } },
  WouldGo: { WouldGo: { type: 'WouldGo', code: 200 } },
  Absent: { Absent: { type: 'Absent', code: 404 } },
  Conflict: {
    'Conflict 409': { type: 'Conflict', code: 409, reason: 'version' },
    'Conflict 422': { type: 'Conflict', code: 422, reason: 'test failed' },
  },
  Refused: {
    'Refused 403': { type: 'Refused', code: 403, reason: 'denied' },
    'Refused 422': { type: 'Refused', code: 422, reason: 'denied' },
  },
  Unknown: {
    '429': unknown(429, true),
    '429 in 2 s': unknown(429, true, 2_000),
    '429 in 60 s': unknown(429, true, 60_000),
    '401': unknown(401, true),
    '408': unknown(408, true),
    '500': unknown(500, true),
    '503 in 60 s': unknown(503, true, 60_000),
    cut: unknown(null, true),
    'plain 404': unknown(404, false),
    'unreadable 200': unknown(200, false),
    untrusted: unknown(null, false),
  },
} satisfies { [T in ReapAnswer['type']]: Record<string, ReapAnswer & { type: T }> }

const allAnswers: Readonly<Record<string, ReapAnswer>> = Object.assign(
  {},
  ...Object.values(answers),
) as Record<string, ReapAnswer>

/** One cell for all verbs, or one for each in the order of VERBS; the last as the first. */
type Row = readonly [answer: string, ...cells: string[]]

const tables: Readonly<Record<string, { readonly tried: Tried; readonly rows: readonly Row[] }>> = {
  'enforce, first try': {
    tried: FIRST,
    rows: [
      ['Removed', 'done 200'],
      ['Changed', 'done 200 +object', 'done 200 +object', 'done 200 +object', 'done 200'],
      ['WouldGo', 'blocked 200'],
      ['Absent', 'absent 404'],
      ['Conflict 409', 'read back', 'read back', 'read back', 'done 409'],
      ['Conflict 422', 'read back', 'read back', 'read back', 'done 422'],
      ['Refused 403', 'blocked 403'],
      ['Refused 422', 'blocked 422'],
      ['429', 'retry'],
      ['429 in 2 s', 'retry after 2000'],
      ['429 in 60 s', 'blocked 429'],
      ['401', 'retry'],
      ['408', 'retry'],
      ['500', 'retry'],
      ['503 in 60 s', 'read back', 'read back', 'read back', 'blocked 503'],
      ['cut', 'retry'],
      ['plain 404', 'blocked 404'],
      ['unreadable 200', 'read back', 'read back', 'read back', 'blocked 200'],
      ['untrusted', 'read back', 'read back', 'read back', 'blocked null'],
    ],
  },
  'enforce, after the last retry': {
    tried: LAST,
    rows: [
      ['Removed', 'done 200'],
      ['Changed', 'done 200 +object', 'done 200 +object', 'done 200 +object', 'done 200'],
      ['WouldGo', 'blocked 200'],
      ['Absent', 'absent 404'],
      ['Conflict 409', 'read back', 'read back', 'read back', 'done 409'],
      ['Conflict 422', 'read back', 'read back', 'read back', 'done 422'],
      ['Refused 403', 'blocked 403'],
      ['Refused 422', 'blocked 422'],
      ['429', 'blocked 429'],
      ['429 in 2 s', 'blocked 429'],
      ['429 in 60 s', 'blocked 429'],
      ['401', 'blocked 401'],
      ['408', 'read back', 'read back', 'read back', 'blocked 408'],
      ['500', 'read back', 'read back', 'read back', 'blocked 500'],
      ['503 in 60 s', 'read back', 'read back', 'read back', 'blocked 503'],
      ['cut', 'read back', 'read back', 'read back', 'blocked null'],
      ['plain 404', 'blocked 404'],
      ['unreadable 200', 'read back', 'read back', 'read back', 'blocked 200'],
      ['untrusted', 'read back', 'read back', 'read back', 'blocked null'],
    ],
  },
  'dry run, first try': {
    tried: { ...FIRST, dryRun: true },
    rows: [
      ['Removed', 'would-go 200'],
      ['Changed', 'would-go 200'],
      ['WouldGo', 'would-go 200'],
      ['Absent', 'absent 404'],
      ['Conflict 409', 'read back', 'read back', 'read back', 'done 409'],
      ['Conflict 422', 'read back', 'read back', 'read back', 'done 422'],
      ['Refused 403', 'blocked 403'],
      ['Refused 422', 'blocked 422'],
      ['429', 'retry'],
      ['429 in 2 s', 'retry after 2000'],
      ['429 in 60 s', 'blocked 429'],
      ['401', 'retry'],
      ['408', 'retry'],
      ['500', 'retry'],
      ['503 in 60 s', 'blocked 503'],
      ['cut', 'retry'],
      ['plain 404', 'blocked 404'],
      ['unreadable 200', 'blocked 200'],
      ['untrusted', 'blocked null'],
    ],
  },
  'dry run, after the last retry': {
    tried: { ...LAST, dryRun: true },
    rows: [
      ['Removed', 'would-go 200'],
      ['Changed', 'would-go 200'],
      ['WouldGo', 'would-go 200'],
      ['Absent', 'absent 404'],
      ['Conflict 409', 'read back', 'read back', 'read back', 'done 409'],
      ['Conflict 422', 'read back', 'read back', 'read back', 'done 422'],
      ['Refused 403', 'blocked 403'],
      ['Refused 422', 'blocked 422'],
      ['429', 'blocked 429'],
      ['429 in 2 s', 'blocked 429'],
      ['429 in 60 s', 'blocked 429'],
      ['401', 'blocked 401'],
      ['408', 'blocked 408'],
      ['500', 'blocked 500'],
      ['503 in 60 s', 'blocked 503'],
      ['cut', 'blocked null'],
      ['plain 404', 'blocked 404'],
      ['unreadable 200', 'blocked 200'],
      ['untrusted', 'blocked null'],
    ],
  },
}

for (const [when, { tried, rows }] of Object.entries(tables)) {
  test(`has a row for every answer: ${when}`, () => {
    deepEqual(rows.map(([answer]) => answer).sort(), Object.keys(allAnswers).sort())
  })
  for (const [name, ...cells] of rows) {
    test(`follows the table for ${name}: ${when}`, () => {
      for (const [i, verb] of VERBS.entries()) {
        const answer = allAnswers[name] as ReapAnswer
        equal(show(onAnswer(effects[verb], answer, tried, BOUNDS)), cells[i] ?? cells[0], verb)
      }
    })
  }
}

const found = (more: Parameters<typeof object>[0] = {}) =>
  ({ type: 'Found', object: object(more), code: 200 }) as const
const judged = {
  DeleteObject: found(),
  OrphanDependent: found({ ownerReferences: [OTHER_OWNER, OWNER] }),
  RemoveFinalizer: found({ finalizers: ['keep', 'orphan'] }),
}
const conflict = allAnswers['Conflict 409'] as ReapAnswer
const cut = allAnswers['cut'] as ReapAnswer
const NO_MORE = { ...FIRST, conflicts: BOUNDS.conflicts }

// verb, the result of the GET, then after: a conflict, the last conflict, an unknown outcome.
const reads = [
  ['DeleteObject', 'nothing', { type: 'Absent', code: 404 }, 'absent 404', '', ''],
  ['DeleteObject', 'no answer', unknown(503, true), 'blocked 503', '', ''],
  ['DeleteObject', 'another uid', found({ uid: 'u-2' }), 'absent 200', '', ''],
  ['DeleteObject', 'no uid', found({ uid: '' }), 'blocked 200', '', ''],
  ['DeleteObject', 'it, going', found({ deletedAt: 1 }), 'absent 200 +object', '', ''],
  [
    'DeleteObject',
    'it',
    judged.DeleteObject,
    'again 8',
    'stale 200 +object',
    'blocked null +object',
  ],
  [
    'DeleteObject',
    'a new owner',
    found({ ownerReferences: [OWNER, OTHER_OWNER] }),
    'stale 200 +object',
    '',
    '',
  ],
  ['DeleteObject', 'no owner', found({ ownerReferences: [] }), 'stale 200 +object', '', ''],
  [
    'DeleteObject',
    'a flag set',
    found({ ownerReferences: [{ ...OWNER, blockOwnerDeletion: false }] }),
    'stale 200 +object',
    '',
    '',
  ],
  ['DeleteObject', 'a finalizer', found({ finalizers: ['x'] }), 'stale 200 +object', '', ''],
  ['AnnotateObject', 'nothing', { type: 'Absent', code: 404 }, 'absent 404', '', ''],
  ['AnnotateObject', 'another uid', found({ uid: 'u-2' }), 'absent 200', '', ''],
  ['AnnotateObject', 'it, moved', found(), 'stale 200 +object', '', ''],
  ['AnnotateObject', 'it, going', found({ deletedAt: 1 }), 'stale 200 +object', '', ''],
  [
    'AnnotateObject',
    'it, annotated',
    found({ annotations: [{ key: 'example.com/stale', value: 'yes' }] }),
    'done 200 +object',
    '',
    'done 200 +object',
  ],
  [
    'AnnotateObject',
    'it, annotated otherwise',
    found({ annotations: [{ key: 'example.com/stale', value: 'no' }] }),
    'stale 200 +object',
    '',
    '',
  ],
  ['OrphanDependent', 'nothing', { type: 'Absent', code: 404 }, 'absent 404', '', ''],
  ['OrphanDependent', 'another uid', found({ uid: 'u-2' }), 'absent 200', '', ''],
  [
    'OrphanDependent',
    'it',
    judged.OrphanDependent,
    'again 8',
    'stale 200 +object',
    'blocked null +object',
  ],
  [
    'OrphanDependent',
    'it, going',
    found({ ownerReferences: [OTHER_OWNER, OWNER], deletedAt: 1 }),
    'again 8',
    'stale 200 +object',
    'blocked null +object',
  ],
  [
    'OrphanDependent',
    'it, dropped',
    found({ ownerReferences: [OTHER_OWNER] }),
    'done 200 +object',
    '',
    '',
  ],
  [
    'OrphanDependent',
    'it, moved',
    found({ ownerReferences: [OWNER, OTHER_OWNER] }),
    'stale 200 +object',
    '',
    '',
  ],
  [
    'OrphanDependent',
    'it, rewritten',
    found({ ownerReferences: [OTHER_OWNER, { ...OWNER, controller: false }] }),
    'stale 200 +object',
    '',
    '',
  ],
  ['RemoveFinalizer', 'nothing', { type: 'Absent', code: 404 }, 'absent 404', '', ''],
  [
    'RemoveFinalizer',
    'it',
    judged.RemoveFinalizer,
    'again 8',
    'stale 200 +object',
    'blocked null +object',
  ],
  ['RemoveFinalizer', 'it, removed', found({ finalizers: ['keep'] }), 'done 200 +object', '', ''],
  [
    'RemoveFinalizer',
    'it, moved',
    found({ finalizers: ['orphan', 'keep'] }),
    'stale 200 +object',
    '',
    '',
  ],
] as const

for (const [verb, what, read, afterConflict, afterLast, afterCut] of reads) {
  test(`reads back ${what} for ${verb}`, () => {
    const command = effects[verb]
    equal(show(readBack(command, conflict, read, FIRST, BOUNDS)), afterConflict)
    equal(show(readBack(command, conflict, read, NO_MORE, BOUNDS)), afterLast || afterConflict)
    equal(show(readBack(command, cut, read, LAST, BOUNDS)), afterCut || afterConflict)
  })
}

// The result of the GET, at the first try, after the last.
const looks = [
  ['nothing', { type: 'Absent', code: 404 }, 'Gone NotFound', ''],
  ['the owner', found(), 'Found u-pod', ''],
  ['another uid', found({ uid: 'u-2' }), 'Gone OtherUid u-2', ''],
  ['no uid', found({ uid: '' }), 'blocked 200', ''],
  ['a plain 404', unknown(404, false), 'blocked 404', ''],
  ['a 403', unknown(403, false), 'blocked 403', ''],
  ['a 429', unknown(429, true, 1_000), 'retry after 1000', 'blocked 429'],
  ['no answer', unknown(null, true), 'retry', 'blocked null'],
] as const

for (const [what, look, first, last] of looks) {
  test(`verifies an owner by ${what}`, () => {
    equal(show(onLook(verifyOwner(), look, FIRST, BOUNDS)), first)
    equal(show(onLook(verifyOwner(), look, LAST, BOUNDS)), last || first)
  })
}

const before = [
  ['the version judged', found({ resourceVersion: '7' }), 'send'],
  ['a later version', found(), 'Conflict'],
  ['another uid', found({ uid: 'u-2' }), 'Absent'],
  ['no uid', found({ uid: '' }), 'Refused'],
  ['nothing', { type: 'Absent', code: 404 }, 'Absent'],
  ['no answer', unknown(503, true), 'Unknown'],
] as const

for (const [what, read, expected] of before) {
  test(`sends a DELETE to an aggregated server that holds ${what}: ${expected}`, () => {
    equal(beforeDelete(deleteObject(), '7', read)?.type ?? 'send', expected)
  })
}

function show(
  step: ReturnType<typeof onAnswer> | ReturnType<typeof readBack> | ReturnType<typeof onLook>,
): string {
  switch (step.type) {
    case 'Settle':
      return `${step.outcome} ${step.code}${step.object === null ? '' : ' +object'}`
    case 'Retry':
      return step.afterMs === null ? 'retry' : `retry after ${step.afterMs}`
    case 'ReadBack':
      return 'read back'
    case 'Again':
      return `again ${step.resourceVersion}`
    case 'Found':
      return `Found ${step.object.uid}`
    case 'Gone':
      return step.how === 'OtherUid' ? `Gone OtherUid ${step.otherUid}` : 'Gone NotFound'
  }
}
