/**
 * `kinfold history`: what happened to an object, in a namespace or in clusters, the oldest first,
 * as in a log; with `-w` also what comes.
 *
 * What must stay true: what is followed begins where the pages end: nothing is missed between them,
 * and nothing comes twice.
 *
 * Not here: the streams of records as they are (lineage.ts).
 */

import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { labelOf, recordedText } from '../../services/graph/api/word.ts'
import type { ChangeList, Cluster, ClusterList, HistoryRecord } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { GrowingTable } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { objectName } from '../print/word.ts'
import { yaml } from '../print/yaml.ts'
import { ask, type Server, withObject } from '../reach/client.ts'
import {
  changesFrom,
  joined,
  nothing,
  type PastFlags,
  refuseEnd,
  rowsFor,
  scopeOf,
  setSpan,
  withSpan,
  write,
} from '../reach/past.ts'
import { questionOf } from '../reach/scope.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]
type Change = ChangeList['changes'][number]

interface HistoryFlags extends PastFlags {
  readonly change?: string
}

const CHANGES = 'created, references, phase, verdict, command, result, owner, gone'

export function addHistory(program: Command): void {
  withSpan(withObject(program.command('history')))
    .description('what happened to an object, in a namespace or in clusters, the oldest first')
    .argument('[object...]', 'KIND/NAME, KIND NAME or uid:UID; KIND: all of a kind; else all')
    .option('--change <list>', `only such changes: ${CHANGES}`)
    .option('-w, --watch', 'then whatever comes, until it is stopped')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (words: string[], flags: HistoryFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      refuse(words, flags)
      const { server, params } = await askedOf(words, flags)
      // What is printed as "deleted" may be asked for by that name, too.
      const change = flags.change?.split(',').map((each) => (each === 'deleted' ? 'gone' : each))
      if (change !== undefined) params.set('change', change.join(','))
      const filter = new URLSearchParams(params)
      await setSpan(params, flags, Date.now())
      const pages = await rowsFor<ChangeList>(server, '/v1/changes', params, flags, 'changes')
      if (flags.watch) return await watch(server, pages, filter, printerOf(output, flags))
      if (output === 'json' || output === 'yaml') {
        return await write(structured(await joined(pages, 'changes'), output))
      }
      await print(pages, printerOf(output, flags), async (since) => {
        return await nothing('changes', since, server, params)
      })
    })
}

function refuse(words: readonly string[], flags: HistoryFlags): void {
  refuseEnd(flags)
  if (flags.allNamespaces && isObject(words)) {
    throw new ExitError(EXIT.input, 'a name takes a namespace, and not -A')
  }
}

function isObject([first = '', second]: readonly string[]): boolean {
  return second !== undefined || first.includes('/') || first.startsWith('uid:')
}

async function askedOf(
  words: readonly string[],
  flags: HistoryFlags,
): Promise<{ readonly server: Server; readonly params: URLSearchParams }> {
  if (isObject(words)) {
    const { server, query } = await questionOf(words, flags)
    const params = new URLSearchParams()
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) params.set(key, value)
    }
    // A uid is of no namespace.
    if (params.has('uid')) params.delete('namespace')
    return { server, params }
  }
  const asked = await scopeOf(flags)
  const [kind] = words
  if (kind !== undefined) asked.params.set('kind', kind)
  return asked
}

async function print(
  pages: AsyncIterable<ChangeList>,
  printer: Printer,
  none: (since: string | null) => Promise<string>,
): Promise<void> {
  let since: string | null | undefined
  for await (const page of pages) {
    since ??= page.since
    await write(printer.text(page.changes))
  }
  if (printer.isEmpty) await write(await none(since ?? null))
}

