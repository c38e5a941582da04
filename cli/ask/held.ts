/**
 * `kinfold held`: what is held, and by what; `kinfold plan held`: what an approval would release,
 * with its digest.
 */

import type { Command } from 'commander'
import { shellWord } from '../../core/model/text.ts'
import { labelOf } from '../../services/graph/api/word.ts'
import type { Cluster, Held, HeldPlan, Queries } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { table, time, timeAhead } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { blockedText, countOf, objectName, unlistedText } from '../print/word.ts'
import type { ClientFlags, ScopeFlags, Server } from '../reach/client.ts'
import {
  answerTo,
  serverOf,
  warnPartial,
  withMoment,
  withScope,
  withServer,
} from '../reach/client.ts'
import { clusterScopeOf } from '../reach/scope.ts'

const HELD_OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof HELD_OUTPUTS)[number]
const PLAN_OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type PlanOutput = (typeof PLAN_OUTPUTS)[number]

interface HeldFlags extends ClientFlags, ScopeFlags {
  readonly namespace?: string
  readonly at?: string
  readonly limit?: string
  readonly output: string
}

export function addHeld(program: Command): void {
  withMoment(withHeld(program.command('held'), HELD_OUTPUTS))
    .description('what would be deleted and is held: by what, since when, and what releases it')
    .option('-n, --namespace <ns>', 'only what is in this namespace (default: in all)')
    .action(async (flags: HeldFlags) => {
      const output = outputOf(flags.output, HELD_OUTPUTS)
      const past = flags.at === undefined ? undefined : await import('../reach/moment.ts')
      const at = past?.momentOf(flags.at ?? '')
      const { server, query } = await asked(flags)
      const { namespace } = flags
      const answer = await answerTo(server, '/v1/held', { ...query, namespace, at })
      warnPartial(answer.partial)
      process.stdout.write(heldText(answer, output, past?.momentText(answer.asOf)))
    })
}

export function addPlanHeld(plan: Command): void {
  withHeld(plan.command('held'), PLAN_OUTPUTS)
    .description(
      'what waits for approval: all that "kinfold approve" with its digest would release',
    )
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .action(async (flags: HeldFlags) => {
      const output = outputOf(flags.output, PLAN_OUTPUTS)
      const { server, query } = await asked(flags)
      const plan = await answerTo(server, '/v1/plan/held', { ...query, limit: flags.limit })
      warnPartial(plan.partial)
      const { total, objects } = plan
      if (output === 'name') warnPartial(unlistedText(total, objects.length))
      process.stdout.write(planText(plan, output))
    })
}

function withHeld(command: Command, outputs: readonly string[]): Command {
  return withScope(withServer(command)).option('-o, --output <format>', outputs.join(', '), 'table')
}

interface Asked {
  readonly server: Server
  readonly query: Pick<Queries['/v1/held'], 'cluster'>
}

async function asked(flags: HeldFlags): Promise<Asked> {
  const { cluster, hint } = await clusterScopeOf(flags)
  return { server: { ...serverOf(flags), hint }, query: { cluster } }
}

/**
 * `moment`: in words; undefined for now, empty where no cluster was ever seen. What ended a pause
 * or a breaker then would end nothing now, so it is not named.
 */
export function heldText(answer: Held, output: Output, moment?: string): string {
  if (output !== 'table') return structured(answer, output)
  const toEnd = (command: string): string => (moment === undefined ? ` ${command}` : '')
  const breakers = answer.breakers.map(({ cluster, namespace, since, because }) => {
    const whose = namespace === '' ? '' : `namespace ${lineOf(namespace)} in `
    const is = moment === undefined ? 'has been' : 'was'
    return `The breaker of ${whose}${clusterText(cluster)} ${is} open since ${time(since)}: ${lineOf(because)}.${toEnd(`To close it: kinfold close-breaker${flagOf(cluster)} --why …`)}\n`
  })
  // An order that is recorded for another mode promises nothing in this one.
  const vain = answer.mode === 'observe' ? ', which in mode observe has no effect' : ''
  const pauses = answer.pauses.map((pause) => {
    return `${pauseText(pause)}${vain}.${toEnd(`To resume: kinfold resume${flagOf(pause.cluster)} --why …`)}\n`
  })
  const protections = answer.protections.map((each) => {
    const [what, where] = [lineOf(shellWord(each.subject)), flagOf(each.cluster)]
    return `${protectionText(each)}${vain}.${toEnd(`To end it: kinfold unprotect ${what}${where}`)}\n`
  })
  const refused = answer.refused.map(refusedText)
  const clock = !answer.clock ? '' : `The clock: ${lineOf(answer.clock)}\n`
  const head = moment ? `What was held ${moment}:\n` : ''
  const above = [head, clock, ...pauses, ...protections, ...breakers, ...refused].join('')
  if (answer.total === 0) {
    return above + (moment === undefined ? nothingText(answer) : pastNothingText(answer, moment))
  }
  if (answer.counts.length === 0) return `${above}${countOf(answer.total, 'object')} held.\n`
  const rows = answer.counts.map((each) => {
    const { cluster, by, evidence, namespace, group, kind, count, since, until, because } = each
    const type = group === '' ? kind : `${kind}.${group}`
    const when = [time(since), timeAhead(until)]
    return [labelOf(cluster), by, evidence, namespace, type, `${count}`, ...when, because]
  })
  return above + table(HELD_HEAD, rows)
}

