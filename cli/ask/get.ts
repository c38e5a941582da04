/**
 * `kinfold get`: the objects of a kind, those that exist and, with `--gone`, those that were
 * deleted; with `--owned-by` the direct dependents of an object.
 *
 * What must stay true: all pages are read before anything is printed; what may be missing is a
 * warning.
 *
 * Not here: what is on a page (services/graph/query/answer/object-list.ts, dependent-list.ts),
 * which objects have which labels (label-selection.ts).
 */

import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { ageText, judgedText, labelOf, phaseText } from '../../services/graph/api/word.ts'
import type { AsOf, DependentList, ObjectList, Queries } from '../answer.ts'
import { ORDERS, orderOf } from '../print/get-order.ts'
import { outputOf, structured } from '../print/output.ts'
import { styleOfPhase } from '../print/paint.ts'
import { table } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { objectName } from '../print/word.ts'
import type { ObjectFlags, Server } from '../reach/client.ts'
import { answerTo, serverOf, warnPartial, withMoment, withObject } from '../reach/client.ts'
import { clusterOfContext, clusterScopeOf, namespaceOf, questionOf } from '../reach/scope.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]
interface GetFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly gone?: boolean
  readonly at?: string
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
  withMoment(withObject(program.command('get')))
    .description(
      'the objects of a kind: those that exist, and those that were deleted; or the dependents of one object',
    )
    .argument('[kind]', 'such as pods, deployments.apps, deploy,cm, deploy/web, or all')
    .argument('[name]', 'of one object')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--gone', 'also objects that were deleted, as long as they are remembered')
    .option('--owned-by <object>', 'instead of a kind: direct dependents of KIND/NAME or uid:UID')
    .option('--sort-by <order>', ORDERS.join(', '), 'name')
    .option(
      '-l, --selector <labels>',
      'with these labels now: the cluster is asked, with your own kubeconfig',
    )
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (word: string | undefined, second: string | undefined, flags: GetFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const compare = orderOf(flags.sortBy)
      if (flags.ownedBy !== undefined) {
        const { gone, allNamespaces, at, selector } = flags
        if (word !== undefined || gone || allNamespaces || at || selector !== undefined)
          refuseBeside()
        const document = await dependents(flags.ownedBy, flags)
        warnPartial(document.partial)
        const { misnamedText } = await import('../print/misnamed.ts')
        const misnamed = misnamedText(document.misnamed, document.owner)
        process.stdout.write(renderDependents(document, output, compare, Date.now(), misnamed))
        return
      }
      const { kinds: asked, name } = wordsOf(word, second)
      const all = await Promise.all(asked.map((kind) => answered(kind, name, flags)))
      // One that is misspelt must not hide behind the others.
      for (const [index, each] of all.entries()) refuseUnserved(asked[index], each)
      const { document } = joined(all)
      if (document.asOf.length === 0) refuseUnasked(document.partial)
      warnPartial(document.partial)
      if (document.objects.length === 0) refuseNothing(word ?? '', name, document.partial)
      const objects = [...document.objects].sort(compare)
      const hasNamespace = flags.allNamespaces === true
      const time = flags.at === undefined ? null : (document.asOf[0]?.time ?? null)
      const now = time === null ? Date.now() : Date.parse(time)
      const where = hasNamespace
        ? 'any namespace'
        : `namespace ${flags.namespace ?? namespaceOf(flags)}`
      process.stdout.write(render({ ...document, objects }, output, hasNamespace, now, where))
    })
}

/** As kubectl takes them: KIND, KIND NAME, KIND/NAME, KIND,KIND; `all` is each kind (undefined). */
function wordsOf(
  word: string | undefined,
  second: string | undefined,
): { readonly kinds: readonly (string | undefined)[]; readonly name: string | undefined } {
  const [first = '', name, ...more] = (word ?? '').split('/')
  const kinds = first.split(',')
  const isNamed = name !== undefined || second !== undefined
  const isOdd = more.length > 0 || (name !== undefined && second !== undefined) || name === ''
  if (kinds.includes('') || isOdd || (isNamed && (kinds.length > 1 || first === 'all'))) {
    throw new ExitError(
      EXIT.input,
      `${word ?? 'nothing to get'}: expected KIND, KIND NAME, KIND/NAME, KIND,KIND, all or --owned-by`,
    )
  }
  return { kinds: first === 'all' ? [undefined] : kinds, name: name ?? second }
}

/** Of several kinds, as one. */
function joined(all: readonly Listed[]): Listed {
  const [first] = all
  if (first === undefined) throw new Error('one kind is asked for at least')
  if (all.length === 1) return first
  const documents = all.map(({ document }) => document)
  const objects = new Map(
    documents.flatMap((each) =>
      each.objects.map((object) => [`${object.cluster.id}/${object.uid}`, object]),
    ),
  )
  const asOf = new Map(documents.flatMap((each) => each.asOf.map((at) => [at.partition, at])))
  const doubts = new Set(documents.map(({ partial }) => partial).filter((text) => text !== ''))
  return {
    document: {
      ...first.document,
      partial: [...doubts].join('; '),
      asOf: [...asOf.values()],
      objects: [...objects.values()],
    },
    kinds: new Set(all.flatMap(({ kinds }) => [...kinds])),
  }
}

/** Dependents of an object are of every kind, and each exists now. */
function refuseBeside(): never {
  throw new ExitError(
    EXIT.input,
    '--owned-by takes no KIND, and none of -A, --gone, --at and -l; "kinfold tree KIND/NAME --at MOMENT" has dependents of the past',
  )
}

