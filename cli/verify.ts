/** Folds all partitions of a log again, without the processes that write it: of a data directory, or of the brokers. */
import { avroCodec } from '../adapters/avro/codec.ts'
import { openKafkaLog } from '../adapters/kafka/log.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import type { Log } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import type { AuditResult } from '../services/graph/audit/audit.ts'
import { auditPartition } from '../services/graph/audit/audit.ts'
import type { KafkaConfig } from './kafka-config.ts'
import { logDirectoryIn } from './log-directory.ts'

export async function verifyDirectory(data: string, signal: AbortSignal): Promise<AuditResult[]> {
  const directory = logDirectoryIn(data)
  await using log = await openSqliteLog({ directory, clock: systemClock(), readOnly: true })
  return await verify(log, signal)
}

/** While they are written to, the last commits may count as missing: run it when the graph processes rest. */
export async function verifyBrokers(
  { settings }: KafkaConfig,
  signal: AbortSignal,
): Promise<AuditResult[]> {
  const clock = systemClock()
  const options = { settings, clientId: 'kinfold-audit', mayCreate: false, clock }
  await using log = await openKafkaLog(options)
  return await verify(log, signal)
}

async function verify(log: Log, signal: AbortSignal): Promise<AuditResult[]> {
  const codec = avroCodec()
  const results: AuditResult[] = []
  for (let partition = 0; partition < log.partitions('events'); partition++) {
    await using store = new MemoryStore()
    results.push(await auditPartition({ log, codec, store, partition }, signal))
  }
  return results
}
