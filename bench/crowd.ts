/**
 * Many clusters over one real Kafka and some graph processes: what a silent cluster costs, how many
 * ownership events all of them together take, what moves to a process that joins under load and for
 * how long no cluster was answered meanwhile, and how long it takes until every cluster answers
 * again when a process is killed. In the end all is folded again from the log, and compared.
 *
 * What must stay true: the processes are `kinfold graph` as it is; the events of a cluster are what
 * its watcher publishes, in appends of their own. No API server, watcher or reaper runs: those cost
 * what first-list.ts, memory.ts and cascade.ts say.
 */
import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { KafkaLog } from '../adapters/kafka/log.ts'
import type { LoggedEvent } from '../core/model/event.ts'
import type { ClusterId } from '../core/model/object.ts'
import type { Topic } from '../ports/log.ts'
import { giveOrder } from '../services/graph/fold/order.ts'
import { ServiceProcess } from '../testing/process/kinfold-services.ts'
import { assign, call } from '../testing/rig/task-rig.ts'
import {
  codec,
  everyPartition,
  type Field,
  record,
  say,
  startField,
  type Turn,
} from './rig/kafka-field.ts'
import { beginning, CLUSTER, Ownership, POLICY, pulse, type Told } from './rig/ownership.ts'
import { cpuSeconds, memoryOf } from './rig/process-usage.ts'
import { machine, type Report, rounded, type Table } from './rig/report.ts'

export interface CrowdOptions extends Readonly<Record<string, number>> {
  readonly clusters: number
  /** Of each cluster. */
  readonly objects: number
  readonly partitions: number
  readonly processes: number
  /** Seconds in which nothing happens but heartbeats. */
  readonly silent: number
  /** Of all clusters together, once they are no longer silent. */
  readonly events: number
}

/** What graph processes and broker have used until a moment, and what is on the log by then. */
interface Look {
  readonly atMs: number
  readonly graphCpu: number
  readonly brokerCpu: number
  readonly offsets: Readonly<Record<string, number>>
  /** On disk: topics, and the stores of all processes. */
  readonly brokerBytes: number
  readonly storeBytes: number
}

interface Spell {
  readonly from: Look
  readonly to: Look
}

const MAIN = join(import.meta.dirname, '..', 'cli', 'main.ts')
const run = promisify(execFile)
const HEARTBEAT_MS = 5_000
/** Of one cluster in one append. */
const CHUNK = 500
/** Appends under way at once. */
const APPENDS = 64
/** Objects of a cluster that come and go while it is not silent. */
const LIVING = 20
const LOOK_MS = 200
/** Until the first processes are ready, and what each object may take on a busy machine. */
const START_MS = 60_000
const OBJECT_MS = 2
const SHOWN: readonly Topic[] = ['events', 'changelog', 'history', 'lineage', 'commands', 'former']

