/**
 * The index of the past: bytes of a span, the time of a tree of the past over very many of them, and what following history costs beside the fold that wrote it.
 *
 * What must stay true: spans are made by the code of a service, out of entries of history, and questions by the code that answers them; only the entries of the large
 * index are made here, since folding so many takes an hour. A span is the life of an object, or one edge: that it referenced an owner. It counts once, whatever
 * happened to the object; a family is an owner and its dependents, so 1 life and 2 spans a dependent.
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
import type { Produced } from '../ports/log.ts'
import type { HistoryRecord } from '../ports/record/lineage.ts'
import type { Store } from '../ports/store.ts'
import { systemClock } from '../runtime/clock.ts'
import { giveOrder } from '../services/graph/fold/order.ts'
import { Task } from '../services/graph/fold/task.ts'
import { pastTree } from '../services/graph/query/answer/past-tree.ts'
import type { TreeNode } from '../services/graph/query/answer/tree.ts'
import { createSpanIndex, SpanChanges } from '../services/graph/query/index/span-index.ts'
import { WHOLE } from '../services/graph/query/view/sight.ts'
import { Turns } from '../services/graph/turns.ts'
import { beginning, CLUSTER, Ownership, POLICY } from './rig/ownership.ts'
import type { Report } from './rig/report.ts'
import { machine, quantile, rounded } from './rig/report.ts'

export interface PastOptions extends Readonly<Record<string, number>> {
  /** Lives and edges of the large index. */
  readonly spans: number
  /** Objects that were not deleted by the end: whole families, spread over the index. */
  readonly living: number
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
/** A family is deleted once so many others were created after it: so long it can be asked for whole. */
const ALIVE_AT_ONCE = 10

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
          ['objects that live at the end', large.living],
          ['bytes of a span, on disk', rounded(large.bytes / large.spans)],
          [
            'entries a second, while it was built',
            rounded(large.entries / (large.builtMs / 1_000)),
          ],
          ...timesOf('tree', [...large.treeMs.living, ...large.treeMs.dead]),
          ...timesOf('tree of a living owner', large.treeMs.living),
          ...timesOf('tree of a deleted owner', large.treeMs.dead),
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

