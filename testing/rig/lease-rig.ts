/**
 * Candidates for one Lease in an API server in this process, on a clock that a test moves; each as
 * a process of its own, with a wire and a clock that can be stopped.
 *
 * What must stay true: the leases are the real ones; only wires and clocks are simulated.
 */
import { kubernetesLease } from '../../adapters/kubernetes/lease/lease.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Exchange, ExchangeRequest, ExchangeResponse } from '../../ports/exchange.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import type { Lease } from '../../ports/lease.ts'
import { seeded } from './watcher-rig.ts'

export const LEASE_PATH =
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kinfold-watcher'
const NEVER = new AbortController().signal
const STEP_MS = 100
const PATIENCE_MS = 5 * 60_000

export interface Candidate {
  readonly lease: Lease
  /** Its one wire, to watch by, too. */
  readonly exchange: Exchange
  /** Answers in the server's place; undefined leaves it to the server. */
  break: (request: ExchangeRequest) => Promise<ExchangeResponse | undefined>
  /** Each as its method and path. */
  readonly requests: string[]
  /** As kill -9: nothing more of it gets out. */
  kill(): void
}

export class LeaseRig {
  readonly clock: ManualClock
  readonly server: ApiServer
  #candidates = 0

  constructor(clock: ManualClock = new ManualClock(), server?: ApiServer) {
    this.clock = clock
    this.server = server ?? new ApiServer({ clock, random: seeded(1), name: 'lease-rig' })
  }

  /** `clock`: its own, where it is not the one of all. */
  candidate(clock: Clock = this.clock): Candidate {
    const wire = new AbortController()
    const number = ++this.#candidates
    const candidate = {
      requests: [] as string[],
      break: async (): Promise<ExchangeResponse | undefined> => undefined,
      kill: () => wire.abort(new ExchangeError('CUT', 'the process was killed')),
    }
    const exchange = this.#exchange(candidate, wire.signal)
    const lease = kubernetesLease({
      exchange,
      clock,
      random: seeded(100 + number),
      holder: `host-${number}`,
      namespace: 'kube-system',
      name: 'kinfold-watcher',
    })
    return Object.assign(candidate, { lease, exchange })
  }

  async until<T>(promise: PromiseLike<T>): Promise<T> {
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    promise.then(settle, settle)
    for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += STEP_MS) {
      await this.clock.advance(0)
      if (isSettled) return await promise
      await this.clock.advance(STEP_MS)
    }
    throw new Error('This never came.')
  }

  get spec(): Readonly<Record<string, unknown>> | undefined {
    const object = this.server.object(
      'coordination.k8s.io',
      'leases',
      'kube-system',
      'kinfold-watcher',
    )
    return object?.['spec'] as Readonly<Record<string, unknown>> | undefined
  }

  async edit(spec: object): Promise<void> {
    await this.ask('PATCH', LEASE_PATH, { spec })
  }

  async delete(): Promise<void> {
    await this.ask('DELETE', LEASE_PATH, {})
  }

  /** As a user. */
  async ask(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: object): Promise<void> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { 'content-type': type, accept: 'application/json' }
    const request = { method, path, headers, body: JSON.stringify(body) }
    const { status } = await this.server.handle(request, NEVER)
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}`)
  }

  #exchange(candidate: Omit<Candidate, 'lease' | 'exchange'>, killed: AbortSignal): Exchange {
    const wire = memoryExchange(this.server)
    return {
      async request(request, signal) {
        killed.throwIfAborted()
        candidate.requests.push(`${request.method} ${request.path}`)
        const answer = await candidate.break(request)
        return answer ?? (await wire.request(request, AbortSignal.any([signal, killed])))
      },
      [Symbol.asyncDispose]: () => wire[Symbol.asyncDispose](),
    }
  }
}
