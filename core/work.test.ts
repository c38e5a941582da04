/**
 * An object with more references than one record judges waits on the agenda, and is judged at the
 * next `Continue`.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '../testing/model/folder.ts'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { hasWork } from './graph/agenda.ts'
import { factsOf } from './graph/facts.ts'
import { REFERENCES_OF_NEWS } from './model/constant.ts'
import type { Event } from './model/event.ts'

/** More than a page of keys. */
const OTHERS = 200
/** More than it takes. */
const RECORDS = 20
const OWNERS = Array.from({ length: REFERENCES_OF_NEWS + 1 }, (_, each) => `rs/r${each}`)

/** All events that are published before it, and its own. */
function told(others: number): Event[] {
  const world = new World()
  const about = { cluster: 'c', epoch: 1 }
  return [
    { type: 'WatcherStarted', serverTime: null, ...about, name: 'test', clusterEpoch: 1 },
    world.policy('enforce', 'parity'),
    ...['rs', 'pod'].flatMap((short) => [world.served(short, true), ...world.relist(short)]),
    ...(others === 0 ? [] : world.events(`many ${others} pod/a#`)),
    world.put(`pod/a <- ${OWNERS.join(', ')}`),
  ]
}

for (const others of [0, OTHERS]) {
  for (const batchSize of [1, 1_000]) {
    test(`of ${batchSize} records a batch, beside ${others} uids that begin like its own`, () => {
      const folded = folder(batchSize)
      const events = told(others)
      for (const event of events.slice(0, -1)) folded.fold(event)
      let { continues } = folded.foldOne(events.at(-1) as Event)
      for (let records = 0; continues && records < RECORDS; records++) {
        continues = folded.foldOne({ type: 'Continue' }).continues
      }
      equal(hasWork(folded.graph), false)
      equal(factsOf(folded.graph, 'c').node('pod-a')?.verdict?.type, 'verify')
      folded.commit()
      deepEqual(check(folded.state), [])
    })
  }
}
