/**
 * Shares of a kind: a bulk deletion is recognised however it is spread over namespaces and however
 * far the fold is behind; but the deletions of one namespace count against that one only.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLUSTER } from '../../testing/model/model-cluster.ts'
import { ToldLog } from '../../testing/rig/told-log.ts'
import { factsOf } from '../graph/facts.ts'
import type { ObjectMeta } from '../model/object.ts'
import { policyFor } from '../model/policy.ts'
import { openBreakerOf } from './breaker.ts'

const RUNS = Number(process.env['RUNS'] ?? 25)
const GUARDED = policyFor('enforce', 'guarded')

/** A namespace's, or (empty) the cluster's. */
function breakerOf({ log }: ToldLog, namespace: string): string | undefined {
  return openBreakerOf(factsOf(log.folder.graph, CLUSTER), namespace)?.because
}

/** So many owners, each with a dependent, spread evenly over so many namespaces. */
function families(
  rig: ToldLog,
  count: number,
  namespaces: number,
): { owners: ObjectMeta[]; dependents: ObjectMeta[] } {
  const numbers = Array.from({ length: count }, (_, index) => index)
  const owners = numbers.map((i) => rig.put(`rs/r${i} in n${i % namespaces}`))
  const dependents = numbers.map((i) => rig.put(`pod/p${i} in n${i % namespaces} <- rs/r${i}`))
  return { owners, dependents }
}

const pacesOf = fc.array(fc.nat({ max: 3 }), { maxLength: 20 })
const namespacesOf = fc.constantFrom(1, 3, 24)

test('what a relist misses waits for a person where it is a mass in all, and only there', () => {
  fc.assert(
    fc.property(
      namespacesOf,
      fc.constantFrom(90, 101, 160),
      fc.constantFrom(0.2, 0.5, 0.9),
      pacesOf,
      (namespaces, missing, share, paces) => {
        const rig = new ToldLog(GUARDED, paces)
        const { owners, dependents } = families(rig, Math.ceil(missing / share), namespaces)
        rig.relist('rs', owners)
        rig.foldAll()
        rig.relist('rs', owners.slice(missing))
        rig.foldAll()
        const isMass = missing > 100 && share > 0.3
        const seen = new Set(dependents.slice(0, missing).map((each) => rig.verdictOf(each)))
        deepEqual([...seen], [isMass ? 'delete bulk held' : 'delete missing held'])
        equal(rig.verdictOf(dependents.at(-1) as ObjectMeta), 'keep null')
        // The next relist is another one, and the objects that it misses are judged by themselves.
        rig.relist('rs', owners.slice(missing, -1))
        rig.foldAll()
        equal(rig.verdictOf(dependents.at(-1) as ObjectMeta), 'delete missing held')
        equal(
          rig.verdictOf(dependents[0] as ObjectMeta),
          isMass ? 'delete bulk held' : 'delete missing held',
        )
        rig.assertWhole()
      },
    ),
    { numRuns: RUNS },
  )
})

test('what we had deleted is no part of the mass', () => {
  fc.assert(
    fc.property(namespacesOf, fc.constantFrom(90, 101), pacesOf, (namespaces, others, paces) => {
      const rig = new ToldLog(policyFor('enforce', 'parity'), paces)
      const tops = Array.from({ length: namespaces }, (_, i) => rig.put(`pod/t${i} in n${i}`))
      const ours = Array.from({ length: 120 }, (_, i) =>
        rig.put(`rs/o${i} in n${i % namespaces} <- pod/t${i % namespaces}`),
      )
      const { owners, dependents } = families(rig, others + 10, namespaces)
      rig.relist('rs', [...ours, ...owners])
      rig.foldAll()
      for (const top of tops) rig.remove(top)
      rig.foldAll()
      rig.relist('rs', owners.slice(others))
      rig.foldAll()
      const seen = new Set(dependents.slice(0, others).map((each) => rig.verdictOf(each)))
      deepEqual([...seen], [others > 100 ? 'delete bulk held' : 'delete missing'])
      rig.assertWhole()
    }),
    { numRuns: RUNS },
  )
})

/**
 * Which breakers are to be open once so many of a kind were deleted in each namespace, of so many
 * in all.
 */
function expectedOf(
  counts: readonly number[],
  all: number,
): { readonly ofAll: boolean; readonly own: readonly boolean[] } {
  const most = Math.max(100, all * 0.3)
  const sum = counts.reduce((so, count) => so + Math.min(count, Math.floor(most / 4)), 0)
  return { ofAll: sum > most, own: counts.map((count) => count > most) }
}

test('what others delete of a kind opens the breaker where it is a mass: of its namespace, or of all where several bring it about', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(1, 2, 4, 5, 24),
      fc.constantFrom(90, 110, 160),
      fc.constantFrom(0.2, 0.9),
      pacesOf,
      (namespaces, deleted, share, paces) => {
        const rig = new ToldLog(GUARDED, paces)
        const { owners, dependents } = families(rig, Math.ceil(deleted / share), namespaces)
        // Another actor, who deletes one.
        const owner = rig.put('rs/stranger in other')
        const stranger = rig.put('pod/stranger in other <- rs/stranger')
        rig.relist('rs', [...owners, owner])
        rig.foldAll()
        for (const [index, each] of owners.slice(0, deleted).entries()) {
          rig.remove(each)
          if (index % 20 === 19) rig.beat(1_000)
        }
        rig.remove(owner)
        rig.foldAll()
        rig.beat(65_000)
        rig.foldAll()
        const counts = Array.from({ length: namespaces }, (_, n) =>
          Math.ceil((deleted - n) / namespaces),
        )
        const { ofAll, own } = expectedOf([...counts, 1], owners.length + 1)
        const text = /objects of kind ReplicaSet were deleted/
        if (ofAll) match(breakerOf(rig, '') ?? '', text)
        else equal(breakerOf(rig, ''), undefined)
        for (const [n, isOpen] of own.slice(0, -1).entries()) {
          if (isOpen && !ofAll) match(breakerOf(rig, `n${n}`) ?? '', text)
          if (!isOpen) equal(breakerOf(rig, `n${n}`), undefined)
          const expected = ofAll || isOpen ? 'delete deleted held' : 'delete deleted'
          equal(rig.verdictOf(dependents[n] as ObjectMeta), expected)
        }
        equal(breakerOf(rig, 'other'), undefined)
        equal(rig.verdictOf(stranger), ofAll ? 'delete deleted held' : 'delete deleted')
        rig.assertWhole()
      },
    ),
    { numRuns: RUNS },
  )
})

test('what was deleted over a longer time opens no breaker', () => {
  for (const namespaces of [1, 24]) {
    const rig = new ToldLog(GUARDED)
    const { owners } = families(rig, 130, namespaces)
    for (const owner of owners.slice(0, 120)) {
      rig.remove(owner)
      rig.beat(10_000)
      rig.foldAll()
    }
    deepEqual([breakerOf(rig, ''), breakerOf(rig, 'n0')], [undefined, undefined])
  }
})
