/**
 * A question that names no cluster is sought for in all processes: of what could not be asked, or
 * is not read yet, nothing is ruled out; and a process seeks for those only whom it would let in.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Event } from '../../../../core/model/event.ts'
import { nameKey } from '../../../../ports/record/control-key.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import type { HttpToken } from '../../../../runtime/http/http-token.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { eventually } from '../../../../testing/eventually.ts'
import {
  GraphGroup,
  type GraphProcess,
  type ProcessOptions,
  tell,
} from '../../../../testing/rig/graph-group.ts'
import { call, eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { Match } from '../answer/query.ts'
import { MOST_SENT, sentBack } from './finder.ts'

const STORY = ['put cm/a', 'put cm/only-c', 'cluster d', 'put cm/a', 'put cm/only-d']
const NAME_OF: Readonly<Record<string, string>> = { c: 'south', d: 'north' }

/** Of two partitions the first process has that of cluster c, the second that of d. */
async function two(
  t: TestContext,
  one: ProcessOptions = {},
  other: ProcessOptions = {},
): Promise<{ group: GraphGroup; first: GraphProcess; second: GraphProcess }> {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const first = await group.start(one)
  const second = await group.start(other)
  const named = eventsOf(STORY).map((event): Event => {
    return event.type === 'WatcherStarted'
      ? { ...event, name: NAME_OF[event.cluster] ?? '' }
      : event
  })
  await tell(group.log, named, (cluster) => (cluster === 'd' ? 1 : 0))
  await group.caughtUp()
  ok(first.graph.tasks.some(({ partition }) => partition === 0))
  ok(second.graph.tasks.some(({ partition }) => partition === 1))
  return { group, first, second }
}

interface Told {
  readonly status?: number
  readonly detail?: string
  readonly partial: string
  readonly root: { readonly uid: string }
}

async function asked({ url }: GraphProcess, path: string, headers?: Shown): Promise<Told> {
  const answer = await fetch(url + path, headers && { headers })
  return (await (await checked(url + path, answer)).json()) as Told
}

type Shown = Readonly<Record<string, string>>

/** As a process asks another one. */
function seeking(partition: number, selector: object): Shown {
  const sought = { selector: { kind: '', name: '', namespace: '', ...selector } }
  return { 'kinfold-forwarded': `seek=${partition}=${encodeURIComponent(JSON.stringify(sought))}` }
}

