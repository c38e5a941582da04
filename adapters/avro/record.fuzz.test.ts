/**
 * Records of every type that a life causes, damaged byte by byte: each reads as a record that can
 * be written again, or is a CodecError, in memory and time that its bytes are worth.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { FENCE_KEY, TOPICS } from '../../ports/log.ts'
import { CodecError } from '../../ports/record/codec.ts'
import { systemClock } from '../../runtime/clock.ts'
import { runs } from '../../testing/hostile.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { MemoryLog } from '../memory/log.ts'

const LIFE = [
  'put deploy/web',
  'put rs/web <- deploy/web!',
  'put pod/a <- rs/web!, rs/ghost',
  'put cm/x <- deploy/web',
  'put rs/web <- deploy/web! [deleting orphan]',
  'put pod/a',
  'delete rs/web',
  'relist rs',
  'put deploy/web [deleting foreground]',
  'delete cm/x',
  'delete deploy/web',
]

/** One of each type. */
const records: Uint8Array[] = []

before(async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  {
    await using running = runTask(log, emptyStore())
    await appendAll(log, eventsOf(LIFE))
    await running.caughtUp()
  }
  const seen = new Set<string>()
  for (const topic of TOPICS) {
    const { start, end } = await log.bounds(topic, 0)
    if (start === end) continue
    const page = await log.read(topic, 0, start, { limit: 10_000, waitMs: 0 })
    for (const { key, value } of page.entries) {
      if (value === null || key === FENCE_KEY) continue
      const type = codec.decode(value).type
      if (!seen.has(type)) records.push(value)
      seen.add(type)
    }
  }
  ok(records.length > 20, `${[...seen]}`)
})

test('a damaged record is another record, or is said to be damaged', () => {
  const place = fc.nat({ max: 999_999 })
  const damage = fc.record({
    what: fc.constantFrom('flip', 'flip', 'set', 'cut', 'put', 'double'),
    at: place,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 9 }),
  })
  fc.assert(
    fc.property(place, fc.array(damage, { minLength: 1, maxLength: 3 }), (which, all) => {
      let bytes = records[which % records.length]!
      for (const { what, at, bytes: more } of all) {
        const from = at % (bytes.length + 1)
        const [head, tail] = [bytes.slice(0, from), bytes.slice(from)]
        const [first = 0] = more
        if (what === 'cut') bytes = head
        if (what === 'put') bytes = Uint8Array.from([...head, ...more, ...tail])
        if (what === 'double') bytes = Uint8Array.from([...head, ...tail.slice(0, first), ...tail])
        if (what === 'set') bytes = Uint8Array.from([...head, first, ...tail.slice(1)])
        if (what === 'flip' && tail.length > 0) {
          bytes = Uint8Array.from([...head, tail[0]! ^ (1 << (first % 8)), ...tail.slice(1)])
        }
      }
      isReadOrDamaged(bytes)
    }),
    runs(20_000),
  )
})

function isReadOrDamaged(bytes: Uint8Array): void {
  try {
    const record = codec.decode(bytes)
    deepEqual(codec.decode(codec.encode(record)), record)
  } catch (error) {
    ok(error instanceof CodecError, String((error as Error).stack))
  }
}
