/**
 * Asks a running Kinfold. What must stay true: what it answers is passed on whole; that there is
 * none, or that it knows no such object, is a sentence that says what to do.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { shellWord } from '../../core/model/text.ts'
import { readTokens } from '../../runtime/http/http-token.ts'
import { trustAlso } from '../../runtime/http/tls.ts'
import { INSTANCE_HEADER } from '../../runtime/instance.ts'
import { EXIT, type ExitCode, ExitError } from '../../runtime/lifecycle.ts'
import type { Answers, Queries } from '../answer.ts'
import { defaultDataDirectory } from '../config/data-directory.ts'

export interface ClientFlags {
  readonly server?: string
  readonly data?: string
  readonly tokenFile?: string
  readonly certificateAuthority?: string
}

/** How a cluster is meant: by its own name or id, or by the context that leads to it. */
export interface ScopeFlags {
  readonly cluster?: string
  readonly context?: string
  readonly kubeconfig?: string
}

export interface ObjectFlags extends ClientFlags, ScopeFlags {
  readonly namespace?: string
}

/** Where a question looks. */
export interface Scope {
  readonly namespace: string
  /** Undefined: in all of them. */
  readonly cluster?: string | undefined
}

/** Where it answers, and what it wants to be shown. */
export interface Server {
  readonly url: string
  readonly token: string | undefined
  /** The process that is meant; undefined: any that answers there. */
  readonly instance: string | undefined
  /** The directory of data by which it was found, or that is there; else it was named. */
  readonly data?: string | undefined
  /** What is said beside a refusal, where the question says more than its user wrote. */
  readonly hint?: string | undefined
}

const DEFAULT_SERVER = 'http://127.0.0.1:7070'
/** Until an answer begins. A plan of very much takes a while. */
const ASK_MS = 120_000
/**
 * An order is one record on the log. Who stops an emergency must know soon that it did not work.
 */
const ORDER_MS = 10_000

export function withServer(command: Command): Command {
  return command
    .option('--server <url>', 'endpoint of a running kinfold (default: as its data directory says)')
    .option('--data <dir>', 'data directory of the running kinfold')
    .option(
      '--via <service>',
      'NAMESPACE/SERVICE of a kinfold in a cluster: your kubectl forwards its port',
    )
    .option('--token-file <file>', 'file with the token that it wants to be shown')
    .option('--certificate-authority <file>', 'authority of its certificate, in PEM')
}

export function withObject(command: Command): Command {
  const namespace = "namespace of the object (default: of the kubeconfig's context, or default)"
  const hint = 'name or id of the cluster, where several have such an object'
  return withScope(withServer(command).option('-n, --namespace <ns>', namespace), hint)
}

/** In which words a moment is named. */
export const MOMENTS = 'RFC 3339, 14:05, 2h (ago), pos:PARTITION-OFFSET or before:COMMAND'

/** Of a question that may be about the past (moment.ts). */
export function withMoment(command: Command): Command {
  return command.option('--at <moment>', `at a moment of the past: ${MOMENTS}`)
}

export function withScope(command: Command, cluster = 'name or id of the cluster'): Command {
  return command
    .option('--cluster <c>', cluster)
    .option('--context <name>', "kubeconfig's context: its cluster, and its namespace")
    .option('--kubeconfig <file>', 'kubeconfig (default: $KUBECONFIG or ~/.kube/config)')
}

/** Of one that ran before: without them it would take another mode, account and list of kinds. */
const ITS_FLAGS = 'the --mode, --kinds and --kubeconfig that it had'

/**
 * Flags, the environment, what a running process wrote into the usual data directory, the default
 * port. Of a directory that is named, also by $KINFOLD_DATA, nothing else is asked: an order must
 * not reach a process that happens to listen.
 */
