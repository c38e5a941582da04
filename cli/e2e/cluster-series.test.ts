/** What metrics say of clusters: each series is of one cluster. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, resourceOf } from '../../runtime/metrics.ts'
import type { Census } from '../../services/graph/census.ts'
import { NONE_DELETING } from '../../services/graph/fold/deleting-count.ts'
import { NONE_BLOCKED, NONE_HELD } from '../../services/graph/fold/tally.ts'
import { registerGraph } from '../process/process-metrics.ts'

const NAMES: Readonly<Record<string, string>> = { 'id-1': 'prod', 'id-2': 'prod', 'id-3': 'dev' }

test('clusters of one name have series of their own', async () => {
  const census: Census = {
    counts: () =>
      Object.keys(NAMES).map((cluster, at) => ({
        ...{
          cluster,
          edges: at + 1,
          dangling: 0,
          held: NONE_HELD,
          deleting: NONE_DELETING,
          rules: {},
        },
        blocked: { unresolvable: NONE_BLOCKED, held: NONE_BLOCKED, refused: NONE_BLOCKED },
        ...{ isBreakerOpen: false, isPaused: false },
      })),
  }
  await using metrics = createMetrics(resourceOf('kinfold', '0'))
  registerGraph(metrics.meter, { tasks: [] }, census, (id) => NAMES[id] ?? id, { now: () => 0 })
  const text = await metrics.scrape()
  match(text, /^kinfold_edges\{cluster="prod \(id-1\)".*\} 1$/m)
  match(text, /^kinfold_edges\{cluster="prod \(id-2\)".*\} 2$/m)
  match(text, /^kinfold_edges\{cluster="dev".*\} 3$/m)
  equal(text.match(/^kinfold_paused\{/gm)?.length, 3)
})
