/**
 * The fold of one checkout in a process of its own, which folds a window of events whenever a line
 * comes in: for turns.ts.
 *
 * What must stay true: nothing of this checkout is loaded but what ROOT has, and how allocation is
 * measured; files are found by what they export, so that other versions can be measured whose files
 * lie elsewhere.
 *
 * Arguments: ROOT, `ownership`, `followed` or `cascade`, units a window, objects that exist at
 * once. A line `cpu` or `heap` on standard input folds a window; `TurnLine` on standard output says
 * what it took.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { allocatedBytes } from './profile/allocation.ts'

export interface TurnLine {
  /** Microseconds a unit, of all threads and of the main one; 0 for `heap`. */
  readonly cpu: number
  readonly main: number
  /** Bytes allocated a unit; 0 for `cpu`. */
  readonly allocated: number
}

/** The modules of a version that may be another one have no types here. */
// biome-ignore lint/suspicious/noExplicitAny: its classes and functions are found by name
type Any = any

const SOURCES = '{adapters,bench,cli,core,ports,runtime,services}/**/*.ts'
const COMMIT = 120
/** Of a whole cluster's pulse. */
const PULSE_EVERY = 4_000
const NOT_KNOWN = 2n ** 63n

const [root = '', stream = '', units = '', living = ''] = process.argv.slice(2)
const size = Number(units)
const directory = mkdtempSync(join(tmpdir(), 'kinfold-bench-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

const texts = new Map(
  globSync(SOURCES, { cwd: root })
    .filter((file) => !/node_modules|\.(test|contract)\.ts$/.test(file))
    .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const),
)
const parts = Object.assign(
  {},
  ...(await Promise.all(
    [
      ...['avroCodec', 'openLevelStore', 'becomeLean', 'systemClock', 'GatheringStore'],
      ...['giveOrder', 'Task', 'settled', 'CountedLog', 'Ownership', 'MemoryLog'],
      // A function in versions before it was a class.
      '(?:create)?HistoryIndex',
    ].map(moduleWith),
  )),
) as Any
parts.becomeLean()
const codec = parts.avroCodec()
const clock = parts.systemClock()
const field = await openField()
const told = new parts.Ownership(0, 1, Number(living))
let made = 0

for await (const line of createInterface({ input: process.stdin })) {
  const work = stream === 'cascade' ? await cascade() : ownership()
  const spent = await measured(work, line === 'heap')
  process.stdout.write(`${JSON.stringify(spent)}\n`)
}
process.exit(0)

async function moduleWith(name: string): Promise<object> {
  const exporting = new RegExp(`^export (?:async )?(?:function|class|const) ${name}\\b`, 'm')
  for (const [file, text] of texts) if (exporting.test(text)) return await import(join(root, file))
  throw new Error(`no file below ${root} exports ${name}`)
}

async function measured(work: () => Promise<void>, isHeap: boolean): Promise<TurnLine> {
  if (isHeap) return { cpu: 0, main: 0, allocated: (await allocatedBytes(work)) / size }
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()]
  await work()
  const [allAfter, mainAfter] = [process.cpuUsage(all), process.threadCpuUsage(main)]
  return {
    cpu: (allAfter.user + allAfter.system) / size,
    main: (mainAfter.user + mainAfter.system) / size,
    allocated: 0,
  }
}

function ownership(): () => Promise<void> {
  const records = Array.from({ length: size }, () => {
    if (made++ % PULSE_EVERY === 0) return record(parts.CLUSTER, parts.pulse())
    return recordOf(told.next())
  })
  return async () => await field.fold(records)
}

/** Another life each time. */
async function cascade(): Promise<() => Promise<void>> {
  const { added, owner, gone } = told.condemnation(size)
  await field.fold(added.map(recordOf))
  return async () => {
    const how = { type: 'Settle', outcome: 'done', reason: '', code: 200, object: null }
    field.answer = (commands: Any[]) => [
      ...commands.map((each) => record(each.cluster, parts.settled(each, how, 1))),
      ...commands.map(({ target }) => recordOf(gone(target.uid))),
    ]
    await field.fold([recordOf(owner)])
    field.answer = () => []
  }
}

function record(home: string, event: Any): Any {
  return { key: home, value: codec.encode(event) }
}

function recordOf({ home, event }: Any): Any {
  return record(home, event)
}

async function openStore(name: string): Promise<Any> {
  return await parts.openLevelStore({ directory: join(directory, name), identity: 'bench' })
}

/** Keeps what is written, for who follows it; a commit has as many events as with the other one. */
function keptLog(): Any {
  const log = new parts.MemoryLog({ partitions: 1, clock })
  const read = log.read.bind(log)
  log.read = async (topic: string, partition: number, from: bigint, options: Any, signal: Any) =>
    topic === 'events'
      ? await read(topic, partition, from, { ...options, limit: COMMIT }, signal)
      : await read(topic, partition, from, options, signal)
  return log
}

/** What every process with the graph keeps beside its tasks; resolves when it has read all. */
async function follower(log: Any): Promise<() => Promise<void>> {
  const over = [log, codec, clock, await openStore('index')]
  const index = parts.createHistoryIndex?.(...over) ?? new parts.HistoryIndex(...over)
  // Of versions in which each partition's histories have a store of their own.
  index.open?.(0, await openStore('histories'))
  void index.run(new AbortController().signal)
  return async () => {
    while ((await index.caughtUp()) > 0n);
  }
}

/** A task over its store, and a log in memory. */
async function openField(): Promise<Any> {
  const isFollowed = stream === 'followed'
  const log = isFollowed ? keptLog() : new parts.CountedLog(clock, COMMIT, false)
  const store = await openStore('store')
  const follow = isFollowed ? await follower(log) : async () => undefined
  let caughtUp = Promise.withResolvers<void>()
  // What is folded, and up to where a window has to be.
  let folded = 0n
  let end = 0n
  const look = (): void => {
    if (folded >= end) caughtUp.resolve()
  }
  let issued: Any[] = []
  const opened: Any = {
    answer: () => [],
    async fold(records: Any[]): Promise<void> {
      caughtUp = Promise.withResolvers()
      end = NOT_KNOWN
      await log.append('events', 0, records)
      end = (await log.bounds('events', 0)).end
      look()
      await caughtUp.promise
      await follow()
    },
  }
  const task = new parts.Task({
    ...{ log, codec, clock, partition: 0, store: new parts.GatheringStore(store, clock) },
    pace: { batchMs: Number.POSITIVE_INFINITY, gatherMs: 0, quietMs: 0 },
    observe: {
      folded: (_event: Any, _at: Any, { commands }: Any) => issued.push(...commands),
      committed: async (_records: Any, position: bigint) => {
        const commands = issued
        issued = []
        const answers = opened.answer(commands)
        if (answers.length > 0) await log.append('events', 0, answers)
        folded = position
        // Of a kept log what a commit adds itself ends with a marker that is never read.
        if (!isFollowed) end = (await log.bounds('events', 0)).end
        look()
      },
    },
  })
  void task.run(new AbortController().signal)
  await parts.giveOrder(log, codec, parts.POLICY, [0])
  await opened.fold(parts.beginning().map((event: Any) => record(parts.CLUSTER, event)))
  return opened
}
