/**
 * By the deletion of which owner an object was orphaned, as `/v1/why` answers: only where the
 * record proves it.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Why } from '../../../cli/answer.ts'
import type { Command, Outcome } from '../../../core/model/command.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Authority } from '../../../runtime/http/authority.ts'
import { checked } from '../../../testing/answer-check.ts'
import { auditEvent, eventList } from '../../../testing/audit-event.ts'
import { eventually } from '../../../testing/eventually.ts'
import { GraphGroup, tell } from '../../../testing/rig/graph-group.ts'
import { codec, eventsOf } from '../../../testing/rig/task-rig.ts'

const MADE = ['put deploy/web', 'put cm/a <- deploy/web']
/** An API server puts the finalizer on the owner, a collector removes references and finalizer. */
const ASKED = 'put deploy/web [deleting orphan]'
const ORPHANED = [...MADE, ASKED, 'put cm/a', 'delete deploy/web']
const BESIDE = 'policy observe parity'

type Orphaned = NonNullable<Why['orphaned']>

interface Rig {
  readonly url: string
  why(uid: string): Promise<Why>
  of(uid: string): Promise<string>
}

async function rigFor(
  t: TestContext,
  story: readonly string[],
  authority?: Authority,
): Promise<Rig> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start(
    authority === undefined ? {} : { authority, isReadingReviewed: true },
  )
  // Of a command of this log: the story has one of its own.
  const known = async (event: Event): Promise<Event> => {
    if (event.type !== 'CommandSettled') return event
    await group.caughtUp()
    const { entries } = await group.log.read('commands', 0, 0n, { limit: 1_000, waitMs: 0 })
    const all = entries.map(({ value }) => codec.decode(value as Uint8Array) as Command)
    const own = all.findLast(({ target }) => target.uid === event.uid)
    return { ...event, command: own?.id ?? 'none', outcome: 'done' satisfies Outcome }
  }
  for (const event of eventsOf(story)) await tell(group.log, [await known(event)])
  await group.caughtUp()
  const why = async (uid: string): Promise<Why> => {
    const asked = `${url}/v1/why?uid=${uid}`
    const answer = await fetch(asked, { headers: { authorization: 'Bearer ann' } })
    return (await (await checked(asked, answer)).json()) as Why
  }
  const of = async (uid: string): Promise<string> => {
    const { orphaned } = await why(uid)
    return orphaned === null ? 'none' : toldOf(orphaned)
  }
  return { url, why, of }
}

function toldOf({ owner, isOver, deletion }: Orphaned): string {
  const by = deletion === null ? 'unknown' : (deletion.deletedBy?.user ?? deletion.by)
  return `${owner.kind}/${owner.name} ${isOver ? 'deleted' : 'being deleted'} by ${by}`
}

const DELETED = 'Deployment/web deleted by others'

for (const [what, story, expected] of [
  ['by another collector', [BESIDE, ...ORPHANED], DELETED],
  [
    'by Kinfold',
    [
      ...[...MADE, ASKED, 'settle cm/a done', 'put cm/a', 'settle deploy/web done'],
      'delete deploy/web',
    ],
    DELETED,
  ],
  [
    'while its owner is still being deleted',
    [BESIDE, ...MADE, ASKED, 'put cm/a'],
    'Deployment/web being deleted by others',
  ],
  [
    'and keeps another owner',
    [
      BESIDE,
      'put rs/x',
      'put deploy/web',
      'put cm/a <- deploy/web, rs/x',
      ASKED,
      'put cm/a <- rs/x',
    ],
    'Deployment/web being deleted by others',
  ],
  [
    'long after its owner was deleted, since it came late',
    [...MADE, ASKED, 'delete deploy/web', 'beat 900', 'put cm/a <- deploy/web', 'put cm/a'],
    DELETED,
  ],
  [
    'by a second request, of which nobody knows whose it was',
    [
      BESIDE,
      ...MADE,
      'put deploy/web [deleting foreground]',
      ASKED,
      'put cm/a',
      'delete deploy/web',
    ],
    'Deployment/web deleted by unknown',
  ],
  ['not while its reference is there', [BESIDE, ...MADE, ASKED], 'none'],
  [
    'not by whom its reference was removed for before',
    [BESIDE, ...MADE, 'put cm/a', ASKED, 'delete deploy/web'],
    'none',
  ],
  [
    'not where it has got an owner since',
    [BESIDE, ...ORPHANED, 'put deploy/web@new', 'put cm/a <- deploy/web@new'],
    'none',
  ],
  [
    'not where its owner was deleted, and another owner keeps it',
    [
      ...[BESIDE, 'put rs/x', 'put deploy/web', 'put cm/a <- deploy/web, rs/x'],
      ...['delete deploy/web', 'put cm/a <- rs/x'],
    ],
    'none',
  ],
  [
    'not where the request for orphans was taken back',
    [
      ...[BESIDE, 'put rs/x', 'put deploy/web', 'put cm/a <- deploy/web, rs/x', ASKED],
      ...['put deploy/web [deleting hold.io/x]', 'delete deploy/web', 'put cm/a <- rs/x'],
    ],
    'none',
  ],
  [
    'not where a user removed its reference after that',
    [BESIDE, ...MADE, ASKED, 'put deploy/web [deleting hold.io/x]', 'put cm/a'],
    'none',
  ],
  ['not where it was deleted since', [BESIDE, ...ORPHANED, 'delete cm/a'], 'none'],
  ['not where it never had an owner', [BESIDE, 'put cm/a'], 'none'],
] as const) {
  test(`an object is orphaned ${what}`, async (t) => {
    const { of } = await rigFor(t, story)
    equal(await of('cm-a'), expected)
  })
}

test('of an owner that who asks may not get, neither name nor user is said', async (t) => {
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, _cluster, { resource }) => resource === 'configmaps',
  }
  const { why } = await rigFor(t, [BESIDE, ...ORPHANED], authority)
  const { orphaned } = await why('cm-a')
  const { owner, deletion } = orphaned ?? {}
  deepEqual(
    [owner?.kind, owner?.name, owner?.uid, deletion],
    [...['Deployment', 'hidden', 'hidden'], null],
  )
})

test('who deleted the owner with orphan is named, and the verdict is what it was', async (t) => {
  const { url, why, of } = await rigFor(t, [BESIDE, ...ORPHANED])
  const { orphaned, verdict, phase, deletion } = await why('cm-a')
  deepEqual([phase, verdict, deletion], ['observed', null, null])
  const at = Date.parse(orphaned?.since ?? '')
  const objectRef = {
    ...{ apiGroup: 'apps', resource: 'deployments' },
    ...{ namespace: 'ns', name: 'web', uid: 'deploy-web' },
  }
  const body = eventList(auditEvent('a', at, { user: { username: 'alice' }, objectRef }))
  const sent = await fetch(`${url}/v1/audit-events`, {
    ...{ method: 'POST', body: JSON.stringify(body) },
    headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
  })
  equal(sent.ok, true)
  await eventually('alice is named', async () => {
    const said = await of('cm-a')
    return said === 'Deployment/web deleted by alice' || said
  })
})
