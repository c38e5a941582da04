/**
 * Ownership events in Kafka, folded by the graph's tasks in one process and in two, compared with
 * Kafka Streams writing as much for as many: how fast, and at what cost for which process?
 *
 * What must stay true: all contenders meet the same broker in the same run, in rounds of changing
 * order, and fold the same events; the program compared writes as many records of the same sizes as
 * Kinfold was measured to write.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CopyArguments } from './rig/copy-process.ts'
import type { FoldArguments, FoldLine } from './rig/fold-process.ts'
import type { Field, Turn } from './rig/kafka-field.ts'
import { fill, say, startField } from './rig/kafka-field.ts'
import { cpuSeconds, memoryOf } from './rig/process-usage.ts'
import type { Report, Table } from './rig/report.ts'
import { machine, median, rounded } from './rig/report.ts'
import type { Spoken } from './rig/spoken-process.ts'
import { startSpoken } from './rig/spoken-process.ts'
import type { Shapes, StreamsLine } from './rig/streams-peer.ts'
import { buildStreamsPeer, startStreamsPeer } from './rig/streams-peer.ts'
import { type Written, writtenBy } from './rig/written.ts'

export interface FoldOptions extends Readonly<Record<string, number>> {
  readonly events: number
  readonly partitions: number
  /** One or two; none: both. */
  readonly processes: number
  readonly rounds: number
  /** Objects that exist at once. */
  readonly living: number
  /** Whether Kinfold keeps the index of history, too, as `kinfold graph` does. */
  readonly index: number
  /** Whether Kafka Streams takes its turns. */
  readonly streams: number
}

/**
 * `two only writing` write the records of Kinfold's fold, with its log and store, and fold nothing
 * (copy-process.ts).
 */
const CONTENDERS = ['one process', 'two processes', 'two only writing', 'Kafka Streams'] as const
type ContenderName = (typeof CONTENDERS)[number]

interface Look {
  readonly atMs: number
  readonly folded: number
  readonly commits: number
  readonly clientCpu: number
  readonly brokerCpu: number
}

interface Measured {
  readonly contender: ContenderName
  readonly round: number
  /** From the start of its processes to the end. */
  readonly seconds: number
  /** Of the second half of all events, when everything is warm. */
  readonly perSecond: number
  readonly clientCpuPerMillion: number
  readonly brokerCpuPerMillion: number
  readonly eventsPerCommit: number
  /** At the end, and the most it ever was, of each process. */
  readonly residentMb: readonly number[]
  readonly peakMb: readonly number[]
}

/** The program of a turn. */
interface Runner extends AsyncDisposable {
  readonly pids: readonly number[]
  /** Calls `look` time and again until it answers true. */
  until(look: (folded: number, commits: number) => boolean): Promise<void>
}

const PROCESS = fileURLToPath(new URL('rig/fold-process.ts', import.meta.url))
const COPY_PROCESS = fileURLToPath(new URL('rig/copy-process.ts', import.meta.url))
/** For Node itself, such as a profiler's. */
const NODE_ARGS = (process.env['KINFOLD_BENCH_NODE_ARGS'] ?? '').split(' ').filter(Boolean)

export async function benchFold(options: FoldOptions): Promise<Report> {
  const contenders = contendersOf(options)
  const streamsFolder = contenders.includes('Kafka Streams') ? await buildStreamsPeer() : ''
  await using field = await startField()
  const measured: Measured[] = []
  let written: Written | undefined
  for (let round = 0; round < options.rounds; round++) {
    // The records that the others have to write are known from Kinfold's first turn.
    const start = round % contenders.length
    for (const name of [...contenders.slice(start), ...contenders.slice(0, start)]) {
      await using turn = await field.turn(
        `${round}-${CONTENDERS.indexOf(name)}`,
        options.partitions,
      )
      const ends = await fill(turn.log, options)
      const runner =
        name === 'Kafka Streams'
          ? await runStreams(field, turn, streamsFolder, shapesOf(written))
          : name === 'two only writing'
            ? await runCopies(field, turn, ends, shapesOf(written))
            : await runOurs(field, turn, ends, name === 'one process' ? 1 : 2, options)
      const events = ends.reduce((sum, end) => sum + end, 0)
      const result = await measure(field, runner, { contender: name, round, events })
      measured.push(result)
      say(`${name}, round ${round + 1}: ${rounded(result.perSecond)} events/s`)
      if (name === 'one process' || name === 'two processes')
        written ??= await writtenBy(turn.log, options.events)
    }
  }
  const tables = [speeds(measured, contenders)]
  if (written !== undefined) tables.push(writtenTable(written))
  return { bench: 'fold', options, machine: machine(), tables, measured: { measured, written } }
}

