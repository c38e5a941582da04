/**
 * A collector of OTLP over HTTP for tests: takes the data of OpenTelemetry's exporters, as
 * protobuf, and keeps it.
 *
 * What must stay true: it reads the bytes by itself, by the numbers of opentelemetry-proto, so that
 * it is no mirror of the exporter. It can refuse, and leave without an answer.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface ReceivedSpan {
  readonly service: string
  readonly resource: Readonly<Record<string, string>>
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root. */
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly startNanos: bigint
  readonly endNanos: bigint
  readonly attributes: Readonly<Record<string, string>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

/**
 * How requests are treated: taken, refused with a status that is tried again, or never answered.
 */
export type Manner = 'take' | 'refuse' | 'hang'

export class OtlpReceiver implements AsyncDisposable {
  manner: Manner = 'take'
  requests = 0
  readonly spans: ReceivedSpan[] = []
  /** Names of metrics by the service that sent them. */
  readonly metrics: Map<string, Set<string>> = new Map()
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => {
      this.#take(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new OtlpReceiver(server)
  }

  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = await Array.fromAsync(request)
    this.requests += 1
    if (this.manner === 'hang') return
    if (this.manner === 'refuse') {
      response.writeHead(503).end()
      return
    }
    const sent = Buffer.concat(chunks)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    if (request.headers['content-type'] !== 'application/x-protobuf') throw new Error('no protobuf')
    if (request.url === '/v1/traces') this.spans.push(...spansIn(body))
    else if (request.url === '/v1/metrics') this.#tookMetrics(body)
    else throw new Error(`nothing is at ${request.url}`)
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  }

  #tookMetrics(body: Buffer): void {
    for (const each of messages(body, 1)) {
      const { 'service.name': service = '' } = resourceIn(each)
      const names = this.metrics.get(service) ?? new Set()
      this.metrics.set(service, names)
      for (const metric of messages(each, 2).flatMap((scope) => messages(scope, 2))) {
        names.add(text(metric, 1))
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function spansIn(body: Buffer): ReceivedSpan[] {
  return messages(body, 1).flatMap((each) => {
    const resource = resourceIn(each)
    const service = resource['service.name'] ?? ''
    return messages(each, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => ({
        ...{ service, resource },
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: text(span, 5),
        kind: Number(fields(span).find(({ number }) => number === 6)?.value ?? 0n),
        startNanos: fixed(span, 7),
        endNanos: fixed(span, 8),
        attributes: attributes(span, 9),
        links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
      }))
  })
}

function resourceIn(each: Buffer): Record<string, string> {
  return attributes(messages(each, 1)[0] ?? Buffer.alloc(0), 1)
}

/** As text, whatever their types. */
function attributes(message: Buffer, number: number): Record<string, string> {
  return Object.fromEntries(
    messages(message, number).map((pair) => {
      const [value] = fields(messages(pair, 2)[0] ?? Buffer.alloc(0))
      return [text(pair, 1), String(value?.value ?? '')]
    }),
  )
}

function messages(message: Buffer, number: number): Buffer[] {
  return fields(message).flatMap((field) =>
    field.number === number && Buffer.isBuffer(field.value) ? [field.value] : [],
  )
}

function text(message: Buffer, number: number): string {
  return messages(message, number)[0]?.toString() ?? ''
}

function hex(message: Buffer, number: number): string {
  return messages(message, number)[0]?.toString('hex') ?? ''
}

function fixed(message: Buffer, number: number): bigint {
  const found = fields(message).find((field) => field.number === number)?.value
  return typeof found === 'bigint' ? found : 0n
}

interface Field {
  readonly number: number
  readonly value: bigint | Buffer
}

/** Of one message, in their order. */
function fields(message: Buffer): Field[] {
  const found: Field[] = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const bytes = (size: number): Buffer => {
    if (at + size > message.length) throw new Error('the message ends too early')
    at += size
    return message.subarray(at - size, at)
  }
  while (at < message.length) {
    const tag = Number(varint())
    const number = tag >>> 3
    switch (tag & 7) {
      case 0:
        found.push({ number, value: varint() })
        break
      case 1:
        found.push({ number, value: bytes(8).readBigUInt64LE() })
        break
      case 2:
        found.push({ number, value: bytes(Number(varint())) })
        break
      case 5:
        found.push({ number, value: BigInt(bytes(4).readUInt32LE()) })
        break
      default:
        throw new Error(`a field of type ${tag & 7}`)
    }
  }
  return found
}

/** One deletion, from the event that was read to the answer of the API server, from its spans. */
export interface TracedDeletion {
  readonly watch: ReceivedSpan
  readonly append: ReceivedSpan
  readonly fold: ReceivedSpan
  readonly command: ReceivedSpan
  readonly reap: ReceivedSpan
  readonly call: ReceivedSpan
  /** The fold that took the result. */
  readonly resultFold: ReceivedSpan
}

/**
 * The first that is complete: each span is a child of another or linked to it, and all but folds
 * and appends are of one trace.
 */
export function tracedDeletion(spans: readonly ReceivedSpan[]): TracedDeletion | string {
  const byId = new Map(spans.map((span) => [`${span.traceId}/${span.spanId}`, span]))
  const parentOf = (span: ReceivedSpan): ReceivedSpan | undefined =>
    byId.get(`${span.traceId}/${span.parentSpanId}`)
  const joins = (span: ReceivedSpan, to: ReceivedSpan): boolean =>
    [...span.links, { traceId: span.traceId, spanId: span.parentSpanId }].some(
      ({ traceId, spanId }) => traceId === to.traceId && spanId === to.spanId,
    )
  const calls = spans.filter(({ name }) => name === 'call DELETE')
  for (const call of calls) {
    const reap = parentOf(call)
    const command = reap && parentOf(reap)
    let watch = command && parentOf(command)
    while (watch?.parentSpanId) watch = parentOf(watch)
    if (watch?.name !== 'watch event' || command === undefined || reap === undefined) continue
    const root = watch
    const append = spans.find((span) => span.name === 'append events' && joins(span, root))
    const fold = spans.find((span) => span.name === 'fold' && joins(command, span))
    const resultFold = spans.find((span) => span.name === 'fold' && joins(span, reap))
    if (append === undefined || fold === undefined || resultFold === undefined) continue
    return { watch, append, fold, command, reap, call, resultFold }
  }
  const names = [...Map.groupBy(spans, ({ name }) => name)]
  return `of ${calls.length} calls none is whole: ${names.map(([name, all]) => `${name} ${all.length}`).join(', ')}`
}
