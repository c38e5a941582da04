/**
 * What is held, by what, and what would let it go; and the plan that an approval is of.
 *
 * What must stay true: it reads what is committed and changes nothing. A digest is of all partitions or there is none, and names the very sets that the
 * fold of each compares with its own.
 *
 * Not here: what holds what (core/hold.ts), taking an approval (core/approval.ts).
 */
import { createHash } from 'node:crypto'
import { firstApprovalOf } from '../../core/approval.ts'
import { openBreakerOf } from '../../core/breaker.ts'
import { clusterOf, directivesOf, nodeOf, policyOf } from '../../core/graph.ts'
import type { SetHash } from '../../core/hash.ts'
import { isSameSet } from '../../core/hash.ts'
import { listedBy, planOf } from '../../core/held-plan.ts'
import { heldPrefix, lastPart, nodeKey } from '../../core/key.ts'
import type { HeldBy, Node } from '../../core/node.ts'
import type { ClusterId, Uid } from '../../core/object.ts'
import { prefixRange } from '../../ports/store.ts'
import { Problem } from '../../runtime/problem.ts'
import { clusterLabels } from './cluster-label.ts'
import type { Answer } from './query.ts'
import { type BlockedCount, bothBlocked } from './tally.ts'
import type { View, Views } from './view.ts'
import { piecesOf } from './view.ts'

/** Keys read at once, groups that are counted apart, and how often a plan is made again when what is held changed meanwhile. */
const PAGE_HELD = 500
const MOST_GROUPS = 5_000
const ATTEMPTS = 3

export interface HeldObject {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  readonly by: HeldBy
  readonly evidence: string
  /** What would be done. */
  readonly what: string
  readonly because: string
  readonly since: number
  readonly until: number | null
}

export interface HeldCount {
  readonly cluster: string
  readonly by: HeldBy
  readonly evidence: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly count: number
  /** Since when the first of them is to go. */
  readonly since: number
  /** When the first of them may go; null when no time lets it. */
  readonly until: number | null
  /** Of one of them. */
  readonly because: string
}

export interface OpenBreaker {
  readonly cluster: string
  /** As `--cluster` takes it: its name, or its id where another has that name. */
  readonly scope: string
  readonly since: number
  readonly because: string
}

/** What somebody ordered that still stands. */
export interface StandingOrder {
  /** Empty for all. */
  readonly cluster: string
  /** As `--cluster` takes it: its name, or its id where another has that name. */
  readonly scope: string
  readonly who: string
  readonly why: string
}

export interface StandingProtection extends StandingOrder {
  readonly subject: string
}

/** By the cluster, or by reapers: they may make dry runs only. */
export interface RefusedCount extends BlockedCount {
  readonly cluster: string
}

export interface HeldAnswer {
  /** While one stands nothing goes where it is for. */
  readonly pauses: readonly StandingOrder[]
  /** By name; what the policy protects stands in the config. */
  readonly protections: readonly StandingProtection[]
  /** While one is open nothing goes in its cluster. */
  readonly breakers: readonly OpenBreaker[]
  /** What nothing holds, and yet is not carried out: of each cluster that has any. */
  readonly refused: readonly RefusedCount[]
  readonly total: number
  readonly counts: readonly HeldCount[]
}

export interface HeldPlan {
  readonly cluster: string
  readonly total: number
  /** As many as were asked for. */
  readonly objects: readonly HeldObject[]
  /** SHA-256 over the sets of all partitions; null when not all could be read. */
  readonly digest: string | null
  /** How many people have to approve it. */
  readonly approvals: number
  /** Who of two has; null for nobody yet. */
  readonly first: ApprovalSoFar | null
}

export interface ApprovalSoFar {
  readonly who: string
  readonly why: string
  /** Log time at which it is forgotten. */
  readonly until: number
}

/** What is held for approval in a cluster: over all partitions, and the set of each. */
export interface HeldSets {
  readonly digest: string
  readonly listed: readonly SetHash[]
}

export interface Holdings {
  /** Of a cluster by name or id, or of all. */
  held(cluster: string | undefined): Promise<Answer<HeldAnswer>>
  /** What an approval would let go. */
  plan(cluster: string | undefined, limit: number): Promise<Answer<HeldPlan>>
  /** What waits for approval just now. */
  sets(cluster: ClusterId): Promise<HeldSets>
  /** Who of two people has approved just that; null for nobody. */
  firstApproval(cluster: ClusterId): Promise<ApprovalSoFar | null>
}

