/** What was held at a moment of the past is what a graph process answered then. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Diff, Held, ObjectList } from '../../../../cli/answer.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../../testing/rig/graph-group.ts'
import { type MinuteRig, rigged } from '../../../../testing/rig/minute-rig.ts'
import { BREAKER_STORY, eventsOf } from '../../../../testing/rig/task-rig.ts'

/** A minute each. */
const STORY: readonly (readonly string[])[] = [
  ...BREAKER_STORY.map((line) => [line]),
  ['put rs/x in other', 'put pod/x in other <- rs/x', 'delete rs/x in other'],
  ['beat 300'],
  ['close-breaker anna'],
  ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web'],
  ['delete rs/web', 'pause'],
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

  test('is kept by whoever asks, and refused where it cannot be known', async (t) => {
    const rig = await rigged(t)
    const early = await rig.minute('policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web')
    await rig.minute('put cm/a')
    await rig.minute('delete rs/web', 'delete cm/a')
    const response = await rig.ask(`/v1/held?at=${early}`)
    match(response.headers.get('cache-control') ?? '', /^private, immutable/)
    const first = await rig.get<Held>('/v1/held?at=2020-01-01T00:00:00Z')
    deepEqual([first.total, first.partial], [0, 'nothing of this cluster was recorded by then'])
    equal((await rig.refused('/v1/held?at=2099-01-01T00:00:00Z')).status, 425)
    equal((await rig.refused('/v1/held?at=noon')).status, 400)
    const other = await rig.refused('/v1/held?at=pos:7-1')
    equal(other.status, 400)
    match(other.detail, /^pos:7-1 is of partition 7, which none of these clusters is in: /)
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
