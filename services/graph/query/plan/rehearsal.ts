/**
 * A rehearsal: the real fold over an overlay of the store, with its commands handed to the caller
 * instead of a reaper; their results, as the caller reports them, are given to the fold as a watch
 * would.
 *
 * What must stay true: nothing is written anywhere; the policy is that everything provable acts,
 * commands that are really under way count for nothing, and nothing waits for a kind that is out of
 * sync.
 *
 * Not here: what the API server would do with a command (plan.ts).
 */
import { foldRecordFrom } from '../../../../core/fold.ts'
import { factsOf } from '../../../../core/graph/facts.ts'
import { lastPart } from '../../../../core/graph/key.ts'
import type { Command } from '../../../../core/model/command.ts'
import type { Event } from '../../../../core/model/event.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { ObjectMeta, Uid } from '../../../../core/model/object.ts'
import { overlaidPage } from '../../fold/bytes/overlaid-page.ts'
import { edgesOf, type View } from '../view/view.ts'
import type { Stage } from './rehearsal-stage.ts'
import { stageOf, textOf } from './rehearsal-stage.ts'

/** Longer than any version of a server, so newer. */
const FIRST_VERSION = 10n ** 40n
const PAGE_EDGES = 256

/** A command that the fold issued, and the object that it is about in its rehearsed state. */
export interface Issued {
  readonly command: Command
  readonly node: Node | undefined
}

export class Rehearsal {
  readonly #view: View
  readonly #stage: Stage
  readonly #queue: Event[] = []
  #version = FIRST_VERSION
  #position: bigint

  constructor(view: View) {
    this.#view = view
    this.#stage = stageOf(view)
    this.#position = BigInt(view.moment?.position ?? view.partition.status().position)
  }

  /** In its rehearsed state. */
  node(uid: Uid): Node | undefined {
    return factsOf(this.#stage.graph, this.#view.cluster).node(uid)
  }

  /** The objects that reference it as an owner now. */
  async *dependents(owner: ObjectMeta): AsyncIterable<Node> {
    const { graph, pages } = this.#stage
    const view = this.#view
    const prefix = edgesOf(view.identityOf(owner))
    for (let after = ''; ; ) {
      const keys = await overlaidPage(pages, graph, { prefix, after, limit: PAGE_EDGES })
      for (const key of keys) {
        await view.turns.take()
        const node = this.node(lastPart(key))
        if (node !== undefined) yield node
      }
      if (keys.length < PAGE_EDGES) return
      after = keys.at(-1) ?? ''
    }
  }

  /** Reports the state that the server has of it now; null: that it was deleted. */
  tell(before: ObjectMeta, after: ObjectMeta | null): void {
    this.#version += 1n
    const resourceVersion = String(this.#version)
    const about = { cluster: this.#view.cluster, epoch: this.#stage.epoch }
    this.#queue.push(
      after === null
        ? { type: 'ObjectDeleted', ...about, object: { ...before, resourceVersion }, ageMs: 0 }
        : { type: 'ObjectUpdated', ...about, sync: null, object: { ...after, resourceVersion } },
    )
  }

  /**
   * Folds the reported events until nothing more follows; each command goes to `carryOut`, which
   * may report more. False when `isEnough` says to stop.
   */
  async settle(carryOut: (issued: Issued) => void, isEnough: () => boolean): Promise<boolean> {
    for (const event of this.#queue) {
      if (isEnough()) return false
      await this.#fold(event, carryOut)
    }
    this.#queue.length = 0
    return true
  }

  async #fold(event: Event, carryOut: (issued: Issued) => void): Promise<void> {
    const { graph, pages } = this.#stage
    const { cluster, turns, partition } = this.#view
    const at = {
      partition: partition.partition,
      partitions: 1,
      position: this.#position,
      timestamp: factsOf(graph, cluster).state?.now ?? 0,
    }
    const { commands, continues } = await foldRecordFrom(graph, event, at, async (page) => {
      await turns.take()
      return await overlaidPage(pages, graph, page)
    })
    this.#position += 1n
    graph.takeRecent()
    if (continues) this.#queue.push({ type: 'Continue' })
    for (const command of commands) carryOut({ command, node: this.node(command.target.uid) })
    await turns.take()
  }

  /** Something that was rehearsed upon has changed since. */
  async hasChanged(): Promise<boolean> {
    const { reader, turns } = this.#view
    for (const [key, text] of this.#stage.read) {
      if (textOf(key, reader.get(key)) !== text) return true
      await turns.take()
    }
    return false
  }
}
