/**
 * The fold alone, of a real task over a real store and a log in memory: the CPU time of an event,
 * and the number of records and reads it causes.
 *
 * What must stay true: nothing else is measured; the same options give the same events in the same
 * commits, so counts of two versions compare exactly, and their CPU in pairs of runs.
 *
 * Not here: logs, watchers, reapers (cascade.ts, fold.ts).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { openLevelStore } from '../adapters/level/store.ts'
import { becomeLean } from '../cli/process/lean-process.ts'
import type { Command } from '../core/model/command.ts'
import type { LoggedEvent } from '../core/model/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log, Produced } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { systemClock } from '../runtime/clock.ts'
import { resourceOf } from '../runtime/metrics.ts'
import { type OpenTracer, openTracer } from '../runtime/telemetry/otlp.ts'
import { telemetrySettings } from '../runtime/telemetry/settings.ts'
import type { SpanCounts } from '../runtime/telemetry/span-queue.ts'
import { Traces } from '../runtime/telemetry/traces.ts'
import { GatheringStore } from '../services/graph/fold/bytes/gathering-store.ts'
import { giveOrder } from '../services/graph/fold/order.ts'
import { Task } from '../services/graph/fold/task.ts'
import { settled } from '../services/reaper/decide/result.ts'
import { allocatedBytes } from './profile/allocation.ts'
import { CountedLog } from './rig/counted-log.ts'
import {
  beginning,
  CLUSTER,
  condemnation,
  Ownership,
  POLICY,
  pulse,
  type Told,
} from './rig/ownership.ts'
import type { Report, Table } from './rig/report.ts'
import { machine, median, rounded } from './rig/report.ts'

export interface FoldingOptions extends Readonly<Record<string, number>> {
  /** Ownership events, and objects that exist at once. */
  readonly events: number
  readonly living: number
  /** Dependents of one owner that is deleted. */
  readonly dependents: number
  readonly rounds: number
  /** Events that one commit holds at most. */
  readonly commit: number
  /**
   * 1: the SHA-256 of the written records is printed as well, and the log's time is a count: for
   * results that must be the same in two versions.
   */
  readonly digests: number
  /**
   * 0: none. Else so many of a hundred traces are kept, and sent to a collector that takes all of
   * them.
   */
  readonly traces: number
  /**
   * 1: the last round counts the bytes that are allocated, and not its CPU; time is a count,
   * so that the others are the same each time. The rounds before it warm V8 up.
   */
  readonly heap: number
}

interface Reads {
  gets: number
  missed: number
  pages: number
}

export interface Folded extends Reads {
  readonly stream: 'ownership' | 'cascade'
  /** The measured part: the second half of all events, or the dependents. */
  readonly units: number
  /** One of both is measured, and the other is undefined. */
  readonly cpuMs: number | undefined
  readonly allocated: number | undefined
  /** Puts, removals and bytes. */
  readonly written: Readonly<Record<string, readonly number[]>>
  readonly digests: Readonly<Record<string, string>>
}

const codec = avroCodec()
const clock = systemClock()
/** Where time is a count: how many commits one write gathers depends on their number alone. */
const stillClock: Clock = { ...clock, monotonicMs: () => 0 }
/** Of a whole cluster's pulse. */
const PULSE_EVERY = 4_000

export async function benchFolding(options: FoldingOptions): Promise<Report> {
  becomeLean()
  await using traced = options.traces === 0 ? undefined : await Traced.open(options.traces)
  const all = await folded(options, traced?.traces)
  const of = (stream: Folded['stream']): Folded[] => all.filter((each) => each.stream === stream)
  return {
    bench: 'folding',
    options,
    machine: machine(),
    tables: [
      costs('An event of ownership, in the second half of all', of('ownership')),
      costs('A dependent of an owner that goes, until its deletion is told', of('cascade')),
    ],
    measured: traced === undefined ? all : [...all, { spans: traced.counts() }],
  }
}

/** Both streams, round by round. */
export async function folded(options: FoldingOptions, traces?: Traces): Promise<Folded[]> {
  const all: Folded[] = []
  for (let round = 1; round <= options.rounds; round++) {
    const isHeap = options.heap > 0 && round === options.rounds
    all.push(await ownership(options, traces, isHeap), await cascade(options, traces, isHeap))
  }
  return all
}

