/**
 * The index of the past: bytes of a span, the time of a tree of the past over very many of them, and what following history costs beside the fold that wrote it.
 *
 * What must stay true: spans are made by the code of a service, out of entries of history, and questions by the code that answers them; only the entries of the large
 * index are made here, since folding so many takes an hour.
 *
 * Not here: the fold's own cost (folding.ts).
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { openLevelStore } from '../adapters/level/store.ts'
import { MemoryLog } from '../adapters/memory/log.ts'
import type { OwnerReference } from '../core/model/object.ts'
import type { HistoryRecord } from '../ports/lineage.ts'
import type { Produced } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { systemClock } from '../runtime/clock.ts'
import { giveOrder } from '../services/graph/fold/order.ts'
import { Task } from '../services/graph/fold/task.ts'
import { pastTree } from '../services/graph/query/past-tree.ts'
import { createSpanIndex, SpanChanges } from '../services/graph/query/span-index.ts'
import type { TreeNode } from '../services/graph/query/tree.ts'
import { Turns } from '../services/graph/turns.ts'
import { beginning, CLUSTER, Ownership, POLICY } from './ownership.ts'
import type { Report } from './report.ts'
import { machine, quantile, rounded } from './report.ts'

export interface PastOptions extends Readonly<Record<string, number>> {
  /** Lives and edges of the large index. */
  readonly spans: number
  /** Dependents of each owner: trees are of so many objects and one. */
  readonly dependents: number
  readonly trees: number
  /** Events that are folded and followed. */
  readonly events: number
}

const codec = avroCodec()
const clock = systemClock()
const PAGE = 500
const START = Date.parse('2026-01-01T00:00:00Z')

export async function benchPast(options: PastOptions): Promise<Report> {
  const large = await inStore(
    async (store, directory) => await largeIndex(options, store, directory),
  )
  const following = await inStore(async (store) => await follow(options, store))
  return {
    bench: 'past',
    options,
    machine: machine(),
    tables: [
      {
        title: `A large index, and ${options.trees} trees of ${options.dependents + 1} objects at random moments`,
        columns: ['', ''],
        rows: [
          ['spans: lives and edges', large.spans],
          ['bytes of a span, on disk', rounded(large.bytes / large.spans)],
          [
            'entries a second, while it was built',
            rounded(large.entries / (large.builtMs / 1_000)),
          ],
          ['tree, median ms', rounded(quantile(large.treeMs, 0.5), 1)],
          ['tree, p95 ms', rounded(quantile(large.treeMs, 0.95), 1)],
          ['objects of a tree, mean', rounded(large.objects / options.trees, 1)],
        ],
      },
      {
        title: 'CPU of an event of ownership',
        columns: ['', 'µs'],
        rows: [
          ['its fold', rounded(following.foldUs, 1)],
          ['following its history into the index of the past', rounded(following.followUs, 1)],
          ['of the fold, %', rounded((following.followUs / following.foldUs) * 100, 1)],
        ],
      },
    ],
    measured: { large: { ...large, treeMs: undefined }, following },
  }
}

