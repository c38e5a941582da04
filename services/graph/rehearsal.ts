/**
 * A rehearsal: the real fold over overlays of the stores, with its commands handed to the caller instead of a reaper, and what the caller says came
 * of them told to the fold as a watch would. Notes between partitions are delivered.
 *
 * What must stay true: nothing is written anywhere, and what a record changes counts only once all was known that it reads; the policy is that everything
 * provable acts, what is under way for real counts for nothing, and nobody waits for a kind that is out of sync.
 *
 * Not here: what the API server would do with a command (plan.ts).
 */
import type { Command } from '../../core/command.ts'
import type { Event } from '../../core/event.ts'
import type { Folding } from '../../core/fold.ts'
import { finish, fold, pageOf, resume } from '../../core/fold.ts'
import type { Graph } from '../../core/graph.ts'
import { clusterOf, countOf, graphOver, nodeOf } from '../../core/graph.ts'
import { edgesPrefix, lastPart } from '../../core/key.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, ObjectMeta, Uid } from '../../core/object.ts'
import { partitionOfObject } from '../../core/partition.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import { overlaidPage } from './overlaid-page.ts'
import type { Stage } from './rehearsal-stage.ts'
import { stageOf, textOf } from './rehearsal-stage.ts'
import { Turns } from './turns.ts'
import type { View } from './view.ts'
import { PIECE_OBJECTS, piecesOf } from './view.ts'

/** Longer than any version of a server, so newer. */
const FIRST_VERSION = 10n ** 40n
const PAGE_EDGES = 256
/** Keys that are read again at once to see whether they are as they were. */
const READ_AGAIN = 500
/** How often it is looked what a few records will read: each time one step further. */
const LOOKED_AHEAD = 4

export interface RehearsalOptions {
  readonly view: View
  readonly cluster: ClusterId
  readonly codec: Codec
  readonly clock: Clock
}

/** A command that the fold issued, and the object that it is about as it stands in the rehearsal. */
export interface Issued {
  readonly command: Command
  readonly node: Node | undefined
}

export class Rehearsal {
  readonly #cluster: ClusterId
  readonly #view: View
  readonly #stages: readonly Stage[]
  readonly #queue: { readonly partition: number; readonly event: Event }[] = []
  #version = FIRST_VERSION
  readonly #turns: Turns

  static async open({ view, cluster, codec, clock }: RehearsalOptions): Promise<Rehearsal> {
    const stages = await view.read(() =>
      view.partitions.map((source) => stageOf(source, view, cluster, codec)),
    )
    return new Rehearsal(view, cluster, clock, stages)
  }

  private constructor(view: View, cluster: ClusterId, clock: Clock, stages: readonly Stage[]) {
    this.#view = view
    this.#cluster = cluster
    this.#turns = new Turns(clock)
    this.#stages = stages
  }

