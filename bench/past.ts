/**
 * Moments of the past: what it costs to keep what facts were before each change, and a tree at
 * random moments over a large store of it.
 *
 * What must stay true: rows are made and questions answered by the code of a service; only the
 * nodes of the large store are made here, since folding so many takes hours.
 *
 * Not here: the fold's own cost (folding.ts).
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { openLevelStore } from '../adapters/level/store.ts'
import { edgeKey, nodeKey } from '../core/graph/key.ts'
import type { Node } from '../core/model/node.ts'
import type { StoreChange } from '../ports/store.ts'
import { systemClock } from '../runtime/clock.ts'
import { Batch } from '../services/graph/fold/batch.ts'
import { type FormerChange, formerRecords } from '../services/graph/fold/former/former-record.ts'
import { rowsOf } from '../services/graph/fold/former/former-rows.ts'
import { RowStore } from '../services/graph/fold/former/row-store.ts'
import { grown } from '../services/graph/query/answer/tree.ts'
import { View } from '../services/graph/query/view/view.ts'
import { beginning, CLUSTER } from './rig/ownership.ts'
import type { Report } from './rig/report.ts'
import { machine, quantile, rounded } from './rig/report.ts'

export interface PastOptions extends Readonly<Record<string, number>> {
  readonly objects: number
  /** Of each object, one after the other. */
  readonly states: number
  /** An owner and its dependents. */
  readonly family: number
  readonly trees: number
}

const codec = avroCodec()
const clock = systemClock()
const START = Date.parse('2026-01-01T00:00:00Z')
const COMMIT = 500
const BEGINNING = beginning().length

