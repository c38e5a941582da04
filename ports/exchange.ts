/**
 * Port: one HTTP exchange with one API server: status, headers, byte chunks. The lowest layer, so
 * that a simulator runs the real classification of answers.
 *
 * Guarantees: a request is sent at most once; the body is exactly the bytes of the server, and a
 * cut body throws while it is read. Assumes: the caller reads the body to its end or aborts.
 *
 * Not here: the meaning of a status (adapters/kubernetes), credentials (each adapter adds its own).
 */

/**
 * Each purpose has connections of its own, so that neither a slow list nor many live GETs of owners
 * delay a write that has passed its gate.
 */
export type Purpose = 'watch' | 'list' | 'confirm' | 'read' | 'write'

/**
 * One open connection to a server: all answers over it came from the same one. Compared by
 * identity.
 */
export type Connection = object

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query, percent-encoded. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly purpose: Purpose
  /** Over this connection only, for `read`; rejects with `CUT` when that is closed. */
  readonly over?: Connection
}

export interface ExchangeResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  /** The connection of the answer, for `read`; undefined where only one server could answer. */
  readonly connection?: Connection | undefined
}

export interface Exchange extends AsyncDisposable {
  /** Rejects with `ExchangeError`, or with the signal's reason. */
  request(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResponse>
}

/**
 * - `UNREACHABLE`: nothing was sent.
 * - `CUT`: sent, and the answer is missing or broken: its outcome is unknown.
 * - `TIMEOUT`: as `CUT`.
 * - `CREDENTIALS`: the kubeconfig's credentials are not available.
 * - `UNTRUSTED`: TLS identifies another server.
 */
export type ExchangeErrorCode = 'UNREACHABLE' | 'CUT' | 'TIMEOUT' | 'CREDENTIALS' | 'UNTRUSTED'

export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly code: ExchangeErrorCode

  constructor(code: ExchangeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