export function serverOf(flags: ClientFlags): Server {
  const data = flags.data ?? (process.env['KINFOLD_DATA'] || undefined)
  const isOfData = flags.server === undefined && data !== undefined
  const named = flags.server ?? (isOfData ? undefined : process.env['KINFOLD_SERVER'] || undefined)
  const home = named === undefined ? (data ?? defaultDataDirectory()) : undefined
  const about = home === undefined ? undefined : aboutOf(home)
  if (isOfData && about === undefined) {
    throw new ExitError(
      EXIT.failure,
      `no kinfold answers from ${data}; ${startOf(data)}, or name its endpoint with --server`,
    )
  }
  const authority = flags.certificateAuthority ?? process.env['KINFOLD_CERTIFICATE_AUTHORITY']
  if (authority) trustAlso(authority)
  // A token from a data directory is shown only to the process that wrote it there.
  const file = flags.tokenFile ?? (process.env['KINFOLD_TOKEN_FILE'] || about?.tokenFile)
  return {
    url: urlOf(named ?? about?.url),
    token: file === undefined ? undefined : readTokens(file)[0],
    instance: about?.instance,
    data: home !== undefined && (about !== undefined || hasLog(home)) ? home : undefined,
  }
}

function startOf(data: string): string {
  return `start it with "kinfold up --data ${shellWord(data)}" and ${ITS_FLAGS}`
}

function hasLog(data: string): boolean {
  return existsSync(join(data, 'log'))
}

/**
 * For a command that outlives the process which answers: a Kinfold is its log, so one that was
 * found by its data directory is found there again, whatever process serves it by then, and nowhere
 * else.
 */
export function serversOf(flags: ClientFlags): () => Server {
  const first = serverOf(flags)
  if (first.instance === undefined) return () => first
  const data = flags.data ?? (process.env['KINFOLD_DATA'] || defaultDataDirectory())
  return () => serverOf({ ...flags, data })
}

/** The endpoint that a command without flags asks. */
export function urlWithoutFlags(): string {
  const named = process.env['KINFOLD_DATA'] ? undefined : process.env['KINFOLD_SERVER']
  return urlOf(named || aboutOf(defaultDataDirectory())?.url)
}

function urlOf(named: string = DEFAULT_SERVER): string {
  return withScheme(named).replace(/\/+$/, '')
}

/** `HOST:PORT` is what a process says that it listens on. */
function withScheme(named: string): string {
  return named.includes('://') ? named : `http://${named}`
}

interface About {
  readonly url: string
  readonly instance?: string
  readonly tokenFile?: string
}

