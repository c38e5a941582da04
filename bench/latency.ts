/**
 * Events at an even rate through two `kinfold graph` over Kafka: how soon is the command of an
 * event in the log, and how soon are the commands of the other events while one of the two is
 * killed?
 *
 * What must stay true: the clock is one process': from just before an event is appended until a
 * reader of committed entries has its command.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { LogError } from '../ports/log.ts'
import { eventually } from '../testing/eventually.ts'
import { ServiceProcess } from '../testing/process/kinfold-services.ts'
import type { Field, Turn } from './rig/kafka-field.ts'
import { begin, codec, everyPartition, record, say, startField } from './rig/kafka-field.ts'
import { CLUSTER, Ownership, pulse } from './rig/ownership.ts'
import { cpuSeconds } from './rig/process-usage.ts'
import type { Report } from './rig/report.ts'
import { machine, quantile, rounded } from './rig/report.ts'

export interface LatencyOptions extends Readonly<Record<string, number>> {
  /** Events per second. */
  readonly rate: number
  /** Of the quiet part, and of the part that begins with a kill. */
  readonly seconds: number
  readonly partitions: number
  readonly living: number
}

interface Sample {
  /** Home of the event. */
  readonly partition: number
  readonly atMs: number
  readonly latencyMs: number
}

const TICK_MS = 10
/** Caches and just-in-time compilers, and the first lives to their end. */
const WARM_S = 20
const BETWEEN_MS = 2_000
const PULSE_EVERY_MS = 5_000
const READ_LIMIT = 2_000
const READ_WAIT_MS = 1_000
/** For events under way at the end. */
const LAST_MS = 20_000

export async function benchLatency(options: LatencyOptions): Promise<Report> {
  const { rate, seconds, partitions, living } = options
  await using field = await startField()
  await using turn = await field.turn('latency', partitions)
  await begin(turn.log)
  const graphs = startGraphs(field, turn, partitions, 2)
  try {
    await Promise.all(graphs.map((each) => each.start()))
    await Promise.all(graphs.map((each) => each.ready()))
    await using traffic = startTraffic(turn, { rate, partitions, living })
    const startedAt = performance.now()
    say('warming up')
    await delay(WARM_S * 1_000)
    const quietFrom = performance.now()
    const cpu = (): number =>
      graphs.reduce((sum, { isRunning, pid }) => sum + (isRunning ? cpuSeconds(pid) : 0), 0)
    const [client, broker] = [cpu(), field.brokerCpuSeconds()]
    await delay(seconds * 1_000)
    const [clientCpu, brokerCpu] = [cpu() - client, field.brokerCpuSeconds() - broker]
    const quietTo = performance.now()
    // Events under way at the kill belong to neither part.
    await delay(BETWEEN_MS)
    const lost = await partitionsOf(graphs[1]!)
    say(`killing the process of the partitions ${lost.join(', ')}`)
    const killedAt = performance.now()
    await graphs[1]?.kill()
    await delay(seconds * 1_000)
    const endedAt = performance.now()
    await traffic.stop()
    const { samples, missing } = traffic
    const within = (from: number, to: number): readonly Sample[] =>
      samples.filter(({ atMs }) => atMs >= from && atMs < to)
    const after = within(killedAt, endedAt)
    const row = (name: string, all: readonly Sample[]): (string | number)[] => {
      const latencies = all.map(({ latencyMs }) => latencyMs)
      const shares = [0.5, 0.95, 0.99, 1]
      return [name, all.length, ...shares.map((share) => rounded(quantile(latencies, share)))]
    }
    return {
      bench: 'latency',
      options,
      machine: machine(),
      tables: [
        {
          title: `Event to command in ms, at ${rounded(traffic.appended / ((endedAt - startedAt) / 1_000))} events/s; ${missing()} commands never came`,
          columns: ['', 'commands', 'p50', 'p95', 'p99', 'longest'],
          rows: [
            row('two processes', within(quietFrom, quietTo)),
            row(
              `one killed: the other's partitions, next ${seconds} s`,
              after.filter(({ partition }) => !lost.includes(partition)),
            ),
            row(
              'one killed: its own partitions',
              after.filter(({ partition }) => lost.includes(partition)),
            ),
          ],
        },
        {
          title: 'CPU seconds of a second, before the kill',
          columns: ['both processes', 'broker'],
          rows: [[rounded(clientCpu / seconds, 2), rounded(brokerCpu / seconds, 2)]],
        },
      ],
      measured: { lost, quietFrom, killedAt, samples },
    }
  } finally {
    await Promise.all(graphs.map((each) => each.kill()))
  }
}

