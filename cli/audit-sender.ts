/**
 * Sends what audit logs say of deletions to a running Kinfold.
 *
 * What must stay true: no more of an event is sent than is kept; what was answered is on Kinfold's
 * log. What is not answered was not sent, and is sent again: twice counts once.
 *
 * Not here: where it comes from (audit-import.ts, audit-follow.ts).
 */
import { setTimeout } from 'node:timers/promises'
import type { Unreadable } from '../services/graph/actors/audit-decoder.ts'
import { API_VERSION, type Asked, eventOf } from '../services/graph/actors/audit-event.ts'
import { AUDIT_PATH } from '../services/graph/api/route.ts'
import type { AuditEventsResult } from './answer.ts'
import { refusalOf, type Server, sendAnyway } from './client.ts'

/** Events of one request. */
const SENT_AT_ONCE = 100

export type Found = Asked | Unreadable

export interface Sent {
  readonly sent: number
  readonly overShare: number
  readonly cluster: string | undefined
}

/** Sends as much at once as is taken, and waits as long as it is told to. */
export class AuditSender {
  readonly #server: Server
  readonly #path: string
  #waiting: object[] = []
  #sent = 0
  #overShare = 0
  #cluster: string | undefined

  constructor(server: Server, cluster: string | undefined) {
    this.#server = server
    const params = cluster === undefined ? '' : `?${new URLSearchParams({ cluster })}`
    this.#path = `${AUDIT_PATH}${params}`
  }

  async add(found: readonly Found[]): Promise<void> {
    this.#waiting.push(...found.map(itemOf))
    while (this.#waiting.length >= SENT_AT_ONCE) await this.#send()
  }

  async sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send()
  }

  /** Also where nothing is left: a cluster that is not known, or no right to it, is said in any case. */
  async end(): Promise<Sent> {
    await this.#send()
    return { sent: this.#sent, overShare: this.#overShare, cluster: this.#cluster }
  }

  async #send(): Promise<void> {
    const items = this.#waiting.slice(0, SENT_AT_ONCE)
    const body = JSON.stringify({ kind: 'EventList', apiVersion: API_VERSION, items })
    for (;;) {
      const response = await sendAnyway(this.#server, this.#path, body)
      if (response.ok) {
        const { kept, overShare, cluster } = (await response.json()) as AuditEventsResult
        this.#sent += kept
        this.#overShare += overShare
        this.#cluster = cluster.name
        this.#waiting.splice(0, items.length)
        return
      }
      const seconds = Number(response.headers.get('retry-after') ?? 0)
      const isLater = response.status === 429 || response.status === 503
      if (!isLater || !(seconds > 0)) throw await refusalOf(response, this.#server)
      await response.body?.cancel()
      await setTimeout(seconds * 1_000)
    }
  }
}

/** What could not be read is an event without all but its time: Kinfold says the gap. */
function itemOf(found: Found): object {
  if (found.type === 'Actor') return eventOf(found)
  return found.at === undefined ? {} : { stageTimestamp: new Date(found.at).toISOString() }
}
