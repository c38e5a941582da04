/**
 * A record does bounded work: work that fans out is continued by records of its own, and nothing
 * recurses on data.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Folder } from '../testing/model/folder.ts'
import { folder } from '../testing/model/folder.ts'
import { CLUSTER, served } from '../testing/model/model-cluster.ts'
import { kindNotation, object } from '../testing/model/notation.ts'
import { check } from '../testing/model/state-check.ts'
import type { Outcome } from './graph/outcome.ts'
import { KEYS_PER_RECORD as SLICE } from './model/constant.ts'
import type { Event } from './model/event.ts'
import { EMPTY_SET } from './model/hash.ts'
import { policyFor } from './model/policy.ts'

function begun(batchSize: number): Folder {
  const begun = folder(batchSize)
  const policy = policyFor('enforce', 'parity')
  const started = { cluster: CLUSTER, name: 'test', epoch: 1, clusterEpoch: 1 }
  begun.fold({ type: 'WatcherStarted', serverTime: null, ...started })
  begun.fold({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  for (const short of ['cm', 'rs']) {
    begun.fold(served(short, true))
    for (const event of emptyRelist(short, 1)) begun.fold(event)
  }
  return begun
}

function emptyRelist(short: string, sync: number): Event[] {
  const { group, kind } = kindNotation(short)
  const about = { cluster: CLUSTER, epoch: 1, group, kind, sync }
  const finished = { resourceVersion: '1000000', listed: EMPTY_SET }
  return [
    { type: 'SyncStarted', ...about },
    { type: 'SyncFinished', ...about, ...finished },
  ]
}

function added(text: string, version: number): Event {
  const about = { cluster: CLUSTER, epoch: 1, sync: null }
  return { type: 'ObjectAdded', ...about, object: object(text, String(version)) }
}

function deleted(text: string, version: number): Event {
  const about = { cluster: CLUSTER, epoch: 1 }
  return { type: 'ObjectDeleted', ...about, object: object(text, String(version)), ageMs: 0 }
}

/** Folds a record and every Continue after it; the outcome of each of them. */
function slices(folder: Folder, event: Event, now?: number): readonly Outcome[] {
  const outcomes = folder.fold(event, now)
  folder.commit()
  deepEqual(check(folder.state), [])
  return outcomes
}

/** How many are deleted by each record. */
function sliced(all: number): readonly number[] {
  return Array.from({ length: Math.ceil(all / SLICE) }, (_, index) =>
    Math.min(SLICE, all - index * SLICE),
  )
}

for (const batchSize of [1, 1000]) {
  test(`an owner's 5,000 dependents are judged in slices, each once, in batches of ${batchSize}`, () => {
    const told = begun(batchSize)
    told.fold(added('rs/web', 1))
    for (let i = 0; i < 5000; i++) told.fold(added(`cm/d${i} <- rs/web`, i + 2))

    const outcomes = slices(told, deleted('rs/web', 6000))

    deepEqual(
      outcomes.map(({ commands }) => commands.length),
      sliced(5000),
    )
    deepEqual(
      outcomes.map(({ continues }) => continues),
      sliced(5000).map((_, index, all) => index < all.length - 1),
    )
    equal(new Set(told.commands.map(({ target }) => target.uid)).size, 5000)
    equal(new Set(told.commands.map(({ id }) => id)).size, 5000)
  })
}

test('what comes between the slices is seen by those that follow', () => {
  const told = begun(1000)
  told.fold(added('rs/web', 1))
  for (let i = 0; i < 5000; i++) told.fold(added(`cm/d${i} <- rs/web`, i + 2))
  // By name, the last of all: the slices have not come to it when it drops its reference.
  told.foldOne(deleted('rs/web', 6000))
  told.foldOne({ ...added('cm/d999', 6001), type: 'ObjectUpdated' } as Event)
  for (let goesOn = true; goesOn; ) goesOn = told.foldOne({ type: 'Continue' }).continues
  told.commit()
  equal(told.commands.length, 4999)
  deepEqual(check(told.state), [])
})

