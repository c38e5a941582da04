/** `kinfold plan delete`: what would go with an object, before it does. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { Plan } from '../services/graph/query/plan.ts'
import type { ObjectFlags } from './client.ts'
import { ask, selectorParams, serverOf, withObject } from './client.ts'
import { addPlanHeld } from './held.ts'
import { outputOf } from './output.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'

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
    .description('all that would go with an object, what would stay, and what would be in the way')
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
      const { answer, partial } = (await response.json()) as { answer: Plan; partial: string }
      if (partial !== '') process.stderr.write(`warning: this may be incomplete: ${partial}\n`)
      process.stdout.write(render(answer, output))
    })
}

export function render(plan: Plan, output: Output): string {
  const whole = { apiVersion: 'kinfold/v1', kind: 'Plan', ...plan }
  switch (output) {
    case 'json':
      return `${JSON.stringify(whole, null, 2)}\n`
    case 'yaml':
      return stringify(whole)
    case 'table':
      return text(plan)
  }
}

function text(plan: Plan): string {
  const { root, counts, objects, total, holds, digest } = plan
  const cascade = plan.cascade.toLowerCase()
  const counted = counts.map(({ cluster, group, kind, effect, count }) => {
    const type = group === '' ? kind : `${kind}.${group}`
    return [cluster, type, effect, String(count)]
  })
  const listed = objects.map(({ cluster, namespace, kind, name, effect, because, owners }) => {
    const left = owners.length > 0 && effect !== 'blocked' ? `; left: ${owners.join(', ')}` : ''
    return [cluster, namespace, `${kind}/${name}`, effect, because + left]
  })
  const more =
    total > objects.length ? [`${total - objects.length} more are not listed (--limit)`] : []
  return [
    `Deleting ${lineOf(`${root.kind}/${root.name}`)} with --cascade=${cascade}:\n\n`,
    table(['CLUSTER', 'KIND', 'EFFECT', 'COUNT'], counted),
    '\n',
    table(['CLUSTER', 'NAMESPACE', 'OBJECT', 'EFFECT', 'WHY'], listed),
    ...more.map((line) => `${line}\n`),
    '\n',
    ...holds.map((hold) => `But ${lineOf(hold)}.\n`),
    digest === null ? 'No digest: this plan is not whole.\n' : `Digest: sha256:${digest}\n`,
  ].join('')
}
