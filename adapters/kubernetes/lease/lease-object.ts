/**
 * One Lease object of coordination.k8s.io/v1, read and written.
 *
 * What must stay true: a write takes effect only if the object is as it was read (its uid and
 * version go along), or is still missing where it was missing: the API refuses to update a Lease
 * without a version, so a PUT that would make one makes it or fails. Fields of others are kept.
 *
 * Not here: which process may write when (lease.ts).
 */
import type { Clock } from '../../../ports/clock.ts'
import { ClusterError } from '../../../ports/cluster.ts'
import type { Exchange, ExchangeRequest } from '../../../ports/exchange.ts'
import { isNotFound, parsed, type Reply } from '../answer.ts'
import { call, failed, PLAIN, refused, unreadable } from '../call.ts'
import { isJson, type Json } from '../json.ts'

/** The content of a Lease, by any client: users can write anything that the schema allows. */
export interface LeaseState {
  readonly object: Json
  readonly uid: string
  /** Changes whenever a holder renews. */
  readonly spec: string
  /** Empty: no holder. */
  readonly holder: string
  readonly epoch: number
}

export interface LeasePlace {
  readonly exchange: Exchange
  readonly clock: Clock
  readonly namespace: string
  readonly name: string
  /** Of one call, answer included. */
  readonly callMs: number
}

export interface LeaseContent {
  readonly holder: string
  readonly epoch: number
  readonly durationSeconds: number
  /** Wall time in milliseconds, for people. */
  readonly acquiredAt: number
}

/**
 * Far above what any cluster reaches; a larger number was typed by a person, and would leave no
 * room in the field.
 */
const MAX_EPOCH = 1_000_000_000
const GROUP = 'coordination.k8s.io'
const LEASES = { group: GROUP, kind: 'Lease', resource: 'leases' } as const

export class LeaseObject {
  readonly #place: LeasePlace
  readonly #path: string

  constructor(place: LeasePlace) {
    this.#place = place
    const namespace = encodeURIComponent(place.namespace)
    this.#path = `/apis/${GROUP}/v1/namespaces/${namespace}/leases/${encodeURIComponent(place.name)}`
  }

  /** Null: there is none. Throws `ClusterError`, or the signal's reason. */
  async read(signal: AbortSignal): Promise<LeaseState | null> {
    const reply = await this.#call('GET', null, signal)
    if (isNotFound(reply, { ...LEASES, name: this.#place.name })) return null
    return this.#stateIn(reply, 'GET')
  }

  /**
   * Null: another client wrote since `former` was read. Throws as `read`; then it may have taken
   * effect or not.
   */
  async write(
    former: LeaseState | null,
    content: LeaseContent,
    signal: AbortSignal,
  ): Promise<LeaseState | null> {
    const body = JSON.stringify(this.#objectOf(former, content))
    const reply = await this.#call('PUT', body, signal)
    // 422: it was missing when it was read, and exists now.
    if (reply.status === 409 || (former === null && reply.status === 422)) return null
    return this.#stateIn(reply, 'PUT')
  }

  #objectOf(former: LeaseState | null, content: LeaseContent): Json {
    const { namespace, name, clock } = this.#place
    const object = former?.object ?? {}
    const spec = isJson(object['spec']) ? object['spec'] : {}
    return {
      ...object,
      apiVersion: `${GROUP}/v1`,
      kind: 'Lease',
      metadata: isJson(object['metadata']) ? object['metadata'] : { namespace, name },
      spec: {
        ...spec,
        holderIdentity: content.holder,
        leaseDurationSeconds: content.durationSeconds,
        leaseTransitions: content.epoch,
        acquireTime: microTime(content.acquiredAt),
        renewTime: microTime(clock.now()),
      },
    }
  }

  #stateIn(reply: Reply, verb: 'GET' | 'PUT'): LeaseState {
    const { status } = reply
    if (status === 403) throw this.#forbidden(reply, verb)
    if (status !== 200 && status !== 201) {
      throw refused(reply, this.#path, this.#place.clock.now(), verb)
    }
    const object = parsed(reply)
    const metadata = isJson(object) && object['kind'] === 'Lease' ? object['metadata'] : null
    if (!isJson(object) || !isJson(metadata)) throw unreadable(this.#path, 'it is no Lease')
    const spec = isJson(object['spec']) ? object['spec'] : {}
    const { holderIdentity, leaseTransitions } = spec
    return {
      object,
      uid: String(metadata['uid']),
      spec: JSON.stringify(spec),
      holder: typeof holderIdentity === 'string' ? holderIdentity : '',
      epoch: isEpoch(leaseTransitions) ? leaseTransitions : 0,
    }
  }

  #forbidden(reply: Reply, verb: 'GET' | 'PUT'): ClusterError {
    const { namespace, name, clock } = this.#place
    const { message } = refused(reply, this.#path, clock.now(), verb)
    return new ClusterError(
      'FORBIDDEN',
      `The Lease ${namespace}/${name} may not be ${verb === 'GET' ? 'read' : 'written'}, so this process cannot tell whether another one watches: ` +
        `grant get, create and update on leases.${GROUP} named ${name} in namespace ${namespace} (${message})`,
    )
  }

  /** The limit holds also where an exchange sits on an aborted call. */
  async #call(method: 'GET' | 'PUT', body: string | null, signal: AbortSignal): Promise<Reply> {
    const { exchange, clock, callMs } = this.#place
    const type = body === null ? {} : { 'content-type': PLAIN }
    const headers = { accept: PLAIN, ...type }
    const request: ExchangeRequest = { method, path: this.#path, headers, body, purpose: 'write' }
    const limit = new AbortController()
    const over = Promise.withResolvers<never>()
    const giveUp = (): void => over.reject(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    void clock.sleep(callMs, limit.signal).then(() => {
      if (limit.signal.aborted) return
      const text = `${method} ${this.#path} took longer than ${callMs} ms`
      over.reject(new ClusterError('UNREACHABLE', text))
      limit.abort(OVER)
    })
    try {
      signal.throwIfAborted()
      const answer = call(exchange, request, AbortSignal.any([signal, limit.signal]))
      return await Promise.race([answer, over.promise])
    } catch (error) {
      throw failed(error, this.#path)
    } finally {
      signal.removeEventListener('abort', giveUp)
      limit.abort(OVER)
    }
  }
}

const OVER = new DOMException('The call is over.', 'AbortError')

function isEpoch(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_EPOCH
}

/** As Go reads a MicroTime: six digits, no fewer. */
function microTime(atMs: number): string {
  return new Date(atMs).toISOString().replace('Z', '000Z')
}
