/**
 * Holds and budgets: no deletion is earlier than its hold, or above the budget of any ten minutes,
 * in whatever order; no namespace uses up another's; and all is deleted in the end (I10, I11, I16).
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLUSTER } from '../../testing/model/model-cluster.ts'
import { object } from '../../testing/model/notation.ts'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { foldedLog } from '../../testing/rig/folded-log.ts'
import type { DeleteObject } from '../model/command.ts'
import type { Event } from '../model/event.ts'
import { EMPTY_SET, withMember } from '../model/hash.ts'
import type { ObjectMeta } from '../model/object.ts'
import { policyFor } from '../model/policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 200)
const BUDGETS = { deleted: 6, missing: 8, notFound: 4 }
const TEN_MINUTES_MS = 600_000
/** A budget comes again after it: it is counted by the minute, and a lease lasts one. */
const WINDOW_MS = 12 * 60_000
const BEAT_MS = 20_000
const HOLDS_MS = { deleted: 30_000, missing: 600_000 } as const

/** An owner with some dependents, and how it is deleted. */
interface Family {
  readonly namespace: number
  readonly dependents: number
  readonly isSeen: boolean
  readonly afterMs: number
}

interface Issue {
  readonly command: DeleteObject
  readonly root: string
  readonly at: number
}

class Rig {
  readonly log = foldedLog()
  readonly issues: Issue[] = []
  readonly goneAt = new Map<string, number>()
  #now = 0
  #version = 0
  #sync = 0

  constructor() {
    const about = { cluster: CLUSTER, epoch: 1 }
    const policy = { ...policyFor('enforce', 'guarded'), budgets: BUDGETS }
    this.tell({ type: 'WatcherStarted', serverTime: null, ...about, name: 'test', clusterEpoch: 1 })
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const short of ['rs', 'pod']) {
      this.tell(new World().served(short, true))
      this.relist(short, [])
    }
  }

  tell(event: Event): void {
    this.log.append(event, this.#now)
  }

  put(text: string): ObjectMeta {
    const seen = object(text, String(++this.#version))
    this.tell({ type: 'ObjectAdded', cluster: CLUSTER, epoch: 1, sync: null, object: seen })
    return seen
  }

  remove(owner: ObjectMeta): void {
    this.goneAt.set(owner.uid, this.#now)
    const last = { ...owner, resourceVersion: String(++this.#version) }
    this.tell({ type: 'ObjectDeleted', cluster: CLUSTER, epoch: 1, object: last, ageMs: 0 })
  }

  /** The objects of a kind that still exist. */
  relist(short: string, left: readonly ObjectMeta[]): void {
    const { group, kind } = object(`${short}/x`, '0')
    const sync = ++this.#sync
    const about = { cluster: CLUSTER, epoch: 1, group, kind, sync }
    this.tell({ type: 'SyncStarted', ...about })
    for (const each of left) {
      this.tell({ type: 'ObjectUpdated', cluster: CLUSTER, epoch: 1, sync, object: each })
    }
    const listed = left.reduce((set, { uid }) => withMember(set, uid), EMPTY_SET)
    this.tell({ type: 'SyncFinished', ...about, resourceVersion: String(this.#version), listed })
  }

  beat(ms: number): void {
    this.#now += ms
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] })
  }

  fold(): void {
    for (const command of this.log.foldNext()?.commands ?? []) {
      if (command.type !== 'DeleteObject') continue
      if (this.issues.some((each) => each.command.target.uid === command.target.uid)) continue
      const root = command.owners[0]?.uid ?? ''
      this.issues.push({ command, root, at: this.log.time })
    }
  }

  foldAll(): void {
    while (this.log.waiting > 0) this.fold()
  }
}

const family = fc.record<Family>({
  namespace: fc.nat({ max: 5 }),
  dependents: fc.integer({ min: 1, max: 4 }),
  isSeen: fc.boolean(),
  afterMs: fc.constantFrom(0, 1_000, 20_000, 200_000),
})

test('nothing is deleted before its hold, nor more than the budget within ten minutes, and all is in the end', () => {
  fc.assert(
    fc.property(
      fc.array(family, { minLength: 1, maxLength: 10 }),
      fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 40 }),
      (families, turns) => {
        const rig = new Rig()
        const owners = families.map(({ namespace, dependents }, index) => {
          const owner = rig.put(`rs/r${index} in n${namespace}`)
          for (let i = 0; i < dependents; i++) {
            rig.put(`pod/p${index}-${i} in n${namespace} <- rs/r${index}`)
          }
          return owner
        })
        let left = owners
        for (const [index, { isSeen, afterMs }] of families.entries()) {
          const owner = owners[index] as ObjectMeta
          left = left.filter((each) => each !== owner)
          if (isSeen) rig.remove(owner)
          else {
            rig.goneAt.set(owner.uid, 0)
            rig.relist('rs', left)
          }
          rig.beat(afterMs)
          for (const turn of turns) if (turn > 0) rig.fold()
        }
        // First as it comes, so that the fold is behind; then it keeps up.
        const all = families.reduce((sum, { dependents }) => sum + dependents, 0)
        const beatsOfAll = (WINDOW_MS * (all / (BUDGETS.missing / 4) + 2)) / BEAT_MS
        for (let beats = 0; beats < 50 + beatsOfAll; beats++) {
          rig.beat(BEAT_MS + 7_000 * ((turns[beats % turns.length] ?? 0) % 6))
          if (beats >= 50) rig.foldAll()
          else for (const turn of turns) if (turn > 0) rig.fold()
        }
        deepEqual(rig.issues.length, all)
        for (const { command, root, at } of rig.issues) {
          const hold = command.evidence === 'deleted' ? HOLDS_MS.deleted : HOLDS_MS.missing
          ok(at - (rig.goneAt.get(root) ?? 0) >= hold, `${command.target.uid} went too soon`)
        }
        const missing = rig.issues.filter(({ command }) => command.evidence === 'missing')
        ok(
          most(missing.map(({ at }) => at)) <= BUDGETS.missing,
          'more than the budget for evidence missing',
        )
        for (let namespace = 0; namespace <= 5; namespace++) {
          const own = missing.filter(({ command }) => command.target.namespace === `n${namespace}`)
          ok(
            most(own.map(({ at }) => at)) <= BUDGETS.missing / 2,
            'more than half in one namespace',
          )
        }
        const roots = new Map(
          rig.issues
            .filter(({ command }) => command.evidence === 'deleted')
            .map(({ root, at }) => [root, at] as const)
            .reverse(),
        )
        ok(most([...roots.values()]) <= BUDGETS.deleted, 'more roots than the budget of deleted')
        rig.log.folder.commit()
        deepEqual(check(rig.log.folder.state), [])
      },
    ),
    { numRuns: RUNS },
  )
})

/** The most within any ten minutes. */
function most(times: readonly number[]): number {
  const within = (from: number): number =>
    times.filter((at) => at >= from && at < from + TEN_MINUTES_MS).length
  return Math.max(0, ...times.map(within))
}

test('what nobody uses is not saved up', () => {
  const rig = new Rig()
  const owners = Array.from({ length: 12 }, (_, i) => rig.put(`rs/r${i}`))
  for (let i = 0; i < owners.length; i++) rig.put(`pod/p${i} <- rs/r${i}`)
  rig.relist('rs', [])
  rig.beat(3_600_000)
  rig.foldAll()
  deepEqual(rig.issues.length, BUDGETS.missing / 2)
  rig.beat(60_000)
  rig.foldAll()
  deepEqual(rig.issues.length, BUDGETS.missing / 2)
})
