/**
 * What happened, which objects were deleted and by whom, and how far back that is known: over HTTP,
 * page by page, for who may see all and for who may not.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Command, Outcome } from '../../../core/model/command.ts'
import type { Event } from '../../../core/model/event.ts'
import { objectKey } from '../../../core/model/partition.ts'
import { LogError } from '../../../ports/log.ts'
import { partitionOf } from '../../../ports/partition.ts'
import type { HistoryRecord } from '../../../ports/record/lineage.ts'
import type { Watermark } from '../../../ports/record/service-record.ts'
import type { Authority } from '../../../runtime/http/authority.ts'
import { checked } from '../../../testing/answer-check.ts'
import { type AuditFields, auditEvent, eventList } from '../../../testing/audit-event.ts'
import { eventually } from '../../../testing/eventually.ts'
import { World } from '../../../testing/model/story.ts'
import {
  GraphGroup,
  type GraphProcess,
  type ProcessOptions,
  tell,
} from '../../../testing/rig/graph-group.ts'
import { codec } from '../../../testing/rig/task-rig.ts'
import { isNamed } from './deletion-question.ts'
import type { DiffPage } from './diff-question.ts'

/**
 * `web` is deleted by a user, what it owns by Kinfold, one after the other; and `alone` by a user.
 */
const STORY = [
  ...['put deploy/web in shop', 'put rs/web in shop <- deploy/web', 'put cm/alone in shop'],
  ...['put pod/a in shop <- rs/web', 'put pod/b in shop <- rs/web', 'put pod/c in other'],
  ...['delete deploy/web in shop', 'settle rs/web done', 'delete rs/web in shop'],
  ...['settle pod/a done', 'delete pod/a in shop', 'delete pod/b in shop', 'settle pod/b absent'],
  ...['delete cm/alone in shop', 'delete pod/c in other'],
]

interface Row {
  readonly cluster: { readonly id: string }
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly namespace: string
  readonly change: string
  readonly at: string
  readonly partition: number
  readonly position: number
  readonly by: string
  readonly evidence: string | null
  readonly command: string | null
  readonly root: { readonly kind: string; readonly name: string; readonly uid: string } | null
  readonly isInferred: boolean
  readonly isRootKnown: boolean
  readonly rootDeletedBy: { readonly user: string } | null
  readonly deletedBy: {
    readonly user: string
    readonly match: string
    readonly isCollector: boolean
    readonly others: number
  } | null
}

interface Told {
  readonly changes: readonly Row[]
  readonly deletions: readonly Row[]
  readonly hidden: number
  readonly continue: string | null
  readonly resume: string | null
  readonly since: string
  readonly partial: string
  readonly asOf: readonly { readonly partition: number; readonly position: number }[]
  readonly horizon: { readonly earliest: string; readonly because: string }
  readonly detail: string
  readonly status: number
}

interface Rig {
  readonly group: GraphGroup
  readonly process: GraphProcess
  ask(path: string): Promise<Told>
  all(path: string): Promise<readonly Row[]>
}

async function rigFor(
  t: TestContext,
  { partitions = 1, story = STORY, ...options }: RigOptions = {},
): Promise<Rig> {
  const group = new GraphGroup(partitions)
  t.after(async () => await group.stop())
  const process = await group.start(options)
  await play(group, story)
  const headers = { authorization: 'Bearer ann' }
  const ask = async (path: string): Promise<Told> => {
    const url = process.url + path
    return (await (await checked(url, await fetch(url, { headers }))).json()) as Told
  }
  const all = async (path: string): Promise<readonly Row[]> => {
    const rows: Row[] = []
    for (let cursor = ''; ; ) {
      const told = await ask(`${path}&continue=${cursor}`)
      rows.push(...(told.changes ?? told.deletions ?? []))
      equal(told.detail, undefined)
      if (told.continue === null) return rows
      cursor = told.continue
    }
  }
  return { group, process, ask, all }
}

interface RigOptions extends ProcessOptions {
  readonly partitions?: number
  readonly story?: readonly string[]
}

/** `settle KIND/NAME OUTCOME`: of the command that the graph issued last about it. */
async function play(group: GraphGroup, story: readonly string[]): Promise<void> {
  const events: Event[] = []
  const world = new World()
  const fold = world.tell.bind(world)
  world.tell = (event) => {
    events.push(event)
    return fold(event)
  }
  const told = async (all: readonly Event[]): Promise<void> => {
    await tell(group.log, all, (cluster) => homeOf(cluster, group))
    await group.caughtUp()
  }
  world.begin()
  for (const line of story) {
    const [word, what = '', outcome] = line.split(' ')
    if (word !== 'settle') world.step(line)
    if (word !== 'settle' && word !== 'delete') continue
    await told(events.splice(0))
    if (word === 'settle') await told([await settled(group, what, outcome as Outcome)])
  }
  await told(events)
}

/** The partition of a cluster. */
function homeOf(cluster: string, { partitions }: GraphGroup): number {
  return cluster === 'd' ? partitions - 1 : 0
}

async function settled(group: GraphGroup, what: string, outcome: Outcome): Promise<Event> {
  const uid = what.replace('/', '-')
  const partition = partitionOf(objectKey('c', uid), group.partitions)
  const { start } = await group.log.bounds('commands', partition)
  const { entries } = await group.log.read('commands', partition, start, { limit: 999, waitMs: 0 })
  const commands = entries.map(({ value }) => codec.decode(value as Uint8Array) as Command)
  const command = commands.findLast(({ target }) => target.uid === uid)
  ok(command !== undefined, what)
  const { group: of, kind, namespace, name } = command.target
  return {
    ...{ type: 'CommandSettled', cluster: 'c', clusterEpoch: command.clusterEpoch, uid, outcome },
    ...{ command: command.id, verb: command.type, place: { group: of, kind, namespace, name } },
    ...{ reason: '', code: null, object: null, calls: 1, list: null },
  }
}

function names(rows: readonly Row[]): readonly string[] {
  return rows.map(({ kind, name, change }) => `${change} ${kind}/${name}`)
}

const at = (ms: number): string => new Date(ms).toISOString()