/** The stream has one object by its uid, and none by its name. */
async function watch(
  server: Server,
  pages: AsyncIterable<ChangeList>,
  filter: URLSearchParams,
  printer: Printer,
): Promise<void> {
  let resume = ''
  const clusters = new Map<string, Cluster>()
  for await (const page of pages) {
    resume ||= page.resume ?? ''
    for (const { cluster } of page.changes) clusters.set(cluster.id, cluster)
    if (page.object !== null) {
      const { cluster, namespace, uid } = page.object
      for (const name of [...filter.keys()]) if (name !== 'change') filter.delete(name)
      for (const [name, value] of Object.entries({ cluster: cluster.id, namespace, uid })) {
        filter.set(name, value)
      }
    }
    await write(printer.text(page.changes))
  }
  for await (const { value } of changesFrom(server, filter, resume)) {
    await learn(server, clusters, value.cluster)
    await write(printer.text([changeOf(value, clusters)]))
  }
}

/** Records name their cluster by its id. */
async function learn(server: Server, clusters: Map<string, Cluster>, id: string): Promise<void> {
  if (clusters.has(id)) return
  try {
    const told = (await (await ask(server, '/v1/clusters')).json()) as ClusterList
    for (const { cluster } of told.clusters) clusters.set(cluster.id, cluster)
  } catch (error) {
    // Who may see one namespace may not see which clusters there are.
    if (!(error instanceof ExitError)) throw error
  }
  if (!clusters.has(id)) clusters.set(id, { name: id, id, scope: id })
}

function changeOf(record: HistoryRecord, clusters: ReadonlyMap<string, Cluster>): Change {
  const { cluster: id, at, object: _, admission: held, ...rest } = record
  const cluster = clusters.get(id) ?? { name: id, id, scope: id }
  const admission = held && { ...held, since: timeIn(held.since), until: timeIn(held.until) }
  return { ...rest, cluster, admission, at: timeIn(at) }
}

/** As answers have it: null for what no calendar has. */
function timeIn(ms: number | null): string | null {
  const date = new Date(ms ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** Prints rows as they come. */
interface Printer {
  text(changes: readonly Change[]): string
  /** Nothing was printed yet. */
  readonly isEmpty: boolean
}

export function printerOf(
  output: Output,
  { allNamespaces = false }: Pick<HistoryFlags, 'allNamespaces'>,
): Printer {
  const isWide = output === 'wide'
  const table = new GrowingTable([
    ...['TIME', 'POSITION', 'CLUSTER', ...(allNamespaces ? ['NAMESPACE'] : []), 'OBJECT'],
    ...(isWide ? ['UID', 'CHANGE', 'EVIDENCE', 'COMMAND', 'DETAILS'] : ['CHANGE', 'DETAILS']),
  ])
  const names = new Set<string>()
  let isEmpty = true
  const textOf = (changes: readonly Change[]): string => {
    switch (output) {
      case 'json':
        return changes.map((change) => `${JSON.stringify(change)}\n`).join('')
      case 'yaml':
        return changes.map((change) => `---\n${yaml().stringify(change)}`).join('')
      case 'name': {
        const fresh = changes.map(objectName).filter((name) => !names.has(name))
        for (const name of fresh) names.add(name)
        return [...new Set(fresh)].map((name) => `${lineOf(name)}\n`).join('')
      }
      case 'table':
      case 'wide':
        return table.add(changes.map((change) => rowOf(change, isWide, allNamespaces)))
    }
  }
  return {
    text(changes) {
      isEmpty &&= changes.length === 0 && output !== 'name'
      return textOf(changes)
    },
    get isEmpty() {
      return isEmpty && output !== 'name'
    },
  }
}

function rowOf(change: Change, isWide: boolean, hasNamespace: boolean): readonly string[] {
  const { at, partition, position, cluster, namespace, uid, evidence, command } = change
  const what = change.change === 'gone' ? 'deleted' : change.change
  const isVerdict = change.change === 'verdict'
  const details = isVerdict ? recordedText(change.text, change.admission) : change.text
  return [
    ...[at ?? '-', `pos:${partition}-${position}`, labelOf(cluster)],
    ...(hasNamespace ? [namespace] : []),
    objectName(change),
    ...(isWide ? [uid, what, evidence ?? '-', command ?? '-', details] : [what, details]),
  ]
}
