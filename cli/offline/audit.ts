/**
 * `kinfold audit verify`: folds the log again, offline, and compares.
 *
 * Not here: the same under another policy (audit-replay.ts); comparison with a copy elsewhere
 * (audit-checkpoint.ts); what asks a running Kinfold: `audit horizon` (horizon.ts), `audit import`
 * (audit-import.ts) and `audit follow` (audit-follow.ts).
 */
import type { Command } from 'commander'
import { EXIT, stopSignal } from '../../runtime/lifecycle.ts'
import type { AuditResult } from '../../services/graph/audit/audit.ts'
import { addHorizon } from '../ask/horizon.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addBrokerOptions } from '../config/kafka-config.ts'
import { addCheckpoint } from './audit-checkpoint.ts'
import { addAuditFollow } from './audit-follow.ts'
import { addAuditImport } from './audit-import.ts'
import { addReplay } from './audit-replay.ts'
import type { RefoldFlags } from './refold.ts'

export function addAudit(program: Command): void {
  const audit = program
    .command('audit')
    .description("checks of the record against itself, and names out of clusters' audit logs")
  const verify = audit
    .command('verify')
    .description(
      'fold every partition again from the log and compare digests and commands; makes no call. It finds damage and bugs, not tampering: who can write the log can write digests that fit it',
    )
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
    .option('--digests', 'print the digests on the log, to be kept elsewhere and compared later')
  addCheckpoint(audit)
  addReplay(audit)
  addHorizon(audit)
  addBrokerOptions(verify).action(async (flags: AuditFlags) => {
    const results = await resultsOf(flags)
    for (const result of results) {
      if (flags.digests === true) for (const line of digestsOf(result)) process.stdout.write(line)
      process.stdout.write(`${tell(result)}\n`)
    }
    process.stdout.write(`${LIMIT}\n`)
    const isIdentical = results.every(({ type }) => type === 'identical')
    process.exitCode = isIdentical ? EXIT.ok : EXIT.findings
  })
  addAuditImport(audit)
  addAuditFollow(audit)
}

const LIMIT =
  'This finds damage and bugs, not tampering: for that compare with a checkpoint (audit checkpoint), or a copy, kept elsewhere.'

interface AuditFlags extends RefoldFlags {
  readonly digests?: boolean
}

async function resultsOf(flags: AuditFlags): Promise<AuditResult[]> {
  const { refoldInThreads } = await import('./refold-thread.ts')
  return await refoldInThreads(flags, { type: 'verify' }, stopSignal())
}

function tell(result: AuditResult): string {
  const name = `partition ${result.partition}`
  if (result.type === 'different') {
    return `${name}: different at event ${result.position}: ${result.what}`
  }
  const { from, to, events, commands, digests } = result
  return `${name}: identical, events ${from} to ${to} (${events} folded, ${commands} commands, ${digests} digests compared)`
}

/** The same each time: lines that were kept come again, for as long as the log has their events. */
function digestsOf(result: AuditResult): readonly string[] {
  if (result.type === 'different') return []
  return result.recorded.map(
    ({ position, state, outputs }) =>
      `partition ${result.partition}: digests at event ${position}: state sha256:${state}, outputs sha256:${outputs}\n`,
  )
}