async function inStore<T>(work: (store: Store, directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-past-'))
  try {
    await using store = await openLevelStore({ directory, identity: 'bench' })
    return await work(store, directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

interface Large {
  readonly spans: number
  readonly bytes: number
  readonly entries: number
  readonly builtMs: number
  readonly treeMs: readonly number[]
  readonly objects: number
}

/** Owners with their dependents, each of which lives for a while: created, being deleted, deleted. */
async function largeIndex(
  { spans, dependents, trees }: PastOptions,
  store: Store,
  directory: string,
): Promise<Large> {
  const roots: { readonly uid: string; readonly at: number }[] = []
  let [made, entries, position] = [0, 0, 0]
  let changes = new SpanChanges(store, false)
  const add = async (record: HistoryRecord): Promise<void> => {
    changes.add(record)
    entries += 1
    if (entries % PAGE !== 0) return
    await store.write(changes.take(), { changelog: 0n, position: 0n })
    changes = new SpanChanges(store, false)
  }
  const began = performance.now()
  while (made < spans) {
    const owner = { uid: randomUUID(), name: `web-${made.toString(36)}`, kind: 'ReplicaSet' }
    const reference: OwnerReference = {
      ...{ apiVersion: 'apps/v1', kind: owner.kind, name: owner.name, uid: owner.uid },
      ...{ controller: true, blockOwnerDeletion: true },
    }
    await add(entry(owner, 'created', 'observed', [], position++))
    const pods = Array.from({ length: dependents }, (_, each) => {
      return { uid: randomUUID(), name: `${owner.name}-${each}`, kind: 'Pod' }
    })
    for (const pod of pods) await add(entry(pod, 'created', 'observed', [reference], position++))
    roots.push({ uid: owner.uid, at: START + position })
    for (const pod of pods) {
      await add(entry(pod, 'phase', 'deleting', [reference], position++))
      await add(entry(pod, 'gone', null, [], position++))
    }
    made += 1 + 2 * dependents
  }
  await store.write(changes.take(), { changelog: 0n, position: 0n })
  const builtMs = performance.now() - began
  const index = createSpanIndex(store)
  const treeMs: number[] = []
  let objects = 0
  for (let tree = 0; tree < trees; tree++) {
    const { uid, at } = roots[Math.floor(Math.random() * roots.length)] ?? { uid: '', at: 0 }
    const moment = { type: 'time', at } as const
    const from = performance.now()
    const root = index.objectAt(CLUSTER, uid, moment)
    if (root === undefined) throw new Error('the owner was there')
    const turns = new Turns(clock)
    const view = { spans: index, cluster: CLUSTER, moment, turns, isWhole: true }
    objects += sizeOf((await pastTree(view, root, false)).answer)
    treeMs.push(performance.now() - from)
  }
  return { spans: made, bytes: await bytesIn(directory), entries, builtMs, treeMs, objects }
}

function sizeOf({ children }: TreeNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), 1)
}

function entry(
  { uid, name, kind }: { readonly uid: string; readonly name: string; readonly kind: string },
  change: HistoryRecord['change'],
  phase: 'observed' | 'deleting' | null,
  owners: readonly OwnerReference[],
  position: number,
): HistoryRecord {
  const group = kind === 'Pod' ? '' : 'apps'
  return {
    ...{ type: 'History', cluster: CLUSTER, uid, group, kind, namespace: 'shop', name, change },
    ...{ text: '', phase, evidence: null, command: null, partition: 0 },
    ...{ position: BigInt(position), basis: [], at: START + position },
    object: {
      phase,
      createdAt: START,
      deletedAt: phase === 'deleting' ? START + position : null,
      owners,
      held: null,
    },
  }
}

async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true })
  const sizes = await Promise.all(
    names.map(async (name) => {
      const about = await stat(join(directory, name))
      return about.isFile() ? about.size : 0
    }),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Real events, folded by a real task; then what it wrote of history is followed. */
async function follow(
  { events }: PastOptions,
  index: Store,
): Promise<{ readonly foldUs: number; readonly followUs: number }> {
  const log = new MemoryLog({ partitions: 1, clock })
  const told = new Ownership(0, 1, 2_500)
  const records = Array.from({ length: events }, (): Produced => {
    const { home, event } = told.next()
    return { key: home, value: codec.encode(event) }
  })
  const begin = beginning().map((event) => ({ key: CLUSTER, value: codec.encode(event) }))
  const foldMs = await inStore(async (store) => {
    const ended = new AbortController()
    const done = Promise.withResolvers<void>()
    const committed = async (_records: number, position: bigint): Promise<void> => {
      if (position >= (await log.bounds('events', 0)).end - 1n) done.resolve()
    }
    const task = new Task({
      ...{ log, codec, clock, store, partition: 0 },
      observe: { committed: (...it) => void committed(...it) },
    })
    await giveOrder(log, codec, POLICY, [0])
    await log.append('events', 0, [...begin, ...records])
    const before = process.cpuUsage()
    const running = task.run(ended.signal)
    await done.promise
    const { user, system } = process.cpuUsage(before)
    ended.abort()
    await running
    return (user + system) / 1_000
  })
  const before = process.cpuUsage()
  for (let next = 0n; ; ) {
    const page = await log.read('history', 0, next, { limit: PAGE, waitMs: 0 })
    if (page.entries.length === 0) break
    const changes = new SpanChanges(index, false)
    for (const { value } of page.entries) {
      if (value !== null) changes.add(codec.decode(value) as HistoryRecord)
    }
    await index.write(changes.take(), { changelog: 0n, position: 0n })
    next = page.next
  }
  const { user, system } = process.cpuUsage(before)
  return { foldUs: (foldMs * 1_000) / events, followUs: (user + system) / events }
}
