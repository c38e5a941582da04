/** A moment of the past over HTTP: what is answered, and what is refused because nobody could answer it rightly. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import type { Tree, Why } from '../../../../cli/answer.ts'
import { identityOf } from '../../../../core/graph/identity.ts'
import type { OwnerReference } from '../../../../core/model/object.ts'
import type { HistoryRecord } from '../../../../ports/record/lineage.ts'
import type { Store } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../../testing/rig/graph-group.ts'
import { type MinuteRig, rigged } from '../../../../testing/rig/minute-rig.ts'
import { codec, contentOf, emptyStore, eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { AsOf, Document } from '../../api/document.ts'
import { Turns } from '../../turns.ts'
import type { ListAnswer } from '../ask/list-question.ts'
import { createHistoryIndex, type HistoryIndex } from '../index/history-index.ts'
import { createSpanIndex, SpanChanges } from '../index/span-index.ts'
import { WHOLE } from '../view/sight.ts'
import { begunAt } from './past.ts'
import { pastTree } from './past-tree.ts'
import { pastWhy } from './past-why.ts'
import type { TreeNode } from './tree.ts'

const START = Date.parse('2026-01-31T09:00:00Z')
const MINUTE_MS = 60_000

type Told = Document & Partial<ListAnswer> & { readonly root?: TreeNode; readonly asOf: AsOf[] }

function shape(node: TreeNode | undefined): string {
  if (node === undefined) return ''
  const below = node.children.map(shape).join(' ')
  const phase = node.phase === 'observed' ? '' : ` ${node.phase}`
  return `${node.kind}/${node.name}${phase}${below === '' ? '' : `(${below})`}`
}

const FAMILY = ['put deploy/web', 'put rs/web-1 <- deploy/web', 'put pod/a <- rs/web-1']
const TREE = '/v1/tree?kind=replicaset&name=web-1&namespace=ns'

test('a tree is as it was at a time, before an event and before a command', async (t) => {
  const rig = await rigged(t)
  await rig.minute(...FAMILY)
  const whole = await rig.minute('put pod/b <- rs/web-1')
  const without = await rig.minute('delete pod/b')
  await rig.minute('delete rs/web-1')
  const { entries } = await rig.log.read('commands', 0, 0n, { limit: 100, waitMs: 0 })
  const command = codec.decode(entries[0]?.value ?? new Uint8Array())
  ok(command.type === 'DeleteObject')
  const trees = [whole, without, `before:${command.id}`].map(async (at) => {
    const { root, partial } = await rig.get<Told>(`${TREE}&at=${at}`)
    return [shape(root), partial]
  })
  deepEqual(await Promise.all(trees), [
    ['ReplicaSet/web-1(Pod/a Pod/b)', ''],
    ['ReplicaSet/web-1(Pod/a)', ''],
    ['ReplicaSet/web-1(Pod/a)', ''],
  ])
  const [, position = ''] = command.id.split('-')
  const byPosition = await rig.get<Told>(`${TREE}&at=pos:0-${position}`)
  equal(shape(byPosition.root), 'ReplicaSet/web-1(Pod/a)')
  equal(byPosition.asOf[0]?.position, Number(position))
  const after = await rig.get<Told>(`${TREE}&at=pos:0-${Number(position) + 1}`)
  equal(shape(after.root), 'ReplicaSet/web-1 gone(Pod/a)')
  const up = await rig.get<Told>(`/v1/tree?kind=pod&name=b&namespace=ns&owners=true&at=${whole}`)
  equal(shape(up.root), 'Pod/b(ReplicaSet/web-1(Deployment/web))')
})

test('the tree of what was deleted is that before its deletion, with each object as it is now (C4)', async (t) => {
  const rig = await rigged(t)
  const first = ['put deploy/web', 'put rs/one <- deploy/web', 'put pod/z <- rs/one']
  await rig.minute(...first, 'put cm/left <- deploy/web', 'put cm/freed <- deploy/web')
  await rig.minute('put cm/freed', 'put deploy/web [deleting foreground]')
  const at = await rig.minute('delete pod/z', 'delete rs/one', 'delete deploy/web')
  await rig.minute('put cm/late <- deploy/web')
  const { root, deletion, deletedAt, partial } = await rig.get<Tree>('/v1/tree?uid=deploy-web')
  const lines = (node: Tree['root'], level = 0): readonly string[] => [
    `${' '.repeat(level)}${node.uid} ${node.phase}`,
    ...node.children.flatMap((each) => lines(each, level + 1)),
  ]
  deepEqual(lines(root), [
    ...['deploy-web gone', ' cm-late observed', ' cm-left observed', ' rs-one gone'],
    '  pod-z gone',
  ])
  deepEqual([deletion?.by, deletion?.root, deletedAt, partial], ['others', null, at, ''])
  const up = await rig.get<Tree>('/v1/tree?uid=pod-z&owners=true')
  deepEqual(lines(up.root), ['pod-z gone', ' rs-one gone', '  deploy-web gone'])
  // It was deleted before its owner, so nothing says that it was for that.
  deepEqual([up.deletion?.root, up.deletion?.isRootKnown], [null, false])
  const there = await rig.get<Tree>('/v1/tree?uid=cm-freed')
  deepEqual([there.deletion, there.deletedAt], [null, null])
})

test('of a name that was given again the one that was there then is meant', async (t) => {
  const rig = await rigged(t)
  const first = await rig.minute('put cm/a@one')
  await rig.minute('delete cm/a@one')
  const second = await rig.minute('put cm/a@two')
  const uidAt = async (at: string): Promise<string | undefined> =>
    (await rig.get<Told>(`/v1/tree?kind=configmap&name=a&namespace=ns&at=${at}`)).root?.uid
  equal(await uidAt(first), 'one')
  equal(await uidAt(second), 'two')
  const before = await rig.refused(
    '/v1/tree?kind=configmap&name=a&namespace=ns&at=2026-01-31T09:00:30Z',
  )
  equal(before.status, 404)
  match(before.detail, /^configmap\/a in namespace ns was not seen by then; it was seen later$/)
})

test('a list is as it was then, with what was deleted where that is asked for', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a', 'put cm/b')
  const two = await rig.minute('put cm/c', 'delete cm/a')
  await rig.minute('delete cm/b', 'put cm/d')
  const listed = async (query: string): Promise<string[]> => {
    const { objects = [], partial } = await rig.get<Told>(`/v1/objects?namespace=ns&${query}`)
    equal(partial, '')
    return objects.map(({ name, phase, goneAt }) => `${name} ${phase}${goneAt ? ' at' : ''}`).sort()
  }
  deepEqual(await listed(`kind=configmap&at=${two}`), ['b observed', 'c observed'])
  deepEqual(await listed(`kind=configmap&at=${two}&gone=true`), [
    'a gone at',
    'b observed',
    'c observed',
  ])
  deepEqual(await listed(`kind=configmap&name=b&at=${two}`), ['b observed'])
  deepEqual(await listed(`kind=configmap&name=d&at=${two}`), [])
  const counted = await rig.get<Told>(`/v1/objects?kind=configmap&count=true&at=${two}`)
  equal(counted.count, 2)
  const page = await rig.get<Told>(`/v1/objects?kind=configmap&limit=1&at=${two}`)
  const rest = await rig.get<Told>(
    `/v1/objects?kind=configmap&limit=1&at=${two}&continue=${page.continue}`,
  )
  deepEqual(
    [page, rest].map(({ objects = [] }) => objects[0]?.name),
    ['b', 'c'],
  )
})

test('a change of before is told without the object after it', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a')
  for (const path of ['/v1/changes?uid=cm-a', '/v1/changes?kind=configmap']) {
    const { changes } = (await (await rig.ask(path)).json()) as { changes: readonly object[] }
    deepEqual(
      changes.map((change) => 'object' in change),
      [false],
      path,
    )
  }
})

test('what nobody had listed by then is named, and never counts as absent', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a')
  const { partial, objects } = await rig.get<Told>(
    '/v1/objects?kind=configmap&at=2020-01-01T00:00:00Z',
  )
  deepEqual(objects, [])
  equal(partial, 'not known to have been listed by then: configmaps')
})

test('a kind is known as listed from the event that ended its list, and not a moment later (C9)', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a')
  const { entries } = await rig.log.read('events', 0, 0n, { limit: 1_000, waitMs: 0 })
  const ended = entries.find(({ value }) => {
    const event = codec.decode(value ?? new Uint8Array())
    return event.type === 'SyncFinished' && event.kind === 'ConfigMap'
  })
  ok(ended)
  const partialAt = async (at: string): Promise<string> =>
    (await rig.get<Told>(`/v1/objects?kind=configmap&at=${at}`)).partial
  const unlisted = 'not known to have been listed by then: configmaps'
  equal(await partialAt(`pos:0-${ended.offset}`), unlisted)
  equal(await partialAt(`pos:0-${ended.offset + 1n}`), '')
  equal(await partialAt(new Date(ended.timestamp - 1).toISOString()), unlisted)
  equal(await partialAt(new Date(ended.timestamp).toISOString()), '')
})

test('a moment that is not over is refused with the newest that is', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a')
  const early = await rig.refused('/v1/objects?kind=configmap&at=2026-02-01T00:00:00Z')
  equal(early.status, 425)
  match(
    early.detail,
    /^nothing of cluster test was recorded after .* the newest moment is 2026-01-31T09:01:00.000Z$/,
  )
  const far = await rig.refused('/v1/objects?kind=configmap&at=pos:0-999999')
  equal(far.status, 425)
  match(far.detail, /^pos:0-999999 is not folded yet; the newest is pos:0-\d+$/)
})

test('a moment before what was forgotten is refused with the earliest that can be asked', async (t) => {
  const rig = await rigged(t)
  const there = await rig.minute('put cm/a', 'put cm/b')
  const gone = await rig.minute('delete cm/a')
  await rig.log.append('lineage', 0, [{ key: 'c/cm-a', value: null }])
  const lost = await rig.refused(`/v1/objects?kind=configmap&at=${there}`)
  equal(lost.status, 410)
  const [, earliest = '', position = ''] =
    /the earliest moment is (\S+), or (pos:0-\d+)$/.exec(lost.detail) ?? []
  equal(earliest, gone)
  for (const at of [earliest, position]) {
    const { objects = [] } = await rig.get<Told>(`/v1/objects?kind=configmap&at=${at}`)
    deepEqual(
      objects.map(({ name }) => name),
      ['b'],
    )
  }
  equal((await rig.refused(`/v1/tree?kind=configmap&name=b&namespace=ns&at=${there}`)).status, 410)
  const horizon = await momentsOf(rig)
  deepEqual([horizon.earliest, `pos:0-${horizon.partitions[0]?.first}`], [earliest, position])
  match(horizon.because, /^an object of cluster test that existed before was forgotten/)
})

interface Moments {
  readonly source: string
  readonly earliest: string | null
  readonly because: string
  readonly partitions: readonly { readonly first: number }[]
}

/** How far back moments reach, as `kinfold audit horizon` has it. */
async function momentsOf(rig: MinuteRig): Promise<Moments> {
  const { bounds } = (await (await rig.ask('/v1/horizon')).json()) as { bounds: Moments[] }
  const found = bounds.find(({ source }) => source === 'moments')
  ok(found !== undefined)
  return found
}

