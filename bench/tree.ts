/**
 * What `tree` takes over Kafka with many partitions, beside an embedded log, by turns: over Kafka a
 * question asks brokers for what the log holds by now.
 *
 * What must stay true: both answer over HTTP by the code of a service, from stores in memory, about
 * the same objects; each round asks both, in turn the one and the other first.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import type { Log } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { GraphGroup, type GraphProcess, tell } from '../testing/rig/graph-group.ts'
import { eventsOf } from '../testing/rig/task-rig.ts'
import { say, startField } from './rig/kafka-field.ts'
import type { Report } from './rig/report.ts'
import { machine, quantile, rounded } from './rig/report.ts'

export interface TreeOptions extends Readonly<Record<string, number>> {
  readonly partitions: number
  /** Of the owner whose tree it is. */
  readonly dependents: number
  readonly trees: number
  /** Between two rounds, in ms. */
  readonly pause: number
}

const WARM = 20
const SHARES = [0.5, 0.95, 0.99, 1]

interface Asked {
  readonly name: string
  readonly process: GraphProcess
  readonly times: number[]
}

export async function benchTree(options: TreeOptions): Promise<Report> {
  const { partitions } = options
  await using field = await startField()
  await using turn = await field.turn('tree', partitions)
  const directory = `${turn.directory}/embedded`
  await using embedded = await openSqliteLog({ directory, partitions: 1, clock: systemClock() })
  await using groups = new AsyncDisposableStack()
  const asked: Asked[] = []
  for (const [name, log] of [
    [`Kafka, ${partitions} partitions`, turn.log],
    ['embedded', embedded],
  ] as const) {
    say(name)
    const group = groups.adopt(new GraphGroup(log.partitions('events'), 0, log), (each) => {
      return each.stop()
    })
    await fill(log, options)
    const process = await group.start()
    await group.caughtUp()
    asked.push({ name, process, times: [] })
  }
  await ask(asked, options)
  const [kafka, beside] = asked.map(({ name, times }) => {
    return [name, times.length, ...SHARES.map((share) => rounded(quantile(times, share)))]
  })
  return {
    bench: 'tree',
    options,
    machine: machine(),
    tables: [
      {
        title: `tree of ${options.dependents} dependents, in ms`,
        columns: ['', 'trees', 'p50', 'p95', 'p99', 'longest'],
        rows: [kafka!, beside!],
      },
    ],
    measured: asked.map(({ name, times }) => ({ name, times })),
  }
}

async function fill(log: Log, { dependents }: TreeOptions): Promise<void> {
  await tell(log, eventsOf(['put deploy/web', `many ${dependents} rs/r# <- deploy/web!`]))
}

async function ask(asked: readonly Asked[], { trees, pause }: TreeOptions): Promise<void> {
  for (let round = -WARM; round < trees; round++) {
    for (const { process, times } of round % 2 === 0 ? asked : asked.toReversed()) {
      const began = performance.now()
      const path = '/v1/tree?kind=deployment&name=web&namespace=ns'
      const response = await fetch(process.url + path)
      const text = await response.text()
      if (response.status !== 200) throw new Error(text)
      if (round >= 0) times.push(performance.now() - began)
    }
    await delay(pause)
  }
}
