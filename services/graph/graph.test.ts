/**
 * A process gets tasks and loses them, one without the others; the process that has a task folds
 * it, and no process continues silently with fewer of its tasks.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryCoordinator } from '../../adapters/memory/placement.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import { policyOf } from '../../core/graph/graph.ts'
import { identityOf } from '../../core/graph/identity.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Log, TaskLog } from '../../ports/log.ts'
import { FENCE_KEY, LogError } from '../../ports/log.ts'
import type { Placed, Placement } from '../../ports/placement.ts'
import { PROTECT_POLICY_KEY, RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import { type MarkSettings, NO_MARKS } from '../../ports/record/manager-mark.ts'
import type { Report } from '../../ports/share-out.ts'
import { StoreError } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import {
  appendAll,
  assign,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
  runTask,
  taskStore,
} from '../../testing/rig/task-rig.ts'
import { giveOrder } from './fold/order.ts'
import { DEFAULT_RETENTION } from './fold/retention.ts'
import { Graph, type PartitionStatus, publishAhead } from './graph.ts'
import { HistoryIndex } from './query/index/history-index.ts'
import { readerOf } from './query/view/view.ts'

const POLICY = policyFor('enforce', 'parity')
const ANOTHER = { type: 'PolicyChanged', policy: POLICY, who: 'a', why: '' } as const

class OpenStore extends MemoryStore {
  isClosed = false

  override async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    await super[Symbol.asyncDispose]()
  }
}

interface Process {
  readonly graph: Graph
  /** Of each partition, as often as its store was opened. */
  readonly opened: Map<number, OpenStore[]>
  /** Which policies of partitions it has taken the place of. */
  readonly replaced: string[]
  readonly ended: Promise<void>
  stop(): Promise<void>
}

function start(
  t: TestContext,
  log: Log,
  coordinator: Pick<MemoryCoordinator, 'placement'>,
  url = 'http://one',
  clock = systemClock(),
  policy = POLICY,
): Process {
  const stop = new AbortController()
  const opened = new Map<number, OpenStore[]>()
  const replaced: string[] = []
  const contents = new Map<number, MemoryStore['content']>()
  const graph = new Graph({
    log,
    codec,
    clock,
    placement: coordinator.placement(),
    retention: DEFAULT_RETENTION,
    policy: { policy, who: 'test' },
    policyChanged: (partition, from, to) => replaced.push(`${partition}: ${from.mode} ${to.mode}`),
    openStore: async (partition) => {
      const store = new OpenStore(contents.get(partition))
      contents.set(partition, store.content)
      opened.set(partition, [...(opened.get(partition) ?? []), store])
      return store
    },
  })
  const ended = graph.run(url, stop.signal)
  ended.catch(() => undefined)
  const process = {
    graph,
    opened,
    replaced,
    ended,
    stop: async () => {
      stop.abort(new Error('the process ends'))
      await ended
    },
  }
  t.after(async () => {
    stop.abort(new Error('the test ends'))
    await ended.catch(() => undefined)
  })
  return process
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setImmediate()
}

function partitionsOf({ graph }: Process, role: 'active' | 'standby' = 'active'): number[] {
  return graph.status().flatMap((each) => (each.role === role ? each.partition : []))
}

function isFolding({ graph }: Process): boolean {
  const active = graph.status().filter(({ role }) => role === 'active')
  return active.every(({ state }) => state === 'folding')
}

/** The policy is folded, and so in the changelog. */
function isEnforcing({ graph }: Process): boolean {
  return graph.tasks.every(
    ({ store }) => policyOf(readerOf(store, codec)).policy.mode === 'enforce',
  )
}

const isCaughtUp = ({ lagEntries }: PartitionStatus): boolean => lagEntries === 0n

function memoryLog(partitions: number): MemoryLog {
  return new MemoryLog({ partitions, clock: systemClock() })
}

/** Takes no task over before it is let. */
class SlowLog extends MemoryLog {
  readonly let = Promise.withResolvers<void>()

  override async openTask(partition: number): Promise<TaskLog> {
    await this.let.promise
    return await super.openTask(partition)
  }
}