test('an answer about the past may be kept, and one that is incomplete may not', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/b')
  const at = await rig.minute('put cm/a')
  const response = await rig.ask(`/v1/objects?kind=configmap&at=${at}`)
  match(response.headers.get('cache-control') ?? '', /^private, immutable, max-age=\d+$/)
  const tag = response.headers.get('etag') ?? ''
  await rig.minute('delete cm/a')
  const again = await rig.ask(`/v1/objects?kind=configmap&at=${at}`, {
    headers: { 'if-none-match': tag },
  })
  equal(again.status, 304)
  const partial = await rig.ask('/v1/objects?kind=configmap&at=2020-01-01T00:00:00Z')
  equal(partial.headers.get('cache-control'), 'private, no-cache')
})

test('what is no moment is refused with what is', async (t) => {
  const rig = await rigged(t)
  for (const at of ['yesterday', '2h', '2026-01-31', 'pos:0', 'before:7', 'pos:0-1-2']) {
    const { status, detail } = await rig.refused(`/v1/objects?kind=configmap&at=${at}`)
    equal(status, 400, at)
    match(detail, /is none of RFC 3339 such as .*, pos:PARTITION-OFFSET, before:COMMAND$/)
  }
  const { status, detail } = await rig.refused('/v1/objects?kind=configmap&at=2026-13-45T00:00:00Z')
  deepEqual([status, detail], [400, 'at 2026-13-45T00:00:00Z is no time of any calendar'])
  const other = await rig.refused('/v1/objects?kind=configmap&at=pos:7-1')
  equal(other.status, 400)
  match(other.detail, /^pos:7-1 is of partition 7, which none of these clusters is in: /)
})

