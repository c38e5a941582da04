/**
 * `kinfold audit replay`: what another policy would have deleted, held and kept, folded again from
 * the log, offline.
 *
 * What must stay true: it makes no call and writes nothing; a span that the log does not reach back
 * to is refused.
 *
 * Not here: the comparison (services/graph/audit/replay.ts).
 */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Policy, Preset } from '../../core/model/policy.ts'
import { EXIT, ExitError, stopSignal } from '../../runtime/lifecycle.ts'
import type { ReplayCase, ReplayCount, ReplayResult } from '../../services/graph/audit/replay.ts'
import { graphOptionsOf, type UpFlags, upConfig } from '../config/config.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addBrokerOptions } from '../config/kafka-config.ts'
import { bad, moment } from '../config/setting.ts'
import { outputOf, type Structurable, structured } from '../print/output.ts'
import { table, time } from '../print/table.ts'
import { countOf } from '../print/word.ts'
import type { RefoldFlags } from './refold.ts'

const OUTPUTS = ['text', 'json', 'yaml'] as const
/** Differences that are printed as text. */
const PRINTED = 50

interface ReplayFlags extends RefoldFlags {
  readonly from: string
  readonly to?: string
  readonly policy?: string
  readonly preset?: string
  readonly mode: string
  readonly output: string
}

export function addReplay(audit: Command): void {
  const replay = audit
    .command('replay')
    .description(
      'fold a part of the log again under another policy, and compare what it would have deleted with what was; makes no call',
    )
    .requiredOption('--from <t>', 'from then on: how long ago (24h), or RFC 3339')
    .option('--to <t>', 'before then (default: all that is folded)')
    .option('--policy <file>', 'config file with preset, holds, budgets, protection, approvals')
    .option('--preset <preset>', 'parity or guarded (default: as the file says, or guarded)')
    .option('--mode <mode>', 'observe, dry-run or enforce', 'enforce')
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'text')
  addBrokerOptions(replay).action(run)
}

async function run(flags: ReplayFlags): Promise<void> {
  const output = outputOf(flags.output, OUTPUTS)
  const now = Date.now()
  const from = moment({ key: 'from', value: flags.from, from: '--from' }, now) ?? ''
  const to = moment({ key: 'to', value: flags.to, from: '--to' }, now)
  if (to !== undefined && to <= from) {
    throw new ExitError(EXIT.input, `--to ${flags.to} is not after --from ${flags.from}`)
  }
  const policy = policyOf(flags)
  const results = await resultsOf(flags, { from, to, policy })
  process.stdout.write(
    output === 'text'
      ? textOf(results, from)
      : structured(documentOf(results, { from, to }), output),
  )
  process.exitCode = results.every(({ differences }) => differences === 0) ? EXIT.ok : EXIT.findings
}

const PRESETS: readonly string[] = ['parity', 'guarded'] satisfies readonly Preset[]

/**
 * Of a config file only what makes a policy counts, and not its mode: what would be deleted is the
 * question.
 */
function policyOf({ policy: file, preset, mode }: ReplayFlags): Policy {
  const flags = { config: file, preset, mode }
  if (file !== undefined && PRESETS.includes(file) && !existsSync(file)) {
    throw bad(`--policy ${file}: expected a config file; a preset is named with --preset ${file}`)
  }
  try {
    return graphOptionsOf(upConfig(flags as UpFlags)).policy.policy
  } catch (error) {
    // What is wrong in the file is named by the flag that named the file.
    if (file === undefined || !(error instanceof ExitError)) throw error
    throw bad(error.message.replace(`--config ${file}`, `--policy ${file}`))
  }
}

interface Span {
  readonly from: string
  readonly to: string | undefined
}

async function resultsOf(
  flags: ReplayFlags,
  { from, to, policy }: Span & { readonly policy: Policy },
): Promise<ReplayResult[]> {
  const { refoldInThreads } = await import('./refold-thread.ts')
  const toMs = to === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(to)
  const replaying = { type: 'replay', fromMs: Date.parse(from), toMs, policy } as const
  return await refoldInThreads(flags, replaying, stopSignal(), progress)
}

/** On a terminal: a span of months takes minutes. */
function progress(events: number, atMs: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${events} events, at ${time(atMs)} `)
}

type Count = Pick<ReplayCount, 'was' | 'would' | 'heldBy' | 'count'>

function countsOf(results: readonly ReplayResult[]): readonly Count[] {
  const counts = new Map<string, Count>()
  for (const each of results.flatMap((result) => result.counts)) {
    const id = `${each.was} ${each.would} ${each.heldBy}`
    counts.set(id, { ...each, count: each.count + (counts.get(id)?.count ?? 0) })
  }
  const order = (each: Count): number =>
    WAS.indexOf(each.was) * 100 + WOULD.indexOf(each.would) * 10
  return [...counts.values()].sort((a, b) => order(a) - order(b) || b.count - a.count)
}

const WAS: readonly ReplayCase['was'][] = ['deleted', 'left', 'exists']
const WOULD: readonly ReplayCase['would'][] = ['deleted', 'held', 'kept', 'unclear']

const WAS_TEXT: Readonly<Record<ReplayCase['was'], string>> = {
  deleted: 'deleted by Kinfold',
  left: 'deleted by somebody else',
  exists: 'still there',
}

function wouldText({ would, heldBy }: Pick<Count, 'would' | 'heldBy'>): string {
  return would === 'held' && heldBy !== null ? `held (${heldBy})` : would
}

function textOf(results: readonly ReplayResult[], from: string): string {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const events = results.reduce((sum, each) => sum + each.events, 0)
  const differences = results.reduce((sum, each) => sum + each.differences, 0)
  const head = `${countOf(events, 'event')} since ${from}; ${countOf(differences, 'difference')}\n`
  const counts = countsOf(results)
  if (counts.length === 0)
    return `${head}Nothing that had owners would have been deleted or held.\n`
  const rows = counts.map((each) => [WAS_TEXT[each.was], wouldText(each), String(each.count)])
  const cases = results.flatMap((each) => each.cases).sort((a, b) => a.at - b.at)
  const shown = cases
    .slice(0, PRINTED)
    .map((each) => [
      ...[time(each.at), each.namespace === '' ? '-' : each.namespace, `${each.kind}/${each.name}`],
      ...[WAS_TEXT[each.was], wouldText(each), each.dependsOn === null ? '' : 'yes', each.because],
    ])
  const left = differences - shown.length
  const parts = [head, table(['WAS', 'WOULD BE', 'OBJECTS'], rows)]
  if (shown.length > 0) {
    const titles = ['TIME', 'NAMESPACE', 'OBJECT', 'WAS', 'WOULD BE', 'DEPENDS', 'BECAUSE']
    parts.push('\n', table(titles, shown))
  }
  if (left > 0) parts.push(`and ${left} more: -o json\n`)
  return parts.join('')
}

function documentOf(
  results: readonly ReplayResult[],
  { from, to }: Span,
): Structurable & Readonly<Record<string, unknown>> {
  const cases = results.flatMap((each) => each.cases).sort((a, b) => a.at - b.at)
  const differences = results.reduce((sum, each) => sum + each.differences, 0)
  const isCut = cases.length < differences
  return {
    apiVersion: 'kinfold/v1',
    kind: 'Replay',
    partial: isCut ? `${cases.length} of ${differences} differences are listed` : '',
    ...{
      from,
      to: to ?? null,
      policy: results[0]?.policy ?? null,
      differences,
      counts: countsOf(results),
    },
    cases: cases.map((each) => ({ ...each, at: new Date(each.at).toISOString() })),
  }
}
