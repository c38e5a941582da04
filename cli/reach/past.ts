/**
 * What questions about the past have in common: from when, until when, of which objects, and their
 * pages.
 *
 * What must stay true: pages are printed as they come, since there may be very many; a list that
 * ends before its end says so.
 *
 * Not here: what a page holds (history.ts, deletions.ts, diff.ts).
 */
import { once } from 'node:events'
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { AsOf, Document } from '../../services/graph/api/document.ts'
import type { HistoryEntry } from '../answer.ts'
import { lineOf } from '../print/terminal.ts'
import { ask, linesOf, type ObjectFlags, type Server, serverOf, warnPartial } from './client.ts'
import { clusterScopeOf, namespaceOf } from './scope.ts'

export interface PastFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly since?: string
  readonly until?: string
  readonly limit?: string
  readonly tail?: string
  readonly watch?: boolean
  /** What was warned of already. */
  readonly said?: Set<string>
  readonly output: string
}

/** Rows on a page, and of all of them at most. */
const PAGE_ROWS = 500
const MOST_ROWS = 1e9

export interface Page extends Document {
  readonly asOf: readonly AsOf[]
  readonly continue: string | null
}

/** Of `ChangeList` and `DeletionList`. */
export interface PastPage extends Page {
  readonly since: string | null
  readonly horizon: { readonly earliest: string | null } | null
}

export function withSpan(command: Command): Command {
  return command
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('--since <t>', 'from then on: how long ago (24h), or RFC 3339 (default: all)')
    .option('--until <t>', 'before then (default: up to now)')
    .option('--limit <n>', 'rows at most: the newest, or with --since the first from then on')
    .option('--tail <n>', 'only the newest rows, so many, also with --since')
}

/** Of all kinds and names. */
export async function scopeOf(
  flags: PastFlags,
): Promise<{ readonly server: Server; readonly params: URLSearchParams }> {
  const { cluster, hint } = await clusterScopeOf(flags)
  const params = new URLSearchParams()
  if (cluster !== undefined) params.set('cluster', cluster)
  if (!flags.allNamespaces) params.set('namespace', flags.namespace ?? namespaceOf(flags))
  return { server: { ...serverOf(flags), hint }, params }
}

export function refuseEnd({ watch, limit, until }: PastFlags): void {
  const more = [limit && '--limit', until && '--until'].filter(Boolean)
  if (watch && more.length > 0) {
    throw new ExitError(EXIT.input, `-w goes on for ever: it takes no ${more.join(' or ')}`)
  }
}

/** Entries of the stream of changes, from `resume` on; it never ends but with a failure. */
export async function* changesFrom(
  server: Server,
  filter: URLSearchParams,
  resume: string,
): AsyncIterable<HistoryEntry> {
  const asked = new URLSearchParams([...filter, ['from', resume], ['follow', 'true']])
  const response = await ask(server, `/v1/history?${asked}`)
  for await (const line of linesOf(response)) {
    const entry = JSON.parse(line) as HistoryEntry
    if ('value' in entry) yield entry
  }
  throw new ExitError(EXIT.failure, 'kinfold ended the stream; begin again')
}

export async function setSpan(
  params: URLSearchParams,
  { since, until }: PastFlags,
  now: number,
): Promise<void> {
  for (const [key, value] of Object.entries({ since, until })) {
    if (value === undefined) continue
    const { moment } = await import('../config/setting.ts')
    params.set(key, moment({ key, value, from: `--${key}` }, now) ?? '')
  }
  // How long ago is no moment that must be known: on the first day it is all that there is.
  if (since !== undefined && !/^\d{4}-/.test(since)) params.set('reach', 'partial')
}

async function mostOf(
  value: string | undefined,
  key = 'limit',
  most = MOST_ROWS,
): Promise<number | undefined> {
  if (value === undefined) return undefined
  const { whole } = await import('../config/setting.ts')
  return whole({ key, value, from: `--${key}` }, 1, most)
}

/** One after the other; no more rows than are wanted. */
export async function* pagesOf<T extends Page>(
  server: Server,
  path: string,
  params: URLSearchParams,
  { limit, said: doubts = new Set() }: Pick<PastFlags, 'limit' | 'said'>,
  countOf: (page: T) => number,
): AsyncIterable<T> {
  const most = await mostOf(limit)
  for (let rows = 0; ; ) {
    if (most !== undefined) params.set('limit', String(Math.min(PAGE_ROWS, most - rows)))
    const page = (await (await ask(server, `${path}?${params}`)).json()) as T
    rows += countOf(page)
    if (page.partial !== '' && !doubts.has(page.partial)) warnPartial(page.partial)
    doubts.add(page.partial)
    yield page
    if (page.continue === null) break
    if (most !== undefined && rows >= most) {
      process.stderr.write(
        `warning: there may be more than ${most}: raise --limit, or go on with --since\n`,
      )
      break
    }
    params.set('continue', page.continue)
  }
}

