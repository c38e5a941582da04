/** Relist requests, from where the last reader was. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { LogError } from '../../ports/log.ts'
import { DEFAULT_CONFIG } from './config.ts'
import { ControlReader } from './control-reader.ts'

const codec = avroCodec()
const never = new AbortController().signal
const AT_ONCE = { ...DEFAULT_CONFIG, controlWaitMs: 0 }

function newLog(): MemoryLog {
  return new MemoryLog({ partitions: 1, clock: new ManualClock() })
}

async function ask(log: MemoryLog, cluster: string, kind: string, number = 1): Promise<void> {
  const value = codec.encode({
    ...{
      type: 'Control',
      protection: null,
      mode: null,
      verb: 'relist',
      cluster,
      kind: { group: '', kind },
      number,
    },
    ...{ connected: false, who: 'graph', why: '' },
  })
  await log.append('control', 0, [{ key: `relist/${cluster}//${kind}`, value }])
}

async function asked(reader: ControlReader): Promise<readonly string[]> {
  const kinds: string[] = []
  await reader.requests(AT_ONCE, ({ kind }) => void kinds.push(kind?.kind ?? ''), never)
  return kinds
}

test('the first reader begins at the end, the next one where the last one saved', async () => {
  const log = newLog()
  await ask(log, 'c', 'Old')
  const first = await ControlReader.open(log, codec, 'c')
  await ask(log, 'c', 'Pod')
  await ask(log, 'other', 'Pod')
  deepEqual(await asked(first), ['Pod'])
  await ask(log, 'c', 'Job')
  deepEqual(await asked(await ControlReader.open(log, codec, 'c')), ['Pod', 'Job'])
  await first.save(first.position)
  deepEqual(await asked(await ControlReader.open(log, codec, 'c')), ['Job'])
})

test('what cannot be read asks for nothing', async () => {
  const log = newLog()
  const reader = await ControlReader.open(log, codec, 'c')
  await log.append('control', 0, [{ key: 'relist/c//Pod', value: new Uint8Array([1, 2, 3]) }])
  await ask(log, 'c', 'Job')
  deepEqual(await asked(reader), ['Job'])
})

test('a place that is no longer on the log is given up for the latest requests', async () => {
  const log = newLog()
  await log.savePosition('watcher/c', 'control', 0, { offset: 900n, detail: '' })
  const reader = await ControlReader.open(log, codec, 'c')
  await ask(log, 'c', 'Old')
  deepEqual(await asked(reader), [])
  equal(reader.position, 1n)
  await ask(log, 'c', 'Pod')
  deepEqual(await asked(reader), ['Pod'])
})

test('the end of control may be lost while the log is away: it is begun anew once it is back (F38, F39)', async () => {
  const log = newLog()
  const reader = await ControlReader.open(log, codec, 'c')
  for (const kind of ['Pod', 'Job']) await ask(log, 'c', kind)
  deepEqual(await asked(reader), ['Pod', 'Job'])
  log.cutOff('control', 0, 1n)
  const bounds = log.bounds.bind(log)
  log.bounds = async () => {
    throw new LogError('UNAVAILABLE', 'the log is away')
  }
  deepEqual(await asked(reader), [])
  log.bounds = bounds
  deepEqual(await asked(reader), ['Pod'])
  equal(reader.position, 1n)
})
