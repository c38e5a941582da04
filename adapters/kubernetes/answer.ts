/**
 * Reads the answer of an API server to one call about one object: the table that every verdict of
 * absence and every reap rests on.
 *
 * What must stay true: `Absent` comes only from a Status in JSON with reason NotFound whose details
 * name exactly the requested object, group and resource, or its kind instead of the resource; every
 * other answer proves nothing. A call that may have been carried out is never reported as refused.
 *
 * Not here: what another uid at the coordinates means (the caller compares), retries.
 */
import type { Target } from '../../core/model/command.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type {
  GetAnswer,
  ReadAnswer,
  ReapAnswer,
  Resource,
  UnknownAnswer,
} from '../../ports/cluster.ts'
import type { Connection, ExchangeError } from '../../ports/exchange.ts'
import { UID_LENGTH } from '../../ports/record/cap.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { isJson, type Json } from './json.ts'
import { readMeta } from './meta.ts'

/** The answer of a server to an unknown path; so does one that is starting. */
const UNSERVED = ', as for a kind that is not served'

/** An answer with a complete body. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly connection?: Connection | undefined
}

/** The request, and further facts that the reader of the answer needs. */
export interface Asked {
  readonly target: Target
  readonly projection: Projection
  /** Wall time in milliseconds, for a Retry-After that is a date. */
  readonly now: number
}

export interface ReapAsked extends Asked {
  readonly verb: 'DELETE' | 'PATCH' | 'POST'
  readonly dryRun: boolean
}

/** Statuses that a later try may change, beside all 5xx. */
const TRANSIENT = [401, 408, 429]
const MAX_REASON_LENGTH = 300

export function readGet(reply: Reply, asked: Asked): GetAnswer {
  const body = parsed(reply)
  if (reply.status === 200) {
    const object = objectIn(body, asked)
    if (object === null) return noAnswer(reply, body)
    // References have a digest of such a uid, which would make it another one.
    return object.uid.length > UID_LENGTH
      ? { ...noAnswer(reply, body), reason: 'it has a uid too long to be compared' }
      : { type: 'Found', object, code: 200 }
  }
  if (isAbsence(reply, body, asked.target)) return { type: 'Absent', code: 404 }
  return unknown(reply, body, asked)
}

/** An answer that is not of the requested kind may be metadata alone, so it is no answer. */
export function readWhole(reply: Reply, asked: Asked): ReadAnswer {
  const answer = readGet(reply, asked)
  if (answer.type !== 'Found') return answer
  const body = parsed(reply)
  const isWhole = isJson(body) && body['kind'] === asked.target.kind
  return isWhole ? { ...answer, text: reply.text } : noAnswer(reply, body)
}

export function readReap(reply: Reply, asked: ReapAsked): ReapAnswer {
  const { status: code } = reply
  const body = parsed(reply)
  if (code >= 200 && code <= 202) return success(reply, body, asked)
  if (isAbsence(reply, body, asked.target)) return { type: 'Absent', code: 404 }
  const reason = reasonOf(reply, body)
  if (code === 409) return { type: 'Conflict', code, reason }
  if (code === 403 || isDenial(code, body)) return { type: 'Refused', code, reason }
  if (code === 422 && isStatus(body)) {
    const isTestFailed = asked.verb === 'PATCH' && causesOf(body).length === 0
    return { type: isTestFailed ? 'Conflict' : 'Refused', code, reason }
  }
  return unknown(reply, body, asked)
}

/** The object that was asked is not there, by the same rule. */
export function isNotFound(reply: Reply, asked: Named): boolean {
  return isAbsence(reply, parsed(reply), asked)
}

/** No answer came, or not all of it; `code` is its status if that came. */
export function unanswered(error: ExchangeError, code: number | null): UnknownAnswer {
  return {
    type: 'Unknown',
    code,
    reason: error.message,
    transient: error.code !== 'UNTRUSTED',
    retryAfterMs: null,
  }
}

