/**
 * `kinfold get`: the objects of a kind, those that exist and, with `--gone`, those that were deleted; with `--owned-by` the direct dependents of an object.
 *
 * What must stay true: all pages are read before anything is printed; what may be missing is a warning.
 *
 * Not here: what is on a page (services/graph/query/object-list.ts, dependent-list.ts).
 */
import { type Command, Option } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { AsOf, DependentList, ObjectList, Queries } from './answer.ts'
import type { ObjectFlags, Server } from './client.ts'
import { answerTo, serverOf, warnPartial, withObject } from './client.ts'
import { ORDERS, orderOf } from './get-order.ts'
import { outputOf, structured } from './output.ts'
import { styleOfPhase } from './paint.ts'
import { clusterScopeOf, namespaceOf, questionOf } from './scope.ts'
import { spanText, table } from './table.ts'
import { lineOf } from './terminal.ts'
import { objectName, shortPhaseText, verdictText } from './word.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]
interface GetFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly gone?: boolean
  readonly ownedBy?: string
  readonly output: string
  readonly sortBy: string
  readonly selector?: string
}

type ListedObject = ObjectList['objects'][number]

/** What is printed: all pages as one, with `asOf` of each partition as of its first page. */
type ListDocument = Pick<ObjectList, 'apiVersion' | 'kind' | 'partial' | 'asOf' | 'objects'>
type DependentsDocument = Omit<DependentList, 'count' | 'continue'>

interface Listed {
  readonly document: ListDocument
  readonly kinds: ReadonlySet<string>
}

export function addGet(program: Command): void {
  withObject(program.command('get'))
    .description(
      'the objects of a kind: those that exist, and those that were deleted; or the dependents of one object',
    )
    .argument('[kind]', 'such as pods, deploy or deployments.apps')
    .argument('[name]', 'of one object')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--gone', 'also objects that were deleted, as long as they are remembered')
    .option('--owned-by <object>', 'instead of a kind: direct dependents of KIND/NAME or uid:UID')
    .option('--sort-by <order>', ORDERS.join(', '), 'name')
    .addOption(new Option('-l, --selector <labels>', 'refused: see below').hideHelp())
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (kind: string | undefined, name: string | undefined, flags: GetFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const compare = orderOf(flags.sortBy)
      if (flags.ownedBy !== undefined) {
        if (kind !== undefined || flags.gone || flags.allNamespaces) refuseBeside()
        const document = await dependents(flags.ownedBy, flags)
        warnPartial(document.partial)
        process.stdout.write(renderDependents(document, output, compare, Date.now()))
        return
      }
      if (kind === undefined)
        throw new ExitError(EXIT.input, 'expected KIND, KIND NAME or --owned-by')
      if (flags.selector !== undefined) refuseLabels(kind, flags.selector)
      const { cluster, hint } = await clusterScopeOf(flags)
      const query = { ...queryOf(kind, name, flags), cluster }
      const { document, kinds } = await listed({ ...serverOf(flags), hint }, query)
      warnPartial(document.partial)
      if (document.objects.length === 0) refuseNothing(kind, name, kinds, document.partial)
      const objects = [...document.objects].sort(compare)
      const hasNamespace = flags.allNamespaces === true
      process.stdout.write(render({ ...document, objects }, output, hasNamespace, Date.now()))
    })
}

/** Dependents of an object are of every kind, and each exists. */
function refuseBeside(): never {
  throw new ExitError(EXIT.input, '--owned-by takes no KIND, and neither -A nor --gone')
}

/** Nobody should believe that a list is of these labels when it is of all. */
function refuseLabels(kind: string, labels: string): never {
  throw new ExitError(
    EXIT.input,
    `-l ${labels}: Kinfold keeps no labels but those that protect an object; "kubectl get ${kind} -l ${labels} -o name" selects by labels, among what exists`,
  )
}

function queryOf(kind: string, name: string | undefined, flags: GetFlags): Queries['/v1/objects'] {
  if (kind === '' || kind.includes('/')) {
    throw new ExitError(EXIT.input, `${kind}: expected KIND, or KIND NAME`)
  }
  if (name !== undefined && flags.allNamespaces) {
    throw new ExitError(EXIT.input, 'a name takes a namespace, and not -A')
  }
  const namespace = flags.allNamespaces ? undefined : (flags.namespace ?? namespaceOf(flags))
  return { kind, name, namespace, gone: flags.gone }
}

