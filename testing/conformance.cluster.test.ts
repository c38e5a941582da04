/**
 * Kinfold has the observable behaviour of the collector inside kube-controller-manager: with one
 * partition, with eight, killed in the middle, and apart over Kafka; and the same objects remain
 * after twenty random lives.
 *
 * What must stay true: the same scenarios pass for upstream's own collector,
 * `npm run conformance -- --collector upstream`.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { missingServers } from './cluster/binaries.ts'
import { runBeside } from './conformance/beside.ts'
import { runSuite, type SuiteOptions } from './conformance/suite.ts'
import { runAllTwins } from './conformance/twins.ts'
import { missingKafka } from './kafka/jars.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager') ?? missingKafka()
const KINFOLD = 'kinfold'
const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1)

const variants: readonly (readonly [string, Omit<SuiteOptions, 'collector'>])[] = [
  ['with one partition', {}],
  ['with eight partitions', { partitions: 8 }],
  ['killed in the middle', { partitions: 8, kill: true }],
  ['with its services apart over Kafka', { partitions: 4, engine: 'kafka' }],
  ['on a server without a watch cache', { only: 'R2', withoutWatchCache: true }],
]

suite('Kinfold collects as upstream does', { skip: skip ?? false }, () => {
  for (const [says, options] of variants) {
    test(says, async (t) => {
      const results = await runSuite({ ...options, collector: KINFOLD })
      const failed = results.filter(({ outcome }) => outcome !== 'passed')
      for (const { scenario, error } of failed) {
        t.diagnostic(`${scenario.rows} ${scenario.says}: ${error}`)
      }
      const names = failed.map(({ scenario }) => `${scenario.rows} ${scenario.says}`)
      deepEqual(names, [])
    })
  }

  test('after twenty random lives', async (t) => {
    const options = { seeds: SEEDS, against: KINFOLD, partitions: 8 } as const
    deepEqual(await runAllTwins({ ...options, tell: (line) => t.diagnostic(line) }), [])
  })
  test('beside upstream, in mode observe, after eight random lives', async () => {
    const { clusters, cases } = await runBeside({ lives: 8, from: 1 })
    const [counted] = clusters
    deepEqual([counted?.theirs, counted?.ours], [0, 0], JSON.stringify(cases))
    ok((counted?.agreed ?? 0) > 20, `${counted?.agreed} agreed`)
  })
})
