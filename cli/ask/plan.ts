/** `kinfold plan delete`: what would be deleted with an object, before it is. */

import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { alongOf, labelOf, mayManage } from '../../services/graph/api/word.ts'
import type { Plan as PlanDocument } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { styleOfEffect } from '../print/paint.ts'
import { type StyleOf, table } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf, objectName, unlistedText } from '../print/word.ts'
import type { ObjectFlags, Server } from '../reach/client.ts'
import { answerTo, warnPartial, withMoment, withObject, withServer } from '../reach/client.ts'
import { questionOf } from '../reach/scope.ts'
import { addPlanHeld } from './held.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

export const CASCADES = ['background', 'foreground', 'orphan'] as const
export type Cascade = (typeof CASCADES)[number]

interface PlanFlags extends ObjectFlags {
  readonly cascade: string
  readonly limit: string
  readonly output: string
  readonly at?: string
}

export function addPlan(program: Command): void {
  const plan = program.command('plan').description('what would happen, before it does')
  addPlanHeld(plan)
  addPlanForget(plan)
  withMoment(withObject(plan.command('delete')))
    .description(
      'what would be deleted with an object, what would be kept, and what would block it',
    )
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .option('--cascade <policy>', CASCADES.join(', '), 'background')
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (words: string[], flags: PlanFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const cascade = cascadeOf(flags.cascade)
      const { server, query } = await questionOf(words, flags)
      const at = flags.at === undefined ? undefined : await momentIn(flags.at)
      const asked = { ...query, cascade, limit: flags.limit, at }
      const answer = await answerTo(server, '/v1/plan', asked)
      warnPartial(answer.partial)
      if (output === 'name') warnPartial(unlistedText(knownOf(answer), answer.objects.length))
      const isText = output === 'table' || output === 'wide'
      const beside = isText ? await acrossOf(server, answer, at) : ''
      process.stdout.write(render(answer, output) + beside)
    })
}

function addPlanForget(plan: Command): void {
  withServer(plan.command('forget-cluster'))
    .description(
      'what names owners in a cluster that is gone for good, and what forgetting it means',
    )
    .argument('<cluster>', 'name or id of the one that is gone')
    .option('--cluster <c>', 'only for objects of this cluster: name or id')
    .option('--limit <n>', 'objects of each cluster that are listed; all are counted', '100')
    .option('-o, --output <format>', 'table, json, yaml', 'table')
    .action(async (owner: string, flags: ObjectFlags & { limit: string; output: string }) => {
      const { showForgetPlan } = await import('../order/forget.ts')
      await showForgetPlan(owner, flags)
    })
}

/** What a tool, or a rule by `kinfold.io/owner`, may have deleted with it. */
async function acrossOf(server: Server, plan: PlanDocument, at?: string): Promise<string> {
  const { group, kind, namespace, name, uid } = plan.root
  const along = alongOf(plan)
  // No mark names an object of these kinds, and no owner in another cluster is without a namespace.
  if (!mayManage(group) && namespace === '' && along === undefined) return ''
  const { besidePlan } = await import('../print/across-text.ts')
  const word = group === '' ? kind : `${kind}.${group}`
  const asked = { kind: word, namespace, name, uid, cluster: plan.cluster.id, at, along }
  const answer = await answerTo(server, '/v1/across', { ...asked, limit: '0' })
  warnPartial(answer.partial)
  return besidePlan(answer)
}

/** Few questions have a moment: what reads it is loaded for these alone. */
async function momentIn(text: string): Promise<string | undefined> {
  return (await import('../reach/moment.ts')).momentOf(text)
}

export function cascadeOf(word: string): Cascade {
  const cascade = CASCADES.find((each) => each === word)
  if (cascade !== undefined) return cascade
  throw new ExitError(EXIT.input, `--cascade ${word} is none of ${CASCADES.join(', ')}`)
}

/** Those that may be shown. */
function knownOf({ counts }: PlanDocument): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

export function render(plan: PlanDocument, output: Output): string {
  switch (output) {
    case 'json':
    case 'yaml':
      return structured(plan, output)
    case 'name':
      return plan.objects
        .filter(({ effect }) => effect === 'deleted' || effect === 'stuck')
        .map((object) => `${lineOf(objectName(object))}\n`)
        .join('')
    case 'table':
    case 'wide':
      return text(plan, output === 'wide')
  }
}

function text(plan: PlanDocument, isWide: boolean): string {
  const { cluster, root, counts, objects, holds, notes } = plan
  const counted = counts.map(({ group, kind, effect, count }) => {
    const type = group === '' ? kind : `${kind}.${group}`
    return [type, effect, String(count)]
  })
  const listed = objects.map(({ namespace, kind, name, uid, effect, because, ...rest }) => {
    const { owners, finalizers } = rest
    const beside = isWide ? [uid, finalizers.join(', ')] : []
    const loses = effect === 'kept' || effect === 'orphaned'
    const left = owners.length > 0 && loses ? `; left: ${owners.join(', ')}` : ''
    return [namespace, `${kind}/${name}`, effect, ...beside, because + left]
  })
  const beside = isWide ? ['UID', 'FINALIZERS'] : []
  const head = ['NAMESPACE', 'OBJECT', 'EFFECT', ...beside, 'REASON']
  const styleOfRow: StyleOf = (row, column) =>
    column === 2 ? styleOfEffect(objects[row]?.effect ?? '') : undefined
  const known = knownOf(plan)
  const more = known - objects.length
  const at = root.namespace === '' ? '' : ` -n ${root.namespace}`
  const all = countOf(known + plan.hidden, 'object')
  const total = plan.total === null ? `At least ${all}` : all
  return [
    `Plan: delete ${lineOf(`${root.kind}/${root.name}${at}`)} in cluster ${lineOf(labelOf(cluster))} with --cascade=${plan.cascade}\n`,
    `${total}:\n\n`,
    table(['KIND', 'EFFECT', 'COUNT'], counted),
    listed.length === 0 ? '' : `\n${table(head, listed, styleOfRow)}`,
    more > 0 ? `${more} more not listed (raise --limit).\n` : '',
    holds.length === 0 && notes === '' ? '' : '\n',
    notes === '' ? '' : `Note: ${lineOf(notes)}.\n`,
    ...holds.map((hold) => `Note: ${lineOf(hold)}.\n`),
  ].join('')
}
