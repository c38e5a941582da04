/** `kinfold audit verify`: folds the log again, offline, and compares. */
import type { Command } from 'commander'
import { EXIT, stopSignal } from '../runtime/lifecycle.ts'
import type { AuditResult } from '../services/graph/audit.ts'
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
      const { verify } = await import('./verify.ts')
      const results = await verify(flags.data, stopSignal())
      for (const result of results) process.stdout.write(`${tell(result)}\n`)
      const isIdentical = results.every(({ type }) => type === 'identical')
      process.exitCode = isIdentical ? EXIT.ok : EXIT.findings
    })
}

function tell(result: AuditResult): string {
  const name = `partition ${result.partition}`
  if (result.type === 'different') {
    return `${name}: different at event ${result.position}: ${result.what}`
  }
  const { from, to, events, commands, digests } = result
  return `${name}: identical, events ${from} to ${to} (${events} folded, ${commands} commands, ${digests} digests compared)`
}
