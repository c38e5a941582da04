/**
 * What differs between two moments, over HTTP: by whom what was deleted, whose owners are others,
 * and what is refused. That each moment is what it was then, query/past.property.test.ts says.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { checked } from '../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../testing/rig/graph-group.ts'
import { type MinuteRig, rigged } from '../../../testing/rig/minute-rig.ts'
import { codec, eventsOf } from '../../../testing/rig/task-rig.ts'
import type { DiffPage, DiffRow } from './diff-question.ts'

type Told = DiffPage & { readonly partial: string; readonly asOf: readonly unknown[] }

const FAMILY = ['put deploy/web', 'put rs/web-1 <- deploy/web', 'put pod/a <- rs/web-1']

function told({ kind, name, change, from, to, deletion }: DiffRow): string {
  const owners = [from, to].map((then) => then?.owners.map((owner) => owner.name).join() ?? '-')
  const phases = [from, to].map((then) => then?.phase ?? '-').join(' → ')
  const by = deletion === null ? '' : ` by ${deletion.by} on ${deletion.evidence}`
  return `${change} ${kind}/${name} ${phases}, owners ${owners.join(' → ')}${by}`
}

async function allOf(rig: MinuteRig, query: string): Promise<readonly DiffRow[]> {
  const rows: DiffRow[] = []
  for (let cursor = ''; ; ) {
    const page = await rig.get<Told>(`/v1/diff?${query}&continue=${cursor}`)
    rows.push(...page.differences)
    if (page.continue === null) return rows
    cursor = page.continue
  }
}

test('what was added, deleted and changed is listed with what it was and what it became', async (t) => {
  const rig = await rigged(t)
  await rig.minute(...FAMILY, 'put rs/web-2 <- deploy/web', 'put cm/gone', 'put cm/same')
  const from = await rig.minute('put cm/twice')
  await rig.minute('put pod/a <- rs/web-2', 'delete cm/gone', 'put cm/new', 'put cm/short')
  const to = await rig.minute('delete cm/twice', 'put cm/twice@again', 'delete cm/short')
  await rig.minute('delete cm/same', 'put cm/later')
  const expected = [
    'added ConfigMap/new - → observed, owners - → ',
    'added ConfigMap/twice - → observed, owners - → ',
    'changed Pod/a observed → observed, owners web-1 → web-2',
    'deleted ConfigMap/gone observed → -, owners  → - by others on null',
    'deleted ConfigMap/twice observed → -, owners  → - by others on null',
  ]
  for (const limit of [1, 2, 500]) {
    const rows = await allOf(rig, `from=${from}&to=${to}&limit=${limit}`)
    deepEqual(rows.map(told).toSorted(), expected, `${limit}`)
  }
  const minutes = (await allOf(rig, `from=${from}&to=${to}`)).map(({ at }) => at)
  deepEqual(minutes, minutes.toSorted())
  deepEqual(await allOf(rig, `from=${to}&to=${to}`), [])
  const ofKind = await allOf(rig, `from=${from}&to=${to}&kind=pods&namespace=ns`)
  deepEqual(
    ofKind.map(({ name }) => name),
    ['a'],
  )
  deepEqual(await allOf(rig, `from=${from}&to=${to}&namespace=other`), [])
  const now = (await allOf(rig, `from=${from}&limit=2`)).map(({ name }) => name)
  deepEqual(now.toSorted(), ['a', 'gone', 'later', 'new', 'same', 'twice', 'twice'])
})

test('of a deletion of Kinfold the command and its evidence are named', async (t) => {
  const rig = await rigged(t)
  const from = await rig.minute(...FAMILY)
  await rig.minute('delete deploy/web')
  await rig.minute('settle rs/web-1 done', 'delete rs/web-1')
  const to = await rig.minute('settle pod/a done', 'delete pod/a')
  const rows = await allOf(rig, `from=${from}&to=${to}`)
  deepEqual(rows.map(told).toSorted(), [
    'deleted Deployment/web observed → -, owners  → - by others on null',
    'deleted Pod/a observed → -, owners web-1 → - by kinfold on deleted',
    'deleted ReplicaSet/web-1 observed → -, owners web → - by kinfold on deleted',
  ])
  const pod = rows.find(({ kind }) => kind === 'Pod')?.deletion
  const { entries } = await rig.log.read('commands', 0, 0n, { limit: 100, waitMs: 0 })
  const ids = entries
    .map(({ value }) => value && codec.decode(value))
    .map((each) => each?.type === 'DeleteObject' && each.target.uid === 'pod-a' && each.id)
  equal(pod?.command, ids.find(Boolean))
  ok(pod?.text !== '')
  // Just before that command it was there.
  const before = await allOf(rig, `from=${from}&to=before:${pod?.command}&kind=pods`)
  deepEqual(before, [])
  const after = await allOf(rig, `from=before:${pod?.command}&to=${to}&kind=pods`)
  equal(after.length, 1)
})

test('what is being deleted differs from what it was before', async (t) => {
  const rig = await rigged(t)
  const from = await rig.minute('put deploy/web', 'put pod/p <- deploy/web!')
  const to = await rig.minute('put deploy/web [deleting foreground]')
  const [row, ...others] = await allOf(rig, `from=${from}&to=${to}&kind=deployments`)
  deepEqual(others, [])
  ok(row !== undefined)
  equal(told(row), 'changed Deployment/web observed → waiting, owners  → ')
  ok(row.from?.deletionTimestamp === null && row.to?.deletionTimestamp)
})

test('an answer that nothing can change may be kept, and no other', async (t) => {
  const rig = await rigged(t)
  // Kinds are listed in the first minute.
  await rig.minute()
  const from = await rig.minute(...FAMILY)
  const to = await rig.minute('delete deploy/web', 'put cm/a')
  const open = await rig.minute('delete rs/web-1')
  const control = async (query: string): Promise<string | null> =>
    (await rig.ask(`/v1/diff?${query}`)).headers.get('cache-control')
  const kept = 'private, immutable, max-age=86400'
  equal(await control(`from=${from}&to=${to}`), kept)
  equal(await control(`from=${from}`), 'private, no-cache')
  // Its result may come later, and say who did it.
  const [row] = await allOf(rig, `from=${to}&to=${open}`)
  equal(row?.deletion?.by, 'unknown')
  equal(await control(`from=${to}&to=${open}`), 'private, no-cache')
  await rig.minute('settle rs/web-1 done')
  equal((await allOf(rig, `from=${to}&to=${open}`))[0]?.deletion?.by, 'kinfold')
  equal(await control(`from=${to}&to=${open}`), kept)
  const tag = (await rig.ask(`/v1/diff?from=${from}&to=${to}`)).headers.get('etag') ?? ''
  const headers = { 'if-none-match': tag }
  equal((await rig.ask(`/v1/diff?from=${from}&to=${to}`, { headers })).status, 304)
})

test('what lies before what is remembered, is not over yet or is turned round is refused', async (t) => {
  const rig = await rigged(t)
  const lost = await rig.minute('put cm/a', 'put cm/b')
  const kept = await rig.minute('delete cm/a')
  const to = await rig.minute('put cm/c')
  const first = await rig.log.read('events', 0, 0n, { limit: 10_000, waitMs: 0 })
  const end = first.entries.find(({ timestamp }) => timestamp > Date.parse(kept))?.offset ?? 0n
  await rig.forget(end)
  const beyond = await rig.refused(`/v1/diff?from=${lost}&to=${to}`)
  equal(beyond.status, 410)
  match(beyond.detail, new RegExp(`the earliest moment is \\S+, or pos:0-${end}$`))
  deepEqual(
    (await allOf(rig, `from=${kept}&to=${to}`)).map(({ name }) => name),
    ['c'],
  )
  equal((await rig.refused(`/v1/diff?from=${kept}&to=2030-01-01T00:00:00Z`)).status, 425)
  const turned = await rig.refused(`/v1/diff?from=${to}&to=${kept}`)
  deepEqual(turned, {
    status: 400,
    detail: 'from is later than to in cluster test: change them over',
  })
  const without = await rig.refused(`/v1/diff?to=${to}`)
  deepEqual(without, { status: 400, detail: 'ask with from, a moment of the past' })
  const apart = await rig.refused('/v1/diff?from=pos:0-1&to=pos:1-1')
  match(apart.detail, /^from pos:0-1 and to pos:1-1 are of two partitions: no cluster is in both$/)
})

test('what nobody watched by then is named, and never counts as added or deleted', async (t) => {
  const rig = await rigged(t)
  await rig.minute()
  const to = await rig.minute('put cm/a')
  const early = await rig.get<Told>(`/v1/diff?from=2020-01-01T00:00:00Z&to=${to}&kind=configmap`)
  equal(early.partial, 'nothing of this cluster was recorded by then')
  const later = await rig.minute('serve cm unmonitored')
  const hidden = await rig.get<Told>(`/v1/diff?from=${to}&to=${later}`)
  deepEqual(hidden.differences, [])
  equal(hidden.partial, 'left out: 1 that nobody watched at one of the moments')
  equal(
    (await rig.ask(`/v1/diff?from=${to}&to=${later}`)).headers.get('cache-control'),
    'private, no-cache',
  )
})

test('thousands of changed objects are paged through, and the many others cost nothing', async (t) => {
  const rig = await rigged(t)
  const some = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, each) => `cm/c${from + each}`)
  await rig.minute(...some(0, 1_500).map((each) => `put ${each}`))
  for (let left = 3; left > 0; left--) await rig.minute()
  const from = await rig.minute()
  for (let left = 3; left > 0; left--) await rig.minute()
  await rig.minute(...some(1_500, 2_000).map((each) => `put ${each}`))
  const to = await rig.minute(...some(1_000, 500).map((each) => `delete ${each}`))
  const rows = await allOf(rig, `from=${from}&to=${to}&limit=700`)
  equal(rows.filter(({ change }) => change === 'added').length, 2_000)
  equal(rows.filter(({ change }) => change === 'deleted').length, 500)
  equal(new Set(rows.map(({ uid }) => uid)).size, 2_500)
  deepEqual(await allOf(rig, `from=${from}&to=${from}`), [])
})

test('a page ends where the histories of what is deleted get long, and the next one goes on there', async (t) => {
  const rig = await rigged(t)
  const maps = Array.from({ length: 30 }, (_, each) => `cm/c${each}`)
  const from = await rig.minute(...maps.map((each) => `put ${each}`))
  const to = await rig.minute(...maps.map((each) => `delete ${each}`))
  const newest = rig.index.newest.bind(rig.index)
  // As of objects to which very much happened.
  rig.index.newest = async (...asked) => {
    const { entries, isCut } = await newest(...asked)
    const [head] = entries
    return { entries: head === undefined ? [] : [...Array(1_500).fill(head), ...entries], isCut }
  }
  const sizes: number[] = []
  const names: string[] = []
  for (let cursor = ''; ; ) {
    const page = await rig.get<Told>(`/v1/diff?from=${from}&to=${to}&continue=${cursor}`)
    sizes.push(page.differences.length)
    names.push(...page.differences.map(({ name }) => name))
    if (page.continue === null) break
    cursor = page.continue
  }
  deepEqual([new Set(names).size, names.length], [30, 30])
  ok(Math.max(...sizes) < 20, `${sizes}`)
})

test('clusters follow each other, each answered by the process that has it', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const [one, two] = [await group.start(), await group.start()]
  const story = ['put cm/a', 'cluster d', 'put cm/b', 'put cm/c', 'beat 1', 'beat 1']
  await tell(group.log, eventsOf(story), (cluster) => (cluster === 'd' ? 1 : 0))
  await group.caughtUp()
  for (const { url } of [one, two]) {
    const names: string[] = []
    for (let cursor = ''; ; ) {
      const path = `${url}/v1/diff?from=1970-01-01T00:00:00Z&limit=1&continue=${cursor}`
      const page = (await (await checked(path, await fetch(path))).json()) as Told
      names.push(...page.differences.map(({ cluster, name }) => `${cluster.id} ${name}`))
      if (page.continue === null) break
      cursor = page.continue
    }
    deepEqual(names, ['c a', 'd b', 'd c'])
  }
})