function aboutOf(data: string): About | undefined {
  try {
    return JSON.parse(readFileSync(join(data, 'http.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** Which object a question is about. */
export type ObjectQuery = Pick<
  Queries['/v1/why'],
  'kind' | 'name' | 'namespace' | 'cluster' | 'uid'
>

/** `KIND/NAME`, `KIND NAME` or `uid:UID`. */
export function objectQuery(words: readonly string[], scope: Scope): ObjectQuery {
  const { namespace, cluster } = scope
  const [first = '', second] = words
  if (/^uid:./.test(first) && second === undefined) {
    return { namespace, cluster, uid: first.slice('uid:'.length) }
  }
  const [kind = '', name = '', more] = second === undefined ? first.split('/') : [first, second]
  if (words.length > 2 || (second !== undefined && words.some((word) => /[/]|^uid:/.test(word)))) {
    throw new ExitError(
      EXIT.input,
      `${words.join(' ')}: expected one object, as KIND/NAME, KIND NAME or uid:UID`,
    )
  }
  if (kind === '' || name === '' || more !== undefined) {
    throw new ExitError(EXIT.input, `${first}: expected KIND/NAME, KIND NAME or uid:UID`)
  }
  return { namespace, cluster, kind, name }
}

/** The document that a question is answered. */
export async function answerTo<P extends keyof Answers>(
  server: Server,
  path: P,
  query: Queries[P],
  segments: Segments = {},
): Promise<Answers[P]> {
  return (await (await ask(server, pathOf(path, query, segments))).json()) as Answers[P]
}

/** Of a path with parameters in braces. */
type Segments = Readonly<Record<string, string>>

/** What is undefined is left out. */
export function pathOf<P extends keyof Queries>(
  path: P,
  query: Queries[P],
  segments: Segments = {},
): string {
  const words = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const whole = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return encodeURIComponent(segments[name] ?? '')
  })
  return `${whole}?${new URLSearchParams(words)}`
}

export async function ask(
  server: Server,
  path: string,
  withinMs: number = ASK_MS,
): Promise<Response> {
  return await answerOf(server, path, {}, exitOf, withinMs)
}

/** Also an answer that is a refusal: who asks reads its status. */
export async function askAnyway(server: Server, path: string): Promise<Response> {
  return await responseOf(server, path, {}, ASK_MS)
}

/** The same of what is sent: a client that sends much waits when the answer asks it to. */
export async function sendAnyway(server: Server, path: string, body: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return await responseOf(server, path, { method: 'POST', headers, body }, ASK_MS)
}

/** An order that conflicts with the current state is no mistake of the user who gives it. */
export async function order(server: Server, path: string, body: object): Promise<Response> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  const exitOfOrder = (status: number): ExitCode => (status === 409 ? EXIT.refused : exitOf(status))
  return await answerOf(server, path, init, exitOfOrder, ORDER_MS)
}

/**
 * A user who has no rights, or asks for too much at once, for what is kept no longer or for a
 * moment to come, may have asked in the right words.
 */
function exitOf(status: number): ExitCode {
  const isRefusal = [401, 403, 410, 425, 429].includes(status)
  return status < 500 && !isRefusal ? EXIT.input : EXIT.failure
}

/**
 * Error codes of Node where a certificate is of another host, or no known authority has signed it.
 */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER/

async function answerOf(
  server: Server,
  path: string,
  init: RequestInit,
  exitCodeOf: (status: number) => ExitCode,
  withinMs: number,
): Promise<Response> {
  const response = await responseOf(server, path, init, withinMs)
  if (response.ok) return response
  throw await refusalOf(response, server, exitCodeOf)
}

/** An answer that is a refusal, as the end of a command. */
export async function refusalOf(
  response: Response,
  { url, hint: about }: Server,
  exitCodeOf: (status: number) => ExitCode = exitOf,
): Promise<ExitError> {
  const body = (await response.json().catch(() => ({}))) as { detail?: string }
  const detail = body.detail ?? `${url} answered ${response.status}`
  const message = about === undefined ? detail : `${detail} (${about})`
  return new ExitError(exitCodeOf(response.status), message)
}

async function responseOf(
  { url, token, instance, data }: Server,
  path: string,
  init: RequestInit,
  withinMs: number,
): Promise<Response> {
  const headers = {
    ...init.headers,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(instance !== undefined && { [INSTANCE_HEADER]: instance }),
  }
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), withinMs)
  try {
    return await fetch(`${url}${path}`, { ...init, headers, signal: late.signal })
  } catch (error) {
    if (late.signal.aborted) {
      const hint = init.method === 'POST' ? '; it may still carry out the order later' : ''
      const waited = `within ${withinMs / 1_000} s`
      throw new ExitError(EXIT.failure, `kinfold at ${url} does not answer ${waited}${hint}`)
    }
    const code = String((error as { cause?: { code?: unknown } }).cause?.code)
    if (UNTRUSTED.test(code)) {
      throw new ExitError(
        EXIT.failure,
        `the certificate of ${url} is not trusted (${code}): name its authority with --certificate-authority, and with --server a name that it is for`,
      )
    }
    if (data !== undefined) {
      throw new ExitError(
        EXIT.failure,
        `no kinfold answers at ${url}: the one that served ${data} is not running; ${startOf(data)}, or name another with --server`,
      )
    }
    throw new ExitError(
      EXIT.failure,
      `no kinfold answers at ${url}; start one with "kinfold up", "kinfold graph" or "kinfold playground" (one that ran before: with ${ITS_FLAGS}), or name it with --server`,
    )
  } finally {
    // Streams last as long as the caller wants them.
    clearTimeout(timer)
  }
}

/** Beside the answer, which says it too where programs read it. */
export function warnPartial(partial: string): void {
  if (partial !== '') process.stderr.write(`warning: this may be incomplete: ${partial}\n`)
}

/** The lines of a stream, as they come. */
export async function* linesOf(response: Response): AsyncIterable<string> {
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body ?? []) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(
      EXIT.failure,
      `the stream was cut (${why}); kinfold has stopped or restarts, or another client needed one of your streams: begin again`,
    )
  }
}
