/**
 * The one shape of an answer, over HTTP as with `-o json` and `-o yaml` (docs/ask/questions.md).
 *
 * What must stay true: a document says in itself which cluster it is about and why it may be incomplete; times are RFC 3339, digests say how they were made, and
 * words are those that flags take. Offsets are numbers, exact up to 2^53.
 *
 * Not here: what graph processes answer each other where one question is asked of all (query/answer/held.ts), records of the log (http.ts), what a restore prints.
 */
import type { ClusterId } from '../../../core/model/object.ts'

/** A cluster in an answer. */
export interface ClusterRef {
  readonly name: string
  readonly id: ClusterId
  /** What `--cluster` takes: the name, or the id where another cluster has that name. */
  readonly scope: string
}

export type DocumentKind =
  | 'AuditEventsResult'
  | 'Cascade'
  | 'ChangeList'
  | 'ClusterList'
  | 'DeletionList'
  | 'DependentList'
  | 'Diff'
  | 'DirectiveResult'
  | 'Held'
  | 'HeldPlan'
  | 'Horizon'
  | 'ObjectList'
  | 'Plan'
  | 'Shadow'
  | 'Status'
  | 'Tree'
  | 'Why'

/** How fresh what an answer rests on is. */
export interface AsOf {
  readonly partition: number
  /** Everything in `events` before this offset is in the answer; null where a moment was asked by its time. */
  readonly position: number | null
  /** Log time of the cluster by then, RFC 3339; null before its first heartbeat. */
  readonly time: string | null
}

/** What an answer is made from. */
export interface Answered<T> {
  readonly answer: T
  /** Why it may be incomplete; empty when it is not. */
  readonly partial: string
}

export interface Document {
  readonly apiVersion: 'kinfold/v1'
  readonly kind: DocumentKind
  readonly partial: string
}

/** About one cluster. */
export interface DocumentOfOne extends Document {
  readonly cluster: ClusterRef
}

/** Milliseconds since 1970, null for never. */
const TIMES = ['at', 'since', 'until', 'orphanedAt', 'nextTry'] as const
type Time = (typeof TIMES)[number]
const isTime: ReadonlySet<string> = new Set(TIMES)

/** As it is in a document. Where only one cluster is told of, that one is named once: an id beside an object is left out. */
export type Shaped<T> = T extends bigint
  ? number
  : T extends readonly (infer Each)[]
    ? readonly Shaped<Each>[]
    : T extends object
      ? {
          readonly [K in keyof T as K extends 'cluster'
            ? T[K] extends string
              ? never
              : K
            : K]: K extends Time
            ? string | null
            : K extends 'cascade'
              ? Lowercase<T[K] & string>
              : Shaped<T[K]>
        }
      : T

/** What stands beside the answer, such as its cluster, stands beside its fields. */
export function documentOf<K extends DocumentKind, T extends Answered<object>>(
  kind: K,
  told: T,
): Document & { readonly kind: K } & Shaped<T['answer']> & Shaped<Omit<T, 'answer' | 'partial'>> {
  const { answer, partial, ...beside } = told
  const { cluster, ...others } = beside as { readonly cluster?: ClusterRef }
  return {
    apiVersion: 'kinfold/v1',
    kind,
    ...(cluster !== undefined && { cluster }),
    partial,
    ...shaped(answer),
    ...shaped(others),
  } as Document & { readonly kind: K } & Shaped<T['answer']> & Shaped<Omit<T, 'answer' | 'partial'>>
}

function shaped(from: object): object {
  return Object.fromEntries(Object.entries(from).flatMap(([key, value]) => fieldOf(key, value)))
}

function fieldOf(key: string, value: unknown): [string, unknown][] {
  if (value === undefined) return []
  if (key === 'cluster' && typeof value === 'string') return []
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (isNumber && isTime.has(key)) return [[key, timeOf(Number(value))]]
  if (typeof value === 'string') {
    if (key === 'digest') return [[key, `sha256:${value}`]]
    if (key === 'cascade') return [[key, value.toLowerCase()]]
  }
  return [[key, shapedValue(value)]]
}

function shapedValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(shapedValue)
  return typeof value === 'object' && value !== null ? shaped(value) : value
}

/** RFC 3339. Null for what no calendar has: some wait for ever. */
export function timeOf(ms: number | null): string | null {
  if (ms === null) return null
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
