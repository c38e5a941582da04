/**
 * What was held at a moment of the past, and by what, out of the index: the answer that held.ts gave then.
 *
 * What must stay true: rules (mode, pauses, protections, breakers) are read once the fold has passed the moment, and before the index is waited for: so a change before
 * the moment is in them, and one that comes meanwhile is in one of the two. A cluster that cannot be asked about the moment (past.ts) is named in `partial`, and where none
 * can be, that is refused. Objects of which the index does not say whether they were held are counted in `partial`.
 *
 * Not here, and in no index: what a cluster refused, and whether another object has the name of an owner that is missing.
 */
import type { StateReader } from '../../../../core/graph/graph.ts'
import {
  breakerKey,
  DIRECTIVES_KEY,
  lastPart,
  namespaceBreakersPrefix,
  POLICY_KEY,
} from '../../../../core/graph/key.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import type { StateValue } from '../../../../core/model/state.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { type ClusterRef, timeOf } from '../../api/document.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { Asked, Moment } from '../index/moment.ts'
import { uidIn } from '../index/span-index.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import {
  type HeldObject,
  type HeldScope,
  type HeldSource,
  heldBySources,
  heldObject,
  type OpenBreakerOfCluster,
  type OwnHeld,
  openOne,
} from './held.ts'
import { asOfMoment, type Past } from './past.ts'

/** Objects with more states than are kept that one answer looks at. */
const MOST_CUT = 1_000
/** Clusters that are left out, and named. */
const MOST_NAMED = 5

export interface PastHeldParts {
  readonly past: Past
  readonly index: Pick<HistoryIndex, 'spans' | 'rulesAt' | 'rulesBegin'>
  /** In it objects are read: what is waited for is nobody's turn. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

export interface OwnPastHeld extends OwnHeld {
  /** Of the clusters that cannot be asked about the moment. */
  readonly refusals: readonly Refusal[]
}

export interface Refusal {
  readonly cluster: ClusterId
  readonly status: number
  readonly detail: string
}

/** In the clusters that this process has. */
export async function heldAt(
  parts: PastHeldParts,
  views: readonly View[],
  asked: Asked,
  scope: HeldScope,
): Promise<OwnPastHeld> {
  const { past } = parts
  // Each may wait for its fold.
  const looked = await Promise.all(views.map(async (view) => await thenOf(parts, view, asked)))
  const all = looked.filter((each) => 'reader' in each)
  const sources = all.map((then) => sourceOf(parts, then, scope))
  const readers = all.map(({ reader }) => reader)
  const held = await parts.inTurn(() => heldBySources(sources, readers, scope))
  try {
    for (const { view, moment } of all) past.stillKnown(view, moment)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // Something of a cluster was forgotten meanwhile: that one is refused now, and the others are not.
    return await heldAt(parts, views, asked, scope)
  }
  const isRuled = all.some(({ reader }) => reader.get(POLICY_KEY) !== undefined)
  const refusals = looked.filter((each) => 'status' in each)
  return { ...held, mode: isRuled ? held.mode : null, refusals }
}

/** Who cannot be asked, of all, `partial` aside; throws where that is everybody: what is left would be no answer. */
export function leftOut(
  all: readonly OwnHeld[],
  asked: readonly ClusterRef[],
  partial: string,
): string {
  const refusals = all.flatMap((each) => ('refusals' in each ? (each as OwnPastHeld).refusals : []))
  const more = refusals.length - MOST_NAMED
  const text = [
    ...refusals.slice(0, MOST_NAMED).map(({ detail }) => `left out: ${detail}`),
    ...(more > 0 ? [`left out: ${more} more cluster${more === 1 ? '' : 's'}`] : []),
  ].join('; ')
  if (asked.length === 0 || all.some(({ asOf }) => asOf.length > 0)) return text
  const [first] = refusals
  if (first !== undefined && refusals.length === asked.length) {
    throw new Problem(first.status, first.detail)
  }
  const why = [partial, text].filter((each) => each !== '').join('; ')
  throw new Problem(503, `no cluster can be asked, ask again later: ${why}`)
}

