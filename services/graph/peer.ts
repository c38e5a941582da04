/**
 * Asks another graph process for what one of its partitions holds.
 *
 * What must stay true: every call ends within its time; what is asked at once stays within what the other side takes; that a partition has moved
 * is told apart from a process that cannot be reached.
 *
 * Not here: who has a partition, and what is done when nobody has (viewed-partition.ts), the other side (partition-http.ts).
 */
import type { KeyRange, StoreEntry } from '../../ports/store.ts'
import type { ClusterTally } from './tally.ts'

/** Keys and entries of one request, and bytes of its keys: both sides know them. */
export const PEER_KEYS = 500
export const PEER_KEY_BYTES: number = 128 * 1024
/** Longer than any answer takes that is worth waiting for. */
const PEER_MS = 3_000

export interface PartitionState {
  /** A task's. */
  readonly state: string
  /** Next event to fold. */
  readonly position: bigint
}

export interface PeerValues extends PartitionState {
  /** Of the first of the keys, in their order; fewer than were asked for when they are large. */
  readonly values: readonly (Uint8Array | null)[]
}

export interface PeerPage extends PartitionState {
  readonly entries: readonly StoreEntry[]
  /** It was cut for its size: there may be more in the range. */
  readonly isCut: boolean
}

export interface PeerCounts extends PartitionState {
  /** Null while not all is counted. */
  readonly counts: readonly ClusterTally[] | null
}

export interface Peer {
  /** At most `PEER_KEYS` and `PEER_KEY_BYTES`. Throws `PeerError`, as `page` does. */
  get(url: string, partition: number, keys: readonly string[]): Promise<PeerValues>
  page(url: string, partition: number, range: KeyRange): Promise<PeerPage>
  counts(url: string, partition: number): Promise<PeerCounts>
}

/** - `MOVED`: the partition is somebody else's. - `UNREACHABLE`: no answer, or none of use. */
export type PeerErrorCode = 'MOVED' | 'UNREACHABLE'

export class PeerError extends Error {
  override readonly name = 'PeerError'
  readonly code: PeerErrorCode

  constructor(code: PeerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** As JSON has them. */
export interface ValuesBody {
  readonly state: string
  readonly position: string
  readonly values: readonly (string | null)[]
}

export interface PageBody {
  readonly state: string
  readonly position: string
  readonly entries: readonly (readonly [string, string])[]
  readonly isCut: boolean
}

export interface CountsBody {
  readonly state: string
  readonly position: string
  readonly counts: readonly ClusterTally[] | null
}

/** `token`: what the others want to be shown; undefined where nobody asks. */
export function createPeer(token: () => string | undefined, withinMs: number = PEER_MS): Peer {
  async function ask<T>(
    url: string,
    path: string,
    asked: unknown,
    read: (body: unknown) => T,
  ): Promise<T> {
    const bearer = token()
    const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    try {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...authorization },
        body: JSON.stringify(asked),
        redirect: 'error',
        signal: AbortSignal.timeout(withinMs),
      })
      if (response.ok) return read(await response.json())
      await response.body?.cancel()
      throw refusal(url, response.status)
    } catch (error) {
      if (error instanceof PeerError) throw error
      throw new PeerError('UNREACHABLE', `${url} cannot be asked: ${whyOf(error)}`, {
        cause: error,
      })
    }
  }

  return {
    async get(url, partition, keys) {
      return await ask(url, `/internal/partition/${partition}/get`, { keys }, (body) => {
        const { values, ...state } = body as ValuesBody
        const isLess = keys.length > 0 && values.length === 0
        if (isLess || values.length > keys.length) throw new Error('it answered for other keys')
        return {
          ...stateOf(state),
          values: values.map((text) => (text === null ? null : bytesOf(text))),
        }
      })
    },
    async page(url, partition, range) {
      return await ask(url, `/internal/partition/${partition}/page`, range, (body) => {
        const { entries, isCut, ...state } = body as PageBody
        if (isCut && entries.length === 0) throw new Error('it answered with an empty part')
        const page = entries.map(([key, text]): StoreEntry => [key, bytesOf(text)])
        return { ...stateOf(state), entries: page, isCut }
      })
    },
    async counts(url, partition) {
      return await ask(url, `/internal/partition/${partition}/counts`, {}, (body) => {
        const { counts, ...state } = body as CountsBody
        if (counts !== null && !Array.isArray(counts)) throw new Error('it answered without counts')
        return { ...stateOf(state), counts }
      })
    },
  }
}

function refusal(url: string, status: number): PeerError {
  // Not 421: a client may ask the same process again by itself.
  if (status === 409) return new PeerError('MOVED', `${url} does not have it any more`)
  const hint = status === 401 ? ': all graph processes need the same token' : ''
  return new PeerError('UNREACHABLE', `${url} answered ${status}${hint}`)
}

function stateOf({ state, position }: Pick<PageBody, 'state' | 'position'>): PartitionState {
  return { state, position: BigInt(position) }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'base64')
}

/** `fetch` hides why it failed in a cause. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? whyOf(error.cause) : error.message || error.name
}
