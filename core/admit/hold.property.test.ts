/**
 * Holds of cascades: nothing is deleted sooner than a hold after a person began it, however deep it
 * is; an object created after its owner's deletion waits an hour; and a cascade is held once (I11).
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { object } from '../../testing/model/notation.ts'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import type { FoldedLog } from '../../testing/rig/folded-log.ts'
import { foldedLog } from '../../testing/rig/folded-log.ts'
import type { DeleteObject } from '../model/command.ts'
import type { Event } from '../model/event.ts'
import { EMPTY_SET } from '../model/hash.ts'
import type { ObjectMeta } from '../model/object.ts'
import { policyFor } from '../model/policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 200)
const CLUSTER = 'c'
const HOLD_MS = 30_000
const LATE_HOLD_MS = 3_600_000
const LATE_MS = 1_000
const BEAT_MS = 5_000
/** From a command to the event of its watch, at most. */
const REAPED_MS = 2_000

/** An object of the tree: its owner is an earlier one, or none. */
interface Thing {
  readonly owner: number
  /** A node has dependents in many namespaces. */
  readonly isClusterScoped: boolean
  /**
   * When it is made, if it is not there from the beginning; it may be created after its owner was
   * deleted.
   */
  readonly bornMs: number
  /** When a person deletes it; never, most of them. */
  readonly deletedMs: number | null
  /** When it is changed, in something else than its owners. */
  readonly changedMs: number | null
  readonly reapedMs: number
}

const thing = fc.record<Thing>({
  owner: fc.nat({ max: 9 }),
  isClusterScoped: fc.boolean(),
  bornMs: fc.constantFrom(0, 0, 0, 70_000, 95_000, 140_000),
  deletedMs: fc.constantFrom<number | null>(null, null, null, null, 75_000, 110_000),
  changedMs: fc.constantFrom<number | null>(null, null, null, 85_000, 101_000),
  reapedMs: fc.integer({ min: 0, max: REAPED_MS }),
})

interface Life {
  readonly text: string
  readonly uid: string
  readonly ownerIndex: number | null
  told: number
  goneAt: number | null
  byUs: boolean
  commandAt: number | null
}

class Run {
  readonly log: FoldedLog = foldedLog()
  readonly lives: readonly Life[]
  readonly #things: readonly Thing[]
  #now = 0
  #version = 0
  /** Events that are still to be published. */
  #due: { at: number; tell: () => void }[] = []

