/**
 * Asks another graph process for what one of its partitions holds.
 *
 * What must stay true: every call ends within its time; what is asked at once stays within what the other side takes; that a partition has moved
 * is told apart from a process that cannot be reached.
 *
 * Not here: who has a partition, and what is done when nobody has (viewed-partition.ts), the other side (partition-http.ts).
 */
import type { KeyRange, StoreEntry } from '../../ports/store.ts'

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

export interface Peer {
  /** At most `PEER_KEYS` and `PEER_KEY_BYTES`. Throws `PeerError`, as `page` does. */
  get(url: string, partition: number, keys: readonly string[]): Promise<PeerValues>
  page(url: string, partition: number, range: KeyRange): Promise<PeerPage>
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

/** `token`: what the others want to be shown; undefined where nobody asks. */
export function createPeer(token: () => string | undefined, withinMs: number = PEER_MS): Peer {
  async function ask(url: string, path: string, asked: unknown): Promise<unknown> {
    const bearer = token()
    let response: Response
    try {
      response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        },
        body: JSON.stringify(asked),
        redirect: 'error',
        signal: AbortSignal.timeout(withinMs),
      })
      if (response.ok) return await response.json()
    } catch (error) {
      throw new PeerError('UNREACHABLE', `${url} cannot be asked: ${whyOf(error)}`, {
        cause: error,
      })
    }
    await response.body?.cancel()
    if (response.status === 421) throw new PeerError('MOVED', `${url} does not have it any more`)
    const hint = response.status === 401 ? ': all graph processes need the same token' : ''
    throw new PeerError('UNREACHABLE', `${url} answered ${response.status}${hint}`)
  }

  return {
    async get(url, partition, keys) {
      const body = (await ask(url, `/internal/partition/${partition}/get`, { keys })) as ValuesBody
      return {
        ...stateOf(body),
        values: body.values.map((text) => (text === null ? null : bytesOf(text))),
      }
    },
    async page(url, partition, range) {
      const body = (await ask(url, `/internal/partition/${partition}/page`, range)) as PageBody
      const entries = body.entries.map(([key, text]): StoreEntry => [key, bytesOf(text)])
      return { ...stateOf(body), entries, isCut: body.isCut }
    },
  }
}

function stateOf({ state, position }: ValuesBody | PageBody): PartitionState {
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