export async function benchPast(options: PastOptions): Promise<Report> {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-past-'))
  try {
    await using store = new RowStore(await openLevelStore({ directory, identity: 'bench' }), codec)
    const written = await write(store, options)
    const bytes = await bytesIn(directory)
    const changes = options.objects * options.states
    const { cpuUs, trees } = await treesAt(store, options)
    const row = [
      ...[rounded(written.cpuUs / changes), Math.round(bytes / changes)],
      ...[rounded(quantile(trees, 0.5)), rounded(quantile(trees, 0.95))],
      rounded(cpuUs / trees.length / 1_000, 1),
    ]
    const columns = [
      ...['CPU, us a change', 'bytes on disk a change'],
      ...[`tree of ${options.family}, p50 ms`, 'p95 ms', 'CPU, ms a tree'],
    ]
    const tables = [{ title: 'moments of the past', columns, rows: [row] }]
    return {
      bench: 'past',
      options,
      machine: machine(),
      tables,
      measured: { written, bytes, trees },
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function write(store: RowStore, options: PastOptions): Promise<{ readonly cpuUs: number }> {
  const { objects, states } = options
  await begin(store)
  const before = process.cpuUsage()
  let position = BEGINNING
  for (let state = 0; state < states; state++) {
    for (let first = 0; first < objects; first += COMMIT) {
      const changes: StoreChange[] = []
      const formers: FormerChange[] = []
      const from = BigInt(position)
      const put = (key: string, value: Uint8Array): void => {
        const at = START + position
        formers.push({ key, position: BigInt(position), at, before: store.get(key) })
        changes.push([key, value])
      }
      for (let index = first; index < Math.min(objects, first + COMMIT); index++) {
        // In each round in another order.
        const each = (index * 7_919 + state * 104_729) % objects
        const node = nodeOf(each, position, options)
        put(nodeKey(CLUSTER, node.object.uid), codec.encode(node))
        const [owner] = node.object.ownerReferences
        if (state === 0 && owner !== undefined) {
          const place = placeOf(ownerOf(each, options))
          const key = edgeKey(CLUSTER, owner.uid, place, node.object.uid)
          put(key, codec.encode({ type: 'Edge' }))
        }
        position += 1
      }
      const folded = { from, to: BigInt(position) }
      const records = formerRecords(codec, 0, formers, folded)
      const rows = rowsOf(store, codec, changes, { changes: formers, records, folded })
      await store.writeRows(rows, { changelog: folded.to, position: folded.to })
    }
  }
  const { user, system } = process.cpuUsage(before)
  return { cpuUs: user + system }
}

/** The cluster and its kinds, as a fold has them. */
async function begin(store: RowStore): Promise<void> {
  const from = undefined
  const batch = new Batch({ store, codec, partition: 0, partitions: 1, from, isRemembering: true })
  for (const [index, event] of beginning().entries()) {
    const at = { partition: 0, partitions: 1, position: BigInt(index), timestamp: START }
    await batch.fold(event, at)
  }
  const { rows } = batch.take()
  await store.writeRows(rows, { changelog: 1n, position: batch.position.position })
}

async function treesAt(
  store: RowStore,
  options: PastOptions,
): Promise<{ readonly trees: readonly number[]; readonly cpuUs: number }> {
  const { objects, states, family, trees } = options
  const partition = {
    ...{ partition: 0, store, counts: () => undefined },
    status: () =>
      ({
        state: 'folding',
        position: BigInt(BEGINNING + objects * states),
        lagEntries: 0n,
      }) as const,
  }
  const now = new View({ cluster: CLUSTER, partition, partitions: 1, codec, clock })
  const times: number[] = []
  const before = process.cpuUsage()
  for (let each = 0; each < trees; each++) {
    const root = Math.floor((Math.random() * objects) / family) * family
    const position = BEGINNING + objects + Math.floor(Math.random() * objects * (states - 1))
    const began = performance.now()
    const view = now.at({ type: 'position', position, at: START + position, isTime: false })
    const of = { ...placeOf(root), uid: uidOf(root), cluster: CLUSTER, at: 0 }
    const { top } = await grown(view, of, false)
    times.push(performance.now() - began)
    if (top.children.length !== family - 1) throw new Error(`a tree of ${top.children.length}`)
  }
  const { user, system } = process.cpuUsage(before)
  return { trees: times, cpuUs: user + system }
}

function ownerOf(each: number, { family }: PastOptions): number {
  return each - (each % family)
}

function placeOf(each: number) {
  return { group: 'apps', kind: 'ReplicaSet', namespace: 'shop', name: `web-${each.toString(36)}` }
}

/** As random as those of a server, and the same in each round. */
function uidOf(each: number): string {
  const hex = (Math.imul(each, 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
  return `${hex}-0000-4000-8000-${each.toString(16).padStart(12, '0')}`
}

function nodeOf(each: number, position: number, options: PastOptions): Node {
  const owner = ownerOf(each, options)
  const isOwner = owner === each
  const references = isOwner
    ? []
    : [
        {
          ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: placeOf(owner).name },
          ...{ uid: uidOf(owner), controller: true, blockOwnerDeletion: true },
        },
      ]
  const pod = { group: '', kind: 'Pod', namespace: 'shop', name: `web-${each.toString(36)}` }
  return {
    type: 'Node',
    ...{ hash: `${position}`, position: BigInt(position) },
    object: {
      ...(isOwner ? placeOf(each) : pod),
      ...{ version: 'v1', resource: isOwner ? 'replicasets' : 'pods' },
      scope: 'Namespaced',
      ...{ generation: 1, graceSeconds: null },
      ...{ uid: uidOf(each), resourceVersion: `${position}`, createdAt: START, deletedAt: null },
      ...{
        ownerReferences: references,
        finalizers: [],
        labels: [],
        annotations: [],
        projected: null,
      },
    },
    places: references.map(() => ({ kind: 'ReplicaSet', namespace: 'shop' })),
    namedAt: references.map(() => START),
    ...{ orphanedAt: null, isFreed: false, letGoAt: null, going: null, ringed: false },
    ...{ protectedUntil: null, isWarned: false, warnedAt: [], dueBy: '' },
    ...{ doubt: null, deletion: null, verdict: null, hold: null, attempt: null },
  }
}

async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory)
  const sizes = names.map(async (name) => (await stat(join(directory, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