const HELD_HEAD = [
  ...['CLUSTER', 'HELD-BY', 'EVIDENCE', 'NAMESPACE', 'KIND', 'COUNT', 'SINCE', 'NOT-BEFORE'],
  'EXAMPLE',
]

function nothingText({ mode, refused, partial }: Held): string {
  if (partial !== '') return 'Nothing is known to be held.\n'
  if (mode === 'observe') {
    return 'In mode observe Kinfold deletes nothing, so no object is listed as held.\n'
  }
  return `Nothing${refused.length > 0 ? ' else' : ''} is held.\n`
}

function pastNothingText({ mode, partial }: Held, moment: string): string {
  if (moment === '') return 'Nothing was held: no cluster was ever seen.\n'
  if (partial !== '') return 'Nothing is known to have been held.\n'
  if (mode === null) return 'Nothing was held: Kinfold had no policy yet.\n'
  const isObserving = mode === 'observe'
  return isObserving
    ? 'In mode observe Kinfold deleted nothing, so no object was listed as held.\n'
    : 'Nothing was held.\n'
}

function refusedText({ cluster, ...count }: Held['refused'][number]): string {
  return `Refused in ${clusterText(cluster)}: ${lineOf(blockedText(count))}\n`
}

function pauseText({ cluster, ...by }: Held['pauses'][number]): string {
  const what = cluster === null ? 'All clusters are' : `${clusterText(cluster, 'Cluster')} is`
  return `${what} paused by ${byWhom(by)}`
}

function protectionText({ cluster, subject, ...by }: Held['protections'][number]): string {
  const where = cluster === null ? 'all clusters' : clusterText(cluster)
  return `${lineOf(subject)} is protected in ${where} by ${byWhom(by)}`
}

function clusterText(cluster: Cluster, word: string = 'cluster'): string {
  return `${word} ${lineOf(labelOf(cluster))}`
}

function byWhom({ who, why }: Pick<Held['pauses'][number], 'who' | 'why'>): string {
  return why === '' ? lineOf(who) : `${lineOf(who)} (${lineOf(why)})`
}

/** As a command takes it. */
function flagOf(cluster: Cluster | null): string {
  return cluster === null ? '' : ` --cluster ${lineOf(shellWord(cluster.scope))}`
}

export function planText(plan: HeldPlan, output: PlanOutput): string {
  if (output === 'json' || output === 'yaml') return structured(plan, output)
  const { total, objects, digest } = plan
  if (output === 'name') {
    return objects.map((object) => `${lineOf(objectName(object))}\n`).join('')
  }
  const isWide = output === 'wide'
  const where = clusterText(plan.cluster)
  if (total === 0) return `Nothing waits for approval in ${where}.\n`
  const rows = objects.map(({ namespace, kind, name, uid, what, since, because, evidence }) => {
    const beside = isWide ? [evidence, uid] : []
    return [namespace, `${kind}/${name}`, what, time(since), ...beside, because]
  })
  const left = total - objects.length
  const beside = isWide ? ['EVIDENCE', 'UID'] : []
  const head = ['NAMESPACE', 'OBJECT', 'ACTION', 'SINCE', ...beside, 'REASON']
  const listed = rows.length === 0 ? '' : table(head, rows)
  return [
    `Waiting for approval in ${where}: ${countOf(total, 'object')}\n\n`,
    listed,
    left > 0 ? `${left} more not listed (raise --limit).\n` : '',
    '\n',
    digest === null
      ? 'No digest: this plan is incomplete.\n'
      : `Digest: ${digest}\nTo release them: kinfold approve ${digest}${flagOf(plan.cluster)} --why …\n`,
    approvalsText(plan),
  ].join('')
}

function approvalsText({ approvals, first }: HeldPlan): string {
  if (approvals < 2) return ''
  if (first === null) return 'Two people have to approve it.\n'
  const { who, why, until } = first
  return `Approved by ${lineOf(who)} (${lineOf(why)}), valid until ${time(until)}; a second person has to approve it, too.\n`
}
