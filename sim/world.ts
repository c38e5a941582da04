/**
 * A whole Kinfold over an API server in this process, and everything that can go wrong between the two, drawn from one seed.
 *
 * What must stay true: all parts are the real ones, only wire, log and time are ours. The judge looks at the server's own state in the
 * moment of each effect and shares nothing with the graph.
 *
 * Not here: what users do (workload.ts), several clusters, disks.
 */
import { avroCodec } from '../adapters/avro/codec.ts'
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import type { ApiObject, Effect } from '../adapters/memory/api-server.ts'
import { ApiServer } from '../adapters/memory/api-server.ts'
import { ManualClock } from '../adapters/memory/clock.ts'
import { memoryExchange } from '../adapters/memory/exchange.ts'
import { MemoryLease } from '../adapters/memory/lease.ts'
import { MemoryLog } from '../adapters/memory/log.ts'
import type { MemoryStoreContent } from '../adapters/memory/store.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { check } from '../core/check.ts'
import type { Mode } from '../core/policy.ts'
import { policyFor } from '../core/policy.ts'
import type { StateValue } from '../core/state.ts'
import type { Codec } from '../ports/codec.ts'
import type { Exchange, ExchangeRequest, ExchangeResponse } from '../ports/exchange.ts'
import { ExchangeError } from '../ports/exchange.ts'
import type { Log } from '../ports/log.ts'
import { LogError } from '../ports/log.ts'
import { ensurePolicy } from '../services/graph/graph.ts'
import { Task } from '../services/graph/task.ts'
import { createReaper } from '../services/reaper/reaper.ts'
import type { Watcher } from '../services/watcher/watcher.ts'
import { createWatcher } from '../services/watcher/watcher.ts'
import type { Chance } from '../testing/seeded.ts'
import { seeded } from '../testing/seeded.ts'
import { objectionTo } from './oracle.ts'

export interface WorldOptions {
  readonly seed: number
  readonly partitions?: number
  readonly mode?: Mode
  /** Chance of each call to the server, and of each append, to go wrong. */
  readonly troubles?: number
}

/** One process: what it runs, and how it dies. */
interface Process {
  readonly stop: AbortController
  readonly wire: AbortController
  readonly watcher: Watcher
  readonly tasks: readonly Task[]
  readonly ended: Promise<void>
}

export class WholeWorld {
  readonly chance: Chance
  readonly clock: ManualClock = new ManualClock()
  readonly codec: Codec = avroCodec()
  readonly partitions: number
  mode: Mode
  server: ApiServer
  log: MemoryLog
  /** The wire and the log misbehave. */
  isTroubled = false
  /** Nobody answers at the other end. */
  isDown = false
  /** Called right before a DELETE or PATCH of Kinfold's takes effect: users act at awkward moments. */
  beforeEffect: (request: ExchangeRequest) => void = () => undefined
  /** Wrong effects, and processes that failed. Empty when all is well. */
  readonly wrongs: string[] = []
  /** What Kinfold removed or asked to be removed, by name. */
  readonly reaped: string[] = []
  requests = 0
  readonly #troubles: number
  readonly #waited = new Set<string>()
  readonly #orphaned = new Map<string, ApiObject>()
  readonly #onceOrphaned = new Map<string, ApiObject>()
  #stores: MemoryStoreContent[] = []
  #process: Process | undefined
  #acting: ExchangeRequest | undefined
  #connections = new AbortController()

  constructor({ seed, partitions = 1, mode = 'enforce', troubles = 0.05 }: WorldOptions) {
    this.chance = seeded(seed)
    this.partitions = partitions
    this.mode = mode
    this.#troubles = troubles
    this.log = new MemoryLog({ partitions, clock: this.clock })
    this.server = this.newServer(seed)
  }

