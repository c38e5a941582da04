/**
 * A rehearsal: the real fold over overlays of the stores, with its commands handed to the caller instead of a reaper, and what the caller says came
 * of them told to the fold as a watch would. Notes between partitions are delivered.
 *
 * What must stay true: nothing is written anywhere; the policy is that everything provable acts, what is under way for real counts for nothing, and
 * nobody waits for a kind that is out of sync.
 *
 * Not here: what the API server would do with a command (plan.ts).
 */
import type { Command } from '../../core/command.ts'
import type { Event } from '../../core/event.ts'
import { finish, fold, pageOf, resume } from '../../core/fold.ts'
import type { Graph, StateReader } from '../../core/graph.ts'
import { clusterOf, countOf, graphOver, nodeOf, policyOf } from '../../core/graph.ts'
import { AGENDA_KEY, clusterKey, edgesPrefix, lastPart, POLICY_KEY } from '../../core/key.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, ObjectMeta, Uid } from '../../core/object.ts'
import { partitionOfObject } from '../../core/partition.ts'
import type { ClusterState, StateValue } from '../../core/state.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Store, StoreEntry } from '../../ports/store.ts'
import type { Partition } from './committed.ts'
import { DecodedValues } from './decoded-values.ts'
import { overlaidPage } from './overlaid-page.ts'
import { Turns } from './turns.ts'

/** Log time goes on by as much: by then no kind is waited for any more. */
const LATER_MS = 24 * 3_600_000
/** Longer than any version of a server, so newer. */
const FIRST_VERSION = 10n ** 40n
const PAGE_EDGES = 256

export interface RehearsalOptions {
  readonly partitions: readonly Partition[]
  readonly cluster: ClusterId
  readonly codec: Codec
  readonly clock: Clock
}

/** A command that the fold issued, and the object that it is about as it stands in the rehearsal. */
export interface Issued {
  readonly command: Command
  readonly node: Node | undefined
}

interface Stage {
  readonly source: Partition
  readonly graph: Graph
  /** The store's keys that the overlay does not know. */
  readonly pages: Pick<Store, 'page'>
  /** What was read of the store, by key, to see whether it is still so. */
  readonly read: ReadonlyMap<string, string>
  position: bigint
}

export class Rehearsal {
  readonly #cluster: ClusterId
  readonly #codec: Codec
  readonly #stages: readonly Stage[]
  readonly #queue: { readonly partition: number; readonly event: Event }[] = []
  #version = FIRST_VERSION
  readonly #turns: Turns

