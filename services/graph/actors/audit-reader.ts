/**
 * Reads events of an API server's audit log as they come: lists of them, or one after the other.
 *
 * What must stay true: an event of any size is read in the memory that its kept fields take, and
 * costs no other event; one that is no audit event is handed over as such. What is no list or event
 * of `audit.k8s.io/v1` is refused with a sentence as soon as that is known; what was read before
 * that was handed over.
 *
 * Not here: what an event says (audit-event.ts), what becomes of it (audit-feed.ts,
 * cli/audit-import.ts).
 */
import { Problem } from '../../../runtime/problem.ts'
import { API_VERSION, type Asked, askedOf, EVENT } from './audit-event.ts'
import { type Fields, JsonProjection } from './json-projection.ts'

/** A list, or an event that stands alone. */
const DOCUMENT = { ...EVENT, apiVersion: 'text', kind: 'text', items: [EVENT] } as const

/** Null: it attributes no deletion. Undefined: it is no audit event. */
export type Take = (asked: Asked | null | undefined) => void

export class AuditReader {
  readonly #take: Take
  readonly #json: JsonProjection
  /** Events, also those that are none. */
  received = 0
  /** Of the last one in its list, from 1 on. */
  index = 0
  documents = 0

  constructor(take: Take) {
    this.#take = take
    this.#json = new JsonProjection(DOCUMENT, {
      element: (fields, root) => this.#element(fields, root),
      value: (fields) => this.#document(fields),
    })
  }

  /** From 1 on. */
  get line(): number {
    return this.#json.line
  }

  /** Throws `JsonError`, or `Problem` for what is JSON of something else. */
  push(bytes: Uint8Array): void {
    this.#json.push(bytes)
  }

  end(): void {
    this.#json.end()
  }

  #element(fields: Fields | undefined, { apiVersion, kind }: Fields): void {
    const isOther = (apiVersion ?? API_VERSION) !== API_VERSION || (kind ?? LIST) !== LIST
    if (isOther) throw strange()
    this.index += 1
    this.#event(fields)
  }

  #document(fields: Fields = {}): void {
    const { apiVersion, kind, items } = fields
    if (apiVersion !== API_VERSION) throw strange()
    if (kind === 'Event') {
      this.index = 1
      this.#event(fields)
    } else if (kind !== LIST || items === undefined) throw strange()
    this.index = 0
    this.documents += 1
  }

  #event(fields: Fields | undefined): void {
    this.received += 1
    this.#take(fields === undefined ? undefined : askedOf(fields))
  }
}

const LIST = 'EventList'

function strange(): Problem {
  const hint = 'as an API server sends it with --audit-webhook-config-file'
  return new Problem(400, `expected an EventList of ${API_VERSION}, ${hint}`)
}

export const NO_EVENT = 'is no audit event: it lacks stage, verb or times'