/** Of history alone, so that nothing folds it. */
async function append(
  { group }: Rig,
  cluster: string,
  entries: readonly { readonly uid: string; readonly at: number; readonly partition?: number }[],
): Promise<void> {
  for (const [index, { uid, at, partition = 0 }] of entries.entries()) {
    const record: HistoryRecord = {
      ...{ type: 'History', group: '', kind: 'Pod', namespace: 'ns', name: uid, uid, cluster },
      ...{ change: 'created', text: 'created', phase: 'observed', evidence: null, command: null },
      ...{
        partition,
        position: BigInt(10_000 + index),
        basis: [],
        at,
        admission: null,
        object: null,
      },
    }
    const [key, value] = [objectKey(cluster, uid), codec.encode(record)]
    await group.log.append('history', homeOf(cluster, group), [{ key, value }])
  }
}

test('what happened in a namespace comes in the order of its log, from however many partitions', async (t) => {
  for (const partitions of [1, 5]) {
    const { all, ask } = await rigFor(t, { partitions })
    const rows = await all('/v1/changes?namespace=shop&limit=3')
    const positions = rows.map(({ position }) => position)
    deepEqual(
      positions,
      positions.toSorted((a, b) => a - b),
    )
    ok(rows.every(({ namespace }) => namespace === 'shop'))
    deepEqual(names(rows).slice(0, 3), [
      ...['created Deployment/web', 'created ReplicaSet/web', 'verdict ReplicaSet/web'],
    ])
    const whole = await all('/v1/changes?')
    equal(new Set(whole.map((row) => JSON.stringify(row))).size, whole.length)
    ok(whole.length > rows.length)
    deepEqual(names(await all('/v1/changes?kind=configmap&change=created,gone')), [
      ...['created ConfigMap/alone', 'gone ConfigMap/alone'],
    ])
    const { asOf, resume, horizon, since } = await ask('/v1/changes?')
    equal(asOf.length, 1)
    equal(resume?.split(',').length, partitions)
    equal(horizon.earliest, since)
  }
})

test('what happened to an object is found by name and by uid, also once it was deleted', async (t) => {
  const rig = await rigFor(t)
  const { all, ask } = rig
  const expected = ['created', 'verdict', 'verdict', 'command', 'result', 'gone']
  for (const asked of ['kind=replicaset&name=web&namespace=shop', 'uid=rs-web']) {
    const rows = await all(`/v1/changes?${asked}&limit=2`)
    deepEqual(
      rows.map(({ change }) => change),
      expected,
      asked,
    )
    deepEqual(names(await all(`/v1/changes?${asked}&change=gone`)), ['gone ReplicaSet/web'])
  }
  // Of one that was forgotten, the log may still have something.
  await append(rig, 'c', [{ uid: 'forgotten', at: 1_000_500 }])
  deepEqual(names(await all('/v1/changes?uid=forgotten')), ['created Pod/forgotten'])
  deepEqual(await all('/v1/changes?uid=never'), [])
  const { status, detail } = await ask('/v1/changes?kind=replicaset&name=nothing&namespace=shop')
  deepEqual([status, detail.startsWith('no replicaset/nothing was ever seen')], [404, true])
})

test('a request reads a bounded number of entries, whatever it finds', async (t) => {
  const rig = await rigFor(t, { partitions: 2, story: ['put cm/x'] })
  const count = 12_000
  await append(
    rig,
    'c',
    Array.from({ length: count }, (_, n) => ({ uid: `u${n}`, at: 2_000_000 + n })),
  )
  // It reads, too.
  await rig.group.caughtUp()
  let [pages, read] = [0, 0]
  const real = rig.group.log.read.bind(rig.group.log)
  let most = 0
  rig.group.log.read = async (...asked) => {
    const page = await real(...asked)
    if (asked[0] === 'history') read += page.entries.length
    return page
  }
  for (let cursor = ''; ; pages++) {
    read = 0
    const told = await rig.ask(`/v1/changes?kind=Pod&namespace=nowhere&continue=${cursor}`)
    most = Math.max(most, read)
    deepEqual(told.changes, [])
    if (told.continue === null) break
    cursor = told.continue
  }
  ok(pages >= 2, `${pages}`)
  ok(most <= 5_600, `${most} entries for one page`)
  equal((await rig.all('/v1/changes?kind=Pod&limit=2000')).length, count)
})

test('a page begins where the last one ended, of the same question only', async (t) => {
  const { ask } = await rigFor(t)
  const first = await ask('/v1/changes?namespace=shop&limit=1')
  const { status, detail } = await ask(`/v1/changes?limit=1&continue=${first.continue}`)
  deepEqual(
    [status, detail],
    [400, 'continue is not from an answer to this question; begin without it'],
  )
  for (const cursor of ['x', Buffer.from('["",-1,"0-1-2"]').toString('base64url')]) {
    equal((await ask(`/v1/changes?namespace=shop&continue=${cursor}`)).status, 400)
  }
  for (const wrong of ['since=yesterday', 'change=more', 'until=2026-01-01', 'limit=0']) {
    equal((await ask(`/v1/changes?${wrong}`)).status, 400, wrong)
  }
  const turned = await ask('/v1/changes?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z')
  match(turned.detail, /^until 2026-01-01T00:00:00Z is not after since 2026-01-02T00:00:00Z$/)
})

/** Names of what the stream has. */
async function streamedBy({ process }: Rig, asked: string): Promise<readonly string[]> {
  const text = await (await fetch(`${process.url}/v1/history?${asked}`)).text()
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line).value.name)
}

test('the stream goes on behind the pages', async (t) => {
  const rig = await rigFor(t, { partitions: 3 })
  const streamed = async (resume: string | null, filter: string): Promise<readonly string[]> =>
    await streamedBy(rig, `from=${resume}&${filter}`)
  const { resume } = await rig.ask('/v1/changes?')
  const ofOne = await rig.ask('/v1/changes?uid=cm-alone')
  await append(rig, 'c', [
    { uid: 'new', at: 9_000_000 },
    { uid: 'other', at: 9_000_001 },
  ])
  deepEqual((await streamed(resume, '')).toSorted(), ['new', 'other'])
  deepEqual(await streamed(resume, 'uid=new'), ['new'])
  deepEqual(await streamed(resume, 'change=gone'), [])
  deepEqual(await streamed(ofOne.resume, 'uid=cm-alone'), [])
  deepEqual(await streamed('start', 'uid=cm-alone&change=gone'), ['alone'])
})