async function ownership(
  options: FoldingOptions,
  traces: Traces | undefined,
  isHeap: boolean,
): Promise<Folded> {
  const { events, living } = options
  const told = new Ownership(0, 1, living)
  const records = Array.from({ length: events }, (_, index) => {
    if (index % PULSE_EVERY === 0) return record(CLUSTER, pulse())
    const { home, event } = told.next()
    return record(home, event)
  })
  await using field = await Field.open(options, traces)
  const half = records.length >> 1
  await field.fold(records.slice(0, half))
  return await field.measure('ownership', records.length - half, isHeap, async () => {
    await field.fold(records.slice(half))
  })
}

async function cascade(
  options: FoldingOptions,
  traces: Traces | undefined,
  isHeap: boolean,
): Promise<Folded> {
  const { dependents } = options
  const { added, owner, gone } = condemnation(dependents)
  await using field = await Field.open(options, traces)
  await field.fold(added.map(recordOf))
  return await field.measure('cascade', dependents, isHeap, async () => {
    field.answer = (commands) => [
      ...commands.map((command) => record(command.cluster, result(command))),
      ...commands.map(({ target }) => recordOf(gone(target.uid))),
    ]
    await field.fold([recordOf(owner)])
  })
}

function isTimeCount({ digests, heap }: FoldingOptions): boolean {
  return digests + heap > 0
}

function result(command: Command): LoggedEvent {
  const how = { outcome: 'done', reason: '', code: 200, object: null } as const
  return settled(command, { type: 'Settle', ...how }, 1)
}

function record(home: string, event: LoggedEvent): Produced {
  return { key: home, value: codec.encode(event) }
}

function recordOf({ home, event }: Told): Produced {
  return record(home, event)
}

/** As a service has them, with a collector in a process of its own. */
class Traced implements AsyncDisposable {
  readonly traces: Traces
  readonly counts: () => SpanCounts
  readonly #closing: AsyncDisposableStack

  private constructor(tracer: OpenTracer, closing: AsyncDisposableStack) {
    this.traces = new Traces({ tracer: tracer.tracer, codec, clock })
    this.counts = () => tracer.counts()
    this.#closing = closing
  }

  static async open(percent: number): Promise<Traced> {
    const closing = new AsyncDisposableStack()
    const sink = spawn(process.execPath, ['--eval', SINK], { stdio: ['ignore', 'pipe', 'inherit'] })
    closing.defer(() => void sink.kill())
    const [port] = (await once(sink.stdout, 'data')) as [Buffer]
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${String(port).trim()}`
    // All spans are ended at once here; a watcher's events come one after the other.
    process.env['OTEL_BSP_MAX_QUEUE_SIZE'] = '65536'
    process.env['OTEL_TRACES_SAMPLER'] = 'parentbased_traceidratio'
    process.env['OTEL_TRACES_SAMPLER_ARG'] = String(percent / 100)
    const resource = resourceOf('kinfold-bench', '0')
    const tracer = closing.use(openTracer(telemetrySettings(process.env), resource, '0'))
    return new Traced(tracer, closing)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closing.disposeAsync()
  }
}

const SINK = `
const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.end())
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

/** A task with its store and its log. */
class Field implements AsyncDisposable {
  answer: (commands: readonly Command[]) => readonly Produced[] = () => []
  readonly #log: CountedLog
  /** The same, with traces where they are measured. */
  readonly #traced: Log
  readonly #reads: Reads = { gets: 0, missed: 0, pages: 0 }
  readonly #ended = new AbortController()
  readonly #closing = new AsyncDisposableStack()
  #running: Promise<void> | undefined
  #issued: Command[] = []
  #caughtUp: PromiseWithResolvers<void> = Promise.withResolvers()

  private constructor(options: FoldingOptions, traces: Traces | undefined) {
    const { commit, digests } = options
    this.#log = new CountedLog(clock, commit, digests > 0, isTimeCount(options))
    this.#traced = traces?.log(this.#log) ?? this.#log
  }