  /** Servers of one seed give the same uids and versions in the same order: what one of them held, restored in another. */
  newServer(seed: number): ApiServer {
    const random = seeded(seed ^ 0x5eed)
    const options = { clock: this.clock, random, name: 'world', historyLimit: 400 }
    const server = new ApiServer(options)
    server.observe((effect) => this.#judge(effect))
    return server
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  get watcher(): Watcher {
    if (this.#process === undefined) throw new Error('no process runs')
    return this.#process.watcher
  }

  get isCaughtUp(): boolean {
    const tasks = this.#process?.tasks ?? []
    return tasks.every(({ status }) => status.call(tasks).state === 'folding')
  }

  start(): void {
    const stop = new AbortController()
    const wire = new AbortController()
    const log = this.#faulty(this.log)
    const ports = { log, codec: this.codec, clock: this.clock }
    const cluster = openCluster({
      name: 'world',
      exchange: this.#exchange(wire.signal),
      clock: this.clock,
      random: this.chance,
    })
    const id = this.server.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
    const random = this.chance
    const lease = new MemoryLease()
    const watcher = createWatcher({ ...ports, cluster, random, lease })
    const clusters = (asked: string) => (asked === id ? { id, cluster } : undefined)
    const { mode } = this
    const reaper = createReaper({ ...ports, random, clusters, config: { mode } })
    const tasks = Array.from({ length: this.partitions }, (_, partition) => {
      this.#stores[partition] ??= new MemoryStore().content
      return new Task({ ...ports, store: new MemoryStore(this.#stores[partition]), partition })
    })
    const killed = wire.signal
    const parts = [...tasks, watcher, reaper].map(async (part) => {
      try {
        await part.run(stop.signal)
      } catch (error) {
        if (!killed.aborted && !stop.signal.aborted) this.wrongs.push(`it died: ${String(error)}`)
      }
    })
    const policy = policyFor(mode, 'parity')
    const untilFolding = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        if (tasks.every((task) => task.status().state === 'folding')) break
        await this.clock.sleep(20, stop.signal)
      }
      if (stop.signal.aborted) return
      for (const task of tasks) await ensurePolicy(this.log, this.codec, task, policy, 'test')
    }
    parts.push(untilFolding())
    const ended = Promise.all(parts).then(() => undefined)
    this.#process = { stop, wire, watcher, tasks, ended }
  }

  /** As a signal asks for. */
  async stop(): Promise<void> {
    await this.#end(() => undefined)
  }

  /** As kill -9. `isDiskLost`: the stores go with it. */
  async kill(isDiskLost = false): Promise<void> {
    await this.#end((process) => {
      this.log = this.log.reopen()
      process.wire.abort(new ExchangeError('CUT', 'the process was killed'))
    })
    if (isDiskLost) this.#stores = []
  }

  async #end(how: (process: Process) => void): Promise<void> {
    const process = this.#process
    if (process === undefined) return
    this.#process = undefined
    how(process)
    process.stop.abort(new Error('the process ends'))
    let isOver = false
    void process.ended.then(() => {
      isOver = true
    })
    for (let waitedMs = 0; !isOver && waitedMs < 120_000; waitedMs += 100) {
      await this.clock.advance(100)
    }
    if (!isOver) this.wrongs.push('the process did not end within two minutes')
    process.wire.abort(new ExchangeError('CUT', 'the process has ended'))
  }

  /** Breaks every connection. */
  cut(): void {
    this.#connections.abort(new ExchangeError('CUT', 'the connection was cut'))
    this.#connections = new AbortController()
  }

  /** A user's request; refusals are the user's own affair. */
  user(method: string, path: string, body: object | null = null, type = 'application/json'): void {
    const headers = { 'content-type': type, accept: 'application/json' }
    const request = { method, path, headers, body: body === null ? null : JSON.stringify(body) }
    // The server carries it out before it returns the promise of its answer.
    void this.server.handle(request, new AbortController().signal)
  }

  /** Everything of the given resources, as the server holds it now. */
  all(resources: readonly (readonly [group: string, resource: string])[]): ApiObject[] {
    return resources.flatMap(([group, resource]) => [...this.server.objects(group, resource)])
  }

  /** What the graph's own check finds, and where the graph is not what the server holds. Only in quiet. */
  async complaints(
    resources: readonly (readonly [group: string, resource: string])[],
  ): Promise<readonly string[]> {
    const complaints: string[] = []
    const held = new Map(this.all(resources).map(({ metadata }) => [metadata.uid, metadata]))
    for (const content of this.#stores) {
      const store = new MemoryStore(content)
      const page = await store.page({ gte: ' ', lt: '~', limit: Number.MAX_SAFE_INTEGER })
      const entries = page.map(
        ([key, bytes]) => [key, this.codec.decode(bytes) as StateValue] as const,
      )
      complaints.push(...check(new Map(entries)))
      for (const [key, value] of entries) {
        if (value.type !== 'Node' || !resources.some(([, each]) => each === value.object.resource))
          continue
        const { uid, ownerReferences } = value.object
        const now = held.get(uid)
        const isSame = now?.ownerReferences?.length ?? (now === undefined ? -1 : 0)
        if (isSame !== ownerReferences.length) complaints.push(`${key} is not as the server has it`)
        held.delete(uid)
      }
    }
    for (const { name } of held.values()) complaints.push(`${name} is not in the graph`)
    return complaints
  }

  async commands(): Promise<number> {
    let count = 0n
    for (let partition = 0; partition < this.partitions; partition++) {
      count += (await this.log.bounds('commands', partition)).end
    }
    return Number(count)
  }

  #judge({ before, after }: Effect): void {
    const request = this.#acting
    const { finalizers = [], uid = '' } = after?.metadata ?? {}
    const isDeleting = after?.metadata.deletionTimestamp !== undefined
    if (finalizers.includes('foregroundDeletion')) this.#waited.add(uid)
    if (after !== null && isDeleting && finalizers.includes('orphan')) {
      this.#orphaned.set(uid, after)
      this.#onceOrphaned.set(uid, after)
    } else if (request === undefined && before?.metadata.finalizers?.includes('orphan') === true) {
      // Somebody else has asked for something else since.
      this.#orphaned.delete(before.metadata.uid ?? '')
    }
    if (request === undefined) return
    const isRemoval = after === null
    const isAsked = request.method === 'DELETE'
    if (!isAsked && request.method !== 'PATCH') return
    // What the removal of the one asked for takes along (a namespace's content) is the server's doing.
    const name = new URL(request.path, 'http://world').pathname.split('/').pop()
    if (before === null || before.metadata.name !== name) return
    if (this.mode !== 'enforce') this.#wrong(request, before, `mode is ${this.mode} (I12)`)
    const objection = objectionTo(
      {
        server: this.server,
        waited: this.#waited,
        orphaned: this.#orphaned,
        onceOrphaned: this.#onceOrphaned,
      },
      request,
      before,
      after,
    )
    if (objection !== '') this.#wrong(request, before, objection)
    if (isAsked) this.reaped.push(`${before.kind}/${name}${isRemoval ? '' : ' (finalizers)'}`)
  }