test('what comes between two pages is on neither, and the stream has it', async (t) => {
  const rig = await rigFor(t, { partitions: 3 })
  const first = await rig.ask('/v1/changes?limit=2')
  const later = Array.from({ length: 20 }, (_, n) => ({ uid: `later-${n}`, at: 9_000_000 }))
  await append(rig, 'c', later)
  const uids = first.changes.map(({ uid }) => uid)
  for (let cursor = first.continue; cursor !== null; ) {
    const page = await rig.ask(`/v1/changes?limit=500&continue=${cursor}`)
    uids.push(...page.changes.map(({ uid }) => uid))
    deepEqual([page.resume, page.asOf], [null, []])
    cursor = page.continue
  }
  ok(uids.length > 10 && !uids.some((uid) => uid.startsWith('later')), uids.join())
  const streamed = await streamedBy(rig, `from=${first.resume}`)
  deepEqual(streamed.toSorted(), later.map(({ uid }) => uid).toSorted())
})

test('what is not indexed yet is missing with a word, and the stream has it', async (t) => {
  const rig = await rigFor(t, { partitions: 2 })
  const { log } = rig.group
  const read = log.read.bind(log)
  let isAway = true
  log.read = async (...asked) => {
    if (isAway && asked[0] === 'history') throw new LogError('UNAVAILABLE', 'it is away')
    return await read(...asked)
  }
  await append(rig, 'c', [{ uid: 'cm-alone', at: 9_000_000 }])
  const told = await rig.ask('/v1/changes?uid=cm-alone')
  deepEqual(
    told.changes.map(({ change }) => change),
    ['created', 'gone'],
  )
  match(told.partial, /^1 entries of history are not indexed yet$/)
  isAway = false
  deepEqual(await streamedBy(rig, `from=${told.resume}&uid=cm-alone&namespace=ns`), ['cm-alone'])
})

test('a dependent of an owner that waits for it goes by Kinfold, the owner by who deleted it', async (t) => {
  const { all } = await rigFor(t, {
    story: [
      ...['put deploy/web', 'put pod/a <- deploy/web!', 'put deploy/web [deleting foreground]'],
      ...['settle pod/a done', 'delete pod/a', 'delete deploy/web'],
    ],
  })
  deepEqual(
    (await all('/v1/deletions?')).map(({ kind, by, evidence, root }) => [
      ...[kind, by, evidence, root?.kind],
    ]),
    [
      ['Pod', 'kinfold', 'waiting', 'Deployment'],
      ['Deployment', 'others', null, undefined],
    ],
  )
})

test('each deletion has who did it, on what evidence, and after which owner', async (t) => {
  const { ask, all } = await rigFor(t, { partitions: 3 })
  const rows = await all('/v1/deletions?limit=2')
  deepEqual(
    rows.map(({ name, kind, by, evidence, root }) => [
      ...[`${kind}/${name}`, by, evidence, root && `${root.kind}/${root.name}`],
    ]),
    [
      ['Deployment/web', 'others', null, null],
      ['ReplicaSet/web', 'kinfold', 'deleted', 'Deployment/web'],
      ['Pod/a', 'kinfold', 'deleted', 'Deployment/web'],
      // It was deleted already when Kinfold's delete came: perhaps by an earlier try of it. Why is
      // inferred.
      ['Pod/b', 'unknown', null, 'Deployment/web'],
      ['ConfigMap/alone', 'others', null, null],
      ['Pod/c', 'others', null, null],
    ],
  )
  const found = async (asked: string): Promise<readonly string[]> =>
    (await all(`/v1/deletions?${asked}`)).map(({ kind, name }) => `${kind}/${name}`)
  deepEqual(await found('by=kinfold'), ['ReplicaSet/web', 'Pod/a'])
  deepEqual(await found('by=others&namespace=shop'), ['Deployment/web', 'ConfigMap/alone'])
  deepEqual(await found('evidence=missing,not-found'), [])
  deepEqual(await found('root=deployment/web&namespace=shop'), [
    ...['Deployment/web', 'ReplicaSet/web', 'Pod/a', 'Pod/b'],
  ])
  deepEqual(await found('root=uid:rs-web'), ['ReplicaSet/web', 'Pod/a', 'Pod/b'])
  const { partial } = await ask('/v1/deletions?by=others')
  equal(partial, '1 more deletion may fit: it is not known whether Kinfold deleted it')
  // Two of the six are Kinfold's own, so no user's.
  equal(
    (await ask('/v1/deletions?by=bob')).partial,
    '4 more deletions may fit: it is not known who deleted them',
  )
  equal((await ask('/v1/deletions?')).partial, '')
  equal((await ask('/v1/deletions?root=web')).status, 400)
  equal((await ask('/v1/deletions?root=deployment/nothing&namespace=shop')).status, 404)
  match((await ask('/v1/deletions?by=')).detail, /^by is empty: it takes kinfold, others or /)
})

test('a deletion has the user whom an audit log names, and may be asked for by that name', async (t) => {
  const { process, ask, all } = await rigFor(t)
  const rows = await all('/v1/deletions?')
  const asked = (name: string, more: AuditFields, later = 0): AuditFields => {
    const { kind, uid, at, namespace } = rows.find((each) => each.uid === name) ?? fail(name)
    const [apiGroup, resource] = PLURALS[kind] ?? fail(kind)
    const { auditID = `${uid}-${later}`, user, isSure = false } = more
    const ref = { apiGroup, resource, namespace, name: uid.replace(/^.*-/, '') }
    const objectRef = isSure ? { ...ref, uid } : ref
    return auditEvent(uid, Date.parse(at) + later, { auditID, user, objectRef })
  }
  const command = rows.find(({ uid }) => uid === 'rs-web')?.command
  ok(command)
  await sendAudit(process, [
    asked('deploy-web', { user: { username: 'alice' }, isSure: true }),
    asked('rs-web', { user: { username: 'collector' }, auditID: command }),
    asked('cm-alone', { user: { username: 'carol' } }),
    asked('pod-c', { user: { username: 'dave' } }, 10),
    asked('pod-c', { user: { username: 'erin' } }, 20),
  ])
  const named = async (question: string): Promise<readonly string[]> =>
    (await all(`/v1/deletions?${question}`)).map(({ uid, by, deletedBy }) => {
      return [uid, by, deletedBy?.user, deletedBy?.match, deletedBy?.others].join(' ')
    })
  const web = 'deploy-web others alice uid 0'
  const alone = 'cm-alone others carol name-and-time 0'
  const third = 'pod-c others dave name-and-time 1'
  deepEqual(await named(''), [
    ...[web, 'rs-web kinfold collector audit-id 0', 'pod-a kinfold   ', 'pod-b unknown   '],
    ...[alone, third],
  ])
  deepEqual(await named('by=alice'), [web])
  deepEqual(await named('by=carol'), [alone])
  deepEqual(await named('by=others'), [web, alone, third])
  // For pod-a and pod-b no request is known; of pod-c dave is named, and another user fits as well.
  deepEqual(await named('by=erin'), [])
  match(
    (await ask('/v1/deletions?by=erin')).partial,
    /^2 more deletions may fit: it is not known who deleted them/,
  )
})

