/** `kinfold held`: what is held, and by what; `kinfold plan held`: what an approval would release, with its digest. */
import type { Command } from 'commander'
import type { ClusterRef, Document, DocumentOfOne, Shaped } from '../services/graph/api/document.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type {
  HeldAnswer,
  HeldPlan,
  RefusedCount,
  StandingOrder,
  StandingProtection,
} from '../services/graph/query/held.ts'
import type { ClientFlags } from './client.ts'
import { ask, serverOf, warnPartial, withServer } from './client.ts'
import { outputOf, structured } from './output.ts'
import { table, time, timeAhead } from './table.ts'
import { lineOf } from './terminal.ts'
import { blockedText, countOf } from './word.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

type HeldDocument = Document & Shaped<HeldAnswer>
type HeldPlanDocument = DocumentOfOne & Shaped<HeldPlan>

interface HeldFlags extends ClientFlags {
  readonly cluster?: string
  readonly limit?: string
  readonly output: string
}

export function addHeld(program: Command): void {
  withHeld(program.command('held'))
    .description('what would be deleted and is held: by what, since when, and what releases it')
    .action(async (flags: HeldFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const told = await asked<HeldDocument>('/v1/held', flags)
      process.stdout.write(heldText(told, output))
    })
}

export function addPlanHeld(plan: Command): void {
  withHeld(plan.command('held'))
    .description(
      'what waits for approval: all that "kinfold approve" with its digest would release',
    )
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .action(async (flags: HeldFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const told = await asked<HeldPlanDocument>('/v1/plan/held', flags)
      process.stdout.write(planText(told, output))
    })
}

function withHeld(command: Command): Command {
  return withServer(command)
    .option('--cluster <c>', 'name or id of the cluster')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
}

async function asked<T extends Document>(path: string, flags: HeldFlags): Promise<T> {
  const params = new URLSearchParams()
  if (flags.cluster !== undefined) params.set('cluster', flags.cluster)
  if (flags.limit !== undefined) params.set('limit', flags.limit)
  const response = await ask(serverOf(flags), `${path}?${params}`)
  const told = (await response.json()) as T
  warnPartial(told.partial)
  return told
}

export function heldText(answer: HeldDocument, output: Output): string {
  if (output !== 'table') return structured(answer, output)
  const breakers = answer.breakers.map(({ cluster, namespace, since, because }) => {
    const whose = namespace === '' ? '' : `namespace ${lineOf(namespace)} in `
    return `The breaker of ${whose}${clusterText(cluster)} has been open since ${time(since)}: ${lineOf(because)}. To close it: kinfold close-breaker${flagOf(cluster)} --why …\n`
  })
  const orders = [...answer.pauses.map(pauseText), ...answer.protections.map(protectionText)]
  const refused = answer.refused.map(refusedText)
  const above = [...orders, ...breakers, ...refused].join('')
  if (answer.total === 0) return above + nothingText(answer)
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

function nothingText({ mode, refused }: HeldDocument): string {
  if (mode === 'observe') {
    return 'In mode observe Kinfold deletes nothing, so no object is listed as held.\n'
  }
  return `Nothing${refused.length > 0 ? ' else' : ''} is held.\n`
}

function refusedText({ cluster, ...count }: Shaped<RefusedCount>): string {
  return `Refused in ${clusterText(cluster)}: ${lineOf(blockedText(count))}\n`
}

function pauseText({ cluster, ...by }: StandingOrder): string {
  const what = cluster === null ? 'All clusters are' : `${clusterText(cluster, 'Cluster')} is`
  return `${what} paused by ${byWhom(by)}. To resume: kinfold resume${flagOf(cluster)} --why …\n`
}

function protectionText({ cluster, subject, ...by }: StandingProtection): string {
  const what = lineOf(subject)
  const where = cluster === null ? 'all clusters' : clusterText(cluster)
  return `${what} is protected in ${where} by ${byWhom(by)}. To end it: kinfold unprotect ${what}${flagOf(cluster)}\n`
}

function clusterText(cluster: ClusterRef, word: string = 'cluster'): string {
  return `${word} ${lineOf(labelOf(cluster))}`
}

function byWhom({ who, why }: Pick<StandingOrder, 'who' | 'why'>): string {
  return why === '' ? lineOf(who) : `${lineOf(who)} (${lineOf(why)})`
}

/** As a command takes it. */
function flagOf(cluster: ClusterRef | null): string {
  return cluster === null ? '' : ` --cluster ${lineOf(cluster.scope)}`
}

export function planText(told: HeldPlanDocument, output: Output): string {
  if (output !== 'table') return structured(told, output)
  const { total, objects, digest } = told
  const where = clusterText(told.cluster)
  if (total === 0) return `Nothing waits for approval in ${where}.\n`
  const rows = objects.map(({ namespace, kind, name, what, since, because }) => {
    return [namespace, `${kind}/${name}`, what, time(since), because]
  })
  const left = total - objects.length
  const listed =
    rows.length === 0 ? '' : table(['NAMESPACE', 'OBJECT', 'ACTION', 'SINCE', 'REASON'], rows)
  return [
    `Waiting for approval in ${where}: ${countOf(total, 'object')}\n\n`,
    listed,
    left > 0 ? `${left} more not listed (raise --limit).\n` : '',
    '\n',
    digest === null
      ? 'No digest: this plan is incomplete.\n'
      : `Digest: ${digest}\nTo release them: kinfold approve ${digest}${flagOf(told.cluster)} --why …\n`,
    approvalsText(told),
  ].join('')
}

function approvalsText({ approvals, first }: HeldPlanDocument): string {
  if (approvals < 2) return ''
  if (first === null) return 'Two people have to approve it.\n'
  const { who, why, until } = first
  return `Approved by ${lineOf(who)} (${lineOf(why)}), valid until ${time(until)}; a second person has to approve it, too.\n`
}
