/**
 * The running counts of a changing store equal a count of the whole store: after each commit of
 * every story in core/scenarios, whenever the counting began.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MemoryStore } from '../../../adapters/memory/store.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Store } from '../../../ports/store.ts'
import { codec, eventsOf } from '../../../testing/rig/task-rig.ts'
import { type Chance, seeded } from '../../../testing/seeded.ts'
import { readerOf } from '../query/view/view.ts'
import { Batch } from './batch.ts'
import type { ClusterTally } from './tally.ts'
import { Tally } from './tally.ts'

const folder = new URL('../../../core/scenarios/', import.meta.url)
/** So that pages end within the state of a story. */
const PAGE = 3
const totals = { edges: 0, dangling: 0, held: 0, unresolvable: 0, refused: 0, deleting: 0 }

for (const name of readdirSync(folder).sort()) {
  test(`counts as a recount does: ${name.replace('.txt', '').replaceAll('-', ' ')}`, async () => {
    const chance = seeded(7)
    const tallies = [new Tally(codec, PAGE)]
    const store = new MemoryStore()
    const from = undefined
    const batch = new Batch({ store, codec, partition: 0, partitions: 1, from })
    const lines = readFileSync(new URL(name, folder), 'utf8').split('\n').filter(isStep)
    const events = eventsOf(lines)
    for (let at = 0; at < events.length; ) {
      const size = 1 + chance.below(4)
      await foldAll(batch, events.slice(at, at + size), at)
      at += size
      await commit(batch, store, tallies)
      await compare(store, tallies, chance)
    }
  })
}

test('the stories have all that is counted', () => {
  ok(Object.values(totals).every((total) => total > 0))
})

test('counts a page at a time', async () => {
  const store = new MemoryStore()
  const batch = new Batch({ store, codec, partition: 0, partitions: 1, from: undefined })
  const tally = new Tally(codec, 1)
  const story = ['put rs/a', 'put rs/b', 'put pod/a <- rs/a', 'put pod/b <- rs/b']
  await foldAll(batch, eventsOf(story), 0)
  await commit(batch, store, [])
  const counted: (number | undefined)[] = []
  while (!tally.isWhole) {
    await tally.goOn(store, batch.stored)
    counted.push(tally.counts()[0]?.edges)
  }
  // Two counts, the nodes of the pods, then of their owners.
  deepEqual(counted, [undefined, undefined, 1, 2, 2, 2, 2])
})

async function foldAll(batch: Batch, events: readonly Event[], from: number): Promise<void> {
  for (const [index, event] of events.entries()) {
    const left = [event]
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { position } = batch.position
      const at = { partition: 0, partitions: 1, position, timestamp: (from + index) * 1_000 }
      const { continues } = await batch.fold(next, at)
      if (continues) left.push({ type: 'Continue' })
    }
  }
}

async function commit(batch: Batch, store: Store, tallies: readonly Tally[]): Promise<void> {
  const { changelog } = batch.take()
  for (const tally of tallies) tally.committed(batch.changes, batch.stored, batch.graph)
  const { position } = batch.position
  const changes = changelog.map(({ key, value }) => [key, value] as const)
  await store.write(changes, { changelog: position, position })
  batch.clear()
}

/** Those that are not complete yet continue by a page, and another one begins. */
async function compare(store: Store, tallies: Tally[], chance: Chance): Promise<void> {
  const whole = new Tally(codec)
  const reader = readerOf(store, codec)
  while (!whole.isWhole) await whole.goOn(store, reader)
  for (const tally of tallies) {
    if (!tally.isWhole) await tally.goOn(store, reader)
    if (tally.isWhole) deepEqual(bare(tally.counts()), bare(whole.counts()))
  }
  if (chance.below(4) === 0) tallies.push(new Tally(codec, PAGE))
  for (const { edges, dangling, blocked, deleting } of whole.counts()) {
    totals.deleting += deleting.named.length
    totals.edges += edges
    totals.dangling += dangling
    totals.held += blocked.held.objects
    totals.unresolvable += blocked.unresolvable.objects
    totals.refused += blocked.refused.objects
  }
}

/** Which of them is given as the example follows from when they were counted. */
function bare(tallies: readonly ClusterTally[]): unknown {
  const told = tallies.map(({ blocked, deleting, ...rest }) => {
    const { minutes, named } = deleting
    // There is room for all of a story.
    equal(
      minutes.values().reduce((sum, each) => sum + each, 0),
      named.length,
    )
    const counts = Object.entries(blocked).map(([because, { example, ...count }]) => {
      equal(example !== '', count.objects > 0)
      return [because, count]
    })
    return { ...rest, blocked: counts, minutes: [...minutes].sort(), named }
  })
  return told.sort((a, b) => (a.cluster < b.cluster ? -1 : 1))
}

function isStep(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('  ') && !line.startsWith('#')
}