  constructor({ partitions, cluster, codec, clock }: RehearsalOptions) {
    this.#cluster = cluster
    this.#codec = codec
    this.#turns = new Turns(clock)
    this.#stages = [...partitions]
      .sort((a, b) => a.partition - b.partition)
      .map((source) => this.#stageOf(source))
  }

  #stageOf(source: Partition): Stage {
    const decoded = new DecodedValues(source.store, this.#codec)
    const read = new Map<string, string>()
    const graph = graphOver({ get: (key) => asRead(key, decoded, read) })
    const state = clusterOf(graph, this.#cluster)
    if (state !== undefined) graph.put(clusterKey(this.#cluster), later(state))
    const policy = policyOf(graph)
    graph.put(POLICY_KEY, {
      ...policy,
      policy: { ...policy.policy, mode: 'enforce', preset: 'parity' },
    })
    graph.put(AGENDA_KEY, { type: 'Agenda', head: 0, tail: 0 })
    graph.takeRecent()
    const pages = unchangedPages(source.store, graph)
    return { source, graph, pages, read, position: source.status().position }
  }

  node(uid: Uid): Node | undefined {
    for (const { graph } of this.#stages) {
      const node = nodeOf(graph, this.#cluster, uid)
      if (node !== undefined) return node
    }
    return undefined
  }

  /** What names it as an owner now, a page at a time. */
  async *dependentPages(uid: Uid): AsyncIterable<readonly Node[]> {
    const prefix = edgesPrefix(this.#cluster, uid)
    for (const { pages, graph } of this.#stages) {
      if (countOf(graph, this.#cluster, uid) === undefined) continue
      for (let after = ''; ; ) {
        const keys = await overlaidPage(pages, graph, { prefix, after, limit: PAGE_EDGES })
        await this.#turns.take()
        yield keys.flatMap((key) => nodeOf(graph, this.#cluster, lastPart(key)) ?? [])
        if (keys.length < PAGE_EDGES) break
        after = keys.at(-1) ?? ''
      }
    }
  }

  /** Tells that the server holds this of it now; null: that it is gone. */
  tell(before: ObjectMeta, after: ObjectMeta | null): void {
    this.#version += 1n
    const partition = partitionOfObject(this.#cluster, before.namespace, this.#stages.length)
    const epoch = this.#epoch(partition)
    const resourceVersion = String(this.#version)
    const about = { cluster: this.#cluster, epoch }
    this.#queue.push({
      partition,
      event:
        after === null
          ? { type: 'ObjectDeleted', ...about, object: { ...before, resourceVersion } }
          : { type: 'ObjectUpdated', ...about, sync: null, object: { ...after, resourceVersion } },
    })
  }

  #epoch(partition: number): number {
    const graph = this.#stages[partition]?.graph
    return (graph && clusterOf(graph, this.#cluster)?.epoch) ?? 0
  }

  /** Folds what was told until nothing more follows; each command goes to `carryOut`, which may tell more. False when `isEnough` says to stop. */
  async settle(carryOut: (issued: Issued) => void, isEnough: () => boolean): Promise<boolean> {
    for (let next = 0; next < this.#queue.length; next++) {
      if (isEnough()) return false
      const told = this.#queue[next]
      const stage = this.#stages[told?.partition ?? 0]
      if (told === undefined || stage === undefined) continue
      await this.#fold(stage, told.event, carryOut)
    }
    this.#queue.length = 0
    return true
  }

  async #fold(stage: Stage, event: Event, carryOut: (issued: Issued) => void): Promise<void> {
    const { graph, source, pages, position } = stage
    const timestamp = clusterOf(graph, this.#cluster)?.now ?? 0
    const { partition } = source
    stage.position += 1n
    const folding = fold(graph, event, {
      partition,
      partitions: this.#stages.length,
      position,
      timestamp,
    })
    for (let page = pageOf(folding); page !== undefined; page = pageOf(folding)) {
      resume(folding, await overlaidPage(pages, graph, page))
      await this.#turns.take()
    }
    const { commands, notes } = finish(folding)
    graph.takeRecent()
    this.#queue.push(...notes)
    for (const command of commands) {
      carryOut({ command, node: nodeOf(graph, this.#cluster, command.target.uid) })
    }
    await this.#turns.take()
  }

  /** Something that was rehearsed upon has changed since. */
  async hasChanged(): Promise<boolean> {
    for (const { source, read } of this.#stages) {
      for (const [key, text] of read) {
        if (storedText(source, this.#codec, key) !== text) return true
        await this.#turns.take()
      }
    }
    return false
  }
}

/**
 * A key once changed in the overlay is its own for good, so the store's are passed over; how far a range begins with such is remembered. Otherwise each look
 * at an owner's dependents would begin with all that went.
 */
function unchangedPages(store: Store, { changes }: Graph): Pick<Store, 'page'> {
  const passed = new Map<string, { readonly from: string; readonly to: string }>()
  return {
    async page({ gte, lt, limit }) {
      const known = passed.get(lt)
      const isKnown = known !== undefined && known.from <= gte && gte <= known.to
      let from = isKnown ? known.to : gte
      const left: StoreEntry[] = []
      while (left.length < limit) {
        const page = await store.page({ gte: from, lt, limit })
        const first = page.findIndex(([key]) => !changes.has(key))
        const isPassed = left.length === 0 && first !== 0 && page.length > 0
        const end = page[(first < 0 ? page.length : first) - 1]?.[0]
        if (isPassed && end !== undefined) {
          passed.set(lt, { from: isKnown ? known.from : gte, to: `${end}\0` })
        }
        left.push(...page.filter(([key]) => !changes.has(key)))
        const last = page.at(-1)?.[0]
        if (last === undefined || page.length < limit) break
        from = `${last}\0`
      }
      return left.slice(0, limit)
    },
  }
}

/** Of the store, without what is under way there. */
function asRead(
  key: string,
  decoded: StateReader,
  read: Map<string, string>,
): StateValue | undefined {
  if (/^(agenda|walk|ring)\//.test(key)) return undefined
  const value = decoded.get(key)
  const text = textOf(key, value)
  if (text !== undefined && !read.has(key)) read.set(key, text)
  if (value?.type === 'Node' || value?.type === 'Owner') {
    return value.attempt === null ? value : { ...value, attempt: null }
  }
  return value
}

function later(state: ClusterState): ClusterState {
  return { ...state, now: state.now + LATER_MS, nextDue: Number.MAX_SAFE_INTEGER }
}

function storedText({ store }: Partition, codec: Codec, key: string): string | undefined {
  const bytes = store.get(key)
  return textOf(key, bytes === undefined ? undefined : (codec.decode(bytes) as StateValue))
}

/** What a plan rests on, of the keys that other objects' lives do not change; undefined for others. */
function textOf(key: string, value: StateValue | undefined): string | undefined {
  if (key.startsWith('node/')) {
    return value?.type === 'Node' ? `${value.position} ${value.phase}` : 'none'
  }
  if (!key.startsWith('count/')) return undefined
  return value?.type === 'Count'
    ? value.places.map((place) => `${place.coordinates} ${place.dependents}`).join(' ')
    : 'none'
}
