/**
 * A watcher over API servers in this process, on a clock that a test moves, with access to
 * everything it published.
 *
 * What must stay true: all parts are the real ones; only the wire is simulated, so it can be
 * counted, broken, and led to another server.
 */

import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import { MemoryLease } from '../../adapters/memory/lease.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Event } from '../../core/model/event.ts'
import type { ClusterId, GroupKind } from '../../core/model/object.ts'
import { type Assignments, readAssignments } from '../../ports/assignment.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Exchange, ExchangeRequest, ExchangeResponse } from '../../ports/exchange.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import type { Log, Topic } from '../../ports/log.ts'
import { LogError, type LogErrorCode } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { assignKey } from '../../ports/record/control-key.ts'
import type { PolicyCompiler } from '../../ports/record/projection.ts'
import type { Archived, Assignment, Control, Watermark } from '../../ports/record/service-record.ts'
import type { WatcherConfig } from '../../services/watcher/config.ts'
import type { ArchivedKinds } from '../../services/watcher/publish/deletion-archive.ts'
import type { Fields } from '../../services/watcher/status.ts'
import { createWatcher, type Watcher } from '../../services/watcher/watcher.ts'

/** Answers in the server's place; undefined leaves it to the server. */
export type Break = (
  request: ExchangeRequest,
) => ExchangeResponse | undefined | Promise<ExchangeResponse | undefined>

export interface RigOptions {
  readonly partitions?: number
  readonly config?: Partial<WatcherConfig>
  readonly archived?: ArchivedKinds
  readonly policyContent?: PolicyCompiler
}

const NEVER = new AbortController().signal
const STEP_MS = 100
const PATIENCE_MS = 10 * 60_000

export class WatcherRig {
  readonly clock: ManualClock = new ManualClock()
  readonly codec: Codec = avroCodec()
  readonly lease: MemoryLease = new MemoryLease()
  log: MemoryLog
  /**
   * Every request since the last `forget`, as `LIST pods`, `CHECK pods` (limit=1), `WATCH pods`,
   * `GET …`.
   */
  readonly requests: string[] = []
  readonly notes: { readonly message: string; readonly fields: Fields }[] = []
  readonly #config: Partial<WatcherConfig>
  readonly #archived: ArchivedKinds | undefined
  readonly #policyContent: Pick<RigOptions, 'policyContent'>
  /** Which server the wire leads to. */
  server: ApiServer
  broken: Break = () => undefined
  /** A topic that takes no appends for now. */
  stuck: Topic | null = null
  /** How it says so. */
  stuckBy: LogErrorCode = 'UNAVAILABLE'
  /** A topic that cannot be read for now. */
  unread: Topic | null = null
  #watcher: Watcher | undefined
  #running: Promise<void> | undefined
  #stop = new AbortController()
  #failure: unknown
  #connections = new AbortController()

  constructor(options: RigOptions = {}) {
    this.#config = options.config ?? {}
    this.#archived = options.archived
    const { policyContent } = options
    this.#policyContent = policyContent === undefined ? {} : { policyContent }
    this.log = new MemoryLog({ partitions: options.partitions ?? 1, clock: this.clock })
    this.server = this.newServer(1)
  }

  /** Servers of one seed give the same uids in the same order, so the same identity. */
  newServer(seed: number, historyLimit?: number): ApiServer {
    const random = seeded(seed)
    const options = { clock: this.clock, random, name: `server-${seed}` }
    return new ApiServer(historyLimit === undefined ? options : { ...options, historyLimit })
  }

