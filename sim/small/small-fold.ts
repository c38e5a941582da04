/**
 * The fold over a state that can be rolled back: all orders of events are visited as a tree, and
 * the common prefix of two orders is folded once.
 *
 * What must stay true: after `rollback` the next record finds exactly what it would have found had
 * the others never been folded; each record is committed by itself.
 *
 * Not here: which orders there are (small-world.ts), bytes, logs, several partitions.
 */

import { foldRecord } from '../../core/fold.ts'
import type { PageRequest } from '../../core/graph/agenda.ts'
import type { Outcome, RelistRequest } from '../../core/graph/outcome.ts'
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import type { StateValue } from '../../core/model/state.ts'
import { graphOver, type Overlay } from '../../services/graph/fold/bytes/overlay.ts'

/** A point to roll back to. */
export interface Mark {
  readonly journal: number
  readonly commands: number
  readonly relists: number
  readonly position: bigint
  readonly nowMs: number
}

/** One `Continue` follows the other only so often in a world of four objects. */
const CONTINUES = 1_000

export class SmallFold {
  readonly state: Map<string, StateValue> = new Map()
  /** All that were issued on the way here, in their order. */
  readonly commands: Command[] = []
  readonly relists: RelistRequest[] = []
  nowMs = 0
  /** Records folded in all, rolled-back ones included. */
  folded = 0
  readonly #graph: Overlay = graphOver({ get: (key) => this.state.get(key) })
  readonly #journal: (readonly [key: string, former: StateValue | undefined])[] = []
  #position = 0n

  /** Folds an event and every `Continue` that follows from it. */
  fold(event: Event, nowMs: number = this.nowMs): void {
    this.nowMs = nowMs
    let { continues } = this.#foldOne(event)
    for (let turn = 0; continues; turn++) {
      if (turn === CONTINUES) throw new Error('the agenda does not end')
      continues = this.#foldOne({ type: 'Continue' }).continues
    }
  }

  mark(): Mark {
    const { commands, relists, nowMs } = this
    return {
      journal: this.#journal.length,
      commands: commands.length,
      relists: relists.length,
      position: this.#position,
      nowMs,
    }
  }

  rollback({ journal, commands, relists, position, nowMs }: Mark): void {
    while (this.#journal.length > journal) {
      const [key, former] = this.#journal.pop() ?? ['', undefined]
      if (former === undefined) this.state.delete(key)
      else this.state.set(key, former)
    }
    this.commands.length = commands
    this.relists.length = relists
    this.#position = position
    this.nowMs = nowMs
  }

  #foldOne(event: Event): Outcome {
    const graph = this.#graph
    const at = { partition: 0, partitions: 1, position: this.#position, timestamp: this.nowMs }
    this.#position += 1n
    this.folded += 1
    const outcome = foldRecord(graph, event, at, (request) => this.#page(request))
    this.commands.push(...outcome.commands)
    this.relists.push(...outcome.relists)
    graph.takeRecent()
    this.#commit()
    return outcome
  }

  #commit(): void {
    for (const [key, value] of this.#graph.changes) {
      this.#journal.push([key, this.state.get(key)])
      if (value === null) this.state.delete(key)
      else this.state.set(key, value)
    }
    this.#graph.clear()
  }

  #page({ prefix, after, limit }: PageRequest): readonly string[] {
    const stored = [...this.state.keys()].filter((key) => key.startsWith(prefix) && key > after)
    return this.#graph.overlaid(stored, { prefix, after, upTo: undefined }).slice(0, limit)
  }
}
