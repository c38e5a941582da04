/**
 * docs/operate/metrics.md and the endpoint agree: names, types, labels and meanings, over a
 * playground in which something is going on; and names of clusters are cheap to read.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { noCounters, type WatcherStatus } from '../../services/watcher/status.ts'
import { eventually } from '../../testing/eventually.ts'
import { startKinfold } from '../../testing/process/kinfold-command.ts'
import { namesOf } from './process-metrics.ts'

const DOCUMENT = join(import.meta.dirname, '..', '..', 'docs', 'operate', 'metrics.md')
/** OpenTelemetry's. */
const NOT_OURS = 'target_info'

/** A playground has no lock and no watch that is broken; traces are off. */
const NOT_HERE = [
  'kinfold_lock',
  'kinfold_watch_broken_since_seconds',
  'kinfold_telemetry_spans_total',
]

const NOT_REACHED: WatcherStatus = {
  ...{ clusterId: null, name: '', epoch: 0, clusterEpoch: 0, connected: false },
  ...{ reason: '', lease: 'kinfold-watcher', isLeading: false, standbyOf: null },
  ...{ kinds: [], unwatched: [], elsewhere: [], counters: noCounters() },
}

test('what is served is documented, and what is documented is served', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-metrics-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const { child, ended } = startKinfold(['playground', '--http', '127.0.0.1:0', '--data', data])
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const documented = rowsOf(readFileSync(DOCUMENT, 'utf8')).filter(
    (row) => !NOT_HERE.some((name) => row.startsWith(`${name} | `)),
  )
  let served: readonly string[] = []
  await eventually('as many metrics are served as are documented', async () => {
    const { url } = JSON.parse(readFileSync(join(data, 'http.json'), 'utf8')) as { url: string }
    served = servedIn(await (await fetch(`${url}/metrics`)).text())
    return served.length >= documented.length || `${served.length} of ${documented.length}`
  })
  deepEqual(served.toSorted(), documented.toSorted())
})

test('the name of a cluster is read from a status only until its watcher knows which it is', () => {
  let reads = 0
  const watcher = (of: Pick<WatcherStatus, 'clusterId' | 'name'>) => ({
    status: () => {
      reads++
      return { ...NOT_REACHED, ...of }
    },
  })
  const late: { clusterId: string | null; name: string } = { clusterId: null, name: 'north' }
  const nameOf = namesOf([
    { status: () => watcher(late).status() },
    watcher({ clusterId: 'b', name: 'south' }),
  ])
  equal(nameOf('a'), 'a', 'not reached yet')
  equal(nameOf('b'), 'south')
  late.clusterId = 'a'
  equal(nameOf('a'), 'north')
  reads = 0
  const asked = ['a', 'b', 'another'].map(nameOf)
  deepEqual([asked, reads], [['north', 'south', 'another'], 0])
})

/** As `name | type | labels | meaning`. */
function rowsOf(document: string): readonly string[] {
  return document
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const cells = line.split('|').slice(1, -1)
      const [name, type, labels, meaning] = cells.map((cell) => cell.trim().replaceAll('`', ''))
      return [name, type, labels, meaning].join(' | ')
    })
}

/** Only metrics that have a series: labels stand there. */
function servedIn(text: string): readonly string[] {
  const lines = text.split('\n')
  const about = (what: string): Map<string, string> =>
    new Map(
      lines
        .filter((line) => line.startsWith(`# ${what} `))
        .map((line) => line.slice(what.length + 3))
        .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
    )
  const types = about('TYPE')
  return [...about('HELP')].flatMap(([name, meaning]) => {
    const type = types.get(name)
    const series = type === 'histogram' ? `${name}_bucket{` : `${name}{`
    const first = lines.find((line) => line.startsWith(series))
    if (first === undefined || name === NOT_OURS) return []
    const keys = [...first.matchAll(/(\w+)="/g)].map(([, key]) => key)
    const labels = keys.filter((key) => key !== 'otel_scope_name').join(', ')
    return [`${name} | ${type} | ${labels} | ${meaning}`]
  })
}
