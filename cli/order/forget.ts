/**
 * `kinfold plan forget-cluster`: what forgetting a cluster of owners means; `kinfold
 * forget-cluster`: shows that, asks, and orders it for each cluster with objects that name owners
 * there; `kinfold remember-cluster`: takes it back.
 *
 * What must stay true: what is ordered is what was shown: each order names the digest of its
 * cluster. Without a person who agrees it takes the digest of all that was shown before.
 *
 * Not here: whether it may be forgotten (the answer says it), what follows (core/admit).
 */
import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { labelOf } from '../../services/graph/api/word.ts'
import type { ForgetPlan } from '../answer.ts'
import { give } from '../ask/directive.ts'
import { answerOn, isYes } from '../print/confirm.ts'
import { outputOf, structured } from '../print/output.ts'
import { table, time } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf, objectName } from '../print/word.ts'
import type { ClientFlags, ScopeFlags } from '../reach/client.ts'
import { answerTo, serverOf, warnPartial, withServer } from '../reach/client.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
const OF_OBJECTS = 'name or id of the one cluster of objects that it is about (default: all)'

interface AskFlags extends ClientFlags, ScopeFlags {
  readonly limit: string
}

interface PlanFlags extends AskFlags {
  readonly output: string
}

interface ForgetFlags extends AskFlags {
  readonly why: string
  readonly digest?: string
  readonly recordAnyway?: boolean
}

type Part = ForgetPlan['clusters'][number]

export function addForget(program: Command): void {
  withServer(program.command('forget-cluster'))
    .description(
      'have a cluster of owners that is gone for good forgotten: what names owners there stays',
    )
    .argument('<cluster>', 'name or id of the one that is gone')
    .requiredOption('--why <text>', 'reason, which is recorded')
    .option('--cluster <c>', OF_OBJECTS)
    .option('--limit <n>', 'objects of each cluster that are shown; all are counted', '100')
    .option('--digest <digest>', 'of what "plan forget-cluster" showed: does not ask')
    .option('--record-anyway', 'also where the mode cannot keep it, for a mode that comes later')
    .action(forget)
  withServer(program.command('remember-cluster'))
    .description('take that back: what is due by an owner there waits anew, for an hour at least')
    .argument('<cluster>', 'name or id of the one that was forgotten')
    .requiredOption('--why <text>', 'reason, which is recorded')
    .option('--cluster <c>', OF_OBJECTS)
    .action(remember)
}

export async function showForgetPlan(owner: string, flags: PlanFlags): Promise<void> {
  const output = outputOf(flags.output, OUTPUTS)
  const plan = await planOf(owner, flags)
  process.stdout.write(output === 'table' ? planText(plan) : structured(plan, output))
}

async function planOf(
  owner: string,
  { cluster, limit, ...flags }: ClientFlags & ScopeFlags & { readonly limit?: string },
): Promise<ForgetPlan> {
  const asked = { ownerCluster: owner, cluster, limit }
  const plan = await answerTo(serverOf(flags), '/v1/plan/forget-cluster', asked)
  warnPartial(plan.partial)
  return plan
}

async function forget(owner: string, flags: ForgetFlags): Promise<void> {
  const plan = await planOf(owner, flags)
  process.stdout.write(planText(plan))
  const ordered = plan.clusters.filter(({ digest }) => digest !== null)
  // Some that are not known now would be missing in what a person agrees to.
  const refused =
    plan.partial || (ordered.length === 0 ? (plan.clusters[0]?.refused ?? NONE_NAMED) : '')
  if (refused !== '') throw new ExitError(EXIT.refused, `refused: ${lineOf(refused)}`)
  await agree(plan, flags)
  const { id } = plan.ownerCluster
  for (const { cluster, digest } of ordered) {
    const given = { verb: 'forget-cluster', subject: id, digest: bare(digest ?? '') }
    await give({ ...flags, cluster: cluster.scope }, given)
  }
}

