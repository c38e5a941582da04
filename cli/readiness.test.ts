/** What readiness makes of a watcher that waits for its turn. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { noCounters, type WatcherStatus } from '../services/watcher/status.ts'
import { checksOfWatcher } from './readiness.ts'

const WAITING: WatcherStatus = {
  ...{ clusterId: 'c', name: 'north', epoch: 0, clusterEpoch: 0, connected: false },
  ...{ reason: '', lease: 'kinfold-watcher', isLeading: false, standbyOf: null },
  ...{ kinds: [], counters: noCounters() },
}
const checks = (more: Partial<WatcherStatus>) =>
  checksOfWatcher({ status: () => ({ ...WAITING, ...more }) })

test('a standby is ready, and says who holds the lease', () => {
  deepEqual(checks({ standbyOf: 'host-1_ab', reason: 'Another watcher holds its lease.' }), [
    { name: 'cluster/north', failure: '', note: 'standby: host-1_ab holds the lease' },
  ])
})

test('a watcher that may not take the lease is not ready, and says why', () => {
  const reason = 'The Lease kube-system/kinfold-watcher may not be written.'
  deepEqual(checks({ reason }), [{ name: 'cluster/north', failure: reason }])
})