/** Beside upstream's collector: a user deletes the Deployment, that collector the rest. */
const BESIDE = [
  'policy observe parity',
  ...['put deploy/web in shop', 'put rs/web in shop <- deploy/web', 'put cm/mine in shop'],
  ...['put pod/a in shop <- rs/web', 'put pod/b in shop <- rs/web', 'delete deploy/web in shop'],
  ...[
    'delete rs/web in shop',
    'delete pod/a in shop',
    'delete pod/b in shop',
    'delete cm/mine in shop',
  ],
]
const KCM = 'kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/60a317e'
const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'

async function besideRig(t: TestContext): Promise<Rig> {
  const rig = await rigFor(t, { story: BESIDE })
  const rows = await rig.all('/v1/deletions?')
  const asked = (name: string, username: string, userAgent: string): AuditFields => {
    const { kind, uid, at, namespace } = rows.find((each) => each.uid === name) ?? fail(name)
    const [apiGroup, resource] = PLURALS[kind] ?? fail(kind)
    const objectRef = { apiGroup, resource, namespace, name: uid.replace(/^.*-/, ''), uid }
    return auditEvent(uid, Date.parse(at), { user: { username }, userAgent, objectRef })
  }
  await sendAudit(rig.process, [
    asked('deploy-web', 'alice', 'kubectl/v1.33.0'),
    asked('rs-web', COLLECTOR, KCM),
    asked('pod-a', COLLECTOR, KCM),
    // At the same time another user deletes one by hand, and an object without owners.
    asked('pod-b', 'bob', 'kubectl/v1.33.0'),
    asked('cm-mine', 'bob', 'kubectl/v1.33.0'),
  ])
  return rig
}

test('diff names the user of each deletion, and of the owner that a collector followed (C2, C3)', async (t) => {
  const { all, ask } = await besideRig(t)
  const [first] = await all('/v1/deletions?')
  const { partition, position } = first ?? fail('no deletion')
  const from = `pos:${partition}-${position}`
  const { differences } = (await ask(`/v1/diff?from=${from}`)) as unknown as DiffPage
  const told = differences.flatMap(({ uid, deletion }) => {
    if (deletion === null) return []
    const { deletedBy, root, rootDeletedBy, isInferred } = deletion
    const users = [deletedBy, rootDeletedBy].map((each) => each?.user ?? '-')
    return [`${uid} ${users.join(' ')} ${root?.name ?? '-'} ${isInferred}`]
  })
  deepEqual(told.toSorted(), [
    'cm-mine bob - - false',
    'deploy-web alice - - false',
    `pod-a ${COLLECTOR} alice web true`,
    'pod-b bob - - false',
    `rs-web ${COLLECTOR} alice web true`,
  ])
})

test('a cascade of another collector leads to the owner that a user deleted, as inferred (C3, C4)', async (t) => {
  const { all, ask } = await besideRig(t)
  const rows = await all('/v1/deletions?')
  deepEqual(
    rows.map(({ uid, root, isInferred }) => `${uid} ${root?.name ?? '-'} ${isInferred}`),
    [
      ...['deploy-web - false', 'rs-web web true', 'pod-a web true'],
      // Who deleted it is known, so nothing is inferred.
      ...['pod-b - false', 'cm-mine - false'],
    ],
  )
  const cascade = '/v1/deletions?root=deployment/web&namespace=shop'
  deepEqual(
    (await all(cascade)).map(({ uid }) => uid),
    ['deploy-web', 'rs-web', 'pod-a'],
  )
  equal((await ask(cascade)).partial, '')
})

test('a request that has only the name, at another time, is told and proves nothing', async (t) => {
  const { process, ask, all } = await rigFor(t)
  const row = (await all('/v1/deletions?')).find(({ uid }) => uid === 'cm-alone') ?? fail('none')
  const objectRef = { apiGroup: '', resource: 'configmaps', namespace: 'shop', name: 'alone' }
  const event = (username: string, earlierMs: number): AuditFields =>
    auditEvent(`${username}-1`, Date.parse(row.at) - earlierMs, { user: { username }, objectRef })
  await sendAudit(process, [event('carol\u009b', 60_000)])
  const { deletion, partial } = (await ask('/v1/why?uid=cm-alone')) as unknown as {
    readonly deletion: { readonly deletedBy: unknown }
    readonly partial: string
  }
  equal(deletion.deletedBy, null)
  match(
    partial,
    /^"carol\\u009b" asked to delete a ConfigMap of the name alone at \S+, and nothing /,
  )
  // One that fits is the answer.
  await sendAudit(process, [event('dave', 0)])
  const { partial: after } = (await ask('/v1/why?uid=cm-alone')) as { partial: string }
  equal(after, '')
})

test("deletions of the cluster's own accounts are found by their short names, too", async (t) => {
  const { all } = await besideRig(t)
  const found = async (by: string): Promise<string> =>
    (await all(`/v1/deletions?by=${by}`)).map(({ uid }) => uid).join(' ')
  equal(await found(COLLECTOR), 'rs-web pod-a')
  equal(await found('generic-garbage-collector'), 'rs-web pod-a')
  // As answers print it.
  equal(await found('kube-controller-manager'), 'rs-web pod-a')
  equal(await found('kube-system'), '')
  equal(await found('bob'), 'pod-b cm-mine')
})

test('a service account of another namespace is no user of its name', () => {
  equal(isNamed('system:serviceaccount:kube-system:job-controller', 'job-controller'), true)
  equal(isNamed('system:serviceaccount:dev:alice', 'system:serviceaccount:dev:alice'), true)
  equal(isNamed('system:serviceaccount:dev:alice', 'alice'), false)
})

