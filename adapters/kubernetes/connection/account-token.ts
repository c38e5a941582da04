/**
 * A token of a service account, by TokenRequest.
 *
 * What must stay true: it is asked for with the credentials of the exchange, and given to the
 * caller only.
 */
import { type Exchange, ExchangeError } from '../../../ports/exchange.ts'
import { call } from '../call.ts'

export interface TokenAsked {
  readonly namespace: string
  readonly account: string
  /** Servers may give less. */
  readonly seconds: number
}

/** `status`: of the answer; 0: there was none. */
export type TokenAnswer =
  | { readonly type: 'given'; readonly token: string }
  | { readonly type: 'refused'; readonly status: number; readonly reason: string }

export async function accountToken(
  exchange: Exchange,
  { namespace, account, seconds }: TokenAsked,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(account)}/token`
  const body = JSON.stringify({
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
    spec: { expirationSeconds: seconds },
  })
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  try {
    const request = { method: 'POST', path, headers, body, purpose: 'read' } as const
    const { status, text } = await call(exchange, request, signal)
    const answer = answerIn(text)
    const token = answer.status?.token
    if (status === 201 && token !== undefined) return { type: 'given', token }
    return { type: 'refused', status, reason: answer.message ?? `HTTP ${status}` }
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError'
    if (!(error instanceof ExchangeError) && !isTimeout) throw error
    return { type: 'refused', status: 0, reason: (error as Error).message }
  }
}

interface Answer {
  readonly status?: { readonly token?: string }
  readonly message?: string
}

function answerIn(text: string): Answer {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
