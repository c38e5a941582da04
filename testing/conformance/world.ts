/**
 * The actions and observations of a scenario: namespaces of its own, requests as a user makes them,
 * and conditions that must become true or stay true.
 *
 * What must stay true: everything it creates has its label, so one list of each kind shows all of
 * it; `still` and `untouched` prove something only after `quiet`.
 */
import { deepEqual, equal } from 'node:assert/strict'
import type { Answer } from '../cluster/api-client.ts'
import { eventually, type Patience } from '../eventually.ts'
import {
  atOnce,
  collectionPath,
  type Draft,
  type Kind,
  type Made,
  make,
  NAMESPACE,
  pathOf,
  type Reference,
  type Requests,
  referenceTo,
} from '../process/objects.ts'
import { canary, type Place, quiet } from './canary.ts'
import type { Collector } from './collector.ts'
import { type Expected, type Seen, seenIn, shown } from './seen.ts'

export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** The server refused the request; `status` says why. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly status: number

  constructor(asked: string, { status, body }: Answer<unknown>) {
    super(`${asked}: ${status} ${JSON.stringify(body)}`)
    this.status = status
  }
}

export interface MakeOptions {
  readonly owners?: readonly (Made | Reference)[]
  readonly finalizers?: readonly string[]
  /** The first of the scenario's unless given. */
  readonly namespace?: string
}

export interface WorldOptions {
  readonly plane: Requests
  readonly collector: Collector
  /** Unique in the control plane; the other namespace is called `NAME-other`. */
  readonly name: string
  readonly withinMs: number
  /** Called at the first request that gives the collector something to do. */
  readonly onAct?: () => void
}

export const HOLD = 'conformance.test/hold'
export const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

const EVERY_MS = 120
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }

export async function makeWorld(options: WorldOptions): Promise<World> {
  const { plane, name } = options
  const world = new World(options)
  for (const each of [name, world.other]) await make(plane, { kind: NAMESPACE, name: each })
  return world
}

export class World {
  readonly plane: Requests
  readonly collector: Collector
  readonly namespace: string
  readonly other: string
  readonly #options: WorldOptions
  readonly #places = new Map<string, Place>()
  #acted = false

  constructor(options: WorldOptions) {
    this.#options = options
    this.plane = options.plane
    this.collector = options.collector
    this.namespace = options.name
    this.other = `${options.name}-other`
  }

  async make(kind: Kind, name: string, options: MakeOptions = {}): Promise<Made> {
    return await make(this.plane, this.#draft(kind, name, options))
  }

  /** `count` alike, named `name-0` and so on. */
  async makeMany(
    kind: Kind,
    name: string,
    count: number,
    optionsOf: (index: number) => MakeOptions = () => ({}),
  ): Promise<Made[]> {
    const indexes = Array.from({ length: count }, (_, index) => index)
    return await atOnce(indexes, (index) => this.make(kind, `${name}-${index}`, optionsOf(index)))
  }

  /** Without a policy the server decides. */
  async remove(made: Made, propagationPolicy?: Propagation): Promise<void> {
    // An object that a collector has not observed, it can neither orphan nor wait for.
    if (propagationPolicy !== 'Background') await this.seen()
    await this.removeWith(made, propagationPolicy && { propagationPolicy })
  }

  /** Immediately, whatever the collector has observed by then. */

  async removeWith(made: Made, options: object = {}): Promise<void> {
    this.#act()
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...options }
    const answer = await this.plane.request('DELETE', pathOf(made), body)
    if (answer.status < 300) return
    throw new RefusedError(`DELETE ${made.name}`, answer)
  }

  async refer(made: Made, owners: readonly (Made | Reference)[]): Promise<void> {
    const ownerReferences = owners.map((owner) =>
      typeof owner.kind === 'string' ? owner : referenceTo(owner as Made),
    )
    await this.#patch(made, { ownerReferences })
  }

  /** `finalizers` are all it has afterwards. */
  async finalize(made: Made, finalizers: readonly string[]): Promise<void> {
    this.#act()
    await this.#patch(made, { finalizers })
  }

  async annotate(made: Made, value: string): Promise<void> {
    await this.#patch(made, { annotations: { value } })
  }