export async function benchCrowd(options: CrowdOptions): Promise<Report> {
  await using field = await startField()
  await using turn = await field.turn('crowd', options.partitions)
  const crowd = new Crowd(turn.log, options)
  await using group = new Graphs(field, turn, options)
  await crowd.appear()
  say('the clusters are on the log')
  const now = async (): Promise<Look> => await look(field, turn, group)
  const spell = async (work: () => Promise<void>): Promise<Spell> => {
    const from = await now()
    await work()
    return { from, to: await now() }
  }
  const first = await spell(async () => {
    await group.start()
    await group.folded(turn.log)
    await answered(group.running, crowd.names)
  })
  say(`all clusters are folded and answer: ${rounded(secondsOf(first), 1)} s`)
  const beat = crowd.beating()
  const silent = await spell(() => delay(options.silent * 1_000))
  const ordered = await spell(async () => {
    await crowd.order()
    await group.folded(turn.log)
  })
  say(`an order to all is folded after ${rounded(secondsOf(ordered), 1)} s; no longer silent`)
  const busy = await spell(async () => {
    await crowd.act(options.events)
    await group.folded(turn.log)
  })
  const memory = group.running.map(({ pid }) => rounded(memoryOf(pid).residentMb))
  say(`one process joins those of ${memory.join(', ')} MB`)
  const moved = await movedTo(group, crowd, options)
  say(`it has its share after ${rounded(moved.afterMs / 1_000, 1)} s; one process is killed`)
  const [killed] = group.running
  const beganMs = performance.now()
  await killed?.kill()
  // One of each partition: all clusters of a partition are answered by the same process.
  await answered(group.running, crowd.names.slice(0, options.partitions))
  const againMs = performance.now() - beganMs
  say(`each partition answers again after ${rounded(againMs / 1_000, 1)} s`)
  await answered(group.running, crowd.names)
  await beat.stop()
  await group.folded(turn.log)
  say('all is folded again from the log')
  const verified = await verify(field, turn)
  const objects = options.clusters * options.objects
  const rows = [
    ['all folded the first time, and each cluster answers: s', rounded(secondsOf(first), 1)],
    ['MB of each graph process', memory.join(', ')],
    ['an order to all: every partition has folded it after s', rounded(secondsOf(ordered), 1)],
    ['one more process under load: it has its share after s', rounded(moved.afterMs / 1_000, 1)],
    ['partitions that moved to it', moved.partitions],
    ['questions that were refused meanwhile', moved.refused],
    ['longest between two answers about a cluster, ms, before and then', moved.silentMs.join(', ')],
    ['one process killed: each partition answers again after s', rounded(againMs / 1_000, 1)],
    ['all folded again from the log', verified],
    ['bytes of the broker for an object', rounded(first.to.brokerBytes / objects)],
    [
      'bytes of the broker for a silent cluster, each second',
      rounded(bytesOf(silent) / secondsOf(silent) / options.clusters, 1),
    ],
    ['bytes of the broker for an event', rounded(bytesOf(busy) / options.events)],
    ['bytes of all stores for an object', rounded(first.to.storeBytes / objects)],
  ]
  return {
    ...{ bench: 'crowd', options, machine: machine() },
    tables: [costs(options, silent, busy), { title: 'And', columns: ['', ''], rows }],
    measured: { first, silent, ordered, busy, memory, moved, againMs, verified },
  }
}

/** What the watchers of so many clusters publish. */
class Crowd {
  readonly names: readonly string[]
  readonly #log: KafkaLog
  readonly #options: CrowdOptions
  readonly #lives: readonly Ownership[]

  constructor(log: KafkaLog, options: CrowdOptions) {
    this.#log = log
    this.#options = options
    const numbers = everyPartition(options.clusters, (number) => number)
    this.names = numbers.map((number) => `crowd-${number}`)
    this.#lives = numbers.map(() => new Ownership(1, 2, LIVING))
  }

  /** Each cluster is watched, and its objects are there; one family is for questions. */
  async appear(): Promise<void> {
    await this.order()
    await this.#each(async (number) => {
      await assign(this.#log, clusterOf(number), number % this.#options.partitions)
      await call(this.#log, clusterOf(number), this.names[number] ?? '')
      await this.#append(number, beginning())
      const steady = [...new Ownership(0, 2, 1).family()]
      await this.#tell(number, steady)
      const lives = this.#lives[number]
      for (let left = this.#options.objects - steady.length; left > 0; ) {
        const told: Told[] = []
        while (told.length < Math.min(left, CHUNK)) told.push(...(lives?.family() ?? []))
        await this.#tell(number, told)
        left -= told.length
      }
    })
  }

