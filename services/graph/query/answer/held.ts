/**
 * What is held, by what, and what would release it; and the plan that an approval is of.
 *
 * What must stay true: it reads committed state and changes nothing. A digest names exactly the set
 * that the fold of its cluster compares with its own; there is none while that set is unclear.
 * Processes name clusters to each other by id: only the process that asks all others knows which
 * names two clusters share.
 *
 * Not here: what holds what (core/admit/hold.ts), taking an approval (core/admit/approval.ts), what
 * was held at a moment of the past (held-then.ts).
 */
import { createHash } from 'node:crypto'
import { openBreakerOf } from '../../../../core/admit/breaker.ts'
import type { ClusterFacts } from '../../../../core/graph/facts.ts'
import { directivesOf, policyOf, type StateReader } from '../../../../core/graph/graph.ts'
import { heldPrefix, lastPart, namespaceBreakersPrefix } from '../../../../core/graph/key.ts'
import type { SetHash } from '../../../../core/model/hash.ts'
import { isSameSet } from '../../../../core/model/hash.ts'
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf } from '../../../../core/model/node.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import type { KnownHold } from '../../../../ports/record/lineage.ts'
import type { HeldPlan as AnsweredPlan, Held } from '../../api/answer-schema.ts'
import type { AnswerOf, AsOf, ClusterRef, Row } from '../../api/document.ts'
import { knownHold } from '../../fold/known-object.ts'
import type { BlockedCount } from '../../fold/tally.ts'
import { HIDDEN, LEFT_OUT, type Sight, WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import type { Answer, Query } from './query.ts'

/** Rows are made by cluster id, and answered with a reference. */
type Told<T> = Omit<T, 'cluster'> & { readonly cluster: ClusterId }

/**
 * Groups that are counted apart, and how often a plan is made again when what is held changed
 * meanwhile.
 */
const MOST_GROUPS = 5_000
const ATTEMPTS = 3

export interface HeldObject extends Row<HeldPlan['objects']> {
  readonly since: number
}

export interface HeldCount extends Row<HeldAnswer['counts']> {
  readonly since: number
}

/** A group on its way; `example` is its first object that may be deleted. */
interface Counted extends Pick<HeldCount, 'count' | 'since'> {
  readonly source: HeldSource
  readonly example: HeldObject
}

type OpenBreaker = Row<HeldAnswer['breakers']>

/** An order of a user that is still in effect. */
type StandingOrder = Row<HeldAnswer['pauses']>

type StandingProtection = Row<HeldAnswer['protections']>

/** By the cluster, or by reapers: they may make dry runs only. */
type RefusedCount = Row<HeldAnswer['refused']>

export interface HeldAnswer extends AnswerOf<Held> {
  /** By namespace a count would say what others have (sight.ts). */
  readonly hidden: 0
}

/** What one answer is about. */
export interface HeldScope {
  /** Undefined: all. */
  readonly namespace: string | undefined
  /** Who asks may see the whole graph. */
  readonly isWhole: boolean
  sight(cluster: ClusterId): Promise<Sight>
}

const EVERYTHING: HeldScope = { namespace: undefined, isWhole: true, sight: async () => WHOLE }

export type HeldPlan = AnswerOf<AnsweredPlan>

export type ApprovalSoFar = NonNullable<HeldPlan['first']>

/** What is held for approval in a cluster. */
export interface ApprovalSet {
  readonly digest: string
  readonly set: SetHash
}

/** Of the clusters of one process, by id; orders also of the others. */
export interface OwnHeld extends Pick<HeldAnswer, 'mode' | 'total' | 'hidden'> {
  readonly pauses: readonly Told<StandingOrder>[]
  readonly protections: readonly Told<StandingProtection>[]
  readonly breakers: readonly Told<OpenBreaker>[]
  readonly refused: readonly Told<RefusedCount>[]
  readonly counts: readonly Told<HeldCount>[]
  readonly partial: string
  readonly asOf: readonly AsOf[]
}

type Namesakes = Pick<Query, 'namesake'>

/**
 * What is held in the clusters that this process has. `readers`: of its partitions, each of which
 * holds all orders.
 */
export async function heldIn(
  views: readonly View[],
  readers: readonly StateReader[],
  query: Namesakes,
  scope: HeldScope = EVERYTHING,
): Promise<OwnHeld> {
  // An answer to a user who may not see the namesake of an owner does not have it.
  const namesakes = scope.isWhole ? query : NO_NAMESAKES
  const sources = views.map((view) => sourceOf(view, namesakes, scope))
  return await heldBySources(sources, readers, scope)
}

/** Of one cluster, at one moment. */
export interface HeldSource {
  readonly cluster: ClusterId
  readonly asOf: AsOf
  breakers(): AsyncIterable<OpenBreakerOfCluster>
  objects(): AsyncIterable<HeldObject>
  /** With what is to be said of it beside. */
  described(object: HeldObject): Promise<HeldObject>
  refused(): BlockedCount | undefined
  /** Once all was read. */
  partial(): string
}

export type OpenBreakerOfCluster = Omit<OpenBreaker, 'cluster'>

function sourceOf(view: View, namesakes: Namesakes, { isWhole }: HeldScope): HeldSource {
  const { cluster, partition } = view
  // Of the past nothing is counted.
  const counts = view.moment === null ? partition.counts() : []
  const uncounted = (): string => (isWhole && counts === undefined ? UNCOUNTED : '')
  return {
    cluster,
    asOf: view.asOf(),
    breakers: () => openBreakersOf(view),
    objects: () => heldObjects(view),
    described: async (object) => await withNamesake(view, namesakes, object),
    refused: () => counts?.find((tally) => tally.cluster === cluster)?.blocked.refused,
    partial: () => view.partial() || uncounted(),
  }
}

/** `readers`: of the same moment. */
export async function heldBySources(
  sources: readonly HeldSource[],
  readers: readonly StateReader[],
  scope: HeldScope,
): Promise<OwnHeld> {
  const counts = new Map<string, Counted>()
  let isCut = false
  let total = 0
  const breakers: OwnHeld['breakers'][number][] = []
  const refused: Told<RefusedCount>[] = []
  const doubts = new Set<string>()
  for (const source of sources) {
    const { cluster } = source
    const sight = await scope.sight(cluster)
    const shown = new Set<string>()
    for await (const object of source.objects()) {
      if (!isIn(scope, object.namespace) || !(await sight.shows(object))) continue
      total += 1
      shown.add(object.namespace)
      isCut = !count(counts, source, object) || isCut
    }
    for await (const open of source.breakers()) {
      const isOfAll = open.namespace === ''
      const isIts = isIn(scope, open.namespace) && (sight.isWhole || shown.has(open.namespace))
      if (!isOfAll && !isIts) continue
      // The reason of the cluster's breaker may name any object of it.
      const because = isOfAll && !scope.isWhole ? HIDDEN : open.because
      breakers.push({ cluster, ...open, because })
    }
    if (!scope.isWhole) doubts.add(LEFT_OUT)
    doubts.add(source.partial())
    const own = scope.isWhole ? source.refused() : undefined
    if (own !== undefined && own.objects > 0) refused.push({ cluster, ...own })
  }
  if (isCut) doubts.add(`more than ${MOST_GROUPS} groups: some are not listed`)
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  const told: Told<HeldCount>[] = []
  for (const each of counts.values()) told.push(await countOf(each))
  const [reader] = readers
  return {
    mode: reader === undefined ? null : policyOf(reader).policy.mode,
    ...ordersOf(readers, scope),
    ...{ breakers, refused, total, hidden: 0, counts: told, partial },
    asOf: sources.map(({ asOf }) => asOf),
  }
}

/** The cluster's own, and those of its namespaces. */
export async function* openBreakersOf(view: View): AsyncIterable<OpenBreakerOfCluster> {
  const { facts, cluster } = view
  yield* openOne(facts, '')
  for await (const [key] of view.entries(namespaceBreakersPrefix(cluster))) {
    yield* openOne(facts, lastPart(key))
  }
}

function openOne(facts: ClusterFacts, namespace: string): OpenBreakerOfCluster[] {
  const open = openBreakerOf(facts, namespace)
  return open === undefined ? [] : [{ namespace, since: open.openedAt, because: open.because }]
}

const NO_NAMESAKES: Namesakes = { namesake: async () => '' }

function isIn({ namespace: asked }: HeldScope, namespace: string): boolean {
  return asked === undefined || asked === namespace
}

const UNCOUNTED = 'what is not carried out is still being counted'

/** Of what each process holds: one answer, about these clusters. */
export function heldOfAll(
  all: readonly OwnHeld[],
  named: readonly ClusterRef[],
): Answer<HeldAnswer> & Pick<OwnHeld, 'asOf'> {
  const refs = new Map(named.map(({ name, id, scope }) => [id, { name, id, scope }]))
  const told = <T extends { readonly cluster: ClusterId }>(each: T) => {
    const cluster = refs.get(each.cluster)
    return cluster === undefined ? [] : [{ ...each, cluster }]
  }
  const ordered = <T extends { readonly cluster: ClusterId }>(each: T) =>
    each.cluster === '' ? [{ ...each, cluster: null }] : told(each)
  const answer: HeldAnswer = {
    mode: all.find(({ mode }) => mode !== null)?.mode ?? null,
    pauses: distinct(all.flatMap(({ pauses }) => pauses)).flatMap(ordered),
    protections: distinct(all.flatMap(({ protections }) => protections)).flatMap(ordered),
    breakers: all.flatMap(({ breakers }) => breakers.flatMap(told)),
    refused: all.flatMap(({ refused }) => refused.flatMap(told)),
    clock: '',
    total: all.reduce((sum, { total }) => sum + total, 0),
    hidden: 0,
    counts: all.flatMap(({ counts }) => counts.flatMap(told)).sort(byCount),
  }
  const doubts = new Set(all.map(({ partial }) => partial))
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { answer, partial, asOf: onePerPartition(all.flatMap(({ asOf }) => asOf)) }
}

/** Of several clusters of one partition the time that is furthest back. */
export function onePerPartition(all: readonly AsOf[]): readonly AsOf[] {
  const sorted = all.toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))
  const last = new Map(sorted.map((each) => [each.partition, each]))
  return [...last.values()].sort((a, b) => a.partition - b.partition)
}

