/** The benchmark of cascades runs and counts; its speed is in RESULTS.md and is no test. */
import { equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { policyFor } from '../core/model/policy.ts'
import { missingServers } from '../testing/cluster/binaries.ts'
import { benchCascade, type Turn } from './cascade.ts'
import { POLICY_NAMES, type PolicyName } from './rig/policy.ts'
import { print } from './rig/report.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
const DEPENDENTS = 100
/**
 * A hold counts in log time, from when the deletion was published; the benchmark from when it was
 * answered.
 */
const CLOCKS_APART_MS = 1_000

/** The calls that every contender has to make; other calls of upstream are not compared. */
const CALLS: Readonly<Record<PolicyName, Readonly<Record<string, number>>>> = {
  background: { 'DELETE configmaps': DEPENDENTS },
  foreground: { 'DELETE configmaps': DEPENDENTS, 'PATCH configmaps': 1 },
  orphan: { 'PATCH configmaps': DEPENDENTS + 1 },
}

suite('the benchmark of cascades', { skip: skip ?? false }, () => {
  for (const policy of POLICY_NAMES) {
    test(`sees every contender deal with every dependent, and counts its calls: ${policy}`, async () => {
      const options = { dependents: DEPENDENTS, rounds: 1, warm: 10, samples: 2 }
      const report = await benchCascade(options, policy)
      const turns = report.measured as readonly Turn[]
      equal(turns.map(({ contender }) => contender).join(' '), 'raw recorded kinfold upstream')
      for (const { contender, calls, latenciesMs, ms } of turns) {
        for (const [call, count] of Object.entries(CALLS[policy])) {
          equal(calls[call], count, `${contender}: ${call}`)
        }
        const isCollector = contender === 'kinfold' || contender === 'upstream'
        const isSampled = policy === 'background' && isCollector
        equal(latenciesMs.length, isSampled ? 2 : 0)
        ok(ms > 0)
      }
      ok(print(report).includes('| kinfold '))
    })
  }

  test('sees the hold of one preset beside the other, which calls for nothing more', async () => {
    const options = { dependents: DEPENDENTS, rounds: 1, warm: 1, samples: 0 }
    const report = await benchCascade(options, 'background', 'both')
    const [parity, guarded] = report.measured as readonly Turn[]
    equal(`${parity?.contender} ${guarded?.contender}`, 'kinfold guarded')
    equal(guarded?.calls['DELETE configmaps'], DEPENDENTS)
    equal(parity?.calls['DELETE configmaps'], DEPENDENTS)
    const hold = policyFor('enforce', 'guarded').holds.deletedMs
    ok((guarded?.firstMs ?? 0) >= hold - CLOCKS_APART_MS)
    ok((parity?.firstMs ?? hold) < hold)
    ok(print(report).includes('| guarded '))
  })
})