async function remember(
  owner: string,
  flags: ClientFlags & ScopeFlags & { readonly why: string },
): Promise<void> {
  const plan = await planOf(owner, { ...flags, limit: '0' })
  const forgotten = plan.clusters.filter(({ forgottenBy }) => forgottenBy !== null)
  if (forgotten.length === 0) {
    const what = `cluster ${labelOf(plan.ownerCluster)} is not forgotten, as far as is known`
    throw new ExitError(EXIT.refused, `${what}: nothing was ordered`)
  }
  for (const { cluster } of forgotten) {
    const given = { verb: 'remember-cluster', subject: plan.ownerCluster.id }
    await give({ ...flags, cluster: cluster.scope }, given)
  }
}

const NONE_NAMED = 'no object is known that names an owner there'

/** Throws unless a person agrees, or has seen just this before. */
async function agree(plan: ForgetPlan, { digest }: ForgetFlags): Promise<void> {
  if (digest !== undefined) {
    if (bare(digest) === digestOf(plan)) return
    throw new ExitError(
      EXIT.refused,
      'that digest is of something else, or of an older plan: nothing was ordered; look at what is shown now',
    )
  }
  if (process.stdin.isTTY !== true) {
    throw new ExitError(
      EXIT.input,
      'nobody can be asked, since standard input is no terminal, and nothing was ordered; add --digest with the one that is shown',
    )
  }
  if (isYes(await answerOn(`Forget cluster ${lineOf(labelOf(plan.ownerCluster))}? (y/N) `))) return
  throw new ExitError(EXIT.refused, 'nothing was ordered')
}

/** Of all clusters of the plan together. */
export function digestOf({ ownerCluster, clusters }: ForgetPlan): string {
  const each = clusters.map(({ cluster, digest }) => [cluster.id, digest])
  return createHash('sha256')
    .update(JSON.stringify([ownerCluster.id, each]))
    .digest('hex')
}

function bare(digest: string): string {
  return digest.replace(/^sha256:/, '')
}

export function planText(plan: ForgetPlan): string {
  const { ownerCluster, clusters } = plan
  const head = `Plan: forget cluster ${lineOf(labelOf(ownerCluster))} (${lineOf(ownerCluster.id)})\n`
  if (clusters.length === 0) return `${head}No object is known that names an owner there.\n`
  const isOrdered = clusters.some(({ digest }) => digest !== null)
  return [
    head,
    'What names owners there stays, and is due by none of them any more, whatever is heard of it later.\n',
    ...clusters.map(partText),
    isOrdered ? `\nDigest: sha256:${digestOf(plan)}\n` : '',
  ].join('')
}

const HEAD = ['NAMESPACE', 'OBJECT', 'OWNER', 'RULE', 'NOW', 'REASON']

function partText(part: Part): string {
  const { cluster, named, rules, objects, followed, forgottenBy, refused } = part
  const counts = rules.map(({ rule, objects: all, due }) => {
    return `  rule ${rule}: ${countOf(all, 'object')}, ${due} of them due`
  })
  const asked = rules.reduce((sum, { objects: all }) => sum + all, 0)
  const more = asked - objects.length
  const lines = [
    `Cluster ${labelOf(cluster)}: ${countOf(named, 'object')} with an owner there`,
    ...(followed === '' ? [] : [`  their owners are in a cluster ${followed}`]),
    ...(forgottenBy === null ? [] : [forgottenText(forgottenBy)]),
    ...(rules.length === 0 ? ['  no rule asks for an owner there'] : counts),
    ...(refused === '' ? [] : [`  refused: ${refused}`]),
  ]
  const rows = objects.map((object) => {
    const { namespace, owner, rule, isDue, because } = object
    const named = `${objectName(owner)} -n ${owner.namespace}`
    return [namespace, objectName(object), named, rule, isDue ? 'due' : 'not due', because]
  })
  return [
    `\n${lines.map((line) => `${lineOf(line)}\n`).join('')}`,
    rows.length === 0 ? '' : table(HEAD, rows),
    more > 0 ? `${more} more not listed (raise --limit).\n` : '',
  ].join('')
}

function forgottenText({ who, why, since }: NonNullable<Part['forgottenBy']>): string {
  return `  forgotten by ${who}${since === null ? '' : ` at ${time(since)}`}: ${why}`
}