async function thenOf(parts: PastHeldParts, view: View, asked: Asked): Promise<Then | Refusal> {
  try {
    return { view, ...(await thenIn(parts, view, asked)) }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { cluster: view.cluster, status: error.status, detail: error.message }
  }
}

interface Then {
  readonly view: View
  readonly moment: Moment
  readonly reader: StateReader
  /** That ever had a breaker, with others perhaps. */
  readonly namespaces: ReadonlySet<string>
}

async function thenIn(
  { past, index }: PastHeldParts,
  view: View,
  asked: Asked,
): Promise<Omit<Then, 'view'>> {
  const { cluster, reader } = view
  await past.passed(view, asked)
  const rules = new Map<string, StateValue | null>()
  const namespaces = new Set<string>()
  for (const key of [POLICY_KEY, DIRECTIVES_KEY, breakerKey(''), breakerKey(cluster)]) {
    rules.set(key, reader.get(key) ?? null)
  }
  for await (const [key, bytes] of view.entries(namespaceBreakersPrefix(cluster))) {
    rules.set(key, view.codec.decode(bytes) as StateValue)
    namespaces.add(lastPart(key))
  }
  const moment = await past.momentOf(view, asked)
  const { partition } = view.partition
  const then = await index.rulesAt(partition, moment)
  const begin = index.rulesBegin(partition)
  if (moment.at < begin) {
    const since = timeOf(begin)
    throw new Problem(
      410,
      `what held objects of cluster ${view.name} is kept no longer; the earliest moment is ${since}`,
    )
  }
  for (const [key, value] of then) {
    rules.set(key, value)
    if (key.startsWith(namespaceBreakersPrefix(cluster))) namespaces.add(lastPart(key))
  }
  return { moment, namespaces, reader: { get: (key) => rules.get(key) ?? undefined } }
}

function sourceOf({ index }: PastHeldParts, then: Then, scope: HeldScope): HeldSource {
  const { view, moment } = then
  let cut = ''
  return {
    cluster: view.cluster,
    asOf: asOfMoment(view, moment),
    breakers: () => breakersOf(then),
    async *objects() {
      yield* objectsOf(index, then, scope)
      cut = await cutText(index, then, scope)
    },
    described: async (object) => object,
    refused: () => undefined,
    partial: () => cut,
  }
}

/** What held these then is not kept. */
async function cutText(
  { spans }: Pick<HistoryIndex, 'spans'>,
  { view: { cluster, turns }, moment }: Then,
  { namespace }: HeldScope,
): Promise<string> {
  const keys = await spans.cutPage(cluster, MOST_CUT)
  let count = 0
  for (const key of keys) {
    await turns.take()
    const object = spans.objectAt(cluster, uidIn(key), moment)
    const isMeant = namespace === undefined || object?.namespace === namespace
    if (isMeant && object?.phase === 'unknown') count += 1
  }
  if (count === 0 && keys.length < MOST_CUT) return ''
  const most = keys.length < MOST_CUT ? `${count}` : `more than ${count}`
  const objects = most === '1' ? '1 object' : `${most} objects`
  return `whether ${objects} that changed very often ${most === '1' ? 'was' : 'were'} held is not kept so far back`
}

async function* breakersOf({
  view: { cluster },
  reader,
  namespaces,
}: Then): AsyncIterable<OpenBreakerOfCluster> {
  for (const namespace of ['', ...[...namespaces].sort()]) {
    yield* openOne(reader, cluster, namespace)
  }
}

async function* objectsOf(
  { spans }: Pick<HistoryIndex, 'spans'>,
  { view: { cluster, turns }, moment }: Then,
  { namespace }: HeldScope,
): AsyncIterable<HeldObject> {
  for (let after = ''; ; ) {
    const page = await spans.heldPage(cluster, namespace, moment, after, PAGE_KEYS)
    for (const [key, isMeant] of page) {
      await turns.take()
      const past = isMeant ? spans.objectAt(cluster, uidIn(key), moment) : undefined
      if (past?.held != null) yield heldObject(past, past.held)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_KEYS) return
    after = last[0]
  }
}
