/** `kinfold held`: what would go and may not, by what holds it; `kinfold plan held`: what an approval would let go, with its digest. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import type {
  HeldAnswer,
  HeldPlan,
  RefusedCount,
  StandingOrder,
  StandingProtection,
} from '../services/graph/query/held.ts'
import type { ClientFlags } from './client.ts'
import { ask, serverOf, withServer } from './client.ts'
import { outputOf } from './output.ts'
import { blockedText } from './readiness.ts'
import { table, time } from './table.ts'
import { lineOf } from './terminal.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

interface HeldFlags extends ClientFlags {
  readonly cluster?: string
  readonly limit?: string
  readonly output: string
}

export function addHeld(program: Command): void {
  withHeld(program.command('held'))
    .description('what would go and may not: by what holds it, since when, and what lets it go')
    .action(async (flags: HeldFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const answer = await asked<HeldAnswer>('/v1/held', flags)
      process.stdout.write(heldText(answer, output))
    })
}

export function addPlanHeld(plan: Command): void {
  withHeld(plan.command('held'))
    .description('what waits for approval, all that "kinfold approve" with its digest would let go')
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .action(async (flags: HeldFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const answer = await asked<HeldPlan>('/v1/plan/held', flags)
      process.stdout.write(planText(answer, output))
    })
}

function withHeld(command: Command): Command {
  return withServer(command)
    .option('--cluster <c>', 'name or id of the cluster')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
}

async function asked<T>(path: string, flags: HeldFlags): Promise<T> {
  const params = new URLSearchParams()
  if (flags.cluster !== undefined) params.set('cluster', flags.cluster)
  if (flags.limit !== undefined) params.set('limit', flags.limit)
  const response = await ask(serverOf(flags), `${path}?${params}`)
  const { answer, partial } = (await response.json()) as { answer: T; partial: string }
  if (partial !== '') process.stderr.write(`warning: this may be incomplete: ${partial}\n`)
  return answer
}

export function heldText(answer: HeldAnswer, output: Output): string {
  if (output !== 'table') return structured('Held', answer, output)
  const breakers = answer.breakers.map(({ cluster, scope, namespace, since, because }) => {
    const whose = namespace === '' ? '' : `namespace ${lineOf(namespace)} in `
    const name = whose + lineOf(cluster)
    const why = lineOf(because)
    return `The breaker of ${name} is open since ${time(since)}: ${why}. "kinfold close-breaker${scopeOf(scope)} --why …" closes it.\n`
  })
  const orders = [...answer.pauses.map(pauseText), ...answer.protections.map(protectionText)]
  const refused = answer.refused.map(refusedText)
  const above = [...orders, ...breakers, ...refused].join('')
  if (answer.total === 0) return `${above}Nothing${refused.length > 0 ? ' else' : ''} is held.\n`
  const rows = answer.counts.map((each) => {
    const { cluster, by, evidence, namespace, group, kind, count, since, until, because } = each
    const type = group === '' ? kind : `${kind}.${group}`
    return [cluster, by, evidence, namespace, type, `${count}`, time(since), time(until), because]
  })
  const head = ['CLUSTER', 'BY', 'EVIDENCE', 'NAMESPACE', 'KIND', 'COUNT', 'SINCE', 'FIRST', 'ONE']
  return above + table(head, rows)
}

function refusedText({ cluster, ...count }: RefusedCount): string {
  return `Asked of ${lineOf(cluster)} and not carried out: ${lineOf(blockedText(count))}\n`
}

function pauseText({ cluster, scope, ...by }: StandingOrder): string {
  const what = cluster === '' ? 'Everything' : lineOf(cluster)
  return `${what} is paused by ${byWhom(by)}. "kinfold resume${scopeOf(scope)} --why …" ends it.\n`
}

function protectionText({ cluster, scope, subject, ...by }: StandingProtection): string {
  const what = lineOf(subject)
  const where = cluster === '' ? 'everywhere' : `in ${lineOf(cluster)}`
  return `${what} is protected ${where} by ${byWhom(by)}. "kinfold unprotect ${what}${scopeOf(scope)}" ends it.\n`
}

function byWhom({ who, why }: Pick<StandingOrder, 'who' | 'why'>): string {
  return why === '' ? lineOf(who) : `${lineOf(who)} (${lineOf(why)})`
}

function scopeOf(scope: string): string {
  return scope === '' ? '' : ` --cluster ${lineOf(scope)}`
}

export function planText(plan: HeldPlan, output: Output): string {
  if (output !== 'table') return structured('HeldPlan', plan, output)
  const { cluster, total, objects, digest } = plan
  if (total === 0) return `Nothing waits for approval in ${lineOf(cluster)}.\n`
  const rows = objects.map(({ namespace, kind, name, what, since, because }) => {
    return [namespace, `${kind}/${name}`, what, time(since), because]
  })
  const left = total - objects.length
  return [
    `Waiting for approval in ${lineOf(cluster)}: ${total}\n\n`,
    table(['NAMESPACE', 'OBJECT', 'WHAT', 'SINCE', 'WHY'], rows),
    left > 0 ? `${left} more are not listed (--limit)\n` : '',
    '\n',
    digest === null ? 'No digest: this plan is not whole.\n' : `Digest: sha256:${digest}\n`,
    approvalsText(plan),
  ].join('')
}

function approvalsText({ approvals, first }: HeldPlan): string {
  if (approvals < 2) return ''
  if (first === null) return 'Two people have to approve it.\n'
  const { who, why, until } = first
  return `Approved by ${lineOf(who)} (${lineOf(why)}), until ${time(until)}; a second person has to, too.\n`
}

function structured(kind: string, answer: object, output: 'json' | 'yaml'): string {
  const whole = { apiVersion: 'kinfold/v1', kind, ...answer }
  return output === 'json' ? `${JSON.stringify(whole, null, 2)}\n` : stringify(whole)
}