  /** All it has made and that is still there, by uid. */
  async look(): Promise<ReadonlyMap<string, Seen>> {
    const kinds = new Map([...this.#places.values()].map(({ kind }) => [listPath(kind), kind]))
    const label = `labelSelector=${encodeURIComponent(`set=${this.namespace}`)}`
    const lists = await Promise.all(
      [...kinds.keys()].map((path) => seenIn(this.plane, `${path}?${label}`)),
    )
    return new Map(lists.flat().map((seen) => [seen.uid, seen]))
  }

  async gone(...all: readonly Made[]): Promise<void> {
    await this.#eventually(`${names(all)} gone`, async () => {
      const seen = await this.look()
      const left = all.filter(({ uid }) => seen.has(uid))
      if (left.length === 0) return true
      const first = left.slice(0, 3).map(({ uid }) => shown(seen.get(uid)))
      return `${left.length} left: ${first.join('; ')}`
    })
  }

  /** Waits until it has the expected state. */
  async sees(made: Made, expected: Expected, patience?: Patience): Promise<void> {
    const what = `${made.name} is ${JSON.stringify(expected)}`
    const look = async (): Promise<boolean | string> => {
      const seen = (await this.look()).get(made.uid)
      return isAs(seen, expected) || shown(seen)
    }
    await this.#eventually(what, look, patience)
  }

  /** It has the expected state now. */
  async still(made: Made, expected: Expected): Promise<void> {
    const seen = (await this.look()).get(made.uid)
    if (seen === undefined) throw new Error(`${made.name} is gone`)
    deepEqual(partOf(seen, expected), expected, made.name)
  }

  /** No client has written to them. */
  async untouched(...all: readonly Made[]): Promise<void> {
    const seen = await this.look()
    for (const { uid, name, resourceVersion } of all) {
      const now = seen.get(uid)
      if (now === undefined) throw new Error(`${name} is gone`)
      equal(now.resourceVersion, resourceVersion, `${name} was written: ${shown(now)}`)
    }
  }

  /** The collector has seen everything made so far. */
  async seen(): Promise<void> {
    await canary(this.plane, [...this.#places.values()])
  }

  /** The collector has seen all of it and does nothing more. */
  async quiet(): Promise<void> {
    await quiet(this.plane, [...this.#places.values()], async () => {
      const seen = await this.look()
      return [...seen.values()]
        .map(({ uid, resourceVersion }) => `${uid} ${resourceVersion}`)
        .join()
    })
  }

  /** A Warning Event about it, with exactly this text. */
  async warned(made: Made, reason: string, message: string): Promise<void> {
    const namespace = made.namespace || 'default'
    const fields = encodeURIComponent(`involvedObject.uid=${made.uid}`)
    const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${fields}`
    await this.#eventually(`${made.name} bears a warning`, async () => {
      const { body } = await this.plane.request<{ items: readonly Warning[] }>('GET', path)
      const said = body.items.map((each) => `${each.type} ${each.reason} ${each.message}`)
      return said.includes(`Warning ${reason} ${message}`) || said.join()
    })
  }

  async eventually(what: string, look: () => Promise<boolean | string>): Promise<void> {
    await this.#eventually(what, look)
  }

  async #eventually(
    what: string,
    look: () => Promise<boolean | string>,
    patience: Patience = {},
  ): Promise<void> {
    const { withinMs } = this.#options
    await eventually(what, look, { withinMs, everyMs: EVERY_MS, ...patience })
  }

  async #patch(made: Made, metadata: object): Promise<void> {
    const answer = await this.plane.request('PATCH', pathOf(made), { metadata }, MERGE_PATCH)
    if (answer.status === 200) return
    throw new RefusedError(`PATCH ${made.name}`, answer)
  }

  #draft(kind: Kind, short: string, { namespace = this.namespace, ...rest }: MakeOptions): Draft {
    const name = kind.namespaced ? short : `${this.namespace}-${short}`
    this.#places.set(collectionPath(kind, namespace), { kind, namespace })
    return { kind, name, namespace, set: this.namespace, ...rest }
  }

  #act(): void {
    if (this.#acted) return
    this.#acted = true
    this.#options.onAct?.()
  }
}

interface Warning {
  readonly type: string
  readonly reason: string
  readonly message: string
}

export function blocking(owner: Made): Reference {
  return { ...referenceTo(owner), blockOwnerDeletion: true }
}

function listPath(kind: Kind): string {
  return collectionPath({ ...kind, namespaced: false }, '')
}

function isAs(seen: Seen | undefined, expected: Expected): boolean {
  if (seen === undefined) return false
  return JSON.stringify(partOf(seen, expected)) === JSON.stringify(expected)
}

function partOf(seen: Seen, expected: Expected): object {
  const keys = Object.keys(expected) as (keyof Expected)[]
  return Object.fromEntries(keys.map((key) => [key, seen[key]]))
}

function names(all: readonly Made[]): string {
  const shownNames = all.slice(0, 4).map(({ name }) => name)
  return shownNames.join(', ') + (all.length > 4 ? ` and ${all.length - 4} more are` : ' is')
}
