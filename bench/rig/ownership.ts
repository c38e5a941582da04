/**
 * Synthetic events of a busy cluster's watcher: owners and their dependents are created, change
 * their references and are deleted, and so are the dependents after their commands.
 *
 * What must stay true: the same seed gives the same events in every process; each partition gets
 * whole lives only, so every dependent that outlives its owner causes a command, and the number of
 * objects that exist at once stays the same.
 *
 * Not here: the log (fold.ts).
 */
import type { LoggedEvent, PolicyChanged } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import type { ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import { homeOf } from '../../core/model/partition.ts'
import { policyFor } from '../../core/model/policy.ts'
import { partitionOf } from '../../ports/partition.ts'
import { KINDS, type KindNotation } from '../../testing/model/notation.ts'

export const CLUSTER = '0b6f5f1c-8d3a-4a57-9c1e-5f0a3de1b2c4'
/**
 * Dependents of one owner, and how often each of those changes its references while the owner
 * lives.
 */
const DEPENDENTS = 4
const CHANGES = 2
export const EPOCH = 1
const REPLICA_SET = KINDS['rs'] as KindNotation
const POD = KINDS['pod'] as KindNotation
const NAMESPACES = 25

/** The order that comes in every partition before anything else. */
export const POLICY: PolicyChanged = {
  ...{ type: 'PolicyChanged', policy: policyFor('enforce', 'parity') },
  ...{ who: 'bench', why: 'bench' },
}

/**
 * In every partition before anything else: the cluster is watched, both kinds and the others are
 * served and nothing of them is there.
 */
export function beginning(others: readonly KindNotation[] = []): readonly LoggedEvent[] {
  const told = { cluster: CLUSTER, epoch: EPOCH }
  return [
    { type: 'WatcherStarted', serverTime: null, ...told, name: 'bench', clusterEpoch: 1 },
    ...[REPLICA_SET, POD, ...others].flatMap((each, index): LoggedEvent[] => {
      const { group, kind, resource, scope, version } = each
      const about = { ...told, group, kind }
      const sync = EPOCH * 1_000_000 + index
      const served = { resource, scope, versions: [version], monitored: true, reason: '' }
      return [
        { type: 'KindServed', ...about, ...served, ambiguous: false, aggregated: false },
        { type: 'SyncStarted', ...about, sync },
        { type: 'SyncFinished', ...about, sync, resourceVersion: '1', listed: EMPTY_SET },
      ]
    }),
  ]
}

export function pulse(others: readonly KindNotation[] = []): LoggedEvent {
  const kinds = [REPLICA_SET, POD, ...others].map(({ group, kind }) => ({ group, kind, ageMs: 0 }))
  return { type: 'Heartbeat', cluster: CLUSTER, epoch: EPOCH, kinds }
}

export interface Told {
  /** The record's key. */
  readonly home: string
  readonly event: LoggedEvent
  /** Uids of the dependents that this event condemns: each causes a command. */
  readonly condemned: readonly string[]
}

/** An owner with its dependents, and the next event in its life. */
interface Life {
  readonly home: string
  readonly namespace: string
  readonly name: string
  readonly owner: ObjectMeta
  readonly dependents: ObjectMeta[]
  step: number
}

const ADDED = 1 + DEPENDENTS
const CHANGED = ADDED + DEPENDENTS * CHANGES
const ENDED = CHANGED + 1 + DEPENDENTS
/** Events of one life. */
export const EVENTS_OF_LIFE: number = ENDED

/** One partition's, without end. */
export class Ownership {
  readonly #partition: number
  readonly #namespaces: readonly string[]
  readonly #lives: Life[] = []
  readonly #living: number
  #random: number
  #made = 0
  #version = 1

  /** `living`: how many objects exist at once, about. */
  constructor(partition: number, partitions: number, living: number) {
    this.#partition = partition
    this.#namespaces = namespacesOf(partition, partitions)
    this.#living = Math.max(1, Math.round(living / ADDED))
    this.#random = 0x9e3779b9 ^ partition
  }

  next(): Told {
    const at = this.#below(this.#living)
    // Not all at one age from the beginning on: a place is filled when it is first used.
    const life = this.#lives[at] ?? this.#born()
    this.#lives[at] = life
    const told = this.#step(life)
    if (life.step === ENDED) delete this.#lives[at]
    return told
  }

  /** The next owner and its dependents, which then stay as they are. */
  family(): readonly Told[] {
    const life = this.#born()
    return Array.from({ length: ADDED }, () => this.#step(life))
  }

  condemnation(dependents: number): Condemnation {
    const life = this.#born()
    const { home, owner } = life
    const all = new Map(
      Array.from({ length: dependents }, (_, index) => {
        const dependent = this.#dependentOf(life, index + 1)
        return [dependent.uid, dependent]
      }),
    )
    const told = (event: LoggedEvent): Told => ({ home, event, condemned: [] })
    return {
      added: [owner, ...all.values()].map((each) => told(seen('ObjectAdded', each))),
      owner: told(deleted(this.#versioned(owner))),
      gone: (uid) => told(deleted(this.#versioned(all.get(uid)!))),
    }
  }

  #step(life: Life): Told {
    const step = life.step++
    const { home, owner, dependents } = life
    const told = (event: LoggedEvent, condemned: readonly string[] = []): Told => ({
      home,
      event,
      condemned,
    })
    if (step === 0) return told(seen('ObjectAdded', owner))
    if (step < ADDED) {
      const added = this.#dependentOf(life, step)
      dependents.push(added)
      return told(seen('ObjectAdded', added))
    }
    if (step < CHANGED) {
      const index = step % DEPENDENTS
      const changed = this.#changed(dependents[index]!, owner)
      dependents[index] = changed
      return told(seen('ObjectUpdated', changed))
    }
    if (step === CHANGED) {
      const condemned = dependents.map(({ uid }) => uid)
      return told(deleted(this.#versioned(owner)), condemned)
    }
    return told(deleted(this.#versioned(dependents[step - CHANGED - 1]!)))
  }

  #born(): Life {
    const number = this.#made++
    const namespace = this.#namespaces[number % NAMESPACES]!
    const name = `web-${this.#partition}-${number.toString(36)}`
    const owner = this.#object(REPLICA_SET, namespace, name, this.#uid(number, 0), [])
    return { home: homeOf(CLUSTER, namespace), namespace, name, owner, dependents: [], step: 0 }
  }

  #dependentOf({ namespace, name, owner }: Life, index: number): ObjectMeta {
    const uid = this.#uid(Number.parseInt(name.slice(name.lastIndexOf('-') + 1), 36), index)
    return this.#object(POD, namespace, `${name}-${index}`, uid, [referenceTo(owner, true)])
  }

  /**
   * Another reference to the same owner every other time: an object counted as held is judged
   * again.
   */
  #changed(dependent: ObjectMeta, owner: ObjectMeta): ObjectMeta {
    const isBlocking = dependent.ownerReferences[0]?.blockOwnerDeletion === true
    return { ...this.#versioned(dependent), ownerReferences: [referenceTo(owner, !isBlocking)] }
  }

  #versioned(object: ObjectMeta): ObjectMeta {
    return { ...object, resourceVersion: String(++this.#version) }
  }

  #object(
    { group, version, kind, resource, scope }: KindNotation,
    namespace: string,
    name: string,
    uid: string,
    ownerReferences: readonly OwnerReference[],
  ): ObjectMeta {
    return {
      ...{ group, version, kind, resource, scope, namespace, name, uid, ownerReferences },
      resourceVersion: String(++this.#version),
      generation: 1,
      createdAt: 1_790_000_000_000 + this.#version,
      deletedAt: null,
      graceSeconds: null,
      finalizers: [],
      labels: [{ key: 'app.kubernetes.io/instance', value: name }],
      annotations: [],
      projected: null,
    }
  }

  #uid(number: number, index: number): string {
    const hex = (value: number, size: number): string => value.toString(16).padStart(size, '0')
    return `${hex(number, 8)}-${hex(this.#partition, 4)}-4${hex(index, 3)}-8a1b-5c7d9e0f2a34`
  }

  /** xorshift: the same everywhere. */
  #below(limit: number): number {
    let x = this.#random
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#random = x
    return (x >>> 0) % limit
  }
}

export interface Condemnation {
  /** The owner and its dependents. */
  readonly added: readonly Told[]
  /** The owner is deleted. */
  readonly owner: Told
  /** So does that dependent. */
  gone(uid: string): Told
}

/** One owner of so many dependents, and its end. */
export function condemnation(dependents: number): Condemnation {
  return new Ownership(0, 1, 1).condemnation(dependents)
}

function namespacesOf(partition: number, partitions: number): readonly string[] {
  const found: string[] = []
  for (let number = 0; found.length < NAMESPACES; number++) {
    const name = `team-${number}`
    if (partitionOf(homeOf(CLUSTER, name), partitions) === partition) found.push(name)
  }
  return found
}

function referenceTo(owner: ObjectMeta, isBlocking: boolean): OwnerReference {
  const apiVersion = `${owner.group}/${owner.version}`
  const { kind, name, uid } = owner
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: isBlocking || null }
}

function seen(type: 'ObjectAdded' | 'ObjectUpdated', object: ObjectMeta): LoggedEvent {
  return { type, cluster: CLUSTER, epoch: EPOCH, sync: null, object }
}

function deleted(object: ObjectMeta): LoggedEvent {
  return { type: 'ObjectDeleted', cluster: CLUSTER, epoch: EPOCH, object, ageMs: 0 }
}
