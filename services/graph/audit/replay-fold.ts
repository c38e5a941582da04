/**
 * The fold of a replay: the state after each event, and nothing that a service publishes or an audit compares.
 *
 * What must stay true: the outcome of an event is that of a service's fold (fold/batch.ts), whatever is stored when.
 */
import { foldRecordFrom } from '../../../core/fold.ts'
import type { PageRequest } from '../../../core/graph/agenda.ts'
import type { Graph } from '../../../core/graph/graph.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { firstPosition } from '../fold/batch.ts'
import { DecodedValues } from '../fold/decoded-values.ts'
import { overlaidPage } from '../fold/overlaid-page.ts'
import { graphOver } from '../fold/overlay.ts'
import type { RefoldParts } from './refold.ts'

export class ReplayFold {
  readonly graph: Graph
  readonly #parts: RefoldParts
  readonly #decoded: DecodedValues
  #position: Position

  /** `from`: undefined on an empty store. */
  constructor(parts: RefoldParts, from: Position | undefined) {
    this.#parts = parts
    this.#decoded = new DecodedValues(parts.store, parts.codec)
    this.graph = graphOver(this.#decoded)
    this.#position = from ?? firstPosition(parts.partition, parts.log.partitions('events'))
  }

  /** After the last event folded. */
  get position(): Pick<Position, 'position' | 'partition' | 'partitions' | 'inForce'> {
    return this.#position
  }

  /** The orders that are in effect with the next event. */
  obey(inForce: readonly string[]): void {
    this.#position = { ...this.#position, inForce }
  }

  /** At once, unless a page of the store has to be read. */
  fold(event: Event, at: At): Outcome | Promise<Outcome> {
    const outcome = foldRecordFrom(this.graph, event, at, (page) => this.#page(page))
    return outcome instanceof Promise
      ? outcome.then((read) => this.#finished(read, at))
      : this.#finished(outcome, at)
  }

  /** Frees the changes from the memory of the fold. */
  async stored(): Promise<void> {
    const { store, codec } = this.#parts
    const values = new Map(
      Array.from(this.graph.changes, ([key, value]) => {
        return [key, value === null ? null : codec.encode(value)] as const
      }),
    )
    const changes: readonly StoreChange[] = [...values]
    await store.write(changes, { changelog: 0n, position: this.#position.position })
    this.#decoded.stored(values)
    this.graph.clear()
  }

  #finished(outcome: Outcome, { position }: At): Outcome {
    this.graph.takeRecent()
    this.#position = { ...this.#position, position: position + 1n }
    return outcome
  }

  async #page(page: PageRequest): Promise<readonly string[]> {
    const store: Pick<Store, 'page'> = this.#parts.store
    const { countKey } = page
    const count = countKey === null ? undefined : this.#decoded.get(countKey)
    const dependents = count?.type === 'Count' ? count.dependents : 0
    return await overlaidPage(store, this.graph, page, countKey === null ? undefined : dependents)
  }
}
