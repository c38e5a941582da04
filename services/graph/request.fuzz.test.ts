/**
 * Every request over HTTP gets an answer, or a problem that is the client's. Never an error of
 * ours, never the end of the process.
 */
import { ok } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { damaged, damages, HOSTILE_NAMES, runs } from '../../testing/hostile.ts'
import { GraphGroup, type GraphProcess, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'

const STORY = [
  'put rs/web',
  'put pod/a <- rs/web',
  'put pod/b <- rs/web',
  'put rs/old',
  'delete rs/old',
]
const PATHS = [
  'tree',
  'why',
  'cascade',
  'plan',
  'held',
  'objects',
  'dependents',
  'nothing',
  '..%2f..',
  '%00',
  'tree/x',
]
const KEYS = [
  'kind',
  'name',
  'namespace',
  'cluster',
  'uid',
  'owners',
  'cascade',
  'limit',
  'continue',
  'gone',
  'count',
  '__proto__',
]
const BODIES = ['{"verb":"pause","cluster":"c","subject":"","why":"a test","digest":null}']
/** What processes write before requests that they send on to each other. */
const SOUGHT = {
  selector: { kind: 'pod', name: 'a', namespace: 'ns' },
  at: 'pos:0-1',
  isThen: true,
  clusters: ['c'],
}
const MARKS = [
  ...['cluster=c', 'cluster=d', 'cluster=c=a%20doubt', 'partitions=0', 'partitions=0,7'],
  `seek=0=${encodeURIComponent(JSON.stringify(SOUGHT))}`,
]

let group: GraphGroup
let served: GraphProcess

before(async () => {
  group = new GraphGroup(1)
  served = await group.start()
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
})
after(async () => {
  await served.stop()
})

test('a question with hostile words is answered, or is its own fault', async () => {
  const word = fc.oneof(
    fc.constantFrom('pod', 'a', 'ns', 'test', 'true', 'Background', '10', ...HOSTILE_NAMES),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const query = fc.array(fc.tuple(fc.constantFrom(...KEYS), word), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), query, async (path, words) => {
      const params = new URLSearchParams(
        words.map(([key, value]): [string, string] => [key, value.toWellFormed()]),
      )
      await isAnswered(`/v1/${path}?${params}`)
      const dump = new URLSearchParams(
        words.map(([, value]): [string, string] => ['uid', value.toWellFormed()]),
      )
      await isAnswered(`/debug/graph?${dump}`)
    }),
    runs(150),
  )
})

test('a query that is no query, and one as long as headers may be', async () => {
  for (const query of ['%', '%zz', '%ff%fe', '&&==', 'kind=%u0000', `name=${'x'.repeat(8_000)}`]) {
    for (const path of ['tree', 'why', 'plan']) await isAnswered(`/v1/${path}?${query}`)
  }
  await isAnswered(`/v1/tree?name=${'x'.repeat(60_000)}`)
})

test('a damaged body is its own fault', async () => {
  const body = fc.constantFrom(...BODIES)
  const type = fc.constantFrom('application/json', 'application/json', 'text/plain', 'text/xml', '')
  await fc.assert(
    fc.asyncProperty(body, damages, type, async (whole, all, type) => {
      await isAnswered('/v1/directives', {
        method: 'POST',
        headers: type === '' ? {} : { 'content-type': type },
        body: damaged(whole, all),
      })
    }),
    runs(500),
  )
})

test('a mark that no process wrote is its own fault', async () => {
  const path = fc.constantFrom(
    '/v1/tree?uid=pod-a',
    '/v1/why?uid=pod-a',
    '/v1/held',
    '/debug/graph',
  )
  await fc.assert(
    fc.asyncProperty(path, fc.constantFrom(...MARKS), damages, async (asked, whole, all) => {
      const mark = damaged(whole, all).replaceAll(/[^!-~]/g, '?')
      // A cluster that no process has cannot be asked.
      await isAnswered(asked, { headers: { 'kinfold-forwarded': mark } }, [503])
    }),
    runs(200),
  )
})

async function isAnswered(
  path: string,
  init: RequestInit = {},
  alsoRight: readonly number[] = [],
): Promise<void> {
  const response = await fetch(served.url + path, init)
  const text = await response.text()
  const isRight = response.status < 500 || alsoRight.includes(response.status)
  ok(isRight, `${path} ${init.body ?? ''}: ${response.status} ${text.slice(0, 300)}`)
}
