/**
 * A broker that is too old, as far as a client can see before it gives up: it returns the list of
 * its requests, as Kafka 0.10.0 does (no transactions, no idempotence, no topics made by clients),
 * names itself as the only broker, and closes the connection for everything else.
 *
 * Not here: records. It is a counterfeit because so old a broker cannot be had cheaply.
 */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../cluster/port.ts'

const METADATA = 3
const API_VERSIONS = 18
const UNSUPPORTED_VERSION = 35
const UNKNOWN_TOPIC = 3

/** Number of the request, oldest and newest version: what Kafka 0.10.0 answers. */
const KAFKA_0_10_0: readonly (readonly [number, number, number])[] = [
  [0, 0, 2],
  [1, 0, 2],
  [2, 0, 0],
  [METADATA, 0, 1],
  [8, 0, 2],
  [9, 0, 1],
  [10, 0, 0],
  [11, 0, 0],
  [12, 0, 0],
  [13, 0, 0],
  [14, 0, 0],
  [15, 0, 0],
  [16, 0, 0],
  [17, 0, 0],
  [API_VERSIONS, 0, 0],
]

export class OldBroker implements AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly address: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(port: number) {
    this.address = `127.0.0.1:${port}`
    this.#server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      socket.on('error', () => socket.destroy())
      converse(socket, port)
    })
  }

  static async start(): Promise<OldBroker> {
    const port = await freePort()
    const broker = new OldBroker(port)
    broker.#server.listen(port, '127.0.0.1')
    await once(broker.#server, 'listening')
    return broker
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Each message is its length and its bytes, both ways. */
function converse(socket: Socket, port: number): void {
  let received = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
      const end = 4 + received.readInt32BE(0)
      const answer = answerTo(received.subarray(4, end), port)
      received = received.subarray(end)
      if (answer === undefined) {
        socket.destroy()
        return
      }
      socket.write(Buffer.concat([int32(answer.length), answer]))
    }
  })
}

function answerTo(request: Buffer, port: number): Buffer | undefined {
  const version = request.readInt16BE(2)
  const correlation = request.subarray(4, 8)
  const body = request.subarray(10 + Math.max(0, request.readInt16BE(8)))
  switch (request.readInt16BE(0)) {
    case API_VERSIONS:
      return Buffer.concat([correlation, apiVersions(version > 0 ? UNSUPPORTED_VERSION : 0)])
    case METADATA:
      return version > 1 ? undefined : Buffer.concat([correlation, metadata(version, body, port)])
    default:
      return undefined
  }
}

function apiVersions(error: number): Buffer {
  const ranges = KAFKA_0_10_0.map((range) => Buffer.concat(range.map(int16)))
  return Buffer.concat([int16(error), array(ranges)])
}

function metadata(version: number, body: Buffer, port: number): Buffer {
  const nowhere = int16(-1)
  const self = [int32(0), string('127.0.0.1'), int32(port), ...(version > 0 ? [nowhere] : [])]
  const topics = namesIn(body).map((name) => {
    const isInternal = version > 0 ? [Buffer.from([0])] : []
    return Buffer.concat([int16(UNKNOWN_TOPIC), string(name), ...isInternal, array([])])
  })
  const controller = version > 0 ? [int32(0)] : []
  return Buffer.concat([array([Buffer.concat(self)]), ...controller, array(topics)])
}

function namesIn(body: Buffer): string[] {
  const names: string[] = []
  const count = body.readInt32BE(0)
  for (let at = 4; names.length < count; ) {
    const length = body.readInt16BE(at)
    names.push(body.toString('utf8', at + 2, at + 2 + length))
    at += 2 + length
  }
  return names
}

function array(items: readonly Buffer[]): Buffer {
  return Buffer.concat([int32(items.length), ...items])
}

function string(text: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
