/**
 * `kinfold rules try`: what a rule would have deleted in a span of the log, and which of that was
 * changed, given dependents or made again later, offline.
 *
 * What must stay true: it makes no call and writes nothing; a span that the log does not reach back
 * to is refused; what was not read with what the rule reads is counted, and never guessed.
 *
 * Not here: asking the rule (services/graph/audit/rule-trial.ts).
 */
import type { Command } from 'commander'
import type { Rule } from '../../core/model/rule/rule.ts'
import { durationText } from '../../core/model/text.ts'
import { RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import { stopSignal } from '../../runtime/lifecycle.ts'
import {
  isMissed,
  type TrialCase,
  type TrialResult,
} from '../../services/graph/audit/rule-trial.ts'
import { graphOptionsOf, type UpFlags, upConfig, upConfigOf } from '../config/config.ts'
import { readConfigMapping } from '../config/config-file.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addBrokerOptions } from '../config/kafka-config.ts'
import { bad, moment } from '../config/setting.ts'
import { outputOf, type Structurable, structured } from '../print/output.ts'
import { table, time } from '../print/table.ts'
import { countOf } from '../print/word.ts'
import type { RefoldFlags } from './refold.ts'

const OUTPUTS = ['text', 'json', 'yaml'] as const
/** Objects that are printed as text. */
const PRINTED = 50

interface TryFlags extends RefoldFlags {
  readonly since: string
  readonly rules?: string
  readonly output: string
}

export function addTry(rules: Command): void {
  const command = rules
    .command('try')
    .description(
      'what a rule would have deleted, by the log, and what of that was changed, given dependents or made again later; makes no call',
    )
    .argument('<name>', 'of the rule')
    .requiredOption('--since <t>', 'from then on: how long ago (30d), or RFC 3339')
    .option(
      '--rules <file>',
      "config file that has the rule, or its section rules alone (default: the log's policy has it)",
    )
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'text')
  addBrokerOptions(command).action(run)
}

async function run(name: string, flags: TryFlags): Promise<void> {
  const output = outputOf(flags.output, OUTPUTS)
  const since = moment({ key: 'since', value: flags.since, from: '--since' }, Date.now()) ?? ''
  const rule = await ruleNamed(name, flags)
  checkTriable(rule)
  const { refoldInThreads } = await import('./refold-thread.ts')
  const trying = { type: 'try', fromMs: Date.parse(since), rule } as const
  const results = await refoldInThreads(flags, trying, stopSignal(), progress)
  const text = output === 'text' ? textOf(results, rule, since) : undefined
  process.stdout.write(
    text ?? structured(documentOf(results, rule, since), output === 'yaml' ? 'yaml' : 'json'),
  )
}

/** The log is folded without the rule, so what it counts, or deletes once more, is not known. */
function checkTriable({ name, keep, absent, beside, unused, match }: Rule): void {
  const others = { absent, beside, unused }
  const gone = Object.entries(others).find(([, value]) => value !== null)?.[0] ?? ''
  const what = keep !== null ? 'keep' : match.terminating ? 'match.terminating' : gone
  if (what !== '') throw bad(`rule ${name} has ${what}: no record shows what that would have done`)
}

/** Of a config file, or as the policy on the log has it. */
async function ruleNamed(name: string, flags: TryFlags): Promise<Rule> {
  const rules = flags.rules === undefined ? await rulesOnLog(flags) : rulesIn(flags.rules)
  const found = rules.find((rule) => rule.name === name)
  if (found !== undefined) return found
  const from = flags.rules ?? 'the policy on the log'
  const names = rules.map((rule) => rule.name).join(', ')
  throw bad(
    names === ''
      ? `${from} has no rules: name a config file that has, with --rules FILE`
      : `${from} has no rule ${name}; it has ${names}`,
  )
}

/** Also of the section alone, as `kinfold rules import` prints it. */
function rulesIn(file: string): readonly Rule[] {
  const flags = { config: file } as UpFlags
  const content = readConfigMapping(file)
  const isSection = Object.keys(content).join() === 'rules'
  const config = isSection ? upConfigOf(flags, content) : upConfig(flags)
  return graphOptionsOf(config).policy.policy.rules
}

async function rulesOnLog(flags: TryFlags): Promise<readonly Rule[]> {
  const { offline, readLog } = await import('./refold.ts')
  const { codec } = offline()
  const said = await readLog(flags, async (log) => await log.latest('orders', 0))
  const value = said.find(({ key }) => key === RULE_BOOK_KEY)?.value
  const record = value == null ? undefined : codec.decode(value)
  return record?.type === 'RuleBook' ? record.rules : []
}