/** A contender that only writes takes part if all of Kinfold's do, or Streams does. */
function contendersOf({ processes, streams }: FoldOptions): readonly ContenderName[] {
  const takesPart: Readonly<Record<ContenderName, boolean>> = {
    'one process': processes === 0 || processes === 1,
    'two processes': processes === 0 || processes === 2,
    'two only writing': processes === 0 || streams > 0,
    'Kafka Streams': streams > 0,
  }
  return CONTENDERS.filter((name) => takesPart[name])
}

async function measure(
  field: Field,
  runner: Runner,
  { contender, round, events }: Pick<Measured, 'contender' | 'round'> & { readonly events: number },
): Promise<Measured> {
  await using running = runner
  const began = performance.now()
  const looks: Look[] = []
  let said = began
  await running.until((folded, commits) => {
    const clientCpu = running.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
    const atMs = performance.now()
    looks.push({ atMs, folded, commits, clientCpu, brokerCpu: field.brokerCpuSeconds() })
    if (atMs - said >= SAY_EVERY_MS) {
      said = atMs
      say(`${contender}: ${folded} of ${events}`)
    }
    return folded >= events
  })
  const last = looks.at(-1)!
  const half = looks.find(({ folded }) => folded >= events / 2)!
  const folded = Math.max(last.folded - half.folded, 1)
  const memory = running.pids.map(memoryOf)
  return {
    contender,
    round,
    seconds: (last.atMs - began) / 1_000,
    perSecond: (folded / (last.atMs - half.atMs)) * 1_000,
    clientCpuPerMillion: ((last.clientCpu - half.clientCpu) / folded) * 1e6,
    brokerCpuPerMillion: ((last.brokerCpu - half.brokerCpu) / folded) * 1e6,
    eventsPerCommit: folded / Math.max(last.commits - half.commits, 1),
    residentMb: memory.map(({ residentMb }) => residentMb),
    peakMb: memory.map(({ peakMb }) => peakMb),
  }
}

const SAY_EVERY_MS = 5_000

export async function startOurs(
  { brokers }: Field,
  { application, directory }: Turn,
  name: string,
  partitions: readonly number[],
  withIndex: boolean,
): Promise<Spoken<FoldLine>> {
  const given: FoldArguments = {
    ...{ brokers, application, partitions, withIndex },
    directory: join(directory, name),
  }
  return await startSpoken<FoldLine>({
    name: `the fold's process ${name}`,
    binary: process.execPath,
    args: [...NODE_ARGS, PROCESS, JSON.stringify(given)],
  })
}

async function runOurs(
  field: Field,
  turn: Turn,
  ends: readonly number[],
  processes: number,
  { index }: FoldOptions,
): Promise<Runner> {
  return await started(ends, processes, async (number, own) => {
    return await startOurs(field, turn, `graph-${number}`, own, index > 0)
  })
}

async function runCopies(
  { brokers }: Field,
  { application, directory }: Turn,
  ends: readonly number[],
  shapes: Shapes,
): Promise<Runner> {
  return await started(ends, 2, async (number, partitions) => {
    const name = `copy-${number}`
    const given: CopyArguments = {
      ...{ brokers, application, partitions, shapes, withIndex: false },
      directory: join(directory, name),
    }
    return await startSpoken<FoldLine>({
      name: `the process ${name}`,
      binary: process.execPath,
      args: [...NODE_ARGS, COPY_PROCESS, JSON.stringify(given)],
    })
  })
}

