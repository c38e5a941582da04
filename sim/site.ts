/**
 * One simulated cluster: an API server that knows the whole truth, remembers every write, and can
 * be set back to any of them, as a restored etcd does.
 *
 * What must stay true: a request of Kinfold is carried out in one turn, and every observer of an
 * effect knows whether Kinfold requested it. After a restore uids and versions of before exist
 * again, and new objects get uids that no object has had.
 *
 * Not here: wires and their faults (network.ts), whether an effect is right (checkers.ts).
 */
import { type ApiObject, ApiServer, type Effect, type Kind } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import type { ExchangeRequest, ExchangeResponse } from '../ports/exchange.ts'
import { groupIn } from '../testing/model/oracle.ts'
import { seeded } from '../testing/seeded.ts'
import { RESOURCES } from './oracle.ts'
import { isPowerless } from './rule/drawn-policy.ts'

/** A request of Kinfold's that is being carried out. */
export interface Acting {
  readonly request: ExchangeRequest
  /** By which name the cluster was meant. */
  readonly registration: string
  readonly by: string
  /** When it was sent, in elapsed time. */
  readonly sentMs: number
}

/** Effects on one object, of users and ours, and how many bytes the bodies of users had. */
export interface Sent {
  readonly namespace: string
  effects: number
  bytes: number
}

export type SiteObserver = (site: Site, effect: Effect, acting: Acting | undefined) => void

/** A write, or a restore that bumped the versions. */
type Written = Write | { readonly bumpedBy: number }

interface Write {
  readonly request: Parameters<ApiServer['handle']>[0]
  readonly nowMs: number
  readonly stream: number
  readonly acting: Acting | undefined
}

/** Changes of a kind that a watch can resume from. */
const HISTORY_LIMIT = 400
/** Seldom enough to cost little, often enough for a watch to count as alive. */
const BOOKMARK_MS = 120_000
/** From the seed of a cluster to that of its replacement. */
const REPLACED = 104_729
const NOBODY: AbortSignal = AbortSignal.abort()

/**
 * The API server got them when worlds were already kept by their seeds, which these would change.
 */
const LATER: ReadonlySet<string> = new Set([
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
])

export class Site {
  readonly name: string
  #seed: number
  readonly #time: Clock
  readonly #observer: SiteObserver
  readonly #serves: (kind: Kind) => boolean
  readonly #journal: Written[] = []
  #stream = 0
  #streams = 0
  #replayedMs: number | undefined
  #chance: ReturnType<typeof seeded>
  #acting: Acting | undefined
  /** How many bytes the user's request has that is being carried out. */
  #sending = 0
  /** Of each object, by uid. */
  readonly sent: Map<string, Sent> = new Map()
  #server: ApiServer

  /**
   * `kinds`: the built-in ones that it serves, by resource; by default all of them but the later
   * ones.
   */
  constructor(
    name: string,
    { seed, kinds }: { readonly seed: number; readonly kinds: readonly string[] | null },
    time: Clock,
    observer: SiteObserver,
  ) {
    this.name = name
    this.#seed = seed
    this.#time = time
    this.#observer = observer
    this.#serves = ({ resource }) => kinds?.includes(resource) ?? !LATER.has(resource)
    this.#chance = seeded(seed)
    this.#server = this.#newServer()
  }

  get server(): ApiServer {
    return this.#server
  }

  get id(): string {
    return this.#server.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
  }

  /** Writes of the past are being replayed: a restore is in progress. */
  get isReplaying(): boolean {
    return this.#replayedMs !== undefined
  }

  /** Wall time of the present write, or the past one of a replayed write. */
  get nowMs(): number {
    return this.#replayedMs ?? this.#time.now()
  }

  /** Writes so far. */
  get writes(): number {
    return this.#journal.length
  }

  /** A user's request; refusals are the user's own affair. */
  user(method: string, path: string, body: object | null = null, type = 'application/json'): void {
    const headers = { 'content-type': type, accept: 'application/json' }
    const request = { method, path, headers, body: body === null ? null : JSON.stringify(body) }
    this.#write(request, undefined)
    this.#sending = Buffer.byteLength(request.body ?? '')
    // The server carries it out before it returns the promise of its answer.
    const answer = this.#server.handle(request, NOBODY)
    this.#sending = 0
    void answer.then(({ status }) => {
      if (status !== 400) return
      throw new Error(`a user's ${method} ${path} makes no sense: ${request.body}`)
    })
  }

