/** What was held at a moment of the past is what a graph process answered then. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import type { Diff, Held, ObjectList } from '../../../../cli/answer.ts'
import type { KnownHold } from '../../../../ports/record/lineage.ts'
import type { Store } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../../testing/rig/graph-group.ts'
import { type MinuteRig, rigged } from '../../../../testing/rig/minute-rig.ts'
import {
  appendAll,
  assign,
  BREAKER_STORY,
  codec,
  emptyStore,
  eventsOf,
  runTask,
  viewOf,
} from '../../../../testing/rig/task-rig.ts'
import { createHistoryIndex, type HistoryIndex } from '../index/history-index.ts'
import { holds } from '../index/moment.ts'
import { createSpanIndex, SpanChanges } from '../index/span-index.ts'
import { WHOLE } from '../view/sight.ts'
import { createPast } from './past.ts'
import { heldAt, leftOut } from './past-held.ts'

/** A minute each. */
const STORY: readonly (readonly string[])[] = [
  ...BREAKER_STORY.map((line) => [line]),
  ['put rs/x in other', 'put pod/x in other <- rs/x', 'delete rs/x in other'],
  ['beat 300'],
  ['close-breaker anna'],
  ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web'],
  ['delete rs/web'],
  ['pause'],
  ['protect namespace/ns', 'protect kind/Pod all'],
  ['resume'],
  ['unprotect kind/Pod all'],
  ['policy observe guarded'],
  ['policy enforce guarded'],
  ['unprotect namespace/ns'],
  ['beat 600', 'beat 600'],
  ['beat 600', 'beat 600', 'delete pod/b'],
  ['budgets 3 3 3', 'many 6 cm/c#', 'many 6 pod/c# <- cm/c#'],
  ['delete-many 6 cm/c#'],
  ...Array.from({ length: 12 }, () => ['beat 1']),
  ['put rs/bulk', 'put pod/bulk <- rs/bulk', 'policy dry-run parity', 'put rs/dry'],
  ['put pod/dry <- rs/dry', 'delete rs/dry', 'settle pod/dry would-go'],
  ['policy enforce parity'],
]

/** All that was said of that moment, but for what no index has. */
function told({ asOf: _, ...held }: Held): object {
  return { ...held, refused: [] }
}

async function heldNow(rig: MinuteRig, scope = ''): Promise<{ at: string[]; held: Held }> {
  const held = await rig.get<Held>(`/v1/held?${scope}`)
  const [{ position, time }] = held.asOf as [Held['asOf'][number]]
  return { at: [`pos:0-${position}`, ...(time === null ? [] : [time])], held }
}

/** It follows the log until the test ends. */
function indexed(t: Pick<TestContext, 'after'>, log: MemoryLog, store: Store): HistoryIndex {
  const index = createHistoryIndex(log, codec, systemClock(), store)
  const stop = new AbortController()
  const running = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
  })
  return index
}

