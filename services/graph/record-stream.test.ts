/**
 * Streams of records: resumed wherever they were cut, of a part of the records, and for who may not
 * see all of them.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { HistoryRecord } from '../../ports/record/lineage.ts'
import type { Authority } from '../../runtime/http/authority.ts'
import { checked } from '../../testing/answer-check.ts'
import { eventually } from '../../testing/eventually.ts'
import {
  GraphGroup,
  type GraphProcess,
  type ProcessOptions,
  tell,
} from '../../testing/rig/graph-group.ts'
import { codec, eventsOf } from '../../testing/rig/task-rig.ts'
import { seeded } from '../../testing/seeded.ts'

const STORY = [
  ...[
    'put rs/web in shop',
    'put pod/a in shop <- rs/web',
    'put cm/c in shop',
    'put pod/b in other',
  ],
  ...['serve namespace', 'relist namespace', 'put namespace/shop'],
  ...['cluster d', 'put pod/d in shop', 'put cm/d in other'],
]
const CUTS = 100
const PARTITIONS = 3
/** A reader of an entry that was lost waits for ever. */
const LOST_MS = 120_000

interface Line {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key?: string
  readonly value?: {
    readonly kind: string
    readonly namespace: string
    readonly name: string
  } | null
}

interface Rig {
  readonly group: GraphGroup
  readonly process: GraphProcess
  ask(path: string, headers?: Record<string, string>): Promise<Response>
}

async function rigFor(t: TestContext, partitions = 1, options: ProcessOptions = {}): Promise<Rig> {
  const group = new GraphGroup(partitions)
  t.after(async () => await group.stop())
  const process = await group.start(options)
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  return {
    ...{ group, process },
    ask: async (path, headers = {}) => await fetch(process.url + path, { headers }),
  }
}

async function linesOf(response: Response): Promise<Line[]> {
  equal(response.status, 200)
  const text = await (await checked(response.url, response)).text()
  return text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as Line)))
}

/** Appends records of `history`: small, and distinct by their text. */
async function append(
  group: GraphGroup,
  partition: number,
  count: number,
  from: number,
): Promise<void> {
  const records = Array.from({ length: count }, (_, each) => {
    const uid = `u-${partition}-${from + each}`
    const record: HistoryRecord = {
      ...{ type: 'History', group: '', kind: 'Pod', namespace: 'ns', name: uid, uid, cluster: 'c' },
      ...{ change: 'created', text: 'created', phase: 'observed', evidence: null, command: null },
      ...{ partition, position: 1n, basis: [], at: 1, admission: null, object: null },
    }
    return { key: `c/${uid}`, value: codec.encode(record) }
  })
  await group.log.append('history', partition, records)
}

interface Taken {
  readonly lines: Line[]
  readonly at: string
}

/** Takes so many lines, or what comes until the end, and leaves. */
async function take(response: Response, most: number): Promise<Taken> {
  const isEvents = response.headers.get('content-type') === 'text/event-stream'
  const separator = isEvents ? '\n\n' : '\n'
  const lines: Line[] = []
  const next = new Map<number, number>()
  let [rest, id] = ['', '']
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split(separator)
    rest = parts.pop() ?? ''
    for (const part of parts) {
      if (lines.length >= most) break
      const [, idLine] = /^id: (.*)$/m.exec(part) ?? []
      const data = isEvents ? /^data: (.*)$/m.exec(part)?.[1] : part
      id = idLine ?? id
      if (data === undefined) continue
      const line = JSON.parse(data) as Line
      lines.push(line)
      next.set(line.partition, line.offset + 1)
    }
    if (lines.length >= most) break
  }
  await response.body?.cancel().catch(() => undefined)
  return { lines, at: isEvents ? id : [...next].map((each) => each.join('-')).join(',') }
}