test('history of a version that did not record owners has no past that can be asked', async (t) => {
  const rig = await rigged(t)
  const at = await rig.minute('put cm/a')
  const { entries } = await rig.log.read('history', 0, 0n, { limit: 1, waitMs: 0 })
  const record = codec.decode(entries[0]?.value ?? new Uint8Array())
  ok(record.type === 'History')
  const value = codec.encode({ ...record, object: null, uid: 'old' })
  await rig.log.append('history', 0, [{ key: 'c/old', value }])
  const { status, detail } = await rig.refused(`/v1/objects?kind=configmap&at=${at}`)
  equal(status, 410)
  match(detail, /was recorded by a version that did not record owners: its past cannot be asked$/)
  const horizon = await momentsOf(rig)
  equal(horizon.earliest, null)
  match(horizon.because, /^history of cluster test was recorded by a version that did not/)
})

test('an index that is built anew over trimmed history refuses what it cannot know, and knows what is older', async (t) => {
  const rig = await rigged(t)
  await rig.minute(...FAMILY)
  const kept = await rig.minute('put pod/b <- rs/web-1')
  const { end } = await rig.log.bounds('history', 0)
  await rig.minute('put pod/c <- rs/web-1')
  const last = await rig.minute('delete pod/b')
  while ((await rig.index.lagEntries()) > 0n) await setImmediate()
  await rig.log.trim('history', 0, end)
  const store = emptyStore()
  const index = await followed(rig.log, store)
  const horizon = createSpanIndex(store, codec).horizon('c')
  ok(horizon !== undefined && horizon.at > Date.parse(kept), 'what was trimmed cannot be asked')
  const moment = { type: 'time', at: Date.parse(last) } as const
  ok(moment.at >= horizon.at)
  for (const uid of ['deploy-web', 'rs-web-1', 'pod-a', 'pod-b', 'pod-c']) {
    const phase = index.spans.objectAt('c', uid, moment)?.phase
    ok(phase !== undefined, uid)
    equal(phase, rig.index.spans.objectAt('c', uid, moment)?.phase, uid)
    deepEqual(
      index.spans.objectAt('c', uid, moment)?.owners.map((owner) => owner.uid),
      rig.index.spans.objectAt('c', uid, moment)?.owners.map((owner) => owner.uid),
      uid,
    )
  }
})

