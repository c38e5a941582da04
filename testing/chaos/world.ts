/**
 * A cluster in which ownership keeps changing, and the objects that have to exist once a collector
 * has done its work.
 *
 * What must stay true: the expected result never depends on which actor was first: within a round
 * no object is moved to an owner that is deleted in it, and an object that one owner orphaned has
 * no other one left after it. An object that has a live owner, or none, must exist with the uid
 * that it was created with.
 */
import type { PropagationPolicy } from '../../core/model/object.ts'
import type { ControlPlane } from '../cluster/control-plane.ts'
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  type Draft,
  type Made,
  make,
  NAMESPACE,
  pathOf,
  type Reference,
  remove,
  SECRET,
  uidsOf,
} from '../process/objects.ts'
import type { Chance } from '../seeded.ts'

const KINDS = [CONFIG_MAP, SECRET, CLUSTER_ROLE] as const
const NAMESPACES = 4
const CASCADES = ['Background', 'Background', 'Foreground'] as const
/**
 * One round in so many orphans all dependents of its owners: together with other requests, the last
 * one would decide, and who saw them late cannot know which that was.
 */
const ORPHANING_ROUNDS = 4
/** Objects of one round, and how many of them may be owners of others. */
const MADE_PER_ROUND = 40
const OWNER_SHARE = 3
/** Of all that live, how many owners are deleted in a round. */
const REMOVED_SHARE = 4
const MOVED_PER_ROUND = 5

interface Thing {
  readonly made: Made
  owners: Thing[]
  /** By a user, or because nothing holds it. */
  isGone: boolean
}

export class World {
  readonly #plane: ControlPlane
  readonly #chance: Chance
  readonly #set = 'chaos'
  readonly #things: Thing[] = []
  #left: readonly Thing[] = []
  /** In this round, by one of several owners. */
  readonly #letGo = new Set<Thing>()
  #count = 0

  constructor(plane: ControlPlane, chance: Chance) {
    this.#plane = plane
    this.#chance = chance
  }