test('a process seeks on no route that answers clients who showed nothing', async (t) => {
  const token: HttpToken = {
    isShown: (authorization) => authorization === 'Bearer right',
    failure: () => '',
  }
  const { first } = await two(t, { token }, { token })
  const headers = seeking(0, { uid: 'cm-only-c' })
  const shown = { ...headers, authorization: 'Bearer right' }
  const textOf = async (path: string, sent: Shown): Promise<string> => {
    return await (await fetch(first.url + path, { headers: sent })).text()
  }
  match(await textOf('/v1/tree?uid=cm-only-c', shown), /"name":"only-c"/)
  for (const path of ['/livez', '/readyz', '/', '/version', '/v1/tree?uid=cm-only-c']) {
    doesNotMatch(await textOf(path, headers), /only-c"/, path)
  }
  // Nor on one that answers nothing about an object.
  for (const path of ['/v1/clusters', '/metrics', '/v1/held']) {
    doesNotMatch(await textOf(path, shown), /only-c"/, path)
  }
})

test('what is sought is as a process writes it, or refused', async (t) => {
  const { first } = await two(t)
  for (const selector of [{ uid: 1 }, { name: null }, { cluster: {} }]) {
    const { status } = await asked(first, '/v1/tree?uid=x', seeking(0, selector))
    equal(status, 400, JSON.stringify(selector))
  }
})

test('of two clusters of one name both are sought in, whatever theirs is where they are', async (t) => {
  const { group, first } = await two(t)
  await call(group.log, 'd', 'south')
  await eventually('it is called so', async () => {
    return (await asked(first, '/v1/tree?uid=cm-only-d&cluster=south')).root !== undefined
  })
  equal((await asked(first, '/v1/tree?uid=cm-only-d&cluster=south')).root.uid, 'cm-only-d')
  const { status, detail } = await asked(
    first,
    '/v1/tree?kind=configmap&name=a&namespace=ns&cluster=south',
  )
  equal(status, 409)
  match(detail ?? '', /is ambiguous/)
})

test('a cluster that came just now is known to the next question', async (t) => {
  // What was read lately is never too old.
  const clock = { ...systemClock(), monotonicMs: () => 0 }
  const { group, first, second } = await two(t, { clock }, { clock })
  let story = STORY
  const comes = async (more: readonly string[], partition: number): Promise<void> => {
    const told = eventsOf(story).length
    story = [...story, ...more]
    await tell(group.log, eventsOf(story).slice(told), () => partition)
    await group.caughtUp()
  }
  for (const process of [first, second]) {
    equal((await asked(process, '/v1/tree?uid=cm-only-d')).root.uid, 'cm-only-d')
  }
  await comes(['cluster e', 'put cm/only-e'], 1)
  equal((await asked(first, '/v1/tree?uid=cm-only-e&cluster=e')).root.uid, 'cm-only-e')
  await comes(['cluster f', 'put cm/only-f'], 1)
  equal((await asked(first, '/v1/tree?uid=cm-only-f')).root.uid, 'cm-only-f')
  await comes(['cluster g', 'put cm/only-g'], 0)
  equal((await asked(first, '/v1/tree?uid=cm-only-g')).root.uid, 'cm-only-g')
})

test('where there was one cluster alone, another that came just now is asked, too', async (t) => {
  const clock = { ...systemClock(), monotonicMs: () => 0 }
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const first = await group.start({ clock })
  const alone = eventsOf(['put cm/a'])
  await tell(group.log, alone)
  await group.caughtUp()
  equal((await asked(first, '/v1/tree?uid=cm-a')).root.uid, 'cm-a')
  await tell(group.log, eventsOf(['put cm/a', 'cluster d', 'put cm/only-d']).slice(alone.length))
  await group.caughtUp()
  const { status, detail } = await asked(first, '/v1/tree?uid=cm-only-d')
  equal(status, 503)
  match(detail ?? '', /was seen just now: ask again$/)
  equal((await asked(first, '/v1/tree?uid=cm-only-d')).root.uid, 'cm-only-d')
})

test('while it is not known what a cluster is called, no name is the name of none', async (t) => {
  const { group, first, second } = await two(t)
  await group.log.append('control', 0, [{ key: nameKey('d'), value: null }])
  const path = '/v1/tree?uid=cm-only-d&cluster='
  await eventually('its name is not known there', async () => {
    return (await asked(first, `${path}north`)).status === 503
  })
  match(
    (await asked(first, `${path}north`)).detail ?? '',
    /^whether a cluster is called north is not known: .* ask with the id: d$/,
  )
  equal((await asked(first, `${path}nowhere`)).status, 503)
  equal((await asked(first, `${path}d`)).root.uid, 'cm-only-d')
  // Its own process knows its name, and has that of the other one from the log.
  equal((await asked(second, `${path}north`)).root.uid, 'cm-only-d')
  equal((await asked(second, `${path}nowhere`)).status, 404)
})

test('what is found is doubted while another process has not read its names', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const first = await group.start()
  await tell(group.log, eventsOf(STORY), (cluster) => (cluster === 'd' ? 1 : 0))
  await group.caughtUp()
  const second = await group.start({ isIndexing: false })
  await eventually('it has a partition', async () => {
    return second.graph.tasks.some((task) => task.status().state === 'folding')
  })
  const { root, partial } = await asked(first, '/v1/tree?kind=configmap&name=a&namespace=ns')
  equal(root.uid, 'cm-a')
  match(partial, /^others of that name, or uid, are not known: \d+ entries .* not indexed yet/)
  const { status, detail } = await asked(first, '/v1/tree?uid=cm-only-d')
  equal(status, 503)
  match(detail ?? '', /^whether .* was ever seen is not known: \d+ entries .* not indexed yet/)
})

test('an object is sought for HEAD, too', async (t) => {
  const { first } = await two(t)
  for (const uid of ['cm-only-d', 'cm-only-c']) {
    const answer = await fetch(`${first.url}/v1/tree?uid=${uid}`, { method: 'HEAD' })
    equal(answer.status, 200, uid)
  }
})

test('a process that is silent is waited for once in a search, and the searches end', async (t) => {
  let calls = 0
  const silent = createServer(({ socket }) => {
    calls += 1
    socket.destroy()
  })
  silent.listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await eventually('it listens', async () => silent.listening)
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  let [now, later] = [0, 0]
  const clock = { ...systemClock(), monotonicMs: () => (now += later) }
  const { first } = await two(t, { clock, owners: () => new Map([[1, url]]) })
  // From now on each look at this clock is half a minute after the one before.
  later = 30_000
  const { status, detail } = await asked(first, '/v1/tree?uid=nowhere')
  equal(status, 503)
  match(detail ?? '', /partition 1 of 2: http:\S+ cannot be asked/)
  // As it is known, and once more for what was seen just now.
  equal(calls, 2)
})

test('who may not see all is reviewed once for a name, however often it was given', async (t) => {
  const reviews: string[] = []
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, cluster, { resource, name }) => {
      if (cluster !== null) reviews.push(`${cluster} ${resource} ${name}`)
      return cluster === 'c'
    },
  }
  const options = { authority, isReadingReviewed: true }
  const { group, first } = await two(t, options, options)
  const again = Array.from({ length: 3 }, (_, each) => [
    `delete cm/a${each === 0 ? '' : `@${each}`}`,
    `put cm/a@${each + 1}`,
  ])
  const more = eventsOf([...STORY, 'cluster c', ...again.flat()]).slice(eventsOf(STORY).length)
  await tell(group.log, more)
  await group.caughtUp()
  const headers = { authorization: 'Bearer ann', ...seeking(0, { name: 'a', namespace: 'ns' }) }
  const { matches } = (await (await fetch(`${first.url}/v1/tree?uid=x`, { headers })).json()) as {
    readonly matches: readonly Match[]
  }
  equal(matches.length, 4)
  deepEqual(reviews, ['c configmaps a'])
})

test('of too many objects what was there then, what is there and what was deleted last is told', () => {
  const objects = Array.from({ length: MOST_SENT + 2 }, (_, at): Match => {
    const place = { cluster: 'c', group: '', kind: 'Pod', namespace: 'ns', name: 'a' }
    const object = { ...place, uid: `${at}`, at }
    return { object, clusterName: 'south', isThere: at === 1 }
  })
  const all = { matches: objects, lacks: 'nothing' } as const
  const few = sentBack({ matches: objects.slice(0, MOST_SENT), lacks: 'nothing' }, [])
  deepEqual([few.matches.length, few.lacks], [MOST_SENT, 'nothing'])
  const told = sentBack(all, [])
  deepEqual([told.matches.length, told.lacks], [MOST_SENT, 'former'])
  const uids = told.matches.map(({ object }) => Number(object.uid))
  deepEqual([uids[0], uids[1], uids.at(-1)], [1, MOST_SENT + 1, 3])
  const living = objects.map((each) => ({ ...each, isThere: true }))
  equal(sentBack({ matches: living, lacks: 'former' }, []).lacks, 'any')
})
