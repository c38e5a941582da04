/**
 * Cases that no world has: a record that costs too much, and a deletion that waits too long, are
 * objected to (I35, I36).
 */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { emptyOutcome, type Outcome } from '../../core/graph/outcome.ts'
import type { DeleteObject } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import { policyFor } from '../../core/model/policy.ts'
import { World as Story } from '../../testing/model/story.ts'
import { CLUSTER, deleteObject, OWNER, POD } from '../../testing/rig/reaper.ts'
import { draw } from '../options.ts'
import { TENANT } from '../workload.ts'
import { WholeWorld } from '../world.ts'
import { costCheckers } from './cost-checkers.ts'

const CONTINUE: Event = { type: 'Continue' }
const DELETION: DeleteObject = deleteObject()

/** The deletion of the owner of the deleted objects. */
function ownerDeleted(): Event {
  const story = new Story()
  story.begin()
  story.step('put rs/web')
  const event = story.remove('rs/web')
  if (event.type !== 'ObjectDeleted') throw new Error(event.type)
  return { ...event, cluster: CLUSTER, object: { ...event.object, uid: OWNER.uid } }
}

/** Folds records one after the other; returns the objections. */
function rig(): (event: Event, more?: Partial<Outcome>) => string {
  const drawn = draw(1, [])
  const world = new WholeWorld({ ...drawn, policy: policyFor('enforce', 'parity') }, costCheckers)
  let position = 0n
  return (event, more = {}) => {
    const at = { partition: 0, partitions: 1, position: position++, timestamp: 0 }
    const outcome = { ...emptyOutcome(), continues: true, ...more }
    return costCheckers.map(({ folded }) => folded?.(world, { event, at, outcome }) ?? '').join('')
  }
}

/** So many records after its owner's deletion it is decided. */
function decidedAfter(records: number, target = POD, idleAt = -1): string {
  const fold = rig()
  fold(ownerDeleted())
  for (let record = 1; record < records; record++) fold(CONTINUE, { continues: record !== idleAt })
  return fold(CONTINUE, { commands: [{ ...DELETION, target }] })
}

test('I35: a record that judges more references than one may is objected to', () => {
  const fold = rig()
  equal(fold(CONTINUE, { work: 1_025 }), '')
  match(fold(CONTINUE, { work: 1_026 }), /^Continue at 0-1 made it judge 1026 \(I35\)$/)
})

test('I36: a deletion that waits for the work of others is objected to', () => {
  equal(decidedAfter(16), '')
  match(decidedAfter(17), /^a deletion waited for 17 records of others \(I36\)$/)
})

test('I36: not one of the tenant’s own, and not one that something else held while no work was left', () => {
  equal(decidedAfter(17, { ...POD, namespace: TENANT }), '')
  equal(decidedAfter(17, POD, 8), '')
})

test('I36: what another process folds again counts once', () => {
  const world = new WholeWorld(
    { ...draw(1, []), policy: policyFor('enforce', 'parity') },
    costCheckers,
  )
  const fold = (position: bigint, event: Event, commands: DeleteObject[] = []): string => {
    const at = { partition: 0, partitions: 1, position, timestamp: 0 }
    const outcome = { ...emptyOutcome(), continues: true, commands }
    return costCheckers.map(({ folded }) => folded?.(world, { event, at, outcome }) ?? '').join('')
  }
  fold(0n, ownerDeleted())
  for (let again = 0; again < 20; again++) fold(1n, CONTINUE)
  equal(fold(2n, CONTINUE, [DELETION]), '')
})
