/**
 * Traces go with records around the log: what is in it, what is decided by it and what an audit
 * says is the same with and without them.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import type { Event } from '../../core/model/event.ts'
import type { Appending, Entry, Log, Topic } from '../../ports/log.ts'
import type { Writable } from '../../ports/record/codec.ts'
import { auditPartition } from '../../services/graph/audit/audit.ts'
import { withCloudEvents } from '../../services/graph/cloud-events.ts'
import { isOrder } from '../../services/graph/fold/order.ts'
import { deleteObject, POD, verifyOwner } from '../../testing/rig/reaper.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { traceOf } from './trace-context.ts'
import { MOST_LINKS, Traces } from './traces.ts'

const STORY = [
  'put deploy/web',
  'put rs/web-1 <- deploy/web!',
  'put pod/a <- rs/web-1!',
  'put pod/b <- rs/web-1!',
  'put cm/c <- deploy/web',
  'delete deploy/web',
  'delete rs/web-1',
]

interface Rig {
  readonly traces: Traces
  readonly clock: ManualClock
  /** Ended ones. */
  spans(): readonly ReadableSpan[]
  named(name: string): readonly ReadableSpan[]
}

function rig(sampler?: Sampler): Rig {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  const provider = new TracerProvider({ spanProcessors, ...(sampler && { sampler }) })
  const clock = new ManualClock()
  const traces = new Traces({ tracer: provider.getTracer('test'), codec, clock })
  const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans()
  return { traces, clock, spans, named: (name) => spans().filter((span) => span.name === name) }
}

/** As a watcher does: of what is about an object it says when it was read. */
async function watchAll(log: Log, events: readonly Event[]): Promise<void> {
  for (const event of events) {
    if (event.type === 'Unreadable') continue
    if (isOrder(event)) await appendAll(log, [event])
    else {
      const seen = event.type.startsWith('Object') ? { seenMs: 0 } : {}
      await log.append('events', 0, [{ key: 'c/ns', value: codec.encode(event), ...seen }])
    }
  }
}

async function entriesOf(log: Log, topic: Topic): Promise<readonly Entry[]> {
  const { start, end } = await log.bounds(topic, 0)
  if (start === end) return []
  return (await log.read(topic, 0, start, { limit: 100_000, waitMs: 0 })).entries
}

const TOPICS = ['events', 'commands', 'lineage', 'history', 'changelog', 'digests'] as const

/** All that a log holds of a story and its fold, and what an audit says of it; but for traces. */
async function recordOf(log: Log, traces: Traces | undefined): Promise<unknown> {
  const traced = traces?.log(log) ?? log
  await watchAll(traced, eventsOf(STORY))
  {
    const observe = traces && { folded: traces.folded }
    const pace = { batchMs: Number.POSITIVE_INFINITY, gatherMs: 0, quietMs: 0 }
    await using running = runTask(traced, emptyStore(), observe, 0, new ManualClock(), pace)
    await running.caughtUp()
  }
  const held: unknown[] = []
  for (const topic of TOPICS) {
    for (const { trace: _trace, value, ...entry } of await entriesOf(log, topic)) {
      held.push([topic, entry, value && Buffer.from(value).toString('hex')])
    }
  }
  const parts = { log, codec, store: emptyStore(), partition: 0 }
  return { held, audit: await auditPartition(parts, new AbortController().signal) }
}

test('with and without traces and headers of CloudEvents a log holds the same bytes, and an audit says the same of them', async () => {
  const { traces } = rig()
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  const other = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  const withTraces = await recordOf(log, traces)
  deepEqual(withTraces, await recordOf(other, undefined))
  const third = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  const described = withCloudEvents(third, { codec, application: 'kinfold', registry: undefined })
  deepEqual(withTraces, await recordOf(described, rig().traces))
  equal((withTraces as { audit: { type: string } }).audit.type, 'identical')
  ok((await entriesOf(log, 'commands')).length > 0)
  ok((await entriesOf(log, 'commands')).every(({ trace }) => traceOf(trace) !== undefined))
  ok((await entriesOf(other, 'commands')).every(({ trace }) => trace === undefined))
})