/** An index that has read all that the log holds, and reads no more. */
async function followed(log: MemoryLog, store: Store): Promise<HistoryIndex> {
  const index = createHistoryIndex(log, codec, systemClock(), store)
  const stop = new AbortController()
  const running = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n || !index.isBegun()) await setImmediate()
  stop.abort()
  await running
  return index
}

test('an index that missed history, since it was away for longer than that is kept, begins again', async (t) => {
  const rig = await rigged(t)
  const there = await rig.minute(...FAMILY)
  const store = emptyStore()
  const before = await followed(rig.log, store)
  equal(before.begin(0)?.at, null)
  await rig.minute('put pod/a', 'put pod/b <- rs/web-1', 'put cm/z')
  await rig.minute('delete cm/z')
  await rig.log.append('lineage', 0, [{ key: 'c/cm-z', value: null }])
  const { end } = await rig.log.bounds('history', 0)
  const events = await rig.log.bounds('events', 0)
  const last = await rig.minute('delete pod/b')
  await rig.log.trim('events', 0, events.end)
  await rig.log.trim('history', 0, end)
  const index = await followed(rig.log, store)
  equal(index.begin(0)?.offset, end)
  ok(index.begin(0)?.at)
  deepEqual(await index.entries(WEB, 0n, 10), [])
  ok(begunAt(rig.log, index) > Date.parse(there), 'what was missed cannot be asked')
  const moment = { type: 'time', at: Date.parse(last) } as const
  const owners = index.spans.objectAt('c', 'pod-a', moment)?.owners
  deepEqual(owners, [])
  equal(index.spans.objectAt('c', 'pod-b', moment)?.phase, 'gone')
  equal(index.spans.objectAt('c', 'cm-z', moment), undefined, 'it was forgotten')
})

test('a reference beyond those that a text names is known, too', async (t) => {
  const rig = await rigged(t)
  const owners = [1, 2, 3, 4, 5, 6].map((each) => `cm/${each}`)
  await rig.minute(...[...owners, 'cm/7'].map((owner) => `put ${owner}`))
  const first = await rig.minute(`put pod/a <- ${owners.join(', ')}`)
  const second = await rig.minute(`put pod/a <- ${[...owners.slice(0, 5), 'cm/7'].join(', ')}`)
  const lastOwner = async (at: string): Promise<string | undefined> => {
    const path = `/v1/tree?kind=pod&name=a&namespace=ns&owners=true&at=${at}`
    return (await rig.get<Told>(path)).root?.children.at(-1)?.name
  }
  deepEqual([await lastOwner(first), await lastOwner(second)], ['6', '7'])
})

