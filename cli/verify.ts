/** Folds all partitions of a data directory's log again, without the process that writes it. */
import { join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import { systemClock } from '../runtime/clock.ts'
import type { AuditResult } from '../services/graph/audit.ts'
import { auditPartition } from '../services/graph/audit.ts'

export async function verify(data: string, signal: AbortSignal): Promise<AuditResult[]> {
  const directory = join(data, 'log')
  const clock = systemClock()
  await using log = await openSqliteLog({ directory, clock, readOnly: true })
  const codec = avroCodec()
  const results: AuditResult[] = []
  for (let partition = 0; partition < log.partitions('events'); partition++) {
    await using store = new MemoryStore()
    results.push(await auditPartition({ log, codec, store, partition }, signal))
  }
  return results
}