test('what is only followed waits until all that nobody answers is answered', async (t) => {
  const log = new SlowLog({ partitions: 3, clock: systemClock() })
  const revoked = new AbortController().signal
  const given: readonly Placed[] = [
    { partition: 0, role: 'active', revoked },
    { partition: 1, role: 'standby', revoked },
  ]
  const placement: Placement = {
    owners: () => new Map(),
    async *assignments(_, signal) {
      yield* given
      await once(signal, 'abort')
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
  // Also where it fails: the process ends once it is let.
  t.after(() => log.let.resolve())
  const one = start(t, log, { placement: () => placement })
  await until(() => one.opened.has(0) && one.graph.status().length === 2)
  for (let turn = 0; turn < 1_000; turn++) await setImmediate()
  deepEqual([...one.opened.keys()], [0])
  log.let.resolve()
  await until(() => one.opened.has(1))
  ok(isFolding(one))
})

test('a second process takes half of the tasks and gives them back, and the others go on undisturbed', async (t) => {
  const log = memoryLog(4)
  const coordinator = new MemoryCoordinator(4)
  const first = start(t, log, coordinator, 'http://one')
  await until(() => first.graph.tasks.length === 4 && isFolding(first))
  const kept = first.graph.tasks
  const second = start(t, log, coordinator, 'http://two')
  await until(
    () => first.graph.tasks.length === 2 && second.graph.tasks.length === 2 && isFolding(second),
  )
  ok(
    first.graph.tasks.every((task) => kept.includes(task)),
    'a task that stayed was begun again',
  )
  deepEqual([...partitionsOf(first), ...partitionsOf(second)].sort(), [0, 1, 2, 3])
  deepEqual([...first.graph.owners()].sort(), [
    [0, 'http://one'],
    [1, 'http://one'],
    [2, 'http://two'],
    [3, 'http://two'],
  ])
  for (const partition of partitionsOf(second)) {
    ok(
      first.opened.get(partition)?.every(({ isClosed }) => isClosed),
      'a store that went is open',
    )
  }
  await second.stop()
  await until(() => first.graph.tasks.length === 4 && isFolding(first))
  deepEqual(
    [...first.opened.values()].map((stores) => stores.length),
    [1, 1, 2, 2],
  )
})

test('whoever has a partition sees to it that its policy is the one asked for, once', async (t) => {
  const log = memoryLog(2)
  const coordinator = new MemoryCoordinator(2)
  const first = start(t, log, coordinator)
  await until(() => first.graph.tasks.length === 2 && isFolding(first) && isEnforcing(first))
  const second = start(t, log, coordinator)
  await until(() => second.graph.tasks.length === 1 && isFolding(second) && isEnforcing(second))
  for (const partition of [0, 1]) {
    const { entries } = await log.read('events', partition, 0n, { limit: 10, waitMs: 0 })
    equal(entries.length, 1)
  }
  // Reapers know from there at once of a softer mode, whatever is still on its way to them.
  const said = (await log.latest('orders', 0)).find(({ key }) => key === PROTECT_POLICY_KEY)
  const control = codec.decode(said?.value ?? new Uint8Array())
  equal(control.type === 'Control' && control.mode, 'enforce')
})

test('rules are published to the reapers before they are folded, and where they differ', async (t) => {
  const log = memoryLog(2)
  const coordinator = new MemoryCoordinator(2)
  const said = async (): Promise<string[]> => {
    const { entries } = await log.read('orders', 0, 0n, { limit: 100, waitMs: 0 })
    const records = entries.map(({ value }) => codec.decode(value ?? new Uint8Array()))
    return records.flatMap((each) => {
      if (each.type === 'RuleBook') return `book ${each.rules.map(({ name }) => name)}`
      return each.type === 'PolicyChanged'
        ? `policy ${each.policy.rules.map(({ name }) => name)}`
        : []
    })
  }
  const folded = (process: Process, count: number): boolean =>
    process.graph.tasks.length === 2 &&
    isFolding(process) &&
    process.graph.tasks.every(
      ({ store }) => policyOf(readerOf(store, codec)).policy.rules.length === count,
    )
  const ruled = { ...POLICY, rules: [ruleIn('old pod 60')] }
  const first = start(t, log, coordinator, 'http://one', systemClock(), ruled)
  await until(() => folded(first, 1))
  await first.stop()
  deepEqual(await said(), ['book old', 'policy old', 'policy old'])
  const again = start(t, log, coordinator, 'http://one', systemClock(), ruled)
  await until(() => folded(again, 1))
  await again.stop()
  equal((await said()).length, 3)
  const without = start(t, log, coordinator, 'http://one', systemClock())
  await until(() => folded(without, 0))
  deepEqual((await said()).slice(3), ['book ', 'policy ', 'policy '])
})

test('marks are published where they differ, and without any nothing is', async () => {
  const log = memoryLog(1)
  const said = async (): Promise<readonly (readonly string[])[]> => {
    const { entries } = await log.read('orders', 0, 0n, { limit: 100, waitMs: 0 })
    const records = entries.map(({ value }) => codec.decode(value ?? new Uint8Array()))
    return records.flatMap((each) => (each.type === 'MarkBook' ? [each.annotations] : []))
  }
  const argo: MarkSettings = { tools: ['argo'], argoInstanceLabel: null }
  const rounds = [
    [NO_MARKS, 0],
    [argo, 1],
    [argo, 1],
    [NO_MARKS, 2],
    [NO_MARKS, 2],
  ] as const
  for (const [marks, records] of rounds) {
    await publishAhead({ log, codec }, { policy: POLICY, who: 'test', marks })
    equal((await said()).length, records)
  }
  const keys = ['argocd.argoproj.io/sync-options', 'argocd.argoproj.io/tracking-id']
  deepEqual(await said(), [keys, []])
})

test('the first policy of a log is published ahead, and none that replaces another', async () => {
  const log = memoryLog(1)
  const said = async (): Promise<readonly string[]> => {
    const { entries } = await log.read('orders', 0, 0n, { limit: 100, waitMs: 0 })
    return entries.map(({ key }) => key)
  }
  const ruled = { ...POLICY, rules: [ruleIn('old pod 60')] }
  await publishAhead({ log, codec }, { policy: ruled, who: 'test' })
  deepEqual(await said(), [RULE_BOOK_KEY, PROTECT_POLICY_KEY])
  // A fold still protects, and deletes, by the first.
  await publishAhead({ log, codec }, { policy: { ...POLICY, mode: 'observe' }, who: 'test' })
  await publishAhead({ log, codec }, { policy: ruled, who: 'test' })
  equal((await said()).length, 2)
})

test('who was cut off, and takes a partition back, does not set back what was asked for since', async (t) => {
  const log = memoryLog(1)
  const modes = async (): Promise<string[]> => {
    const { entries } = await log.read('orders', 0, 0n, { limit: 100, waitMs: 0 })
    const records = entries.map(({ value }) => codec.decode(value ?? new Uint8Array()))
    return records.flatMap((each) => (each.type === 'PolicyChanged' ? each.policy.mode : []))
  }
  const fences = async (): Promise<number> => {
    const { entries } = await log.read('changelog', 0, 0n, { limit: 1_000, waitMs: 0 })
    return entries.filter(({ key }) => key === FENCE_KEY).length
  }
  // Each believes that the partition is its own.
  const cutOff = start(t, log, new MemoryCoordinator(1))
  await until(async () => (await modes()).length === 1 && isFolding(cutOff) && isEnforcing(cutOff))
  const observe = { ...POLICY, mode: 'observe' } as const
  const newer = start(t, log, new MemoryCoordinator(1), 'http://two', systemClock(), observe)
  await until(async () => (await modes()).length === 2 && isFolding(newer))
  await until(async () => (await fences()) >= 3 && isFolding(cutOff))
  deepEqual(await modes(), ['enforce', 'observe'])
  deepEqual([cutOff.replaced, newer.replaced], [[], ['0: enforce observe']])
})

test('a task that was fenced while it is still ours is taken back, and the others never stopped', async (t) => {
  const log = memoryLog(2)
  const process = start(t, log, new MemoryCoordinator(2))
  await until(() => process.graph.tasks.length === 2 && isFolding(process))
  const other = process.graph.tasks[1]
  await log.openTask(0)
  await giveOrder(log, codec, ANOTHER, [0])
  await until(() => process.graph.tasks[0]?.status().state === 'stopped')
  equal(other?.status().state, 'folding')
  await until(() => isFolding(process) && process.graph.status().every(isCaughtUp))
  ok((process.graph.tasks[0]?.status().position ?? 0n) >= 2n, 'it did not fold on')
  equal(process.graph.tasks[1], other)
})

test('a standby has what is committed, and takes over with the store that it has open', async (t) => {
  const log = memoryLog(2)
  const coordinator = new MemoryCoordinator(2, 1)
  const first = start(t, log, coordinator)
  const second = start(t, log, coordinator)
  await until(
    () =>
      partitionsOf(first, 'standby').length === 1 && partitionsOf(second, 'standby').length === 1,
  )
  const [partition = 0] = partitionsOf(second, 'standby')
  const [task] = first.graph.tasks
  equal(task?.partition, partition)
  const isFollowed = async (): Promise<boolean> => {
    const [standing] = second.opened.get(partition) ?? []
    if (standing === undefined || task === undefined || task.status().position === 0n) return false
    const [theirs, ours] = [await contentOf(task.store), await contentOf(taskStore(standing))]
    return theirs.size > 0 && JSON.stringify([...theirs]) === JSON.stringify([...ours])
  }
  await until(isFollowed)
  const before = await log.bounds('changelog', partition)
  const [standing] = second.opened.get(partition) ?? []
  await first.stop()
  await until(() => second.graph.tasks.length === 2 && isFolding(second))
  deepEqual(second.opened.get(partition), [standing])
  ok(standing !== undefined)
  equal(standing.isClosed, false)
  const taken = second.graph.tasks[partition]?.store
  deepEqual(taken && (await contentOf(taken)), await contentOf(taskStore(standing)))
  const page = await log.read('changelog', partition, before.end, { limit: 10, waitMs: 0 })
  deepEqual(
    page.entries.map(({ key }) => key),
    [FENCE_KEY],
  )
})

test('a standby is ready once it has the histories, too, which it closes with its store', async (t) => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(['put cm/a']))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  const stop = new AbortController()
  t.after(() => stop.abort())
  const reports: (() => Report)[] = []
  const ready = (): readonly number[] | undefined => reports.at(-1)?.().ready
  const placement: Placement = {
    async *assignments(_, signal, report) {
      if (report !== undefined) reports.push(report)
      yield { partition: 0, role: 'standby', revoked: signal }
      await once(signal, 'abort')
    },
    owners: () => new Map(),
    [Symbol.asyncDispose]: async () => undefined,
  }
  const index = new HistoryIndex(log, codec, clock)
  const store = new OpenStore()
  const graph = new Graph({
    ...{ log, codec, clock, placement, retention: DEFAULT_RETENTION },
    openStore: async () => emptyStore(),
    openIndex: async (partition) => index.open(partition, store),
  })
  const ended = graph.run('http://one', stop.signal)
  const isFollowed = ({ state, lagEntries }: PartitionStatus): boolean =>
    state === 'following' && lagEntries === 0n
  while (!graph.status().some(isFollowed)) await setImmediate()
  deepEqual(ready(), [])
  const indexing = index.run(stop.signal)
  while (ready()?.length === 0) await setImmediate()
  deepEqual(ready(), [0])
  // Names are read after them.
  while ((await index.caughtUp()) > 0n) await setImmediate()
  const [last] = (await index.namesIn(0).withUid('cm-a')).found
  ok(last !== undefined)
  await assign(log)
  await index.clusters.read()
  equal((await index.history(identityOf(last.cluster, last))).entries[0]?.change, 'created')
  stop.abort()
  await Promise.all([ended, indexing])
  equal(store.isClosed, true)
})

