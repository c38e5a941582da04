/**
 * Watches of many clusters that do nothing, and then have events: connections, memory and CPU of a
 * process that has a connection for each (`DISABLE_HTTP2`), and of one whose watches share, by
 * turns.
 *
 * What must stay true: both have the same server, whose own CPU does not count.
 */
import { fileURLToPath } from 'node:url'
import { machine, median, type Report, rounded } from '../rig/report.ts'
import { startSpoken } from '../rig/spoken-process.ts'
import type { Watched } from './watched.ts'

export interface WatchesOptions extends Readonly<Record<string, number>> {
  readonly clusters: number
  /** Watches of each. */
  readonly kinds: number
  readonly events: number
  /** Seconds in which nothing happens. */
  readonly quiet: number
  readonly rounds: number
}

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const WAYS = ['unshared', 'shared'] as const

export async function benchWatches(options: WatchesOptions): Promise<Report> {
  const measured: { readonly way: string; readonly watched: Watched }[] = []
  for (let round = 0; round < options.rounds; round++) {
    for (const way of WAYS) measured.push({ way, watched: await turn(way, options) })
  }
  const rows = WAYS.map((way) => {
    const of = measured.filter((each) => each.way === way).map(({ watched }) => watched)
    const mid = (field: keyof Watched, digits: number): number =>
      rounded(median(of.map((each) => each[field])), digits)
    return [
      ...[way, mid('connections', 0), mid('memoryKb', 0), mid('openMs', 0)],
      ...[mid('quietMs', 2), mid('eventUs', 1)],
    ]
  })
  const watches = options.clusters * options.kinds
  return {
    bench: 'watches',
    options,
    machine: machine(),
    tables: [
      {
        title: `${watches} watches, medians; CPU of the process that watches`,
        columns: [
          ...['', 'connections', 'KB a watch', 'to open all, ms'],
          ...['nothing happens, ms a second', 'an event, µs'],
        ],
        rows,
      },
    ],
    measured,
  }
}

async function turn(
  way: (typeof WAYS)[number],
  { clusters, kinds, events, quiet }: WatchesOptions,
): Promise<Watched> {
  const env = way === 'shared' ? [] : ['DISABLE_HTTP2=1']
  const node = process.execPath
  await using server = await startSpoken<{ readonly port: number }>({
    ...{ name: 'the server', binary: node, args: [path('watch-server.ts')] },
  })
  await server.until(({ port }) => port > 0)
  const port = server.last?.port ?? 0
  const given = [port, clusters, kinds, events, quiet].map(String)
  await using client = await startSpoken<Watched>({
    name: 'the watches',
    binary: 'env',
    args: [...env, node, '--expose-gc', path('watching.ts'), ...given],
  })
  await client.until(() => true)
  return client.last as Watched
}
