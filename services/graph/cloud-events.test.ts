/**
 * CloudEvents headers go beside lineage and history: each has an id of its own, the same however
 * records are batched, and nothing else is changed by them.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { POSITION_KEY } from '../../core/graph/key.ts'
import type { Produced, TaskCommit, TaskLog } from '../../ports/log.ts'
import type { Lineage } from '../../ports/record/lineage.ts'
import { HOSTILE_NAMES } from '../../testing/hostile.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { withCloudEvents } from './cloud-events.ts'
import type { Pace } from './config.ts'

const STORY = [
  'put deploy/web',
  'put rs/web-1 <- deploy/web!',
  'put pod/a <- rs/web-1!',
  'delete deploy/web',
  'delete rs/web-1',
]
const PARTS = { codec, application: 'kinfold', registry: undefined }
const ATTRIBUTE = /^(ce_[a-z0-9]+|content-type)$/
const REQUIRED = ['ce_specversion', 'ce_id', 'ce_source', 'ce_type']

/** Remembers what was committed with headers, which no reader gets. */
class RecordingLog extends MemoryLog {
  readonly commits: TaskCommit[] = []

  override async openTask(partition: number): Promise<TaskLog> {
    const task = await super.openTask(partition)
    return {
      partition,
      fence: task.fence,
      commit: async (commit) => {
        this.commits.push(commit)
        return await task.commit(commit)
      },
      [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
    }
  }

  of(topic: 'lineage' | 'history'): readonly Produced[] {
    const outputs = this.commits.flatMap((commit) => commit.outputs)
    return outputs.flatMap((batch) => (batch.topic === topic ? batch.records : []))
  }
}

function emptyLog(partitions = 1): RecordingLog {
  return new RecordingLog({ partitions, clock: new ManualClock() })
}

async function folded(batchMs: number): Promise<RecordingLog> {
  const log = emptyLog()
  await appendAll(log, eventsOf(STORY))
  const pace: Pace = { batchMs, gatherMs: 0, quietMs: 0 }
  await using running = runTask(
    withCloudEvents(log, PARTS),
    emptyStore(),
    undefined,
    0,
    new ManualClock(),
    pace,
  )
  await running.caughtUp()
  return log
}

async function headersOf(
  record: Produced,
  more: Partial<Parameters<typeof withCloudEvents>[1]> = {},
): Promise<Readonly<Record<string, string>>> {
  const log = emptyLog()
  await using task = await withCloudEvents(log, { ...PARTS, ...more }).openTask(0)
  const position = codec.encode({
    ...{ type: 'Position', partition: 0, partitions: 1, position: 8n, state: '', outputs: '' },
    ...{ foldVersion: 1, last: '', inForce: [] },
  })
  const changelog = [{ key: POSITION_KEY, value: position }]
  const outputs = [{ topic: 'lineage' as const, partition: 0, records: [record] }]
  await task.commit({ changelog, outputs })
  return asObject(log.of('lineage')[0]!)
}

function asObject({ headers }: Produced): Readonly<Record<string, string>> {
  return Object.fromEntries(headers ?? [])
}

function lineage(more: Partial<Lineage>): Lineage {
  return {
    ...{
      type: 'Lineage',
      cluster: 'north',
      clusterName: 'north',
      uid: 'u1',
      group: 'apps',
      version: 'v1',
    },
    ...{ kind: 'Deployment', scope: 'Namespaced', namespace: 'shop', name: 'web' },
    ...{ phase: 'observed', owners: [], createdAt: null, deletedAt: null, why: '' },
    ...{
      doubt: null,
      deletion: null,
      verdict: null,
      admission: null,
      heldBy: null,
      held: null,
      evidence: null,
      position: 7n,
      at: 1_790_000_000_000,
    },
    moreOwners: 0,
    resource: 'pods',
    departure: null,
    ...more,
  }
}

test('an entry of lineage says what it is about, of which cluster, and when', async () => {
  deepEqual(await headersOf({ key: 'north/u1', value: codec.encode(lineage({})) }), {
    ce_specversion: '1.0',
    ce_id: '0-7/u1',
    ce_source: '/applications/kinfold/clusters/north',
    ce_type: 'dev.kinfold.lineage.v1',
    ce_time: '2026-09-21T14:13:20.000Z',
    ce_subject: 'Deployment.apps/shop/web',
    'content-type': 'application/vnd.apache.avro',
  })
})

test('a null value is an event without data, of an id that no entry has', async () => {
  deepEqual(await headersOf({ key: 'north/u1', value: null }), {
    ce_specversion: '1.0',
    ce_id: '0-8/u1/forgotten',
    ce_source: '/applications/kinfold/clusters/north',
    ce_type: 'dev.kinfold.lineage.forgotten.v1',
  })
})

test('a schema that a registry has is named by its address there', async () => {
  const body = codec.encode(lineage({}))
  const registered = {
    encode: () => body,
    decode: (bytes: Uint8Array) => codec.decode(bytes[0] === 0 ? body : bytes),
  }
  const value = Buffer.from([0, 0, 0, 1, 2, 3])
  const found = await headersOf(
    { key: 'north/u1', value },
    { codec: registered, registry: 'https://registry:8081/' },
  )
  equal(found['ce_dataschema'], 'https://registry:8081/schemas/ids/258')
  const own = await headersOf({ key: 'north/u1', value: body }, { registry: 'https://registry' })
  equal('ce_dataschema' in own, false)
})

test('each record of lineage and history has all that an event must have, and an id of its own', async () => {
  const log = await folded(Number.POSITIVE_INFINITY)
  const records = [...log.of('lineage'), ...log.of('history')]
  ok(log.of('lineage').length >= 3 && log.of('history').length > 5)
  const ids = new Set<string>()
  for (const record of records) {
    const found = asObject(record)
    for (const name of REQUIRED) ok((found[name] ?? '') !== '', name)
    for (const name of Object.keys(found)) match(name, ATTRIBUTE)
    ids.add(`${found['ce_source']} ${found['ce_id']}`)
  }
  equal(ids.size, records.length)
  const others = log.commits.flatMap(({ outputs }) =>
    outputs.flatMap(({ topic, records: all }) =>
      topic === 'lineage' || topic === 'history' ? [] : all,
    ),
  )
  ok(others.length > 0)
  deepEqual(
    others.filter(({ headers }) => headers !== undefined),
    [],
  )
})

test('folded again, in other batches, each record has the id that it had', async () => {
  const [once, again] = [await folded(Number.POSITIVE_INFINITY), await folded(0)]
  ok(again.commits.length > once.commits.length)
  const known = (log: RecordingLog, topic: 'lineage' | 'history') =>
    log.of(topic).map((record) => [asObject(record)['ce_id'], hexOf(record)] as const)
  deepEqual(known(once, 'history'), known(again, 'history'))
  // Of each object a batch writes the last entry only.
  const every = new Map(known(again, 'lineage'))
  for (const [id, value] of known(once, 'lineage')) equal(every.get(id), value)
})

test('whatever users call their objects, headers are short, and printable ASCII', async () => {
  for (const name of [...HOSTILE_NAMES, 'x'.repeat(100_000)]) {
    const record = lineage({ uid: 'u1', name, namespace: name, kind: name, group: name })
    const key = `north/${name.slice(0, 10_000).toWellFormed()}`
    const found = await headersOf({ key, value: codec.encode(record) })
    for (const [header, value] of Object.entries(found))
      match(`${header} ${value}`, /^[\x20-\x7e]+$/)
    ok((found['ce_subject'] ?? '').length <= 1_024)
  }
})

function hexOf({ value }: Produced): string {
  return value === null ? 'null' : Buffer.from(value).toString('hex')
}
