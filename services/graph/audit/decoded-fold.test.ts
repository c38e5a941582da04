/**
 * The fold of a replay and of an audit, and that of a service: event by event the same commands,
 * the same state and the same digests.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { At } from '../../../core/graph/outcome.ts'
import { LONG_LIST } from '../../../core/model/constant.ts'
import type { Event, ObjectAdded, ObjectUpdated } from '../../../core/model/event.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import {
  BREAKER_STORY,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
} from '../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { Batch, firstPosition } from '../fold/batch.ts'
import { type DecodedFold, decodedFold } from './decoded-fold.ts'
import { Digests } from './digests.ts'
import type { RefoldParts } from './refold.ts'

const BEATS = Array.from({ length: 15 }, () => 'beat 5')

const STORIES: Readonly<Record<string, readonly string[]>> = {
  'a breaker opens, and time passes': [...BREAKER_STORY, ...BEATS],
  'a cascade takes many pages, and is remembered for a day': [
    'put rs/web',
    'many 1300 pod/p# <- rs/web',
    'delete rs/web',
    'delete-many 1300 pod/p#',
    ...BEATS,
  ],
  'deletions are not answered, or not confirmed': [
    'put rs/web',
    'many 3 pod/p# <- rs/web',
    'delete rs/web',
    'settle pod/p0 done',
    ...BEATS,
  ],
  'another policy judges all again': [
    'put rs/web',
    'many 1100 pod/p# <- rs/web',
    'policy enforce guarded',
    'delete rs/web',
    'policy enforce parity',
  ],
  'a relist misses very many': [
    'put rs/web',
    'many 600 pod/p# <- rs/web',
    'lose rs/web',
    'relist rs',
    ...BEATS,
  ],
}

/** Events between two writes of the other fold. */
const BATCH = 50
/** So that timers are due, those that they set when they fire, too. */
const BETWEEN_BEATS_MS = [1_000, 30_000, 60_000, 600_000, 86_400_000]

suite('a decoded fold', () => {
  for (const [name, story] of Object.entries(STORIES)) {
    test(`is that of a service where ${name}`, async () => {
      const log = new MemoryLog({ partitions: 1, clock: new SettableClock() })
      const parts = { log, codec, store: emptyStore(), partition: 0 }
      const decoded = await decodedFold({ ...parts, store: emptyStore() }, undefined, true)
      await foldBoth(parts, serviceFold(parts), [decoded], eventsOf(story))
    })
  }

  test('is that of a service where an object has very many owners', async () => {
    const log = new MemoryLog({ partitions: 1, clock: new SettableClock() })
    const parts = { log, codec, store: emptyStore(), partition: 0 }
    const decoded = await decodedFold({ ...parts, store: emptyStore() }, undefined, true)
    const [served, shared] = [eventsOf(['put rs/web']), eventsOf(['put pod/a <- rs/web'])]
    const lists = [3 * LONG_LIST, 3 * LONG_LIST - 1, 3 * LONG_LIST, 2, 3 * LONG_LIST]
    const grown = lists.flatMap((count, index) =>
      shared.filter(isSighting).map((each) => withOwners(each, count, String(100 + index))),
    )
    deepEqual(grown.length, lists.length)
    await foldBoth({ ...parts, batch: 2 }, serviceFold(parts), [decoded], [...served, ...grown])
  })

  test('goes on with what a store holds, and leaves nothing there', async () => {
    const log = new MemoryLog({ partitions: 1, clock: new SettableClock() })
    const parts: RefoldParts = { log, codec, store: emptyStore(), partition: 0 }
    const reference = serviceFold(parts)
    const events = eventsOf(STORIES['a cascade takes many pages, and is remembered for a day']!)
    const half = events.findIndex(({ type }) => type === 'ObjectDeleted')
    await foldBoth(parts, reference, [], events.slice(0, half))
    const store = await copyOf(parts.store)
    ok((await contentOf(store)).size > 2_000)
    const { position } = reference.position
    const from: Position = { ...firstPosition(0, 1), position }
    const decoded = await decodedFold({ ...parts, store }, from, true)
    deepEqual([...(await contentOf(store)).keys()], [])
    await foldBoth(parts, reference, [decoded], events.slice(half))
  })
})

function serviceFold({ store, partition }: RefoldParts): Batch {
  return new Batch({ store, codec, partition, partitions: 1, from: undefined })
}

async function foldBoth(
  parts: RefoldParts & { readonly batch?: number },
  reference: Batch,
  others: readonly DecodedFold[],
  events: readonly Event[],
): Promise<void> {
  const left = [...events]
  const begun = reference.position
  const digests = others.map(() => new Digests(codec, begun))
  let timestamp = 0
  let beats = 0
  for (let folded = 1; left.length > 0; folded++) {
    const event = left.shift()!
    const { partition, partitions, position } = reference.position
    if (event.type === 'Heartbeat')
      timestamp += BETWEEN_BEATS_MS[beats++ % BETWEEN_BEATS_MS.length]!
    const at: At = { partition, partitions, position, timestamp }
    const outcome = await reference.fold(event, at)
    for (const [index, each] of others.entries()) {
      const other = each.fold(event, at)
      const { commands, continues, touched } = other
      deepEqual(
        [commands, continues, touched],
        [outcome.commands, outcome.continues, outcome.touched],
      )
      const { graph, replaced } = each
      digests[index]?.add({ at, outcome: other, graph, replaced })
      ok(digests[index]?.isLike(reference.position), `the digests after event ${position} differ`)
    }
    if (outcome.continues) left.splice(Math.min(left.length, 3), 0, { type: 'Continue' })
    if (folded % (parts.batch ?? BATCH) !== 0 && left.length > 0) continue
    for (const { key, value } of reference.changes) {
      if (value === undefined) continue
      for (const { graph } of others) deepEqual(graph.get(key) ?? null, value, key)
    }
    await storeBatch(parts, reference)
  }
}

async function storeBatch({ store }: RefoldParts, batch: Batch): Promise<void> {
  const changes = batch.take().changelog.map(({ key, value }): StoreChange => [key, value])
  const { position } = batch.position
  await store.write(changes, { changelog: 0n, position })
  batch.clear()
}

type Sighting = ObjectAdded | ObjectUpdated

function isSighting(event: Event): event is Sighting {
  return event.type === 'ObjectAdded' || event.type === 'ObjectUpdated'
}

/** The same object at another version, with owners of which all but one do not exist. */
function withOwners(event: Sighting, count: number, resourceVersion: string): Sighting {
  const [first] = event.object.ownerReferences
  const ownerReferences = Array.from({ length: count }, (_, index) =>
    index === 0 ? first! : { ...first!, name: `web-${index}`, uid: `${first!.uid}-${index}` },
  )
  return { ...event, object: { ...event.object, resourceVersion, ownerReferences } }
}

async function copyOf(store: Store): Promise<Store> {
  const copy = emptyStore()
  const { rows: page } = await store.page({ gte: ' ', lt: '~', limit: Number.MAX_SAFE_INTEGER })
  await copy.write(page, { changelog: 0n, position: 0n })
  return copy
}
