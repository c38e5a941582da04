/**
 * What questions about the past have in common: from when, until when, of which objects, and their pages.
 *
 * What must stay true: pages are printed as they come, since there may be very many; a list that ends before its end says so.
 *
 * Not here: what a page holds (history.ts, deletions.ts, diff.ts).
 */
import { once } from 'node:events'
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { AsOf, Document } from '../services/graph/api/document.ts'
import { ask, type ObjectFlags, type Server, serverOf, warnPartial } from './client.ts'
import { clusterScopeOf, namespaceOf } from './scope.ts'

export interface PastFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly since?: string
  readonly until?: string
  readonly limit?: string
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
}

export function withSpan(command: Command): Command {
  return command
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('--since <t>', 'from then on: how long ago (24h), or RFC 3339 (default: all)')
    .option('--until <t>', 'before then (default: up to now)')
    .option('--limit <n>', 'rows at most, the oldest first')
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

export async function setSpan(
  params: URLSearchParams,
  { since, until }: PastFlags,
  now: number,
): Promise<void> {
  for (const [key, value] of Object.entries({ since, until })) {
    if (value === undefined) continue
    const { moment } = await import('./setting.ts')
    params.set(key, moment({ key, value, from: `--${key}` }, now) ?? '')
  }
  // How long ago is no moment that must be known: on the first day it is all that there is.
  if (since !== undefined && !/^\d{4}-/.test(since)) params.set('reach', 'partial')
}

async function mostOf(value: string | undefined): Promise<number | undefined> {
  if (value === undefined) return undefined
  const { whole } = await import('./setting.ts')
  return whole({ key: 'limit', value, from: '--limit' }, 1, MOST_ROWS)
}

/** One after the other; no more rows than are wanted. */
export async function* pagesOf<T extends Page>(
  server: Server,
  path: string,
  params: URLSearchParams,
  { limit }: Pick<PastFlags, 'limit'>,
  countOf: (page: T) => number,
): AsyncIterable<T> {
  const most = await mostOf(limit)
  const doubts = new Set<string>()
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

/** Where nothing is listed. */
export function nothing(what: string, since: string | null): string {
  return since === null ? `No ${what}: nothing is recorded yet.\n` : `No ${what} since ${since}.\n`
}
