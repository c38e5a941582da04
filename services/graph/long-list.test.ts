/**
 * What a change of a long list of owner references costs (T9), and that the list is the same
 * everywhere, whatever became of it: in the state, in the index of the past, in a store that is
 * restored, and for an audit.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { factsOf } from '../../core/graph/facts.ts'
import type { OwnerReference } from '../../core/model/object.ts'
import { LongListRig, reference, references, UID } from '../../testing/rig/long-list-rig.ts'
import { changelogContent, codec, contentOf, emptyStore } from '../../testing/rig/task-rig.ts'
import { auditPartition } from './audit/audit.ts'
import { storeAt } from './fold/former/store-at.ts'
import { readerOf } from './query/view/view.ts'

const NEW = reference(999_999)
const NO_SIGNAL = new AbortController().signal

/** As of the last event, of which the store is read as of a moment. */
function ownersThen(rig: LongListRig): readonly OwnerReference[] | undefined {
  const reader = readerOf(storeAt(rig.task.store, codec, rig.task.status().position), codec)
  return factsOf(reader, 'c').node(UID)?.object.ownerReferences
}

function assertFolded(rig: LongListRig, list: readonly OwnerReference[]): void {
  deepEqual(rig.node?.object.ownerReferences, list)
  equal(rig.node?.namedAt.length, list.length)
  equal(rig.node?.places.length, list.length)
}

async function assertSame(rig: LongListRig, list: readonly OwnerReference[]): Promise<void> {
  assertFolded(rig, list)
  await rig.indexed()
  deepEqual(ownersThen(rig), list)
}

test('T9: a change of one of 6,000 references, or of a label, writes 64 KiB and 20 bytes a byte sent at most', async (t) => {
  await using rig = await LongListRig.begin()
  let list = references(6_000)
  await rig.watched(list)
  await assertSame(rig, list)
  const most = 64 * 1_024 + 20 * 87
  for (const [what, change] of [
    ['one replaced', () => list.with(3_000, NEW)],
    ['one put first', () => [reference(999_998), ...list]],
    ['the last one removed', () => list.slice(0, -1)],
    ['one removed', () => list.toSpliced(1_234, 1)],
    ['one moved to the end', () => [...list.toSpliced(10, 1), list[10]!]],
    ['a flag', () => list.with(77, { ...list[77]!, blockOwnerDeletion: true })],
  ] as const) {
    list = change()
    const cost = await rig.cost(async () => await rig.watched(list))
    const all = Object.values(cost).reduce((sum, bytes) => sum + bytes, 0)
    t.diagnostic(`${what}: ${all} bytes, ${JSON.stringify(cost)}`)
    ok(all <= most, `${what}: ${all} bytes, ${JSON.stringify(cost)}`)
    await assertSame(rig, list)
  }
  const cost = await rig.cost(async () => await rig.watched(list, 'shop'))
  ok(Object.values(cost).reduce((sum, bytes) => sum + bytes, 0) <= most, JSON.stringify(cost))
  deepEqual(await contentOf(rig.task.store), await changelogContent(rig.log))
  const parts = { log: rig.log, codec, store: emptyStore(), partition: 0 }
  equal((await auditPartition(parts, NO_SIGNAL)).type, 'identical')
})

type Edit =
  | { readonly type: 'edit'; readonly at: number; readonly removed: number; readonly added: number }
  | { readonly type: 'listed'; readonly full: boolean }
  | { readonly type: 'short' | 'restarted' | 'restored' }

const EDIT: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('edit' as const),
      at: fc.nat(200),
      removed: fc.oneof(fc.nat(2), fc.nat(60)),
      added: fc.oneof(fc.nat(2), fc.nat(60)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('listed' as const), full: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('short' as const, 'restarted' as const, 'restored' as const),
    }),
  },
)

test('whatever becomes of a long list, and whoever begins again meanwhile, it is the same everywhere', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(EDIT, { minLength: 4, maxLength: 10 }), async (edits) => {
      await using rig = await LongListRig.begin()
      let [list, fresh] = [references(150), 1_000]
      await rig.watched(list)
      for (const edit of edits) {
        if (edit.type === 'edit') {
          const added = references(edit.added, fresh)
          fresh += edit.added
          list = list.toSpliced(edit.at, edit.removed, ...added)
          await rig.watched(list)
        } else if (edit.type === 'listed') {
          list = [...list, reference(fresh++)]
          await rig.listed(list, edit.full)
        } else if (edit.type === 'short') {
          await rig.watched(list.slice(0, 10))
          await rig.watched(list)
        } else if (edit.type === 'restarted') rig.restartWatcher()
        else if (edit.type === 'restored') await rig.restartTask()
        assertFolded(rig, list)
      }
      await assertSame(rig, list)
      deepEqual(await contentOf(rig.task.store), await changelogContent(rig.log))
      const chunks = [...(await contentOf(rig.store)).keys()].filter((key) => {
        return key.startsWith('owners/')
      })
      ok(chunks.length <= list.length / 16 + 1, `${chunks.length} of ${list.length}`)
      const parts = { log: rig.log, codec, store: emptyStore(), partition: 0 }
      equal((await auditPartition(parts, NO_SIGNAL)).type, 'identical')
    }),
    { numRuns: 25 },
  )
})

test('what changed in a list that the fold does not have makes the object untrusted, and asks for a relist in full', async () => {
  await using rig = await LongListRig.begin()
  const list = references(100)
  await rig.watched(list)
  // Of a list that was never folded.
  await rig.lost(async () => await rig.watched(list.slice(1)))
  await rig.watched(list.slice(2))
  equal(rig.node?.doubt, 'content')
  deepEqual(rig.node?.object.ownerReferences, list)
  const [request] = await rig.log.latest('control', 0)
  deepEqual(request?.key, 'relist/c//ConfigMap')
  await rig.listed(list.slice(2), true)
  equal(rig.node?.doubt, null)
  const { entries } = await rig.log.read('commands', 0, 0n, { limit: 1_000, waitMs: 0 })
  const commands = entries.map(({ value }) => codec.decode(value ?? new Uint8Array()).type)
  deepEqual(new Set(commands), new Set(['VerifyOwner']))
  await assertSame(rig, list.slice(2))
})

test('a forgotten object leaves no chunk, and no name of an owner, anywhere', async () => {
  await using rig = await LongListRig.begin()
  await rig.indexed()
  const indexed = async (): Promise<readonly string[]> => {
    const all = [await contentOf(rig.indexStore)]
    return all.flatMap((each) => [...each.keys()])
  }
  const before = await indexed()
  const list = references(100)
  await rig.watched(list)
  await rig.watched(list.slice(1))
  await rig.deleted(list.slice(1))
  const kept = [...(await contentOf(rig.store)).keys()].filter((key) => key.startsWith('owners/'))
  deepEqual(kept, [])
  await rig.forgotten()
  const after = await indexed()
  const left = after.filter((key) => !before.includes(key) && !/^(at|horizon|former)/.test(key))
  deepEqual(left, [])
})