  /** As it stands in the rehearsal; it is looked for at its home. */
  async node({ namespace, uid }: Pick<ObjectMeta, 'namespace' | 'uid'>): Promise<Node | undefined> {
    const partition = partitionOfObject(this.#cluster, namespace, this.#stages.length)
    const graph = this.#stages[partition]?.graph
    return await this.#view.read(() => graph && nodeOf(graph, this.#cluster, uid))
  }

  /** What names it as an owner now, a page at a time. */
  async *dependentPages(uid: Uid): AsyncIterable<readonly Node[]> {
    const prefix = edgesPrefix(this.#cluster, uid)
    const having = await this.#view.read(() => this.#having(uid))
    for (const { pages, graph } of having) {
      for (let after = ''; ; ) {
        const keys = await overlaidPage(pages, graph, { prefix, after, limit: PAGE_EDGES })
        await this.#turns.take()
        yield await this.#view.read(() =>
          keys.flatMap((key) => nodeOf(graph, this.#cluster, lastPart(key)) ?? []),
        )
        if (keys.length < PAGE_EDGES) break
        after = keys.at(-1) ?? ''
      }
    }
  }

  #having(uid: Uid): readonly Stage[] {
    return this.#stages.filter(({ graph }) => countOf(graph, this.#cluster, uid) !== undefined)
  }

  /** Before it is asked what names these as owners: all at once. */
  async prepare(uids: readonly Uid[]): Promise<void> {
    for (const some of piecesOf(uids)) {
      await this.#view.read(() => some.flatMap((uid) => this.#having(uid)))
    }
  }

  /** Tells that the server holds this of it now; null: that it is gone. */
  tell(before: ObjectMeta, after: ObjectMeta | null): void {
    this.#version += 1n
    const partition = partitionOfObject(this.#cluster, before.namespace, this.#stages.length)
    const epoch = this.#stages[partition]?.epoch ?? 0
    const resourceVersion = String(this.#version)
    const about = { cluster: this.#cluster, epoch }
    this.#queue.push({
      partition,
      event:
        after === null
          ? { type: 'ObjectDeleted', ...about, object: { ...before, resourceVersion }, ageMs: 0 }
          : { type: 'ObjectUpdated', ...about, sync: null, object: { ...after, resourceVersion } },
    })
  }

  /** Folds what was told until nothing more follows; each command goes to `carryOut`, which may tell more. False when `isEnough` says to stop. */
  async settle(carryOut: (issued: Issued) => void, isEnough: () => boolean): Promise<boolean> {
    let ahead = 0
    for (let next = 0; next < this.#queue.length; next++) {
      if (isEnough()) return false
      if (next >= ahead) {
        const some = this.#queue.slice(next, next + PIECE_OBJECTS)
        await this.#lookAhead(some)
        ahead = next + some.length
      }
      const told = this.#queue[next]
      const stage = this.#stages[told?.partition ?? 0]
      if (told === undefined || stage === undefined) continue
      await this.#fold(stage, told.event, carryOut)
    }
    this.#queue.length = 0
    return true
  }

  /** Begins them all, only to learn what they read, and throws that away: it is fetched at once instead of record by record. */
  async #lookAhead(
    told: readonly { readonly partition: number; readonly event: Event }[],
  ): Promise<void> {
    if (this.#view.partitions.every((partition) => partition.isHere)) return
    const beginAll = (): object =>
      told.map(({ partition, event }) => {
        const stage = this.#stages[partition]
        return stage && this.#begin(stage, graphOver(stage.graph), event)
      })
    let isKnown = false
    for (let round = 0; round < LOOKED_AHEAD && !isKnown; round++) {
      isKnown = (await this.#view.attempt(beginAll)) !== undefined
    }
  }

  async #fold(stage: Stage, event: Event, carryOut: (issued: Issued) => void): Promise<void> {
    const { inner, notes, issued } = await this.#folded(stage, event)
    stage.position += 1n
    for (const [key, value] of inner.changes) {
      if (value === null) stage.graph.remove(key)
      else stage.graph.put(key, value)
    }
    stage.graph.takeRecent()
    this.#queue.push(...notes)
    for (const each of issued) carryOut(each)
    await this.#turns.take()
  }

  /** Over an overlay of its own, which is thrown away and begun again whenever something was missing. */
  async #folded(stage: Stage, event: Event): Promise<Folded> {
    const { pages, graph } = stage
    for (;;) {
      const inner = graphOver(graph)
      const both: Pick<Graph, 'overlaid'> = {
        overlaid: (stored, range) => inner.overlaid(graph.overlaid(stored, range), range),
      }
      let folding = await this.#view.attempt(() => this.#begin(stage, inner, event))
      while (folding !== undefined) {
        const at = folding
        const page = pageOf(at)
        if (page === undefined) break
        const keys = await overlaidPage(pages, both, page)
        await this.#turns.take()
        folding = await this.#view.attempt(() => {
          resume(at, keys)
          return at
        })
      }
      const done = folding
      const folded = done && (await this.#view.attempt(() => this.#end(inner, done)))
      if (folded !== undefined) return folded
    }
  }

  #begin({ graph, source, position }: Stage, inner: Graph, event: Event): Folding {
    return fold(inner, event, {
      partition: source.partition,
      partitions: this.#stages.length,
      position,
      timestamp: clusterOf(graph, this.#cluster)?.now ?? 0,
    })
  }

  #end(inner: Graph, folding: Folding): Folded {
    const { commands, notes } = finish(folding)
    const issued = commands.map((command) => ({
      command,
      node: nodeOf(inner, this.#cluster, command.target.uid),
    }))
    return { inner, notes, issued }
  }

  /** Something that was rehearsed upon has changed since, as `now` sees it. */
  async hasChanged(now: View): Promise<boolean> {
    for (const { source, read } of this.#stages) {
      const reader = now.readers[source.partition]
      if (reader === undefined) return true
      const all = [...read]
      for (let from = 0; from < all.length; from += READ_AGAIN) {
        const some = all.slice(from, from + READ_AGAIN)
        await now.partitions[source.partition]?.fetch(some.map(([key]) => key))
        for (let at = 0; at < some.length; at += PIECE_OBJECTS) {
          const piece = some.slice(at, at + PIECE_OBJECTS)
          const isOther = await now.read(() =>
            piece.some(([key, text]) => textOf(key, reader.get(key)) !== text),
          )
          if (isOther) return true
          await this.#turns.take()
        }
      }
      now.forget()
    }
    return false
  }
}

/** What came of one record. */
interface Folded {
  readonly inner: Graph
  readonly notes: readonly { readonly partition: number; readonly event: Event }[]
  readonly issued: readonly Issued[]
}
