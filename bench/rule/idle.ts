/**
 * Very many objects and 20 rules of which none has anything due, one that keeps the newest, one
 * about Nodes that are gone and the policy of a namespace among them: what does that cost while
 * nothing happens but heartbeats, beside no rules?
 *
 * What must stay true: one fold, of a real task over a real store, has all policies by turns, so
 * their CPU may be compared. Log time is the benchmark's own: an hour of heartbeats is folded as
 * fast as it can be, each in a commit of its own, as they come.
 *
 * Not here: what a watcher, a reaper and an idle event loop cost, rules or none (memory.ts,
 * holding.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openLevelStore } from '../../adapters/level/store.ts'
import { configRules } from '../../cli/config/config-rules.ts'
import { becomeLean } from '../../cli/process/lean-process.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { ObjectMeta, Pair } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { rulesOfKind } from '../../core/model/rule/rule.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Produced } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { GatheringStore } from '../../services/graph/fold/bytes/gathering-store.ts'
import { giveOrder } from '../../services/graph/fold/order.ts'
import { Task } from '../../services/graph/fold/task.ts'
import { kindNotation, object } from '../../testing/model/notation.ts'
import { policyIn } from '../../testing/model/rule-notation.ts'
import { CountedLog } from '../rig/counted-log.ts'
import { codec, record, say } from '../rig/kafka-field.ts'
import { beginning, CLUSTER, EPOCH, Ownership, POLICY, pulse } from '../rig/ownership.ts'
import type { Report } from '../rig/report.ts'
import { machine, median, rounded } from '../rig/report.ts'

export interface IdleOptions extends Readonly<Record<string, number>> {
  readonly objects: number
  /** Of log time, for each policy in each round. */
  readonly seconds: number
  readonly rounds: number
}

export interface Idle {
  readonly policy: PolicyText
  /** Until all objects are judged by it. */
  readonly takenOverMs: number
  /** CPU time of the heartbeats. */
  readonly idleMs: number
  readonly commands: number
}

const POLICIES = ['no rules', '20 rules', '20 rules, one reads the time'] as const
type PolicyText = (typeof POLICIES)[number]

/** A watcher's. */
const HEARTBEAT_MS = 5_000
/** Events that one commit holds at most. */
const COMMIT = 120
const CHUNK = 2_000
/** Until the store has done what it defers. */
const REST_MS = 5_000

const INSTANCE = 'app.kubernetes.io/instance'
const KINDS = ['Pod', 'ReplicaSet.apps']
const SELECTED = { kinds: KINDS, labels: INSTANCE }

/** Each object has a time at which most of them are due: in years. */
const TIMED: readonly object[] = [
  { match: SELECTED, after: '5000d' },
  { match: SELECTED, when: { 'status.phase': 'Running' }, after: '6000d' },
  { match: SELECTED, since: { field: 'status.startTime' }, after: '7000d' },
  { match: SELECTED, after: { seconds: 'spec.lifetime' } },
  { match: { ...SELECTED, exceptNamespaces: ['kube-*'] }, after: '8000d', for: '1h' },
]

/** None is selected by these, by a look at its labels, its annotations or its fields. */
const VAIN: readonly object[] = [
  { match: { kinds: KINDS, labels: 'ttl' }, after: '1h' },
  { match: { kinds: KINDS, labels: 'env in (preview,test)' }, after: '1h' },
  { match: { kinds: KINDS, annotations: { 'janitor/ttl': { exists: true } } }, after: '1h' },
  { match: { kinds: KINDS, namespaces: ['preview-*'] }, after: '1h' },
  { match: SELECTED, when: { 'status.phase': ['Failed', 'Succeeded'] }, after: '1h' },
  { match: SELECTED, since: { annotation: 'janitor/expires' } },
]

