/**
 * Built-in rules leave what the collectors of Kubernetes leave that they stand for, after random
 * lives, with faulty connections and a clock that is ahead.
 *
 * Not here: many lives, `npm run rule-twins -- --seeds 100`.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { missingServers } from './cluster/binaries.ts'
import { runRuleTwins } from './conformance/rules/twins.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager') ?? false
/** Raised in time and too late, made again, with finalizers of a policy (6, 10), with a CronJob. */
const SEEDS = [5, 6, 10, 14, 17]

test('built-in rules leave what their twins leave', { skip }, async (t) => {
  const options = { seeds: SEEDS, skewMs: 1_500, rate: 0.01, partitions: 2 }
  const tell = (line: string): void => t.diagnostic(line)
  const report = await runRuleTwins({ ...options, tell })
  deepEqual(report.failed, [])
  const expired = (results: readonly { readonly expired: number }[]): number =>
    results.reduce((sum, each) => sum + each.expired, 0)
  ok(expired(report.jobs) > 10, `${expired(report.jobs)} Jobs expired`)
  ok(expired(report.tokens) > 10, `${expired(report.tokens)} bootstrap tokens expired`)
  const { leases, pods, requests } = report
  deepEqual([...leases.differences, ...pods.differences], [])
  ok(leases.deleted > 5, `${leases.deleted} Leases were deleted`)
  ok(pods.deleted > 5, `${pods.deleted} pods were deleted`)
  ok(requests.deleted > 10, `${requests.deleted} certificate requests were deleted`)
})
