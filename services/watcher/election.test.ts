/**
 * Several watchers of one cluster, one Lease and one log: which one publishes, the cost of a
 * failover, and the fate of a succeeded watcher.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Event } from '../../core/model/event.ts'
import { readAssignments } from '../../ports/assignment.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { LogError } from '../../ports/log.ts'
import { assignKey } from '../../ports/record/control-key.ts'
import { type Candidate, LeaseRig } from '../../testing/rig/lease-rig.ts'
import { emptyStore, runTask } from '../../testing/rig/task-rig.ts'
import { seeded } from '../../testing/rig/watcher-rig.ts'
import { SleepingClock } from '../../testing/sleeping-clock.ts'
import { connectionRecord } from './kind/marks.ts'
import type { Watcher } from './watcher.ts'
import { createWatcher } from './watcher.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const STEP_MS = 100
const PATIENCE_MS = 5 * 60_000

/** A process that watches. */
interface Member {
  readonly wire: Candidate
  readonly watcher: Watcher
  readonly running: Promise<void>
  /** Its appends from now on: they arrive at once, when it is opened, or never. */
  gate: Promise<void>
  kill(): void
  stop(): void
}

class Group {
  readonly clock = new ManualClock()
  readonly rig = new LeaseRig(this.clock)
  readonly log = new MemoryLog({ partitions: 2, clock: this.clock })
  readonly codec = avroCodec()
  readonly #members: Member[] = []

  join(clock: Clock = this.clock): Member {
    const wire = this.rig.candidate(clock)
    const stop = new AbortController()
    const ports = { clock, random: seeded(9 + this.#members.length) }
    const member = {
      wire,
      gate: Promise.resolve(),
      kill: () => {
        wire.kill()
        member.gate = Promise.reject(new LogError('CLOSED', 'The process was killed.'))
        member.gate.catch(() => undefined)
        stop.abort(new Error('killed'))
      },
      stop: () => stop.abort(new Error('stopped')),
    }
    const watcher = createWatcher({
      ...ports,
      ...{ lease: wire.lease, codec: this.codec, log: gated(this.log, () => member.gate) },
      cluster: openCluster({ ...ports, name: 'shared', exchange: wire.exchange }),
    })
    const running = watcher.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error
    })
    const joined = Object.assign(member, { watcher, running })
    this.#members.push(joined)
    return joined
  }

