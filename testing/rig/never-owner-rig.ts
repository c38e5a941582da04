/**
 * Objects whose owners never were, from the log to the index of history, over a log and stores in
 * memory: live GETs answer that nothing is there, as many at once as are asked for.
 *
 * What must stay true: the fold and the index are the services' own; ids are as long as a
 * cluster's.
 */
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import type { Topic } from '../../ports/log.ts'
import type { StoreChange } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import { object } from '../model/notation.ts'
import { indexOver } from './index-rig.ts'
import { references } from './long-list-rig.ts'
import { appendAll, codec, eventsOf, runTask } from './task-rig.ts'

const CLUSTER = '0d6f8a52-52b5-4c57-9b4a-3f0a2b1c9d11'
const WRITTEN: readonly Topic[] = [
  'events',
  'changelog',
  'history',
  'lineage',
  'digests',
  'former',
  'commands',
]

class CountingStore extends MemoryStore {
  written = 0

  override async write(...args: Parameters<MemoryStore['write']>): Promise<void> {
    this.written += args[0].reduce((sum, change) => sum + bytesOf(change), 0)
    await super.write(...args)
  }
}

function bytesOf([key, value]: StoreChange): number {
  return Buffer.byteLength(key) + (value?.length ?? 0)
}

export interface Costs {
  /** What a client sends for them, in bytes. */
  readonly sent: number
  /** By topic; in `changelog` by table. */
  readonly log: Readonly<Record<string, number>>
  readonly index: number
  readonly store: number
  readonly commands: readonly Command[]
}

/** So many objects with so many owners each, until nothing is left to do. */
export async function neverOwners(objects: number, owners: number): Promise<Costs> {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const store = new CountingStore()
  const indexed = new CountingStore()
  const stop = new AbortController()
  await using running = runTask(log, store)
  const index = indexOver(log, clock, () => indexed)
  const indexing = index.run(stop.signal)
  await appendAll(log, eventsOf(['put cm/first']).map(ofCluster))
  await running.caughtUp()
  while ((await index.caughtUp()) > 0n) await setImmediate()
  const ends = await Promise.all(WRITTEN.map(async (topic) => (await log.bounds(topic, 0)).end))
  for (const each of [store, indexed]) each.written = 0

  let sent = 0
  for (let each = 0; each < objects; each++) {
    const ownerReferences = references(owners, each * owners)
    const bodies = ownerReferences.map(({ apiVersion, kind, name, uid }) => {
      return { apiVersion, kind, name, uid }
    })
    sent += JSON.stringify({ metadata: { name: `h${each}`, ownerReferences: bodies } }).length
    const seen = { ...object(`cm/h${each}`, `${1_000 + each}`), ownerReferences, uid: uidOf(each) }
    const about = { cluster: CLUSTER, epoch: 1, sync: null }
    await append(log, [{ type: 'ObjectAdded', ...about, object: seen }])
  }
  const commands: Command[] = []
  for (let from = ends[WRITTEN.indexOf('commands')]!; ; ) {
    await running.caughtUp()
    const page = await log.read('commands', 0, from, { limit: 10_000, waitMs: 0 })
    if (page.entries.length === 0) break
    const asked = page.entries.map(({ value }) => codec.decode(value!) as Command)
    commands.push(...asked)
    const answers = asked.flatMap((each) => (each.type === 'VerifyOwner' ? [absent(each)] : []))
    if (answers.length > 0) await append(log, answers)
    from = page.next
  }
  while ((await index.caughtUp()) > 0n) await setImmediate()
  stop.abort()
  await indexing
  const costs = { sent, index: indexed.written, store: store.written, commands }
  return { ...costs, log: await written(log, ends) }
}

type Published = Exclude<Event, { readonly type: 'Unreadable' }>

async function append(log: MemoryLog, events: readonly Published[]): Promise<void> {
  const records = events.map((each) => ({ key: `${CLUSTER}/ns`, value: codec.encode(each) }))
  await log.append('events', 0, records)
}

function absent({ id, cluster, clusterEpoch, target }: Command): Published {
  const { group, kind, namespace, name, uid } = target
  const about = { cluster, clusterEpoch, owner: { group, kind, namespace, name }, uid }
  return { type: 'OwnerAbsent', ...about, how: 'NotFound', otherUid: null, command: id }
}

async function written(
  log: MemoryLog,
  ends: readonly bigint[],
): Promise<Readonly<Record<string, number>>> {
  const bytes: Record<string, number> = {}
  for (const [index, topic] of WRITTEN.entries()) {
    const options = { limit: Number.MAX_SAFE_INTEGER, waitMs: 0 }
    const { entries } = await log.read(topic, 0, ends[index]!, options)
    for (const { key, value } of entries) {
      const name = topic === 'changelog' ? `${topic} ${key.split('/')[0]}` : topic
      bytes[name] = (bytes[name] ?? 0) + bytesOf([key, value])
    }
  }
  return bytes
}

/** Stories are of a cluster with a short id. */
function ofCluster(event: Event): Event {
  return 'cluster' in event ? { ...event, cluster: CLUSTER } : event
}

function uidOf(number: number): string {
  return `11111111-0000-4000-8000-${String(number).padStart(12, '0')}`
}
