/**
 * The statement of a bundle of evidence: in-toto's Statement v1, with the digest of each file, and
 * in its predicate what the records are about and what came of them.
 *
 * What must stay true: it has one spelling, without times or names of this machine, so that the
 * same log gives the same statement, and so that who verifies makes it again from the bundle and
 * compares.
 *
 * Not here: signatures (runtime/http/signature.ts).
 */
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import { type Contents, FILES } from './bundle-file.ts'
import { Refusal } from './refusal.ts'

export const IN_TOTO = 'https://in-toto.io/Statement/v1'
export const EVIDENCE = 'https://kinfold.dev/evidence/v1'

/** Whose decisions, history and state are in a bundle. */
export type About =
  | { readonly type: 'object'; readonly cluster: ClusterId; readonly uid: Uid }
  /** An owner, and what named it, or one of those, as its owner, at the beginning or later. */
  | { readonly type: 'cascade'; readonly cluster: ClusterId; readonly uid: Uid }
  /** All objects, of one cluster or of all of the partition. */
  | { readonly type: 'span'; readonly cluster: ClusterId | null }

/** What a refold is given besides the records. */
export interface Span {
  readonly about: About
  readonly foldVersion: number
  readonly partition: number
  readonly partitions: number
  /** The first event whose effects count; those before it, from the base on, only lead up to it. */
  readonly from: bigint
  /** Beyond the last one. */
  readonly to: bigint
  /** Bounds of `orders` when the bundle was made. */
  readonly orders: { readonly start: bigint; readonly end: bigint }
}

/** What a refold comes to. */
export interface Result {
  /** Where it began: position 0 without a snapshot, or a snapshot's. */
  readonly base: Digests
  readonly end: Digests
  readonly events: Events
}

export interface Digests {
  readonly position: bigint
  readonly state: string
  readonly outputs: string
}

/** Those that were folded. */
export interface Events {
  readonly count: number
  /**
   * Offsets from the base to what is stated that have no event: marks of transactions, on Kafka.
   */
  readonly gaps: bigint
  /** Append times of the first and the last one from `from` on; null where there is none. */
  readonly first: number | null
  readonly last: number | null
}

export function statementOf(span: Span, result: Result, contents: Contents): string {
  const { about, foldVersion, partition, partitions, from, to, orders } = span
  const { base, end, events } = result
  const time = (ms: number | null): string | null =>
    ms === null ? null : new Date(ms).toISOString()
  return JSON.stringify({
    _type: IN_TOTO,
    subject: FILES.map((name) => ({ name, digest: { sha256: contents[name].sha256 } })),
    predicateType: EVIDENCE,
    predicate: {
      about,
      foldVersion,
      log: { partition, partitions, from: String(from), to: String(to) },
      orders: { start: String(orders.start), end: String(orders.end) },
      events: {
        count: events.count,
        gaps: String(events.gaps),
        first: time(events.first),
        last: time(events.last),
      },
      base: digestsOf(base),
      end: digestsOf(end),
      decisions: contents['decisions.jsonl'].lines,
      history: contents['history.jsonl'].lines,
      lineage: contents['lineage.jsonl'].lines,
    },
  })
}

function digestsOf({ position, state, outputs }: Digests): Readonly<Record<string, string>> {
  return { position: String(position), state, outputs }
}

export interface Stated {
  readonly span: Span
  /** By the name of the file. */
  readonly digests: ReadonlyMap<string, string>
}

/**
 * The part of a statement that a refold needs; the rest is compared once it is made again. Throws
 * `Refusal`.
 */
export function readStatement(text: string): Stated {
  const root = fieldsOf(parsed(text))
  if (root['_type'] !== IN_TOTO || root['predicateType'] !== EVIDENCE) {
    throw new Refusal(`the statement is no ${EVIDENCE}`)
  }
  const predicate = fieldsOf(root['predicate'])
  const log = fieldsOf(predicate['log'])
  const orders = fieldsOf(predicate['orders'])
  const span: Span = {
    about: aboutIn(fieldsOf(predicate['about'])),
    foldVersion: count(predicate['foldVersion']),
    partition: count(log['partition']),
    partitions: count(log['partitions']),
    from: offset(log['from']),
    to: offset(log['to']),
    orders: { start: offset(orders['start']), end: offset(orders['end']) },
  }
  const { partition, partitions } = span
  if (partition >= partitions) throw new Refusal('the statement names a partition that is none')
  if (span.to <= span.from) throw new Refusal('the statement is about no event')
  return { span, digests: digestsIn(root['subject']) }
}

function digestsIn(subject: unknown): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const each of Array.isArray(subject) ? subject : []) {
    const { name, digest } = fieldsOf(each)
    found.set(text(name), text(fieldsOf(digest)['sha256']))
  }
  return found
}

function aboutIn(about: Fields): About {
  const { type, cluster, uid } = about
  if (type === 'span') return { type, cluster: cluster === null ? null : text(cluster) }
  if (type !== 'object' && type !== 'cascade') throw malformed()
  return { type, cluster: text(cluster), uid: text(uid) }
}

type Fields = Readonly<Record<string, unknown>>

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed()
  }
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) throw malformed()
  return value as Fields
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw malformed()
  return value
}

function count(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw malformed()
  return value
}

function offset(value: unknown): bigint {
  if (typeof value !== 'string' || !/^\d{1,18}$/.test(value)) throw malformed()
  return BigInt(value)
}

function malformed(): Refusal {
  return new Refusal('the statement is not of the form that Kinfold writes')
}