/** Milliseconds, from seconds or a date; null when it says nothing. */
export function retryAfterMsOf(reply: Pick<Reply, 'headers'>, now: number): number | null {
  const text = reply.headers['retry-after']
  if (text === undefined) return null
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Undefined when it is no JSON. */
export function parsed(reply: Reply): unknown {
  if (!isJsonType(reply)) return undefined
  try {
    return JSON.parse(reply.text)
  } catch {
    return undefined
  }
}

/** One line for people: status, reason and message. */
export function reasonOf({ status }: Pick<Reply, 'status'>, body: unknown): string {
  if (!isStatus(body)) return `${status} without a Status${status === 404 ? UNSERVED : ''}`
  const { reason, message } = body
  const text = [reason, message].filter((it) => typeof it === 'string' && it !== '').join(': ')
  return `${status} ${text}`.trim().slice(0, MAX_REASON_LENGTH)
}

/** `meta.k8s.io/v1` is how some aggregated servers call the same. */
export function isStatus(body: unknown): body is Json {
  return (
    isJson(body) &&
    body['kind'] === 'Status' &&
    (body['apiVersion'] === 'v1' || body['apiVersion'] === 'meta.k8s.io/v1')
  )
}

export function causesOf(status: Json): readonly unknown[] {
  const causes = isJson(status['details']) ? status['details']['causes'] : undefined
  return Array.isArray(causes) ? causes : []
}

type Named = Pick<Target, 'group' | 'kind' | 'resource' | 'name'>

function isAbsence(reply: Pick<Reply, 'status'>, body: unknown, asked: Named): boolean {
  return isTypedNotFound(reply, body) && unfit(body, asked).length === 0
}

function isTypedNotFound({ status }: Pick<Reply, 'status'>, body: unknown): body is Json {
  if (status !== 404 || !isStatus(body) || body['reason'] !== 'NotFound') return false
  // A body that contradicts itself was damaged on its way, or was not made by an API server.
  const { code = 404 } = body
  return code === 404
}

/** The fields of a Status' details that do not match the request. */
function unfit(status: Json, { name, group, resource, kind }: Named): readonly string[] {
  const details = isJson(status['details']) ? status['details'] : {}
  // Some aggregated servers name the kind where all others name the resource.
  const asked = { name: [name], group: [group], kind: [resource, kind, kind.toLowerCase()] }
  return Object.entries(asked).flatMap(([field, expected]) => {
    const told = details[field] ?? (field === 'group' ? '' : undefined)
    if (expected.some((each) => each === told)) return []
    return `${field} ${told === undefined ? 'missing' : JSON.stringify(told)}`
  })
}

function success(reply: Reply, body: unknown, asked: ReapAsked): ReapAnswer {
  const { status: code } = reply
  const done: ReapAnswer = asked.dryRun ? { type: 'WouldGo', code } : { type: 'Removed', code }
  if (asked.verb === 'DELETE' && isStatus(body)) {
    const details = isJson(body['details']) ? body['details'] : {}
    const isOurs = (details['uid'] ?? asked.target.uid) === asked.target.uid
    return body['status'] === 'Success' && isOurs ? done : noAnswer(reply, body)
  }
  const object = objectIn(body, asked)
  if (object === null) return noAnswer(reply, body)
  if (asked.verb !== 'POST' && object.uid !== asked.target.uid) return noAnswer(reply, body)
  if (asked.dryRun || (asked.verb === 'DELETE' && !isPending(object))) return done
  // A patch that removed the last finalizer is answered with the object as it was, version and all,
  // and it is deleted.
  if (asked.verb === 'PATCH' && object.deletedAt !== null && !isPending(object)) return done
  return { type: 'Changed', object, code }
}

/**
 * Some kinds answer a DELETE with the object although it is deleted: pods, services, claims,
 * service accounts.
 */
function isPending({ deletedAt, finalizers, graceSeconds }: ObjectMeta): boolean {
  return deletedAt !== null && (finalizers.length > 0 || (graceSeconds ?? 0) > 0)
}

/**
 * An admission webhook or policy denied it, with any status (a webhook chooses it), or the webhook
 * could not be asked: the server did nothing, and is well itself. Else the webhook of one namespace
 * would slow the calls to the whole cluster by a 429, and by a 500 outdate what others have proven.
 */
function isDenial(code: number, body: unknown): boolean {
  if (code < 400 || code === 401 || !isStatus(body)) return false
  const message = typeof body['message'] === 'string' ? body['message'] : ''
  return DENIALS.some((denial) => denial.test(message))
}

const DENIALS = [
  /^admission webhook ".*" denied the request/,
  /^Internal error occurred: failed calling webhook ".*"/,
]

function objectIn(body: unknown, { target, projection }: Asked): ObjectMeta | null {
  const resource = resourceOf(target)
  if (!isJson(body) || !isObjectOf(body, resource)) return null
  const object = readMeta(body, resource, projection)
  return object?.name === target.name && object.namespace === target.namespace ? object : null
}

/** Metadata only, or whole where a server knows no better. */
export function isObjectOf(body: Json, { group, version, kind }: Resource): boolean {
  if (body['kind'] === 'PartialObjectMetadata') return body['apiVersion'] === 'meta.k8s.io/v1'
  const apiVersion = group === '' ? version : `${group}/${version}`
  return body['kind'] === kind && body['apiVersion'] === apiVersion
}

function resourceOf({ group, version, resource, kind, namespace }: Target): Resource {
  return { group, version, resource, kind, scope: namespace === '' ? 'Cluster' : 'Namespaced' }
}

/** A success that does not name the requested object. JSON that does not parse was cut. */
function noAnswer(reply: Reply, body: unknown): UnknownAnswer {
  const isCut = isJsonType(reply) && body === undefined
  return {
    type: 'Unknown',
    code: reply.status,
    reason: `${reply.status} with a body that is ${isCut ? 'cut' : 'no answer to this call'}`,
    transient: isCut,
    retryAfterMs: null,
  }
}

function unknown(reply: Reply, body: unknown, { target, now }: Asked): UnknownAnswer {
  const { status: code } = reply
  const transient = code >= 500 || TRANSIENT.includes(code)
  return {
    type: 'Unknown',
    code,
    reason: (doubtOf(reply, body, target) + reasonOf(reply, body)).slice(0, MAX_REASON_LENGTH),
    transient,
    retryAfterMs: transient ? retryAfterMsOf(reply, now) : null,
  }
}

/** Of a NotFound about something else, before the server's own words, which may be long. */
function doubtOf(reply: Reply, body: unknown, asked: Target): string {
  if (!isTypedNotFound(reply, body)) return ''
  return `not about what was asked (${unfit(body, asked).join(', ')}): `
}

function isJsonType({ headers }: Pick<Reply, 'headers'>): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '')
}
