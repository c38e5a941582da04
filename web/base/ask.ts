/**
 * Asks the documented routes of the server that the page came from, with the token that its user
 * typed in.
 *
 * What must stay true: the token is kept for this tab alone and sent to this server alone, so
 * behind an ingress to no address outside of the page's own path; nothing else of the page calls
 * `fetch`.
 */
import type { Answers, DirectiveResult, Problem, Queries } from '../../cli/answer.ts'

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const KEY = 'kinfold-token'
const PRINTABLE = /^[!-~]+$/

let onRefused: () => void = () => undefined

/** Called when the server wants a token, or another one. */
export function whenRefused(callback: () => void): void {
  onRefused = callback
}

export function hasToken(): boolean {
  return sessionStorage.getItem(KEY) !== null
}

/** False: it is none. */
export function keepToken(token: string): boolean {
  if (!PRINTABLE.test(token)) return false
  sessionStorage.setItem(KEY, token)
  return true
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY)
}

type Query = Readonly<Record<string, string | boolean | undefined>>

/** Of a path with parameters in braces. */
type Segments = Readonly<Record<string, string>>

/** Throws `Refusal` with the sentence of the server. */
export async function ask<P extends keyof Answers>(
  path: P,
  query: Queries[P],
  signal?: AbortSignal,
  segments: Segments = {},
): Promise<Answers[P]> {
  const whole = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return encodeURIComponent(segments[name] ?? '')
  })
  const response = await call(pathOf(whole, query), signal ? { signal } : {})
  return (await response.json()) as Answers[P]
}

/** A document a line, until the server or the signal ends it. */
export async function* follow<P extends '/v1/cascade'>(
  path: P,
  query: Queries[P],
  signal: AbortSignal,
): AsyncGenerator<Answers[P]> {
  const response = await call(pathOf(path, query), { signal })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Answers[P]
  }
}

export interface Order {
  readonly verb: 'approve' | 'reject'
  readonly cluster: string
  readonly digest: string
  readonly why: string
}

export async function order(body: Order): Promise<DirectiveResult> {
  const response = await call('/v1/directives', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, claimed: 'page' }),
  })
  return (await response.json()) as DirectiveResult
}

/** Checks of the process that are not fine: those that failed, and warnings. */
export async function failedChecks(signal?: AbortSignal): Promise<readonly string[]> {
  const response = await send('/readyz?verbose', signal ? { signal } : {})
  const lines = (await response.text()).trimEnd().split('\n')
  return lines.filter((line) => line.startsWith('[-]'))
}

function pathOf(path: string, query: Query): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) params.set(key, String(value))
  }
  return params.size === 0 ? path : `${path}?${params}`
}

async function call(path: string, init: RequestInit): Promise<Response> {
  const response = await send(path, init)
  if (response.ok) return response
  if (response.status === 401) onRefused()
  throw new Refusal(response.status, await detailOf(response))
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const token = sessionStorage.getItem(KEY)
  const headers = new Headers(init.headers)
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  try {
    return await fetch(`.${path}`, { ...init, headers, credentials: 'omit', redirect: 'error' })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new Refusal(0, 'Kinfold cannot be reached just now')
  }
}

async function detailOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => null)) as Problem | null
  return body?.detail ?? `the server answered ${response.status}`
}