for (const [what, uid, said] of [
  [
    'to the user who deleted the root',
    'pod-a',
    ['pod-a collector', 'rs-web collector!', 'deploy-web alice!'],
  ],
  ['no further than to the user who deleted it', 'pod-b', ['pod-b bob']],
  ['no further than the root itself', 'deploy-web', ['deploy-web alice']],
] as const) {
  test(`beside another collector why goes ${what} (C3)`, async (t) => {
    const { ask } = await besideRig(t)
    const { deletedBy } = (await ask(`/v1/why?uid=${uid}`)) as unknown as {
      deletedBy: readonly { object: { uid: string }; user: string; isInferred: boolean }[]
    }
    deepEqual(
      deletedBy.map(({ object, user, isInferred }) => {
        return `${object.uid} ${user === COLLECTOR ? 'collector' : user}${isInferred ? '!' : ''}`
      }),
      said,
    )
  })
}

/** A controller scales down: the pod ends slowly, and the Deployment is deleted meanwhile. */
const SCALED = [
  ...['put deploy/web in shop', 'put rs/web in shop <- deploy/web'],
  ...['put pod/a in shop <- rs/web', 'put pod/b in shop <- rs/web'],
  ...['put pod/a in shop <- rs/web [deleting]', 'delete deploy/web in shop'],
  ...['delete rs/web in shop', 'delete pod/b in shop', 'delete pod/a in shop'],
]
const SCALER = `${KCM}/system:serviceaccount:kube-system:replicaset-controller`

test('what a controller deleted is of nobody who deleted its owner later (C3)', async (t) => {
  const { process, ask, all } = await rigFor(t, { story: SCALED })
  const rows = await all('/v1/deletions?')
  const asked = (uid: string, username: string, userAgent: string): AuditFields => {
    const { kind, at, namespace } = rows.find((each) => each.uid === uid) ?? fail(uid)
    const [apiGroup, resource] = PLURALS[kind] ?? fail(kind)
    const objectRef = { apiGroup, resource, namespace, name: uid.replace(/^.*-/, ''), uid }
    return auditEvent(uid, Date.parse(at) - 10, { user: { username }, userAgent, objectRef })
  }
  await sendAudit(process, [
    asked('deploy-web', 'bob', 'kubectl/v1.33.0'),
    asked('rs-web', 'admin', `${KCM}/generic-garbage-collector`),
    asked('pod-b', 'admin', `${KCM}/generic-garbage-collector`),
    asked('pod-a', 'admin', SCALER),
  ])
  const told = (await all('/v1/deletions?')).map(
    ({ uid, root, rootDeletedBy, isRootKnown }) =>
      `${uid} ${root?.uid ?? '-'} ${rootDeletedBy?.user ?? '-'} ${isRootKnown}`,
  )
  deepEqual(told.toSorted(), [
    ...['deploy-web - - true', 'pod-a - - true'],
    ...['pod-b deploy-web bob true', 'rs-web deploy-web bob true'],
  ])
  const cascade = '/v1/deletions?root=deployment/web&namespace=shop'
  const { deletions, partial } = await ask(cascade)
  deepEqual(deletions.map(({ uid }) => uid).toSorted(), ['deploy-web', 'pod-b', 'rs-web'])
  equal(partial, '')
})

/** Where no audit log names anybody. `cm-c` was deleted before the namespace was. */
const WITH_NAMESPACE = [
  'cm-a namespace-shop - true true',
  'cm-b namespace-shop - true true',
  'cm-c - - false true',
  'deploy-web namespace-shop - true true',
  'namespace-shop - - false true',
  'pod-a namespace-shop - true true',
  'rs-web namespace-shop - true true',
]

test('where no audit log names anybody, what was being deleted before its owner is not said to follow from it', async (t) => {
  const { ask, all } = await rigFor(t, { story: SCALED })
  const rows = await all('/v1/deletions?')
  deepEqual(
    rows
      .map(({ uid, root, isRootKnown }) => `${uid} ${root?.uid ?? '-'} ${isRootKnown}`)
      .toSorted(),
    [
      ...['deploy-web - true', 'pod-a - false'],
      ...['pod-b deploy-web true', 'rs-web deploy-web true'],
    ],
  )
  const { partial } = await ask('/v1/deletions?root=deployment/web&namespace=shop')
  equal(partial, "1 more deletion may fit: it is not known after which owner's deletion")
})

test('what was deleted in another namespace than its owner cannot follow from it', async (t) => {
  const elsewhere = [
    ...['put deploy/api in pay', 'put pod/z in pay <- deploy/api'],
    ...['put pod/z in pay <- deploy/api [deleting]', 'delete deploy/api in pay'],
    'delete pod/z in pay',
  ]
  const { ask } = await rigFor(t, { story: [...SCALED, ...elsewhere] })
  const { partial, deletions } = await ask('/v1/deletions?root=uid:deploy-web')
  deepEqual(deletions.map(({ uid }) => uid).toSorted(), ['deploy-web', 'pod-b', 'rs-web'])
  equal(partial, "1 more deletion may fit: it is not known after which owner's deletion")
})

/** A user deletes a namespace, and the namespace controller what is in it. */
const EMPTIED = [
  ...['policy observe parity', 'serve namespace', 'relist namespace'],
  ...['put namespace/shop', 'put cm/a in shop', 'put cm/b in shop', 'put cm/c in shop'],
  ...['put deploy/web in shop', 'put rs/web in shop <- deploy/web', 'put pod/a in shop <- rs/web'],
  ...['delete cm/c in shop', 'put namespace/shop [deleting]', 'delete deploy/web in shop'],
  ...[
    'delete rs/web in shop',
    'delete pod/a in shop',
    'delete cm/a in shop',
    'delete cm/b in shop',
  ],
  'delete namespace/shop',
]
const EMPTIER = `${KCM}/system:serviceaccount:kube-system:namespace-controller`

async function emptiedRig(t: TestContext, story: readonly string[]): Promise<Rig> {
  const rig = await rigFor(t, { story })
  const begun = (await rig.all('/v1/changes?kind=namespace')).find(
    ({ change }) => change === 'phase',
  )
  const rows = await rig.all('/v1/deletions?')
  const asked = (uid: string, username: string, userAgent: string): AuditFields => {
    const { kind, at, namespace } = rows.find((each) => each.uid === uid) ?? fail(uid)
    const [apiGroup, resource] = PLURALS[kind] ?? fail(kind)
    const when = Date.parse(kind === 'Namespace' ? (begun?.at ?? at) : at)
    const objectRef = { apiGroup, resource, namespace, name: uid.replace(/^.*-/, ''), uid }
    return auditEvent(uid, when, { user: { username }, userAgent, objectRef })
  }
  await sendAudit(rig.process, [
    asked('namespace-shop', 'bob', 'kubectl/v1.33.0'),
    asked('deploy-web', 'admin', EMPTIER),
    asked('rs-web', 'admin', `${KCM}/generic-garbage-collector`),
    asked('pod-a', 'admin', `${KCM}/generic-garbage-collector`),
    asked('cm-a', 'admin', EMPTIER),
    // In the namespace that bob deletes a user deletes one by hand.
    asked('cm-b', 'carol', 'kubectl/v1.33.0'),
  ])
  return rig
}