/** None of a controller has more, and the Node of all is there. */
const OF_OTHERS: readonly object[] = [
  { match: SELECTED, keep: { newest: 10, by: 'owner' } },
  {
    match: { kinds: ['Pod'], labels: INSTANCE },
    absent: { kind: 'Node', name: { field: 'spec.nodeName' } },
  },
]
const NODE = 'here'
const OTHER_KINDS = ['node', 'cleanup'].map(kindNotation)

const FAILED = 'object.status.phase == "Failed"'
const LATE = 'now - timestamp(object.status.startTime) > duration("100000h")'

function rulesFor(policy: PolicyText): readonly Rule[] {
  if (policy === 'no rules') return []
  const read = policy === '20 rules' ? FAILED : LATE
  // The others read the same, so that no object has to be read again.
  const last = [FAILED, 'has(object.status.startTime) && object.status.phase == "Failed"', read]
  // The last of twenty is a policy's.
  const all = [
    ...[...VAIN, ...VAIN.slice(3), ...OF_OTHERS, ...TIMED],
    ...last.map((expression) => ({ match: { ...SELECTED, expression }, after: '1h' })),
  ]
  const named = all.map((each, index) => ({ name: `rule-${index}`, ...each }))
  return configRules(named, 'rules')
}

export async function benchIdle(options: IdleOptions): Promise<Report> {
  becomeLean()
  await using field = await Field.open()
  await field.fill(options.objects)
  const all: Idle[] = []
  // What reads the time leaves timers behind, so it is the last.
  const [none, some, timed] = POLICIES
  const rounds = Array.from({ length: options.rounds }, () => [none, some]).flat()
  for (const policy of [...rounds, ...rounds.slice(0, options.rounds).map(() => timed)]) {
    all.push(await field.turn(policy, options.seconds))
  }
  return {
    bench: 'rules-idle',
    options,
    machine: machine(),
    tables: [
      {
        title: `CPU of the fold of ${options.objects} objects: of a second of log time with nothing but heartbeats, and until a new policy has judged all`,
        columns: ['', 'ms a second, rounds', 'median', '% of a core', 'taken over: µs an object'],
        rows: POLICIES.map((policy) => rowOf(policy, all, options)),
      },
    ],
    measured: all,
  }
}

function rowOf(policy: PolicyText, all: readonly Idle[], options: IdleOptions) {
  const own = all.filter((each) => each.policy === policy)
  const each = own.map(({ idleMs }) => idleMs / options.seconds)
  const taken = median(own.map(({ takenOverMs }) => takenOverMs))
  return [
    policy,
    each.map((ms) => rounded(ms, 2)).join(' '),
    rounded(median(each), 2),
    rounded(median(each) / 10, 2),
    rounded((taken * 1_000) / options.objects),
  ]
}

/** As a watcher reads them for these rules. */
function projectedFor(rules: readonly Rule[]): (object: ObjectMeta) => ObjectMeta {
  const pairs: readonly Pair[] = [
    { key: 'status.phase', value: 'Running' },
    { key: 'status.startTime', value: '2026-09-21T13:33:20Z' },
    { key: 'spec.nodeName', value: NODE },
  ]
  return (object) => {
    const reads = rulesOfKind(rules, object)?.reads.digest ?? ''
    return { ...object, projected: { reads, fields: pairs, policy: null } }
  }
}

class Field implements AsyncDisposable {
  readonly #log: CountedLog
  readonly #time: { now: number }
  readonly #closing = new AsyncDisposableStack()
  readonly #ended = new AbortController()
  #running: Promise<void> | undefined
  #commands = 0
  #caughtUp: PromiseWithResolvers<void> = Promise.withResolvers()

  private constructor(clock: Clock) {
    this.#time = { now: clock.now() }
    this.#log = new CountedLog({ ...clock, now: () => this.#time.now }, COMMIT)
  }

