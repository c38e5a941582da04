/**
 * Sends what audit logs say of deletions to a running Kinfold.
 *
 * What must stay true: no more of an event is sent than is kept; what was answered is on Kinfold's
 * log. What is not answered was not sent, and is sent again: twice counts once. Who waits for a
 * Kinfold that restarts sends to no other one: it is asked for where it was found, and for the
 * cluster of its first answer.
 *
 * Not here: where it comes from (audit-import.ts, audit-follow.ts).
 */
import { setTimeout } from 'node:timers/promises'
import { ExitError } from '../../runtime/lifecycle.ts'
import type { Unreadable } from '../../services/graph/actors/audit-decoder.ts'
import { API_VERSION, type Asked, eventOf } from '../../services/graph/actors/audit-event.ts'
import { AUDIT_PATH } from '../../services/graph/api/route.ts'
import type { AuditEventsResult } from '../answer.ts'
import { refusalOf, type Server, sendAnyway } from '../reach/client.ts'

/** Events of one request. */
const SENT_AT_ONCE = 100

export type Found = Asked | Unreadable

/** How one waits who sends until it is stopped. */
export interface Patience {
  readonly signal: AbortSignal
  /** Once for each reason. */
  readonly onWait: (why: string) => void
}

interface Answered {
  readonly server: Server
  readonly response: Response
}

/** Where the answer does not say when to try again. */
const AGAIN_MS = 1_000
/** Another process has the address. */
const MISDIRECTED = 421

export interface Sent {
  readonly sent: number
  readonly overShare: number
  readonly cluster: string | undefined
}

/** Sends as much at once as is taken, and waits as long as the answer asks for. */
export class AuditSender {
  readonly #serverNow: () => Server
  #path: string
  #waiting: object[] = []
  #sent = 0
  #overShare = 0
  #cluster: AuditEventsResult['cluster'] | undefined
  #patience: Patience | undefined
  #reason = ''

  /** With `patience` it waits for a Kinfold that is away, until the signal aborts. */
  constructor(serverNow: () => Server, cluster: string | undefined, patience?: Patience) {
    this.#serverNow = serverNow
    this.#patience = patience
    this.#path = pathTo(cluster)
  }

  /** From now on it waits, for the Kinfold that has answered. */
  waitFromNowOn(patience: Patience): void {
    this.#patience = patience
    this.#path = pathTo(this.#cluster?.id)
  }

  async add(found: readonly Found[]): Promise<void> {
    this.#waiting.push(...found.map(itemOf))
    while (this.#waiting.length >= SENT_AT_ONCE) await this.#send()
  }

  async sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send()
  }

  /**
   * Also where nothing is left: a cluster that is not known, or no right to it, is said in any
   * case.
   */
  async end(): Promise<Sent> {
    await this.#send()
    return this.counts()
  }

  counts(): Sent {
    return { sent: this.#sent, overShare: this.#overShare, cluster: this.#cluster?.name }
  }

  async #send(): Promise<void> {
    const items = this.#waiting.slice(0, SENT_AT_ONCE)
    const body = JSON.stringify({ kind: 'EventList', apiVersion: API_VERSION, items })
    for (;;) {
      this.#patience?.signal.throwIfAborted()
      const answered = await this.#answer(body)
      if (answered?.response.ok) {
        const result = (await answered.response.json()) as AuditEventsResult
        const { kept, overShare, cluster } = result
        this.#sent += kept
        this.#overShare += overShare
        this.#cluster = cluster
        this.#waiting.splice(0, items.length)
        this.#reason = ''
        return
      }
      await this.#wait(answered)
    }
  }

  /** Undefined: none, and it is asked again. */
  async #answer(body: string): Promise<Answered | undefined> {
    try {
      const server = this.#serverNow()
      return { server, response: await sendAnyway(server, this.#path, body) }
    } catch (error) {
      if (this.#patience === undefined || !(error instanceof ExitError)) throw error
      this.#say(error.message)
      return undefined
    }
  }

  async #wait(answered: Answered | undefined): Promise<void> {
    const { response, server } = answered ?? {}
    const seconds = Number(response?.headers.get('retry-after') ?? 0)
    const status = response?.status ?? 503
    const isLater = (status === 429 || status === 503) && seconds > 0
    const isAway = this.#patience !== undefined && (status >= 500 || status === MISDIRECTED)
    if (response !== undefined && server !== undefined && !isLater) {
      const refusal = await refusalOf(response, server)
      if (!isAway) throw refusal
      this.#say(refusal.message)
    } else await response?.body?.cancel()
    const signal = this.#patience?.signal
    await setTimeout(isLater ? seconds * 1_000 : AGAIN_MS, undefined, signal && { signal }).catch(
      () => signal?.throwIfAborted(),
    )
  }

  #say(reason: string): void {
    if (reason !== this.#reason) this.#patience?.onWait(reason)
    this.#reason = reason
  }
}

function pathTo(cluster: string | undefined): string {
  return cluster === undefined ? AUDIT_PATH : `${AUDIT_PATH}?${new URLSearchParams({ cluster })}`
}

/** What could not be read is an event without all but its time: Kinfold says the gap. */
function itemOf(found: Found): object {
  if (found.type === 'Actor') return eventOf(found)
  return found.at === undefined ? {} : { stageTimestamp: new Date(found.at).toISOString() }
}
