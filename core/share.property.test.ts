/** Shares of a kind: a mass that is spread over many namespaces is the same mass with any number of partitions, and what is none in all is none in many. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLUSTER } from '../testing/model-cluster.ts'
import { ToldFolders } from '../testing/told-folders.ts'
import { openBreakerOf } from './breaker.ts'
import { nodeOf } from './graph.ts'
import type { ObjectMeta } from './object.ts'
import type { Policy } from './policy.ts'
import { policyFor } from './policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 25)
const NAMESPACES = 24
const GUARDED = policyFor('enforce', 'guarded')

class Rig extends ToldFolders {
  readonly #turns: readonly number[]

  constructor(partitions: number, policy: Policy, turns: readonly number[]) {
    super(partitions, policy)
    this.#turns = turns
  }

  override foldAll(): void {
    for (const turn of this.#turns) this.folders.foldNext(turn % this.partitions)
    super.foldAll()
  }

  /** Its verdict and evidence. */
  verdictOf({ uid, namespace }: ObjectMeta): string {
    const found = this.folders.all[this.homeOf(namespace)]
    if (found === undefined) throw new Error(`nobody has ${namespace}`)
    const verdict = nodeOf(found.graph, CLUSTER, uid)?.verdict
    return `${verdict?.type} ${verdict?.evidence}`
  }

  breakers(): readonly (string | undefined)[] {
    return this.folders.all.map(({ graph }) => openBreakerOf(graph, CLUSTER)?.because)
  }
}

/** So many owners, each with a dependent, spread evenly over the namespaces. */
function families(rig: Rig, count: number): { owners: ObjectMeta[]; dependents: ObjectMeta[] } {
  const numbers = Array.from({ length: count }, (_, index) => index)
  const owners = numbers.map((i) => rig.put(`rs/r${i} in n${i % NAMESPACES}`))
  const dependents = numbers.map((i) => rig.put(`pod/p${i} in n${i % NAMESPACES} <- rs/r${i}`))
  return { owners, dependents }
}

const partitionsOf = fc.integer({ min: 1, max: 8 })
const turnsOf = fc.array(fc.nat({ max: 7 }), { maxLength: 400 })

test('what a relist misses waits for a person where it is a mass in all, and only there', () => {
  fc.assert(
    fc.property(
      partitionsOf,
      fc.constantFrom(90, 101, 160),
      fc.constantFrom(0.2, 0.5, 0.9),
      turnsOf,
      (partitions, missing, share, turns) => {
        const rig = new Rig(partitions, GUARDED, turns)
        const { owners, dependents } = families(rig, Math.ceil(missing / share))
        rig.relist('rs', owners)
        rig.foldAll()
        rig.relist('rs', owners.slice(missing))
        rig.foldAll()
        const isMass = missing > 100 && share > 0.3
        const seen = new Set(dependents.slice(0, missing).map((each) => rig.verdictOf(each)))
        deepEqual([...seen], [isMass ? 'held E4' : 'held E2'])
        equal(rig.verdictOf(dependents.at(-1) as ObjectMeta), 'keep null')
        // The next relist is another one, and what it misses is judged by itself.
        rig.relist('rs', owners.slice(missing, -1))
        rig.foldAll()
        equal(rig.verdictOf(dependents.at(-1) as ObjectMeta), 'held E2')
        equal(rig.verdictOf(dependents[0] as ObjectMeta), isMass ? 'held E4' : 'held E2')
        rig.assertWhole()
      },
    ),
    { numRuns: RUNS },
  )
})

test('what we had deleted is no part of the mass in any partition', () => {
  fc.assert(
    fc.property(partitionsOf, fc.constantFrom(90, 101), turnsOf, (partitions, others, turns) => {
      const rig = new Rig(partitions, policyFor('enforce', 'parity'), turns)
      const tops = Array.from({ length: NAMESPACES }, (_, i) => rig.put(`pod/t${i} in n${i}`))
      const ours = Array.from({ length: 120 }, (_, i) =>
        rig.put(`rs/o${i} in n${i % NAMESPACES} <- pod/t${i % NAMESPACES}`),
      )
      const { owners, dependents } = families(rig, others + 10)
      rig.relist('rs', [...ours, ...owners])
      rig.foldAll()
      for (const top of tops) rig.remove(top)
      rig.foldAll()
      rig.relist('rs', owners.slice(others))
      rig.foldAll()
      const seen = new Set(dependents.slice(0, others).map((each) => rig.verdictOf(each)))
      deepEqual([...seen], [others > 100 ? 'held E4' : 'reap E2'])
      rig.assertWhole()
    }),
    { numRuns: RUNS },
  )
})

test('what others delete of a kind opens the breaker everywhere where it is a mass in all, and only there', () => {
  fc.assert(
    fc.property(
      partitionsOf,
      fc.constantFrom(90, 110, 160),
      fc.constantFrom(0.2, 0.9),
      turnsOf,
      (partitions, deleted, share, turns) => {
        const rig = new Rig(partitions, GUARDED, turns)
        const { owners, dependents } = families(rig, Math.ceil(deleted / share))
        rig.relist('rs', owners)
        rig.foldAll()
        for (const [index, owner] of owners.slice(0, deleted).entries()) {
          rig.remove(owner)
          if (index % 20 === 19) rig.beat(1_000)
        }
        rig.foldAll()
        rig.beat(5_000)
        rig.foldAll()
        const isMass = deleted > 100 && share > 0.3
        for (const because of rig.breakers()) {
          if (isMass) match(because ?? '', /objects of kind ReplicaSet were deleted/)
          else equal(because, undefined)
        }
        rig.beat(60_000)
        rig.foldAll()
        equal(rig.verdictOf(dependents[0] as ObjectMeta), isMass ? 'held E1' : 'reap E1')
        rig.assertWhole()
      },
    ),
    { numRuns: RUNS },
  )
})

test('what was deleted over a longer time opens no breaker', () => {
  const rig = new Rig(4, GUARDED, [])
  const { owners } = families(rig, 130)
  for (const owner of owners.slice(0, 120)) {
    rig.remove(owner)
    rig.beat(10_000)
    rig.foldAll()
  }
  deepEqual(new Set(rig.breakers()), new Set([undefined]))
})