test('so does an embedded log, sums included', async (t) => {
  const sums = async (traces: Traces | undefined): Promise<readonly unknown[]> => {
    const directory = temporary(t)
    const isTraced = traces !== undefined
    const options = { directory, partitions: 1, clock: new ManualClock(), traces: isTraced }
    let record: unknown
    {
      await using log = await openSqliteLog(options)
      record = await recordOf(log, traces)
    }
    const db = new DatabaseSync(join(directory, 'log.sqlite'), { readOnly: true })
    const rows = db.prepare('SELECT id, timestamp, key, hex(value), prev, sum FROM record').all()
    const heads = db.prepare('SELECT * FROM head').all()
    const columns = db.prepare("SELECT name FROM pragma_table_info('record')").all()
    db.close()
    equal(columns.length, isTraced ? 7 : 6)
    ok(rows.length > 20)
    return [record, rows, heads]
  }
  deepEqual(await sums(rig().traces), await sums(undefined))
})

test('a command continues the trace of the event that it was decided by, and is linked to the fold', async () => {
  const { traces, spans, named } = rig()
  await recordOf(new MemoryLog({ partitions: 1, clock: new ManualClock() }), traces)
  const commands = spans().filter(({ name }) => name.startsWith('command '))
  ok(commands.length >= 3, `${commands.length} commands`)
  const watched = new Map(named('watch event').map((span) => [span.spanContext().spanId, span]))
  const folds = new Set(named('fold').map((span) => span.spanContext().spanId))
  const causes = commands.map((span) => {
    ok(span.links.some(({ context }) => folds.has(context.spanId)))
    const cause = watched.get(span.parentSpanContext?.spanId ?? '')
    equal(cause?.spanContext().traceId, span.spanContext().traceId)
    return `${cause?.attributes['kinfold.event.type']} ${cause?.attributes['kinfold.object.name']}`
  })
  ok(causes.includes('ObjectDeleted web'), causes.join(', '))
  ok(new Set(causes).size > 1, 'not all are of one event')
})

test('a fold is linked to as many events as a span may be, and says how many are left out', async () => {
  const { traces, named } = rig()
  const log = traces.log(new MemoryLog({ partitions: 1, clock: new ManualClock() }))
  const EVENTS = MOST_LINKS + 5
  const records = Array.from({ length: EVENTS }, () => added())
  await log.append('events', 0, records)
  const { entries } = await log.read('events', 0, 0n, { limit: 100, waitMs: 0 })
  for (const { offset } of entries) traces.folded(null, { partition: 0, position: offset })
  const task = await log.openTask(0)
  equal(named('fold').length, 0)
  // Another owner's: what was folded before it is forgotten.
  await task.commit({ outputs: [], changelog: [added()] })
  equal(named('fold').length, 0)
  await log.read('events', 0, 0n, { limit: 100, waitMs: 0 })
  for (const { offset } of entries) traces.folded(null, { partition: 0, position: offset })
  await task.commit({ outputs: [], changelog: [added()] })
  const [fold] = named('fold')
  equal(fold?.links.length, MOST_LINKS)
  equal(fold?.attributes['kinfold.fold.unlinked'], EVENTS - MOST_LINKS)
  equal(named('append events')[0]?.links.length, MOST_LINKS)
})

test('an event that is appended again stays in its trace, and its span is over when it is on the log', async () => {
  const { traces, named } = rig()
  const memory = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  const log = traces.log(memory)
  const records = [added()]
  memory.refuseNextAppend()
  await rejects(log.append('events', 0, records), { code: 'UNAVAILABLE' })
  equal(named('watch event').length, 0)
  await log.append('events', 0, records)
  const [watch, ...more] = named('watch event')
  deepEqual(more, [])
  deepEqual(
    named('append events').map(({ parentSpanContext, status }) => [
      parentSpanContext?.spanId === watch?.spanContext().spanId,
      status.code,
    ]),
    [
      [true, 2],
      [true, 0],
    ],
  )
  const [entry] = await entriesOf(memory, 'events')
  equal(traceOf(entry?.trace)?.spanId, watch?.spanContext().spanId)
})

test('what the sampler leaves out is left out all the way, and says so in its record', async () => {
  const { traces, spans } = rig(new ParentBasedSampler({ root: new AlwaysOffSampler() }))
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  await recordOf(log, traces)
  deepEqual(spans(), [])
  const commands = await entriesOf(log, 'commands')
  ok(commands.length > 0)
  ok(commands.every(({ trace }) => traceOf(trace)?.traceFlags === 0))
})