test('why is told as it was then: its state, its owners and its history up to the moment', async (t) => {
  const rig = await rigged(t)
  const early = await rig.minute(...FAMILY)
  const there = await rig.minute('put rs/web-2 <- deploy/web', 'put pod/a <- rs/web-2')
  const gone = await rig.minute('delete pod/a')
  await rig.minute('put pod/a@again')
  const whyAt = async (at: string): Promise<Why> =>
    await rig.get<Why>(`/v1/why?kind=pod&name=a&namespace=ns&at=${at}`)
  const told = [early, there, gone].map(async (at) => {
    const { phase, references, history, verdict, obstacle, attempt, others, partial } =
      await whyAt(at)
    deepEqual([verdict, obstacle, attempt, others, partial], [null, null, null, [], ''])
    const owners = references.map(({ name, standing, reason }) => `${name} ${standing}${reason}`)
    const changes = history.filter(({ change }) => change !== 'verdict')
    return [phase, ...owners, ...changes.map(({ change }) => change)]
  })
  deepEqual(await Promise.all(told), [
    ['observed', 'web-1 null', 'created'],
    ['observed', 'web-2 null', 'created', 'references'],
    [null, 'created', 'references', 'gone'],
  ])
  const response = await rig.ask(`/v1/why?uid=pod-a&at=${early}`)
  match(response.headers.get('cache-control') ?? '', /immutable/)
  const before = await rig.refused('/v1/why?uid=pod-a&at=2020-01-01T00:00:00Z')
  equal(before.status, 404)
})

test('why says what of an older history is not kept', async (t) => {
  const rig = await rigged(t)
  await rig.minute(...FAMILY)
  const { end } = await rig.log.bounds('history', 0)
  const last = await rig.minute('put pod/a <- deploy/web', 'put pod/c')
  while ((await rig.index.lagEntries()) > 0n) await setImmediate()
  await rig.log.trim('events', 0, (await rig.log.bounds('events', 0)).start)
  await rig.log.trim('history', 0, end)
  const index = await followed(rig.log, emptyStore())
  const moment = { type: 'time', at: Date.parse(last) } as const
  const parts = { log: rig.log, index, cluster: 'c', moment, turns: new Turns(systemClock()) }
  const whyOf = async (uid: string): Promise<Awaited<ReturnType<typeof pastWhy>>> => {
    const past = index.spans.objectAt('c', uid, moment)
    ok(past !== undefined)
    return await pastWhy(parts, past)
  }
  match((await whyOf('pod-a')).partial, /^its history before 2026-\S+ was removed from the log$/)
  const whole = await whyOf('pod-c')
  deepEqual([whole.partial, whole.answer.history[0]?.change], ['', 'created'])
})

test('a list has owner references in full where they are asked for', async (t) => {
  const rig = await rigged(t)
  const then = await rig.minute(...FAMILY, 'put pod/b <- rs/web-1!')
  const now = await rig.minute('put pod/a <- deploy/web', 'delete pod/b')
  const listed = async (more: string): Promise<string[]> => {
    const { objects = [] } = await rig.get<Told>(`/v1/objects?kind=pod&references=true${more}`)
    return objects.map(({ name, references }) => {
      const owners = references?.map(
        (owner) => `${owner.kind}/${owner.name} ${owner.blockOwnerDeletion}`,
      )
      return `${name}: ${owners ?? 'null'}`
    })
  }
  deepEqual(await listed(`&at=${then}`), ['a: ReplicaSet/web-1 null', 'b: ReplicaSet/web-1 true'])
  const of = ['a: Deployment/web null', 'b: null']
  deepEqual(await listed(`&at=${now}&gone=true`), of)
  deepEqual(await listed('&gone=true'), of)
  const { objects = [] } = await rig.get<Told>('/v1/objects?kind=pod')
  ok(objects.every((object) => !('references' in object)))
})

