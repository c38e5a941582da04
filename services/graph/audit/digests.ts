/**
 * The digests of a fold, event by event, made from the changes of its state and from its commands.
 *
 * What must stay true: they are those of a service's fold (fold/batch.ts), byte for byte. What a
 * service publishes besides commands is under no digest, so it is not made here.
 */

import type { StateReader } from '../../../core/graph/graph.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import type { Node } from '../../../core/model/node.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Digest } from '../../../ports/record/service-record.ts'
import type { StoreChange } from '../../../ports/store.ts'
import { chained } from '../fold/bytes/digest.ts'
import { loggedCommand } from '../fold/bytes/long-command.ts'
import { nodeChanges } from '../fold/bytes/long-node.ts'
import type { Replaced } from './decoded-fold.ts'

/** What came of an event. */
export interface Folded {
  readonly at: At
  readonly outcome: Outcome
  /** Afterwards. */
  readonly graph: StateReader
  readonly replaced: Replaced
}

export class Digests {
  readonly #codec: Codec
  #state: string
  #outputs: string

  constructor(codec: Codec, { state, outputs }: Pick<Digest, 'state' | 'outputs'>) {
    this.#codec = codec
    this.#state = state
    this.#outputs = outputs
  }

  isLike({ state, outputs }: Pick<Digest, 'state' | 'outputs'>): boolean {
    return state === this.#state && outputs === this.#outputs
  }

  /** Answers the bytes of the commands, in order. */
  add({ at, outcome, graph, replaced }: Folded): readonly Uint8Array[] {
    const offset = at.position.toString()
    const changed: (string | Uint8Array)[] = [offset]
    for (const [key, before] of replaced) {
      const after = graph.get(key) ?? null
      for (const [each, bytes] of this.#bytesOf(key, before, after, at)) {
        changed.push(each, bytes ?? '')
      }
    }
    if (changed.length > 1) this.#state = chained(this.#state, changed)
    const commands = outcome.commands.map((each) => this.#codec.encode(loggedCommand(each)))
    const issued = [...commands]
    if (outcome.continues) issued.push(this.#codec.encode({ type: 'Continue' }))
    if (issued.length > 0) this.#outputs = chained(this.#outputs, [offset, ...issued])
    return commands
  }

  #bytesOf(
    key: string,
    before: StateValue | undefined,
    after: StateValue | null,
    { position }: At,
  ): readonly StoreChange[] {
    const [was, is] = [nodeIn(before), nodeIn(after)]
    if (was === undefined && is === undefined) {
      return [[key, after === null ? null : this.#codec.encode(after)]]
    }
    return nodeChanges(this.#codec, key, [was, is ?? null], position)
  }
}

function nodeIn(value: StateValue | null | undefined): Node | undefined {
  return value?.type === 'Node' ? value : undefined
}
