/**
 * The changes of the tree of an object in a span, and who deleted what in it: of each object that
 * is in the tree, was in it when the span began, or was created and deleted in between by any
 * client.
 *
 * What must stay true: a step is a position of the log, so what is shown after it is exact to the
 * change; what could not be searched is said.
 */
import type { ChangeList, DeletionList, ObjectList, TreeNode } from '../../cli/answer.ts'
import { ask, Refusal } from '../base/ask.ts'
import type { Deletion } from '../deletion-text.ts'

export type Change = ChangeList['changes'][number]

export const SPANS: readonly (readonly [string, string, number])[] = [
  ['1h', 'last hour', 3_600_000],
  ['24h', 'last 24 hours', 86_400_000],
  ['7d', 'last 7 days', 7 * 86_400_000],
  ['all', 'whole record', 0],
]
const PAGE = '2000'
/** Rows of the log that are searched for changes of this tree. */
const MOST_READ = 20_000
/** Rows of deletions that are searched for those with this root. */
const MOST_PAGES = 10

/** Everything up to that change, itself included. */
export function momentAfter({ partition, position }: Change): string {
  return `pos:${partition}-${position + 1}`
}

export function lastOf(changes: readonly Change[]): string {
  const last = changes.at(-1)
  return last === undefined ? '' : momentAfter(last)
}

/** What one event brought about is one step: there is no moment between. */
export function stepsIn<T extends Pick<Change, 'partition' | 'position'>>(
  changes: readonly T[],
): readonly [T, ...T[]][] {
  const steps: [T, ...T[]][] = []
  for (const each of changes) {
    const last = steps.at(-1)
    const isSame = last?.[0].position === each.position && last[0].partition === each.partition
    if (isSame) last?.push(each)
    else steps.push([each])
  }
  return steps
}

/** The last change before the moment; -1: it is before all of them. */
export function stepAt(
  changes: readonly Pick<Change, 'partition' | 'position' | 'at'>[],
  at: string,
): number {
  if (at === '') return changes.length - 1
  const [, partition, position] = /^(?:pos|before):(\d+)-(\d+)/.exec(at) ?? []
  return changes.findLastIndex((each) =>
    partition === undefined
      ? Date.parse(each.at ?? '') <= Date.parse(at)
      : each.partition === Number(partition) && each.position < Number(position),
  )
}

export interface Steps {
  readonly partial: string
  readonly changes: readonly Change[]
  /** In milliseconds, as is `recordedFrom`, where the record begins. */
  readonly span: { readonly begin: number; readonly end: number; readonly recordedFrom: number }
  /** By uid. */
  readonly deletions: ReadonlyMap<string, Deletion>
  /** Rows that were searched. */
  readonly read: number
}

export async function stepsOf(
  about: { readonly uid: string; readonly cluster: string },
  span: string,
  signal: AbortSignal,
): Promise<Steps> {
  const ms = SPANS.find(([each]) => each === span)?.[2] ?? 0
  const end = Date.now()
  const wanted = ms === 0 ? undefined : new Date(end - ms).toISOString()
  const now = await ask('/v1/tree', about, signal)
  const { namespace } = now.root
  const where = { cluster: about.cluster, namespace: namespace === '' ? undefined : namespace }
  const { since, first } = await firstPage(where, wanted, signal)
  const members = new Set<string>([about.uid, ...uidsOf(now.root)])
  const doubts: string[] = []
  if (since !== undefined) {
    const then = await ask('/v1/tree', { ...about, at: since }, signal).catch(notThen)
    for (const uid of then === undefined ? [] : uidsOf(then.root)) members.add(uid)
    if (then !== undefined && then.partial !== '') doubts.push(then.partial)
  }
  const deleted = await deletedWith(about, since, signal)
  for (const uid of deleted.uids) members.add(uid)
  if (deleted.partial !== '') doubts.push(deleted.partial)
  const between = await cameAndLeft(where, members, signal).catch(notAllowed)
  if (between.partial !== '' && !doubts.includes(between.partial)) doubts.push(between.partial)
  const changes: Change[] = []
  let read = 0
  for (let page = first; ; ) {
    changes.push(...page.changes.filter(({ uid }) => members.has(uid)))
    read += page.changes.length
    if (page.partial !== '' && !doubts.includes(page.partial)) doubts.push(page.partial)
    if (page.continue === null) break
    if (read >= MOST_READ) {
      doubts.push(`only the first ${MOST_READ} changes of the span were looked through`)
      break
    }
    const query = { ...where, since, limit: PAGE, continue: page.continue }
    page = await ask('/v1/changes', query, signal)
  }
  const recorded = since ?? first.horizon?.earliest ?? first.changes[0]?.at
  const recordedFrom = recorded == null ? end : Date.parse(recorded)
  const deletions = await deletionsIn(where, since, signal).catch(noNames)
  return {
    ...{ partial: doubts.join('; '), changes, read: read + between.read },
    ...{ span: spanOf(wanted === undefined ? recordedFrom : end - ms, recordedFrom, end) },
    deletions,
  }
}

