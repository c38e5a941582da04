/**
 * Port: one receiver of CloudEvents over HTTP.
 *
 * Guarantees: `send` resolves only when the receiver has answered that it took the event. Assumes:
 * nothing about retries; the caller retries, with the same id, so a receiver may get an event
 * twice.
 */

/** As CloudEvents 1.0 have it, in JSON. */
export interface WebhookEvent {
  /** The same for the same event, however often it is sent. */
  readonly id: string
  /** `dev.kinfold.` and its subject. */
  readonly type: string
  /** `/clusters/` and the cluster's id. */
  readonly source: string
  readonly subject: string
  /** Log time in milliseconds. */
  readonly timeMs: number
  readonly data: Readonly<Record<string, unknown>>
}

export interface Webhook {
  /** Rejects with an Error whose message says why it was not taken. */
  send(event: WebhookEvent, signal: AbortSignal): Promise<void>
}
