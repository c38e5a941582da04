/** A store at a position is the store that it was when it had folded so far, key for key. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import { tableOf } from '../../../../core/graph/table.ts'
import type { Log } from '../../../../ports/log.ts'
import { entriesIn, type Store, type StoreChange } from '../../../../ports/store.ts'
import { life } from '../../../../testing/model/world-generator.ts'
import { type PastAction, PastRig } from '../../../../testing/rig/past-rig.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { seeded } from '../../../../testing/rig/watcher-rig.ts'
import { Filling } from './filling.ts'
import { END_OF_STATE } from './former-key.ts'
import { reachOf, rowsOf } from './former-rows.ts'
import { RowStore } from './row-store.ts'
import { type StoreReader, storeAt } from './store-at.ts'

type Content = ReadonlyMap<string, string>

/** Facts, read a page of so many keys at a time. */
async function factsOf(store: StoreReader, limit: number): Promise<Content> {
  const facts = new Map<string, string>()
  for await (const [key, value] of entriesIn(store, { gte: ' ', lt: END_OF_STATE, limit })) {
    if (tableOf(key).hasFormer) facts.set(key, thenOf(key, value))
  }
  return facts
}

/** What a moment has of a value: its bytes, or the fields that tell one state from another. */
function thenOf(key: string, value: Uint8Array): string {
  const { formerFields } = tableOf(key)
  if (formerFields === undefined) return Buffer.from(value).toString('hex')
  const fields = codec.decode(value) as object as Readonly<Record<string, unknown>>
  return formerFields.map((field) => String(fields[field])).join()
}

const pick = fc.nat({ max: 30 })
const OTHERS: fc.Arbitrary<PastAction> = fc.oneof(
  fc.record({ type: fc.constant('again' as const), pick }),
  fc.record({ type: fc.constant('unwatch' as const), kind: fc.constantFrom('pod', 'cm') }),
  fc.record({
    type: fc.constant('rule' as const),
    rule: fc.constantFrom('pause' as const, 'guarded', 'guarded', 'resume', 'parity', 'dry-run'),
  }),
  fc.constant({ type: 'backup' } as const),
  fc.constant({ type: 'restore' } as const),
  fc.record({ type: fc.constant('pass' as const), days: fc.integer({ min: 1, max: 3 }) }),
)

interface Lived {
  readonly log: Log
  readonly store: RowStore
  /** As it was in the middle of the life, and brought up to the changelog at its end. */
  readonly late: RowStore
  /** By position, facts as they were then. */
  readonly moments: ReadonlyMap<bigint, Content>
}

/** Whole numbers below a limit. */
function chanceOf(seed: number): { below(limit: number): number } {
  const random = seeded(seed)
  return { below: (limit) => Math.floor(random.next() * limit) }
}

async function lived(actions: readonly PastAction[], seed: number): Promise<Lived> {
  const chance = chanceOf(seed)
  const rig = await PastRig.begin()
  const moments = new Map<bigint, Content>()
  const rows = new MemoryStore()
  const late = new RowStore(rows, codec)
  const leaves = chance.below(actions.length)
  for (const [index, action] of actions.entries()) {
    if (index === leaves && chance.below(2) === 0) await copied(rig.rows, rows)
    await rig.act(action)
    await rig.drain(chance.below(6))
    if (chance.below(4) === 0) await rig.beat(chance.below(60_000))
    if (chance.below(3) !== 0) continue
    await rig.commit()
    moments.set(rig.position, await factsOf(rig.store, 1_000))
  }
  await rig.drain(200)
  await rig.beat(1_000)
  await rig.commit()
  await copied(rig.store, late, { lt: END_OF_STATE })
  return { log: rig.log, store: rig.store, late, moments }
}

/** What one store has of a range replaces what the other has of it; the checkpoint, too. */
async function copied(from: Store, to: Store, { lt } = { lt: '~' }): Promise<void> {
  const range = { gte: ' ', lt, limit: 100_000 }
  const gone = (await to.page(range)).rows.map(([key]): StoreChange => [key, null])
  const checkpoint = from.checkpoint() ?? { changelog: 0n, position: 0n }
  await to.write([...gone, ...(await from.page(range)).rows], checkpoint)
}

/**
 * As a task does that takes over with this store, and commits nothing yet but an event that changes
 * nothing.
 */
async function filled({ log, late: store }: Lived): Promise<void> {
  const { position } = store.checkpoint() ?? { position: 0n }
  const checkpoint = { changelog: 0n, position }
  await store.writeRows(
    rowsOf(store, codec, [], {
      changes: [],
      records: [],
      folded: { from: position, to: position },
    }),
    checkpoint,
  )
  const filling = new Filling({ log, codec, store, partition: 0 })
  while (!filling.isOver) await store.write(await filling.step(), checkpoint)
}

test('a store at a position is the store of then, in points and in pages', async () => {
  await fc.assert(
    fc.asyncProperty(
      life({ hasOrphaning: true, hasKindsGone: true, maxLength: 30 }),
      fc.array(OTHERS, { minLength: 2, maxLength: 12 }),
      fc.nat(),
      async (acts, others, seed) => {
        const chance = chanceOf(seed)
        const all: PastAction[] = [{ type: 'rule', rule: 'guarded' }, ...acts]
        for (const other of others) all.splice(chance.below(all.length + 1), 0, other)
        const life = await lived(all, seed)
        const { moments } = life
        await filled(life)
        equal(reachOf(life.late, codec)?.begin, 0)
        const keys = new Set([...moments.values()].flatMap((facts) => [...facts.keys()]))
        for (const [position, facts] of moments)
          for (const store of [life.store, life.late]) {
            const then = storeAt(store, codec, position)
            deepEqual(await factsOf(then, 1 + chance.below(40)), facts)
            for (const key of keys) {
              const value = then.get(key)
              equal(value && thenOf(key, value), facts.get(key), key)
            }
          }
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
})
