/**
 * What is answered about a moment is what the fold held then: lives with lost events, relists, uids that come back, restores from backups and forgotten objects are
 * folded by the service's own batches, and lists and trees of random moments, and differences between two, are compared with the graphs of then, and so is what was held. `MOMENTS=10000` asks for
 * so many moments, and for a third as many pairs.
 */
import { deepEqual, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { groupOf, type ObjectMeta, type OwnerReference } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { KnownHold } from '../../../../ports/record/lineage.ts'
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
import { codec, contentOf, emptyStore, viewOf } from '../../../../testing/rig/task-rig.ts'
import { type Chance, seeded } from '../../../../testing/seeded.ts'
import { Turns } from '../../turns.ts'
import type { ListedObject } from '../answer/object-list.ts'
import { createPastDiff, type Difference } from '../answer/past-diff.ts'
import { heldAt } from '../answer/past-held.ts'
import { createPastList } from '../answer/past-list.ts'
import { pastTree } from '../answer/past-tree.ts'
import type { TreeNode } from '../answer/tree.ts'
import { WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { createHistoryIndex, type HistoryIndex } from './history-index.ts'
import type { Moment } from './moment.ts'
import { type PastObject, uidIn } from './span-index.ts'

const MOMENTS = Number(process.env['MOMENTS'] ?? 600)
const MOMENTS_OF_A_LIFE = 20
const PAIRS_OF_A_LIFE = 7

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

function inTheirOrder(rig: PastRig, a: Moment, b: Moment): [Moment, Moment] {
  return foldedAt(rig, a).position <= foldedAt(rig, b).position ? [a, b] : [b, a]
}

function listOf({ nodes }: Snapshot): unknown[] {
  return [...nodes.values()]
    .map(({ object, phase }) => [
      ...[object.kind, object.group, object.namespace, object.name, object.uid, phase],
      object.createdAt === null ? null : new Date(object.createdAt).toISOString(),
      object.deletedAt === null ? null : new Date(object.deletedAt).toISOString(),
      [...new Set(object.ownerReferences.map(({ uid }) => uid))],
    ])
    .sort()
}

function told(objects: readonly ListedObject[]): unknown[] {
  return objects
    .map(({ kind, group, namespace, name, uid, phase, createdAt, deletionTimestamp, owners }) => [
      ...[kind, group, namespace, name, uid, phase, createdAt, deletionTimestamp, owners],
    ])
    .sort()
}

function viewIn(rig: PastRig): View {
  const status = { state: 'folding', position: rig.position, lagEntries: 0n } as const
  return viewOf(
    { partition: 0, store: rig.store, status: () => status, counts: () => undefined },
    CLUSTER,
  )
}

const ANY_KIND = { kindWord: async () => ({ is: () => true }) as never }

async function listAt(index: HistoryIndex, rig: PastRig, moment: Moment): Promise<unknown[]> {
  const view = viewIn(rig)
  const page = createPastList(index, ANY_KIND)
  const all: ListedObject[] = []
  for (let after = ''; ; ) {
    const asked = { kind: '', name: undefined, namespace: undefined, isGone: false, at: undefined }
    const { answer } = await page(
      view,
      { name: 'test', id: CLUSTER, scope: 'test' },
      { ...asked, limit: 3, isCounted: false },
      moment,
      after,
    )
    all.push(...answer.objects)
    if (answer.next === null) return told(all)
    after = answer.next
  }
}

interface Differences {
  readonly rows: readonly unknown[]
  /** Of which nobody knows what they were at one of the moments. */
  readonly unclear: number
}

async function diffBetween(
  index: HistoryIndex,
  rig: PastRig,
  from: Moment,
  to: Moment,
): Promise<Differences> {
  const page = createPastDiff(index, ANY_KIND)
  const asked = { kind: '', namespace: undefined, limit: 2 }
  const all: Difference[] = []
  let unclear = 0
  for (let after = ''; ; ) {
    const { answer, partial } = await page(viewIn(rig), asked, { from, to }, after)
    all.push(...answer.differences)
    unclear += Number(/left out: (\d+) that nobody watched/.exec(partial)?.[1] ?? 0)
    ok(!partial.includes('very often'))
    if (answer.next === null) break
    after = answer.next
  }
  const rows = all.map(({ change, before, after }) => [
    ...[change, after.uid, after.name],
    change === 'added' ? null : stateOf(before),
    change === 'deleted' ? null : stateOf(after),
  ])
  return { rows: rows.sort(), unclear }
}

function stateOf(then: Pick<PastObject, 'phase' | 'deletedAt' | 'owners'> | undefined): unknown {
  return then && [then.phase, then.deletedAt, then.owners]
}

/** By the graphs of both moments. */
function differencesIn(rig: PastRig, from: Moment, to: Moment): Differences {
  const [was, is] = [foldedAt(rig, from), foldedAt(rig, to)]
  const rows: unknown[] = []
  let unclear = 0
  for (const uid of new Set(rig.snapshots.flatMap(({ nodes }) => [...nodes.keys()]))) {
    const [before, after] = [was.nodes.get(uid), is.nodes.get(uid)]
    const [then, now] = [heldState(before), heldState(after)]
    const [left, leftLater] = [hiddenSince(rig, was, uid), hiddenSince(rig, is, uid)]
    if (left >= 0 || leftLater >= 0) unclear += left === leftLater ? 0 : 1
    else if (!isDeepStrictEqual(then, now)) {
      const change = then === null ? 'added' : now === null ? 'deleted' : 'changed'
      rows.push([change, uid, (after ?? before)?.object.name, then, now])
    }
  }
  return { rows: rows.sort(), unclear }
}

function heldState(held: Held | undefined): unknown {
  if (held === undefined) return null
  const { deletedAt, ownerReferences } = held.object
  return [held.phase, deletedAt, ownerReferences.map((each) => ({ ...each }))]
}

/** Where it left the graph since its kind was watched no more; -1: it is there, or is known not to be. */
function hiddenSince({ snapshots }: PastRig, then: Snapshot, uid: string): number {
  const past = snapshots.slice(0, snapshots.indexOf(then) + 1)
  const last = past.findLastIndex(({ nodes }) => nodes.has(uid))
  const [object, left] = [past[last]?.nodes.get(uid)?.object, past[last + 1]]
  if (object === undefined || left === undefined) return -1
  const isDeleted = past.slice(last + 1).some(({ deleted }) => deleted === uid)
  return isDeleted || !left.unwatched.has(`${object.group}/${object.kind}`) ? -1 : last + 1
}

/** Below each object its dependents; one that was told before is not told again. */
function edgesOf(root: TreeNode): string[] {
  return root.children.flatMap((child) => {
    const edge = `${root.uid} <- ${child.uid} ${child.phase} ${child.edge?.controller} ${child.edge?.blocking}`
    return [edge, ...edgesOf(child)]
  })
}

function edgesIn({ nodes }: Snapshot, root: string): string[] {
  const edges: string[] = []
  const seen = new Set([root])
  for (const owner of seen) {
    const named = nodes.get(owner)?.object
    for (const { object, phase } of nodes.values()) {
      const reference = object.ownerReferences.find((each) => isOf(named, object, each))
      if (reference === undefined) continue
      const { controller, blockOwnerDeletion } = reference
      edges.push(
        `${owner} <- ${object.uid} ${phase} ${controller === true} ${blockOwnerDeletion === true}`,
      )
      seen.add(object.uid)
    }
  }
  return edges.sort()
}

/** By uid and coordinates. */
function isOf(
  owner: ObjectMeta | undefined,
  dependent: ObjectMeta,
  { apiVersion, kind, name, uid }: OwnerReference,
): boolean {
  if (owner?.uid !== uid || owner.name !== name || owner.group !== groupOf(apiVersion)) return false
  const isKind = kind === owner.kind || kind === owner.kind.toLowerCase()
  return isKind && (owner.namespace === '' || owner.namespace === dependent.namespace)
}

function ownersIn({ nodes }: Snapshot, uid: string): string[] {
  return (nodes.get(uid)?.object.ownerReferences ?? []).map((owner) => owner.uid)
}

async function compareTrees(
  index: HistoryIndex,
  snapshot: Snapshot,
  moment: Moment,
): Promise<void> {
  const turns = new Turns(HASTY)
  const view = { spans: index.spans, cluster: CLUSTER, moment, turns, sight: WHOLE }
  for (const { object } of snapshot.nodes.values()) {
    const root = index.spans.objectAt(CLUSTER, object.uid, moment)
    ok(root !== undefined, `${object.uid} was there`)
    const down = await pastTree(view, root, false)
    // Who owned what nobody watches is all that may be missing.
    match(down.cut, /^(the owners of \d+ objects? that nobody watched by then are not known)?$/)
    deepEqual(edgesOf(down.answer).sort(), edgesIn(snapshot, object.uid), object.uid)
    const up = await pastTree(view, root, true)
    deepEqual(
      up.answer.children.map(({ uid }) => uid),
      ownersIn(snapshot, object.uid),
    )
  }
}

const NOW: Moment = { type: 'time', at: Number.MAX_SAFE_INTEGER }

/** Answers with how many were held. */
async function compareHeld(
  index: HistoryIndex,
  rig: PastRig,
  snapshot: Snapshot,
  moment: Moment,
): Promise<number> {
  const held = [...snapshot.nodes].filter(([, node]) => node.held !== null)
  const found: (readonly [string, KnownHold | null | undefined])[] = []
  for (const [key, isMeant] of await index.spans.heldPage(CLUSTER, undefined, moment, '', 10_000)) {
    const past = isMeant ? index.spans.objectAt(CLUSTER, uidIn(key), moment) : undefined
    if (past?.held != null) found.push([past.uid, past.held])
  }
  deepEqual(new Map(found), new Map(held.map(([uid, node]) => [uid, node.held])))
  const everywhere = await index.spans.heldPage(CLUSTER, undefined, moment, '', 10_000)
  const namespaceOf = (key: string): string =>
    index.spans.objectAt(CLUSTER, uidIn(key), NOW)?.namespace ?? ''
  for (const namespace of new Set(everywhere.map(([key]) => namespaceOf(key)))) {
    deepEqual(
      await index.spans.heldPage(CLUSTER, namespace, moment, '', 10_000),
      everywhere.filter(([key]) => namespaceOf(key) === namespace),
    )
  }
  const past = {
    passed: async () => undefined,
    momentOf: async () => moment,
    stillKnown: () => undefined,
  }
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => await work()
  const asked = { type: 'time', at: moment.at } as const
  const scope = { namespace: undefined, isWhole: true, sight: async () => WHOLE }
  const { mode, pauses, total } = await heldAt({ past, index, inTurn }, [viewIn(rig)], asked, scope)
  deepEqual([mode, pauses, total], [snapshot.mode, snapshot.pauses, held.length])
  return held.length
}

function isBeyond(index: HistoryIndex, moment: Moment): boolean {
  const horizon = index.spans.horizon(CLUSTER)
  if (horizon === undefined) return false
  return moment.type === 'time' ? moment.at < horizon.at : moment.position < horizon.position
}

test('a list, a tree and a difference of any moments are what was folded by then, and an index that is built anew has the same bytes', async (t) => {
  const lives = life({ hasOrphaning: true, hasKindsGone: true, maxLength: 40 })
  const others = fc.array(OTHERS, { maxLength: 12, size: 'max' })
  const found = { moments: 0, beyond: 0, objects: 0, changed: 0, held: 0 }
  const pairs = { compared: 0, added: 0, deleted: 0, changed: 0, unclear: 0 }
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
        deepEqual(await listAt(first.index, rig, moment), listOf(snapshot))
        await compareTrees(first.index, snapshot, moment)
        found.held += await compareHeld(first.index, rig, snapshot, moment)
      }
      for (let left = PAIRS_OF_A_LIFE; left > 0; left--) {
        const [from, to] = inTheirOrder(rig, momentIn(rig, chance), momentIn(rig, chance))
        if (isBeyond(first.index, from) || isBeyond(first.index, to)) continue
        const expected = differencesIn(rig, from, to)
        deepEqual(await diffBetween(first.index, rig, from, to), expected)
        pairs.compared += 1
        pairs.unclear += expected.unclear
        for (const [change] of expected.rows as ['added'][]) pairs[change] += 1
      }
      await using second = indexed(rig)
      await caughtUp(second)
      deepEqual(await spansOf(second), await spansOf(first))
    }),
    { numRuns: Math.ceil(MOMENTS / MOMENTS_OF_A_LIFE), endOnFailure: true },
  )
  const compared = found.moments - found.beyond
  t.diagnostic(`${JSON.stringify(found)}, ${compared} compared; pairs: ${JSON.stringify(pairs)}`)
  // A property of nothing holds.
  ok(compared >= MOMENTS / 2, `${compared} moments compared`)
  ok(found.changed > compared / 4, `${found.changed} unlike the end`)
  ok(found.objects > compared, `${found.objects} objects`)
  ok(found.held > compared / 40, `${found.held} held`)
  ok(pairs.compared >= MOMENTS / 6, `${pairs.compared} pairs compared`)
  ok(Math.min(...Object.values(pairs)) > pairs.compared / 20, JSON.stringify(pairs))
})

/** All but what is told of an object that nobody has seen again since it was forgotten: that is history, and it may be shorter. */
async function spansOf({ store }: Indexed): Promise<[string, string][]> {
  return [...(await contentOf(store))].filter(([key]) => !key.startsWith('entry/'))
}

function isSame(a: ReadonlyMap<string, Held>, b: ReadonlyMap<string, Held> | undefined): boolean {
  return JSON.stringify([...a]) === JSON.stringify([...(b ?? [])])
}