/** `kind` undefined: each. */
function queryOf(
  kind: string | undefined,
  name: string | undefined,
  flags: GetFlags,
): Queries['/v1/objects'] {
  if (name !== undefined && flags.allNamespaces) {
    throw new ExitError(EXIT.input, 'a name takes a namespace, and not -A')
  }
  const namespace = flags.allNamespaces ? undefined : (flags.namespace ?? namespaceOf(flags))
  return { kind, name, namespace, gone: flags.gone }
}

async function answered(
  kind: string | undefined,
  name: string | undefined,
  flags: GetFlags,
): Promise<Listed> {
  const { selector, at: moment } = flags
  if (selector !== undefined) {
    if (name !== undefined || flags.gone || moment !== undefined) refuseBesideLabels()
    if (kind === undefined) throw new ExitError(EXIT.input, '-l takes a KIND, and not all')
    return await labelled(kind, selector, flags)
  }
  const { cluster, hint } = await clusterScopeOf(flags)
  const at =
    moment === undefined ? undefined : (await import('../reach/moment.ts')).momentOf(moment)
  const query = { ...queryOf(kind, name, flags), cluster, at }
  return await listed({ ...serverOf(flags), hint }, query)
}

/** What was deleted has no labels to ask for. */
function refuseBesideLabels(): never {
  throw new ExitError(
    EXIT.input,
    '-l takes no NAME, and neither --gone nor --at: Kinfold records no labels, so the cluster is asked, and it knows the labels of what exists now',
  )
}

/**
 * Of Kinfold's answer what the cluster selects. What it selects and Kinfold has not is counted: the
 * list is not whole then.
 */
async function labelled(kind: string, labels: string, flags: GetFlags): Promise<Listed> {
  // Loaded here: they have the client of the API server.
  const { openOwnCluster } = await import('../reach/own-cluster.ts')
  const { createLabelSelection } = await import('../reach/label-selection.ts')
  await using own = await openOwnCluster('get', flags)
  const asked = queryOf(kind, undefined, flags)
  const server = { ...serverOf(flags), hint: flags.cluster === undefined ? own.hint : undefined }
  const cluster = await clusterOfContext(server, flags.cluster, own)
  const selected = createLabelSelection(own, { labels, namespace: asked.namespace })
  const { document, kinds } = await listed(server, { ...asked, cluster }, async (page) => {
    return { ...page, objects: await selected.among(page) }
  })
  const partial = [document.partial, selected.partial()].filter((text) => text !== '').join('; ')
  return { document: { ...document, partial }, kinds }
}

/** `keep`: what of a page is kept. */
async function listed(
  server: Server,
  query: Queries['/v1/objects'],
  keep: (page: ObjectList) => Promise<ObjectList> = async (page) => page,
): Promise<Listed> {
  const all = await pagesOf(async (next) => {
    return await keep(await answerTo(server, '/v1/objects', { ...query, continue: next }))
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
  const { apiVersion, kind, cluster, owner: named, misnamed } = first
  return { apiVersion, kind, cluster, owner: named, misnamed, ...joined }
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

/** No cluster was asked: where one should have been, nothing is known. */
function refuseUnasked(partial: string): void {
  if (partial !== '') throw new ExitError(EXIT.failure, partial)
}

/** An empty list is an answer, but not to a kind that no cluster serves. */
function refuseUnserved(kind: string | undefined, { document, kinds }: Listed): void {
  const isUnserved = document.objects.length === 0 && kinds.size === 0 && document.partial === ''
  if (kind === undefined || !isUnserved) return
  throw new ExitError(EXIT.input, `no cluster that is asked serves a kind ${kind}`)
}

/** Nor to a name. */
function refuseNothing(kind: string, name: string | undefined, partial: string): void {
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
  where = 'any namespace',
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
        ? `No objects found in ${where}.\n`
        : rows(objects, output === 'wide', hasNamespace, now)
  }
}

type Order = ReturnType<typeof orderOf>

export function renderDependents(
  document: DependentsDocument,
  output: Output,
  compare: Order,
  now: number,
  misnamed = '',
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
      return (
        (listed.length === 0 ? 'No dependents.\n' : rows(listed, output === 'wide', true, now)) +
        misnamed
      )
  }
}

/** A dependent has no uids of owners: each has the one that it was asked for. */
type Row = Omit<ListedObject, 'owners' | 'moreOwners'> &
  Partial<Pick<ListedObject, 'owners' | 'moreOwners'>>

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
      const { cluster, namespace, verdict, admission, uid, owners, moreOwners = 0 } = object
      const said = verdict === null ? '' : judgedText(verdict, admission)
      return [
        labelOf(cluster),
        ...(hasNamespace ? [namespace] : []),
        objectName(object),
        stateOf(object),
        ageOf(object, now),
        ...(isWide
          ? [uid, ...(owners === undefined ? [] : [`${owners.length + moreOwners}`]), said]
          : []),
      ]
    }),
    (row, column) =>
      head[column] === 'STATE' ? styleOfPhase(objects[row]?.phase ?? '') : undefined,
  )
}

function stateOf({ phase, goneAt }: Row): string {
  if (phase === 'observed') return 'exists'
  return goneAt === null ? phaseText(phase) : `deleted ${goneAt.slice(0, 19)}Z`
}

function ageOf({ createdAt }: Row, now: number): string {
  return createdAt === null ? '-' : ageText(now - Date.parse(createdAt))
}