/** As asked: `--tail`, or one page after the other. */
export async function rowsFor<T extends PastPage>(
  server: Server,
  path: string,
  params: URLSearchParams,
  flags: PastFlags,
  rows: keyof T & string,
): Promise<AsyncIterable<T>> {
  if (flags.limit !== undefined && flags.tail !== undefined) {
    throw new ExitError(EXIT.input, '--limit and --tail both say how many rows: take one')
  }
  // Without a beginning the oldest rows of the record are of no use (C18).
  const [newestKey, newestRows] =
    flags.since === undefined && flags.limit !== undefined
      ? ['limit', flags.limit]
      : ['tail', flags.tail]
  const tail = await mostOf(newestRows, newestKey, MOST_TAIL)
  const listOf = (page: T): readonly unknown[] => page[rows] as readonly unknown[]
  if (tail === undefined) return pagesOf(server, path, params, flags, (page) => listOf(page).length)
  return newest(server, path, params, tail, { rows, listOf })
}

interface Rows<T> {
  readonly rows: string
  listOf(page: T): readonly unknown[]
}

/**
 * Spans that end now, each longer than the one before, until one has enough: so no whole record is
 * read for a few rows.
 */
async function* newest<T extends PastPage>(
  server: Server,
  path: string,
  params: URLSearchParams,
  tail: number,
  { rows, listOf }: Rows<T>,
): AsyncIterable<T> {
  const end = Date.parse(params.get('until') ?? new Date().toISOString())
  let earliest = Date.parse(params.get('since') ?? new Date(0).toISOString())
  for (let span = FIRST_TAIL_MS; ; span *= 8) {
    const asked = new URLSearchParams(params)
    const isAll = end - span <= earliest
    if (!isAll) {
      asked.set('since', new Date(end - span).toISOString())
      asked.set('reach', 'partial')
    }
    let first: T | undefined
    let kept: readonly unknown[] = []
    const doubts = new Set<string>()
    for (let next: string | null = ''; next !== null; ) {
      if (next !== '') asked.set('continue', next)
      const page = (await (await ask(server, `${path}?${asked}`)).json()) as T
      first ??= page
      kept = [...kept, ...listOf(page)].slice(-tail)
      if (page.partial !== '') doubts.add(page.partial)
      next = page.continue
    }
    const begin = Date.parse(first?.horizon?.earliest ?? '')
    if (!Number.isNaN(begin)) earliest = Math.max(earliest, begin)
    const isReached = isAll || (kept.length === tail && end - span > earliest)
    if (first === undefined || !isReached) continue
    const partial = [...doubts].join('; ')
    if (partial !== '') warnPartial(partial)
    return yield { ...first, partial, [rows]: kept, continue: null }
  }
}

const FIRST_TAIL_MS = 15 * 60_000
const MOST_TAIL = 100_000

/** All pages as one document: what the first one says, and the rows of all. */
export async function joined<T extends PastPage>(
  pages: AsyncIterable<T>,
  rows: keyof T & string,
): Promise<T> {
  let first: T | undefined
  let last: T | undefined
  const all: unknown[] = []
  const doubts = new Set<string>()
  for await (const page of pages) {
    first ??= page
    last = page
    if (page.partial !== '') doubts.add(page.partial)
    all.push(...(page[rows] as readonly unknown[]))
  }
  if (first === undefined) throw new ExitError(EXIT.failure, 'kinfold answered no page')
  const partial = [...doubts].join('; ')
  return { ...first, partial, [rows]: all, continue: last?.continue ?? null }
}

export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** Where nothing is listed: where it was looked for, and whether there is anything elsewhere. */
export async function nothing(
  what: 'changes' | 'deletions',
  since: string | null,
  server: Server,
  params: URLSearchParams,
): Promise<string> {
  const namespace = params.get('namespace')
  const where = namespace === null ? '' : ` in namespace ${lineOf(namespace)}`
  if (since === null) return `No ${what}${where}: nothing is recorded yet.\n`
  const more = namespace === null ? '' : await elsewhere(what, server, params)
  return `No ${what}${where} since ${since}.${more}\n`
}

/** A user who may see one namespace only is not shown others. */
async function elsewhere(
  what: 'changes' | 'deletions',
  server: Server,
  params: URLSearchParams,
): Promise<string> {
  const asked = new URLSearchParams(params)
  for (const name of ['namespace', 'continue']) asked.delete(name)
  asked.set('limit', '1')
  try {
    const page = (await (await ask(server, `/v1/${what}?${asked}`)).json()) as Page &
      Readonly<Record<string, unknown>>
    const rows = page[what] as readonly unknown[]
    return rows.length > 0 ? ' There are some in other namespaces: -A lists all.' : ''
  } catch (error) {
    if (error instanceof ExitError) return ''
    throw error
  }
}
