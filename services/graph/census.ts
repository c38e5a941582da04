/**
 * What this process' part of the graph holds, counted for metrics: a walk over the nodes of each of its tasks, a page at a time, that never ends.
 *
 * What must stay true: it reads what is committed and changes nothing; a count is that of the last whole walk, so it may be as old as a walk
 * takes, and its labels are few.
 */
import { openBreakerOf } from '../../core/breaker.ts'
import { pausedBecause } from '../../core/directive.ts'
import type { StateReader } from '../../core/graph.ts'
import { ALL_NODES_PREFIX } from '../../core/key.ts'
import type { HeldBy, Node, VerdictType } from '../../core/node.ts'
import type { ClusterId } from '../../core/object.ts'
import { standingOf } from '../../core/standing.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import { prefixRange, type StoreEntry, StoreError } from '../../ports/store.ts'
import { DecodedValues } from './decoded-values.ts'
import type { Graph } from './graph.ts'
import type { Task } from './task.ts'

/** Of one cluster, over all partitions. */
export interface ClusterCount {
  readonly cluster: ClusterId
  readonly edges: number
  readonly dangling: number
  /** Of those that the policy holds: by what holds them. */
  readonly held: Readonly<Record<HeldBy, number>>
  readonly isBreakerOpen: boolean
  readonly isPaused: boolean
  /** Objects that would go, or lose a reference, and may not: by why. */
  readonly blocked: Readonly<Record<BlockedBecause, BlockedCount>>
}

export interface BlockedCount {
  readonly objects: number
  /** First refusal of those that are tried; null when none is. */
  readonly since: number | null
  /** Most tries of one object. */
  readonly tries: number
  /** The next one, as of the walk; null when only news can help. */
  readonly nextTry: number | null
  /** Of one of them, for people. */
  readonly example: string
}

/** `unresolvable`: an owner cannot be looked up. - `held`: the policy does not let such evidence act. - `refused`: the cluster did not take the command. */
export type BlockedBecause = 'unresolvable' | 'held' | 'refused'

const NONE: BlockedCount = { objects: 0, since: null, tries: 0, nextTry: null, example: '' }

const NONE_HELD: Readonly<Record<HeldBy, number>> = {
  mode: 0,
  pause: 0,
  protection: 0,
  approval: 0,
  breaker: 0,
  hold: 0,
  budget: 0,
}

export interface Census {
  counts(): readonly ClusterCount[]
  run(signal: AbortSignal): Promise<void>
}

/** Nodes read at once, and the wait before the next: some thousand a second, under a hundredth of a core. */
const PAGE_NODES = 200
const PAGE_EVERY_MS = 200
/** Between two walks. */
const WALK_EVERY_MS = 5_000
/** A node with one of these has no reference that dangles. */
const SOUND: ReadonlySet<VerdictType> = new Set(['keep', 'verify'])

/** These ask something of the cluster. */
const ASKING: ReadonlySet<VerdictType> = new Set(['reap', 'drop', 'finish'])

type Counting = { -readonly [Key in keyof ClusterCount]: ClusterCount[Key] } & {
  readonly blocked: Record<BlockedBecause, BlockedCount>
  readonly held: Record<HeldBy, number>
}

export function createCensus(graph: Pick<Graph, 'tasks'>, codec: Codec, clock: Clock): Census {
  let counted: readonly ClusterCount[] = []

  async function walk(
    task: Task,
    into: Map<ClusterId, Counting>,
    signal: AbortSignal,
  ): Promise<void> {
    let { gte } = prefixRange(ALL_NODES_PREFIX, PAGE_NODES)
    for (;;) {
      const page = await task.store.page({ ...prefixRange(ALL_NODES_PREFIX, PAGE_NODES), gte })
      // All dependents of an owner ask for it, and for the same cluster and kind.
      const reader = new DecodedValues(task.store, codec)
      for (const entry of page) countNode(reader, codec, entry, into)
      const last = page.at(-1)?.[0]
      if (last === undefined || page.length < PAGE_NODES) return
      gte = `${last}\0`
      await clock.sleep(PAGE_EVERY_MS, signal)
      signal.throwIfAborted()
    }
  }

  async function walkAll(signal: AbortSignal): Promise<readonly ClusterCount[] | undefined> {
    const { tasks } = graph
    if (!tasks.every((task) => task.status().state === 'folding')) return undefined
    const into = new Map<ClusterId, Counting>()
    for (const task of tasks) await walk(task, into, signal)
    return [...into.values()]
  }

  return {
    counts: () => counted,
    async run(signal) {
      while (!signal.aborted) {
        try {
          counted = (await walkAll(signal)) ?? counted
        } catch (error) {
          if (signal.aborted) return
          // It is being rebuilt, or closed and somebody else's now: its task sees to that.
          if (!(error instanceof StoreError)) throw error
        }
        await clock.sleep(WALK_EVERY_MS, signal)
      }
    },
  }
}

function countNode(
  reader: StateReader,
  codec: Codec,
  [key, value]: StoreEntry,
  into: Map<ClusterId, Counting>,
): void {
  const cluster = key.split('/')[1] ?? ''
  const node = codec.decode(value) as Node
  let count = into.get(cluster)
  if (count === undefined) {
    const blocked = { unresolvable: NONE, held: NONE, refused: NONE }
    const id = decodeURIComponent(cluster)
    const isBreakerOpen = openBreakerOf(reader, id) !== undefined
    const isPaused = pausedBecause(reader, id) !== ''
    const held = { ...NONE_HELD }
    count = { cluster, edges: 0, dangling: 0, held, isBreakerOpen, isPaused, blocked }
    into.set(cluster, count)
  }
  count.edges += node.places.filter((place) => place !== null).length
  count.dangling += danglingOf(reader, cluster, node)
  const by = node.hold?.by ?? null
  if (by !== null) count.held[by] += 1
  const because = blockedBecause(node)
  if (because !== undefined) count.blocked[because] = withOne(count.blocked[because], node)
}

function withOne(count: BlockedCount, { object, verdict, attempt }: Node): BlockedCount {
  const refused = attempt?.state === 'backoff' ? attempt : null
  const reason = refused?.reason || verdict?.because
  return {
    objects: count.objects + 1,
    since: least(count.since, refused?.since ?? null),
    tries: Math.max(count.tries, refused?.count ?? 0),
    nextTry: least(count.nextTry, refused?.until ?? null),
    example: count.example || `${object.kind}/${object.name}: ${reason}`,
  }
}

function least(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

function danglingOf(reader: StateReader, cluster: ClusterId, node: Node): number {
  if (node.verdict === null || SOUND.has(node.verdict.type)) return 0
  const standings = node.object.ownerReferences.map(
    (reference) => standingOf(reader, cluster, node.object, reference).standing,
  )
  return standings.filter((standing) => standing === 'dangling').length
}

function blockedBecause({ verdict, attempt }: Node): BlockedBecause | undefined {
  if (verdict?.type === 'blocked') return 'unresolvable'
  if (verdict?.type === 'held') return 'held'
  const isAsked = verdict !== null && ASKING.has(verdict.type)
  return isAsked && attempt?.outcome === 'blocked' ? 'refused' : undefined
}