for (const how of ['text/event-stream', 'application/x-ndjson'] as const) {
  test(`a stream that is cut and resumed a hundred times loses nothing and repeats nothing (${how})`, {
    timeout: LOST_MS,
  }, async (t) => {
    const { group, ask } = await rigFor(t, PARTITIONS)
    const random = seeded(7)
    const isEvents = how === 'text/event-stream'
    const told = new Array<number>(PARTITIONS).fill(0)
    const more = async (): Promise<void> => {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const count = random.below(12)
        if (count > 0) await append(group, partition, count, told[partition] ?? 0)
        told[partition] = (told[partition] ?? 0) + count
      }
    }
    const onLog = async (): Promise<string[]> => {
      const all: string[] = []
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const read = { limit: 100_000, waitMs: 0 }
        const { entries } = await group.log.read('history', partition, 0n, read)
        for (const { offset, key } of entries) all.push(`${partition} ${offset} ${key}`)
      }
      return all
    }
    const seen: string[] = []
    const at = new Map<number, number>()
    let id = ''
    for (let cut = 0; cut <= CUTS; cut++) {
      await more()
      // A stream that is followed has no end.
      const left = (await onLog()).length - seen.length
      const most = cut === CUTS ? left : Math.min(left, random.below(20))
      if (most === 0) continue
      const headers = { accept: how, ...(isEvents && { 'last-event-id': id }) }
      const from = isEvents || id === '' ? 'start' : id
      const { lines, at: reached } = await take(
        await ask(`/v1/history?follow=true&from=${from}`, headers),
        most,
      )
      for (const { partition, offset, key } of lines) {
        ok(offset >= (at.get(partition) ?? 0), `${partition}-${offset} came again`)
        at.set(partition, offset + 1)
        seen.push(`${partition} ${offset} ${key}`)
      }
      id = isEvents ? reached : [...at].map((each) => each.join('-')).join(',')
    }
    const all = await onLog()
    ok(all.length > 1_000, `${all.length}`)
    deepEqual(seen.toSorted(), all.toSorted())
  })
}

test('a position that is kept no longer is refused with the earliest, and one beyond the end or of no partition, too', async (t) => {
  const { group, ask } = await rigFor(t)
  await append(group, 0, 50, 0)
  const { end } = await group.log.bounds('history', 0)
  await group.log.trim('history', 0, 20n)
  for (const [from, status, detail] of [
    [
      '0-7',
      410,
      /^position 0-7 of history expired; the earliest is 0-20: .* go on with from=0-20$/,
    ],
    [`0-${end + 1n}`, 400, /lies beyond the end of history, which is 0-\d+: .*from=start$/],
    ['9-0', 400, /^there is no partition 9 of history: it has 1, counted from 0$/],
    ['0-30,0-31', 400, /^from names partition 0 more than once$/],
    ['0', 400, /^from 0 is none of start, end, PARTITION-OFFSET,…$/],
    ['0-30,', 400, /^from 0-30, is none of start, end, PARTITION-OFFSET,…$/],
  ] as const) {
    for (const [path, headers] of [
      [`/v1/history?from=${from}`, {}],
      ['/v1/history', { 'last-event-id': from }],
    ] as const) {
      const refused = await ask(path, headers)
      const response = await checked(refused.url, refused)
      const problem = (await response.json()) as { status: number; detail: string }
      equal(problem.status, status, from)
      match(problem.detail, detail)
    }
  }
  equal((await linesOf(await ask('/v1/history?from=0-20'))).length, Number(end) - 20)
  equal((await linesOf(await ask(`/v1/history?from=0-${end}`))).length, 0)
  // As where compaction has removed null values before it.
  group.log.wholeFrom = async () => 2n
  const lineage = (await (await ask('/v1/lineage?from=0-1')).json()) as { detail: string }
  match(lineage.detail, /begin again with from=start, and with nothing$/)
})

test('what is trimmed under a reader breaks its stream off with a word', async (t) => {
  const { group, ask } = await rigFor(t)
  const response = await ask('/v1/history?from=end', { accept: 'text/event-stream' })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { end } = await group.log.bounds('history', 0)
  // Entries that come and are trimmed before the next read of the stream.
  const read = group.log.read.bind(group.log)
  let isCut = false
  group.log.read = async (...asked) => {
    if (asked[0] === 'history' && !isCut && asked[2] >= end) {
      isCut = true
      await append(group, 0, 5, 0)
      await group.log.trim('history', 0, end + 5n)
    }
    return await read(...asked)
  }
  await append(group, 0, 1, 9)
  let text = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += Buffer.from(part.value).toString()
    }
  } catch {}
  match(text, /event: problem\ndata: \{"type":"about:blank","title":"Gone","status":410,/)
})

function shown(lines: readonly Line[]): readonly string[] {
  const names = lines.map(({ value }) => `${value?.namespace}/${value?.kind}/${value?.name}`)
  return [...new Set(names)].sort()
}

