/**
 * Faults of a watch: it falls silent, ends, forgets, repeats, lags, or loses events.
 *
 * What must stay true: lines are lost, repeated or held up whole; none is made up.
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { ExchangeResponse } from '../../ports/exchange.ts'
import type { Chance } from '../../testing/seeded.ts'
import type { Fault, FaultContext } from '../model.ts'
import type { Passage } from '../network.ts'
import { noteUnheard } from '../rule/elsewhere-law.ts'
import { eachLine } from './answer.ts'
import { hinder, isWatch, makeRelist, siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/**
 * By then a watch that says nothing must have been given up: three minutes, a heartbeat, and the
 * time of a check of versions.
 */
const SILENCE_MS = 5 * MINUTE
const FOR_EVER_MS = 24 * 3_600_000

type Body = AsyncIterable<Uint8Array>

/** Every watch of the cluster that is opened meanwhile. */
function onWatches(
  context: FaultContext,
  alter: (body: Body, passage: Passage, chance: Chance) => Body,
  rate = 1,
): () => void {
  return hinder(
    context,
    isWatch,
    async (passage, chance): Promise<ExchangeResponse> => {
      const { body, ...head } = await passage.proceed()
      return { ...head, body: head.status === 200 ? alter(body, passage, chance) : body }
    },
    rate,
  )
}

function reopen(context: FaultContext): void {
  context.world.network.cut(siteOf(context).name)
}

function isOf(line: string, ...types: readonly string[]): boolean {
  return types.some((type) => line.startsWith(`{"type":"${type}"`))
}

/** Loses lines of these types while it lasts, each with the fault's rate. */
function losing(row: string, ...types: readonly string[]): Fault['begin'] {
  return (context) => {
    let isOver = false
    reopen(context)
    const { world, fault } = context
    const end = onWatches(context, (body, _, chance) =>
      eachLine(body, (line) => {
        if (isOver || !isOf(line, ...types) || chance.next() >= fault.rate) return [line]
        world.reached(row)
        if (line.includes('"orphan"')) noteUnheard(world, uidIn(line))
        return []
      }),
    )
    return () => {
      isOver = true
      end()
    }
  }
}

function uidIn(line: string): string {
  const { object } = JSON.parse(line) as { readonly object: Pick<ApiObject, 'metadata'> }
  return object.metadata.uid
}

export const streamFaults: readonly Fault[] = [
  {
    row: 'F1',
    what: 'a watch falls silent without an error',
    lastsMs: [5 * SECOND, 2 * MINUTE],
    most: 4,
    begin(context) {
      reopen(context)
      return onWatches(
        context,
        (body, passage, chance) => silent(context, body, passage, chance),
        0.5,
      )
    },
  },
  {
    row: 'F2',
    what: 'watches end every few seconds',
    lastsMs: [20 * SECOND, 3 * MINUTE],
    most: 3,
    begin(context) {
      reopen(context)
      return onWatches(context, (body, passage, chance) => short(context, body, passage, chance))
    },
  },
  {
    row: 'F3',
    what: 'versions are compacted away under watches',
    lastsMs: [1, 1],
    most: 8,
    begin(context) {
      if (context.fault.rate < 0.2) siteOf(context).server.compact()
      else makeRelist(context)
      context.world.reached('F3')
      return undefined
    },
  },
  {
    row: 'F4',
    what: 'a watch from a version that is too old is not refused (410), but ends without an event',
    lastsMs: [20 * SECOND, 4 * MINUTE],
    most: 4,
    begin(context) {
      makeRelist(context)
      return onWatches(context, (body, passage) => unrefused(context, body, passage))
    },
  },
  {
    row: 'F5',
    what: 'DELETED events are lost',
    lastsMs: [5 * SECOND, 3 * MINUTE],
    most: 5,
    begin: losing('F5', 'DELETED'),
  },
  {
    row: 'F6',
    what: 'ADDED and MODIFIED events are lost',
    lastsMs: [5 * SECOND, 3 * MINUTE],
    most: 5,
    begin: losing('F6', 'ADDED', 'MODIFIED'),
  },
  {
    row: 'F7',
    what: 'events arrive twice',
    lastsMs: [10 * SECOND, 5 * MINUTE],
    most: 4,
    begin(context) {
      reopen(context)
      const { world, fault } = context
      return onWatches(context, (body, _, chance) =>
        eachLine(body, (line) => {
          if (!isOf(line, 'ADDED', 'MODIFIED', 'DELETED') || chance.next() >= fault.rate)
            return [line]
          world.reached('F7')
          return [line, line]
        }),
      )
    },
  },
  {
    row: 'F8',
    what: 'a watch is opened again on an API server that lags, and repeats older events',
    lastsMs: [30 * SECOND, 5 * MINUTE],
    most: 4,
    begin: lagging,
  },
  {
    row: 'F28',
    what: 'the watcher falls behind the history that the API server keeps',
    lastsMs: [10 * SECOND, 2 * MINUTE],
    most: 4,
    begin(context) {
      reopen(context)
      const over = Promise.withResolvers<void>()
      const end = onWatches(context, (body) =>
        eachLine(body, async (line) => {
          await over.promise
          return [line]
        }),
      )
      return () => {
        siteOf(context).server.compact()
        context.world.reached('F28')
        end()
        over.resolve()
      }
    },
  },
  {
    row: 'F65',
    what: 'events of one kind are late, so dependents are observed before their owners',
    lastsMs: [20 * SECOND, 5 * MINUTE],
    most: 4,
    begin(context) {
      const { world, fault } = context
      const kinds = ['configmaps', 'replicasets', 'persistentvolumes']
      const kind = kinds[fault.seed % kinds.length]!
      reopen(context)
      return onWatches(context, (body, { request }, chance) => {
        if (!request.path.includes(`/${kind}?`)) return body
        return eachLine(body, async (line) => {
          await world.time.sleep(chance.below(10 * SECOND))
          if (isOf(line, 'ADDED')) world.reached('F65')
          return [line]
        })
      })
    },
  },
]

