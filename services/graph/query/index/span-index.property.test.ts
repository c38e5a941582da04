/**
 * What the index says of an object at a moment is what the fold held then: lives with lost events,
 * relists, uids that come back, restores from backups and forgotten objects are folded by the
 * service's own batches, and objects of random moments compared with the graphs of then.
 * `MOMENTS=10000` asks for so many moments.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import type { Clock } from '../../../../ports/clock.ts'
import type { Store } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { CLUSTER } from '../../../../testing/model/model-cluster.ts'
import { life } from '../../../../testing/model/world-generator.ts'
import {
  type Held,
  type PastAction,
  PastRig,
  type Snapshot,
} from '../../../../testing/rig/past-rig.ts'
import { codec, contentOf, emptyStore } from '../../../../testing/rig/task-rig.ts'
import { type Chance, seeded } from '../../../../testing/seeded.ts'
import { createHistoryIndex, type HistoryIndex } from './history-index.ts'
import type { Moment } from './moment.ts'

const MOMENTS = Number(process.env['MOMENTS'] ?? 600)
const MOMENTS_OF_A_LIFE = 20

/** Pauses pass at once. */
const HASTY: Clock = { ...systemClock(), sleep: async () => void (await setImmediate()) }

interface Indexed extends AsyncDisposable {
  readonly index: HistoryIndex
  readonly store: Store
}

function indexed(rig: PastRig): Indexed {
  const store = emptyStore()
  const index = createHistoryIndex(rig.log, codec, HASTY, store)
  const stop = new AbortController()
  const running = index.run(stop.signal)
  return {
    index,
    store,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

async function caughtUp({ index }: Indexed): Promise<void> {
  while ((await index.lagEntries()) > 0n || !index.isBegun()) await setImmediate()
}

/** Each life begins with a family, so that there is something to ask about. */
const FAMILY: readonly PastAction[] = [
  ['rs', 'a', []],
  ['cm', 'a', []],
  ['pod', 'a', [0]],
  ['pod', 'b', [0]],
  ['pod', 'c', [0, 1]],
].map(([kind, name, owners]): PastAction => {
  const references = (owners as number[]).map((pick) => {
    return { flaw: 'none', pick, blocking: true } as const
  })
  const rest = { namespace: 'ns', references, finalizers: [] }
  return { type: 'create', kind: String(kind), name: String(name), ...rest }
})

const GUARDED: PastAction = { type: 'rule', rule: 'guarded' }

const pick = fc.nat({ max: 30 })
const OTHERS: fc.Arbitrary<PastAction> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('again' as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('unwatch' as const),
      kind: fc.constantFrom('pod', 'cm'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('rule' as const),
      rule: fc.constantFrom('pause', 'guarded', 'guarded', 'resume', 'parity', 'dry-run'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'backup' } as const) },
  { weight: 1, arbitrary: fc.constant({ type: 'restore' } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('pass' as const),
      days: fc.integer({ min: 1, max: 3 }),
    }),
  },
)

/** As a person would tell it, with all that happens besides in between. */
function mixed(
  life: readonly PastAction[],
  others: readonly PastAction[],
  chance: Chance,
): PastAction[] {
  const isGuarded = chance.below(2) === 0
  const all = [...FAMILY, ...(isGuarded ? [GUARDED] : []), ...life]
  for (const other of others) all.splice(chance.below(all.length + 1), 0, other)
  return all
}

async function lived(
  actions: readonly PastAction[],
  chance: Chance,
  watch: () => Promise<void>,
  rig: PastRig,
) {
  for (const action of actions) {
    await rig.act(action)
    await rig.drain(chance.below(6))
    if (chance.below(4) === 0) await rig.beat(chance.below(60_000))
    if (chance.below(3) === 0) await rig.commit()
    if (chance.below(5) === 0) await watch()
  }
  await rig.drain(chance.below(200))
  await rig.beat(1_000)
  await rig.commit()
}