export function createHoldings(views: Views): Holdings {
  return {
    async held(named) {
      const view = await views.open()
      const counts = new Map<string, HeldCount>()
      let total = 0
      let isCut = false
      const breakers: OpenBreaker[] = []
      const clusters = await clustersOf(view, named)
      const orders = await view.read(() => ordersOf(view, [ALL, ...clusters]))
      for (const { id, cluster, scope } of clusters) {
        const open = await view.read(() => breakersOf(view, id))
        breakers.push(...open.map((breaker) => ({ cluster, scope, ...breaker })))
        for await (const object of heldIn(view, id)) {
          total += 1
          isCut = !count(counts, cluster, object) || isCut
        }
      }
      const cut = isCut ? `more than ${MOST_GROUPS} groups: some are not listed` : ''
      const { refused, uncounted } = await refusedIn(view, clusters)
      const partial = [view.partial(), cut, uncounted].filter((text) => text !== '').join('; ')
      const listed = [...counts.values()].sort(byCount)
      return { answer: { ...orders, breakers, refused, total, counts: listed }, partial }
    },
    async plan(named, limit) {
      for (let attempt = 1; ; attempt++) {
        const view = await views.open()
        const clusters = await clustersOf(view, named)
        const [first, second] = clusters
        if (first === undefined) throw new Problem(404, 'no cluster was ever seen')
        if (second !== undefined) {
          const names = clusters.map((each) => each.cluster).join(', ')
          throw new Problem(400, `say which cluster with --cluster: ${names}`)
        }
        const { id, cluster } = first
        const before = await setsOf(await views.open(), id)
        const objects: HeldObject[] = []
        for await (const object of heldIn(view, id)) {
          if (object.by === 'approval' && objects.length < limit) objects.push(object)
        }
        const now = await views.open()
        const after = await setsOf(now, id)
        const isTorn = after.digest !== before.digest
        if (isTorn && attempt < ATTEMPTS) continue
        const doubt = isTorn ? 'what is held changed while it was listed: ask again' : ''
        const partial = [view.partial() || now.partial(), doubt]
          .filter((text) => text !== '')
          .join('; ')
        const total = after.listed.reduce((sum, set) => sum + set.count, 0)
        const digest = partial === '' ? after.digest : null
        const said = await now.read(() => {
          return { approvals: approvalsOf(now), first: firstIn(now, id) }
        })
        const answer = { cluster, total, objects: objects.sort(byName), digest, ...said }
        return { answer, partial }
      }
    },
    async sets(cluster) {
      const view = await views.open()
      const sets = await setsOf(view, cluster)
      if (view.partial() === '') return sets
      throw new Problem(
        503,
        `not all that is held could be read: ${view.partial()}; ask again later`,
      )
    },
    async firstApproval(cluster) {
      const view = await views.open()
      return await view.read(() => firstIn(view, cluster))
    },
  }
}

/** Of these clusters, by name; each partition knows the same ones, but for a moment. */
function ordersOf(
  { readers }: View,
  named: readonly NamedCluster[],
): Pick<HeldAnswer, 'pauses' | 'protections'> {
  const names = new Map(named.map(({ id, ...name }) => [id, name]))
  const pauses = new Map<string, StandingOrder>()
  const protections = new Map<string, StandingProtection>()
  for (const reader of readers) {
    const known = directivesOf(reader)
    for (const { cluster, who, why } of known.pauses) {
      const name = names.get(cluster)
      if (name !== undefined) pauses.set(cluster, { ...name, who, why })
    }
    for (const { cluster, subject, who, why, liftedAt } of known.protections) {
      const name = names.get(cluster)
      if (name === undefined || liftedAt !== null) continue
      protections.set(JSON.stringify([cluster, subject]), { ...name, subject, who, why })
    }
  }
  return { pauses: [...pauses.values()], protections: [...protections.values()] }
}

/** It is the same in all partitions, but for a moment. */
function breakersOf(
  view: View,
  cluster: ClusterId,
): readonly Pick<OpenBreaker, 'since' | 'because'>[] {
  const all = view.readers.flatMap((reader) => openBreakerOf(reader, cluster) ?? [])
  const [first] = all
  return first === undefined ? [] : [{ since: first.openedAt, because: first.because }]
}

/** Of these clusters, by name, over all partitions. */
async function refusedIn(
  { partitions }: View,
  named: readonly NamedCluster[],
): Promise<{ readonly refused: readonly RefusedCount[]; readonly uncounted: string }> {
  const names = new Map(named.map(({ id, cluster }) => [id, cluster]))
  const told = await Promise.all(partitions.map((partition) => partition.counts()))
  const sums = new Map<ClusterId, RefusedCount>()
  for (const { cluster, blocked } of told.flatMap((counts) => counts ?? [])) {
    const { refused } = blocked
    const name = names.get(cluster)
    if (name === undefined || refused.objects === 0) continue
    const sum = sums.get(cluster)
    sums.set(cluster, { cluster: name, ...(sum ? bothBlocked(sum, refused) : refused) })
  }
  const isWhole = told.every((counts, index) => counts || partitions[index]?.doubt() !== '')
  const uncounted = isWhole ? '' : 'what is not carried out is still being counted'
  return { refused: [...sums.values()], uncounted }
}

