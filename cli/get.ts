/**
 * `kinfold get`: the objects of a kind, those that exist and, with `--gone`, those that were deleted.
 *
 * What must stay true: all pages are read before anything is printed; what may be missing is a warning.
 *
 * Not here: what is on a page (services/graph/query/object-list.ts).
 */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { AsOf, Document } from '../services/graph/api/document.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { ListAnswer } from '../services/graph/query/list-question.ts'
import type { ListedObject } from '../services/graph/query/object-list.ts'
import type { ObjectFlags, Server } from './client.ts'
import { ask, serverOf, warnPartial, withObject } from './client.ts'
import { outputOf, structured } from './output.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'
import { shortPhaseText, verdictText } from './word.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]
const ORDERS = ['name', 'age'] as const
type Order = (typeof ORDERS)[number]

interface GetFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly gone?: boolean
  readonly output: string
  readonly sortBy: string
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
  withObject(program.command('get'))
    .description('the objects of a kind: those that exist, and those that were deleted')
    .argument('<kind>', 'such as pods, deploy or deployments.apps')
    .argument('[name]', 'of one object')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--gone', 'also objects that were deleted, as long as they are remembered')
    .option('--sort-by <order>', ORDERS.join(', '), 'name')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (kind: string, name: string | undefined, flags: GetFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const order = orderOf(flags.sortBy)
      const params = paramsOf(kind, name, flags)
      const { document, kinds } = await listed(serverOf(flags), params)
      warnPartial(document.partial)
      if (document.objects.length === 0) refuseNothing(kind, name, kinds, document.partial)
      const objects = [...document.objects].sort(order === 'age' ? byAge : byName)
      const hasNamespace = flags.allNamespaces === true
      process.stdout.write(render({ ...document, objects }, output, hasNamespace, Date.now()))
    })
}

function orderOf(word: string): Order {
  const order = ORDERS.find((each) => each === word)
  if (order !== undefined) return order
  throw new ExitError(EXIT.input, `--sort-by ${word} is none of ${ORDERS.join(', ')}`)
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
  if (!flags.allNamespaces) params.set('namespace', flags.namespace)
  if (flags.cluster !== undefined) params.set('cluster', flags.cluster)
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
      return objects.map((object) => `${lineOf(nameOf(object))}\n`).join('')
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
        nameOf(object),
        stateOf(object),
        ageText(object, now),
        ...(isWide ? [uid, `${owners.length}`, said] : []),
      ]
    }),
  )
}

function nameOf({ group, kind, name }: ListedObject): string {
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}`
}

function stateOf({ phase, goneAt }: ListedObject): string {
  if (phase === 'observed') return 'exists'
  return goneAt === null ? shortPhaseText(phase) : `deleted ${goneAt.slice(0, 19)}Z`
}

/** As kubectl has it, in one unit. */
function ageText({ createdAt }: ListedObject, now: number): string {
  if (createdAt === null) return '-'
  const seconds = Math.max(0, Math.floor((now - Date.parse(createdAt)) / 1_000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

function byName(a: ListedObject, b: ListedObject): number {
  const keyOf = ({
    cluster,
    namespace,
    name,
    group,
    kind,
    uid,
  }: ListedObject): readonly string[] => {
    return [cluster.name, cluster.id, namespace, name, kind, group, uid]
  }
  const [left, right] = [keyOf(a), keyOf(b)]
  const at = left.findIndex((part, index) => part !== right[index])
  return at < 0 ? 0 : (left[at] ?? '') < (right[at] ?? '') ? -1 : 1
}

/** The youngest first; what was deleted has no age, and comes last, the latest first. */
function byAge(a: ListedObject, b: ListedObject): number {
  const timeOf = ({ createdAt }: ListedObject): string => createdAt ?? ''
  const [left, right] = [timeOf(a), timeOf(b)]
  if (left !== right) return left > right ? -1 : 1
  const [first, second] = [a.goneAt ?? '', b.goneAt ?? '']
  return first === second ? byName(a, b) : first > second ? -1 : 1
}
