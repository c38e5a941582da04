/**
 * Watches another process of the group, so that one that died is replaced sooner than its session
 * with the brokers ends.
 *
 * What must stay true: it is a hint only: who is taken for dead and lives joins again, and the
 * fences hold. Only refused connections count, several in a row, after one that was accepted: a
 * process that starts listens late, and one that cannot be reached may live.
 */
import { connect } from 'node:net'

export interface Peer {
  readonly url: string
  /** Of the member, to the group. */
  readonly id: string
}

const REFUSALS = 3

export class PeerWatch {
  readonly #limitMs: number
  #peer: Peer | undefined
  #hasAccepted = false
  #refusals = 0

  /** `limitMs`: how long a connection is waited for. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  watch(peer: Peer | undefined): void {
    if (peer?.id === this.#peer?.id && peer?.url === this.#peer?.url) return
    this.#peer = peer
    this.#hasAccepted = false
    this.#refusals = 0
  }

  /** It may be gone: the next look decides, or the one after it. */
  get isDoubted(): boolean {
    return this.#refusals > 0
  }

  /** The peer, once it is gone; again after as many refusals, while it is watched. */
  async look(): Promise<Peer | undefined> {
    const peer = this.#peer
    if (peer === undefined) return undefined
    const found = await knock(peer.url, this.#limitMs)
    if (this.#peer !== peer) return undefined
    if (found === 'accepted') this.#hasAccepted = true
    this.#refusals = found === 'refused' && this.#hasAccepted ? this.#refusals + 1 : 0
    if (this.#refusals < REFUSALS) return undefined
    this.#refusals = 0
    return peer
  }
}

/** The next one in the order of their ids: each process is watched by one other. */
export function peerOf(url: string, members: readonly Peer[]): Peer | undefined {
  const ring = [...members].sort((a, b) => (a.id < b.id ? -1 : 1))
  const own = ring.findIndex((each) => each.url === url)
  const next = own < 0 ? undefined : ring[(own + 1) % ring.length]
  return next?.url === url ? undefined : next
}

async function knock(url: string, limitMs: number): Promise<'accepted' | 'refused' | 'unknown'> {
  if (!URL.canParse(url)) return 'unknown'
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
  const { promise, resolve } = Promise.withResolvers<'accepted' | 'refused' | 'unknown'>()
  socket.setTimeout(limitMs, () => resolve('unknown'))
  socket.once('connect', () => resolve('accepted'))
  socket.once('error', (error) => {
    resolve('code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'unknown')
  })
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}
