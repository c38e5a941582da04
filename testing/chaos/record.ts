/**
 * The required state of the log at the end: no command took effect twice, every partition folds
 * again to the same, and stores have the content of the changelog.
 *
 * What must stay true: it only reads.
 */
import { join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { openLevelStore } from '../../adapters/level/store.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import { FENCE_KEY, type Log } from '../../ports/log.ts'
import { entriesIn } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import { auditPartition } from '../../services/graph/audit/audit.ts'
import { END_OF_STATE } from '../../services/graph/fold/former/former-key.ts'
import { RowStore } from '../../services/graph/fold/former/row-store.ts'
import { storeIdentity, whatStore } from '../../services/graph/main.ts'
import { ALREADY_SO } from '../../services/reaper/decide/settle.ts'
import type { Kafka } from '../kafka/broker.ts'
import type { KinfoldServices } from '../process/kinfold-services.ts'

export interface RecordReport {
  readonly events: bigint
  readonly commands: number
  /** The failures; empty when nothing is. */
  readonly faults: readonly string[]
}

const CODEC = avroCodec()
const PAGE = 5_000

/** The graph processes must have stopped. */
export async function checkRecord(kafka: Kafka, services: KinfoldServices): Promise<RecordReport> {
  const { bootstrap: brokers, application } = kafka
  await using log = await openKafkaLog({
    settings: { brokers, application, compression: 'zstd' },
    clientId: 'chaos',
    mayCreate: false,
    clock: systemClock(),
  })
  const faults: string[] = []
  let events = 0n
  /**
   * For each command the versions at which a call of its own left its target; empty where the
   * target is deleted. A reaper that died before its result carries a command out again: then its
   * guards find nothing to do, whatever other clients have written meanwhile.
   */
  const done = new Map<string, Set<string>>()
  for (let partition = 0; partition < log.partitions('events'); partition++) {
    const { start, end } = await log.bounds('events', partition)
    events += end - start
    for await (const { value } of entries(log, 'events', partition)) {
      const event = value === null ? undefined : CODEC.decode(value)
      if (event?.type !== 'CommandSettled' || event.outcome !== 'done') continue
      const versions = done.get(event.command) ?? new Set<string>()
      done.set(event.command, versions)
      if (event.reason !== ALREADY_SO) versions.add(event.object?.resourceVersion ?? '')
    }
    await using store = new MemoryStore()
    const audit = await auditPartition({ log, codec: CODEC, store, partition }, never)
    if (audit.type === 'different') {
      faults.push(`partition ${partition} folds differently at ${audit.position}: ${audit.what}`)
    }
    faults.push(...(await storesAgainst(log, partition, services, application, log.identity)))
  }
  for (const [command, versions] of done) {
    if (versions.size > 1)
      faults.push(`command ${command} took effect again: ${[...versions].join(', ')}`)
  }
  return { events, commands: done.size, faults }
}

const never = new AbortController().signal

async function* entries(
  log: Log,
  topic: 'events' | 'changelog',
  partition: number,
): AsyncIterable<Awaited<ReturnType<Log['read']>>['entries'][number]> {
  const { start, end } = await log.bounds(topic, partition)
  for (let next = start; next < end; ) {
    const page = await log.read(topic, partition, next, { limit: PAGE, waitMs: 0 })
    yield* page.entries
    next = page.next
  }
}

/**
 * Of each partition at least one store is up to the end, and those that are hold the changelog's
 * latest values.
 */
async function storesAgainst(
  log: Log,
  partition: number,
  services: KinfoldServices,
  application: string,
  identityOf: string,
): Promise<string[]> {
  const expected = new Map<string, Uint8Array>()
  let last = 0n
  for await (const { key, value, offset } of entries(log, 'changelog', partition)) {
    if (key !== FENCE_KEY) last = offset
    if (key === FENCE_KEY) continue
    if (value === null) expected.delete(key)
    else expected.set(key, value)
  }
  let current = 0
  const faults: string[] = []
  for (const { data, name } of services.of('graph')) {
    const directory = join(data, application, `store-${partition}`)
    const identity = storeIdentity(whatStore(partition), log.partitions('events'), identityOf)
    const different = await differenceOf({ directory, identity }, expected, last)
    if (different === undefined) continue
    current += 1
    if (different !== '') faults.push(`${name}, partition ${partition}: ${different}`)
  }
  if (current === 0) faults.push(`no store of partition ${partition} is at the changelog's end`)
  return faults
}

interface Kept {
  readonly directory: string
  readonly identity: string
}

/** Undefined when the store is not at the end, or not there; empty when it is the same. */
async function differenceOf(
  { directory, identity }: Kept,
  expected: ReadonlyMap<string, Uint8Array>,
  last: bigint,
): Promise<string | undefined> {
  let store: Awaited<ReturnType<typeof openLevelStore>>
  try {
    store = await openLevelStore({ directory, identity, rebuild: false })
  } catch {
    return undefined
  }
  await using opened = store
  const checkpoint = opened.checkpoint()
  if (checkpoint === undefined || checkpoint.changelog <= last) return undefined
  let count = 0
  const range = { gte: ' ', lt: END_OF_STATE, limit: PAGE }
  for await (const [key, value] of entriesIn(new RowStore(opened, CODEC), range)) {
    count += 1
    const wanted = expected.get(key)
    if (wanted === undefined) return `${key} is not in the changelog`
    if (Buffer.compare(wanted, value) !== 0) return `${key} has another value in the changelog`
  }
  return count === expected.size ? '' : `${count} keys, and ${expected.size} in the changelog`
}
