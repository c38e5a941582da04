/**
 * What the index of marks answers equals a scan of the store: in random lives, whenever the reading
 * began, however small its pages; beyond its bound it answers nothing.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryStore } from '../../../adapters/memory/store.ts'
import { ALL_NODES_PREFIX } from '../../../core/graph/key.ts'
import { type MarkSettings, managersOf } from '../../../ports/record/manager-mark.ts'
import { prefixRange, type Store } from '../../../ports/store.ts'
import { codec, eventsOf } from '../../../testing/rig/task-rig.ts'
import { readerOf } from '../query/view/view.ts'
import { Batch } from './batch.ts'
import { MarkedIndex } from './marked-index.ts'

const MARKS: MarkSettings = { tools: ['argo', 'flux', 'ocm'], argoInstanceLabel: 'app' }
const NAMES = ['a', 'b', 'none']
const CLUSTERS = ['c', 'd']

const mark = fc.constantFrom(
  ...['label:app=a', 'label:app=b', 'label:app=ns_a', 'label:app='],
  'label:kustomize.toolkit.fluxcd.io/name=a label:kustomize.toolkit.fluxcd.io/namespace=x',
  'label:kustomize.toolkit.fluxcd.io/name=b',
  ...['annotation:argocd.argoproj.io/tracking-id=b:/ConfigMap:ns/one', ''],
)
const place = fc.constantFrom('cm/one', 'cm/two', 'cm/one in other', 'pod/three', 'rs/one')
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(place, mark).map(([at, words]) => `put ${at} [${words}]`) },
  { weight: 3, arbitrary: place.map((at) => `delete ${at}`) },
  { weight: 1, arbitrary: fc.constantFrom(...CLUSTERS).map((each) => `cluster ${each}`) },
)
const life = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 30 }),
  sizes: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 }),
  begins: fc.integer({ min: 0, max: 40 }),
  pageKeys: fc.integer({ min: 1, max: 4 }),
})

async function scanOf(store: Store, name: string): Promise<readonly string[]> {
  const { rows } = await store.page(prefixRange(ALL_NODES_PREFIX, 1_000))
  const reader = readerOf(store, codec)
  return rows.flatMap(([key]) => {
    const node = reader.get(key)
    if (node?.type !== 'Node') return []
    const isNamed = managersOf(node.object, MARKS).some((each) => each.name === name)
    return isNamed ? [key] : []
  })
}

function namedIn(index: MarkedIndex, name: string): readonly string[] | undefined {
  const found = CLUSTERS.flatMap((cluster) => {
    const uids = index.named(cluster, name)
    return uids === undefined ? [undefined] : uids.map((uid) => `node/${cluster}/${uid}`)
  })
  return found.some((each) => each === undefined) ? undefined : (found as string[]).toSorted()
}

/** Deletions of what is not there are no steps. */
function told(steps: readonly string[]): readonly string[] {
  const there = new Set<string>()
  let cluster = 'c'
  return steps.filter((each) => {
    const [verb = '', ...rest] = each.replace(/ \[.*$/, '').split(' ')
    if (verb === 'cluster') cluster = rest.join(' ')
    const key = `${cluster} ${rest.join(' ')}`
    if (verb === 'put') there.add(key)
    return verb !== 'delete' || there.delete(key)
  })
}

test('answers what a scan does', async () => {
  let compared = 0
  const compare = async (store: Store, index: MarkedIndex): Promise<void> => {
    for (const name of NAMES) {
      const found = namedIn(index, name)
      if (found === undefined) continue
      const scanned = await scanOf(store, name)
      deepEqual(found, scanned)
      compared += scanned.length
    }
  }
  const property = fc.asyncProperty(life, async ({ steps, sizes, begins, pageKeys }) => {
    const store = new MemoryStore()
    const batch = new Batch({ store, codec, partition: 0, partitions: 1, from: undefined })
    const events = eventsOf(told(steps))
    let index: MarkedIndex | undefined
    for (let at = 0, turn = 0; at < events.length; turn++) {
      const size = sizes[turn % sizes.length] ?? 1
      for (const event of events.slice(at, at + size)) {
        const { position } = batch.position
        await batch.fold(event, { partition: 0, partitions: 1, position, timestamp: turn * 1_000 })
      }
      at += size
      const { changelog } = batch.take()
      index?.committed(batch.changes, batch.stored)
      const { position } = batch.position
      const changes = changelog.map(({ key, value }) => [key, value] as const)
      await store.write(changes, { changelog: position, position })
      batch.clear()
      if (at >= begins) index ??= new MarkedIndex(codec, MARKS, { pageKeys })
      await index?.goOn(store)
      if (index !== undefined) await compare(store, index)
    }
    index ??= new MarkedIndex(codec, MARKS, { pageKeys })
    while (!index.isOver) await index.goOn(store)
    await compare(store, index)
  })
  await fc.assert(property, { numRuns: 200 })
  ok(compared > 100)
})

test('beyond its bound it answers nothing, and keeps nothing', async () => {
  const store = new MemoryStore()
  const batch = new Batch({ store, codec, partition: 0, partitions: 1, from: undefined })
  const index = new MarkedIndex(codec, MARKS, { most: 1 })
  await index.goOn(store)
  deepEqual(index.named('c', 'a'), [])
  for (const [turn, event] of eventsOf([
    'put cm/one [label:app=a]',
    'put cm/two [label:app=a]',
  ]).entries()) {
    const { position } = batch.position
    await batch.fold(event, { partition: 0, partitions: 1, position, timestamp: turn })
  }
  batch.take()
  index.committed(batch.changes, batch.stored)
  equal(index.named('c', 'a'), undefined)
  equal(index.isOver, true)
})