async function rootsIn({ all }: Rig): Promise<readonly string[]> {
  const told = (await all('/v1/deletions?')).map(({ uid, root, rootDeletedBy, ...rest }) => {
    return `${uid} ${root?.uid ?? '-'} ${rootDeletedBy?.user ?? '-'} ${rest.isInferred} ${rest.isRootKnown}`
  })
  return told.toSorted()
}

test('what the namespace controller deleted follows from the deletion of the namespace, as inferred (C2)', async (t) => {
  const rig = await emptiedRig(t, EMPTIED)
  deepEqual(await rootsIn(rig), [
    'cm-a namespace-shop bob true true',
    'cm-b - - false true',
    // It was deleted before the namespace was.
    'cm-c - - false true',
    'deploy-web namespace-shop bob true true',
    'namespace-shop - - false true',
    'pod-a namespace-shop bob true true',
    'rs-web namespace-shop bob true true',
  ])
  const { deletedBy } = (await rig.ask('/v1/why?uid=pod-a')) as unknown as {
    deletedBy: readonly { object: { uid: string }; user: string; isInferred: boolean }[]
  }
  deepEqual(
    deletedBy.map(({ object, user, isInferred }) => `${object.uid} ${user} ${isInferred}`),
    [
      ...['pod-a admin false', 'rs-web admin true', 'deploy-web admin true'],
      'namespace-shop bob true',
    ],
  )
  const cascade = await rig.all('/v1/deletions?root=uid:namespace-shop')
  deepEqual(cascade.map(({ uid }) => uid).toSorted(), [
    ...['cm-a', 'deploy-web', 'namespace-shop', 'pod-a', 'rs-web'],
  ])
})

test('where no audit log names anybody, what was in a namespace that was being deleted went with it', async (t) => {
  const rig = await rigFor(t, { story: EMPTIED })
  deepEqual(await rootsIn(rig), WITH_NAMESPACE)
})

test('the end of a namespace may be reported before those of what was in it (C2)', async (t) => {
  const lines = EMPTIED.filter((line) => line !== 'delete namespace/shop')
  const story = lines.toSpliced(
    lines.indexOf('put namespace/shop [deleting]') + 1,
    0,
    'delete namespace/shop',
  )
  const rig = await rigFor(t, { story })
  deepEqual(await rootsIn(rig), WITH_NAMESPACE)
})

for (const [what, story] of [
  ['is not watched', EMPTIED.filter((line) => !line.includes('namespace/'))],
  ['of this name is being deleted', EMPTIED.filter((line) => !/namespace.*deleting/.test(line))],
] as const) {
  test(`where no namespace ${what}, nothing follows from one`, async (t) => {
    const { all } = await rigFor(t, { story })
    const rows = await all('/v1/deletions?')
    ok(rows.every(({ root }) => root?.kind !== 'Namespace'))
  })
}

test('a namespace that has the name of one that was deleted is another one', async (t) => {
  const rig = await rigFor(t, {
    story: [
      ...['policy observe parity', 'serve namespace', 'put namespace/shop', 'put cm/a in shop'],
      ...['put namespace/shop [deleting]', 'delete cm/a in shop', 'delete namespace/shop'],
      ...['put namespace/shop@again', 'put cm/b in shop', 'delete cm/b in shop'],
      ...['put namespace/shop@again [deleting]', 'put cm/d in shop', 'delete cm/d in shop'],
    ],
  })
  deepEqual(await rootsIn(rig), [
    ...['cm-a namespace-shop - true true', 'cm-b - - false true', 'cm-d again - true true'],
    'namespace-shop - - false true',
  ])
})

test('a collector that followed an owner whom nobody saw is said to have, and nobody is named (C3)', async (t) => {
  const { process, ask, all } = await rigFor(t, {
    story: ['put pod/a in shop <- rs/never', 'put cm/b in shop', 'delete pod/a in shop'],
  })
  const [row] = await all('/v1/deletions?')
  const objectRef = { resource: 'pods', namespace: 'shop', name: 'a', uid: 'pod-a' }
  const fields = { user: { username: COLLECTOR }, userAgent: KCM, objectRef }
  await sendAudit(process, [auditEvent('a', Date.parse(row?.at ?? ''), fields)])
  const { deletions } = await ask('/v1/deletions?')
  deepEqual(
    deletions.map(({ root, deletedBy, isRootKnown }) => [
      root,
      deletedBy?.isCollector,
      isRootKnown,
    ]),
    [[null, true, false]],
  )
})

test('a user is named by whichever process answers, also where another one has the cluster', async (t) => {
  const { group, process, all } = await rigFor(t, {
    partitions: 2,
    story: ['put cm/a', 'delete cm/a'],
  })
  const other = await group.start()
  await group.caughtUp()
  const watermark: Watermark = {
    ...{ type: 'Watermark', cluster: 'c', epoch: 1, clusterEpoch: 1, resourceVersion: '', sync: 0 },
    ...{ group: '', kind: 'ConfigMap', resource: 'configmaps', shortNames: ['cm'] },
    ...{ projection: '', partition: 0 },
  }
  const record = { key: 'c//ConfigMap', value: codec.encode(watermark) }
  await group.log.append('watermarks', 0, [record])
  const [row] = await all('/v1/deletions?')
  await sendAudit(process, [auditEvent('a', Date.parse(row?.at ?? ''))])
  for (const { url } of [process, other]) {
    const path = `${url}/v1/deletions`
    const { deletions } = (await (await checked(path, await fetch(path))).json()) as Told
    deepEqual(
      deletions.map(({ deletedBy }) => [deletedBy?.user, deletedBy?.match]),
      [['alice', 'name-and-time']],
      url,
    )
  }
})

