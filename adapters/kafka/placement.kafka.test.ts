/**
 * Processes that share out partitions by a real Kafka: against the contract, and through the deaths
 * of processes and brokers.
 *
 * A process dies here by its clock: its loop sleeps and does not wake. To the group that is the
 * same as SIGKILL, and as SIGSTOP until it wakes.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, suite, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { LogError } from '../../ports/log.ts'
import { placementContract } from '../../ports/placement.contract.ts'
import type { Placed } from '../../ports/placement.ts'
import type { Report } from '../../ports/share-out.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { SleepingClock } from '../../testing/sleeping-clock.ts'
import { openLink } from './inside.ts'
import {
  createKafkaPlacement,
  type KafkaPlacement,
  type KafkaPlacementOptions,
} from './placement.ts'

const skip = missingKafka()
const PARTITIONS = 8
const ALL = [...Array(PARTITIONS).keys()]
const SESSION_MS = 6_000
const LONG_SESSION_MS = 600_000
let kafka: Kafka
let groups = 0

before(async () => {
  if (skip === undefined) kafka = await startKafka()
})
after(async () => {
  await kafka?.[Symbol.asyncDispose]()
})

function newGroup(): string {
  groups += 1
  return `graph-${groups}`
}

function open(
  group: string,
  options: Partial<KafkaPlacementOptions> = {},
  { bootstrap: brokers, application }: Kafka = kafka,
): KafkaPlacement {
  return createKafkaPlacement({
    settings: { brokers, application, compression: 'none' },
    clientId: 'placement',
    group,
    partitions: PARTITIONS,
    standbys: 1,
    clock: systemClock(),
    ...options,
  })
}

for (const standbys of [0, 1]) {
  placementContract(
    `by Kafka with ${standbys} standbys`,
    async () => {
      const group = newGroup()
      return {
        partitions: PARTITIONS,
        standbys,
        placement: async () => open(group, { standbys }),
        moment: async () => await delay(20),
        async [Symbol.asyncDispose]() {},
      }
    },
    { skip },
  )
}

let processes = 0

class Process implements AsyncDisposable {
  readonly url: string
  readonly clock = new SleepingClock(systemClock())
  readonly placement: KafkaPlacement
  readonly #placed = new Map<number, Placed>()
  readonly #stop = new AbortController()
  readonly ended: Promise<void>
  /** How often something was given or taken away. */
  changes = 0

  readonly warnings: string[] = []
  /** What it reports to be ready for. */
  ready: readonly number[] = ALL

  constructor(
    group: string,
    of: Kafka = kafka,
    sessionTimeoutMs: number = SESSION_MS,
    port: number = ++processes,
  ) {
    this.url = `http://127.0.0.1:${port}`
    const onWarning = (text: string): number => this.warnings.push(text)
    this.placement = open(group, { clock: this.clock, sessionTimeoutMs, onWarning }, of)
    this.ended = this.#take()
  }

  async #take(): Promise<void> {
    const report = (): Report => ({ ready: this.ready, loads: [] })
    for await (const given of this.placement.assignments(this.url, this.#stop.signal, report)) {
      if (given.revoked.aborted) continue
      this.changes += 1
      this.#placed.set(given.partition, given)
      given.revoked.addEventListener('abort', () => {
        this.changes += 1
        if (this.#placed.get(given.partition) === given) this.#placed.delete(given.partition)
      })
    }
  }

  get active(): number[] {
    const all = [...this.#placed.values()].filter(({ role }) => role === 'active')
    return all.map(({ partition }) => partition).sort((a, b) => a - b)
  }

  get standby(): number[] {
    const all = [...this.#placed.values()].filter(({ role }) => role === 'standby')
    return all.map(({ partition }) => partition).sort((a, b) => a - b)
  }

  async leave(): Promise<void> {
    this.clock.resume()
    this.#stop.abort()
    await this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
    await this.placement[Symbol.asyncDispose]()
  }
}

/** Each partition has one owner among these. */
async function shared(...among: Process[]): Promise<void> {
  await eventually('every partition has one owner', async () => {
    const active = among.flatMap((process) => process.active).sort((a, b) => a - b)
    const isEven = among.every((process) => process.active.length > 0)
    return (isEven && active.join() === ALL.join()) || among.map(({ active }) => active).join(' | ')
  })
}

/** How long until these share all. */
async function timed(t: TestContext, what: string, ...among: Process[]): Promise<number> {
  const began = performance.now()
  await shared(...among)
  const ms = performance.now() - began
  t.diagnostic(`${what}: ${(ms / 1000).toFixed(2)} s`)
  return ms
}

/** As the coordinator counts them. */
async function membersOf(group: string): Promise<number> {
  const admin = kafka.client().admin()
  await admin.connect()
  try {
    const { groups: found } = await admin.describeGroups([`${kafka.application}.${group}`])
    return found[0]?.members.length ?? 0
  } finally {
    await admin.disconnect()
  }
}

suite('a group', { skip: skip ?? false }, () => {
  test('gives what a process had to others at once when it leaves', async (t) => {
    const group = newGroup()
    await using first = new Process(group)
    await shared(first)
    await using second = new Process(group)
    await timed(t, 'a second one joins', first, second)
    const had = second.active
    const leaving = second.leave()
    deepEqual(second.active, [], 'what it had is revoked before anybody else can have it')
    const left = leaving.then(async () => await membersOf(group))
    await timed(t, 'one leaves', first)
    equal(await left, 1)
    equal(had.length, PARTITIONS / 2)
  })

  test('gives a newcomer what others answer once it is ready for it, and not before', async (t) => {
    const group = newGroup()
    await using first = new Process(group)
    await shared(first)
    await using second = new Process(group)
    second.ready = []
    await eventually('it follows half of all', async () => second.standby.length >= PARTITIONS / 2)
    deepEqual(first.active, ALL)
    deepEqual(second.active, [])
    equal(second.placement.status().isPreparing, true)
    second.ready = ALL
    await timed(t, 'it is ready', first, second)
    equal(second.active.length, PARTITIONS / 2)
  })

  test('gives what a process had to others when it died, and takes it in again when it wakes', async (t) => {
    const group = newGroup()
    await using first = new Process(group)
    await using second = new Process(group)
    await shared(first, second)
    const had = second.active
    second.clock.pause()
    await timed(t, 'one dies', first)
    deepEqual(second.active, had, 'it cannot know')
    await using third = new Process(group)
    await shared(first, third)
    const kept = [first.active, third.active]
    second.clock.resume()
    await timed(t, 'it wakes', first, second, third)
    for (const [index, process] of [first, third].entries()) {
      ok(
        process.active.every((partition) => kept[index]?.includes(partition)),
        'who woke has shifted partitions between the others',
      )
    }
    for (const { placement } of [first, second, third]) {
      await eventually('everybody knows everything', async () => {
        const owners = placement.owners()
        return [first, second, third].every(({ active, url }) =>
          active.every((partition) => owners.get(partition) === url),
        )
      })
    }
  })

  test('gives what a process had to others once its port refuses, before its session ends', async (t) => {
    const group = newGroup()
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await using first = new Process(group, kafka, LONG_SESSION_MS)
    await using second = new Process(group, kafka, LONG_SESSION_MS, port)
    await shared(first, second)
    await once(server, 'connection')
    second.clock.pause()
    server.close()
    await timed(t, 'one dies whose port refuses', first)
  })

  test('is left even by a process that is not in yet, since it waits for one that died', async (t) => {
    const group = newGroup()
    await using first = new Process(group)
    await using second = new Process(group)
    await shared(first, second)
    second.clock.pause()
    await using third = new Process(group)
    const left = third.leave().then(async () => await membersOf(group))
    await timed(t, 'one dies, one joins and leaves', first)
    equal(await left, 1)
    deepEqual(third.active, [])
  })

  test('is not disturbed by another group', async () => {
    const group = newGroup()
    await using alone = new Process(group)
    await shared(alone)
    const { changes } = alone
    const other = newGroup()
    await using first = new Process(other)
    await using second = new Process(other)
    await shared(first, second)
    await second.leave()
    await shared(first)
    equal(alone.changes, changes)
    deepEqual(alone.active, ALL)
  })

  test('refuses a process that counts another number of partitions', async () => {
    const group = newGroup()
    await using first = new Process(group)
    await shared(first)
    await using other = open(group, { partitions: PARTITIONS + 1 })
    const never = new AbortController().signal
    const taken = async (): Promise<void> => {
      for await (const _ of other.assignments('http://127.0.0.1:0', never)) ok(false, 'given')
    }
    await rejects(taken(), (error) => {
      ok(error instanceof LogError)
      equal(error.remedy, 'stop')
      match(error.message, /joining the group .*: its members count another number of partitions/)
      return true
    })
    deepEqual(first.active, ALL)
  })

  test('says which session the brokers refuse', async () => {
    await using hasty = open(newGroup(), { sessionTimeoutMs: 100 })
    const { signal } = new AbortController()
    await rejects(async () => {
      for await (const _ of hasty.assignments('http://127.0.0.1:0', signal)) ok(false, 'given')
    }, /a session of 100 ms; see their group\.min\.session\.timeout\.ms/)
  })
})

suite('a group on three brokers', { skip: missingKafka({ own: true }) ?? false }, () => {
  test('keeps everything where it is when its coordinator dies, and goes on', async (t) => {
    await using three = await startKafka({ brokers: 3 })
    await using first = new Process('graph', three)
    await using second = new Process('graph', three)
    await shared(first, second)
    const before = [first, second].map(({ active }) => active)
    const changes = first.changes + second.changes
    const coordinator = await coordinatorOf(three)
    await three.broker(coordinator).kill()
    const began = performance.now()
    await eventually('another broker leads the group', async () => {
      return (await coordinatorOf(three)) !== coordinator
    })
    t.diagnostic(`another coordinator: ${((performance.now() - began) / 1000).toFixed(2)} s`)
    equal(first.changes + second.changes, changes)
    await using third = new Process('graph', three)
    await timed(t, 'then a third joins', first, second, third)
    for (const [index, { active }] of [first, second].entries()) {
      ok(active.every((partition) => before[index]?.includes(partition)))
    }
  })
})

async function coordinatorOf({ bootstrap: brokers, application }: Kafka): Promise<number> {
  await using link = openLink({ brokers, application, compression: 'none' }, 'test')
  await link.connect([])
  await link.refresh()
  return (await link.coordinator('group', `${application}.graph`)).nodeId
}

const IN = { isMember: true, isPreparing: false, trouble: '', differing: '' }

suite('a group whose brokers are gone', { skip: missingKafka({ own: true }) ?? false }, () => {
  test('stays as it was, says so once, and goes on when they are back', async (t) => {
    await using one = await startKafka({ own: true })
    const leastSessionMs = 1_000
    await using first = new Process('graph', one, leastSessionMs)
    equal(first.placement.status().isMember, false)
    await shared(first)
    deepEqual(first.placement.status(), IN)
    const { changes } = first
    await one.broker(1).kill()
    await eventually('it says that it is alone', async () => first.warnings.length > 0)
    match(
      first.warnings[0] ?? '',
      /reaching the group .* failed: .*; meanwhile other processes may/,
    )
    deepEqual(first.placement.status(), { ...IN, trouble: first.warnings[0] })
    await one.broker(1).start()
    await using second = new Process('graph', one, leastSessionMs)
    equal(first.changes, changes)
    await timed(t, 'the broker is back and a second one joins', first, second)
    equal(first.warnings.length, 1)
    deepEqual(first.placement.status(), IN)
  })
})

suite('a group that an account may not use', { skip: missingKafka({ own: true }) ?? false }, () => {
  test('is refused with a sentence', async () => {
    await using guarded = await startKafka({
      properties: {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'allow.everyone.if.no.acl.found': true,
      },
    })
    const admin = guarded.client().admin()
    await admin.connect()
    const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } =
      kafkajs
    const acl = {
      resourceType: AclResourceTypes.GROUP,
      resourceName: '*',
      resourcePatternType: ResourcePatternTypes.LITERAL,
      principal: 'User:ANONYMOUS',
      host: '*',
      operation: AclOperationTypes.ALL,
      permissionType: AclPermissionTypes.DENY,
    }
    await admin.createAcls({ acl: [acl] })
    await admin.disconnect()
    await using placement = open('graph', {}, guarded)
    const { signal } = new AbortController()
    await rejects(async () => {
      for await (const _ of placement.assignments('http://127.0.0.1:0', signal)) ok(false, 'given')
    }, /joining the group .* this account lacks a right \(the group .*\); give it the ACLs/)
  })
})
