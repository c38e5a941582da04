/**
 * The benchmark of hostile tenants runs each act against both contenders; its figures are in
 * RESULTS.md and are no test.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { missingServers } from '../testing/cluster/binaries.ts'
import { benchHostile, type HostileTurn } from './hostile.ts'
import { print } from './rig/report.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')

suite('the benchmark of hostile tenants', { skip: skip ?? false }, () => {
  test('sees every bystander dealt with while a tenant acts', async () => {
    const report = await benchHostile({ act: 2, scale: 2, every: 200, patience: 60 })
    const turns = report.measured as readonly HostileTurn[]
    deepEqual(
      turns.map(({ contender }) => contender),
      ['kinfold', 'upstream'],
    )
    for (const { bystanderMs, sentBytes } of turns) {
      ok(bystanderMs.length > 0)
      ok(sentBytes > 8 * 100 * 100)
    }
    ok(print(report).includes('never-owners'))
  })
})