async function* silent(
  context: FaultContext,
  body: Body,
  { by, until, request }: Passage,
  chance: Chance,
): AsyncGenerator<Uint8Array> {
  const { world } = context
  let left = chance.below(4)
  for await (const chunk of body) {
    if (left-- <= 0) break
    yield chunk
  }
  if (until.aborted) return
  world.reached('F1')
  const noticed = world.time.sleep(SILENCE_MS, until)
  await noticed
  // A process that was frozen meanwhile could not notice it.
  if (!until.aborted && by.isAlive && !by.wasFrozen)
    world.wrong(`${by.name} holds on to a silent ${request.path} (I20)`)
  await world.time.sleep(FOR_EVER_MS, until)
}

async function* short(
  context: FaultContext,
  body: Body,
  { until }: Passage,
  chance: Chance,
): AsyncGenerator<Uint8Array> {
  const { time } = context.world
  const endsMs = time.monotonicMs() + SECOND + chance.below(4 * SECOND)
  const chunks = body[Symbol.asyncIterator]()
  const end = time.sleep(endsMs - time.monotonicMs(), until).then(() => undefined)
  for (;;) {
    const next = await Promise.race([chunks.next(), end])
    if (next === undefined || next.done === true) break
    yield next.value
  }
  context.world.reached('F2')
}

async function* unrefused(
  context: FaultContext,
  body: Body,
  { until }: Passage,
): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const chunk of body) {
    if (isFirst && new TextDecoder().decode(chunk).startsWith('{"type":"ERROR"')) {
      context.world.reached('F4')
      await context.world.time.sleep(5 * SECOND, until)
      return
    }
    isFirst = false
    yield chunk
  }
}

/**
 * Events published on a path meanwhile are published again, out of date, when it is opened the next
 * time.
 */
function lagging(context: FaultContext): () => void {
  const { world } = context
  const told = new Map<string, string[]>()
  reopen(context)
  const end = onWatches(context, (body, { request }, chance) => {
    const path = request.path.split('?')[0]!
    const old = told.get(path) ?? []
    told.set(path, old)
    const again = old.filter((line) => !isOf(line, 'DELETED', 'BOOKMARK') && chance.next() < 0.3)
    return withOld(
      again,
      eachLine(body, (line) => {
        if (old.push(line) > 50) old.shift()
        return [line]
      }),
      () => world.reached('F8'),
    )
  })
  const cuts = [0.3, 0.6, 0.9].map((share) => share * context.fault.lastsMs)
  let isOver = false
  for (const afterMs of cuts)
    world.time.at(world.time.monotonicMs() + afterMs, () => {
      if (!isOver) reopen(context)
    })
  return () => {
    isOver = true
    end()
  }
}

async function* withOld(
  lines: readonly string[],
  body: Body,
  reached: () => void,
): AsyncGenerator<Uint8Array> {
  if (lines.length > 0) {
    reached()
    yield new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
  }
  yield* body
}