async function listed(server: Server, query: Queries['/v1/objects']): Promise<Listed> {
  const all = await pagesOf((next) => {
    return answerTo(server, '/v1/objects', { ...query, continue: next })
  })
  const kinds = new Set(all.pages.flatMap((page) => page.kinds))
  const { apiVersion, kind } = all.first
  return { document: { apiVersion, kind, ...all.joined }, kinds }
}

async function dependents(owner: string, flags: GetFlags): Promise<DependentsDocument> {
  const { server, query } = await questionOf([owner], flags)
  const { first, joined } = await pagesOf((next) => {
    return answerTo(server, '/v1/dependents', { ...query, continue: next })
  })
  const { apiVersion, kind, cluster, owner: named } = first
  return { apiVersion, kind, cluster, owner: named, ...joined }
}

interface Page<T> {
  readonly objects: readonly T[]
  readonly partial: string
  readonly asOf: readonly AsOf[]
  readonly continue: string | null
}

interface Pages<T, P> {
  readonly first: P
  readonly pages: readonly P[]
  readonly joined: Omit<Page<T>, 'continue'>
}

/** Until the last. */
async function pagesOf<T, P extends Page<T>>(
  ask: (next: string | undefined) => Promise<P & Page<T>>,
): Promise<Pages<T, P>> {
  const first = await ask(undefined)
  const pages = [first]
  for (let next = first.continue; next !== null; ) {
    const page = await ask(next)
    pages.push(page)
    next = page.continue
  }
  const asOf = new Map<number, AsOf>()
  for (const each of pages.flatMap((page) => page.asOf)) {
    if (!asOf.has(each.partition)) asOf.set(each.partition, each)
  }
  const doubts = new Set(pages.map(({ partial }) => partial).filter((text) => text !== ''))
  const objects = pages.flatMap((page) => page.objects)
  return {
    first,
    pages,
    joined: { partial: [...doubts].join('; '), objects, asOf: [...asOf.values()] },
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

type Order = ReturnType<typeof orderOf>

export function renderDependents(
  document: DependentsDocument,
  output: Output,
  compare: Order,
  now: number,
): string {
  const { cluster } = document
  const listed = document.objects.map((object) => ({ ...object, cluster, goneAt: null }))
  listed.sort(compare)
  switch (output) {
    case 'json':
    case 'yaml': {
      const objects = listed.map(({ cluster: _cluster, goneAt: _goneAt, ...object }) => object)
      const sorted = { ...document, objects }
      return structured(sorted, output)
    }
    case 'name':
      return listed.map((object) => `${lineOf(objectName(object))}\n`).join('')
    case 'table':
    case 'wide':
      return listed.length === 0 ? 'No dependents.\n' : rows(listed, output === 'wide', true, now)
  }
}

/** A dependent has no uids of owners: each has the one that it was asked for. */
type Row = Omit<ListedObject, 'owners'> & Partial<Pick<ListedObject, 'owners'>>

function rows(
  objects: readonly Row[],
  isWide: boolean,
  hasNamespace: boolean,
  now: number,
): string {
  const head = ['CLUSTER', ...(hasNamespace ? ['NAMESPACE'] : []), 'NAME', 'STATE', 'AGE']
  const hasOwners = objects.every(({ owners }) => owners !== undefined)
  const wide = ['UID', ...(hasOwners ? ['OWNERS'] : []), 'VERDICT']
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
        ...(isWide ? [uid, ...(owners === undefined ? [] : [`${owners.length}`]), said] : []),
      ]
    }),
    (row, column) =>
      head[column] === 'STATE' ? styleOfPhase(objects[row]?.phase ?? '') : undefined,
  )
}

function stateOf({ phase, goneAt }: Row): string {
  if (phase === 'observed') return 'exists'
  return goneAt === null ? shortPhaseText(phase) : `deleted ${goneAt.slice(0, 19)}Z`
}

function ageText({ createdAt }: Row, now: number): string {
  return createdAt === null ? '-' : spanText(now - Date.parse(createdAt))
}
