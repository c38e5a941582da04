/**
 * `kinfold audit held --at T`: what was held at a moment of the past, folded again from the log, offline.
 *
 * What must stay true: it makes no call and writes nothing; a moment that the log does not reach back to is refused.
 *
 * Not here: the fold (services/graph/audit/past-held.ts), how the answer is printed (held.ts).
 */
import type { Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import { EXIT, ExitError, stopSignal } from '../runtime/lifecycle.ts'
import { documentOf } from '../services/graph/api/document.ts'
import type { HeldQuestion, PastHeld, SeenCluster } from '../services/graph/audit/past-held.ts'
import { clusterRefs, labelOf } from '../services/graph/query/cluster-label.ts'
import { heldOfAll } from '../services/graph/query/held.ts'
import { askedIn } from '../services/graph/query/moment.ts'
import type { Held } from './answer.ts'
import { MOMENTS, warnPartial } from './client.ts'
import { DEFAULT_DATA } from './data-directory.ts'
import { HELD_OUTPUTS, heldText } from './held.ts'
import { addBrokerOptions } from './kafka-config.ts'
import { momentOf } from './moment.ts'
import { outputOf } from './output.ts'
import type { RefoldFlags } from './refold.ts'

interface HeldFlags extends RefoldFlags {
  readonly at: string
  readonly namespace?: string
  readonly cluster?: string
  readonly output: string
}

export function addAuditHeld(audit: Command): void {
  const held = audit
    .command('held')
    .description(
      'what was held at a moment of the past, and by what: folds the log again up to it; makes no call',
    )
    .requiredOption('--at <moment>', MOMENTS)
    .option('-n, --namespace <ns>', 'only what is in this namespace (default: in all)')
    .option('--cluster <c>', 'name or id of the cluster')
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
    .option('-o, --output <format>', HELD_OUTPUTS.join(', '), 'table')
  addBrokerOptions(held).action(async (flags: HeldFlags) => {
    const output = outputOf(flags.output, HELD_OUTPUTS)
    const answer = await pastHeld(flags)
    warnPartial(answer.partial)
    process.stdout.write(heldText(answer, output))
  })
}

async function pastHeld(flags: HeldFlags): Promise<Held> {
  const { at, namespace, cluster: named } = flags
  const asked = askedIn(momentOf(at) ?? '')
  if (asked.type === 'time' && asked.at > Date.now()) {
    throw new ExitError(EXIT.input, `--at ${at} is still to come`)
  }
  const chosen = (seen: readonly SeenCluster[]): readonly SeenCluster[] =>
    seen.filter(({ id, name }) => named === undefined || id === named || name === named)
  const all = await folded(flags, { asked, namespace, chosen })
  const seen = all.flatMap(({ clusters }) => clusters)
  if (seen.length === 0) {
    throw new ExitError(EXIT.failure, `--at ${at}: no cluster had been seen by then`)
  }
  const refOf = clusterRefs(seen)
  const refs = chosen(seen).map(({ id }) => refOf(id))
  if (refs.length === 0) {
    const known = seen.map(({ id }) => labelOf(refOf(id))).join(', ')
    throw new ExitError(EXIT.input, `there was no cluster ${named} by then; there were: ${known}`)
  }
  return documentOf('Held', heldOfAll(all, refs)) as unknown as Held
}

async function folded(flags: RefoldFlags, about: HeldQuestion): Promise<readonly PastHeld[]> {
  const { refoldLog } = await import('./refold.ts')
  const { heldAt } = await import('../services/graph/audit/past-held.ts')
  const { TooEarlyError } = await import('../services/graph/audit/reach.ts')
  const [clock, signal] = [systemClock(), stopSignal()]
  try {
    const all = await refoldLog(
      flags,
      async (parts) => await heldAt({ ...parts, ...about, clock }, signal),
    )
    return all.filter((held) => held !== undefined)
  } catch (error) {
    if (error instanceof TooEarlyError) throw new ExitError(EXIT.failure, error.message)
    throw error
  }
}