async function setsOf(view: View, cluster: ClusterId): Promise<HeldSets> {
  const listed = await view.read(() => view.readers.map((reader) => planOf(reader, cluster)))
  const text = JSON.stringify([cluster, listed.map(({ count, high, low }) => [count, high, low])])
  return { digest: createHash('sha256').update(text).digest('hex'), listed }
}

interface NamedCluster {
  readonly id: ClusterId
  /** For people. */
  readonly cluster: string
  readonly scope: string
}

/** What is ordered for all. */
const ALL: NamedCluster = { id: '', cluster: '', scope: '' }

/** Of that name or id, or all. */
async function clustersOf(view: View, named: string | undefined): Promise<readonly NamedCluster[]> {
  const ids = await view.clusters()
  const names = await view.read(() => new Map(ids.map((id) => [id, view.clusterName(id)])))
  const labelOf = clusterLabels(names)
  const all = [...names].map(([id, name]) => {
    const cluster = labelOf(id)
    return { id, cluster, scope: cluster === name ? name : id }
  })
  const found = all.filter(
    ({ id }) => named === undefined || id === named || names.get(id) === named,
  )
  if (found.length > 0 || named === undefined) return found
  const known = all.map(({ cluster }) => cluster).join(', ')
  throw new Problem(404, `no cluster ${named} was ever seen; there is ${known || 'none'}`)
}

async function* heldIn(view: View, cluster: ClusterId): AsyncIterable<HeldObject> {
  const prefix = heldPrefix(cluster)
  for (const [index, partition] of view.partitions.entries()) {
    const reader = view.readers[index]
    if (reader === undefined) continue
    for (let range = prefixRange(prefix, PAGE_HELD); ; ) {
      const page = await partition.page(range)
      const uids = page.map(([key]) => lastPart(key))
      await partition.fetch(uids.map((uid) => nodeKey(cluster, uid)))
      for (const some of piecesOf(uids)) {
        yield* await view.read(() => some.flatMap((uid) => heldOf(nodeOf(reader, cluster, uid))))
      }
      const last = page.at(-1)?.[0]
      if (last === undefined || page.length < PAGE_HELD) break
      range = { ...range, gte: `${last}\0` }
      view.forget()
    }
  }
}

/** Nothing when it is held no more, or by a mode that only records. */
function heldOf(node: Node | undefined): HeldObject[] {
  const by = node === undefined ? null : listedBy(node)
  if (node === undefined || by === null) return []
  const { object, hold, attempt, verdict } = node
  const { group, kind, namespace, name, uid } = object
  const { because = '', evidence = null } = verdict ?? {}
  // A dry run was accepted: no time lets it go.
  const tried = { what: attempt?.verb ?? '', since: attempt?.since ?? 0, until: null }
  const { what, since, until } = hold?.by == null ? tried : hold
  const place = { group, kind, namespace, name, uid }
  return [{ ...place, by, evidence: evidence ?? '', what, because, since, until }]
}

/** False when there are too many groups for one more. */
function count(counts: Map<string, HeldCount>, cluster: string, object: HeldObject): boolean {
  const { by, evidence, group, kind, namespace, since, until, because } = object
  const key = JSON.stringify([cluster, by, evidence, group, kind, namespace])
  const former = counts.get(key)
  if (former === undefined && counts.size >= MOST_GROUPS) return false
  const one = { cluster, by, evidence, group, kind, namespace, count: 1, since, until, because }
  counts.set(
    key,
    former === undefined
      ? one
      : {
          ...former,
          count: former.count + 1,
          since: Math.min(former.since, since),
          until: least(former.until, until),
        },
  )
  return true
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

function byCount(a: HeldCount, b: HeldCount): number {
  return compare(orderOf(a), orderOf(b))
}

function byName(a: HeldObject, b: HeldObject): number {
  return compare([a.kind, a.namespace, a.name, a.uid], [b.kind, b.namespace, b.name, b.uid])
}

function orderOf({ cluster, by, evidence, kind, namespace }: HeldCount): readonly string[] {
  return [cluster, by, evidence, kind, namespace]
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((part, index) => part !== b[index])
  if (at < 0) return 0
  return (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
}

function approvalsOf({ readers }: View): number {
  return Math.max(1, ...readers.map((reader) => policyOf(reader).policy.approvals))
}

/** Of the first partition that holds something and was told: in each the same, but for one that is behind. */
function firstIn({ readers }: View, cluster: ClusterId): ApprovalSoFar | null {
  for (const reader of readers) {
    const first = firstApprovalOf(reader, cluster)
    const isOver = first === undefined || first.until <= (clusterOf(reader, cluster)?.now ?? 0)
    if (isOver || !isSameSet(first.set, planOf(reader, cluster))) continue
    return { who: first.who, why: first.why, until: first.until }
  }
  return null
}
