/** Whatever is asked over HTTP is answered: with an answer, or with a problem of whoever asked. Never an error of ours, never the end of the process. */
import { ok } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { GraphGroup, type GraphProcess, tell } from '../../testing/graph-group.ts'
import { damaged, damages, HOSTILE_NAMES, runs } from '../../testing/hostile.ts'
import { eventsOf } from '../../testing/task-rig.ts'

const STORY = [
  'put rs/web',
  'put pod/a <- rs/web',
  'put pod/b <- rs/web',
  'put rs/old',
  'delete rs/old',
]
const PATHS = ['tree', 'why', 'cascade', 'plan', 'held', 'nothing', '..%2f..', '%00', 'tree/x']
const KEYS = [
  'kind',
  'name',
  'namespace',
  'cluster',
  'uid',
  'owners',
  'cascade',
  'limit',
  '__proto__',
]
const BODIES = [
  '{"verb":"pause","cluster":"c","subject":"","why":"a test","digest":null}',
  '{"keys":["node/c/a","policy"]}',
  '{"gte":"node/","lt":"node0","limit":10}',
]
const POSTS = [
  '/v1/directives',
  '/internal/partition/0/get',
  '/internal/partition/0/page',
  '/internal/partition/x/get',
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
    fc.asyncProperty(
      fc.constantFrom(...POSTS),
      body,
      damages,
      type,
      async (path, whole, all, type) => {
        await isAnswered(path, {
          method: 'POST',
          headers: type === '' ? {} : { 'content-type': type },
          body: damaged(whole, all),
        })
      },
    ),
    runs(500),
  )
})

async function isAnswered(path: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(served.url + path, init)
  const text = await response.text()
  ok(response.status < 500, `${path} ${init.body ?? ''}: ${response.status} ${text.slice(0, 300)}`)
}