/** Processes that share the partitions. */
async function started(
  ends: readonly number[],
  processes: number,
  start: (number: number, own: readonly number[]) => Promise<Spoken<FoldLine>>,
): Promise<Runner> {
  const all = await Promise.all(
    Array.from({ length: processes }, async (_, number) => {
      const own = ends.map((_end, partition) => partition).filter((p) => p % processes === number)
      return await start(number, own)
    }),
  )
  return {
    pids: all.map(({ pid }) => pid),
    async until(look) {
      const lines: (FoldLine | undefined)[] = []
      const done = Promise.withResolvers<void>()
      const each = all.map((process, number) =>
        process.until((line) => {
          lines[number] = line
          const positions = lines.flatMap((one) => Object.entries(one?.positions ?? {}))
          const folded = positions.reduce((sum, [partition, position]) => {
            return sum + Math.min(position, ends[Number(partition)] ?? 0)
          }, 0)
          const commits = lines.reduce((sum, one) => sum + (one?.commits ?? 0), 0)
          if (look(folded, commits)) done.resolve()
          return false
        }),
      )
      await Promise.race([done.promise, ...each])
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((process) => process[Symbol.asyncDispose]()))
    },
  }
}

async function runStreams(
  { brokers }: Field,
  { application, directory }: Turn,
  folder: string,
  shapes: Shapes,
): Promise<Runner> {
  const peer = await startStreamsPeer({ folder, brokers, application, directory, shapes })
  return {
    pids: [peer.pid],
    until: async (look) => await peer.until(({ processed }: StreamsLine) => look(processed, 0)),
    [Symbol.asyncDispose]: async () => await peer[Symbol.asyncDispose](),
  }
}

/** The records that the program compared has to write, for an event. */
function shapesOf(written: Written | undefined): Shapes {
  if (written === undefined)
    throw new Error('what others are to write is known after a turn of ours')
  const { keys, topics } = written
  const [changes, lineage, history, commands] = [
    topics.changelog,
    topics.lineage,
    topics.history,
    topics.commands,
  ]
  return { keys, changes, lineage, history, commands }
}

function speeds(measured: readonly Measured[], contenders: readonly ContenderName[]): Table {
  const of = (name: ContenderName, which: (each: Measured) => number): number =>
    median(measured.filter(({ contender }) => contender === name).map(which))
  const rows = contenders.map((name) => {
    const each = measured.filter(({ contender }) => contender === name)
    const perSecond = of(name, (one) => one.perSecond)
    const megabytes = (which: 'residentMb' | 'peakMb'): string =>
      (each.at(-1)?.[which] ?? []).map((mb) => rounded(mb)).join(' + ')
    return [
      name,
      each.map((one) => rounded(one.perSecond)).join(' '),
      rounded(perSecond),
      contenders.includes('Kafka Streams')
        ? rounded(perSecond / of('Kafka Streams', (one) => one.perSecond), 2)
        : '',
      rounded(
        of(name, (one) => one.clientCpuPerMillion),
        1,
      ),
      rounded(
        of(name, (one) => one.brokerCpuPerMillion),
        1,
      ),
      name === 'Kafka Streams' ? '' : rounded(of(name, (one) => one.eventsPerCommit)),
      megabytes('residentMb'),
      megabytes('peakMb'),
    ]
  })
  return {
    title: 'Second half of all events: events per second, and CPU seconds per million of them',
    columns: [
      '',
      'rounds',
      'median',
      '/ Streams',
      'client CPU s',
      'broker CPU s',
      'events a commit',
      'MB at the end',
      'peak MB',
    ],
    rows,
  }
}

function writtenTable({ keys, topics }: Written): Table {
  return {
    title: `What a fold writes for an event, into a state of ${keys} keys a partition`,
    columns: ['topic', 'records', 'key bytes', 'value bytes'],
    rows: Object.entries(topics).map(([topic, { perEvent, keyBytes, valueBytes }]) => [
      topic,
      rounded(perEvent, 3),
      rounded(keyBytes),
      rounded(valueBytes),
    ]),
  }
}