  /** Everything that the server holds of kinds that users own and depend with. */
  all(): ApiObject[] {
    return RESOURCES.flatMap(([group, resource]) => [...this.#server.objects(group, resource)])
  }

  /** How many objects of a kind it holds. */
  sizeOf(group: string, kind: string): number {
    return this.all().filter((each) => each.kind === kind && groupIn(each.apiVersion) === group)
      .length
  }

  /** Between the two assignments the server does all that the request asks for. */
  carryOut(acting: Acting, until: AbortSignal): Promise<ExchangeResponse> {
    const { request } = acting
    if (isForbidden(request)) return Promise.resolve(forbidden(request))
    if (request.method !== 'GET') this.#write(request, acting)
    this.#acting = acting
    try {
      // The effect of an abort on the answer is decided by the network.
      return this.#server.handle(request, until)
    } finally {
      this.#acting = undefined
    }
  }

  /**
   * As etcd restored from a copy that was made that many writes ago. Watches of before stay
   * connected to the old server.
   */
  restore(back: number): void {
    this.#journal.splice(Math.max(0, this.#journal.length - back))
    this.#chance = seeded(this.#seed)
    this.#stream = 0
    this.#server = this.#newServer()
    for (const written of this.#journal) {
      if ('bumpedBy' in written) {
        this.#server.bump(written.bumpedBy)
        continue
      }
      const { request, nowMs, stream, acting } = written
      this.#begin(stream)
      this.#replayedMs = nowMs
      this.#acting = acting
      void this.#server.handle(request, NOBODY)
    }
    this.#replayedMs = undefined
    this.#acting = undefined
    this.#begin(++this.#streams)
  }

  /** Another cluster under its name, with nothing in it: another identity, and no uid of before. */
  replace(): void {
    this.#journal.length = 0
    this.#seed += REPLACED
    this.#chance = seeded(this.#seed)
    this.#stream = 0
    this.#streams = 0
    this.#server = this.#newServer()
  }

  /**
   * As the documentation of etcd for Kubernetes demands after a restore: versions continue from
   * higher ones, so no version shows the restore.
   */
  bump(by: number): void {
    this.#server.bump(by)
    this.#journal.push({ bumpedBy: by })
  }

  #begin(stream: number): void {
    if (stream === this.#stream) return
    this.#stream = stream
    this.#chance = seeded(this.#seed + 7_919 * stream)
  }

  #write(request: Write['request'], acting: Acting | undefined): void {
    this.#journal.push({ request, nowMs: this.#time.now(), stream: this.#stream, acting })
  }

  #newServer(): ApiServer {
    const time = this.#time
    const server = new ApiServer({
      clock: {
        now: () => this.#replayedMs ?? time.now(),
        monotonicMs: () => time.monotonicMs(),
        sleep: (ms, signal) => time.sleep(ms, signal),
      },
      random: { next: () => this.#chance.next() },
      name: this.name,
      historyLimit: HISTORY_LIMIT,
      bookmarkMs: BOOKMARK_MS,
      serves: this.#serves,
    })
    server.observe((effect) => {
      if (!this.isReplaying) this.#countSent(effect)
      this.#observer(this, effect, this.#acting)
    })
    return server
  }

  #countSent({ before, after }: Effect): void {
    const { uid, namespace = '' } = (after ?? before)!.metadata
    const sent = this.sent.get(uid) ?? { namespace, effects: 0, bytes: 0 }
    sent.effects += 1
    sent.bytes += this.#sending
    this.sent.set(uid, sent)
  }
}

/** The server's rule: that account of each namespace may delete nothing. */
function isForbidden({ method, headers }: ExchangeRequest): boolean {
  return method === 'DELETE' && isPowerless(headers['impersonate-user'] ?? '')
}

/** As the API server answers. */
function forbidden({ headers, path }: ExchangeRequest): ExchangeResponse {
  const message = `User "${headers['impersonate-user']}" cannot delete ${path}`
  const status = { status: 'Failure', reason: 'Forbidden', code: 403, message }
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, ...status })
  return { status: 403, headers: { 'content-type': 'application/json' }, body: oneChunk(body) }
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