  /** The policy, to all partitions. */
  async order(): Promise<void> {
    const all = everyPartition(this.#options.partitions, (partition) => partition)
    await giveOrder(this.#log, codec, POLICY, all)
  }

  /** Until it is stopped. */
  beating(): { stop(): Promise<void> } {
    const stop = new AbortController()
    const beating = (async () => {
      while (!stop.signal.aborted) {
        const beganMs = performance.now()
        await this.#each((number) => this.#append(number, [pulse()]))
        const restMs = Math.max(0, HEARTBEAT_MS - (performance.now() - beganMs))
        await delay(restMs, undefined, { signal: stop.signal }).catch(() => undefined)
      }
    })()
    return {
      stop: async () => {
        stop.abort()
        await beating
      },
    }
  }

  /** As many of each cluster. */
  async act(events: number): Promise<void> {
    const share = Math.ceil(events / this.#options.clusters)
    await this.#each(async (number) => {
      const lives = this.#lives[number]
      const told = everyPartition(share, () => lives?.next()).flatMap((each) => each ?? [])
      for (let from = 0; from < told.length; from += CHUNK) {
        await this.#tell(number, told.slice(from, from + CHUNK))
      }
    })
  }

  /** So many events of all clusters together each second, until it is stopped. */
  acting(eventsPerSecond: number): { stop(): Promise<void> } {
    const stop = new AbortController()
    const acting = (async () => {
      while (!stop.signal.aborted) {
        const beganMs = performance.now()
        await this.act(eventsPerSecond)
        await delay(Math.max(0, 1_000 - (performance.now() - beganMs)))
      }
    })()
    return {
      stop: async () => {
        stop.abort()
        await acting
      },
    }
  }

  async #each(work: (number: number) => Promise<void>): Promise<void> {
    const numbers = this.names.keys()
    const taking = async (): Promise<void> => {
      for (const number of numbers) await work(number)
    }
    await Promise.all(everyPartition(APPENDS, taking))
  }

  async #tell(number: number, told: readonly Told[]): Promise<void> {
    await this.#write(
      number,
      told.map(({ home, event }) => [home, event] as const),
    )
  }

  async #append(number: number, events: readonly LoggedEvent[]): Promise<void> {
    await this.#write(
      number,
      events.map((event) => [`${CLUSTER}/`, event] as const),
    )
  }

  /** Of this cluster, whatever cluster they were made for. */
  async #write(
    number: number,
    events: readonly (readonly [home: string, event: LoggedEvent])[],
  ): Promise<void> {
    const cluster = clusterOf(number)
    const records = events.map(([home, event]) => {
      const own = { ...event, cluster } as LoggedEvent
      const named = own.type === 'WatcherStarted' ? { ...own, name: this.names[number] ?? '' } : own
      return record(home.replace(CLUSTER, cluster), named)
    })
    await this.#log.append('events', number % this.#options.partitions, records)
  }
}

function clusterOf(number: number): ClusterId {
  return `${number.toString(16).padStart(8, '0')}${CLUSTER.slice(8)}`
}

/** `kinfold graph`, so many times. */
class Graphs implements AsyncDisposable {
  readonly #all: readonly ServiceProcess[]

  /** Joins later than the others. */
  readonly #last: ServiceProcess
  readonly #readyMs: number

  constructor({ brokers }: Field, { application, directory }: Turn, options: CrowdOptions) {
    const { partitions, processes, clusters, objects } = options
    this.#readyMs = START_MS + clusters * objects * OBJECT_MS
    const all = everyPartition(processes + 1, (number) => {
      const shared = { brokers, application, partitions, folder: directory, kubeconfig: '' }
      return new ServiceProcess('graph', number, { ...shared, each: processes, standbys: 1 })
    })
    this.#all = all.slice(0, processes)
    this.#last = all[processes]!
  }

  get running(): readonly ServiceProcess[] {
    return [...this.#all, this.#last].filter(({ isRunning }) => isRunning)
  }

  async start(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.start()))
    await Promise.all(this.#all.map((each) => each.ready(this.#readyMs)))
  }

  /** All that is on the log by now. */
  async folded(log: KafkaLog): Promise<void> {
    const ends = await endsOf(log, 'events')
    for (;;) {
      const texts = await Promise.all(
        this.running.map(async (each) => await (await each.ask('/metrics')).text()),
      )
      const positions = positionsIn(texts)
      if (ends.every((end, partition) => (positions.get(partition) ?? 0) >= end)) return
      await delay(LOOK_MS)
    }
  }