/** The very commands that users run. */
export function startGraphs(
  { brokers }: Field,
  { application, directory }: Turn,
  partitions: number,
  count: number,
): readonly ServiceProcess[] {
  const options = { brokers, application, folder: directory, partitions, each: count }
  return Array.from(
    { length: count },
    (_, index) => new ServiceProcess('graph', index, { ...options, kubeconfig: '' }),
  )
}

/** Those that it folds. */
async function partitionsOf(graph: ServiceProcess): Promise<readonly number[]> {
  const text = await (await graph.ask('/readyz?verbose')).text()
  return [...text.matchAll(/^\[[+-]\]task\/(\d+)/gm)].map((match) => Number(match[1]))
}

interface Traffic extends AsyncDisposable {
  readonly samples: readonly Sample[]
  readonly appended: number
  /** Commands that were expected and have not come. */
  missing(): number
  /** Ends the events, and waits for those under way. */
  stop(): Promise<void>
}

function startTraffic(
  { log }: Turn,
  { rate, partitions, living }: Pick<LatencyOptions, 'rate' | 'partitions' | 'living'>,
): Traffic {
  const ended = new AbortController()
  const closed = new AbortController()
  const samples: Sample[] = []
  const awaited = new Map<string, Omit<Sample, 'latencyMs'>>()
  let appended = 0
  const tellers = everyPartition(
    partitions,
    (partition) => new Ownership(partition, partitions, living / partitions),
  )
  const append = (partition: number): void => {
    const { home, event, condemned } = tellers[partition]!.next()
    const atMs = performance.now()
    for (const uid of condemned) awaited.set(uid, { partition, atMs })
    appended += 1
    void log.append('events', partition, [record(home, event)])
  }
  const tell = async (): Promise<void> => {
    const began = performance.now()
    let pulsedAt = Number.NEGATIVE_INFINITY
    for (let told = 0; !ended.signal.aborted; await delay(TICK_MS)) {
      const now = performance.now()
      if (now - pulsedAt >= PULSE_EVERY_MS) {
        pulsedAt = now
        const beat = record(CLUSTER, pulse())
        everyPartition(partitions, (partition) => void log.append('events', partition, [beat]))
      }
      for (; told < ((now - began) / 1_000) * rate; told++) append(told % partitions)
    }
  }
  const listen = async (partition: number): Promise<void> => {
    const options = { limit: READ_LIMIT, waitMs: READ_WAIT_MS }
    for (let next = 0n; !closed.signal.aborted; ) {
      const page = await log.read('commands', partition, next, options, closed.signal)
      const now = performance.now()
      for (const { value } of page.entries) {
        const command = codec.decode(value!)
        if (command.type !== 'DeleteObject') continue
        const { uid } = command.target
        const event = awaited.get(uid)
        if (event === undefined) continue
        awaited.delete(uid)
        samples.push({ ...event, latencyMs: now - event.atMs })
      }
      next = page.next
    }
  }
  const telling = tell()
  const listening = everyPartition(partitions, listen).map((each) => each.catch(ignoreEnd))
  return {
    samples,
    get appended() {
      return appended
    },
    missing: () => awaited.size,
    async stop() {
      ended.abort()
      await telling
      const isDone = async (): Promise<boolean> => awaited.size === 0
      await eventually('all commands are there', isDone, { withinMs: LAST_MS }).catch(() => say(''))
    },
    async [Symbol.asyncDispose]() {
      ended.abort()
      closed.abort()
      await Promise.all([telling, ...listening])
    },
  }
}

function ignoreEnd(error: unknown): void {
  if (error instanceof LogError) throw error
}