test('a stream of a part has the records of it and no others', async (t) => {
  const { ask } = await rigFor(t)
  const cases = [
    ['namespace=other', ['other/ConfigMap/d', 'other/Pod/b']],
    ['namespace=shop&kind=pods', ['shop/Pod/a', 'shop/Pod/d']],
    ['namespace=', ['/Namespace/shop']],
    ['cluster=d', ['other/ConfigMap/d', 'shop/Pod/d']],
    ['cluster=d&namespace=shop', ['shop/Pod/d']],
    ['kind=replicasets.apps', ['shop/ReplicaSet/web']],
    ['namespace=nowhere', []],
  ] as const
  for (const [asked, expected] of cases) {
    for (const topic of ['lineage', 'history']) {
      deepEqual(shown(await linesOf(await ask(`/v1/${topic}?${asked}`))), expected, asked)
    }
  }
  const unknown = (await (await ask('/v1/lineage?kind=pots')).json()) as { detail: string }
  match(unknown.detail, /^no cluster that is asked serves a kind pots; did you mean pods\?$/)
  equal((await ask('/v1/lineage?cluster=nowhere')).status, 404)
})

test('an object that is forgotten is told where no kind and no namespace is asked for', async (t) => {
  const { group, ask } = await rigFor(t)
  await group.log.append('lineage', 0, [{ key: 'd/pod-d', value: null }])
  const forgotten = async (asked: string): Promise<number> => {
    const lines = await linesOf(await ask(`/v1/lineage?${asked}`))
    return lines.filter(({ value }) => value === null).length
  }
  deepEqual(
    [await forgotten(''), await forgotten('cluster=d'), await forgotten('cluster=c')],
    [1, 1, 0],
  )
  deepEqual([await forgotten('namespace=shop'), await forgotten('kind=pod')], [0, 0])
})

test('who may list pods in one namespace sees them, and nothing of the rest (T12)', async (t) => {
  const asks = new Set<string>()
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, cluster, { verb, resource, namespace, name }) => {
      if (cluster !== null) asks.add(`${cluster} ${verb} ${resource} ${namespace} ${name}`)
      return cluster === 'c' && verb === 'list' && resource === 'pods' && namespace === 'shop'
    },
  }
  const { ask } = await rigFor(t, 1, { authority, isReadingReviewed: true })
  const ann = { authorization: 'Bearer ann' }
  const own = await ask('/v1/lineage?cluster=c&namespace=shop', ann)
  equal(own.headers.get('warning'), '299 - "what you may not list is left out, and not counted"')
  deepEqual(shown(await linesOf(own)), ['shop/Pod/a'])
  // Nothing says when, of which kind or in which namespace others change anything.
  const words = 'namespace=shop&kind=replicasets.apps'
  deepEqual(await linesOf(await ask(`/v1/history?cluster=c&${words}`, ann)), [])
  ok(asks.has('c list configmaps shop '))
  // Neither which clusters nor which kinds there are.
  const refusals = new Set<string>()
  for (const asked of [
    '',
    'namespace=shop',
    'cluster=c',
    'cluster=x&namespace=shop',
    'cluster=c&namespace=other',
    'cluster=c&namespace=shop&kind=pots',
    'cluster=c&namespace=',
  ]) {
    const response = await ask(`/v1/lineage?${asked}`, ann)
    refusals.add(`${response.status} ${((await response.json()) as { detail: string }).detail}`)
  }
  deepEqual([...refusals].length, 1, [...refusals].join())
  match([...refusals].join(), /^403 this takes the right/)
})

test('the process that has the cluster says who may list there', async (t) => {
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, cluster, { resource }) => cluster === 'c' && resource === 'pods',
  }
  const options = { authority, isReadingReviewed: true }
  const { group, process } = await rigFor(t, 2, options)
  const other = await group.start(options)
  await eventually('the partitions are shared', async () => {
    return process.graph.tasks.length === 1 && other.graph.tasks.length === 1
  })
  await group.caughtUp()
  for (const { url } of [process, other]) {
    const headers = { authorization: 'Bearer ann' }
    const response = await fetch(`${url}/v1/lineage?cluster=c&namespace=shop`, { headers })
    deepEqual(shown(await linesOf(response)), ['shop/Pod/a'], url)
  }
})