/** Each process says the same of the orders, except one that lags: the first counts. */
function distinct<T extends { readonly cluster: ClusterId; readonly subject?: string }>(
  orders: readonly T[],
): readonly T[] {
  const keyOf = ({ cluster, subject = '' }: T): string => JSON.stringify([cluster, subject])
  return [...new Map(orders.toReversed().map((each) => [keyOf(each), each])).values()].toReversed()
}

/** Of what is protected, who may not see all learns of the namespace that is asked for. */
function ordersOf(
  readers: readonly StateReader[],
  { isWhole, namespace }: HeldScope,
): Pick<OwnHeld, 'pauses' | 'protections'> {
  const known = readers.map(directivesOf)
  const standing = known.flatMap(({ protections }) =>
    protections.filter(({ liftedAt, subject }) => {
      return liftedAt === null && (isWhole || subject === `namespace/${namespace}`)
    }),
  )
  return {
    pauses: distinct(known.flatMap(({ pauses }) => pauses)).map(({ cluster, who, why }) => {
      return { cluster, who, why }
    }),
    protections: distinct(standing).map(({ cluster, subject, who, why }) => {
      return { cluster, subject, who, why }
    }),
  }
}

/** What an approval would release. */
export async function heldPlanOf(
  view: View,
  limit: number,
  query: Namesakes,
): Promise<Answer<HeldPlan>> {
  for (let attempt = 1; ; attempt++) {
    const before = approvalSetOf(view)
    const objects: HeldObject[] = []
    for await (const object of heldObjects(view)) {
      if (object.by !== 'approval' || objects.length >= limit) continue
      objects.push(await withNamesake(view, query, object))
    }
    const { digest, set } = approvalSetOf(view)
    const isTorn = digest !== before.digest
    if (isTorn && attempt < ATTEMPTS) continue
    const doubt = isTorn ? 'what is held changed while it was listed: ask again' : ''
    const partial = [view.partial(), doubt].filter((text) => text !== '').join('; ')
    const answer: HeldPlan = {
      total: set.count,
      objects: objects.sort(byName),
      digest: partial === '' ? digest : null,
      approvals: Math.max(1, policyOf(view.reader).policy.approvals),
      first: firstApprovalIn(view),
    }
    return { answer, partial }
  }
}