test('what is told while slices are left brings about its own and no slice, so the fold keeps up with a cascade', () => {
  const told = begun(1000)
  told.fold(added('rs/web', 1))
  for (let i = 0; i < 5000; i++) told.fold(added(`cm/d${i} <- rs/web`, i + 2))
  equal(told.foldOne(deleted('rs/web', 6000)).commands.length, SLICE)

  for (let i = 0; i < 100; i++) {
    const { commands, continues } = told.foldOne(deleted(`cm/d${i}`, 6001 + i))
    deepEqual([commands.length, continues], [0, false])
  }
  const { commands, continues } = told.foldOne({ type: 'Continue' })
  deepEqual([commands.length, continues], [SLICE, true])
})

test('heartbeats go on where a Continue was lost', () => {
  const told = begun(1000)
  told.fold(added('rs/web', 1))
  for (let i = 0; i < 1000; i++) told.fold(added(`cm/d${i} <- rs/web`, i + 2))
  equal(told.foldOne(deleted('rs/web', 6000)).commands.length, SLICE)

  const heartbeat: Event = { type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] }
  const { commands, continues } = told.foldOne(heartbeat)
  deepEqual([commands.length, continues], [1000 - SLICE, false])
  deepEqual(told.foldOne({ type: 'Continue' }).commands, [])
})

test('a relist that misses 5,000 takes them out in slices', () => {
  const told = begun(1)
  for (let i = 0; i < 5000; i++) told.fold(added(`cm/d${i}`, i + 2))
  const [started, finished] = emptyRelist('cm', 2)
  told.fold(started as Event)
  const outcomes = slices(told, finished as Event)
  ok(outcomes.length >= 3)
  ok(outcomes.every(({ history }) => history.length <= SLICE))
  equal([...told.state.values()].filter(({ type }) => type === 'Node').length, 0)
})

test('5,000 timers due at once fire in slices', () => {
  const told = begun(1)
  told.fold(added('rs/web', 1))
  for (let i = 0; i < 5000; i++) told.fold(added(`cm/d${i} <- rs/web`, i + 2))
  slices(told, deleted('rs/web', 6000))
  const heartbeat: Event = { type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] }
  // No reaper carried the commands out in their lifetime and a margin.
  const outcomes = slices(told, heartbeat, 12 * 60_000)
  ok(outcomes.every(({ commands }) => commands.length <= SLICE))
  equal(told.commands.length, 10_000)
})

test('a change of policy judges 5,000 in slices', () => {
  const told = begun(1)
  told.fold(added('rs/web', 1))
  for (let i = 0; i < 5000; i++) told.fold(added(`cm/d${i} <- rs/web`, i + 2))
  slices(told, deleted('rs/web', 6000))
  const policy = policyFor('dry-run', 'parity')
  const outcomes = slices(told, { type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  ok(outcomes.every(({ commands }) => commands.length <= SLICE))
  equal(told.commands.length, 10_000)
})

test('a chain 2,000 deep goes link by link', () => {
  const told = begun(100)
  told.fold(added('cm/c0', 1))
  for (let i = 1; i < 2000; i++) told.fold(added(`cm/c${i} <- cm/c${i - 1}`, i + 1))
  const outcomes = [...told.fold(deleted('cm/c0', 5000))]
  for (let i = 1; i < 2000; i++) {
    equal(told.commands.at(-1)?.target.name, `c${i}`)
    outcomes.push(...told.fold(deleted(`cm/c${i}`, 5000 + i)))
  }
  told.commit()
  equal(told.commands.length, 1999)
  ok(outcomes.every(({ commands }) => commands.length <= 1))
  deepEqual(check(told.state), [])
})

test('a chain 2,000 deep that a relist misses goes in one sweep', () => {
  const told = begun(100)
  told.fold(added('rs/top', 1))
  told.fold(added('cm/c0 <- rs/top', 2))
  for (let i = 1; i < 2000; i++) told.fold(added(`cm/c${i} <- cm/c${i - 1}`, i + 2))
  const [started, finished] = emptyRelist('cm', 2)
  told.fold(started as Event)
  slices(told, finished as Event)
  equal([...told.state.values()].filter(({ type }) => type === 'Node').length, 1)
})

test('a ring of 1,000 keeps itself, and is judged in bounded work', () => {
  const told = begun(100)
  for (let i = 0; i < 1000; i++) told.fold(added(`cm/r${i} <- cm/r${(i + 1) % 1000}`, i + 1))
  told.commit()
  deepEqual(check(told.state), [])
  equal(told.commands.filter(({ type }) => type === 'DeleteObject').length, 0)
})
