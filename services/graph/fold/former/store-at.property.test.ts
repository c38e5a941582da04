/** A store at a position is the store that it was when it had folded so far, key for key. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { tableOf } from '../../../../core/graph/table.ts'
import { entriesIn, type Store } from '../../../../ports/store.ts'
import { life } from '../../../../testing/model/world-generator.ts'
import { type PastAction, PastRig } from '../../../../testing/rig/past-rig.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { seeded } from '../../../../testing/rig/watcher-rig.ts'
import { END_OF_STATE } from './former-key.ts'
import { type StoreReader, storeAt } from './store-at.ts'

type Content = ReadonlyMap<string, string>

/** Facts, read a page of so many keys at a time. */
async function factsOf(store: StoreReader, limit: number): Promise<Content> {
  const facts = new Map<string, string>()
  for await (const [key, value] of entriesIn(store, { gte: ' ', lt: END_OF_STATE, limit })) {
    if (tableOf(key).hasFormer) facts.set(key, Buffer.from(value).toString('hex'))
  }
  return facts
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
  readonly store: Store
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
  for (const action of actions) {
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
  return { store: rig.store, moments }
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
        const { store, moments } = await lived(all, seed)
        const keys = new Set([...moments.values()].flatMap((facts) => [...facts.keys()]))
        for (const [position, facts] of moments) {
          const then = storeAt(store, codec, position)
          deepEqual(await factsOf(then, 1 + chance.below(40)), facts)
          for (const key of keys) {
            const value = then.get(key)
            equal(value && Buffer.from(value).toString('hex'), facts.get(key), key)
          }
        }
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
})