test('deletions of all clusters are told by any process as by one that has them all', async (t) => {
  const ofOther = ['put deploy/web in shop', 'put rs/web in shop <- deploy/web']
  const gone = ['delete deploy/web in shop', 'delete rs/web in shop', 'cluster c']
  const story = [...STORY, 'cluster d', ...ofOther, ...gone]
  const { group, process, ask } = await rigFor(t, { partitions: 2, story })
  const paths = [
    ...['/v1/deletions?', '/v1/deletions?limit=3', '/v1/deletions?by=kinfold', '/v1/horizon?'],
    ...['/v1/deletions?by=others', '/v1/deletions?root=uid:deploy-web', '/v1/deletions?cluster=d'],
  ]
  const partsOf = (
    told: Told,
  ): Pick<Told, 'deletions' | 'partial'> & { readonly index: unknown } => {
    const { deletions, partial, bounds } = told as Told & { readonly bounds?: readonly unknown[] }
    return { deletions, partial, index: bounds?.[1] }
  }
  const whole = await Promise.all(paths.map(async (path) => partsOf(await ask(path))))
  let isAlone = false
  const other = await group.start({ owners: (known) => (isAlone ? new Map() : known) })
  await group.caughtUp()
  const shares = [process, other].map(({ graph }) => graph.tasks.map((each) => each.partition))
  deepEqual(shares.toSorted(), [[0], [1]])
  const tellOf = async (url: string): Promise<Told> =>
    (await (await checked(url, await fetch(url))).json()) as Told
  for (const { url } of [process, other]) {
    for (const [each, path] of paths.entries()) {
      deepEqual(partsOf(await tellOf(url + path)), whole[each], `${url}${path}`)
    }
  }
  isAlone = true
  const own = shares[1]?.[0]
  const { deletions, partial } = await tellOf(`${other.url}/v1/deletions`)
  match(partial, /who deleted what is not known of some: partition \d of 2: no process has it/)
  const ofOwn = (rows: readonly Row[]): unknown =>
    rows.map((each) => each.partition === own && each)
  deepEqual(ofOwn(deletions), ofOwn(whole[0]?.deletions ?? []))
  ok(deletions.every((each) => each.partition === own || each.by === 'unknown'))
})

const PLURALS: Readonly<Record<string, readonly [group: string, resource: string]>> = {
  Deployment: ['apps', 'deployments'],
  ReplicaSet: ['apps', 'replicasets'],
  ConfigMap: ['', 'configmaps'],
  Pod: ['', 'pods'],
  Namespace: ['', 'namespaces'],
}

function fail(what: string): never {
  throw new Error(`there is no ${what}`)
}