test('who may not get an object learns nothing of its past', async () => {
  const group = new GraphGroup(1)
  try {
    const authority: Authority = {
      identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
      may: async () => false,
    }
    const { url } = await group.start({ authority, isReadingReviewed: true })
    await tell(group.log, eventsOf([...FAMILY, 'beat 1']))
    await group.caughtUp()
    const headers = { authorization: 'Bearer hers' }
    const paths = ['/v1/objects?kind=pod&at=pos:0-1', '/v1/why?uid=pod-a&at=pos:0-1']
    for (const path of [`${TREE}&at=pos:0-1`, '/v1/diff?from=pos:0-1', ...paths]) {
      equal((await fetch(url + path, { headers })).status, 403, path)
    }
  } finally {
    await group.stop()
  }
})

test('who may get some objects is shown these in a tree of the past, and of others no uid', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, _cluster, { resource }) => resource === 'replicasets',
  }
  const { url } = await group.start({ authority, isReadingReviewed: true })
  const then = [...FAMILY, 'put pod/b <- rs/web-1']
  // More states than are kept, so that it is unknown who owned it then.
  const often = Array.from({ length: 110 }, () => ['put pod/a', 'put pod/a <- rs/web-1'])
  const events = eventsOf([...then, ...often.flat(), 'beat 1', 'beat 1'])
  const early = eventsOf(then).length
  await tell(group.log, events.slice(0, early))
  const { end } = await group.log.bounds('events', 0)
  await tell(group.log, events.slice(early))
  await group.caughtUp()
  const at = `pos:0-${end}`
  const headers = { authorization: 'Bearer hers' }
  const response = await fetch(`${url}${TREE}&at=${at}`, { headers })
  const { root, partial } = (await response.json()) as Told
  equal(shape(root), 'ReplicaSet/web-1(Pod/hidden)')
  match(partial, /^the owners of 1 object that changed very often are not kept so far back$/)
})

test('what is forgotten stays forgotten where history is read behind lineage', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const uids = Array.from({ length: 1_500 }, (_, each) => `u-${each}`)
  const history = uids.flatMap((uid, each) =>
    (['created', 'gone'] as const).map((change) => {
      const phase = change === 'created' ? ('observed' as const) : null
      const value = codec.encode({
        ...{ type: 'History', cluster: 'c', uid, group: '', kind: 'Pod', namespace: 'ns' },
        ...{ name: uid, change, text: '', phase, evidence: null, command: null, partition: 0 },
        ...{ position: BigInt(each), basis: [], at: 1 },
        object: { phase, createdAt: 0, deletedAt: null, owners: [], held: null, long: null },
      })
      return { key: `c/${uid}`, value }
    }),
  )
  await log.append('history', 0, history)
  await log.append(
    'lineage',
    0,
    uids.map((uid) => ({ key: `c/${uid}`, value: null })),
  )
  const index = createHistoryIndex(log, codec, clock, emptyStore())
  const stop = new AbortController()
  const running = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  stop.abort()
  await running
  deepEqual(await index.spans.page('c', null, '', 10), [])
})

test('an object that changes without end keeps its newest states, and of older moments it is unknown', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put rs/web-1')
  const old = await rig.minute('put pod/a <- rs/web-1')
  for (let each = 0; each < 110; each++) {
    await rig.minute('put pod/a', 'put pod/a <- rs/web-1')
  }
  const { root, partial } = await rig.get<Told>(`${TREE}&at=${old}`)
  equal(shape(root), 'ReplicaSet/web-1')
  equal(partial, 'the owners of 1 object that changed very often are not kept so far back: pod-a')
  const minutes = async (): Promise<number> => {
    const keys = [...(await contentOf(rig.store)).keys()]
    return keys.filter((key) => /^changed\/.*\/pod-a$/.test(key)).length
  }
  // Two states of each minute are kept, and no key of the others.
  equal(await minutes(), 100)
  const gone = await rig.minute('delete pod/a')
  await rig.log.append('lineage', 0, [{ key: 'c/pod-a', value: null }])
  equal((await rig.ask(`${TREE}&at=${gone}`)).status, 200)
  equal(await minutes(), 0)
})

