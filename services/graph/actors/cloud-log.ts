/**
 * Reads audit events as clouds export them, beside those of an API server: EKS out of CloudWatch
 * Logs, GKE out of Cloud Logging, AKS out of Azure Monitor. Which it is shows in each document.
 *
 * What must stay true: any number of documents is read in the memory of one event's fields; only a
 * subscription's compressed piece is held whole, up to a bound. What is wrapped and cannot be read
 * costs itself alone, and is counted, as is what is of another log. A document of no known format
 * is refused.
 *
 * Not here: what an event says (audit-event.ts), what an API server sends itself (audit-reader.ts).
 */
import { gunzipSync } from 'node:zlib'
import { Problem } from '../../../runtime/problem.ts'
import { API_VERSION, type Asked, askedOf, EVENT } from './audit-event.ts'
import { NO_EVENT } from './audit-reader.ts'
import { eventOfEntry, GKE_ENTRY } from './gke-entry.ts'
import {
  type Fields,
  JsonError,
  JsonProjection,
  type ObjectShape,
  type TextSink,
  Within,
} from './json-projection.ts'
import { TailLines } from './tail-lines.ts'

export const FORMATS = ['events', 'eks', 'gke', 'aks'] as const
export type Format = (typeof FORMATS)[number]

/** Of a subscription's piece, as it is sent and as it is read. CloudWatch Logs sends less. */
const LONGEST_PIECE = 8 * 1024 * 1024
const LARGEST_PIECE = 64 * 1024 * 1024

/** An audit event within a text. Undefined where it is no JSON object. */
class EventText implements TextSink {
  #value: Fields | undefined
  #isBroken = false
  readonly #json = new JsonProjection(EVENT, {
    element: () => undefined,
    value: (fields) => {
      this.#value = fields
    },
  })

  push(bytes: Uint8Array): void {
    this.#do(() => this.#json.push(bytes))
  }

  end(): Fields | undefined {
    this.#do(() => this.#json.end())
    return this.#isBroken ? undefined : this.#value
  }

  #do(step: () => void): void {
    if (this.#isBroken) return
    try {
      step()
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      this.#isBroken = true
    }
  }
}

/** The bytes of a text. Undefined where there are too many. */
class Bytes implements TextSink {
  readonly #parts: Buffer[] = []
  #length = 0

  push(bytes: Uint8Array): void {
    this.#length += bytes.length
    if (this.#length <= LONGEST_PIECE) this.#parts.push(Buffer.from(bytes))
  }

  end(): Fields {
    return { bytes: this.#length > LONGEST_PIECE ? undefined : Buffer.concat(this.#parts) }
  }
}

const TEXT = new Within(() => new EventText())
const MESSAGE = { message: TEXT, logStreamName: 'text' } as const
const RECORD = { category: 'text', properties: { log: TEXT } } as const
const DOCUMENT: ObjectShape = {
  ...EVENT,
  ...{ apiVersion: 'text', kind: 'text', items: [EVENT] },
  // CloudWatch Logs: of its commands, of its subscriptions, and these as a function gets them.
  events: [MESSAGE],
  ...{ messageType: 'text', logStream: 'text', logEvents: [MESSAGE] },
  awslogs: { data: new Within(() => new Bytes()) },
  ...GKE_ENTRY,
  logName: 'text',
  // Azure Monitor: of Event Hubs; of a storage account, a line each; a row of AzureDiagnostics.
  records: [RECORD],
  ...RECORD,
  ...{ Category: 'text', log_s: TEXT },
}

export class CloudLog {
  readonly #take: (asked: Asked) => void
  readonly #only: Format | undefined
  readonly #json: JsonProjection
  readonly #tail = new TailLines()
  readonly formats: Set<Format> = new Set<Format>()
  /** Events, also those that cannot be read. */
  received: number = 0
  /** What was in the wrapper of an event, and is none. */
  unreadable: number = 0
  /** Line of the first of them. */
  firstUnreadable: number = 0
  #others = 0

  /** `only`: what is of another format is refused. */
  constructor(take: (asked: Asked) => void, only?: Format) {
    this.#take = take
    this.#only = only
    this.#json = new JsonProjection(
      DOCUMENT,
      {
        element: (fields, root) => this.#element(fields, root),
        value: (fields) => this.#document(fields ?? {}),
      },
      true,
    )
  }

  get line(): number {
    return this.#json.line
  }

  /** Of other logs of the cluster, or of other services. */
  get others(): number {
    return this.#others + this.#tail.others
  }

  /** Throws `JsonError`, or `Problem` for what is JSON of something else. */
  push(bytes: Uint8Array): void {
    for (const part of this.#tail.read(bytes)) this.#json.push(part)
  }

  end(): void {
    this.#json.end()
  }

  #element(fields: Fields | undefined, root: Fields): void {
    const { message, logStreamName, category, properties } = fields ?? {}
    if (fields === undefined) return this.#wrapped(undefined)
    if ('properties' in fields || 'category' in fields) {
      this.#record(category, fieldsOf(properties)['log'])
    } else if ('message' in fields || 'logStreamName' in fields) {
      this.#is('eks')
      const stream = logStreamName ?? root['logStream']
      const isControl = root['messageType'] === 'CONTROL_MESSAGE'
      if (isControl || !isAudit(stream)) this.#others += 1
      else this.#wrapped(message)
    } else this.#event(fields, root)
  }

  #document(fields: Fields): void {
    const { apiVersion, kind, items, awslogs, protoPayload, logName } = fields
    if (apiVersion === API_VERSION && kind === 'Event') return this.#event(fields, fields)
    if (apiVersion === API_VERSION && items !== undefined) return this.#is('events')
    if (protoPayload !== undefined || logName !== undefined) return this.#entry(fields)
    if (awslogs !== undefined) return this.#piece(fieldsOf(fieldsOf(awslogs)['data'])['bytes'])
    if ('log_s' in fields) return this.#record(fields['Category'], fields['log_s'])
    if ('properties' in fields || 'category' in fields) {
      return this.#record(fields['category'], fieldsOf(fields['properties'])['log'])
    }
    if ('events' in fields || 'logEvents' in fields) return this.#is('eks')
    if ('records' in fields) return this.#is('aks')
    throw strange()
  }