  /** A watcher as after a start of the process; only log and lease outlive it. */
  start(): Watcher {
    this.#stop = new AbortController()
    this.#failure = undefined
    const watcher = createWatcher({
      cluster: this.cluster(),
      log: this.#stickable(this.log),
      codec: this.codec,
      clock: this.clock,
      random: seeded(99),
      lease: this.lease,
      config: this.#config,
      archived: this.#archived,
      observe: { note: (_level, message, fields) => void this.notes.push({ message, fields }) },
    })
    this.#watcher = watcher
    this.#running = watcher.run(this.#stop.signal).catch((error: unknown) => {
      this.#failure = error
    })
    return watcher
  }

  cluster(): Cluster {
    return openCluster({
      name: 'rig',
      ...this.#policyContent,
      exchange: this.#exchange(),
      clock: this.clock,
      random: seeded(7),
    })
  }

  get watcher(): Watcher {
    if (this.#watcher === undefined) throw new Error('No watcher was started.')
    return this.#watcher
  }

  /** The error with which `run` rejected. */
  get failure(): unknown {
    return this.#failure
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('The test is done with it.'))
    await this.until(() => this.#running?.then(() => true) ?? true, 'the watcher stops')
  }

  /** The process dies: nothing more of this watcher gets to the log. */
  async crash(): Promise<void> {
    this.log = this.log.reopen()
    await this.stop()
  }

  /** Breaks every connection. */
  cut(): void {
    this.#connections.abort(new ExchangeError('CUT', 'The connection was cut.'))
    this.#connections = new AbortController()
  }

  forget(): void {
    this.requests.length = 0
  }

  /** Moves time on until `claim` holds. */
  async until(claim: () => boolean | Promise<boolean>, what: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += STEP_MS) {
      const holds = claim()
      if (holds === true) return
      const settled = holds === false ? false : await Promise.race([holds, this.#later()])
      if (settled) return
      await this.clock.advance(STEP_MS)
    }
    throw new Error(`This never came: ${what}.`)
  }

  async #later(): Promise<false> {
    await this.clock.advance(STEP_MS)
    return false
  }

  /** Until all kinds are followed and no event waits to be published. */
  async synced(): Promise<void> {
    const isSynced = (): boolean => {
      const { kinds, connected } = this.watcher.status()
      return connected && kinds.length > 0 && kinds.every((kind) => kind.state === 'watching')
    }
    await this.until(isSynced, 'all kinds are watched')
    await this.clock.advance(2_000)
  }

  kind(name: string): ReturnType<Watcher['status']>['kinds'][number] | undefined {
    return this.watcher.status().kinds.find((kind) => kind.kind === name)
  }

  async archive(): Promise<readonly Archived[]> {
    return await this.#records<Archived>('archive', 0)
  }

  async events(partition: number = 0): Promise<readonly Event[]> {
    return await this.#records<Event>('events', partition)
  }

  /**
   * Of one kind, without heartbeats and the like; each as `Type name`, `SyncStarted`, `Touched n`.
   */
  async told(kind: string, partition: number = 0): Promise<readonly string[]> {
    return (await this.events(partition)).flatMap((event) => shown(event, kind))
  }

  async control(): Promise<readonly Control[]> {
    const records = await this.#records<Control | Assignment>('control', 0)
    return records.filter((record) => record.type === 'Control')
  }

  async assignments(): Promise<Assignments> {
    return await readAssignments(this.log, this.codec)
  }

  /** As the watcher of that cluster records it. */
  async assign(cluster: ClusterId, partition: number, objects: number = 0): Promise<void> {
    const value = this.codec.encode({ type: 'Assignment', cluster, partition, objects })
    await this.log.append('control', 0, [{ key: assignKey(cluster), value }])
  }

  async watermarks(): Promise<readonly Watermark[]> {
    const entries = await this.log.latest('watermarks', 0)
    return entries.flatMap(({ value }) => {
      const record = value === null ? undefined : this.codec.decode(value)
      return record?.type === 'Watermark' ? [record] : []
    })
  }

  async askRelist(cluster: ClusterId, kind: GroupKind, number: number): Promise<void> {
    const value = this.codec.encode({
      type: 'Control',
      protection: null,
      mode: null,
      verb: 'relist',
      cluster,
      kind,
      number,
      connected: false,
      who: 'test',
      why: 'a doubt',
    })
    await this.log.append('control', 0, [
      { key: `relist/${cluster}/${kind.group}/${kind.kind}`, value },
    ])
  }

  async create(path: string, name: string, rest: object = {}): Promise<void> {
    const body = { metadata: { name, ...('metadata' in rest ? (rest.metadata as object) : {}) } }
    await this.#write('POST', path, { ...rest, ...body })
  }

  async patch(path: string, body: object): Promise<void> {
    await this.#write('PATCH', path, body, 'application/merge-patch+json')
  }

  async remove(path: string): Promise<void> {
    await this.#write('DELETE', path, { propagationPolicy: 'Background' })
  }

  async #write(
    method: string,
    path: string,
    body: object,
    type = 'application/json',
  ): Promise<void> {
    const headers = { 'content-type': type, accept: 'application/json' }
    const request = { method, path, headers, body: JSON.stringify(body) }
    const response = await this.server.handle(request, NEVER)
    const text = await new Response(ReadableStream.from(response.body)).text()
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  }

  async #records<T>(topic: Topic, partition: number): Promise<readonly T[]> {
    const page = await this.log.read(topic, partition, 0n, { limit: 1_000_000, waitMs: 0 })
    return page.entries.flatMap(({ value }) => {
      return value === null ? [] : [this.codec.decode(value) as T]
    })
  }

  #stickable(log: MemoryLog): Log {
    const append: Log['append'] = (topic, partition, records) => {
      if (topic !== this.stuck) return log.append(topic, partition, records)
      return Promise.reject(new LogError(this.stuckBy, `${topic} takes nothing for now.`))
    }
    const end: Log['end'] = (topic, partition) => {
      if (topic !== this.unread) return log.end(topic, partition)
      return Promise.reject(new LogError('UNAVAILABLE', `${topic} cannot be read for now.`))
    }
    return new Proxy<Log>(log, {
      get(target, name) {
        if (name === 'append') return append
        if (name === 'end') return end
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }

  #exchange(): Exchange {
    const rig = this
    return {
      async request(request, signal) {
        rig.requests.push(nameOf(request))
        const answer = await rig.broken(request)
        const until = AbortSignal.any([signal, rig.#connections.signal])
        const given = answer ?? (await memoryExchange(rig.server).request(request, until))
        return { ...given, body: untilAborted(given.body, until) }
      },
      async [Symbol.asyncDispose]() {},
    }
  }
}

/** An answer as a server gives it. */
export function answered(
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): ExchangeResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: (async function* () {
      yield new TextEncoder().encode(text)
    })(),
  }
}

