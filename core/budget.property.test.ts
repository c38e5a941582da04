/** Holds and budgets: never sooner, never more within any ten minutes, whatever the order and the number of partitions; and all goes in the end (I10, I11, I16). */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLUSTER } from '../testing/model-cluster.ts'
import { ToldFolders } from '../testing/told-folders.ts'
import type { DeleteObject } from './command.ts'
import { budgetKey } from './key.ts'
import type { ObjectMeta } from './object.ts'
import { policyFor } from './policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 200)
const BUDGETS = { e1: 3, e2: 4, e3: 2 }
const TEN_MINUTES_MS = 600_000
/** A budget comes again after it: tokens are counted by the minute, and have a minute to be used. */
const WINDOW_MS = 12 * 60_000
const BEAT_MS = 20_000
const HOLDS_MS = { E1: 30_000, E2: 600_000 } as const

/** An owner with some dependents, and how it goes. */
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

class Rig extends ToldFolders {
  readonly issues: Issue[] = []
  readonly goneAt = new Map<string, number>()

  constructor(partitions: number) {
    super(partitions, { ...policyFor('enforce', 'guarded'), budgets: BUDGETS })
  }

  override remove(owner: ObjectMeta): void {
    this.goneAt.set(owner.uid, this.now)
    super.remove(owner)
  }

  fold(partition: number): void {
    const outcome = this.folders.foldNext(partition)
    for (const command of outcome?.commands ?? []) {
      if (command.type !== 'DeleteObject') continue
      if (this.issues.some((each) => each.command.target.uid === command.target.uid)) continue
      const root = command.owners[0]?.uid ?? ''
      this.issues.push({ command, root, at: this.folders.timeOf(partition) })
    }
  }

  override foldAll(): void {
    while (this.folders.waiting > 0) {
      for (let partition = 0; partition < this.partitions; partition++) this.fold(partition)
    }
  }
}

const family = fc.record<Family>({
  namespace: fc.nat({ max: 5 }),
  dependents: fc.integer({ min: 1, max: 4 }),
  isSeen: fc.boolean(),
  afterMs: fc.constantFrom(0, 1_000, 20_000, 200_000),
})

test('nothing goes before its hold, nor more than the budget within ten minutes, and all goes in the end', () => {
  fc.assert(
    fc.property(
      fc.array(family, { minLength: 1, maxLength: 10 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 40 }),
      (families, partitions, turns) => {
        const rig = new Rig(partitions)
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
          for (const turn of turns) rig.fold((turn + index) % partitions)
        }
        // First as it comes, so that one partition is far behind another; then all keep up.
        const all = families.reduce((sum, { dependents }) => sum + dependents, 0)
        const beatsOfAll = (WINDOW_MS * (all / BUDGETS.e2 + 2)) / BEAT_MS
        for (let beats = 0; beats < 50 + beatsOfAll; beats++) {
          rig.beat(BEAT_MS + 7_000 * ((turns[beats % turns.length] ?? 0) % 6))
          if (beats >= 50) rig.foldAll()
          else for (const turn of turns) rig.fold(turn % partitions)
        }
        deepEqual(rig.issues.length, all)
        for (const { command, root, at } of rig.issues) {
          const hold = command.evidence === 'E1' ? HOLDS_MS.E1 : HOLDS_MS.E2
          ok(at - (rig.goneAt.get(root) ?? 0) >= hold, `${command.target.uid} went too soon`)
        }
        const e2 = rig.issues.filter(({ command }) => command.evidence === 'E2')
        ok(most(e2.map(({ at }) => at)) <= BUDGETS.e2, 'more than the budget of E2')
        rig.assertWhole()
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

test('what nobody takes is not saved up, and a note told twice grants nothing', () => {
  const rig = new Rig(1)
  const owners = Array.from({ length: 6 }, (_, i) => rig.put(`rs/r${i}`))
  for (let i = 0; i < owners.length; i++) rig.put(`pod/p${i} <- rs/r${i}`)
  rig.relist('rs', [])
  rig.beat(3_600_000)
  rig.foldAll()
  deepEqual(rig.issues.length, BUDGETS.e2)
  for (let times = 0; times < 3; times++) {
    rig.tell({
      type: 'TokensAsked',
      cluster: CLUSTER,
      partition: 0,
      budget: 'E2',
      asked: 6,
      about: '',
    })
    const told = { cluster: CLUSTER, budget: 'E2', granted: 4, at: 3_600_000 } as const
    rig.tell({ type: 'TokensGranted', ...told })
  }
  rig.foldAll()
  deepEqual(rig.issues.length, BUDGETS.e2)
})

test('a home that is in another mode than who asks grants nothing until it is told as well', () => {
  const rig = new Rig(1)
  const asked = { type: 'TokensAsked', cluster: CLUSTER, partition: 0, budget: 'E1' } as const
  const granted = (): number | undefined => {
    rig.foldAll()
    const budget = rig.folders.all[0]?.graph.get(budgetKey(CLUSTER, 'E1'))
    return budget?.type === 'Budget' ? budget.places[0]?.granted : undefined
  }
  const told = { type: 'PolicyChanged', who: 'test', why: 'test' } as const
  rig.tell({ ...told, policy: policyFor('dry-run', 'guarded') })
  rig.tell({ ...asked, asked: 9, about: '' })
  deepEqual(granted(), 0)
  rig.tell({ ...told, policy: { ...policyFor('enforce', 'guarded'), budgets: BUDGETS } })
  rig.tell({ ...asked, asked: 9, about: '' })
  deepEqual(granted(), BUDGETS.e1)
})
