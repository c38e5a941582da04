/**
 * Namespaces and CustomResourceDefinitions are deleted last: when one is deleted its content is
 * deleted first, and it follows once nothing is left.
 *
 * What must stay true: nothing is swept from under an object's finalizers; while content lingers
 * the sweep stays open. A CustomResourceDefinition ignores propagation policies: it has a finalizer
 * of its own and never waits or orphans.
 *
 * Not here: the refusal to create in a namespace that is being deleted (write.ts).
 */
import type { Clock } from '../../../../ports/clock.ts'
import { keysOf, type Stored } from '../collection.ts'
import { DEFINITION, type Kind, NAMESPACE } from '../kind.ts'
import { type ApiObject, objectAt, timestampOf } from '../object.ts'
import { kindOf, type Registry } from '../registry.ts'
import { type Storage, withMetadata } from '../storage.ts'
import { removeInBackground } from './removal.ts'

export const DEFINITION_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io'

/** Objects deleted before others get their turn. */
const PAGE = 500

interface Sweep {
  readonly kind: Kind
  readonly object: ApiObject
  isSwept: boolean
}

export class Sweeper {
  readonly #storage: Storage
  readonly #registry: Registry
  readonly #clock: Clock
  readonly #sweeps = new Map<string, Sweep>()

  constructor(storage: Storage, registry: Registry, clock: Clock) {
    this.#storage = storage
    this.#registry = registry
    this.#clock = clock
  }

  /** Marks it and starts on its content; a second DELETE changes nothing. */
  begin(kind: Kind, object: ApiObject, isDryRun: boolean): ApiObject {
    const { metadata } = object
    if (metadata.deletionTimestamp !== undefined) return object
    const { generation } = metadata
    const marked = withMetadata(kind === NAMESPACE ? terminating(object) : object, {
      deletionTimestamp: timestampOf(this.#clock.now()),
      ...(generation !== undefined && { generation: generation + 1 }),
    })
    if (isDryRun) return marked
    const stored = this.#storage.put(kind, marked)
    const sweep = { kind, object: stored, isSwept: false }
    this.#sweeps.set(stored.metadata.uid, sweep)
    void this.#run(sweep)
    return stored
  }

  /** To be called after every request: deletes what has become empty. */
  settle(): void {
    for (const sweep of this.#sweeps.values()) {
      if (sweep.isSwept && !hasContent(this.#storage, this.#kindsIn(sweep), sweep)) {
        this.#sweeps.delete(sweep.object.metadata.uid)
        this.#finish(sweep)
      }
    }
  }

  async #run(sweep: Sweep): Promise<void> {
    const context = { storage: this.#storage, clock: this.#clock, sweeper: this }
    for (const kind of this.#kindsIn(sweep)) {
      let done = 0
      for (const { object } of contentOf(this.#storage, kind, sweep)) {
        const { namespace = '', name } = object.metadata
        const current = this.#storage.get(kind, namespace, name)
        if (current !== undefined) removeInBackground(context, kind, current.object)
        if (++done % PAGE === 0) await this.#clock.sleep(0)
      }
    }
    sweep.isSwept = true
    this.settle()
  }

  #kindsIn({ kind, object }: Sweep): readonly Kind[] {
    if (kind === DEFINITION) return [kindOf(object)]
    return [...this.#registry.kinds()].filter(({ scope }) => scope === 'Namespaced')
  }

  #finish({ kind, object }: Sweep): void {
    const { name } = object.metadata
    const current = this.#storage.get(kind, '', name)?.object
    if (current === undefined) return
    if (kind === DEFINITION) {
      const finalizers = current.metadata.finalizers?.filter((it) => it !== DEFINITION_FINALIZER)
      const left = withMetadata(current, { finalizers: finalizers ?? [] })
      if (left.metadata.finalizers !== undefined) {
        this.#storage.put(kind, left)
        return
      }
    } else if (current.metadata.finalizers !== undefined) {
      const spec = { ...objectAt(current, 'spec'), finalizers: [] }
      this.#storage.put(kind, { ...current, spec })
      return
    }
    this.#storage.remove(kind, current)
    this.unserveGone(kind, current)
  }

  /** After the removal of a CustomResourceDefinition in any way. */
  unserveGone(kind: Kind, object: ApiObject): void {
    if (kind !== DEFINITION) return
    this.#registry.unserve(object)
    this.#storage.drop(kindOf(object))
  }
}

function* contentOf(storage: Storage, kind: Kind, sweep: Sweep): Generator<Stored> {
  const [gte, lt] = keysOf(sweep.kind === NAMESPACE ? sweep.object.metadata.name : '')
  yield* storage.collection(kind).snapshot().range(gte, lt)
}

function hasContent(storage: Storage, kinds: readonly Kind[], sweep: Sweep): boolean {
  const keys = keysOf(sweep.kind === NAMESPACE ? sweep.object.metadata.name : '')
  return kinds.some((kind) => storage.collection(kind).hasAny(...keys))
}

function terminating(namespace: ApiObject): ApiObject {
  return { ...namespace, status: { ...objectAt(namespace, 'status'), phase: 'Terminating' } }
}