test('a reaper is traced from the command that it reads to the result that is appended', async () => {
  const { traces, spans, named } = rig()
  const log = traces.log(new MemoryLog({ partitions: 1, clock: new ManualClock() }))
  const traced = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const id = '0-7-0'
  await log.append('commands', 0, [{ ...written(deleteObject({ id })), trace: traced }])
  await log.append('commands', 0, [{ ...written(verifyOwner({ id: '0-8-0' })), trace: traced }])
  await log.append('commands', 0, [{ ...written(deleteObject({ id: '0-9-0' })) }])
  await log.read('commands', 0, 0n, { limit: 10, waitMs: 0 })
  await log.read('commands', 0, 0n, { limit: 10, waitMs: 0 })
  const call = { cluster: 'c', verb: 'DELETE', group: '', resource: 'pods', code: 200 } as const
  traces.called({ ...call, outcome: 'Removed', tookMs: 5, auditId: id })
  traces.called({ ...call, outcome: 'Removed', tookMs: 5, auditId: '0-9-0' })
  traces.called({ ...call, outcome: 'Removed', tookMs: 5, auditId: undefined })
  const { group, kind, namespace, name } = POD
  const owner = { group, kind, namespace, name }
  const about = { cluster: 'c1', clusterEpoch: 1, owner, uid: 'u' }
  const absent = (command: string): Writable => ({
    ...{ type: 'OwnerAbsent', ...about, command, how: 'NotFound', otherUid: null },
  })
  // On the way of a deletion, which goes on.
  await log.append('events', 0, [written(absent(id))])
  equal(named('reap DeleteObject').length, 0)
  await log.append('events', 0, [written(absent('0-8-0')), written(settled(id))])
  const [reap] = named('reap DeleteObject')
  equal(named('reap VerifyOwner')[0]?.attributes['kinfold.command.result'], 'absent')
  equal(reap?.attributes['kinfold.command.result'], 'done')
  equal(reap?.parentSpanContext?.spanId, 'b'.repeat(16))
  const [delete_, ...more] = named('call DELETE')
  deepEqual(more, [])
  equal(delete_?.parentSpanContext?.spanId, reap?.spanContext().spanId)
  const results = (await entriesOf(log, 'events')).map(({ trace }) => traceOf(trace)?.spanId)
  equal(results[2], reap?.spanContext().spanId)
  equal(spans().filter((span) => span.name.startsWith('reap')).length, 2)
})

test('neither a tracer that fails nor a record that nobody can read is in the way', async () => {
  const tracer = {
    startSpan: () => {
      throw new Error('no spans today')
    },
    startActiveSpan: () => {
      throw new Error('no spans today')
    },
  }
  const clock = new ManualClock()
  for (const traces of [new Traces({ tracer, codec, clock }), rig().traces]) {
    const log = traces.log(new MemoryLog({ partitions: 1, clock }))
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const odd = { key: 'k', value: Buffer.from('odd') }
    await log.append('commands', 0, [
      { ...odd, trace },
      { ...odd, trace: 'odd' },
    ])
    await log.append('events', 0, [{ ...odd, seenMs: 0 }, odd])
    await log.read('commands', 0, 0n, { limit: 10, waitMs: 0 })
    await log.read('events', 0, 0n, { limit: 10, waitMs: 0 })
    traces.folded(null, { partition: 0, position: 0n })
    const task = await log.openTask(0)
    const outputs = [{ topic: 'commands', partition: 0, records: [odd] }] as const
    await task.commit({ outputs, changelog: [odd] })
    equal((await entriesOf(log, 'commands')).length, 3)
  }
})

function added(): Appending {
  const events = eventsOf(['put cm/a']).filter(({ type }) => type === 'ObjectAdded')
  return { ...written(events.at(-1) as Writable), seenMs: 0 }
}

function written(record: Writable): { readonly key: string; readonly value: Uint8Array } {
  return { key: 'k', value: codec.encode(record) }
}

function settled(command: string): Writable {
  const { group, kind, namespace, name } = POD
  return {
    ...{ type: 'CommandSettled', cluster: 'c1', clusterEpoch: 1, command, verb: 'DeleteObject' },
    ...{ uid: 'u', place: { group, kind, namespace, name }, outcome: 'done', reason: '' },
    ...{ code: 200, object: null, calls: 1, list: null },
  } as Writable
}

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'traces-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}
