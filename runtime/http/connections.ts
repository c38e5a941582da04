/**
 * The connections of an endpoint: how many are open, which one makes room for a new one, and which
 * one is cut since its client does not read the answer.
 *
 * What must stay true: a new connection is always taken, so that a probe is answered however many
 * others are open. Beyond the bound the one that has been idle for longest is closed; where none is
 * idle, the one whose request is the oldest. What is buffered for a reader that does not read is
 * given up after `STALLED_MS`.
 *
 * Not here: how long a request may take to arrive (Node's own timeouts, endpoint.ts), how much is
 * written at once (the routes).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../ports/clock.ts'

export const MOST_CONNECTIONS = 1_000
/** So long nothing of what waits for a reader may be taken by it. */
export const STALLED_MS = 30_000
/** How often it is looked for such readers. */
const LOOK_EVERY_MS = 5_000

interface Connection {
  /** With TLS the one that is encrypted, from when it is. */
  socket: Socket
  requests: number
  /** Bytes that the system has taken, and since when no more. */
  sent: number
  sentAt: number
}

export interface ConnectionCounts {
  readonly open: number
  /** Closed to make room for another one. */
  readonly crowded: number
  /** Closed since the client did not read the answer. */
  readonly stalled: number
}

export class Connections {
  readonly #clock: Clock
  readonly #most: number
  /** Both with those first that have been so for longest. */
  readonly #idle = new Set<Connection>()
  readonly #busy = new Set<Connection>()
  readonly #of = new WeakMap<Socket, Connection>()
  /** Those without TLS yet, by the address they come from. */
  readonly #plain = new Map<string, Connection>()
  #crowded = 0
  #stalled = 0

  constructor(server: Server, clock: Clock, most: number = MOST_CONNECTIONS) {
    this.#clock = clock
    this.#most = most
    server.on('connection', (socket) => this.#opened(socket))
    server.on('secureConnection', (socket: Socket) => this.#secured(socket))
    server.on('request', (request, response) => this.#asked(request, response))
  }

  counts(): ConnectionCounts {
    const open = this.#idle.size + this.#busy.size
    return { open, crowded: this.#crowded, stalled: this.#stalled }
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(LOOK_EVERY_MS, signal)
      this.#cutStalled()
    }
  }

  #opened(socket: Socket): void {
    const { open } = this.counts()
    if (open >= this.#most) this.#makeRoom()
    const connection = { socket, requests: 0, sent: 0, sentAt: this.#clock.monotonicMs() }
    const from = fromOf(socket)
    this.#plain.set(from, connection)
    this.#take(socket, connection)
    socket.once('close', () => {
      if (this.#plain.get(from) === connection) this.#plain.delete(from)
    })
  }

  /** The same connection: from now on what counts is what is read and written in it. */
  #secured(socket: Socket): void {
    const connection = this.#plain.get(fromOf(socket))
    if (connection === undefined) return void socket.destroy()
    connection.socket = socket
    this.#take(socket, connection)
  }

  #take(socket: Socket, connection: Connection): void {
    this.#of.set(socket, connection)
    if (!this.#busy.has(connection)) this.#idle.add(connection)
    socket.once('close', () => this.#forget(connection))
  }

  #forget(connection: Connection): void {
    this.#idle.delete(connection)
    this.#busy.delete(connection)
  }

  #makeRoom(): void {
    const [oldest] = this.#idle.size > 0 ? this.#idle : this.#busy
    if (oldest === undefined) return
    this.#crowded += 1
    this.#close(oldest)
  }

  /** Its own event comes a turn later, and others may be opened until then. */
  #close(connection: Connection): void {
    this.#forget(connection)
    connection.socket.destroy()
  }

  #asked({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#of.get(socket)
    const isOpen = connection && (this.#idle.has(connection) || this.#busy.has(connection))
    if (!isOpen) return
    connection.requests += 1
    this.#idle.delete(connection)
    this.#busy.add(connection)
    response.once('close', () => {
      connection.requests -= 1
      if (connection.requests > 0 || !this.#busy.delete(connection)) return
      this.#idle.add(connection)
    })
  }

  /**
   * The connection of a client that reads nothing may be idle again: its answer waits all the same.
   */
  #cutStalled(): void {
    const now = this.#clock.monotonicMs()
    for (const connection of [...this.#busy, ...this.#idle]) {
      const { socket } = connection
      const sent = socket.bytesWritten - socket.writableLength
      if (socket.writableLength === 0 || sent !== connection.sent) {
        connection.sent = sent
        connection.sentAt = now
      } else if (now - connection.sentAt >= STALLED_MS) {
        this.#stalled += 1
        this.#close(connection)
      }
    }
  }
}

function fromOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
