/**
 * `kinfold finalizers`: what finalizers hold for long; `kinfold finalizers remove`: shows what
 * removing one means, asks, and orders it.
 *
 * What must stay true: what is ordered is what was shown: the order names the digest, which covers
 * uid and version. Without a person who agrees it takes the digest that was shown before.
 *
 * Not here: whether it may be removed (the answer says it), the call itself (the reaper's).
 */
import type { Command } from 'commander'
import { durationOf, durationText, shellWord } from '../../core/model/text.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { labelOf } from '../../services/graph/api/word.ts'
import { deleterText } from '../../web/deletion-text.ts'
import type { FinalizerList, FinalizerPlan, Queries } from '../answer.ts'
import { bad } from '../config/setting.ts'
import { answerOn, isYes } from '../print/confirm.ts'
import { outputOf, structured } from '../print/output.ts'
import { table, time } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { objectName } from '../print/word.ts'
import type { ClientFlags, ObjectFlags, ScopeFlags } from '../reach/client.ts'
import {
  answerTo,
  serverOf,
  warnPartial,
  withMoment,
  withObject,
  withScope,
  withServer,
} from '../reach/client.ts'
import { clusterScopeOf, questionOf } from '../reach/scope.ts'
import { give } from './directive.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

interface ListFlags extends ClientFlags, ScopeFlags {
  readonly namespace?: string
  readonly finalizer?: string
  readonly olderThan: string
  readonly at?: string
  readonly output: string
}

interface RemoveFlags extends ObjectFlags {
  readonly finalizer: string
  readonly why: string
  readonly digest?: string
  readonly dryRun?: boolean
}

export function addFinalizers(program: Command): void {
  const group = program
    .command('finalizers')
    .description('what finalizers hold for long after its deletion was asked for')
  withMoment(withScope(withServer(group.command('list', { isDefault: true }))))
    .description('what finalizers hold, who removes them, and what waits for it (default)')
    .option('-n, --namespace <ns>', 'only what is in this namespace (default: in all)')
    .option('--finalizer <name>', 'only what this one holds')
    .option('--older-than <time>', 'held for so long, by the time of the log', '10m')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(list)
  withObject(group.command('remove'))
    .description('show what removing one finalizer means, ask, and order it on record')
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .requiredOption('--finalizer <name>', 'the one to be removed')
    .requiredOption('--why <text>', 'reason, which is recorded')
    .option('--digest <digest>', 'of what was shown before: do not ask')
    .option('--dry-run', 'only show what it means')
    .action(remove)
}

async function list(flags: ListFlags): Promise<void> {
  const output = outputOf(flags.output, OUTPUTS)
  const olderMs = durationOf(flags.olderThan)
  if (olderMs === null) throw bad(`--older-than ${flags.olderThan}: expected such as 10m or 2h`)
  const past = flags.at === undefined ? undefined : await import('../reach/moment.ts')
  const { cluster, hint } = await clusterScopeOf(flags)
  const asked: Queries['/v1/finalizers'] = {
    ...{ cluster, namespace: flags.namespace, finalizer: flags.finalizer },
    ...{ olderThan: `${Math.floor(olderMs / 1_000)}`, at: past?.momentOf(flags.at ?? '') },
  }
  const server = { ...serverOf(flags), hint }
  const first = await answerTo(server, '/v1/finalizers', asked)
  const objects = [...first.objects]
  const doubts = new Set([first.partial])
  for (let next = first.continue; next !== null; ) {
    const page = await answerTo(server, '/v1/finalizers', { ...asked, continue: next })
    objects.push(...page.objects)
    doubts.add(page.partial)
    next = page.continue
  }
  const partial = [...doubts].filter((each) => each !== '').join('; ')
  warnPartial(partial)
  process.stdout.write(listText({ ...first, partial, objects, continue: null }, output, olderMs))
}

const HEAD = [
  ...['CLUSTER', 'NAMESPACE', 'OBJECT', 'SINCE', 'FINALIZERS'],
  ...['DELETED-BY', 'BLOCKS', 'WAITS'],
]

