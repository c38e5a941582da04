/**
 * Keys of the index of who asked for deletions.
 *
 * What must stay true: requests about one name are in a row by their object, then by user, then by
 * uid, and of these the newest is the first: so the requests of one user never lie between those of
 * another, and requests about another object are not even read.
 */
import type { Actor, ActorGap } from '../../../../ports/record/service-record.ts'
import type { KeyRange } from '../../../../ports/store.ts'
import { part, uidPart } from './index-key.ts'

/** The last time that keys have room for: in the year 2286. */
export const LAST_MS = 9_999_999_999_999
const DIGITS = 13
/** Of any namespace. A named one begins with another character. */
const ANY = '*'

/** What requests are about; `name` empty: all of its kind in its namespace. */
export interface About extends Pick<Actor, 'cluster' | 'namespace' | 'name' | 'group'> {
  /** Requests that name no uid are about it as well. */
  readonly uid: string
  /** Undefined: it is not known how paths name its kind. */
  readonly resource: string | undefined
}

/** When a request was answered, both inclusive. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** Below it the next part is the resource. */
export function groupPrefix(of: Pick<Actor, 'cluster' | 'namespace' | 'name' | 'group'>): string {
  return `of/${[of.cluster, of.namespace, of.name, of.group].map(part).join('/')}/`
}

/**
 * A client may choose the Audit-ID, and one for many requests: all other distinguishing fields are
 * there, too.
 */
export function actorKey(actor: Actor): string {
  const { resource, user, uid, at, auditId } = actor
  const whose = [part(resource), part(user), uidPart(uid ?? '')].join('/')
  return `${groupPrefix(actor)}${whose}/${timePart(LAST_MS - at)}/${part(auditId)}`
}

/** `prefix`: up to the user. The newest first. */
export function requestRange(prefix: string, uid: string, span: Span, limit: number): KeyRange {
  const of = `${prefix}${uidPart(uid)}/`
  const [gte, last] = [LAST_MS - span.until, LAST_MS - span.since].map(timePart)
  // What follows a time is a separator, and then comes this.
  return { gte: `${of}${gte}`, lt: `${of}${last}0`, limit }
}

export function gapKey({ cluster, namespace, user, cause, from }: ActorGap): string {
  return `${gapPrefix(cluster, namespace)}${timePart(from)}/${cause}/${part(user ?? '')}`
}

/** Of gaps that begin in that time. */
export function gapRange(
  cluster: string,
  namespace: string | null,
  { since, until }: Span,
  limit: number,
): KeyRange {
  const prefix = gapPrefix(cluster, namespace)
  return { gte: `${prefix}${timePart(since)}`, lt: `${prefix}${timePart(until)}0`, limit }
}

export function ageKey(offset: bigint): string {
  return `age/${offset.toString().padStart(19, '0')}`
}

/** Of a cluster, when its newest request was answered. */
export function newestKey(cluster: string): string {
  return `newest/${part(cluster)}`
}

function gapPrefix(cluster: string, namespace: string | null): string {
  return `gap/${part(cluster)}/${namespace === null ? ANY : `=${part(namespace)}`}/`
}

function timePart(ms: number): string {
  return String(Math.trunc(Math.min(LAST_MS, Math.max(0, ms)))).padStart(DIGITS, '0')
}
