/**
 * A reader of `history` knows the graph of any moment, and what was held: lives with lost events,
 * relists, uids that come back, restores and policies are folded by the service's own batches, and
 * the last entries about each object are compared with the graph after every event.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HistoryRecord, KnownObject } from '../../../ports/record/lineage.ts'
import { life } from '../../../testing/model/world-generator.ts'
import { type PastAction, PastRig, type Snapshot } from '../../../testing/rig/past-rig.ts'
import { codec } from '../../../testing/rig/task-rig.ts'
import { seeded } from '../../../testing/seeded.ts'

const pick = fc.nat({ max: 30 })
const OTHERS: fc.Arbitrary<PastAction> = fc.oneof(
  fc.record({ type: fc.constant('again' as const), pick }),
  fc.record({
    type: fc.constant('rule' as const),
    rule: fc.constantFrom('pause' as const, 'guarded', 'guarded', 'resume', 'parity', 'dry-run'),
  }),
  fc.constant({ type: 'backup' } as const),
  fc.constant({ type: 'restore' } as const),
)

async function historyOf({ log }: PastRig): Promise<readonly HistoryRecord[]> {
  const { entries } = await log.read('history', 0, 0n, { limit: 1_000_000, waitMs: 0 })
  return entries.map(({ value }) => codec.decode(value ?? new Uint8Array()) as HistoryRecord)
}

function compared({ nodes }: Snapshot, known: ReadonlyMap<string, KnownObject>): number {
  const there = [...known].filter(([, { phase }]) => phase !== null)
  deepEqual(new Set(there.map(([uid]) => uid)), new Set(nodes.keys()))
  for (const [uid, { object, phase, held }] of nodes) {
    const told = known.get(uid)
    const { deletedAt, ownerReferences } = object
    deepEqual(
      [told?.phase, told?.deletedAt, told?.owners, told?.held],
      [phase, deletedAt, ownerReferences, held],
      uid,
    )
  }
  return nodes.size
}

test('whoever reads history has each object as the graph had it after every event', async () => {
  let objects = 0
  await fc.assert(
    fc.asyncProperty(
      life({ hasOrphaning: true, hasKindsGone: true, maxLength: 30 }),
      fc.array(OTHERS, { minLength: 2, maxLength: 12 }),
      fc.nat(),
      async (acts, others, seed) => {
        const chance = seeded(seed)
        const rig = await PastRig.begin()
        const all: PastAction[] = [{ type: 'rule', rule: 'guarded' }, ...acts]
        for (const other of others) all.splice(chance.below(all.length + 1), 0, other)
        for (const action of all) {
          await rig.act(action)
          await rig.drain(chance.below(6))
          if (chance.below(4) === 0) await rig.beat(chance.below(60_000))
          if (chance.below(3) === 0) await rig.commit()
        }
        await rig.commit()
        const history = await historyOf(rig)
        const known = new Map<string, KnownObject>()
        let next = 0
        for (const snapshot of rig.snapshots) {
          for (; (history[next]?.position ?? snapshot.position) < snapshot.position; next++) {
            const { uid, object } = history[next]!
            if (object !== null) known.set(uid, object)
          }
          objects += compared(snapshot, known)
        }
      },
    ),
    { numRuns: 75, endOnFailure: true },
  )
  ok(objects > 1_000, `${objects} objects`)
})
