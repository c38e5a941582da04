/** `kinfold audit verify`: folds the log again, offline, and compares. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { avroCodec } from '../adapters/avro/codec.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { EXIT, stopSignal } from '../runtime/lifecycle.ts'
import type { AuditResult } from '../services/graph/audit.ts'
import { auditPartition } from '../services/graph/audit.ts'
import { defaultDataDirectory } from './config.ts'

export function addAudit(program: Command): void {
  const audit = program.command('audit').description('checks of the record against itself')
  audit
    .command('verify')
    .description(
      'fold every partition again from the log and compare digests and commands; makes no call',
    )
    .option('--data <dir>', 'data directory', defaultDataDirectory())
    .action(async (flags: { data: string }) => {
      const results = await verify(flags.data, stopSignal())
      for (const result of results) process.stdout.write(`${tell(result)}\n`)
      const isIdentical = results.every(({ type }) => type === 'identical')
      process.exitCode = isIdentical ? EXIT.ok : EXIT.findings
    })
}

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

function tell(result: AuditResult): string {
  const name = `partition ${result.partition}`
  if (result.type === 'different') {
    return `${name}: different at event ${result.position}: ${result.what}`
  }
  const { from, to, events, commands, digests } = result
  return `${name}: identical, events ${from} to ${to} (${events} folded, ${commands} commands, ${digests} digests compared)`
}