  #event(fields: Fields, root: Fields): void {
    const { apiVersion, kind } = root
    if ((apiVersion ?? API_VERSION) !== API_VERSION) throw strange()
    if (kind !== undefined && kind !== 'Event' && kind !== 'EventList') throw strange()
    this.#is(this.#tail.isUsed ? 'eks' : 'events')
    this.received += 1
    const asked = askedOf(fields)
    if (asked === undefined) throw new Problem(400, `event ${this.received} ${NO_EVENT}`)
    if (asked !== null) this.#take(asked)
  }

  #entry(fields: Fields): void {
    this.#is('gke')
    const event = fields['protoPayload'] === undefined ? undefined : eventOfEntry(fields)
    if (event === undefined) this.#others += 1
    else this.#wrapped(event)
  }

  #record(category: unknown, log: unknown): void {
    this.#is('aks')
    const isAuditLog = /^kube-audit(-admin)?$/i.test(String(category ?? 'kube-audit'))
    if (isAuditLog) this.#wrapped(log)
    else this.#others += 1
  }

  #wrapped(event: unknown): void {
    this.received += 1
    const asked = isFields(event) ? askedOf(event) : undefined
    if (asked === undefined) this.#failed()
    else if (asked !== null) this.#take(asked)
  }

  #failed(): void {
    this.unreadable += 1
    if (this.unreadable === 1) this.firstUnreadable = this.line
  }

  /** Of a subscription: JSON, compressed, in base64. */
  #piece(bytes: unknown): void {
    this.#is('eks')
    const inner = new CloudLog(this.#take, 'eks')
    try {
      const packed = Buffer.from(String(bytes), 'base64')
      inner.push(gunzipSync(packed, { maxOutputLength: LARGEST_PIECE }))
      inner.end()
    } catch {
      this.received += 1
      this.#failed()
    }
    this.received += inner.received
    this.#others += inner.others
    if (inner.unreadable > 0 && this.unreadable === 0) this.firstUnreadable = this.line
    this.unreadable += inner.unreadable
  }

  #is(format: Format): void {
    this.formats.add(format)
    if (this.#only === undefined || this.#only === format) return
    throw new Problem(400, `this is ${format}, and --format says ${this.#only}`)
  }
}

/** A log group has the cluster's other logs, too. */
function isAudit(stream: unknown): boolean {
  return typeof stream !== 'string' || stream.startsWith('kube-apiserver-audit')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function strange(): Problem {
  return new Problem(
    400,
    `expected an event or EventList of ${API_VERSION}, or what EKS, GKE or AKS export of it (docs/who.md)`,
  )
}