test('a standby whose store is damaged builds it again', async (t) => {
  const log = memoryLog(2)
  const coordinator = new MemoryCoordinator(2, 1)
  const first = start(t, log, coordinator)
  const second = start(t, log, coordinator)
  await until(() => partitionsOf(second, 'standby').length === 1 && isFolding(first))
  const [partition = 0] = partitionsOf(second, 'standby')
  await until(() => second.graph.status().every(isCaughtUp) && second.opened.has(partition))
  const [standing] = second.opened.get(partition) ?? []
  ok(standing !== undefined)
  const write = standing.write.bind(standing)
  let isWiped = false
  standing.write = async () => {
    throw new StoreError('DAMAGED', 'a bit flipped')
  }
  standing.wipe = async () => {
    isWiped = true
    standing.write = write
    await MemoryStore.prototype.wipe.call(standing)
  }
  await giveOrder(log, codec, ANOTHER, [partition])
  await until(() => isWiped)
  const [task] = first.graph.tasks
  await until(async () => {
    if (task === undefined || standing.checkpoint() === undefined) return false
    return (
      JSON.stringify([...(await contentOf(task.store))]) ===
      JSON.stringify([...(await contentOf(taskStore(standing)))])
    )
  })
})

test('what only a person can mend in one task ends the service', async (t) => {
  const log = memoryLog(2)
  const process = start(t, log, new MemoryCoordinator(2))
  await until(() => process.graph.tasks.length === 2 && isFolding(process))
  const [store] = process.opened.get(1) ?? []
  ok(store !== undefined)
  store.write = async () => {
    throw new StoreError('FULL', 'the disk is full')
  }
  await giveOrder(log, codec, ANOTHER, [1])
  await rejects(process.ended, /the disk is full/)
  ok([...process.opened.values()].flat().every(({ isClosed }) => isClosed))
})

test('a standby that holds more than the log does ends the service, and keeps what it holds', async (t) => {
  const log = memoryLog(2)
  const coordinator = new MemoryCoordinator(2, 1)
  start(t, log, coordinator)
  const { monotonicMs, ...rest } = systemClock()
  // It waits a while for markers of a commit of its own, and this one has a thousandth of that to
  // wait.
  const fast = { ...rest, monotonicMs: () => monotonicMs() * 1_000 }
  const second = start(t, log, coordinator, 'http://two', fast)
  await until(
    () => partitionsOf(second, 'standby').length === 1 && second.graph.status().every(isCaughtUp),
  )
  const [partition = 0] = partitionsOf(second, 'standby')
  const [standing] = second.opened.get(partition) ?? []
  ok(standing !== undefined)
  await standing.write([['node/c/u', new Uint8Array()]], { changelog: 1_000n, position: 1_000n })
  standing.write = async () => {
    throw new StoreError('DAMAGED', 'so that it begins again')
  }
  standing.wipe = async () => undefined
  await giveOrder(log, codec, ANOTHER, [partition])
  await rejects(second.ended, (error) => error instanceof LogError && error.code === 'DAMAGED')
})
