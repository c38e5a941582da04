/** The benchmark of cascades runs and counts; how fast anything is stands in RESULTS.md and is no test. */
import { equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { missingServers } from '../testing/cluster/binaries.ts'
import { benchCascade, type Turn } from './cascade.ts'
import { print } from './report.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
const DEPENDENTS = 100

suite('the benchmark of cascades', { skip: skip ?? false }, () => {
  test('sees every contender delete every dependent, and counts its calls', async () => {
    const report = await benchCascade({
      dependents: DEPENDENTS,
      rounds: 1,
      warm: 10,
      samples: 2,
    })
    const turns = report.measured as readonly Turn[]
    equal(turns.map(({ contender }) => contender).join(' '), 'raw kinfold upstream')
    for (const { contender, calls, latenciesMs, ms } of turns) {
      equal(calls['DELETE configmaps'], DEPENDENTS, contender)
      equal(latenciesMs.length, contender === 'raw' ? 0 : 2)
      ok(ms > 0)
    }
    ok(print(report).includes('| kinfold '))
  })
})