async function sendAudit({ url }: GraphProcess, events: readonly AuditFields[]): Promise<void> {
  const response = await fetch(`${url}/v1/audit-events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(eventList(...events)),
  })
  const { kept } = (await response.json()) as { readonly kept: number }
  equal(kept, events.length)
}

test('what lies before the horizon is refused with the earliest moment, or answered with less where that is asked for (C9)', async (t) => {
  const rig = await rigFor(t, {
    story: [...STORY, ...Array.from({ length: 5 }, (_, n) => `put cm/x${n}`)],
  })
  const { log } = rig.group
  const begun = await rig.ask('/v1/changes?')
  match(begun.horizon.because, /^the record begins then/)
  const refused = await rig.ask(`/v1/deletions?since=${at(Date.parse(begun.since) - 1)}`)
  equal(refused.status, 410)
  ok(refused.detail.includes(begun.since), refused.detail)
  equal((await rig.ask(`/v1/deletions?since=${begun.since}`)).status, undefined)
  // As retention does: events, and the history before them.
  const { end } = await log.bounds('events', 0)
  await log.trim('events', 0, end - 3n)
  const [oldest] = (await log.read('events', 0, end - 3n, { limit: 1, waitMs: 0 })).entries
  const bounds = await log.bounds('history', 0)
  await log.trim('history', 0, bounds.end - 6n)
  const earliest = at(oldest?.timestamp ?? 0)
  for (const question of ['changes', 'deletions']) {
    const { status, detail } = await rig.ask(`/v1/${question}?since=${begun.since}`)
    deepEqual([status, detail.includes(`lies before ${earliest},`)], [410, true], detail)
    const told = await rig.ask(`/v1/${question}?since=${earliest}`)
    deepEqual([told.status, told.horizon.earliest], [undefined, earliest])
  }
  for (const question of ['changes?', 'deletions?', 'changes?uid=cm-alone&']) {
    const some = await rig.ask(`/v1/${question}since=1970-01-01T00:00:00Z&reach=partial`)
    const isOfOne = question.includes('uid')
    deepEqual(
      [some.status, some.since],
      [undefined, isOfOne ? '1970-01-01T00:00:00.000Z' : earliest],
    )
    equal(
      some.partial.includes(`nothing is known of before ${earliest}: what was older was`),
      !isOfOne,
    )
  }
  // The index has the whole life of what was created before.
  equal((await rig.all(`/v1/changes?uid=cm-alone&since=${begun.since}`)).length, 2)
  // A cursor of before leads to what is there no longer.
  const gone = await rig.ask(`/v1/changes?limit=1&continue=${await cursorOfBefore(rig, begun)}`)
  equal(gone.status, 410)
})

async function cursorOfBefore(rig: Rig, begun: Told): Promise<string> {
  const { continue: now } = await rig.ask('/v1/changes?limit=1')
  ok(now !== null)
  const [mark] = JSON.parse(Buffer.from(now, 'base64url').toString())
  const cursor = [mark, Date.parse(begun.since), '0-0-5']
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

test('an index that was built later refuses what it does not have', async (t) => {
  const rig = await rigFor(t)
  const { log } = rig.group
  const begun = await rig.ask('/v1/changes?')
  equal(rig.process.index.begin(0)?.at, null)
  await rig.process.stop()
  const events = await log.bounds('events', 0)
  await log.trim('events', 0, events.end - 3n)
  const { end } = await log.bounds('history', 0)
  await log.trim('history', 0, end - 3n)
  const { url, index } = await rig.group.start()
  await rig.group.caughtUp()
  const begin = index.begin(0)
  equal(begin?.offset, end - 3n)
  const ask = async (more: string): Promise<Told> => {
    const asked = `${url}/v1/changes?uid=pod-c${more}`
    return (await (await checked(asked, await fetch(asked))).json()) as Told
  }
  const refused = await ask(`&since=${begun.since}`)
  deepEqual([refused.status, refused.detail.includes(at(begin?.at ?? 0))], [410, true])
  const some = await ask(`&since=${begun.since}&reach=partial`)
  deepEqual([some.status, some.since], [undefined, at(begin?.at ?? 0)])
  match(
    some.partial,
    /^nothing is known of before .*: the index of histories was built from then on/,
  )
  const told = await ask('')
  deepEqual(names(told.changes), ['gone Pod/c'])
  deepEqual([told.since, told.horizon.earliest], [at(begin?.at ?? 0), at(begin?.at ?? 0)])
  match(told.horizon.because, /^the index of histories was built from then on/)
  // Whether Kinfold deleted it may have been said before.
  const asked = `${url}/v1/deletions`
  const { deletions } = (await (await fetch(asked)).json()) as Told
  deepEqual(
    deletions.map(({ name, by }) => [name, by]),
    [
      ['alone', 'unknown'],
      ['c', 'unknown'],
    ].slice(-deletions.length),
  )
})

test('the horizon says of each question since when it is answered, and why', async (t) => {
  const { process } = await rigFor(t, { partitions: 2 })
  const url = `${process.url}/v1/horizon`
  const told = (await (await checked(url, await fetch(url))).json()) as {
    bounds: readonly {
      source: string
      earliest: string | null
      because: string
      partitions: readonly object[]
    }[]
  }
  deepEqual(
    told.bounds.map(({ source, partitions }) => [source, partitions.length]),
    [
      ['history', 2],
      ['index', 2],
      ['moments', 1],
      ['actors', 0],
      ['events', 2],
      ['remember', 0],
    ],
  )
  match(told.bounds[0]?.because ?? '', /^the record begins then/)
  match(told.bounds[2]?.because ?? '', /^the record begins then: /)
  match(told.bounds[3]?.because ?? '', /^no audit log has come$/)
  match(told.bounds[5]?.because ?? '', /forgotten after "remember" \(720h\)/)
})

test('the horizon says of each cluster when its audit log was heard last', async (t) => {
  const { process } = await rigFor(t, { story: ['put cm/a'] })
  const heardAt = async (): Promise<string | undefined> => {
    const { bounds } = (await (await fetch(`${process.url}/v1/horizon`)).json()) as {
      bounds: readonly { source: string; because: string }[]
    }
    return bounds.find(({ source }) => source === 'actors')?.because
  }
  const last = Date.UTC(2026, 10, 27, 12, 3, 4)
  await sendAudit(process, [auditEvent('a', last), auditEvent('b', last - 60_000)])
  await eventually('it is heard', async () => (await heardAt()) !== 'no audit log has come')
  match((await heardAt()) ?? '', /: \S+ 2026-11-27T12:03:04Z$/)
  // What is imported later may be older.
  await sendAudit(process, [auditEvent('c', last - 120_000)])
  match((await heardAt()) ?? '', /: \S+ 2026-11-27T12:03:04Z$/)
})

test('who may list one kind in one namespace sees that, and nothing of the rest (T12)', async (t) => {
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, cluster, { resource, namespace }) =>
      cluster === 'c' && resource === 'pods' && namespace === 'shop',
  }
  const { ask, all } = await rigFor(t, { authority, isReadingReviewed: true })
  const rows = await all('/v1/deletions?cluster=c&namespace=shop')
  deepEqual(
    rows.map(({ kind, name, root }) => [`${kind}/${name}`, root?.name]),
    [
      ['Pod/a', 'hidden'],
      ['Pod/b', 'hidden'],
    ],
  )
  const told = await ask('/v1/changes?cluster=c&namespace=shop')
  ok(told.changes.every(({ kind }) => kind === 'Pod'))
  const gone = await ask('/v1/changes?cluster=c&namespace=shop&change=gone')
  deepEqual([gone.hidden, gone.changes.length, told.hidden], [0, 2, 0])
  match(told.partial, /what you may not list is left out/)
  // Of another kind, or another namespace, the answer is the same whatever there is.
  const kinds = ['configmaps', 'replicasets.apps'].map(async (kind) => {
    const answer = await ask(`/v1/changes?cluster=c&namespace=shop&kind=${kind}`)
    return JSON.stringify({ ...answer, asOf: [] })
  })
  equal(new Set(await Promise.all(kinds)).size, 1)
  deepEqual((await ask('/v1/changes?cluster=c&namespace=shop&kind=configmaps')).changes, [])
  const nowhere = JSON.stringify(await ask('/v1/changes?cluster=nowhere&namespace=shop'))
  for (const words of ['namespace=other', 'namespace=no']) {
    equal(JSON.stringify(await ask(`/v1/changes?cluster=c&${words}`)), nowhere, words)
  }
  ok((await all('/v1/changes?uid=pod-a&cluster=c')).length > 2)
  for (const asked of [
    ...['changes?', 'changes?cluster=c', 'changes?uid=cm-alone', 'changes?uid=nothing'],
    ...['deletions?', 'deletions?cluster=c&namespace=shop&root=deployment/web', 'horizon'],
  ]) {
    equal((await ask(`/v1/${asked}`)).status, 403, asked)
  }
})

test('any of several processes answers, and says how far each cluster was folded', async (t) => {
  const story = [...STORY, 'cluster d', 'put cm/d', 'delete cm/d']
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const first = await group.start()
  const second = await group.start()
  await eventually('the partitions are shared', async () => {
    return first.graph.tasks.length === 1 && second.graph.tasks.length === 1
  })
  await play(group, story)
  for (const { url } of [first, second]) {
    const told = (await (await fetch(`${url}/v1/deletions`)).json()) as Told
    equal(told.deletions.length, 7)
    deepEqual(
      told.asOf.map(({ partition }) => partition),
      [0, 1],
    )
    const one = (await (await fetch(`${url}/v1/changes?uid=cm-d`)).json()) as Told
    deepEqual(names(one.changes), ['created ConfigMap/d', 'gone ConfigMap/d'])
    const none = (await (await fetch(`${url}/v1/changes?uid=never`)).json()) as Told
    deepEqual([none.changes, none.asOf.length, none.partial], [[], 2, ''])
  }
  await second.kill()
  const told = (await (await fetch(`${first.url}/v1/deletions`)).json()) as Told
  equal(told.deletions.length, 7)
  match(told.partial, /cannot be asked|no process has it/)
})