  async end(): Promise<void> {
    for (const member of this.#members) member.stop()
    await this.rig.until(Promise.all(this.#members.map(({ running }) => running)))
  }

  async until(claim: () => boolean, what: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += STEP_MS) {
      if (claim()) return
      await this.clock.advance(STEP_MS)
    }
    throw new Error(`This never came: ${what}.`)
  }

  async synced({ watcher }: Member): Promise<void> {
    const isSynced = (): boolean => {
      const { isLeading, connected, kinds } = watcher.status()
      const all = kinds.length > 0 && kinds.every(({ state }) => state === 'watching')
      return isLeading && connected && all
    }
    await this.until(isSynced, 'it leads, and all kinds are watched')
  }

  async events(): Promise<readonly Event[]> {
    const pages = await Promise.all(
      [0, 1].map((partition) =>
        this.log.read('events', partition, 0n, { limit: 100_000, waitMs: 0 }),
      ),
    )
    return pages
      .flatMap(({ entries }) => entries)
      .flatMap(({ value }) => (value === null ? [] : [this.codec.decode(value) as Event]))
  }

  async assign(cluster: string, partition: number): Promise<void> {
    const value = this.codec.encode({ type: 'Assignment', cluster, partition, objects: 0 })
    await this.log.append('control', 0, [{ key: assignKey(cluster), value }])
  }

  async create(name: string): Promise<void> {
    await this.rig.ask('POST', CONFIG_MAPS, { metadata: { name } })
  }
}

/** Appends wait for the gate, as a slow network lets them; nothing else does. */
function gated(log: Log, gate: () => Promise<void>): Log {
  const append: Log['append'] = async (topic, partition, records) => {
    await gate()
    return await log.append(topic, partition, records)
  }
  return new Proxy<Log>(log, {
    get(target, name) {
      if (name === 'append') return append
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Full lists of objects that are watched. */
function lists({ wire }: Member): readonly string[] {
  return wire.requests.filter(
    (request) => /[?&]limit=500/.test(request) && !request.includes('apiservices'),
  )
}

function seen(events: readonly Event[], epoch: number): readonly string[] {
  return events.flatMap((event) =>
    (event.type === 'ObjectAdded' || event.type === 'ObjectDeleted') &&
    event.epoch === epoch &&
    event.object.kind === 'ConfigMap'
      ? [`${event.type} ${event.object.name}`]
      : [],
  )
}

let group: Group
afterEach(() => group.end())

test('one of two watchers tells, and the other is its standby', async () => {
  group = new Group()
  const first = group.join()
  await group.synced(first)
  const second = group.join()
  await group.clock.advance(60_000)
  match(second.watcher.status().standbyOf ?? '', /^host-1_/)
  deepEqual(
    [first, second].map(({ watcher }) => watcher.status().isLeading),
    [true, false],
  )
  equal((await group.events()).filter(({ type }) => type === 'WatcherStarted').length, 1)
  deepEqual(second.watcher.status().kinds, [])
})

for (const [how, withinMs] of [
  ['stop', 5_000],
  ['kill', 20_000],
] as const) {
  test(`a failover after a ${how} loses nothing and lists nothing`, async () => {
    group = new Group()
    await group.create('a')
    const first = group.join()
    await group.synced(first)
    ok(lists(first).length > 0)
    const second = group.join()
    await group.clock.advance(12_000)
    const { epoch } = first.watcher.status()
    first[how]()
    await group.create('b')
    await group.rig.ask('DELETE', `${CONFIG_MAPS}/a`, {})
    const sinceMs = group.clock.monotonicMs()
    await group.until(() => second.watcher.status().isLeading, 'the other leads')
    ok(group.clock.monotonicMs() - sinceMs <= withinMs)
    await group.synced(second)
    deepEqual(lists(second), [])
    const after = second.watcher.status().epoch
    ok(after > epoch)
    deepEqual(seen(await group.events(), after), ['ObjectAdded b', 'ObjectDeleted a'])
  })
}

test('what a succeeded watcher had under way is refused, and it tells nothing more', async () => {
  group = new Group()
  await group.create('a')
  const first = group.join()
  await group.synced(first)
  const second = group.join()
  await group.clock.advance(12_000)
  const { epoch } = first.watcher.status()
  // Its appends hang in the network from here on, and soon its calls for the lease do.
  const network = Promise.withResolvers<void>()
  first.gate = network.promise
  await group.create('b')
  await group.clock.advance(1_000)
  first.wire.break = (request) =>
    request.path.includes('/leases/') ? new Promise(() => undefined) : Promise.resolve(undefined)
  await group.synced(second)
  ok(!first.watcher.status().isLeading)
  await group.create('c')
  await group.clock.advance(1_000)
  network.resolve()
  first.wire.break = async () => undefined
  await group.clock.advance(10_000)
  const told = (await group.events()).filter((event) => isOf(event, epoch)).length
  const { epoch: current } = second.watcher.status()
  match(first.watcher.status().standbyOf ?? '', /^host-2_/)
  ok(second.watcher.status().connected)

  const fates: string[] = []
  for (const partition of [0, 1]) {
    let isSucceeded = false
    const observe = {
      folded: (event: Event, _at: unknown, outcome: { readonly dropped: string | null }) => {
        if (event.type === 'WatcherStarted') isSucceeded = event.epoch === current
        else if (isSucceeded && isOf(event, epoch)) fates.push(`${event.type}: ${outcome.dropped}`)
      },
    }
    await using task = runTask(group.log, emptyStore(), observe, partition)
    await task.caughtUp()
  }
  ok(
    fates.some((fate) => fate.startsWith('ObjectAdded')),
    fates.join('\n'),
  )
  ok(
    fates.every((fate) => fate.endsWith(': from a watcher that was succeeded')),
    fates.join('\n'),
  )
  await group.clock.advance(30_000)
  equal((await group.events()).filter((event) => isOf(event, epoch)).length, told)
})

test('what a succeeded watcher says of the connection, however late, is corrected', async () => {
  group = new Group()
  const watching = group.join()
  await group.synced(watching)
  await group.clock.advance(6_000)
  const { clusterId, clusterEpoch } = watching.watcher.status()
  const late = connectionRecord(group.codec, {
    ...{ cluster: clusterId ?? '', number: clusterEpoch },
    ...{ connected: false, why: 'its watcher is starting' },
  })
  const told = async (): Promise<unknown> => {
    const entry = (await group.log.latest('control', 0)).find(({ key }) => key === late.key)
    const record = group.codec.decode(entry?.value ?? new Uint8Array())
    return [entry?.offset, record.type === 'Control' && record.connected]
  }
  await group.log.append('control', 0, [late])
  const { end } = await group.log.bounds('control', 0)
  await group.clock.advance(1_000)
  deepEqual(await told(), [end, true])
  await group.clock.advance(58_000)
  deepEqual(await told(), [end, true])
})

test('a choice of a succeeded watcher that arrives late moves nothing, also at the next start', async () => {
  group = new Group()
  await group.create('a')
  const network = Promise.withResolvers<void>()
  const first = group.join()
  // Its choice hangs in the network, and soon its calls for the lease do.
  first.gate = network.promise
  await group.until(() => first.watcher.status().isLeading, 'it leads')
  await group.clock.advance(1_000)
  first.wire.break = (request) =>
    request.path.includes('/leases/') ? new Promise(() => undefined) : Promise.resolve(undefined)
  await group.assign('other', 0)
  const second = group.join()
  await group.synced(second)
  const cluster = second.watcher.status().clusterId ?? ''
  const partition = async (): Promise<number | undefined> =>
    (await readAssignments(group.log, group.codec)).get(cluster)?.partition
  equal(await partition(), 1)
  network.resolve()
  await group.clock.advance(100)
  equal(await partition(), 0)
  second.stop()
  await group.rig.until(second.running)
  const third = group.join()
  await group.synced(third)
  equal(await partition(), 1)
  const { entries } = await group.log.read('events', 0, 0n, { limit: 10, waitMs: 0 })
  deepEqual(entries, [])
})

test('a Lease that is deleted takes no epoch back', async () => {
  group = new Group()
  const first = group.join()
  await group.synced(first)
  const { epoch } = first.watcher.status()
  first.stop()
  await group.rig.until(first.running)
  await group.rig.delete()
  const second = group.join()
  await group.synced(second)
  ok(second.watcher.status().epoch > epoch)
  deepEqual(lists(second), [])
})

test('a watcher that slept for longer than its lease tells nothing when it wakes', async () => {
  group = new Group()
  const clock = new SleepingClock(group.clock)
  const first = group.join(clock)
  await group.synced(first)
  const second = group.join()
  await group.clock.advance(12_000)
  const { epoch } = first.watcher.status()
  clock.pause()
  await group.synced(second)
  const told = (await group.events()).filter((event) => isOf(event, epoch)).length
  // Its watches deliver this before any of its timers fires.
  await group.create('late')
  await group.clock.advance(0)
  ok(seen(await group.events(), second.watcher.status().epoch).includes('ObjectAdded late'))
  clock.resume()
  await group.clock.advance(10_000)
  equal((await group.events()).filter((event) => isOf(event, epoch)).length, told)
  match(first.watcher.status().standbyOf ?? '', /^host-2_/)
})

function isOf(event: Event, epoch: number): boolean {
  return 'epoch' in event && event.epoch === epoch
}