function timesOf(what: string, ms: readonly number[]): [string, number][] {
  if (ms.length === 0) return []
  return [
    [`${what}, median ms`, rounded(quantile(ms, 0.5), 1)],
    [`${what}, p95 ms`, rounded(quantile(ms, 0.95), 1)],
  ]
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

type Fate = 'living' | 'dead'

interface Large {
  readonly spans: number
  readonly living: number
  readonly bytes: number
  readonly entries: number
  readonly builtMs: number
  readonly treeMs: Readonly<Record<Fate, readonly number[]>>
  readonly objects: number
}

interface Member {
  readonly uid: string
  readonly name: string
  readonly kind: string
}

interface Family {
  readonly owner: Member
  readonly pods: readonly Member[]
  readonly reference: OwnerReference
  /** All of it is there from then on. */
  readonly wholeAt: number
}

/** When a tree of all of its family can be asked. */
interface Root {
  readonly uid: string
  readonly first: number
  readonly last: number
}

/** Owners with their dependents: created, and but for those that live on, being deleted and deleted, while others are created. */
async function largeIndex(options: PastOptions, store: Store, directory: string): Promise<Large> {
  const { spans, dependents } = options
  const families = Math.ceil(spans / (1 + 2 * dependents))
  const lasting = Math.min(families, Math.ceil(options.living / (1 + dependents)))
  const dead: Root[] = []
  const spared: Omit<Root, 'last'>[] = []
  let [living, entries, position] = [0, 0, 0]
  let changes = new SpanChanges(store, codec, false)
  const add = async (...about: Parameters<typeof entry>): Promise<void> => {
    changes.add(entry(...about))
    position += 1
    entries += 1
    if (entries % PAGE !== 0) return
    await store.write(changes.take(), { changelog: 0n, position: 0n })
    changes = new SpanChanges(store, codec, false)
  }
  const create = async (name: string): Promise<Family> => {
    const { owner, pods, reference } = familyNamed(name, dependents)
    await add(owner, 'created', 'observed', [], position)
    for (const pod of pods) await add(pod, 'created', 'observed', [reference], position)
    living += 1 + pods.length
    return { owner, pods, reference, wholeAt: START + position }
  }
  const remove = async ({ owner, pods, reference, wholeAt }: Family): Promise<void> => {
    dead.push({ uid: owner.uid, first: wholeAt, last: START + position - 1 })
    await add(owner, 'gone', null, [], position)
    for (const pod of pods) {
      await add(pod, 'phase', 'deleting', [reference], position)
      await add(pod, 'gone', null, [], position)
    }
    living -= 1 + pods.length
  }
  const began = performance.now()
  const mortal: Family[] = []
  for (let made = 0; made < families; made++) {
    const family = await create(`web-${made.toString(36)}`)
    const isLasting = share(made + 1, families, lasting) > share(made, families, lasting)
    if (isLasting) spared.push({ uid: family.owner.uid, first: family.wholeAt })
    else mortal.push(family)
    if (mortal.length > ALIVE_AT_ONCE) await remove(mortal.shift()!)
  }
  for (const family of mortal) await remove(family)
  await store.write(changes.take(), { changelog: 0n, position: 0n })
  const builtMs = performance.now() - began
  const end = START + position - 1
  const roots = { living: spared.map((each) => ({ ...each, last: end })), dead }
  const about = { spans: families * (1 + 2 * dependents), living, entries, builtMs }
  return { ...about, bytes: await bytesIn(directory), ...(await trees(options, store, roots)) }
}

/** Of so many, spread evenly over all: how many are among the first. */
function share(first: number, all: number, many: number): number {
  return Math.floor((first * many) / all)
}

function familyNamed(name: string, dependents: number): Omit<Family, 'wholeAt'> {
  const owner = { uid: randomUUID(), name, kind: 'ReplicaSet' }
  const reference: OwnerReference = {
    ...{ apiVersion: 'apps/v1', kind: owner.kind, name, uid: owner.uid },
    ...{ controller: true, blockOwnerDeletion: true },
  }
  const pods = Array.from({ length: dependents }, (_, each) => {
    return { uid: randomUUID(), name: `${name}-${each}`, kind: 'Pod' }
  })
  return { owner, pods, reference }
}

/** By turns of owners that live and of deleted ones, each at a random moment at which its family was whole. */
async function trees(
  { trees: count, dependents }: PastOptions,
  store: Store,
  roots: Readonly<Record<Fate, readonly Root[]>>,
): Promise<Pick<Large, 'treeMs' | 'objects'>> {
  const index = createSpanIndex(store, codec)
  const treeMs: Record<Fate, number[]> = { living: [], dead: [] }
  let objects = 0
  for (let tree = 0; tree < count; tree++) {
    const wanted: Fate = tree % 2 === 0 ? 'living' : 'dead'
    const other: Fate = wanted === 'living' ? 'dead' : 'living'
    const fate = roots[wanted].length > 0 ? wanted : other
    const { uid, first, last } = randomOf(roots[fate])
    const at = first + Math.floor(Math.random() * (last - first + 1))
    const moment = { type: 'time', at } as const
    const from = performance.now()
    const root = index.objectAt(CLUSTER, uid, moment)
    if (root === undefined) throw new Error('the owner was there')
    const turns = new Turns(clock)
    const view = { spans: index, cluster: CLUSTER, moment, turns, sight: WHOLE }
    const size = sizeOf((await pastTree(view, root, false)).answer)
    treeMs[fate].push(performance.now() - from)
    if (size !== dependents + 1) throw new Error(`${size} objects of a family that was whole`)
    objects += size
  }
  return { treeMs, objects }
}

function randomOf(roots: readonly Root[]): Root {
  return roots[Math.floor(Math.random() * roots.length)]!
}

function sizeOf({ children }: TreeNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), 1)
}

function entry(
  { uid, name, kind }: Member,
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
      long: null,
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
    const changes = new SpanChanges(index, codec, false)
    for (const { value } of page.entries) {
      if (value !== null) changes.add(codec.decode(value) as HistoryRecord)
    }
    await index.write(changes.take(), { changelog: 0n, position: 0n })
    next = page.next
  }
  const { user, system } = process.cpuUsage(before)
  return { foldUs: (foldMs * 1_000) / events, followUs: (user + system) / events }
}