test('what is forgotten while an answer about a moment is made is not left out of it in silence', async (t) => {
  const rig = await rigged(t)
  await rig.minute(...FAMILY)
  const whole = await rig.minute('put pod/b <- rs/web-1')
  await rig.minute('delete pod/b')
  await rig.minute('delete pod/a')
  const page = rig.store.page.bind(rig.store)
  /** Before the next page below such keys is read, these are forgotten. */
  const forgetBefore = (prefix: string, uid: string): void => {
    rig.store.page = async (range) => {
      if (range.gte.startsWith(prefix)) {
        rig.store.page = page
        await rig.log.append('lineage', 0, [{ key: `c/${uid}`, value: null }])
        while ((await rig.index.lagEntries()) > 0n) await setImmediate()
      }
      return await page(range)
    }
  }
  equal(shape((await rig.get<Told>(`${TREE}&at=${whole}`)).root), 'ReplicaSet/web-1(Pod/a Pod/b)')
  forgetBefore('owned/', 'pod-b')
  equal((await rig.refused(`${TREE}&at=${whole}`)).status, 410)
  const later = await rig.minute()
  const before = new Date(Date.parse(later) - 2 * MINUTE_MS).toISOString()
  const path = `/v1/objects?kind=pod&at=${before}`
  equal((await rig.get<Told>(path)).objects?.length, 1)
  forgetBefore('lives/', 'pod-a')
  equal((await rig.refused(path)).status, 410)
})

test('what nobody watched then is not left out of a tree in silence', async (t) => {
  const rig = await rigged(t)
  await rig.minute(...FAMILY)
  await rig.minute('serve pod unmonitored')
  const at = await rig.minute()
  await rig.minute()
  const down = await rig.ask(`${TREE}&at=${at}`)
  const { root, partial } = (await down.json()) as Told
  equal(shape(root), 'ReplicaSet/web-1')
  equal(partial, 'the owners of 1 object that nobody watched by then are not known')
  equal(down.headers.get('cache-control'), 'private, no-cache')
  const up = await rig.get<Told>(`/v1/tree?kind=pod&name=a&namespace=ns&owners=true&at=${at}`)
  deepEqual([shape(up.root), up.partial], ['Pod/a unknown', partial])
})

test('where a name was had by very many, in whichever cluster, a list of it is whole (T6)', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put pod/web')
  // Keys of this cluster come before those of the one that is asked about.
  const named = Array.from({ length: 10_000 }, (_, each) => ({
    key: `a/u-${each}`,
    value: codec.encode({
      ...{ type: 'Lineage', cluster: 'a', clusterName: 'a', uid: `u-${each}`, group: '' },
      ...{ kind: 'Pod', namespace: 'ns', name: 'web', version: 'v1', scope: 'Namespaced' },
      ...{ phase: 'gone', owners: [], createdAt: null, deletedAt: null, why: '', verdict: null },
      ...{ held: null, moreOwners: 0 },
      ...{ heldBy: null, evidence: null, position: BigInt(each), at: START },
    }),
  }))
  await rig.log.append('lineage', 0, named)
  while ((await rig.index.caughtUp()) > 0n) await setImmediate()
  const at = await rig.minute()
  const path = `/v1/objects?kind=pod&namespace=ns&name=web&cluster=c&at=${at}`
  const { partial, objects = [] } = await rig.get<Told>(path)
  deepEqual([partial, objects.map(({ uid }) => uid)], ['', ['pod-web']])
})

test('where more objects changed very often than one answer looks at, a tree does not count as whole', async () => {
  const store = emptyStore()
  const spans = new SpanChanges(store, codec, false)
  const known = (uid: string, position: number): HistoryRecord => ({
    ...{ type: 'History', cluster: 'c', uid, group: '', kind: 'Pod', namespace: 'ns', name: uid },
    ...{ change: 'references', text: '', phase: null, evidence: null, command: null, basis: [] },
    ...{ partition: 0, position: BigInt(position), at: position },
    object: {
      phase: 'observed',
      createdAt: 0,
      deletedAt: null,
      owners: [OWNER],
      held: null,
      long: null,
    },
  })
  for (let each = 0; each < 1_001; each++) {
    // Of the last one alone it is not known whose it was by then.
    const isLast = each === 1_000
    const uid = `${isLast ? 'z' : 'u'}-${each}`
    for (let n = 0; n < 201; n++) spans.add(known(uid, isLast ? 500 + n : n))
  }
  await store.write(spans.take(), { changelog: 0n, position: 0n })
  const moment = { type: 'time', at: 500 } as const
  const turns = new Turns(systemClock())
  const view = { spans: createSpanIndex(store, codec), cluster: 'c', moment, turns, sight: WHOLE }
  const root = view.spans.objectAt('c', 'u-0', moment)
  ok(root !== undefined)
  match((await pastTree(view, root, false)).cut, /^over 1000 objects changed very often: /)
})

const WEB = identityOf('c', {
  ...{ group: 'apps', kind: 'Deployment', namespace: 'ns', name: 'web', uid: 'deploy-web' },
})

const OWNER: OwnerReference = {
  ...{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'o' },
  ...{ controller: null, blockOwnerDeletion: null },
}

