/**
 * Who asked for the deletions of a list, as the audit logs of their clusters say.
 *
 * What must stay true: for one answer a bounded number of requests is read (`read`), with turns for
 * other work in between, and what was cut is said (`doubt`). No deletion is left out because no
 * request fits it, and `by` never follows from one.
 *
 * Not here: which request a deletion was (query/answer/actor.ts).
 */
import {
  type ActorParts,
  actorOf,
  type DeletedObject,
  type FoundActor,
  type KnownLife,
  type Unproven,
} from '../query/answer/actor.ts'
import { behindText } from '../query/answer/query.ts'
import { ActorDoubts } from '../query/index/actor-doubt.ts'
import type { ActorIndex } from '../query/index/actor-index.ts'
import type { Found } from '../query/index/actor-search.ts'
import type { Turns } from '../turns.ts'

export interface DeletersParts extends Pick<ActorParts, 'clusters'> {
  /** Undefined: no user is named. */
  readonly actors: ActorIndex | undefined
  readonly turns: Turns
}

export class Deleters {
  readonly #parts: DeletersParts
  readonly #doubts = new ActorDoubts()
  readonly #owners = new WeakMap<KnownLife, Promise<FoundActor | null>>()
  readonly #unproven = new WeakMap<KnownLife, Unproven>()
  /** Requests read so far. */
  read = 0

  constructor(parts: DeletersParts) {
    this.#parts = parts
  }

  /** Of all asked for so far: why a name may be missing, or be another one. */
  doubt(): string {
    return this.#doubts.text()
  }

  /**
   * Waits a moment for what audit logs said just now. Why a name may be missing; empty when none
   * is.
   */
  async caughtUp(): Promise<string> {
    return behindText((await this.#parts.actors?.caughtUp()) ?? 0n, 'audit logs')
  }

  /** Of a life that is over, or whose deletion has begun. Null where it is unknown. */
  async of(object: DeletedObject, life: KnownLife): Promise<FoundActor | null> {
    return await this.#of(object, life, true)
  }

  /** Of one for which `of` found no user: who asked for its name, and perhaps for it. */
  unprovenOf(life: KnownLife): Unproven | null {
    return this.#unproven.get(life) ?? null
  }

  /** A user who may know of an object may not know of each of its owners: no doubt names them. */
  async ofOwner(owner: DeletedObject, life: KnownLife): Promise<FoundActor | null> {
    // Many dependents have one owner.
    const known = this.#owners.get(life) ?? this.#of(owner, life, false)
    this.#owners.set(life, known)
    return await known
  }

  async #of(
    object: DeletedObject,
    life: KnownLife,
    isUserShown: boolean,
  ): Promise<FoundActor | null> {
    const { actors, ...rest } = this.#parts
    if (actors === undefined) return null
    const counted: ActorParts['actors'] = {
      requests: async (...asked) => await this.#counted(await actors.requests(...asked)),
      gaps: async (...asked) => await this.#counted(await actors.gaps(...asked)),
      keptSince: () => actors.keptSince(),
    }
    const doubts = this.#doubts
    const onUnproven = (found: Unproven): void => void this.#unproven.set(life, found)
    const asked = { ...rest, actors: counted, doubts, isUserShown, onUnproven }
    return await actorOf(asked, object, life)
  }

  async #counted<T>(page: Found<T>): Promise<Found<T>> {
    this.read += page.found.length
    await this.#parts.turns.take()
    return page
  }
}
