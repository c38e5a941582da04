/**
 * The loop: which commands are sent at all, what survives a death at any moment, and the effect of
 * one bad object on the others.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Command, DeleteObject } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import { LogError, type Topic } from '../../ports/log.ts'
import { GONE_CLAIM, GONE as GONE_REFERENCE, World } from '../../testing/rig/reaper-world.ts'
import type { Result } from './decide/result.ts'
import { READER } from './intake/lane.ts'
import { createReaper } from './reaper.ts'

const REFUSED = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Forbidden',
  message: 'no',
  code: 403,
}

function outcomes(results: readonly Result[]): readonly string[] {
  return results.map((result) => {
    const { outcome, reason } = result as CommandSettled
    return `${outcome} ${reason}`.trim()
  })
}

async function* bytes(body: object): AsyncGenerator<Uint8Array, void> {
  yield new TextEncoder().encode(JSON.stringify(body))
}

const JSON_TYPE = { 'content-type': 'application/json' }
const refusal = (status: number, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: bytes({
    ...REFUSED,
    code: status,
    reason: status === 403 ? 'Forbidden' : 'TooManyRequests',
  }),
})

async function dependents(world: World, count: number): Promise<readonly Command[]> {
  const commands: Command[] = []
  for (let i = 0; i < count; i++) {
    commands.push(world.deleteOf(await world.dependent(`pod-${i}`)))
  }
  return commands
}

// The hindrance, and how the command settles, without a call.
const hindrances: readonly (readonly [string, (world: World) => Promise<void>, string])[] = [
  ['paused', (world) => world.control('pause', { verb: 'pause' }), 'blocked paused'],
  ['expired', async (world) => world.clock.advance(600_001), 'blocked expired'],
  [
    'of an older epoch of the cluster',
    (world) => world.control('cluster', { verb: 'epoch', number: 2 }),
    "blocked the cluster's epoch is 2, the command's 1",
  ],
  [
    'without a watcher',
    (world) => world.control('cluster', { verb: 'epoch', number: 1, connected: false }),
    'blocked the watcher is not connected',
  ],
  [
    'while everything is paused',
    (world) => world.control('pause', { verb: 'pause', cluster: '' }, ''),
    'blocked paused',
  ],
  [
    'in a namespace that people protect',
    (world) => world.protect('namespace/default'),
    'blocked protected by test; "kinfold unprotect namespace/default" releases it',
  ],
  [
    'in a namespace that the policy protects',
    (world) => world.protectByPolicy({ namespaces: ['default'] }),
    'blocked protected by its namespace default, as the policy says',
  ],
  [
    'of a policy that only observes by now',
    (world) => world.protectByPolicy({}, 'observe'),
    'blocked the policy only observes by now',
  ],
  [
    'of a kind that people protect',
    (world) => world.protect('kind/ConfigMap'),
    'blocked protected by test; "kinfold unprotect kind/ConfigMap" releases it',
  ],
  [
    'with protection that cannot be read',
    async (world) => {
      const value = new TextEncoder().encode('{')
      await world.log.append('orders', 0, [{ key: 'protect/policy', value }])
    },
    'blocked what is protected cannot be read',
  ],
  [
    'with protection of what nobody knows',
    (world) => world.protect('planet/earth'),
    'blocked what is protected cannot be read',
  ],
  [
    'with a pause that cannot be read',
    async (world) => {
      const value = new TextEncoder().encode('{')
      await world.log.append('orders', 0, [{ key: `pause/${world.id}`, value }])
    },
    'blocked paused',
  ],
]

for (const [what, happen, expected] of hindrances) {
  test(`settles a command ${what} as blocked, without a call`, async () => {
    const world = await World.open()
    await world.command(...(await dependents(world, 1)))
    await happen(world)
    world.calls()
    const running = world.start()
    deepEqual(outcomes(await world.settled(1)), [expected])
    await running.stop()
    deepEqual(world.calls(), {})
  })
}

test('keeps commands, after its start, for a watcher that connects a little later', async () => {
  const world = await World.open()
  await world.control('cluster', { verb: 'epoch', number: 1, connected: false })
  await world.command(...(await dependents(world, 2)))
  const running = world.start()
  for (let ms = 0; ms < 5_000; ms += 50) await world.clock.advance(50)
  deepEqual(await world.results(), [])
  await world.control('cluster', { verb: 'epoch', number: 1, connected: true })
  deepEqual(outcomes(await world.settled(2)), ['done', 'done'])
  await running.stop()
})

test('goes on when the pause is lifted', async () => {
  const world = await World.open()
  const [first, second] = (await dependents(world, 2)) as [Command, Command]
  await world.control('pause', { verb: 'pause' })
  const running = world.start()
  await world.command(first)
  await world.settled(1)
  await world.control('pause', { verb: 'resume' })
  await world.clock.advance(1)
  await world.command(second)
  deepEqual(outcomes(await world.settled(2)), ['blocked paused', 'done'])
  await running.stop()
})

test('settles a command to a cluster it has no connection to', async () => {
  const world = await World.open()
  const [command] = (await dependents(world, 1)) as [Command]
  await world.command({ ...command, cluster: 'another' })
  const running = world.start()
  deepEqual(outcomes(await world.settled(1)), [
    'blocked this reaper has no connection to the cluster',
  ])
  await running.stop()
})

test('sends nothing to an endpoint that turns out to be another cluster', async () => {
  const world = await World.open()
  world.server.inject((request) => {
    if (!request.path.endsWith('/kube-system')) return undefined
    const metadata = { name: 'kube-system', uid: 'another' }
    const body = bytes({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata })
    return { status: 200, headers: JSON_TYPE, body }
  })
  const commands = await dependents(world, 50)
  world.calls()
  await world.command(...commands)
  const running = world.start()
  const results = await world.settled(50)
  await running.stop()
  deepEqual(
    new Set(outcomes(results)),
    new Set(['blocked the endpoint is another cluster, another']),
  )
  deepEqual(world.calls(), {})
})

test('lets a newer command for a uid replace one that waits', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const other = await world.dependent('other')
  const running = world.start({ startConcurrency: 1, maxConcurrency: 1 })
  await world.command(world.deleteOf(other), world.deleteOf(pod), world.orphanOf(pod, [0]))
  const results = await world.settled(3)
  await running.stop()
  deepEqual(outcomes(results).toSorted(), ['done', 'done', 'stale superseded'])
  equal(world.exists('pod'), true)
})

for (const copies of [2, 10]) {
  test(`has one effect for a command that is there ${copies} times (F83)`, async () => {
    const world = await World.open()
    const commands = await dependents(world, 20)
    let effects = 0
    world.server.observe(() => effects++)
    for (let copy = 0; copy < copies; copy++) await world.command(...commands)
    const running = world.start()
    await world.until(async () => {
      const saved = await world.log.loadPosition(READER, 'commands', 0)
      return saved?.offset === BigInt(20 * copies)
    })
    await running.stop()
    equal(effects, 20)
    const results = (await world.results()) as readonly CommandSettled[]
    ok(results.every(({ outcome }) => outcome === 'done' || outcome === 'absent'))
    equal(results.filter(({ outcome }) => outcome === 'done').length, 20)
  })
}

test('dies between effect and result, and has one effect all the same (F86)', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const kept = await world.dependent('kept')
  let effects = 0
  world.server.observe(() => {
    effects++
    if (effects <= 2) world.kill()
  })
  await world.command(world.deleteOf(pod), world.orphanOf(kept, [0]))
  world.start({ maxConcurrency: 1 })
  await world.until(() => effects === 1)
  await world.clock.advance(50)
  deepEqual(await world.results(), [])
  world.start({ maxConcurrency: 1 })
  await world.until(() => effects === 2)
  await world.clock.advance(50)

  const running = world.start({ maxConcurrency: 1 })
  deepEqual(outcomes(await world.settled(2)), ['absent not found', 'done already so'])
  await running.stop()
  equal(effects, 2)
})

test('carries every command out when it is killed again and again', async () => {
  const world = await World.open()
  const commands = await dependents(world, 300)
  const removed: string[] = []
  world.server.observe(({ before, after }) => {
    if (after === null && before !== null) removed.push(before.metadata.uid)
  })
  await world.command(...commands)
  for (let round = 1; round <= 6; round++) {
    world.start({ saveEveryMs: 3, gatherMs: 1 })
    await world.until(() => removed.length >= round * 40)
    world.kill()
  }
  const running = world.start()
  await world.until(() => removed.length === 300)
  await world.until(() => running.reaper.status().backlog === 0)
  await running.stop()
  equal(new Set(removed).size, 300)
  const settled = new Set((await world.results()).map(({ command }) => command))
  deepEqual(settled, new Set(commands.map(({ id }) => id)))
})

test('saves what is settled beyond a slow command, and does not carry it out again', async () => {
  const world = await World.open()
  const commands = await dependents(world, 30)
  const held = Promise.withResolvers<undefined>()
  const end = world.server.inject((request) =>
    request.method === 'DELETE' && request.path.endsWith('/pod-5') ? held.promise : undefined,
  )
  await world.command(...commands)
  world.start()
  await world.settled(29)
  await world.until(
    async () => (await world.log.loadPosition(READER, 'commands', 0))?.offset === 5n,
  )
  deepEqual(await world.log.loadPosition(READER, 'commands', 0), { offset: 5n, detail: '1-n' })

  world.kill()
  end()
  world.calls()
  const running = world.start()
  await world.settled(30)
  await running.stop()
  deepEqual(world.calls(), { DELETE: 1 })
  deepEqual(await world.log.loadPosition(READER, 'commands', 0), { offset: 30n, detail: '' })
})

test('reads no further than its reach beyond what is unsettled', async () => {
  const world = await World.open()
  const commands = await dependents(world, 100)
  const held = Promise.withResolvers<undefined>()
  const end = world.server.inject((request) =>
    request.method === 'DELETE' && request.path.endsWith('/pod-0') ? held.promise : undefined,
  )
  await world.command(...commands)
  const running = world.start({ reach: 40, page: 10, maxConcurrency: 4 })
  await world.settled(39)
  await world.clock.advance(100)
  equal((await world.results()).length, 39)
  equal(running.reaper.status().backlog, 1)

  end()
  held.resolve(undefined)
  await world.settled(100)
  await running.stop()
})

test('lets a thousand good objects go beside forbidden and hanging ones', async () => {
  const world = await World.open()
  const commands = await dependents(world, 1_020)
  const hanging = new Promise<undefined>(() => {})
  world.server.inject((request) => {
    if (request.method !== 'DELETE') return undefined
    const number = Number(request.path.split('-').at(-1))
    if (number % 102 === 0) return hanging
    return number % 102 === 1 ? refusal(403) : undefined
  })
  await world.command(...commands)
  const running = world.start({ drainMs: 10 })
  const results = (await world.settled(1_010)) as readonly CommandSettled[]
  equal(results.filter(({ outcome }) => outcome === 'done').length, 1_000)
  equal(results.filter(({ outcome, code }) => outcome === 'blocked' && code === 403).length, 10)
  equal(running.reaper.status().inFlight, 10)
  await running.stop()
  equal((await world.log.loadPosition(READER, 'commands', 0))?.offset, 0n)
})

test('does not go on when a pause is pressed while it proves something', async () => {
  const world = await World.open()
  const [command] = (await dependents(world, 1)) as [Command]
  const proven = {
    ...command,
    evidence: 'missing',
    freshness: 'recheck',
    owners: [GONE_CLAIM],
  } as Command
  world.server.inject(async (request) => {
    if (request.path.endsWith('/gone')) {
      await world.control('pause', { verb: 'pause' })
      await world.clock.sleep(5)
    }
    return undefined
  })
  await world.command(proven)
  const running = world.start()
  deepEqual(outcomes(await world.settled(1)), ['blocked paused'])
  await running.stop()
  equal(world.exists('pod-0'), true)
})

test('makes no more calls than are in flight once it is paused, and none 2 s later, with a backlog of 100,000 (F94)', async () => {
  const world = await World.open()
  const commands = await dependents(world, 1_000)
  // Most of the backlog is about objects that are deleted by then: what counts is that none of it
  // is sent.
  const [first] = commands as [DeleteObject]
  const backlog = Array.from({ length: 99 }, (_, round) =>
    Array.from({ length: 1_000 }, (_, i): Command => {
      const uid = `u-${round}-${i}`
      return {
        ...first,
        id: `0-${1_000_000 + round * 1_000 + i}-0`,
        target: { ...first.target, uid },
      }
    }),
  )
  const sentAt: number[] = []
  world.server.inject(async (request) => {
    if (request.method === 'DELETE' || request.method === 'PATCH') {
      sentAt.push(world.clock.monotonicMs())
      await world.clock.sleep(20)
    }
    return undefined
  })
  await world.command(...commands)
  for (const some of backlog) await world.command(...some)
  const running = world.start()
  await world.until(() => sentAt.length >= 200)
  await world.control('pause', { verb: 'pause', cluster: '' }, '')
  const pausedAt = world.clock.monotonicMs()
  await world.until(async () => (await world.log.bounds('events', 0)).end >= 100_000n)
  const inFlight = running.reaper.status().inFlight
  await running.stop()
  const after = sentAt.filter((at) => at > pausedAt)
  ok(after.length <= 32, `${after.length} calls after the pause`)
  ok(after.every((at) => at <= pausedAt + 2_000))
  equal(inFlight, 0)
  const counts = Map.groupBy(outcomes(await world.results()), (outcome) => outcome)
  ok((counts.get('blocked paused')?.length ?? 0) >= 99_000)
})

test('stays paused, and spares what was protected, when orders loses its end (F39)', async () => {
  const world = await World.open()
  const [first, second, third] = (await dependents(world, 3)) as [Command, Command, Command]
  const running = world.start()
  await world.protect('namespace/default')
  await world.control('pause', { verb: 'pause' })
  await world.clock.advance(1_000)
  world.log.cutOff('orders', 0, 0n)
  await world.clock.advance(1_000)
  await world.command(first)
  equal(outcomes(await world.settled(1))[0], 'blocked paused')
  await world.control('pause', { verb: 'resume' })
  await world.clock.advance(1_000)
  await world.command(second)
  match(outcomes(await world.settled(2))[1] ?? '', /protected/)
  await world.protect('namespace/default', 'unprotect')
  await world.clock.advance(1_000)
  await world.command(third)
  equal(outcomes(await world.settled(3))[2], 'done')
  await running.stop()
})

test('goes by no older word that is left of orders when that loses its end (F39)', async () => {
  const world = await World.open()
  const [first, second] = (await dependents(world, 2)) as [Command, Command]
  await world.protectByPolicy({}, 'enforce')
  await world.control('pause', { verb: 'pause' })
  await world.control('pause', { verb: 'resume' })
  const { end } = await world.log.bounds('orders', 0)
  await world.protectByPolicy({}, 'observe')
  await world.control('pause', { verb: 'pause' })
  const running = world.start()
  await world.clock.advance(1_000)
  world.log.cutOff('orders', 0, end)
  await world.clock.advance(1_000)
  await world.command(first)
  equal(outcomes(await world.settled(1))[0], 'blocked paused')
  await world.control('pause', { verb: 'resume' })
  await world.clock.advance(1_000)
  await world.command(second)
  equal(outcomes(await world.settled(2))[1], 'blocked the policy only observes by now')
  await running.stop()
})

test('goes again once nothing protects it by name', async () => {
  const world = await World.open()
  const commands = await dependents(world, 2)
  const [first, second] = commands as [Command, Command]
  await world.protect('namespace/default')
  const running = world.start()
  await world.command(first)
  await world.settled(1)
  await world.protect('namespace/default', 'unprotect')
  await world.clock.advance(1)
  await world.command(second)
  equal(outcomes(await world.settled(2))[1], 'done')
  deepEqual(running.reaper.status().protectedRefusals, [{ cluster: world.id, count: 1 }])
  await running.stop()
})

test('deletes nothing that got a mark since it was judged, and tells of the mark', async () => {
  const world = await World.open()
  const [marked, touched] = (await dependents(world, 2)) as [Command, Command]
  await world.patch('pod-0', { annotations: { 'kinfold.dev/protected': 'yes' } })
  await world.patch('pod-1', { annotations: { other: 'yes' } })
  await world.command(marked, touched)
  const running = world.start()
  const results = (await world.settled(2)) as readonly CommandSettled[]
  await running.stop()
  deepEqual([...outcomes(results)].sort(), [
    'done',
    'stale protected by annotation kinfold.dev/protected; it is released once that is removed',
  ])
  equal(world.exists('pod-0'), true)
  const stale = results.find(({ outcome }) => outcome === 'stale')
  deepEqual(stale?.object?.annotations, [{ key: 'kinfold.dev/protected', value: 'yes' }])
})

test('reads each object first while people protect a label', async () => {
  const world = await World.open()
  await world.create('pod-g', { owners: [GONE_REFERENCE] })
  await world.patch('pod-g', { labels: { tier: 'gold' } })
  const gold = world.deleteOf(await world.read('pod-g'))
  const [plain] = (await dependents(world, 1)) as [Command]
  await world.protect('label/tier=gold')
  world.calls()
  const running = world.start()
  await world.command(gold, plain)
  const results = outcomes(await world.settled(2))
  await running.stop()
  deepEqual([...results].sort(), [
    'done',
    'stale protected by test; "kinfold unprotect label/tier=gold" releases it',
  ])
  deepEqual(world.calls(), { DELETE: 1, GET: 2 })
  deepEqual(running.reaper.status().protectedRefusals, [{ cluster: world.id, count: 1 }])
})

for (const silent of ['orders', 'control'] as const) {
  test(`does nothing on what ${silent} said more than 2 s ago`, () => goesByNothingOld(silent))
}

async function goesByNothingOld(silent: Topic): Promise<void> {
  const world = await World.open()
  const [first, second, third] = (await dependents(world, 3)) as [Command, Command, Command]
  const { log } = world
  let isCut = false
  const read = log.read.bind(log)
  log.read = async (topic, ...rest) => {
    if (topic === silent && isCut) throw new LogError('UNAVAILABLE', 'cut off')
    return await read(topic, ...rest)
  }
  const running = world.start()
  await world.command(first)
  await world.settled(1)
  isCut = true
  for (let ms = 0; ms < 3_000; ms += 50) await world.clock.advance(50)
  await world.command(second)
  await world.settled(2)
  isCut = false
  for (let ms = 0; ms < 6_000; ms += 50) await world.clock.advance(50)
  await world.command(third)
  deepEqual(outcomes(await world.settled(3)), [
    'done',
    'blocked whether it is paused cannot be read',
    'done',
  ])
  await running.stop()
}

test('tries again shortly when the server is busy, and no sooner than it asks', async () => {
  const world = await World.open()
  const [command] = (await dependents(world, 1)) as [Command]
  const at: number[] = []
  world.server.inject((request) => {
    if (request.method !== 'DELETE') return undefined
    at.push(world.clock.monotonicMs())
    return at.length <= 2 ? refusal(429, { 'retry-after': '2' }) : undefined
  })
  const running = world.start()
  await world.clock.advance(10)
  await world.command(command)
  const [result] = (await world.settled(1)) as readonly CommandSettled[]
  await running.stop()
  deepEqual(
    at.map((one) => Math.floor((one - (at[0] as number)) / 1_000)),
    [0, 2, 4],
  )
  deepEqual([result?.outcome, result?.calls], ['done', 4])
})

test('goes on after one question for the identity was not answered, having looked at the owners', async () => {
  const world = await World.open()
  const commands = await dependents(world, 5)
  const seen = commands.map(
    (one) => ({ ...one, evidence: 'deleted', owners: [GONE_CLAIM] }) as Command,
  )
  // Owners of commands appended before a reaper's start are verified anyway; all of these wait for
  // the one question.
  const running = world.start()
  await world.clock.advance(5)
  let failed = 0
  world.server.inject((request) => {
    return request.path.endsWith('/kube-system') && failed++ < 1 ? refusal(503) : undefined
  })
  world.calls()
  await world.command(...seen)
  const results = (await world.settled(5)) as readonly CommandSettled[]
  await running.stop()
  deepEqual(new Set(results.map(({ outcome }) => outcome)), new Set(['done']))
  deepEqual(world.calls(), { GET: 1, DELETE: 5 })
})

test('gives up after three more tries', async () => {
  const world = await World.open()
  let tries = 0
  world.server.inject((request) => {
    if (request.method !== 'DELETE') return undefined
    tries++
    return refusal(429)
  })
  await world.command(...(await dependents(world, 1)))
  const running = world.start()
  equal(((await world.settled(1))[0] as CommandSettled).outcome, 'blocked')
  await running.stop()
  equal(tries, 4)
})

test('reads back what became of a DELETE whose answers were lost (F87)', async () => {
  const world = await World.open()
  world.server.inject(async (request, proceed) => {
    if (request.method === 'DELETE') {
      await proceed()
      return refusal(504)
    }
    return undefined
  })
  await world.command(...(await dependents(world, 1)))
  const running = world.start()
  deepEqual(outcomes(await world.settled(1)), ['absent not found'])
  await running.stop()
})

for (const [what, cut] of [
  ['before the answer', () => Promise.reject(new ExchangeError('CUT', 'The answer is missing.'))],
  ['in the answer', () => ({ status: 200, headers: JSON_TYPE, body: cutBody() })],
] as const) {
  test(`asks anew who the endpoint is when a connection broke ${what}`, async () => {
    const world = await World.open()
    const commands = await dependents(world, 2)
    let identities = 0
    let isBroken = true
    world.server.inject((request) => {
      if (request.path.endsWith('/kube-system')) identities++
      if (request.method !== 'DELETE' || !isBroken) return undefined
      isBroken = false
      return cut()
    })
    const running = world.start({ maxConcurrency: 1 })
    await world.command(...commands)
    deepEqual(outcomes(await world.settled(2)), ['done', 'done'])
    await running.stop()
    equal(identities, 2)
  })
}

async function* cutBody(): AsyncGenerator<Uint8Array, void> {
  yield new Uint8Array([123])
  throw new ExchangeError('CUT', 'The answer was cut.')
}

test('settles a backlog without a storm while the cluster cannot be reached', async () => {
  const world = await World.open()
  const commands = await dependents(world, 200)
  let requests = 0
  world.server.inject(() => {
    requests++
    return refusal(503)
  })
  await world.command(...commands)
  const running = world.start()
  const results = (await world.settled(200)) as readonly CommandSettled[]
  await running.stop()
  ok(results.every(({ outcome }) => outcome === 'blocked'))
  equal(requests, 4, 'one question for all of them, and three more tries')
})

test('takes what cannot be read out of the way', async () => {
  const world = await World.open()
  const [command] = (await dependents(world, 1)) as [Command]
  await world.append([{ key: 'c1/u', value: new TextEncoder().encode('?') }])
  await world.command({ ...command, id: '0-9-0', partition: 7 }, command)
  const running = world.start()
  deepEqual(outcomes(await world.settled(1)), ['done'])
  await running.stop()
  const { entries } = await world.log.read('dead-letter', 0, 0n, { limit: 10, waitMs: 0 })
  equal(entries.length, 2)
  equal(running.reaper.status().unreadable, 2)
  equal((await world.log.loadPosition(READER, 'commands', 0))?.offset, 3n)
})

test('waits for a log that cannot be reached, and loses no result', async () => {
  const world = await World.open()
  const commands = await dependents(world, 40)
  await world.command(...commands)
  for (let i = 0; i < 5; i++) world.log.refuseNextAppend()
  const running = world.start()
  await world.settled(40)
  await running.stop()
})

test('ends with the error when the log is closed under it', async () => {
  const world = await World.open()
  const { log, codec, clock } = world
  const reaper = createReaper({
    ...{ log, codec, clock },
    clusters: () => undefined,
    random: { next: () => 0.5 },
  })
  let code = ''
  const ended = reaper.run(new AbortController().signal).catch((error: LogError) => {
    code = error.code
  })
  await world.clock.advance(1)
  await log[Symbol.asyncDispose]()
  await world.until(() => code !== '')
  await ended
  equal(code, 'CLOSED')
})

test('reads on where the log begins when its position was trimmed away', async () => {
  const world = await World.open()
  const [first, second] = (await dependents(world, 2)) as [Command, Command]
  await world.command(first, second)
  await world.log.savePosition(READER, 'commands', 0, { offset: 0n, detail: '' })
  await world.log.trim('commands', 0, 1n)
  const running = world.start()
  await world.settled(1)
  await running.stop()
  deepEqual([world.exists('pod-0'), world.exists('pod-1')], [true, false])
})

test('awaits calls in flight when it is stopped, begins no other, and saves', async () => {
  const world = await World.open()
  let begun = 0
  world.server.inject(async (request) => {
    if (request.method === 'DELETE') {
      begun++
      await world.clock.sleep(500)
    }
    return undefined
  })
  await world.command(...(await dependents(world, 10)))
  const running = world.start({ startConcurrency: 4 })
  await world.until(() => begun === 4)
  await running.stop()
  equal((await world.results()).length, 4)
  equal(begun, 4)
  equal((await world.log.loadPosition(READER, 'commands', 0))?.offset, 4n)
})

test('counts what it did', async () => {
  const world = await World.open()
  const [first, second] = (await dependents(world, 2)) as [Command, Command]
  await world.delete('pod-1')
  const proven = {
    ...first,
    evidence: 'missing',
    freshness: 'recheck',
    owners: [GONE_CLAIM],
  } as Command
  const running = world.start()
  await world.clock.advance(10)
  await world.command(proven, second)
  await world.settled(2)
  await running.stop()
  const { settled, calls } = running.reaper.status()
  deepEqual(
    settled.map(({ verb, outcome, code, count }) => [verb, outcome, code, count]).toSorted(),
    [
      ['DeleteObject', 'absent', 404, 1],
      ['DeleteObject', 'done', 200, 1],
    ],
  )
  deepEqual(calls.map(({ verb, code, count }) => [verb, code, count]).toSorted(), [
    ['DELETE', 200, 1],
    ['DELETE', 404, 1],
    ['GET', 404, 1],
  ])
})