/** What waits for approval just now. */
export function approvalSetOf({ facts, cluster }: View): ApprovalSet {
  const set = facts.plan
  const text = JSON.stringify([cluster, [set.count, set.high, set.low]])
  return { digest: createHash('sha256').update(text).digest('hex'), set }
}

/** The first of two people who approve exactly that set; null for none. */
export function firstApprovalIn({ facts }: View): ApprovalSoFar | null {
  const first = facts.firstApproval
  const isOver = first === undefined || first.until <= (facts.state?.now ?? 0)
  if (isOver || !isSameSet(first.set, facts.plan)) return null
  return { who: first.who, why: first.why, until: first.until }
}

async function* heldObjects(view: View): AsyncIterable<HeldObject> {
  for await (const [key] of view.entries(heldPrefix(view.cluster))) {
    yield* heldOf(view.node(lastPart(key)))
  }
}

/**
 * A user who reads that an owner was deleted, and finds an object of its name, has to know that it
 * is another one.
 */
async function withNamesake(view: View, query: Namesakes, object: HeldObject): Promise<HeldObject> {
  const node = view.node(object.uid)
  const also = node === undefined ? '' : await query.namesake(view, node)
  return also === '' ? object : { ...object, because: object.because + also }
}

/** Nothing when it is held no more, or by a mode that only records. */
function heldOf(node: Node | undefined): HeldObject[] {
  const hold = knownHold(node)
  return node === undefined || hold === null ? [] : [heldObject(node, hold)]
}