  /** One process more: until it folds so many partitions. */
  async join(partitions: number): Promise<void> {
    await this.#last.start()
    await this.#last.ready(this.#readyMs)
    for (;;) {
      const text = await (await this.#last.ask('/metrics')).text()
      if (positionsIn([text]).size >= partitions) return
      await delay(LOOK_MS)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all, this.#last].map((each) => each.kill()))
  }
}

/** A process joins while events come, and some clusters are asked for again and again. */
async function movedTo(
  group: Graphs,
  crowd: Crowd,
  { partitions, processes }: CrowdOptions,
): Promise<Moved> {
  const asking = new Asking(group.running, crowd.names.slice(0, partitions))
  const busy = crowd.acting(PACED_EVENTS)
  await delay(CALM_MS)
  const before = asking.take()
  const share = Math.floor(partitions / (processes + 1))
  const beganMs = performance.now()
  try {
    await group.join(share)
  } catch (error) {
    // Before what they use is closed.
    await Promise.all([asking.stop(), busy.stop()])
    throw error
  }
  const afterMs = performance.now() - beganMs
  await delay(CALM_MS)
  const then = asking.take()
  await Promise.all([asking.stop(), busy.stop()])
  const silentMs = [before, then].map(({ longestMs }) => rounded(longestMs))
  return { afterMs, partitions: share, silentMs, refused: then.refused }
}

interface Moved {
  readonly afterMs: number
  readonly partitions: number
  readonly silentMs: readonly number[]
  readonly refused: number
}

/** Of all clusters together in a second, while a process joins. */
const PACED_EVENTS = 400
/** Before and after that. */
const CALM_MS = 10_000

/** Asks for each of some clusters one time after the other. */
class Asking {
  #longestMs = 0
  #refused = 0
  #isOver = false
  readonly #asking: Promise<unknown>

  constructor(processes: readonly ServiceProcess[], names: readonly string[]) {
    this.#asking = Promise.all(
      names.map(async (name, number) => {
        let answeredMs = performance.now()
        while (!this.#isOver) {
          const isAnswered = await isAnswering(processes[number % processes.length], name)
          const nowMs = performance.now()
          if (isAnswered) {
            this.#longestMs = Math.max(this.#longestMs, nowMs - answeredMs)
            answeredMs = nowMs
          } else this.#refused += 1
          await delay(LOOK_MS)
        }
      }),
    )
  }

  /** Since the last time: the longest between two answers about one cluster, and refusals. */
  take(): { readonly longestMs: number; readonly refused: number } {
    const taken = { longestMs: this.#longestMs, refused: this.#refused }
    this.#longestMs = this.#refused = 0
    return taken
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#asking
  }
}

/** What `kinfold audit verify` says of the log. */
async function verify({ brokers }: Field, { application }: Turn): Promise<string> {
  const args = ['audit', 'verify', '--brokers', brokers.join(','), '--application', application]
  const { stdout } = await run(process.execPath, [MAIN, ...args, '--insecure'])
  const lines = stdout.split('\n').filter((line) => line.startsWith('partition '))
  const same = lines.filter((line) => line.includes('identical'))
  return `${same.length} of ${lines.length} partitions identical`
}

/** The position of each partition, as metrics have it. */
function positionsIn(texts: readonly string[]): ReadonlyMap<number, number> {
  const positions = new Map<number, number>()
  for (const text of texts) {
    for (const [, labels = '', value] of text.matchAll(
      /^kinfold_replay_position\{(.*)\} (\d+)/gm,
    )) {
      const partition = Number(/partition="(\d+)"/.exec(labels)?.[1])
      positions.set(partition, Math.max(Number(value), positions.get(partition) ?? 0))
    }
  }
  return positions
}

/** A family of each cluster is asked for, of the processes in turn, until each was answered. */
async function answered(
  processes: readonly ServiceProcess[],
  names: readonly string[],
): Promise<void> {
  const left = [...names.keys()]
  const asking = async (): Promise<void> => {
    for (let number = left.pop(); number !== undefined; number = left.pop()) {
      if (await isAnswering(processes[number % processes.length], names[number] ?? '')) continue
      left.unshift(number)
      await delay(LOOK_MS)
    }
  }
  await Promise.all(everyPartition(ASKERS, asking))
}

const ASKERS = 8

/** About the family that each cluster keeps. */
async function isAnswering(asked: ServiceProcess | undefined, cluster: string): Promise<boolean> {
  const [owner] = new Ownership(0, 2, 1).family()
  if (owner?.event.type !== 'ObjectAdded') throw new Error('a family begins with its owner')
  const { name, namespace } = owner.event.object
  const query = new URLSearchParams({ kind: 'pod', namespace, name: `${name}-1`, cluster })
  const answer = asked?.ask(`/v1/tree?${query}`).then(
    async (response) => {
      await response.body?.cancel()
      return response.status === 200
    },
    () => false,
  )
  return (await answer) ?? false
}

async function look(field: Field, turn: Turn, graphs: Graphs): Promise<Look> {
  const offsets = await Promise.all(
    SHOWN.map(async (topic) => {
      const ends = await endsOf(turn.log, topic)
      return [topic, ends.reduce((sum, end) => sum + end, 0)] as const
    }),
  )
  return {
    atMs: performance.now(),
    graphCpu: graphs.running.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    brokerCpu: field.brokerCpuSeconds(),
    offsets: Object.fromEntries(offsets),
    brokerBytes: await bytesUnder(field.kafka.folder, turn.application),
    storeBytes: await bytesUnder(turn.directory),
  }
}

async function endsOf(log: KafkaLog, topic: Topic): Promise<readonly number[]> {
  const bounds = everyPartition(log.partitions(topic), (partition) => log.bounds(topic, partition))
  return (await Promise.all(bounds)).map(({ end }) => Number(end))
}

function costs({ clusters, events }: CrowdOptions, silent: Spell, busy: Spell): Table {
  const perCluster = (used: number): number =>
    rounded((used / secondsOf(silent) / clusters) * 1_000, 3)
  const perEvent = (used: number): number => rounded((used / events) * 1e6, 1)
  return {
    title: 'A silent cluster each second, and an ownership event of all clusters together',
    columns: ['', 'silent', 'an event'],
    rows: [
      [
        'CPU of the graph, ms and µs',
        perCluster(silent.to.graphCpu - silent.from.graphCpu),
        perEvent(busy.to.graphCpu - busy.from.graphCpu),
      ],
      [
        'CPU of the broker, ms and µs',
        perCluster(silent.to.brokerCpu - silent.from.brokerCpu),
        perEvent(busy.to.brokerCpu - busy.from.brokerCpu),
      ],
      [
        'offsets, markers of transactions included',
        rounded(offsetsOf(silent) / secondsOf(silent) / clusters, 2),
        rounded(offsetsOf(busy) / events, 2),
      ],
      ['events a second', '', rounded(events / secondsOf(busy))],
    ],
  }
}

/** As the disk counts; indexes of topics are longer than what is in them. */
async function bytesUnder(folder: string, within = ''): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => path.includes(within))
  const blocks = paths.map(
    async (path) =>
      await stat(path).then(
        (it) => it.blocks,
        () => 0,
      ),
  )
  return (await Promise.all(blocks)).reduce((sum, each) => sum + each * BLOCK, 0)
}

const BLOCK = 512

function bytesOf({ from, to }: Spell): number {
  return to.brokerBytes - from.brokerBytes
}

function secondsOf({ from, to }: Spell): number {
  return (to.atMs - from.atMs) / 1_000
}

function offsetsOf({ from, to }: Spell): number {
  return SHOWN.reduce((sum, topic) => {
    return sum + (to.offsets[topic] ?? 0) - (from.offsets[topic] ?? 0)
  }, 0)
}