  constructor(things: readonly Thing[]) {
    this.#things = things
    const about = { cluster: CLUSTER, epoch: 1 }
    this.#tell({
      type: 'WatcherStarted',
      serverTime: null,
      ...about,
      name: 'test',
      clusterEpoch: 1,
    })
    this.#tell({
      type: 'PolicyChanged',
      policy: policyFor('enforce', 'guarded'),
      who: 'test',
      why: 'test',
    })
    const world = new World()
    for (const [index, short] of ['rs', 'pod', 'node'].entries()) {
      const { group, kind } = object(`${short}/x`, '0')
      const relist = { ...about, group, kind, sync: index + 1 }
      this.#tell(world.served(short, true))
      this.#tell({ type: 'SyncStarted', ...relist })
      this.#tell({ type: 'SyncFinished', ...relist, resourceVersion: '0', listed: EMPTY_SET })
    }
    this.lives = this.#plan()
  }

  #plan(): readonly Life[] {
    const names: string[] = []
    return this.#things.map((each, index) => {
      const ownerIndex = index === 0 ? null : each.owner % index
      const owner = ownerIndex === null ? undefined : this.#things[ownerIndex]
      // A cluster-scoped object has no owner in a namespace.
      const isAbove = owner === undefined || (owner.isClusterScoped && names[ownerIndex ?? 0])
      const short = each.isClusterScoped && isAbove ? 'node' : 'rs'
      const name = `${short}/t${index}`
      names.push(short === 'node' ? name : '')
      const where = short === 'node' ? '' : ` in n${index % 3}`
      const ownerName = ownerIndex === null ? null : names[ownerIndex] || `rs/t${ownerIndex}`
      // An owner in a namespace is named from there only.
      const place = ownerName?.startsWith('rs/') === true ? this.#placeOf(ownerIndex ?? 0) : where
      this.#places.push(place)
      const text = `${name}${place}${ownerName === null ? '' : ` <- ${ownerName}`}`
      const life: Life = {
        ...{ text, uid: object(text, '0').uid, ownerIndex },
        ...{ told: each.bornMs, goneAt: null, byUs: false, commandAt: null },
      }
      this.#at(each.bornMs, () => this.#see(life.text, each.bornMs))
      if (each.changedMs !== null && each.changedMs > each.bornMs) {
        this.#at(each.changedMs, () => {
          if (life.goneAt === null) this.#see(`${life.text} [h.io/x]`, each.bornMs)
        })
      }
      if (each.deletedMs !== null && each.deletedMs > each.bornMs) {
        this.#at(each.deletedMs, () => this.#gone(life, false))
      }
      return life
    })
  }

  readonly #places: string[] = []

  #placeOf(index: number): string {
    return this.#places[index] ?? ''
  }

  run(untilMs: number): void {
    for (; this.#now <= untilMs; this.#now += BEAT_MS / 5) {
      const due = this.#due.filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)
      this.#due = this.#due.filter(({ at }) => at > this.#now)
      for (const { tell } of due) tell()
      if (this.#now % BEAT_MS === 0) {
        this.#tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] })
      }
      this.#foldAll()
    }
  }

  #foldAll(): void {
    while (this.log.waiting > 0) {
      for (const command of this.log.foldNext()?.commands ?? []) {
        if (command.type === 'DeleteObject') this.#reap(command)
      }
    }
  }

  /** As a reaper would; the watch publishes it a little later. */
  #reap(command: DeleteObject): void {
    const index = this.lives.findIndex(({ uid }) => uid === command.target.uid)
    const life = this.lives[index]
    const thing = this.#things[index]
    if (life === undefined || thing === undefined || life.commandAt !== null) return
    life.commandAt = this.#now
    this.#at(this.#now + thing.reapedMs, () => this.#gone(life, true))
  }

  #gone(life: Life, byUs: boolean): void {
    if (life.goneAt !== null) return
    life.goneAt = this.#now
    life.byUs = byUs
    const last: ObjectMeta = object(life.text, String(++this.#version))
    this.#tell({ type: 'ObjectDeleted', cluster: CLUSTER, epoch: 1, object: last, ageMs: 0 })
  }

  #see(text: string, createdAt: number): void {
    const seen = { ...object(text, String(++this.#version)), createdAt }
    this.#tell({ type: 'ObjectAdded', cluster: CLUSTER, epoch: 1, sync: null, object: seen })
  }

  #at(at: number, tell: () => void): void {
    this.#due.push({ at, tell })
  }

  #tell(event: Event): void {
    this.log.append(event, this.#now)
  }
}

function ownerOf(lives: readonly Life[], { ownerIndex }: Life): Life | undefined {
  return ownerIndex === null ? undefined : lives[ownerIndex]
}

/** Created after its owner's deletion was observed, as a backup tool restores objects. */
function isLate(lives: readonly Life[], life: Life): boolean {
  const goneAt = ownerOf(lives, life)?.goneAt ?? null
  return goneAt !== null && life.told > goneAt + LATE_MS
}

/**
 * When its deletion began: a user deleted an owner above it, or it was created when its owner was
 * already deleted.
 */
function begunAt(lives: readonly Life[], life: Life): number {
  const owner = ownerOf(lives, life)
  if (owner === undefined || owner.goneAt === null) return Number.POSITIVE_INFINITY
  if (life.told > owner.goneAt) return life.told
  return owner.byUs && owner.commandAt !== null ? begunAt(lives, owner) : owner.goneAt
}

const ROOT: Thing = {
  ...{ owner: 0, isClusterScoped: false, bornMs: 0, changedMs: null, reapedMs: 0 },
  deletedMs: 60_000,
}

test('nothing is deleted sooner than a hold after a person began it, nor kept but what came late', () => {
  fc.assert(
    fc.property(
      fc.array(thing, { minLength: 1, maxLength: 9 }),
      fc.boolean(),
      (things, isClusterScoped) => {
        const run = new Run([{ ...ROOT, isClusterScoped }, ...things])
        run.run(600_000)
        for (const life of run.lives.slice(1)) {
          if (life.byUs || life.commandAt !== null) {
            const waited = (life.commandAt ?? 0) - begunAt(run.lives, life)
            ok(waited >= HOLD_MS, `${life.text} was deleted after ${waited} ms`)
            ok(!isLate(run.lives, life), `${life.text} came late, and was deleted within minutes`)
          }
        }
        const isLeft = (life: Life | undefined): boolean => life?.goneAt === null
        const left = run.lives.filter((life) => isLeft(life) && !isLate(run.lives, life))
        deepEqual(
          left.filter((life) => !isLeft(ownerOf(run.lives, life))).map(({ text }) => text),
          [],
        )
        run.log.folder.commit()
        deepEqual(check(run.log.folder.state), [])
      },
    ),
    { numRuns: RUNS },
  )
})

test('what was there before goes within one hold, however deep it hangs', () => {
  const depth = 6
  const chain = Array.from({ length: depth }, (_, index): Thing => {
    return { ...ROOT, owner: index, deletedMs: null, reapedMs: 500 }
  })
  const run = new Run([ROOT, ...chain])
  run.run(200_000)
  const last = run.lives.at(-1)?.goneAt ?? Number.POSITIVE_INFINITY
  ok(last <= (ROOT.deletedMs ?? 0) + HOLD_MS + BEAT_MS + depth * REAPED_MS, `${last}`)
})

test('what came after its owner’s deletion goes within its hour, and what it owns with it', () => {
  const late = { ...ROOT, owner: 0, bornMs: 95_000, deletedMs: null }
  const run = new Run([ROOT, late, { ...late, owner: 1 }])
  run.run(late.bornMs + LATE_HOLD_MS + 2 * HOLD_MS)
  const [, restored, owned] = run.lives
  const goneAt = restored?.goneAt ?? 0
  ok(goneAt >= late.bornMs + LATE_HOLD_MS, `${goneAt}`)
  ok((owned?.goneAt ?? 0) >= goneAt + HOLD_MS, `${owned?.goneAt}`)
})