suite('what was held at a moment', () => {
  test('is what was answered then: objects, mode, pauses, protections and breakers', async (t) => {
    const rig = await rigged(t)
    const then: Awaited<ReturnType<typeof heldNow>>[] = []
    for (const lines of STORY) {
      await rig.minute(...lines)
      then.push(await heldNow(rig), await heldNow(rig, 'namespace=other'))
    }
    await rig.minute('beat 1')
    const seen = { by: new Set<string>(), modes: new Set<string | null>(), rules: 0, unheld: 0 }
    for (const [index, { at, held }] of then.entries()) {
      const scope = index % 2 === 0 ? '' : '&namespace=other'
      for (const moment of at) {
        const past = await rig.get<Held>(`/v1/held?at=${moment}${scope}`)
        deepEqual(told(past), told(held), `step ${index} at ${moment}`)
      }
      for (const { by } of held.counts) seen.by.add(by)
      seen.modes.add(held.mode)
      seen.rules |= Number(held.pauses.length > 0) + 2 * Number(held.protections.length > 0)
      seen.rules |= 4 * Number(held.breakers.length > 0)
      if (held.total === 0) seen.unheld += 1
    }
    deepEqual([...seen.by].sort(), ['breaker', 'budget', 'hold', 'mode', 'pause', 'protection'])
    deepEqual([...seen.modes].sort(), ['dry-run', 'enforce', 'observe'])
    deepEqual([seen.rules, seen.unheld > 0], [7, true])
  })

  test('is the same out of an index that is built anew over a log that was trimmed', async (t) => {
    const rig = await rigged(t)
    await rig.minute('policy enforce guarded', 'protect kind/Pod', 'protect namespace/prod')
    await rig.minute('put rs/web', 'put pod/a <- rs/web', 'delete rs/web')
    const { end } = await rig.log.bounds('history', 0)
    const [digests, events] = [
      await rig.log.bounds('digests', 0),
      await rig.log.bounds('events', 0),
    ]
    await rig.minute('put cm/late')
    const { at, held } = await heldNow(rig)
    await rig.minute('unprotect namespace/prod', 'pause')
    await rig.minute('beat 1')
    equal(held.counts[0]?.by, 'protection')
    while ((await rig.index.lagEntries()) > 0n) await setImmediate()
    await rig.log.trim('history', 0, end)
    await rig.log.trim('digests', 0, digests.end)
    await rig.log.trim('events', 0, events.end)
    const index = indexed(t, rig.log, emptyStore())
    while ((await index.lagEntries()) > 0n || !index.isBegun()) await setImmediate()
    const moment = {
      type: 'position',
      position: Number((at[0] ?? '').split('-')[1]),
      at: Date.parse(at[1] ?? ''),
    } as const
    const [[key] = []] = await index.spans.heldPage('c', undefined, moment, '', 10)
    ok(key !== undefined, 'what was held is in the index')
    const past = index.spans.objectAt('c', 'pod-a', moment)
    deepEqual([past?.held?.by, past?.held?.what], ['protection', 'delete'])
    ok(index.rulesBegin(0) > 0 && index.rulesBegin(0) <= moment.at)
    const rules = await index.rulesAt(0, moment)
    const directives = rules.get('directives')
    ok(directives?.type === 'Directives')
    deepEqual(
      directives.protections.map(({ subject }) => subject),
      ['kind/Pod', 'namespace/prod'],
    )
  })

  test('is kept by whoever asks, and refused where it cannot be known', async (t) => {
    const rig = await rigged(t)
    const early = await rig.minute('policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web')
    await rig.minute('put cm/a')
    await rig.minute('delete rs/web', 'delete cm/a')
    const response = await rig.ask(`/v1/held?at=${early}`)
    match(response.headers.get('cache-control') ?? '', /^private, immutable/)
    const first = await rig.get<Held>('/v1/held?at=2020-01-01T00:00:00Z')
    deepEqual([first.mode, first.total], [null, 0])
    equal((await rig.refused('/v1/held?at=2099-01-01T00:00:00Z')).status, 425)
    equal((await rig.refused('/v1/held?at=noon')).status, 400)
    const other = await rig.refused('/v1/held?at=pos:7-1')
    equal(other.status, 400)
    match(other.detail, /^pos:7-1 is of partition 7, which none of these clusters is in: /)
    await rig.log.append('lineage', 0, [{ key: 'c/cm-a', value: null }])
    const lost = await rig.refused(`/v1/held?at=${early}`)
    equal(lost.status, 410)
    match(lost.detail, /the earliest moment is /)
  })

  test('has the rules of then where the fold passes the moment only while the question waits', async (t) => {
    const clock = systemClock()
    const log = new MemoryLog({ partitions: 1, clock })
    await assign(log)
    const lines = ['policy enforce guarded', 'put rs/web']
    const [before, all] = [eventsOf(lines), eventsOf([...lines, 'pause', 'policy observe guarded'])]
    await appendAll(log, before)
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
    const index = indexed(t, log, emptyStore())
    // The fold goes on as soon as the question waits for it.
    let waits = 0
    const sleep = async (): Promise<void> => {
      waits += 1
      if (waits === 1) await appendAll(log, all.slice(before.length))
      await running.caughtUp()
    }
    const past = createPast({ log, clock: { ...clock, sleep }, index })
    const { end } = await log.bounds('events', 0)
    const position = end + BigInt(all.length - before.length)
    const scope = { namespace: undefined, isWhole: true, sight: async () => WHOLE }
    const held = await heldAt(
      { past, index, inTurn: async (work) => await work() },
      [viewOf(running.task)],
      { type: 'position', partition: 0, position },
      scope,
    )
    ok(waits > 0)
    deepEqual([held.mode, held.pauses.length], ['observe', 1])
  })

  test('names the clusters that are left out, a few of many', async () => {
    const clock = systemClock()
    const log = new MemoryLog({ partitions: 1, clock })
    await assign(log)
    await appendAll(log, eventsOf(['policy enforce guarded', 'put rs/web', 'beat 1', 'beat 1']))
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
    // It never reads.
    const index = createHistoryIndex(log, codec, clock, emptyStore())
    const past = createPast({ log, clock, index })
    const scope = { namespace: undefined, isWhole: true, sight: async () => WHOLE }
    const parts = { past, index, inTurn: async <T>(work: () => Promise<T>) => await work() }
    const asked = { type: 'position', partition: 0, position: 1n } as const
    const held = await heldAt(parts, [viewOf(running.task)], asked, scope)
    const [refusal] = held.refusals
    ok(refusal !== undefined)
    equal(refusal.status, 503)
    match(refusal.detail, /^the index of the past has not come so far for cluster test, ask again/)
    const ids = Array.from({ length: 200 }, (_, each) => `c-${each}`)
    const refusals = ids.map((cluster) => ({ ...refusal, cluster }))
    const refs = [...ids, 'c'].map((id) => ({ id, name: id, scope: id }))
    const other = { ...held, refusals, asOf: [{ partition: 0, position: 1, time: null }] }
    const text = leftOut([other], refs, '')
    match(text, /^(left out: the index of the past [^;]*; ){5}left out: 195 more clusters$/)
  })

  test('leaves out one cluster of which something is forgotten while it is searched', async (t) => {
    const clock = systemClock()
    let now = 1_000
    const log = new MemoryLog({ partitions: 1, clock: { ...clock, now: () => ++now } })
    await assign(log)
    await assign(log, 'd')
    const lines = ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web']
    const then = [...lines, 'put cm/a', 'cluster d', ...lines]
    const events = eventsOf([...then, 'cluster c', 'delete cm/a', 'beat 1', 'cluster d', 'beat 1'])
    await appendAll(log, events)
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
    const store = emptyStore()
    const index = indexed(t, log, store)
    const past = createPast({ log, clock, index })
    const scope = { namespace: undefined, isWhole: true, sight: async () => WHOLE }
    const parts = { past, index, inTurn: async <T>(work: () => Promise<T>) => await work() }
    const views = ['c', 'd'].map((cluster) => viewOf(running.task, cluster))
    const asked = {
      type: 'position',
      partition: 0,
      position: BigInt(eventsOf(then).length),
    } as const
    equal((await heldAt(parts, views, asked, scope)).total, 2)
    const page = store.page.bind(store)
    store.page = async (range) => {
      if (range.gte.startsWith('held/c/')) {
        store.page = page
        await log.append('lineage', 0, [{ key: 'c/cm-a', value: null }])
        while ((await index.lagEntries()) > 0n) await setImmediate()
      }
      return await page(range)
    }
    const held = await heldAt(parts, views, asked, scope)
    deepEqual([held.total, held.counts[0]?.cluster], [1, 'd'])
    deepEqual(
      held.refusals.map(({ cluster, status }) => [cluster, status]),
      [['c', 410]],
    )
  })

  test('is not told as nothing of an object of which older states are not kept', async (t) => {
    const rig = await rigged(t)
    await rig.minute('policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web')
    await rig.minute('delete rs/web')
    const { at } = await heldNow(rig)
    const often = Array.from({ length: 110 }, () => ['pause', 'resume'])
    await rig.minute(...often.flat())
    await rig.minute('put rs/web', 'put pod/a')
    await rig.minute(
      ...Array.from({ length: 110 }, () => ['put pod/a <- rs/web', 'put pod/a']).flat(),
    )
    const path = `/v1/held?at=${at[0]}`
    const { partial } = await rig.get<Held>(path)
    equal(partial, 'whether 1 object that changed very often was held is not kept so far back')
    match((await rig.ask(path)).headers.get('cache-control') ?? '', /no-cache/)
    equal((await rig.get<Held>(`${path}&namespace=other`)).partial, '')
  })

  test('costs one former value of each rule, however often it changed', async (t) => {
    const clock = systemClock()
    let now = 1_000
    const log = new MemoryLog({ partitions: 1, clock: { ...clock, now: () => now } })
    const keys = ['policy', 'directives', 'breaker/c', 'breaker/c/ns']
    const formers = Array.from({ length: 2_000 }, (_, each) => {
      const [at, key = ''] = [1_000 + Math.floor(each / 8), keys[each % keys.length]]
      const position = BigInt(each)
      const value = codec.encode({ type: 'Breaker', openedAt: each, closedAt: 0, because: '' })
      return { type: 'Former', partition: 0, position, at, key, value } as const
    })
    const records = formers.map((former) => ({ key: former.key, value: codec.encode(former) }))
    await log.append('digests', 0, records)
    const store = emptyStore()
    let read = 0
    const counted = Object.assign(Object.create(store) as typeof store, {
      get: (key: string) => store.get(key),
      page: async (range: Parameters<typeof store.page>[0]) => {
        const page = await store.page(range)
        read += page.rows.filter(([, value]) => value.length > 0).length
        return page
      },
      write: async (...args: Parameters<typeof store.write>) => await store.write(...args),
    })
    const index = indexed(t, log, counted)
    while ((await index.lagEntries()) > 0n) await setImmediate()
    now += 1
    for (const moment of [
      ...[0, 5, 1_000, 1_993, 1_999, 2_000].map((position) => {
        return { type: 'position', position, at: 1_000 + Math.floor(position / 8) } as const
      }),
      ...[999, 1_000, 1_125, 1_248, 1_249].map((at) => ({ type: 'time', at }) as const),
    ]) {
      read = 0
      const then = await index.rulesAt(0, moment)
      const expected = keys.flatMap((key) => {
        const former = formers.find((each) => {
          return each.key === key && !holds(moment, Number(each.position), each.at)
        })
        return former === undefined ? [] : [[key, Number(former.position)] as const]
      })
      const found = [...then].map(([key, value]) => {
        return [key, value?.type === 'Breaker' ? value.openedAt : -1] as const
      })
      deepEqual(new Map(found), new Map(expected))
      ok(read <= 2 * keys.length, `${read} values`)
    }
  })

  test('is found in one namespace at the cost of that one, also of a uid that is in another now', async () => {
    const store = emptyStore()
    const spans = createSpanIndex(store, codec)
    const [by, evidence, what, because] = ['pause', 'deleted', 'delete', 'paused'] as const
    const held: KnownHold = { by, evidence, what, since: 1, until: null, because }
    const tell = async (namespace: string, position: number, isHeld: boolean): Promise<void> => {
      const changes = new SpanChanges(store, codec, false)
      changes.add({
        ...{ type: 'History', change: 'references', text: '', evidence: null, command: null },
        ...{ cluster: 'c', group: '', kind: 'Pod', namespace, name: 'a', uid: 'pod-a' },
        ...{ partition: 0, position: BigInt(position), basis: [], at: position, phase: null },
        object: {
          ...{ phase: 'observed', createdAt: null, deletedAt: null, owners: [], long: null },
          held: isHeld ? held : null,
        },
      })
      await store.write(changes.take(), { changelog: 0n, position: 0n })
    }
    const inNamespace = async (namespace: string | undefined): Promise<number> =>
      (await spans.heldPage('c', namespace, { type: 'time', at: 1 }, '', 10)).length
    const counts = async (): Promise<number[]> =>
      await Promise.all(['ns', 'other', '', undefined].map(inNamespace))
    await tell('ns', 1, true)
    deepEqual(await counts(), [1, 0, 0, 1])
    await tell('other', 2, true)
    deepEqual(await counts(), [0, 1, 0, 1])
    await tell('', 3, false)
    deepEqual(await counts(), [0, 0, 1, 1])
  })

  test('is no change of the object: a difference has the time of the last one', async (t) => {
    const rig = await rigged(t)
    const from = await rig.minute('policy enforce guarded', 'put rs/web')
    const put = await rig.minute('put pod/a <- rs/web')
    await rig.minute('delete rs/web')
    await rig.minute('pause')
    const to = await rig.minute('resume')
    await rig.minute('beat 1')
    const { differences } = await rig.get<Diff>(`/v1/diff?from=${from}&to=${to}`)
    const [added] = differences.filter(({ name }) => name === 'a')
    deepEqual([added?.change, added?.at], ['added', put])
    const later = await rig.get<Diff>(`/v1/diff?from=${put}&to=${to}&kind=Pod`)
    deepEqual(later.differences, [])
  })

  test('keeps nobody waiting who asks for a plan, however many ask for a moment to come', async (t) => {
    const rig = await rigged(t)
    await rig.minute('put rs/web', 'put pod/a <- rs/web')
    const later = Array.from({ length: 20 }, () => rig.refused('/v1/held?at=2099-01-01T00:00:00Z'))
    const plan = await rig.ask('/v1/plan?kind=ReplicaSet&name=web&namespace=ns')
    equal(plan.status, 200, await plan.text())
    deepEqual(new Set((await Promise.all(later)).map(({ status }) => status)), new Set([425]))
  })

  test('of no cluster may not be kept: one may be seen', async (t) => {
    const group = new GraphGroup(1)
    t.after(async () => await group.stop())
    const { url } = await group.start()
    const response = await fetch(`${url}/v1/held?at=2026-01-01T00:00:00Z`)
    equal(response.status, 200, await response.text())
    equal(/immutable/.test(response.headers.get('cache-control') ?? ''), false)
  })

  test('is gathered from the processes that have the clusters', async (t) => {
    const group = new GraphGroup(2)
    t.after(async () => await group.stop())
    const [one, two] = [await group.start(), await group.start()]
    const lines = ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web']
    const both = [...lines, 'cluster d', ...lines, 'pause all']
    const events = eventsOf(both)
    const partitionOf = (cluster: string): number => (cluster === 'd' ? 1 : 0)
    await tell(group.log, events, partitionOf)
    await group.caughtUp()
    /** Append time of the last event. */
    const newest = async (): Promise<string> => {
      const pages = [0, 1].map((each) => {
        return group.log.read('events', each, 0n, { limit: 500, waitMs: 0 })
      })
      const times = (await Promise.all(pages)).map(({ entries }) => entries.at(-1)?.timestamp ?? 0)
      return new Date(Math.max(...times)).toISOString()
    }
    const heldBy = async (url: string, query = ''): Promise<Held> => {
      const path = `${url}/v1/held?${query}`
      return (await (await checked(path, await fetch(path))).json()) as Held
    }
    const listedBy = async (url: string, query: string): Promise<ObjectList[]> => {
      const pages: ObjectList[] = []
      let next: string | null = ''
      while (next !== null) {
        const path: string = `${url}/v1/objects?${query}&continue=${next}`
        const response = await checked(path, await fetch(path))
        const text = await response.text()
        equal(response.status, 200, `${path}: ${text}`)
        const page = JSON.parse(text) as ObjectList
        pages.push(page)
        next = page.continue
      }
      return pages
    }
    const now = await heldBy(one.url)
    equal(now.counts.length, 2)
    const at = await newest()
    const beats = ['cluster c', 'beat 1', 'beat 1', 'cluster d', 'beat 1', 'beat 1']
    const later = eventsOf([...both, 'resume all', ...beats])
    await tell(group.log, later.slice(events.length), partitionOf)
    await group.caughtUp()
    for (const { url } of [one, two]) {
      const past = await heldBy(url, `at=${at}`)
      deepEqual(told(past), told(now))
      equal(past.pauses.length, 1)
      deepEqual((await heldBy(url)).pauses, [])
    }
    // One that is silent from then on stops no answer about the other.
    const silent = await newest()
    const more = eventsOf([...both, 'resume all', ...beats, 'cluster c', 'beat 1', 'beat 1'])
    await tell(group.log, more.slice(later.length), partitionOf)
    await group.caughtUp()
    for (const { url } of [one, two]) {
      const left = await heldBy(url, `at=${silent}`)
      match(left.partial, /^left out: nothing of cluster test was recorded after /)
      deepEqual(
        left.counts.map(({ cluster }) => cluster.id),
        ['c'],
      )
      equal((await fetch(`${url}/v1/held?cluster=d&at=${silent}`)).status, 425)
      const pages = await listedBy(url, `kind=pod&at=${silent}`)
      deepEqual(
        pages.map(({ partial, asOf }) => [
          /^nothing of cluster test was /.test(partial),
          asOf.length,
        ]),
        [
          [false, 1],
          [true, 0],
        ],
      )
    }
    const { end } = await group.log.bounds('events', 1)
    const ofOne = await heldBy(two.url, `at=pos:1-${end}`)
    deepEqual(
      ofOne.counts.map(({ cluster }) => cluster.id),
      ['d'],
    )
  })

  test('is refused, and never told as nothing, where no cluster can be asked', async (t) => {
    const group = new GraphGroup(2)
    t.after(async () => await group.stop())
    const [one, two] = [await group.start(), await group.start()]
    const lines = ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web']
    const events = eventsOf(lines)
    await tell(group.log, events)
    const { entries } = await group.log.read('events', 0, 0n, { limit: 500, waitMs: 0 })
    const at = new Date(entries.at(-1)?.timestamp ?? 0).toISOString()
    await tell(group.log, eventsOf([...lines, 'beat 1', 'beat 1']).slice(events.length))
    await group.caughtUp()
    const [has, other] = one.graph.tasks.some(({ partition }) => partition === 0)
      ? [one, two]
      : [two, one]
    const path = `${other.url}/v1/held?at=${at}`
    equal(((await (await fetch(path)).json()) as Held).total, 1)
    await has.kill()
    for (const scope of ['', '&cluster=c', '&namespace=ns']) {
      const response = await checked(path + scope, await fetch(path + scope))
      const { detail } = (await response.json()) as { detail: string }
      equal(response.status, 503)
      match(detail, /^no cluster can be asked, ask again later: partition 0 of 2: /)
    }
  })

  test('is the same, or refused the same, whichever process is asked: other clusters of the partition have no part in it', async (t) => {
    const group = new GraphGroup(2)
    t.after(async () => await group.stop())
    const [one, two] = [await group.start(), await group.start()]
    const lines = ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web']
    const all = [...lines, 'cluster d', ...lines, 'cluster e', ...lines]
    const partitionOf = (cluster: string): number => (cluster === 'c' ? 0 : 1)
    const events = eventsOf(all)
    await tell(group.log, events, partitionOf)
    const { entries } = await group.log.read('events', 1, 0n, { limit: 500, waitMs: 0 })
    const last = Math.max(...entries.map(({ timestamp }) => timestamp))
    while (Date.now() <= last) await setImmediate()
    // Of e nothing was recorded after that.
    const more = eventsOf([...all, 'cluster d', 'beat 1', 'beat 1'])
    await tell(group.log, more.slice(events.length), partitionOf)
    await group.caughtUp()
    const at = new Date(last).toISOString()
    for (const { url } of [one, two]) {
      for (const moment of ['', `&at=${at}`]) {
        const path = `${url}/v1/held?cluster=d${moment}`
        const response = await checked(path, await fetch(path))
        equal(response.status, 200, path)
        const { total, partial } = (await response.json()) as Held
        deepEqual([total, partial], [1, ''], path)
      }
      const path = `${url}/v1/held?cluster=e&at=${at}`
      const refused = await checked(path, await fetch(path))
      equal(refused.status, 425)
      const { detail } = (await refused.json()) as { detail: string }
      match(detail, /^nothing of cluster .* was recorded after .* yet, /)
    }
  })
})
