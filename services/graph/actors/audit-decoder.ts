/**
 * Reads audit events out of bytes: as an API server writes and sends them, and as clouds export and
 * deliver them: EKS out of CloudWatch Logs, GKE out of Cloud Logging, AKS out of Azure Monitor.
 * Which it is shows in each document. What imports, follows and takes them over HTTP reads by this.
 *
 * What must stay true: any number of documents is read in the memory of one event's fields; only a
 * piece in base64 is held whole, up to a bound, and what is packed in it is read as it is unpacked.
 * An event that cannot be read costs itself alone, and is handed over as that, with its time where
 * its wrapper has one. What is of another log, or of another cluster than is asked for, is counted.
 * A document of no known format is refused; what was read before it was handed over.
 *
 * Not here: what an event says (audit-event.ts), what a delivery is wrapped in (delivery.ts), what
 * becomes of it (audit-feed.ts, cli/offline/audit-import.ts, cli/offline/audit-follow.ts).
 */
import { Problem } from '../../../runtime/http/problem.ts'
import { API_VERSION, type Asked, askedOf, EVENT, LAST_MS } from './audit-event.ts'
import { DELIVERY, type Packed, partsOf, pieceIn } from './delivery.ts'
import { eventOfEntry, GKE_ENTRY, sourceOfEntry } from './gke-entry.ts'
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

/** An entry that is no audit event, where one is expected. */
export interface Unreadable {
  readonly type: 'Unreadable'
  /** When it was written, as far as that is known. */
  readonly at: number | undefined
  /** Whether a cloud wrapped it. */
  readonly isWrapped: boolean
}

/** Null: it attributes no deletion. */
export type Take = (found: Asked | Unreadable | null) => void

export interface Decoding {
  /** What is of another format is refused. */
  readonly only?: Format | undefined
  /**
   * The one cluster that is meant, as its cloud names it: entries of others are left out. Without
   * it a second cluster is refused: no event may name a user in another cluster.
   */
  readonly source?: string | undefined
}

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

const TEXT = new Within(() => new EventText())
const MESSAGE: ObjectShape = { message: TEXT, logStreamName: 'text', timestamp: 'number' }
const RECORD: ObjectShape = {
  ...{ category: 'text', resourceId: 'text', time: 'text' },
  properties: { log: TEXT },
}
const DOCUMENT: ObjectShape = {
  ...EVENT,
  ...{ apiVersion: 'text', kind: 'text', items: [EVENT] },
  // CloudWatch Logs: of its commands, and of its subscriptions.
  events: [MESSAGE],
  ...{ messageType: 'text', logGroup: 'text', logStream: 'text', logEvents: [MESSAGE] },
  ...DELIVERY,
  ...GKE_ENTRY,
  logName: 'text',
  // Azure Monitor: of Event Hubs; of a storage account, a line each; a row of AzureDiagnostics.
  // Data Firehose calls its pieces records, too.
  records: [{ ...RECORD, ...DELIVERY }],
  ...RECORD,
  ...{ Category: 'text', ResourceId: 'text', TimeGenerated: 'text', log_s: TEXT },
}

class SeveralClusters extends Problem {
  constructor(first: string, second: string) {
    super(
      400,
      `events of several clusters, of ${first} and of ${second}: name the one that is meant with --source, or ?source=`,
    )
  }
}

/** What is known of one event beside itself. */
interface Wrapper {
  readonly source?: unknown
  readonly at?: unknown
}

export class AuditDecoder {
  readonly #take: Take
  readonly #decoding: Decoding
  readonly #json: JsonProjection
  readonly #tail = new TailLines()
  /** Of the delivery that this is a piece of. */
  readonly #outer: Format | undefined
  readonly #pieces: (Packed & { readonly line: number })[] = []
  readonly formats: Set<Format> = new Set<Format>()
  /** Events, also those that cannot be read. */
  received: number = 0
  unreadable: number = 0
  /** Line of the first of them. */
  firstUnreadable: number = 0
  documents: number = 0
  /** The first that was left out, as its cloud names it. */
  otherSource: string | undefined
  #others = 0
  #source: string | undefined

