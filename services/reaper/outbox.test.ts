/** Results gathered, appended, and only then settled. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { LogError } from '../../ports/log.ts'
import { createLogRetry } from '../../runtime/retry.ts'
import { deleteObject, verifyOwner } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'
import { unsent } from './decide/result.ts'
import { Outbox } from './outbox.ts'

interface Sending {
  readonly outbox: Outbox
  readonly settled: string[]
  readonly waits: LogError[]
  put(id: string): void
  answer(id: string): void
}

function sending(world: World, signal: AbortSignal = new AbortController().signal): Sending {
  const { log, codec, clock } = world
  const settled: string[] = []
  const waits: LogError[] = []
  const onWait = (error: LogError): void => {
    waits.push(error)
  }
  const retry = createLogRetry({ clock, waits: { firstMs: 100, mostMs: 200 }, onWait })
  const outbox = new Outbox({
    ...{ log, codec, clock, retry, signal },
    bounds: { gatherMs: 2, gatherAnswersMs: 100, answersPerAppend: 3, resultsPerAppend: 3 },
    onFailed(error) {
      throw error
    },
  })
  return {
    outbox,
    settled,
    waits,
    put(id) {
      const result = unsent(deleteObject({ id }), 'blocked', '')
      outbox.put(0, { key: 'c1/ns', result, onAppended: () => settled.push(id) })
    },
    answer(id) {
      const result = unsent({ ...verifyOwner(), id }, 'blocked', '')
      outbox.put(0, { key: 'c1/ns', result, onAppended: () => settled.push(id) })
    },
  }
}

test('settles nothing before the log has it', async () => {
  const world = await World.open()
  const { put, settled, waits, outbox } = sending(world)
  for (let i = 0; i < 3; i++) world.log.refuseNextAppend()
  put('a')
  await world.clock.advance(2 + 100 + 200 + 199)
  deepEqual([settled, waits.length], [[], 3])
  await world.clock.advance(1)
  await outbox.drained()
  deepEqual(settled, ['a'])
  equal((await world.results()).length, 1)
})

test('keeps the order, in appends of at most so many', async () => {
  const world = await World.open()
  const { put, settled, outbox } = sending(world)
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const id of ids) put(id)
  await world.clock.advance(2)
  deepEqual(settled, ['a', 'b', 'c'])
  await world.clock.advance(2)
  await outbox.drained()
  deepEqual(settled, ids)
  deepEqual(
    (await world.results()).map(({ command }) => command),
    ids,
  )
})

test('gives up what waits for a log that does not come back', async () => {
  const world = await World.open()
  const cut = new AbortController()
  const { put, settled, outbox } = sending(world, cut.signal)
  world.log.refuseNextAppend()
  put('a')
  await world.clock.advance(2)
  cut.abort()
  await outbox.drained()
  deepEqual(settled, [])
})

test('gathers answers of live GETs after an append, as many as there may be or for 100 ms (T10)', async () => {
  const { settled, outbox, answer, world } = await answering()
  answer('b')
  await world.clock.advance(99)
  deepEqual(settled, ['a'])
  await world.clock.advance(1)
  deepEqual(settled, ['a', 'b'])
  for (const id of ['c', 'd', 'e']) answer(id)
  await world.clock.advance(2)
  await outbox.drained()
  deepEqual(settled, ['a', 'b', 'c', 'd', 'e'])
})

test('makes no result of another command wait for answers, and keeps their order (T10)', async () => {
  const { settled, outbox, answer, put, world } = await answering()
  answer('b')
  await world.clock.advance(50)
  put('c')
  await world.clock.advance(0)
  await outbox.drained()
  deepEqual(settled, ['a', 'b', 'c'])
})

/** The first answer waits for no other. */
async function answering(): Promise<Sending & { readonly world: World }> {
  const world = await World.open()
  const parts = sending(world)
  parts.answer('a')
  await world.clock.advance(2)
  deepEqual(parts.settled, ['a'])
  return { ...parts, world }
}

test('appends what came between the last look at what waits and its end', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const world = await World.open()
    const { put, settled, outbox } = sending(world)
    const appended = world.log.append.bind(world.log)
    world.log.append = async (...args) => {
      const offset = await appended(...args)
      // So many turns after the append, of which a few lie between.
      if (settled.length === 0) void later(turns).then(() => put('b'))
      return offset
    }
    put('a')
    await world.clock.advance(2)
    await later(40)
    await world.clock.advance(2)
    await outbox.drained()
    deepEqual(settled, ['a', 'b'], `${turns} turns later`)
  }
})

async function later(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve()
}
