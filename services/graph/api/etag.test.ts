/**
 * Who asks again is answered 304 when the answer would be the same but for how fresh it is, and
 * only then: wherever it is asked.
 */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { GraphGroup, tell } from '../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../testing/rig/task-rig.ts'

const STEPS = [
  ['put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web', 'put cm/free'],
  ['beat 10'],
  ['put cm/free'],
  ['put pod/c <- rs/web'],
  ['delete cm/free'],
  ['beat 10'],
  ['delete pod/c'],
  ['delete rs/web'],
  ['beat 1000'],
  ['put cm/free@again'],
]
const PATHS = [
  ...[
    'tree?uid=rs-web',
    'dependents?uid=rs-web',
    'why?uid=rs-web',
    'why?uid=pod-a',
    'cascade?uid=rs-web',
  ],
  ...['plan?uid=rs-web', 'plan?uid=cm-free', 'held', 'plan/held', 'objects', 'objects?gone=true'],
]

interface Said {
  readonly tag: string
  readonly text: string
  readonly asOf: unknown
}

async function asked(url: string): Promise<Said | undefined> {
  const response = await fetch(url)
  const { asOf, ...rest } = (await response.json()) as { readonly asOf: unknown }
  // A refusal is no answer to come back to.
  equal(response.headers.has('etag'), response.status === 200, url)
  if (response.status !== 200) return undefined
  return { tag: response.headers.get('etag') ?? '', text: JSON.stringify(rest), asOf }
}

test('304 is answered where nothing but freshness is another, and nowhere else', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const processes = [await group.start(), await group.start()]
  const known = new Map<string, Said[]>()
  let [same, other, told] = [0, 0, 0]
  const all = STEPS.flat()
  for (const [index] of STEPS.entries()) {
    const events = eventsOf(STEPS.slice(0, index + 1).flat())
    await tell(group.log, events.slice(told))
    told = events.length
    await group.caughtUp()
    for (const path of PATHS) {
      for (const { url } of processes) {
        const now = await asked(`${url}/v1/${path}`)
        const before = known.get(path) ?? []
        for (const { tag, text } of before) {
          const headers = { 'if-none-match': tag }
          const response = await fetch(`${url}/v1/${path}`, { headers })
          const isSame = text === now?.text
          equal(response.status === 304, isSame, `${path} after ${STEPS[index]}`)
          if (isSame) {
            equal(await response.text(), '')
            equal(response.headers.get('etag'), tag)
            same += 1
          } else other += 1
        }
        if (now !== undefined) known.set(path, [...before, now])
      }
    }
  }
  ok(same > 100 && other > 100, `${same} ${other} ${all.length}`)
})

test('an answer says up to where it has read, and a heartbeat moves that alone', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  const story = ['put rs/web', 'put pod/a <- rs/web']
  await tell(group.log, eventsOf(story))
  await group.caughtUp()
  const before = await asked(`${url}/v1/tree?uid=rs-web`)
  const { end } = await group.log.bounds('events', 0)
  const [of] = (before?.asOf ?? []) as readonly {
    partition: number
    position: number
    time: string
  }[]
  deepEqual([of?.partition, of?.position], [0, Number(end)])
  match(of?.time ?? '', /^1970-01-01T00:\d\d:\d\d\.\d{3}Z$/)
  await tell(group.log, eventsOf([...story, 'beat 60']).slice(eventsOf(story).length))
  await group.caughtUp()
  const after = await asked(`${url}/v1/tree?uid=rs-web`)
  deepEqual([after?.tag, after?.text], [before?.tag, before?.text])
  notEqual(JSON.stringify(after?.asOf), JSON.stringify(before?.asOf))
})

test('several tags are compared, and weak ones as strong ones', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(['put rs/web']))
  await group.caughtUp()
  const path = `${url}/v1/why?uid=rs-web`
  const { tag = '' } = (await asked(path)) ?? {}
  const statusOf = async (tags: string): Promise<number> =>
    (await fetch(path, { headers: { 'if-none-match': tags } })).status
  deepEqual(
    [await statusOf(`"x", ${tag}`), await statusOf(tag.slice(2)), await statusOf('"x"')],
    [304, 304, 200],
  )
})
