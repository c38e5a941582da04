/**
 * A moment of the past over HTTP: what is answered, and what is refused because it is no longer
 * known.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Cascade, Tree, Why } from '../../../../cli/answer.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../../testing/rig/graph-group.ts'
import { rigged } from '../../../../testing/rig/minute-rig.ts'
import { codec, eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { AsOf, Document } from '../../api/document.ts'
import type { ListAnswer } from '../ask/list-question.ts'
import type { TreeNode } from './tree.ts'

const START = Date.parse('2026-01-31T09:00:00Z')

type Told = Document & Partial<ListAnswer> & { readonly root?: TreeNode; readonly asOf: AsOf[] }

function shape(node: Tree['root'] | TreeNode | undefined): string {
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
  equal((await rig.get<Cascade>('/v1/cascade?uid=deploy-web')).deletedAt, at)
  const up = await rig.get<Tree>('/v1/tree?uid=pod-z&owners=true')
  deepEqual(lines(up.root), ['pod-z gone', ' rs-one gone', '  deploy-web gone'])
  // It was deleted before its owner, so nothing says that it was for that.
  deepEqual([up.deletion?.root, up.deletion?.isRootKnown], [null, false])
  const there = await rig.get<Tree>('/v1/tree?uid=cm-freed')
  deepEqual([there.deletion, there.deletedAt], [null, null])
})

test('the owners of what was deleted are all levels, also where each was deleted before its dependent', async (t) => {
  const rig = await rigged(t)
  await rig.minute(
    'policy observe parity',
    'put deploy/web',
    'put rs/one <- deploy/web',
    'put cm/other',
  )
  await rig.minute('put pod/z <- rs/one, cm/other', 'put pod/y <- rs/one, cm/other')
  await rig.minute('delete deploy/web')
  await rig.minute('delete rs/one')
  await rig.minute('delete cm/other')
  await rig.minute('put pod/z <- rs/one, cm/other [deleting]')
  await rig.minute('delete pod/z')
  for (const uid of ['pod-z', 'rs-one']) {
    const { root, partial } = await rig.get<Tree>(`/v1/tree?uid=${uid}&owners=true`)
    const set = 'ReplicaSet/one gone(Deployment/web gone)'
    deepEqual(
      [shape(root), partial],
      [uid === 'rs-one' ? set : `Pod/z gone(ConfigMap/other gone ${set})`, ''],
    )
  }
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
  equal(partial, 'nothing of this cluster was recorded by then')
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
  const unlisted = 'configmaps is not listed yet'
  equal(await partialAt(`pos:0-${ended.offset}`), unlisted)
  equal(await partialAt(`pos:0-${ended.offset + 1n}`), '')
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
  const unknown = await rig.ask(`/v1/objects?kind=zebra&at=${at}`)
  deepEqual([unknown.status, unknown.headers.get('cache-control')], [404, null])
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
    deepEqual([obstacle, attempt, others, partial], [null, null, [], ''])
    const owners = references.map(({ name, standing }) => `${name} ${standing}`)
    const changes = history.filter(({ change }) => change !== 'verdict')
    return [phase, verdict?.type, ...owners, ...changes.map(({ change }) => change)]
  })
  deepEqual(await Promise.all(told), [
    ['observed', 'keep', 'web-1 solid', 'created'],
    ['observed', 'keep', 'web-2 solid', 'created', 'references'],
    [null, undefined, 'created', 'references', 'gone'],
  ])
  const response = await rig.ask(`/v1/why?uid=pod-a&at=${early}`)
  match(response.headers.get('cache-control') ?? '', /immutable/)
  const before = await rig.refused('/v1/why?uid=pod-a&at=2020-01-01T00:00:00Z')
  equal(before.status, 404)
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
  await tell(group.log, eventsOf([...FAMILY, 'put pod/b <- rs/web-1']))
  const { end } = await group.log.bounds('events', 0)
  await tell(group.log, eventsOf([...FAMILY, 'delete pod/b', 'beat 1', 'beat 1']))
  await group.caughtUp()
  const headers = { authorization: 'Bearer hers' }
  const response = await fetch(`${url}${TREE}&at=pos:0-${end}`, { headers })
  equal(shape(((await response.json()) as Told).root), 'ReplicaSet/web-1(Pod/hidden Pod/hidden)')
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
      ...{ doubt: null, deletion: null, admission: null, held: null, moreOwners: 0 },
      ...{ resource: '', departure: null },
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

/** Two clusters, each in a partition of its own: `then` folds and indexes more of their story. */
function toldIn(group: GroupOfTwo): (...more: readonly string[]) => Promise<string> {
  const lines: string[] = []
  let told = 0
  /** Answers with the append time of the last event but the heartbeats that let it pass. */
  return async (...more) => {
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
}

type GroupOfTwo = Pick<GraphGroup, 'log' | 'caughtUp'>

test('of several clusters that one is meant that had the object then, whichever has it now', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const [one, two] = [await group.start(), await group.start()]
  const then = toldIn(group)
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

test('which cluster had it then is not said while another process has not indexed that', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const one = await group.start()
  const both = await toldIn(group)(
    ...['cluster c', 'put rs/web-1', 'cluster d', 'put rs/web-1', 'put pod/b <- rs/web-1'],
  )
  const two = await group.start({ isIndexing: false })
  while (!two.graph.tasks.some((task) => task.status().state === 'folding')) await setImmediate()
  const path = `${one.url}${TREE}&at=${both}`
  const response = await checked(path, await fetch(path))
  equal(response.status, 503)
  match(
    ((await response.json()) as { detail: string }).detail,
    /^which cluster had it then is not known, ask again later: .* not indexed yet/,
  )
})

const ALL = { limit: 1_000, waitMs: 0 }

test('a cascade and a graph are as they were then', async (t) => {
  const rig = await rigged(t)
  const there = await rig.minute(...FAMILY, 'put pod/b <- rs/web-1')
  const half = await rig.minute('delete rs/web-1', 'delete pod/b')
  const over = await rig.minute('delete pod/a')
  const cascade = '/v1/cascade?kind=replicaset&name=web-1&namespace=ns'
  for (const [at, ...counts] of [
    [half, 1, 1, false],
    [over, 2, 0, true],
  ] as const) {
    const { done, remaining, isOver, partial } = await rig.get<Cascade>(`${cascade}&at=${at}`)
    deepEqual([done, remaining, isOver, partial], [...counts, ''])
  }
  const early = await rig.refused(`${cascade}&at=${there}`)
  deepEqual(early, { status: 409, detail: 'ReplicaSet/web-1 was not being deleted then' })
  equal((await rig.refused(`${cascade}&at=${half}&follow=true`)).status, 400)
  const edgesAt = async (at: string): Promise<number> => {
    const dot = await (await rig.ask(`/debug/graph?at=${at}`)).text()
    return dot.match(/->/g)?.length ?? 0
  }
  deepEqual([await edgesAt(there), await edgesAt(half), await edgesAt(over)], [3, 1, 0])
  const later = await rig.refused('/debug/graph?at=2099-01-01T00:00:00Z')
  equal(later.status, 425)
  const { end } = await rig.log.bounds('events', 0)
  await rig.forget(end)
  equal((await rig.refused(`/debug/graph?at=${there}`)).status, 410)
  const { partial } = await rig.get<Cascade>(cascade)
  match(partial, /^what was deleted before pos:0-\d+ is not remembered/)
})