export function listText(answer: FinalizerList, output: Output, olderMs: number): string {
  if (output !== 'table') return structured(answer, output)
  const { objects } = answer
  if (objects.length === 0) {
    return answer.partial === ''
      ? `No finalizer has held anything for ${durationText(olderMs)} or more.\n`
      : `Nothing is known to be held for ${durationText(olderMs)} or more.\n`
  }
  const rows = objects.map((each) => {
    const { cluster, namespace, since, finalizers, deletion, blocks } = each
    const by = deletion?.deletedBy == null ? '-' : deleterText(deletion.deletedBy)
    const blocked = blocks.map((one) => `${one.kind}/${one.name}`).join(', ')
    return [
      ...[labelOf(cluster), namespace, objectName(each), time(since)],
      ...[finalizers.map(({ name }) => name).join(', '), by, blocked || '-', waitsText(each)],
    ]
  })
  return table(HEAD, rows)
}

/** As core/model/object.ts names them, which is more than the client's package has. */
const OF_COLLECTOR: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion'])

/** For whom, or below an owner for which object: its own finalizers are in a column. */
function waitsText({ finalizers, because }: FinalizerList['objects'][number]): string {
  const others = finalizers.filter(({ name }) => !OF_COLLECTOR.has(name))
  if (others.length === 0) return because
  const known = others.flatMap(({ by, once }) => {
    return by === '' ? [] : [once === null ? by : `${by}, once ${once}`]
  })
  return known.length === 0
    ? 'waits for a controller that is not known'
    : `waits for ${known.join('; ')}`
}

async function remove(words: string[], flags: RemoveFlags): Promise<void> {
  const { server, query } = await questionOf(words, flags)
  const { finalizer } = flags
  const plan = await answerTo(server, '/v1/plan/finalizer', { ...query, finalizer })
  warnPartial(plan.partial)
  process.stdout.write(planText(plan))
  if (plan.digest === null) throw new ExitError(EXIT.refused, `refused: ${lineOf(plan.refused)}`)
  if (flags.dryRun === true) return
  await agree(plan, flags)
  const { cluster, subject, digest } = plan
  await give(
    { ...flags, cluster: cluster.scope },
    { verb: 'remove-finalizer', subject, digest: bare(digest) },
  )
  const object = `${shellWord(`uid:${plan.object.uid}`)} --cluster ${shellWord(cluster.scope)}`
  process.stdout.write(lineOf(`What became of it: kinfold history ${object}`) + '\n')
}

/** Throws unless a person agrees, or has seen just this before. */
async function agree({ digest, object }: FinalizerPlan, flags: RemoveFlags): Promise<void> {
  if (flags.digest !== undefined) {
    if (bare(flags.digest) === bare(digest ?? '')) return
    throw new ExitError(
      EXIT.refused,
      'that digest is of something else, or of an older version: nothing was ordered; look at what is shown now',
    )
  }
  if (process.stdin.isTTY !== true) {
    throw new ExitError(
      EXIT.input,
      'nobody can be asked, since standard input is no terminal, and nothing was ordered; add --digest with the one that is shown',
    )
  }
  const what = `${lineOf(flags.finalizer)} of ${lineOf(objectName(object))}`
  if (isYes(await answerOn(`Remove the finalizer ${what}? (y/N) `))) return
  throw new ExitError(EXIT.refused, 'nothing was ordered')
}

function bare(digest: string): string {
  return digest.replace(/^sha256:/, '')
}

export function planText(plan: FinalizerPlan): string {
  const { cluster, object, since, finalizers, finalizer, refused, paused, mode } = plan
  const place = object.namespace === '' ? '' : ` in namespace ${object.namespace}`
  const rows = [
    ['Object', `${objectName(object)}${place}, cluster ${labelOf(cluster)}`],
    ['Uid', object.uid],
    ['Version', plan.resourceVersion],
    ['Held since', since === null ? 'it is not being deleted' : time(since)],
    ['Finalizers', finalizers.join(', ') || '-'],
    ['To remove', finalizer],
    ...(refused === '' ? [] : [['Refused', refused]]),
    ...(paused === '' ? [] : [['Paused', paused]]),
    ...(plan.digest === null
      ? []
      : [
          ['Means', plan.means],
          [mode === 'enforce' ? 'Call' : `Call (mode ${mode}: not carried out)`, plan.call],
          ['Digest', plan.digest],
        ]),
  ]
  const width = Math.max(...rows.map(([name = '']) => name.length))
  return rows.map(([name = '', text = '']) => `${name.padEnd(width)}  ${lineOf(text)}\n`).join('')
}