  static async open(options: FoldingOptions, traces: Traces | undefined): Promise<Field> {
    const field = new Field(options, traces)
    const directory = await mkdtemp(join(tmpdir(), 'kinfold-bench-'))
    field.#closing.defer(async () => await rm(directory, { recursive: true, force: true }))
    const store = await openLevelStore({ directory: join(directory, 'store'), identity: 'bench' })
    field.#closing.use(store)
    const task = new Task({
      ...{ log: field.#traced, codec, clock, partition: 0 },
      store: new GatheringStore(
        counted(store, field.#reads),
        isTimeCount(options) ? stillClock : clock,
      ),
      pace: { batchMs: Number.POSITIVE_INFINITY, gatherMs: 0, quietMs: 0 },
      observe: {
        folded: (event, at, { commands }) => {
          traces?.folded(event, at)
          field.#issued.push(...commands)
        },
        committed: (_records, position) => void field.#committed(position),
      },
    })
    field.#running = task.run(field.#ended.signal)
    await giveOrder(field.#log, codec, POLICY, [0])
    await field.fold(beginning().map((event) => record(CLUSTER, event)))
    return field
  }

  /** Resolves once these and the records that follow from them are folded. */
  async fold(records: readonly Produced[]): Promise<void> {
    this.#caughtUp = Promise.withResolvers()
    const seenMs = clock.monotonicMs()
    await this.#traced.append(
      'events',
      0,
      records.map((each) => ({ ...each, seenMs })),
    )
    await this.#caughtUp.promise
  }

  async measure(
    stream: Folded['stream'],
    units: number,
    isHeap: boolean,
    work: () => Promise<void>,
  ): Promise<Folded> {
    Object.assign(this.#reads, { gets: 0, missed: 0, pages: 0 })
    this.#log.written.clear()
    const spent = isHeap
      ? { allocated: await allocatedBytes(work), cpuMs: undefined }
      : { allocated: undefined, cpuMs: await cpuMsOf(work) }
    const all = [...this.#log.written].toSorted(([a], [b]) => (a < b ? -1 : 1))
    const written = all.map(([what, { puts, removals, bytes }]) => {
      return [what, [puts, removals, bytes]] as const
    })
    const digests = all.flatMap(([what, { digest }]) => {
      return digest === undefined ? [] : [[what, digest.copy().digest('hex')] as const]
    })
    return {
      ...{ stream, units, ...spent },
      ...this.#reads,
      written: Object.fromEntries(written),
      digests: Object.fromEntries(digests),
    }
  }

  async #committed(position: bigint): Promise<void> {
    const commands = this.#issued
    this.#issued = []
    const answers = this.answer(commands)
    if (answers.length > 0) await this.#log.append('events', 0, answers)
    if ((await this.#log.bounds('events', 0)).end === position) this.#caughtUp.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#running
    await this.#closing.disposeAsync()
  }
}

async function cpuMsOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function counted(store: Store, reads: Reads): Store {
  return {
    checkpoint: () => store.checkpoint(),
    get(key) {
      const value = store.get(key)
      reads.gets += 1
      if (value === undefined) reads.missed += 1
      return value
    },
    page: async (range) => {
      reads.pages += 1
      return await store.page(range)
    },
    view: () => store.view(),
    write: async (changes, checkpoint) => await store.write(changes, checkpoint),
    wipe: async () => await store.wipe(),
    verify: async (signal) => await store.verify(signal),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

function costs(title: string, all: readonly Folded[]): Table {
  const [first] = all
  if (first === undefined) return { title, columns: [], rows: [] }
  const each = (count: number): number => rounded(count / first.units, 3)
  const micros = all.flatMap(({ cpuMs, units }) =>
    cpuMs === undefined ? [] : [(cpuMs * 1_000) / units],
  )
  const kib = all.flatMap(({ allocated, units }) =>
    allocated === undefined ? [] : [allocated / 1_024 / units],
  )
  const rows: (string | number)[][] = [
    ['CPU µs, each round', micros.map((one) => rounded(one, 1)).join(' '), '', ''],
    ['CPU µs, median', rounded(median(micros), 1), '', ''],
    ...kib.map((each) => ['KiB allocated', rounded(each, 1), '', '']),
    ['reads of the store', each(first.gets), '', ''],
    ['of them of what is not there', each(first.missed), '', ''],
    ['pages of the store', each(first.pages), '', ''],
  ]
  for (const [what, [puts = 0, removals = 0, bytes = 0]] of Object.entries(first.written)) {
    rows.push([what, each(puts), each(removals), rounded(bytes / first.units)])
  }
  for (const [what, digest] of Object.entries(first.digests)) rows.push([what, digest, '', ''])
  return { title, columns: ['', 'of each', 'removed', 'bytes'], rows }
}