/**
 * Part of what is recorded: so much is drawn of the time before it, of which there may be far more.
 */
const GAP = 0.15

/** What is recorded has most of the room, and what is not is seen to be there. */
export function spanOf(wanted: number, recordedFrom: number, end: number): Steps['span'] {
  const gap = (end - recordedFrom) * GAP
  return { begin: Math.max(wanted, Math.round(recordedFrom - gap)), end, recordedFrom }
}

/** Who deleted what: of very many deletions the first, the others are drawn as by unknown. */
async function deletionsIn(
  where: { readonly cluster: string; readonly namespace: string | undefined },
  since: string | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Deletion>> {
  const found = new Map<string, Deletion>()
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const query = { ...where, since, limit: PAGE, continue: next || undefined }
    const page: DeletionList = await ask('/v1/deletions', query, signal)
    for (const each of page.deletions) found.set(each.uid, each)
    next = page.continue
  }
  return found
}

/** Who may not list deletions is shown what was deleted all the same. */
function noNames(error: unknown): ReadonlyMap<string, Deletion> {
  if (!(error instanceof Refusal) || error.status !== FORBIDDEN) throw error
  return new Map()
}

/** Who may not see the whole graph is shown what there is without that list. */
function notAllowed(error: unknown): { readonly read: number; readonly partial: string } {
  if (!(error instanceof Refusal) || error.status !== FORBIDDEN) throw error
  const partial =
    'what came and left in between is not known here: that takes the right to see the whole graph'
  return { read: 0, partial }
}

const FORBIDDEN = 403

/**
 * Adds to `members` whatever has, or had when it was deleted, one of them as its owner, also
 * through others.
 */
async function cameAndLeft(
  where: { readonly cluster: string; readonly namespace: string | undefined },
  members: Set<string>,
  signal: AbortSignal,
): Promise<{ readonly read: number; readonly partial: string }> {
  const ownedBy = new Map<string, string[]>()
  const doubts = new Set<string>()
  let read = 0
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const query = { ...where, gone: true, limit: PAGE, continue: next || undefined }
    const page: ObjectList = await ask('/v1/objects', query, signal)
    for (const { uid, owners } of page.objects) {
      for (const owner of owners) ownedBy.set(owner, (ownedBy.get(owner) ?? []).concat(uid))
    }
    read += page.objects.length
    doubts.add(page.partial)
    next = page.continue
  }
  // An iteration over a set includes what is added meanwhile.
  for (const uid of members) for (const each of ownedBy.get(uid) ?? []) members.add(each)
  if (next !== null)
    doubts.add(`only the first ${read} objects of its namespace were looked through`)
  return { read, partial: [...doubts].filter((text) => text !== '').join('; ') }
}

/** From then on or, where the record begins later, from its beginning. */
export async function firstPage(
  where: { readonly cluster: string; readonly namespace: string | undefined },
  since: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly since: string | undefined; readonly first: ChangeList }> {
  const query = { ...where, limit: PAGE }
  try {
    return { since, first: await ask('/v1/changes', { ...query, since }, signal) }
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== GONE || since === undefined) throw error
    return { since: undefined, first: await ask('/v1/changes', query, signal) }
  }
}

/** The moment is earlier than the earliest known one. */
const GONE = 410

/**
 * It may not have been there, or that may be too long ago: then there is less to follow, and
 * nothing wrong. Whatever else was refused is not known.
 */
function notThen(error: unknown): undefined {
  if (error instanceof Refusal && (error.status === GONE || error.status === NOT_FOUND)) return
  throw error
}

const NOT_FOUND = 404

async function deletedWith(
  { uid, cluster }: { readonly uid: string; readonly cluster: string },
  since: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly uids: readonly string[]; readonly partial: string }> {
  const uids: string[] = []
  const doubts = new Set<string>()
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const asked = { cluster, root: `uid:${uid}`, since, limit: PAGE }
    const page: DeletionList = await ask(
      '/v1/deletions',
      { ...asked, continue: next || undefined },
      signal,
    )
    uids.push(...page.deletions.map((each) => each.uid))
    doubts.add(page.partial)
    next = page.continue
  }
  if (next !== null) doubts.add('not all that was deleted with it was looked through')
  return { uids, partial: [...doubts].filter((text) => text !== '').join('; ') }
}

function uidsOf(root: TreeNode): readonly string[] {
  const uids: string[] = []
  const left = [root]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    uids.push(node.uid)
    left.push(...node.children)
  }
  return uids
}
