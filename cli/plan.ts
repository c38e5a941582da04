/** `kinfold plan delete`: what would be deleted with an object, before it is. */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { Plan as PlanDocument } from './answer.ts'
import type { ObjectFlags } from './client.ts'
import { ask, selectorParams, serverOf, warnPartial, withObject } from './client.ts'
import { addPlanHeld } from './held.ts'
import { outputOf, structured } from './output.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'
import { countOf } from './word.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

const CASCADES = ['background', 'foreground', 'orphan'] as const

interface PlanFlags extends ObjectFlags {
  readonly cascade: string
  readonly limit: string
  readonly output: string
}

export function addPlan(program: Command): void {
  const plan = program.command('plan').description('what would happen, before it does')
  addPlanHeld(plan)
  withObject(plan.command('delete'))
    .description(
      'what would be deleted with an object, what would be kept, and what would block it',
    )
    .argument('<object...>', 'KIND/NAME, KIND NAME or uid:UID')
    .option('--cascade <policy>', CASCADES.join(', '), 'background')
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (words: string[], flags: PlanFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      if (!CASCADES.some((each) => each === flags.cascade)) {
        throw new ExitError(
          EXIT.input,
          `--cascade ${flags.cascade} is none of ${CASCADES.join(', ')}`,
        )
      }
      const params = selectorParams(words, flags)
      params.set('cascade', flags.cascade)
      params.set('limit', flags.limit)
      const response = await ask(serverOf(flags), `/v1/plan?${params}`)
      const told = (await response.json()) as PlanDocument
      warnPartial(told.partial)
      process.stdout.write(render(told, output))
    })
}

export function render(told: PlanDocument, output: Output): string {
  return output === 'table' ? text(told) : structured(told, output)
}

function text(plan: PlanDocument): string {
  const { cluster, root, counts, objects, holds } = plan
  const counted = counts.map(({ group, kind, effect, count }) => {
    const type = group === '' ? kind : `${kind}.${group}`
    return [type, effect, String(count)]
  })
  const listed = objects.map(({ namespace, kind, name, effect, because, owners }) => {
    const left = owners.length > 0 && effect !== 'blocked' ? `; left: ${owners.join(', ')}` : ''
    return [namespace, `${kind}/${name}`, effect, because + left]
  })
  const known = counts.reduce((sum, { count }) => sum + count, 0)
  const more = known - objects.length
  const at = root.namespace === '' ? '' : ` -n ${root.namespace}`
  const total =
    plan.total === null ? `At least ${countOf(known, 'object')}` : countOf(known, 'object')
  return [
    `Plan: delete ${lineOf(`${root.kind}/${root.name}${at}`)} in cluster ${lineOf(labelOf(cluster))} with --cascade=${plan.cascade}\n`,
    `${total}:\n\n`,
    table(['KIND', 'EFFECT', 'COUNT'], counted),
    listed.length === 0 ? '' : `\n${table(['NAMESPACE', 'OBJECT', 'EFFECT', 'REASON'], listed)}`,
    more > 0 ? `${more} more not listed (raise --limit).\n` : '',
    holds.length === 0 ? '' : '\n',
    ...holds.map((hold) => `Note: ${lineOf(hold)}.\n`),
  ].join('')
}