/** A body that never comes. */
export async function* silence(): AsyncGenerator<Uint8Array> {
  await new Promise(() => undefined)
  yield new Uint8Array()
}

/** As a connection does it: an abort ends the body at once, whatever the server is doing. */
async function* untilAborted(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const aborted = Promise.withResolvers<never>()
  aborted.promise.catch(() => undefined)
  signal.addEventListener('abort', () => aborted.reject(signal.reason), { once: true })
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([chunks.next(), aborted.promise])
    if (next.done === true) return
    yield next.value
  }
}

function nameOf(request: ExchangeRequest): string {
  const url = new URL(request.path, 'http://rig')
  const parts = url.pathname.split('/').slice(1)
  const resource = parts[parts[0] === 'api' ? 2 : 3]
  if (resource === undefined) return `GET ${url.pathname}`
  if (parts.length > (parts[0] === 'api' ? 3 : 4)) return `${request.method} ${url.pathname}`
  if (url.searchParams.has('watch')) return `WATCH ${resource}`
  return url.searchParams.get('limit') === '1' ? `CHECK ${resource}` : `LIST ${resource}`
}

function shown(event: Event, kind: string): readonly string[] {
  switch (event.type) {
    case 'ObjectAdded':
    case 'ObjectUpdated':
    case 'ObjectDeleted':
      return event.object.kind === kind ? [`${event.type} ${event.object.name}`] : []
    case 'Touched':
      return event.kind === kind ? [`Touched ${event.entries.length}`] : []
    case 'SyncStarted':
    case 'SyncFinished':
    case 'KindServed':
    case 'KindGone':
      return event.kind === kind ? [event.type] : []
    default:
      return []
  }
}

/** A small generator of our own: the same numbers for the same seed. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  return {
    next() {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    },
  }
}
