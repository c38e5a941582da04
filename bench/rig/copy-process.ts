/**
 * The least possible cost of Kinfold's fold over Kafka, in a process of its own: Kinfold's log and
 * store, and nothing between them. For each event it writes as many records of the same sizes as a
 * fold was measured to write, and reads each key before it is changed, as the Kafka Streams program
 * does (peers/streams). It decodes and decides nothing.
 *
 * What must stay true: counted records are committed; commits are as large as a fold's may be.
 *
 * Ends at SIGTERM. Its lines, each of JSON, are `FoldLine`.
 */
import { join } from 'node:path'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { openLevelStore } from '../../adapters/level/store.ts'
import { becomeLean } from '../../cli/process/lean-process.ts'
import type { Log } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { stopSignal } from '../../runtime/lifecycle.ts'
import { BATCH_KEYS, READ_LIMIT, READ_WAIT_MS } from '../../services/graph/config.ts'
import { Copier } from './copier.ts'
import type { FoldArguments, FoldLine } from './fold-process.ts'
import { settingsOf } from './kafka-field.ts'
import type { Shapes } from './streams-peer.ts'

export interface CopyArguments extends FoldArguments {
  readonly shapes: Shapes
}

const EVERY_MS = 100

becomeLean()
const given = JSON.parse(process.argv[2] ?? '') as CopyArguments
const { brokers, application, directory, partitions, shapes } = given
const clock = systemClock()
const signal = stopSignal()
await using log = await openKafkaLog({
  settings: settingsOf(brokers, application),
  clientId: 'kinfold-graph',
  mayCreate: false,
  clock,
})
const positions: Record<number, number> = {}
let commits = 0
const telling = setInterval(tell, EVERY_MS)
try {
  await Promise.all(partitions.map(async (partition) => await copy(log, partition)))
} catch (error) {
  if (error !== signal.reason) throw error
}
clearInterval(telling)
tell()

function tell(): void {
  const placed = partitions.length
  const line: FoldLine = { atMs: Date.now(), positions, placed, folding: placed, commits }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function copy(from: Log, partition: number): Promise<void> {
  await using store = await openLevelStore({
    directory: join(directory, `store-${partition}`),
    identity: 'bench',
  })
  await using owned = await from.openTask(partition)
  const copier = new Copier({ partitions: from.partitions('events'), owned, store, shapes })
  for (;;) {
    const limits = { limit: READ_LIMIT, waitMs: READ_WAIT_MS }
    const { entries } = await from.read('events', partition, copier.position, limits, signal)
    for (const { offset, value } of entries) {
      copier.take(value ?? new Uint8Array(1), offset)
      if (copier.keys >= BATCH_KEYS) await commit(copier)
    }
    if (entries.length > 0) await commit(copier)
    positions[partition] = Number(copier.position)
  }
}

async function commit(copier: Copier): Promise<void> {
  await copier.commit()
  commits += 1
}
