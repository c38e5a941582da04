/**
 * What a tenant can do very often must not hide the rest: one object that changes 10,200 times, and
 * one name that 10,050 objects had. The answer is the right one, or it says what is missing.
 *
 * What must stay true: all of it is folded and indexed as in a running service.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Why } from '../../../../cli/answer.ts'
import { type MinuteRig, rigged } from '../../../../testing/rig/minute-rig.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import type { Document } from '../../api/document.ts'
import type { ListAnswer } from '../ask/list-question.ts'
import type { Cascade } from './cascade.ts'
import type { TreeNode } from './tree.ts'

const LIVES = 10_050
const CHANGES = 10_200
const LEFT_OUT = 'it has more than 10000 entries of history: older ones are left out'

type Told<T> = Document & T

async function indexed({ index }: MinuteRig): Promise<void> {
  while ((await index.caughtUp()) > 0n) await setImmediate()
}

test(`${LIVES} lives of a name hide no object that has it, and none that had it at a moment (T6)`, async (t) => {
  const rig = await rigged(t)
  await rig.minute('put deploy/web', 'put rs/web-1 <- deploy/web')
  const life = (from: number, to: number): string[] => {
    return Array.from({ length: to - from }, (_, each) => {
      return [`put cm/web@u${from + each}`, `delete cm/web@u${from + each}`]
    }).flat()
  }
  await rig.minute(...life(0, 5_000))
  const then = await rig.minute('put cm/web@meant')
  await rig.minute('delete cm/web@meant', ...life(5_000, LIVES - 1))
  await rig.minute(...life(LIVES - 1, LIVES))
  await indexed(rig)

  const of = 'name=web&namespace=ns'
  const why = await rig.get<Told<Why>>(`/v1/why?kind=deployment&${of}`)
  deepEqual([why.object.uid, why.phase, why.partial], ['deploy-web', 'observed', ''])
  const tree = await rig.get<Told<{ readonly root: TreeNode }>>(`/v1/tree?kind=deployment&${of}`)
  deepEqual([tree.root.children.map(({ name }) => name), tree.partial], [['web-1'], ''])
  const plan = await rig.get<Told<{ readonly total: number }>>(`/v1/plan?kind=deployment&${of}`)
  deepEqual([plan.total, plan.partial], [2, ''])

  // The last of those that had it, where none has it now; and the one that had it at a moment.
  const last = await rig.get<Told<Why>>(`/v1/why?kind=configmap&${of}`)
  deepEqual([last.object.uid, last.phase, last.partial], [`u${LIVES - 1}`, null, ''])
  const past = await rig.get<Told<Why>>(`/v1/why?kind=configmap&${of}&at=${then}`)
  deepEqual([past.object.uid, past.phase, past.partial], ['meant', 'observed', ''])

  const listed = new Set<string>()
  const path = `/v1/objects?kind=configmap&${of}&gone=true&limit=2000`
  for (let next: string | null = ''; next !== null; ) {
    const page: Told<ListAnswer> = await rig.get(`${path}&continue=${next}`)
    equal(page.partial, '')
    for (const { uid } of page.objects) listed.add(uid)
    next = page.continue
  }
  equal(listed.size, LIVES + 1)
  const list = await rig.get<Told<ListAnswer>>(`/v1/objects?kind=configmap&${of}&at=${then}`)
  ok(list.objects.length === 1 || list.continue !== null)
  const { status } = await rig.refused(`/v1/why?kind=secret&${of}`)
  equal(status, 404)
})

test(`${CHANGES} changes of an object hide neither its end nor who ended it (T7)`, async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a', 'put cm/x', 'put cm/y')
  const changes = Array.from({ length: CHANGES }, (_, each) => {
    return `put cm/a <- cm/${each % 2 === 0 ? 'x' : 'y'}`
  })
  const before = await rig.minute(...changes)
  await rig.minute('delete cm/x', 'delete cm/y')
  const end = await rig.minute('delete cm/a')
  await indexed(rig)

  const why = await rig.get<Told<Why>>('/v1/why?uid=cm-a')
  equal(why.history.at(-1)?.change, 'gone')
  equal(why.history.length, 10_000)
  match(why.partial, new RegExp(LEFT_OUT))
  const cascade = await rig.get<Told<Cascade>>('/v1/cascade?uid=cm-a')
  deepEqual([cascade.isOver, cascade.since !== null], [true, true])

  for (const [at, last] of [
    [before, 'references'],
    [end, 'gone'],
  ] as const) {
    const past = await rig.get<Told<Why>>(`/v1/why?uid=cm-a&at=${at}`)
    ok(past.history.some(({ change }) => change === last))
    ok(past.history.every((each) => Date.parse(each.at ?? '') <= Date.parse(at)))
    equal(past.history.length, 10_000)
    match(past.partial, new RegExp(LEFT_OUT))
  }
})

test('what is forgotten is forgotten whole, however much happened to it', async (t) => {
  const rig = await rigged(t)
  const at = Date.parse('2026-01-31T09:00:00Z')
  const entry = (uid: string, each: number): { key: string; value: Uint8Array } => ({
    key: `c/${uid}`,
    value: codec.encode({
      ...{ type: 'History', cluster: 'c', uid, group: '', kind: 'ConfigMap', namespace: 'ns' },
      ...{ name: uid, change: each === CHANGES - 1 ? 'gone' : 'verdict', text: '', phase: null },
      ...{ evidence: null, command: null, basis: [], partition: 0, position: BigInt(each), at },
      ...{ admission: null, object: null },
    }),
  })
  const history = Array.from({ length: CHANGES }, (_, each) => entry('long', each))
  await rig.log.append('history', 0, [...history, entry('long-too', 0)])
  await rig.minute('beat 1')
  await rig.log.append('lineage', 0, [{ key: 'c/long', value: null }])
  await indexed(rig)
  const left = async (prefix: string): Promise<number> => {
    const range = { gte: prefix, lt: `${prefix.slice(0, -1)}0`, limit: CHANGES }
    return (await rig.store.page(range)).rows.length
  }
  while ((await left('forgetting/')) > 0) await setImmediate()
  equal(await left('entry/c%2Flong/'), 0)
  equal(await left('entry/c%2Flong-too/'), 1)
})