function momentIn(rig: PastRig, chance: Chance): Moment {
  const snapshot = rig.snapshots[chance.below(rig.snapshots.length)]
  ok(snapshot !== undefined)
  if (chance.below(2) === 0) return { type: 'time', at: snapshot.at }
  return { type: 'position', position: Number(snapshot.position), at: snapshot.at }
}

/** The graph of then: what was folded last before it. */
function foldedAt(rig: PastRig, moment: Moment): Snapshot {
  const found = rig.snapshots.findLast(({ position, at }) => {
    return moment.type === 'time' ? at <= moment.at : position <= BigInt(moment.position)
  })
  ok(found !== undefined)
  return found
}

function isBeyond(index: HistoryIndex, moment: Moment): boolean {
  const horizon = index.spans.horizon(CLUSTER)
  if (horizon === undefined) return false
  return moment.type === 'time' ? moment.at < horizon.at : moment.position < horizon.position
}

/** Of all that ever were: what was there, and that the others were not. */
function compareObjects(
  { spans }: HistoryIndex,
  rig: PastRig,
  { nodes }: Snapshot,
  moment: Moment,
): void {
  for (const uid of new Set(rig.snapshots.flatMap((each) => [...each.nodes.keys()]))) {
    const [node, found] = [nodes.get(uid), spans.objectAt(CLUSTER, uid, moment)]
    if (node === undefined) {
      ok(found === undefined || found.phase === 'gone' || found.phase === 'hidden', uid)
      continue
    }
    const { deletedAt, ownerReferences } = node.object
    const owners = ownerReferences.map((each) => ({ ...each }))
    deepEqual(
      [found?.phase, found?.deletedAt, found?.owners, found?.held ?? null],
      [node.phase, deletedAt, owners, node.held],
      uid,
    )
  }
}

test('an object of any moment is what was folded by then, and an index that is built anew has the same bytes', async (t) => {
  const lives = life({ hasOrphaning: true, hasKindsGone: true, maxLength: 40 })
  const others = fc.array(OTHERS, { maxLength: 12, size: 'max' })
  const found = { moments: 0, beyond: 0, objects: 0, changed: 0 }
  await fc.assert(
    fc.asyncProperty(lives, others, fc.nat(), async (actions, besides, seed) => {
      const chance = seeded(seed)
      const rig = await PastRig.begin()
      await using first = indexed(rig)
      await lived(mixed(actions, besides, chance), chance, async () => await caughtUp(first), rig)
      await caughtUp(first)
      const last = rig.snapshots.at(-1)
      for (let left = MOMENTS_OF_A_LIFE; left > 0; left--) {
        const moment = momentIn(rig, chance)
        found.moments += 1
        if (isBeyond(first.index, moment)) {
          found.beyond += 1
          continue
        }
        const snapshot = foldedAt(rig, moment)
        found.objects += snapshot.nodes.size
        if (!isSame(snapshot.nodes, last?.nodes)) found.changed += 1
        compareObjects(first.index, rig, snapshot, moment)
      }
      await using second = indexed(rig)
      await caughtUp(second)
      deepEqual(await spansOf(second), await spansOf(first))
    }),
    { numRuns: Math.ceil(MOMENTS / MOMENTS_OF_A_LIFE), endOnFailure: true },
  )
  const compared = found.moments - found.beyond
  t.diagnostic(`${JSON.stringify(found)}, ${compared} compared`)
  // A property of nothing holds.
  ok(compared >= MOMENTS / 2, `${compared} moments compared`)
  ok(found.changed > compared / 4, `${found.changed} unlike the end`)
  ok(found.objects > compared, `${found.objects} objects`)
})

/** All but what is told of an object that nobody has seen again since it was forgotten: that is history, and it may be shorter. */
async function spansOf({ store }: Indexed): Promise<[string, string][]> {
  return [...(await contentOf(store))].filter(([key]) => !key.startsWith('entry/'))
}

function isSame(a: ReadonlyMap<string, Held>, b: ReadonlyMap<string, Held> | undefined): boolean {
  return JSON.stringify([...a]) === JSON.stringify([...(b ?? [])])
}
