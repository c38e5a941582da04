/**
 * The benchmarks over Kafka run to their end with real parts; their speed is in RESULTS.md and is
 * no test.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { missingKafka } from '../testing/kafka/jars.ts'
import { benchCrowd } from './crowd.ts'
import { benchFold } from './fold.ts'
import { benchRestore } from './restore.ts'
import { print } from './rig/report.ts'
import { benchTree } from './tree.ts'

const skip = missingKafka({ own: true })
/** Kafka Streams is fetched and built by the command only. */
const OURS = { partitions: 2, rounds: 1, streams: 0 }

suite('the benchmarks over Kafka', { skip: skip ?? false }, () => {
  test('a task takes over the changelog that the benchmark wrote', async () => {
    const report = await benchRestore({ ...OURS, keys: 5_000 })
    equal((report.measured as readonly unknown[]).length, 1)
    ok(print(report).includes('| Kinfold '))
  })

  test('a tree is asked for over Kafka as often as over an embedded log', async () => {
    const report = await benchTree({ partitions: 2, dependents: 3, trees: 4, pause: 0 })
    const measured = report.measured as { times: readonly number[] }[]
    deepEqual(
      measured.map(({ times }) => times.length),
      [4, 4],
    )
    ok(print(report).includes('| Kafka, 2 partitions '))
  })

  test('many clusters are folded by some processes, and answer when one is killed', async () => {
    const small = { clusters: 6, objects: 20, partitions: 2, processes: 2, silent: 1, events: 60 }
    const report = await benchCrowd(small)
    const { memory } = report.measured as { memory: readonly number[] }
    equal(memory.length, 2)
    ok(print(report).includes('one process killed'))
  })

  test('both ways of folding fold all events, and who only writes takes all', async () => {
    const options = { events: 6_000, living: 300, index: 0, processes: 0 }
    const report = await benchFold({ ...OURS, ...options })
    const { measured } = report.measured as { measured: readonly unknown[] }
    equal(measured.length, 3)
    ok(print(report).includes('| two processes '))
    ok(print(report).includes('| two only writing '))
  })
})
