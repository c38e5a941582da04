/**
 * `kinfold get`: the objects of a kind, those that exist and, with `--gone`, those that were deleted.
 *
 * What must stay true: all pages are read before anything is printed; what may be missing is a warning.
 *
 * Not here: what is on a page (services/graph/query/object-list.ts).
 */
import { type Command, Option } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { AsOf, Document } from '../services/graph/api/document.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { ListAnswer } from '../services/graph/query/list-question.ts'
import type { ListedObject } from '../services/graph/query/object-list.ts'
import type { ObjectFlags, Server } from './client.ts'
import { ask, serverOf, warnPartial, withMoment, withObject } from './client.ts'
import { ORDERS, orderOf } from './get-order.ts'
import { outputOf, structured } from './output.ts'
import { styleOfPhase } from './paint.ts'
import { clusterScopeOf, namespaceOf } from './scope.ts'
import { spanText, table } from './table.ts'
import { lineOf } from './terminal.ts'
import { objectName, shortPhaseText, verdictText } from './word.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]
interface GetFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly gone?: boolean
  readonly at?: string
  readonly output: string
  readonly sortBy: string
  readonly selector?: string
}

/** What is printed: all pages as one. */
interface ListDocument extends Document {
  /** Of each partition, as of its first page. */
  readonly asOf: readonly AsOf[]
  readonly objects: readonly ListedObject[]
}

interface Listed {
  readonly document: ListDocument
  readonly kinds: ReadonlySet<string>
}

export function addGet(program: Command): void {
  withMoment(withObject(program.command('get')))
    .description('the objects of a kind: those that exist, and those that were deleted')
    .argument('<kind>', 'such as pods, deploy or deployments.apps')
    .argument('[name]', 'of one object')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--gone', 'also objects that were deleted, as long as they are remembered')
    .option('--sort-by <order>', ORDERS.join(', '), 'name')
    .addOption(new Option('-l, --selector <labels>', 'refused: see below').hideHelp())
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (kind: string, name: string | undefined, flags: GetFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const compare = orderOf(flags.sortBy)
      if (flags.selector !== undefined) refuseLabels(kind, flags.selector)
      const { cluster, hint } = await clusterScopeOf(flags)
      const params = paramsOf(kind, name, flags)
      if (cluster !== undefined) params.set('cluster', cluster)
      if (flags.at !== undefined) {
        const { momentOf } = await import('./moment.ts')
        params.set('at', momentOf(flags.at))
      }
      const { document, kinds } = await listed({ ...serverOf(flags), hint }, params)
      warnPartial(document.partial)
      if (document.objects.length === 0) refuseNothing(kind, name, kinds, document.partial)
      const objects = [...document.objects].sort(compare)
      const hasNamespace = flags.allNamespaces === true
      const time = flags.at === undefined ? null : (document.asOf[0]?.time ?? null)
      const now = time === null ? Date.now() : Date.parse(time)
      process.stdout.write(render({ ...document, objects }, output, hasNamespace, now))
    })
}

/** Nobody should believe that a list is of these labels when it is of all. */
function refuseLabels(kind: string, labels: string): never {
  throw new ExitError(
    EXIT.input,
    `-l ${labels}: Kinfold keeps no labels but those that protect an object; "kubectl get ${kind} -l ${labels} -o name" selects by labels, among what exists`,
  )
}

function paramsOf(kind: string, name: string | undefined, flags: GetFlags): URLSearchParams {
  if (kind === '' || kind.includes('/')) {
    throw new ExitError(EXIT.input, `${kind}: expected KIND, or KIND NAME`)
  }
  const params = new URLSearchParams({ kind })
  if (name !== undefined) {
    if (flags.allNamespaces) throw new ExitError(EXIT.input, 'a name takes a namespace, and not -A')
    params.set('name', name)
  }
  if (!flags.allNamespaces) params.set('namespace', flags.namespace ?? namespaceOf(flags))
  if (flags.gone) params.set('gone', 'true')
  return params
}

async function listed(server: Server, params: URLSearchParams): Promise<Listed> {
  const objects: ListedObject[] = []
  const doubts = new Set<string>()
  const asOf = new Map<number, AsOf>()
  const kinds = new Set<string>()
  for (;;) {
    const response = await ask(server, `/v1/objects?${params}`)
    const page = (await response.json()) as Document & ListAnswer & { readonly asOf: AsOf[] }
    objects.push(...page.objects)
    for (const kind of page.kinds) kinds.add(kind)
    if (page.partial !== '') doubts.add(page.partial)
    for (const each of page.asOf) if (!asOf.has(each.partition)) asOf.set(each.partition, each)
    if (page.continue !== null) {
      params.set('continue', page.continue)
      continue
    }
    const { apiVersion, kind } = page
    const partial = [...doubts].join('; ')
    return { document: { apiVersion, kind, partial, objects, asOf: [...asOf.values()] }, kinds }
  }
}

/** An empty list is an answer, but not to a name, nor to a kind that nobody serves. */
function refuseNothing(
  kind: string,
  name: string | undefined,
  kinds: ReadonlySet<string>,
  partial: string,
): void {
  if (kinds.size === 0 && partial === '') {
    throw new ExitError(EXIT.input, `no cluster that is asked serves a kind ${kind}`)
  }
  if (name !== undefined) {
    throw new ExitError(
      partial === '' ? EXIT.input : EXIT.failure,
      `no ${kind}/${name} is known there; --gone lists deleted ones, too`,
    )
  }
}

export function render(
  document: ListDocument,
  output: Output,
  hasNamespace: boolean,
  now: number,
): string {
  const { objects } = document
  switch (output) {
    case 'json':
    case 'yaml':
      return structured(document, output)
    case 'name':
      return objects.map((object) => `${lineOf(objectName(object))}\n`).join('')
    case 'table':
    case 'wide':
      return objects.length === 0
        ? 'No objects.\n'
        : rows(objects, output === 'wide', hasNamespace, now)
  }
}

function rows(
  objects: readonly ListedObject[],
  isWide: boolean,
  hasNamespace: boolean,
  now: number,
): string {
  const head = ['CLUSTER', ...(hasNamespace ? ['NAMESPACE'] : []), 'NAME', 'STATE', 'AGE']
  const wide = ['UID', 'OWNERS', 'VERDICT']
  return table(
    isWide ? [...head, ...wide] : head,
    objects.map((object) => {
      const { cluster, namespace, verdict, uid, owners } = object
      const said = verdict === null ? '' : `${verdictText(verdict.type)}: ${verdict.because}`
      return [
        labelOf(cluster),
        ...(hasNamespace ? [namespace] : []),
        objectName(object),
        stateOf(object),
        ageText(object, now),
        ...(isWide ? [uid, `${owners.length}`, said] : []),
      ]
    }),
    (row, column) =>
      head[column] === 'STATE' ? styleOfPhase(objects[row]?.phase ?? '') : undefined,
  )
}

function stateOf({ phase, goneAt }: ListedObject): string {
  if (phase === 'observed') return 'exists'
  return goneAt === null ? shortPhaseText(phase) : `deleted ${goneAt.slice(0, 19)}Z`
}

function ageText({ createdAt }: ListedObject, now: number): string {
  return createdAt === null ? '-' : spanText(now - Date.parse(createdAt))
}