/** On a terminal: a span of months takes minutes. */
function progress(events: number, atMs: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${events} events, at ${time(atMs)} `)
}

type Sums = Pick<TrialResult, 'events' | 'selected' | 'unread' | 'due' | 'held' | 'missed'>

function sumsOf(results: readonly TrialResult[]): Sums {
  const sum = (key: keyof Sums): number => results.reduce((all, each) => all + each[key], 0)
  return {
    ...{ events: sum('events'), selected: sum('selected'), unread: sum('unread') },
    ...{ due: sum('due'), held: sum('held'), missed: sum('missed') },
  }
}

/** Those that were missed first, then in the order in which they were due. */
function casesOf(results: readonly TrialResult[]): readonly TrialCase[] {
  const cases = results.flatMap((each) => each.cases)
  return cases.sort((a, b) => Number(isMissed(b)) - Number(isMissed(a)) || a.at - b.at)
}

function textOf(results: readonly TrialResult[], rule: Rule, since: string): string {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const { events, selected, unread, due, held, missed } = sumsOf(results)
  const did = rule.annotate === null ? 'deleted' : 'annotated'
  const parts = [
    `rule ${rule.name}, ${countOf(events, 'event')} since ${since}: it selects ${countOf(selected, 'object')} and would have ${did} ${due}\n`,
  ]
  if (unread > 0) {
    parts.push(
      `${countOf(unread, 'object')} of its kinds ${unread === 1 ? 'was' : 'were'} not read with what it reads, so nothing is known of ${unread === 1 ? 'it' : 'them'}: let the rule run in dry run for a while\n`,
    )
  }
  if (held > 0) {
    parts.push(
      `${countOf(held, 'object')} more ${held === 1 ? 'is' : 'are'} held: their owners in another cluster were deleted, and ${durationText(rule.forMs)} is not over since, or that cluster is not followed\n`,
    )
  }
  if (due > 0) {
    parts.push(`${missed} of these were changed, given dependents or made again afterwards\n`)
  }
  const cases = casesOf(results)
  const isOne = new Set(cases.map(({ cluster }) => cluster)).size <= 1
  const rows = cases
    .slice(0, PRINTED)
    .map((each) => [
      ...(isOne ? [] : [each.cluster]),
      ...[time(each.at), each.namespace === '' ? '-' : each.namespace, `${each.kind}/${each.name}`],
      laterOf(each),
    ])
  if (rows.length > 0) parts.push('\n', table(isOne ? TITLES : ['CLUSTER', ...TITLES], rows))
  if (due > rows.length) parts.push(`and ${due - rows.length} more: -o json\n`)
  return parts.join('')
}

const TITLES: readonly string[] = ['DUE', 'NAMESPACE', 'OBJECT', 'LATER']

function laterOf(each: TrialCase): string {
  const { changes, changedAt, dependents, deletedAt, madeAgainAt } = each
  const said = [
    changes > 0 && `changed ${changes === 1 ? 'once' : `${changes} times`}, at ${when(changedAt)}`,
    dependents > 0 && `given ${countOf(dependents, 'dependent')}`,
    deletedAt !== null && `deleted at ${when(deletedAt)}`,
    madeAgainAt !== null && `made again at ${when(madeAgainAt)}`,
  ].filter((text) => text !== false)
  return said.length === 0 ? 'not used' : said.join('; ')
}

function when(timeMs: number | null): string {
  return timeMs === null ? 'an unknown time' : time(timeMs)
}

function documentOf(
  results: readonly TrialResult[],
  rule: Rule,
  since: string,
): Structurable & Readonly<Record<string, unknown>> {
  const sums = sumsOf(results)
  const cases = casesOf(results)
  const isCut = cases.length < sums.due
  const iso = (timeMs: number | null): string | null =>
    timeMs === null ? null : new Date(timeMs).toISOString()
  return {
    apiVersion: 'kinfold/v1',
    kind: 'RuleTrial',
    partial: isCut ? `${cases.length} of ${sums.due} objects are listed` : '',
    ...{ rule: rule.name, since, ...sums },
    cases: cases.map((each) => ({
      ...each,
      ...{ at: iso(each.at), changedAt: iso(each.changedAt) },
      ...{ deletedAt: iso(each.deletedAt), madeAgainAt: iso(each.madeAgainAt) },
    })),
  }
}