  async prepare(): Promise<void> {
    for (let index = 0; index < NAMESPACES; index++) {
      await make(this.#plane, { kind: NAMESPACE, name: namespaceOf(index) })
    }
  }

  get size(): number {
    return this.#things.filter(({ isGone }) => !isGone).length
  }

  /** Makes, moves and deletes, one after the other. */
  async *round(): AsyncIterable<void> {
    for (let index = 0; index < MADE_PER_ROUND; index++) {
      await this.#make()
      yield
    }
    const leaving = this.#pickLeaving()
    const isOrphaning = this.#chance.below(ORPHANING_ROUNDS) === 0
    for (let index = 0; index < MOVED_PER_ROUND; index++) {
      await this.#move(leaving)
      yield
    }
    for (const thing of leaving) {
      await this.#remove(thing, isOrphaning ? 'Orphan' : this.#chance.pick(CASCADES))
      yield
    }
    // For a minute after a watcher slept it is unknown whether an owner was deleted before the
    // request to orphan; the orphan stays then.
    for (const thing of this.#letGo) {
      if (thing.isGone) continue
      await this.#setOwners(thing, [])
      yield
    }
    this.#letGo.clear()
  }

  /** Whether the cluster holds exactly the expected objects; else what is wrong. */
  async difference(): Promise<string | true> {
    const sets = await Promise.all(KINDS.map((kind) => uidsOf(this.#plane, kind, this.#set)))
    const there = new Set(sets.flatMap((set) => [...set]))
    const lost = this.#things.filter(({ made, isGone }) => !isGone && !there.has(made.uid))
    if (lost.length > 0) return `WRONG: ${names(lost)} had to stay and are gone`
    this.#left = this.#things.filter(({ made, isGone }) => isGone && there.has(made.uid))
    return (
      this.#left.length === 0 || `${this.#left.length} have to go: ${names(this.#left.slice(0, 3))}`
    )
  }

  /** Objects that existed at the last check and have to be deleted. */
  get left(): readonly Made[] {
    return this.#left.map(({ made }) => made)
  }

  async #make(): Promise<void> {
    const kind = this.#chance.pick(KINDS)
    const namespace = kind.namespaced ? namespaceOf(this.#chance.below(NAMESPACES)) : ''
    const owners = this.#ownersFor(namespace)
    const draft: Draft = {
      kind,
      name: `thing-${this.#count++}`,
      set: this.#set,
      ...(namespace !== '' && { namespace }),
      owners: owners.map(({ made }) => this.#reference(made)),
    }
    this.#things.push({ made: await make(this.#plane, draft), owners, isGone: false })
  }

  /** Up to two that live and may own something there. */
  #ownersFor(namespace: string): Thing[] {
    const able = this.#things.filter(
      ({ made, isGone }, index) =>
        !isGone &&
        index % OWNER_SHARE === 0 &&
        (made.namespace === '' || made.namespace === namespace),
    )
    const picked = new Set<Thing>()
    for (let left = this.#chance.below(3); left > 0 && able.length > 0; left--) {
      picked.add(able[this.#chance.below(able.length)]!)
    }
    return [...picked]
  }

  #reference({ kind, name, uid }: Made): Reference {
    const blockOwnerDeletion = this.#chance.below(2) === 0
    return { apiVersion: kind.apiVersion, kind: kind.kind, name, uid, blockOwnerDeletion }
  }

  #pickLeaving(): Thing[] {
    const living = this.#things.filter(({ isGone }) => !isGone)
    return living.filter(() => this.#chance.below(REMOVED_SHARE) === 0)
  }

  /** From all its owners to one that stays. */
  async #move(leaving: readonly Thing[]): Promise<void> {
    const doomed = new Set<Thing>()
    for (const thing of leaving) this.#addClosure(thing, doomed)
    const safe = this.#things.filter((thing) => !thing.isGone && !doomed.has(thing))
    const movable = safe.filter(({ owners }) => owners.length > 0)
    if (movable.length === 0) return
    const thing = movable[this.#chance.below(movable.length)]!
    const able = safe.filter(
      (owner) =>
        owner !== thing &&
        !this.#isBelow(owner, thing) &&
        (owner.made.namespace === '' || owner.made.namespace === thing.made.namespace),
    )
    if (able.length === 0) return
    const owner = able[this.#chance.below(able.length)]!
    await this.#setOwners(thing, [owner])
  }

  async #setOwners(thing: Thing, owners: Thing[]): Promise<void> {
    const patch = { metadata: { ownerReferences: owners.map(({ made }) => this.#reference(made)) } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    const { status, body } = await this.#plane.request('PATCH', pathOf(thing.made), patch, headers)
    if (status !== 200) throw new Error(`a move was answered ${status}: ${JSON.stringify(body)}`)
    thing.owners = owners
  }

  #isBelow(thing: Thing, above: Thing): boolean {
    return thing.owners.some((owner) => owner === above || this.#isBelow(owner, above))
  }

  /** All its direct and indirect dependents, whether they would be deleted or not. */
  #addClosure(thing: Thing, into: Set<Thing>): void {
    if (into.has(thing)) return
    into.add(thing)
    for (const other of this.#things)
      if (other.owners.includes(thing)) this.#addClosure(other, into)
  }

  async #remove(thing: Thing, policy: PropagationPolicy): Promise<void> {
    // A dependent of another removed object may be deleted by now, or soon.
    if (thing.isGone) return
    await remove(this.#plane, thing.made, policy)
    thing.isGone = true
    for (const dependent of this.#things.filter(({ owners }) => owners.includes(thing))) {
      this.#leave(dependent, thing, policy)
    }
  }

  #leave(dependent: Thing, owner: Thing, policy: PropagationPolicy): void {
    const left = dependent.owners.filter((each) => each !== owner)
    dependent.owners = left
    if (policy === 'Orphan' && left.length > 0 && !dependent.isGone) this.#letGo.add(dependent)
    if (dependent.isGone || left.length > 0 || policy === 'Orphan') return
    dependent.isGone = true
    for (const other of this.#things.filter(({ owners }) => owners.includes(dependent))) {
      this.#leave(other, dependent, 'Background')
    }
  }
}

function names(things: readonly Thing[]): string {
  return things.map(({ made }) => `${made.kind.kind}/${made.name}`).join(', ')
}

function namespaceOf(index: number): string {
  return `chaos-${index}`
}