  static async open(): Promise<Field> {
    const clock = systemClock()
    const field = new Field(clock)
    const directory = await mkdtemp(join(tmpdir(), 'kinfold-bench-'))
    field.#closing.defer(async () => await rm(directory, { recursive: true, force: true }))
    const store = await openLevelStore({ directory: join(directory, 'store'), identity: 'bench' })
    field.#closing.use(store)
    const task = new Task({
      ...{ log: field.#log, codec, clock, partition: 0 },
      store: new GatheringStore(store, clock),
      pace: { batchMs: Number.POSITIVE_INFINITY, gatherMs: 0, quietMs: 0 },
      observe: {
        folded: (_event, _at, { commands }) => {
          field.#commands += commands.length
        },
        committed: (_records, position) => void field.#committed(position),
      },
    })
    field.#running = task.run(field.#ended.signal)
    await field.#order([])
    const events = [...beginning(OTHER_KINDS), seen(object(`node/${NODE}`, '1'))]
    await field.#fold(events.map((event) => record(CLUSTER, event)))
    return field
  }

  async fill(objects: number): Promise<void> {
    const told = new Ownership(0, 1, 1)
    const projected = projectedFor(rulesFor('20 rules'))
    for (let made = 0, records: Produced[] = []; made < objects; ) {
      for (const { home, event } of told.family()) {
        records.push(record(home, withObject(event, projected)))
        made += 1
      }
      if (records.length < CHUNK && made < objects) continue
      await this.#fold([...records, record(CLUSTER, pulse(OTHER_KINDS))])
      records = []
      if (made % 100_000 < CHUNK) say(`${made} objects`)
    }
  }

  async turn(policy: PolicyText, seconds: number): Promise<Idle> {
    const takenOverMs = await cpuMsOf(async () => {
      await this.#order(rulesFor(policy))
      await this.#setPolicy(policy !== 'no rules')
      await this.#heartbeat()
    })
    await delay(REST_MS)
    this.#commands = 0
    const idleMs = await cpuMsOf(async () => {
      for (let ms = 0; ms < seconds * 1_000; ms += HEARTBEAT_MS) await this.#heartbeat()
    })
    say(`${policy}: ${rounded(takenOverMs)} ms, then ${rounded(idleMs / seconds, 2)} ms a second`)
    return { policy, takenOverMs, idleMs, commands: this.#commands }
  }

  /** One of a namespace, about objects that are due in years. */
  async #setPolicy(isThere: boolean): Promise<void> {
    const read = policyIn(object('cleanup/old in team-0', '1'), 'pod 500000000 enforced')
    const gone = { ...told(), object: read, type: 'ObjectDeleted', ageMs: 0 } as const
    await this.#fold([record(CLUSTER, isThere ? seen(read) : gone)])
  }

  async #heartbeat(): Promise<void> {
    this.#time.now += HEARTBEAT_MS
    await this.#fold([record(CLUSTER, pulse(OTHER_KINDS))])
  }

  async #order(rules: readonly Rule[]): Promise<void> {
    await giveOrder(this.#log, codec, { ...POLICY, policy: { ...POLICY.policy, rules } }, [0])
  }

  /** Resolves once these and the records that follow from them are folded. */
  async #fold(records: readonly Produced[]): Promise<void> {
    this.#caughtUp = Promise.withResolvers()
    await this.#log.append('events', 0, records)
    await this.#caughtUp.promise
  }

  async #committed(position: bigint): Promise<void> {
    if ((await this.#log.bounds('events', 0)).end === position) this.#caughtUp.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#running
    await this.#closing.disposeAsync()
  }
}

function told(): { readonly cluster: string; readonly epoch: number } {
  return { cluster: CLUSTER, epoch: EPOCH }
}

function seen(of: ObjectMeta): LoggedEvent {
  return { type: 'ObjectAdded', ...told(), sync: null, object: of }
}

function withObject(event: LoggedEvent, change: (object: ObjectMeta) => ObjectMeta): LoggedEvent {
  return event.type === 'ObjectAdded' ? { ...event, object: change(event.object) } : event
}

async function cpuMsOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