  #wrong({ method, path }: ExchangeRequest, object: ApiObject, why: string): void {
    const at = `+${Math.round(this.clock.monotonicMs())}ms`
    this.wrongs.push(`${at} ${method} ${path}: ${why}; ${JSON.stringify(object.metadata)}`)
  }

  #exchange(killed: AbortSignal): Exchange {
    const world = this
    return {
      async request(request, signal) {
        const until = AbortSignal.any([signal, killed, world.#connections.signal])
        until.throwIfAborted()
        world.requests++
        if (world.isDown) throw new ExchangeError('UNREACHABLE', 'the server is down')
        const lie = world.isTroubled ? await world.#trouble(request, until) : undefined
        if (lie !== undefined) return lie
        const response = world.#carryOut(request, until)
        return { ...(await response), body: untilAborted((await response).body, until) }
      },
      async [Symbol.asyncDispose]() {},
    }
  }

  /** Between the two assignments the server does all that the request asks for. */
  #carryOut(request: ExchangeRequest, until: AbortSignal): Promise<ExchangeResponse> {
    const isEffect = request.method === 'DELETE' || request.method === 'PATCH'
    if (isEffect) this.beforeEffect(request)
    this.#acting = request
    try {
      return memoryExchange(this.server).request(request, until)
    } finally {
      this.#acting = undefined
    }
  }

  /** Undefined leaves it to the server. */
  async #trouble(
    request: ExchangeRequest,
    until: AbortSignal,
  ): Promise<ExchangeResponse | undefined> {
    const { chance, clock } = this
    if (chance.next() < 0.3)
      await clock.sleep(chance.below(chance.next() < 0.1 ? 20_000 : 300), until)
    until.throwIfAborted()
    if (chance.next() >= this.#troubles) return undefined
    switch (chance.below(10)) {
      case 0:
        throw new ExchangeError('UNREACHABLE', 'refused')
      case 1:
        return answer(429, status(429, 'TooManyRequests'), { 'retry-after': '1' })
      case 2:
        return answer(500, status(500, 'InternalError'))
      case 3:
        return answer(503, 'no healthy upstream', { 'content-type': 'text/plain' })
      case 4:
        return answer(404, '404 page not found', { 'content-type': 'text/plain' })
      case 5:
        return answer(404, status(404, 'NotFound'))
      case 6:
        return answer(200, '{"kind":"Sta', {})
      case 7: {
        // It is carried out, and the answer is lost.
        await this.#carryOut(request, until)
        throw new ExchangeError('CUT', 'cut after it was sent')
      }
      case 8: {
        const { body, ...head } = await this.#carryOut(request, until)
        return { ...head, body: cutShort(untilAborted(body, until), chance.below(600)) }
      }
      default:
        await clock.sleep(30_000, until)
        until.throwIfAborted()
        throw new ExchangeError('TIMEOUT', 'no answer within 30 s')
    }
  }

  #faulty(log: MemoryLog): Log {
    const append: Log['append'] = async (topic, partition, records) => {
      const fate = this.isTroubled ? this.chance.next() : 1
      if (fate < 0.02) throw new LogError('UNAVAILABLE', 'the log takes nothing for now')
      const offset = await log.append(topic, partition, records)
      if (fate < 0.04) throw new LogError('UNKNOWN_OUTCOME', 'the answer was lost')
      return offset
    }
    return new Proxy<Log>(log, {
      get(target, name) {
        if (name === 'append') return append
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }
}

function status(code: number, reason: string): string {
  const rest = { status: 'Failure', message: 'injected', reason, code, details: {} }
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, ...rest })
}

function answer(
  code: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ExchangeResponse {
  return {
    status: code,
    headers: { 'content-type': 'application/json', ...headers },
    body: (async function* () {
      yield new TextEncoder().encode(text)
    })(),
  }
}

async function* cutShort(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const chunk of chunks) {
    if (chunk.byteLength >= left) {
      if (left > 0) yield chunk.subarray(0, left)
      throw new ExchangeError('CUT', 'cut in the middle of the answer')
    }
    left -= chunk.byteLength
    yield chunk
  }
}

/** As a connection does it: an abort ends the body at once, whatever the server is about. */
async function* untilAborted(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const aborted = Promise.withResolvers<never>()
  aborted.promise.catch(() => undefined)
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), aborted.promise])
      if (next.done === true) return
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