  constructor(take: Take, decoding: Decoding = {}, outer?: Format) {
    this.#take = take
    this.#decoding = decoding
    this.#outer = outer
    this.#json = new JsonProjection(
      DOCUMENT,
      {
        element: (fields, root) => this.#element(fields, root),
        value: (fields) => {
          this.documents += 1
          this.#document(fields ?? {})
        },
      },
      true,
    )
  }

  /** Of other logs, services or clusters. */
  get others(): number {
    return this.#others + this.#tail.others
  }

  get line(): number {
    return this.#json.line
  }

  /**
   * Reads more, a bounded step at a time: who has others to serve does so between two. Throws
   * `JsonError`, or `Problem` for what is JSON of something else.
   */
  async *read(bytes: Uint8Array): AsyncGenerator<void, void> {
    for (const part of this.#tail.read(bytes)) {
      try {
        this.#json.push(part)
      } finally {
        // What was read before that which is refused counts.
        yield* this.#readPieces()
      }
      yield
    }
  }

  end(): void {
    this.#json.end()
  }

  #element(fields: Fields | undefined, root: Fields): void {
    if (fields === undefined) return this.#unreadable({}, true)
    const { message, logStreamName, category, properties } = fields
    const found = pieceIn(fields)
    if (found !== undefined) this.#piece(found)
    else if ('properties' in fields || 'category' in fields) {
      this.#record(category, fieldsOf(properties)['log'], {
        ...{ source: fields['resourceId'], at: fields['time'] },
      })
    } else if ('message' in fields || 'logStreamName' in fields) {
      this.#is('eks')
      const stream = logStreamName ?? root['logStream']
      const isControl = root['messageType'] === 'CONTROL_MESSAGE'
      if (isControl || !isAudit(stream)) this.#others += 1
      else this.#wrapped(message, { source: root['logGroup'], at: fields['timestamp'] })
    } else this.#event(fields, root)
  }

  #document(fields: Fields): void {
    const { apiVersion, kind, items, protoPayload, logName } = fields
    if (apiVersion === API_VERSION && kind === 'Event') return this.#event(fields, fields)
    if (apiVersion === API_VERSION && items !== undefined) return this.#is('events')
    const found = pieceIn(fields)
    if (found !== undefined) return this.#piece(found)
    if (protoPayload !== undefined || logName !== undefined) return this.#entry(fields)
    if ('log_s' in fields) {
      const { Category, ResourceId: source, TimeGenerated: at } = fields
      return this.#record(Category, fields['log_s'], { source, at })
    }
    if ('properties' in fields || 'category' in fields) return this.#element(fields, fields)
    if ('events' in fields || 'logEvents' in fields) return this.#is('eks')
    if ('records' in fields || 'Records' in fields) return
    if ('receivedMessages' in fields) return this.#is('gke')
    throw strange()
  }

  #event(fields: Fields, root: Fields): void {
    const { apiVersion, kind } = root
    if ((apiVersion ?? API_VERSION) !== API_VERSION) throw strange()
    if (kind !== undefined && kind !== 'Event' && kind !== 'EventList') throw strange()
    this.#is(this.#outer ?? (this.#tail.isUsed ? 'eks' : 'events'))
    this.#found(fields, { at: fields['stageTimestamp'] }, false)
  }

  #entry(fields: Fields): void {
    this.#is('gke')
    const event = fields['protoPayload'] === undefined ? undefined : eventOfEntry(fields)
    if (event === undefined) this.#others += 1
    else this.#wrapped(event, { source: sourceOfEntry(fields), at: fields['timestamp'] })
  }

  #record(category: unknown, log: unknown, wrapper: Wrapper): void {
    this.#is('aks')
    const isAuditLog = /^kube-audit(-admin)?$/i.test(String(category ?? 'kube-audit'))
    if (isAuditLog) this.#wrapped(log, wrapper)
    else this.#others += 1
  }

  #wrapped(event: unknown, wrapper: Wrapper): void {
    if (!this.#isMeant(wrapper.source)) this.#others += 1
    else this.#found(event, wrapper, true)
  }

  #found(event: unknown, wrapper: Wrapper, isWrapped: boolean): void {
    const asked = isFields(event) ? askedOf(event) : undefined
    if (asked === undefined) return this.#unreadable(wrapper, isWrapped)
    this.received += 1
    this.#take(asked)
  }

  #unreadable({ at }: Wrapper, isWrapped: boolean, line = this.line): void {
    this.received += 1
    this.unreadable += 1
    if (this.unreadable === 1) this.firstUnreadable = line
    this.#take({ type: 'Unreadable', at: timeOf(at), isWrapped })
  }

  #piece(packed: Packed): void {
    this.#is(packed.format)
    // What wraps pieces holds none in them.
    if (this.#outer === undefined) this.#pieces.push({ ...packed, line: this.line })
    else this.#unreadable({}, true)
  }

  async *#readPieces(): AsyncGenerator<void, void> {
    for (const { piece, format, line } of this.#pieces.splice(0)) {
      const inner = new AuditDecoder(this.#take, this.#decoding, format)
      inner.#source = this.#source
      try {
        for await (const part of partsOf(piece)) yield* inner.read(part)
        inner.end()
      } catch (error) {
        if (error instanceof SeveralClusters) throw error
        this.#unreadable({}, true, line)
      }
      this.received += inner.received
      this.#others += inner.others
      if (inner.unreadable > 0 && this.unreadable === 0) this.firstUnreadable = line
      this.unreadable += inner.unreadable
      this.#source ??= inner.#source
    }
  }

  /** Throws `Problem` for an event of a second cluster. */
  #isMeant(source: unknown): boolean {
    const { source: meant } = this.#decoding
    const named = typeof source === 'string' && source !== '' ? source : undefined
    if (meant !== undefined) {
      const isMeant = named?.toLowerCase() === meant.toLowerCase()
      if (!isMeant) this.otherSource ??= named
      return isMeant
    }
    if (named === undefined) return true
    this.#source ??= named
    if (this.#source.toLowerCase() === named.toLowerCase()) return true
    throw new SeveralClusters(this.#source, named)
  }

  #is(format: Format): void {
    this.formats.add(format)
    const { only } = this.#decoding
    if (only === undefined || only === format) return
    throw new Problem(400, `this is ${format}, and --format says ${only}`)
  }
}

/** A log group has the cluster's other logs, too. */
function isAudit(stream: unknown): boolean {
  return typeof stream !== 'string' || stream.startsWith('kube-apiserver-audit')
}

function timeOf(at: unknown): number | undefined {
  const ms = typeof at === 'number' ? at : Date.parse(String(at))
  return ms >= 0 && ms <= LAST_MS ? ms : undefined
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
    `expected an EventList or an event of ${API_VERSION}, or what EKS, GKE or AKS export of it (docs/ask/who.md)`,
  )
}

export const NO_EVENT = 'is no audit event: it lacks stage, verb or times'