test('the process that has the cluster answers, whoever is asked', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const [one, two] = [await group.start(), await group.start()]
  await tell(group.log, eventsOf([...FAMILY, 'beat 1', 'beat 1']), () => 1)
  await group.caughtUp()
  const { end } = await group.log.bounds('events', 1)
  for (const { url } of [one, two]) {
    const path = `${url}/v1/tree?kind=replicaset&name=web-1&namespace=ns&at=pos:1-${end}`
    const response = await checked(path, await fetch(path))
    equal(response.status, 200)
    equal(shape(((await response.json()) as Told).root), 'ReplicaSet/web-1(Pod/a)')
  }
  const path = `${one.url}/v1/objects?kind=pod&at=pos:0-1`
  equal((await fetch(path)).status, 400)
})

test('of several clusters that one is meant that had the object then, whichever has it now', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const [one, two] = [await group.start(), await group.start()]
  const lines: string[] = []
  let told = 0
  /** Answers with the append time of the last event but the heartbeats that let it pass. */
  const then = async (...more: readonly string[]): Promise<string> => {
    lines.push(...more)
    const events = eventsOf(lines)
    await tell(group.log, events.slice(told), (cluster) => (cluster === 'd' ? 1 : 0))
    const ends = [0, 1].map(async (each) => await group.log.read('events', each, 0n, ALL))
    const times = (await Promise.all(ends)).flatMap(({ entries }) => entries.at(-1)?.timestamp ?? 0)
    lines.push(...['cluster c', 'beat 60', 'beat 1', 'cluster d', 'beat 60', 'beat 1'])
    told = events.length
    const beats = eventsOf(lines).slice(told)
    await tell(group.log, beats, (cluster) => (cluster === 'd' ? 1 : 0))
    told += beats.length
    await group.caughtUp()
    return new Date(Math.max(...times)).toISOString()
  }
  const c = ['cluster c', 'put rs/web-1', 'put pod/a <- rs/web-1']
  const first = await then('cluster d', ...c)
  const both = await then('cluster d', 'put rs/web-1', 'put pod/b <- rs/web-1')
  await then('cluster c', 'delete rs/web-1')
  for (const { url } of [one, two]) {
    const asked = async (at: string): Promise<Partial<Told> & { readonly detail?: string }> => {
      const path = `${url}${TREE}&at=${at}`
      return (await (await checked(path, await fetch(path))).json()) as Told
    }
    equal(shape((await asked(first)).root), 'ReplicaSet/web-1(Pod/a)')
    match(
      (await asked(both)).detail ?? '',
      /is ambiguous \(test \(c\) .*, test \(d\) .*add --cluster$/,
    )
    const { end } = await group.log.bounds('events', 1)
    equal(shape((await asked(`pos:1-${end}`)).root), 'ReplicaSet/web-1(Pod/b)')
  }
})

const ALL = { limit: 1_000, waitMs: 0 }

test('what is forgotten of an object that came again leaves no key of its former owners and minutes', async () => {
  const store = emptyStore()
  const spans = new SpanChanges(store, codec, false)
  const told = (
    change: HistoryRecord['change'],
    owner: string | null,
    position: number,
  ): HistoryRecord => ({
    ...{ type: 'History', cluster: 'c', uid: 'pod', group: '', kind: 'Pod', namespace: 'ns' },
    ...{ name: 'pod', change, text: '', phase: null, evidence: null, command: null, basis: [] },
    ...{ partition: 0, position: BigInt(position), at: position * MINUTE_MS },
    object: {
      ...{ phase: owner === null ? null : 'observed', createdAt: 0, deletedAt: null, held: null },
      long: null,
      owners: owner === null ? [] : [{ ...OWNER, uid: owner }],
    },
  })
  spans.add(told('created', 'first', 1))
  spans.add(told('gone', null, 2))
  spans.add(told('created', 'second', 3))
  await store.write(spans.take(), { changelog: 0n, position: 0n })
  const forgetting = new SpanChanges(store, codec, false)
  equal(forgetting.forget('c', 'pod', 2 * MINUTE_MS + 1), 3)
  await store.write(forgetting.take(), { changelog: 0n, position: 0n })
  const keys = [...(await contentOf(store)).keys()]
  deepEqual(
    keys.filter((key) => /^(owned|changed)/.test(key)),
    ['changed/c/000000000003/pod', 'owned/c/second/configmap./o/ns/pod'],
  )
})
