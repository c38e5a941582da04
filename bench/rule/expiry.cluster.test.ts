/** The benchmark of rules runs and counts; its times are in RESULTS.md and are no test. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { print } from '../rig/report.ts'
import { benchExpiry, type Expiry } from './expiry.ts'

const skip = missingServers('etcd', 'kube-apiserver')
const JOBS = 40

suite('the benchmark of rules', { skip: skip ?? false }, () => {
  test('sees each Job deleted by one call after it is due, and cascades before and beside', async () => {
    const options = { jobs: JOBS, span: 2, foreground: 1, dependents: 5, every: 1, quiet: 1 }
    const report = await benchExpiry(options)
    const { calls, delaysMs, quietMs, besideMs } = report.measured as Expiry
    equal(calls['DELETE jobs'], JOBS)
    // What a watcher may ask at any time is about no single Job.
    deepEqual(
      Object.keys(calls).filter((call) => !/^(DELETE|LIST|WATCH) /.test(call)),
      [],
    )
    ok(delaysMs.length === JOBS && delaysMs.every((each) => each > 0))
    ok(quietMs.length > 0 && besideMs.length > 0)
    ok(print(report).includes('| DELETE jobs | '))
  })
})
