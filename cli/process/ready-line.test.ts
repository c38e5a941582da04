/** `up` says that it is ready once, when every check passes, and not before. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../runtime/clock.ts'
import { type Check, failed, passed } from '../../runtime/health.ts'
import type { Graph } from '../../services/graph/graph.ts'
import { noCounters, type WatcherStatus } from '../../services/watcher/status.ts'
import { sayReady } from './ready-line.ts'

type Kind = WatcherStatus['kinds'][number]

const PODS = { group: '', kind: 'Pod', resource: 'pods' } as Kind
const JOBS = { group: 'batch', kind: 'Job', resource: 'jobs' } as Kind
const WATCHER = { clusterId: 'c', name: 'north', epoch: 0, clusterEpoch: 0, connected: true }

function watcher(...kinds: readonly Kind[]): { readonly status: () => WatcherStatus } {
  const counters = noCounters()
  const lease = { lease: '', isLeading: false, standbyOf: null, reason: '' }
  return { status: () => ({ ...WATCHER, ...lease, kinds, unwatched: [], elsewhere: [], counters }) }
}

type Partition = ReturnType<Graph['status']>[number]

/** A partition at these positions, one a look, the last for good; its log ends at 5. */
function folded(...positions: readonly bigint[]): Pick<Graph, 'status'> {
  const left = [...positions]
  return {
    status: () => {
      const position = left.shift() ?? 5n
      return [{ position, lagEntries: 5n - position } as Partition]
    },
  }
}

test('it is not said before what was published is folded', async () => {
  const said: unknown[] = []
  const graph = folded(3n, 3n, 4n)
  const readiness = { checks: () => [], watchers: [], graph, mode: 'enforce', data: '/d' } as const
  const logger = { log: () => said.push(graph.status()[0]?.lagEntries) }
  await sayReady(readiness, systemClock(), logger, new AbortController().signal)
  deepEqual(said, [0n])
})

test('it is said when nothing fails any more, with what to ask', async () => {
  const failures = ['listing', 'listing', '', 'listing']
  const said: unknown[] = []
  const asked: string[] = []
  const checks = (): readonly Check[] => {
    const failure = failures.shift() ?? ''
    asked.push(failure)
    return [failure === '' ? passed('cluster/north') : failed('cluster/north', failure)]
  }
  const watchers = [watcher(PODS, JOBS), watcher(PODS)]
  const logger = { log: (...args: readonly unknown[]) => said.push(args) }
  const readiness = { checks, watchers, graph: folded(), mode: 'observe', data: '/d' } as const
  await sayReady(readiness, systemClock(), logger, new AbortController().signal)
  deepEqual(asked, ['listing', 'listing', ''])
  const hint = { clusters: 2, kinds: 2, try: 'kinfold shadow --data /d' }
  deepEqual(said, [['info', 'ready', hint]])
})

test('nothing is said of one that ends before', async () => {
  const said: unknown[] = []
  const readiness = {
    checks: () => [failed('cluster/north', 'listing')],
    watchers: [],
    graph: folded(),
    mode: 'enforce',
    data: '/d',
  } as const
  await sayReady(readiness, systemClock(), { log: () => said.push(1) }, AbortSignal.abort())
  deepEqual(said, [])
})