function heldObject(node: Node, { evidence, ...hold }: KnownHold): HeldObject {
  const { object, verdict } = node
  const { group, kind, namespace, name, uid } = object
  const type = verdict && { type: verdict.type, because: verdict.because }
  const judged = { verdict: type, admission: admissionOf(node) }
  return { group, kind, namespace, name, uid, ...judged, ...hold, evidence: evidence ?? '' }
}

/** False when there are too many groups for one more. */
function count(counts: Map<string, Counted>, source: HeldSource, object: HeldObject): boolean {
  const key = groupKey(source.cluster, object)
  const former = counts.get(key)
  if (former === undefined && counts.size >= MOST_GROUPS) return false
  const { since } = object
  counts.set(
    key,
    former === undefined
      ? { source, example: object, count: 1, since }
      : {
          ...former,
          example: isSooner(object, former.example) ? object : former.example,
          count: former.count + 1,
          since: Math.min(former.since, since),
        },
  )
  return true
}

/** When and why are those of one object: the first that may be deleted. */
async function countOf({ source, example, count, since }: Counted): Promise<Told<HeldCount>> {
  const told = await source.described(example)
  const { by, evidence, group, kind, namespace, until, because } = told
  return {
    ...{ cluster: source.cluster, by, evidence, group, kind, namespace },
    ...{ count, since, until, because },
  }
}

function groupKey(cluster: string, object: HeldObject): string {
  const { by, evidence, group, kind, namespace } = object
  return JSON.stringify([cluster, by, evidence, group, kind, namespace])
}

/** Null is after every time; of two at one time it is the one that is held for longer. */
function isSooner(a: HeldObject, b: HeldObject): boolean {
  const [left, right] = [a.until ?? Infinity, b.until ?? Infinity]
  return left === right ? a.since < b.since : left < right
}

function byCount(a: HeldCount, b: HeldCount): number {
  return compare(orderOf(a), orderOf(b))
}

function byName(a: HeldObject, b: HeldObject): number {
  return compare([a.kind, a.namespace, a.name, a.uid], [b.kind, b.namespace, b.name, b.uid])
}

function orderOf({ cluster, by, evidence, kind, namespace }: HeldCount): readonly string[] {
  return [cluster.name, cluster.id, by, evidence, kind, namespace]
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((part, index) => part !== b[index])
  if (at < 0) return 0
  return (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
}
