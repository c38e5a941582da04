/**
 * The one shape of an answer, over HTTP as with `-o json` and `-o yaml` (docs/ask/questions.md).
 *
 * What must stay true: a document says in itself which cluster it is about and why it may be
 * incomplete; times are RFC 3339, digests say how they were made, and words are those that flags
 * take. Offsets are numbers, exact up to 2^53.
 *
 * Not here: what graph processes answer each other where one question is asked of all
 * (query/answer/held.ts), records of the log (http.ts), what a restore prints.
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type * as answers from './answer-schema.ts'
import type { Cluster } from './part-schema.ts'
import type { Schema, TypeOf } from './schema.ts'
import { labelOf } from './word.ts'

export type { AsOf, Cluster as ClusterRef } from './part-schema.ts'

/** Of each kind, except for entries of streams and what a cloud requires. */
type Documents = {
  readonly [K in keyof typeof answers as (typeof answers)[K] extends Schema<
    infer D extends Document
  >
    ? D['kind']
    : never]: TypeOf<(typeof answers)[K]>
}

export type DocumentKind = keyof Documents

/** What an answer is made from. */
export interface Answered<T> {
  readonly answer: T
  /** Why it may be incomplete; empty when it is not. */
  readonly partial: string
}

export interface Document {
  readonly apiVersion: 'kinfold/v1'
  readonly kind: string
  readonly partial: string
}

/** Milliseconds since 1970, null for never. */
const TIMES = [
  'at',
  'since',
  'until',
  'orphanedAt',
  'nextTry',
  'unseenSince',
  'nextAt',
  'dueAt',
] as const
type Time = (typeof TIMES)[number]
const isTime: ReadonlySet<string> = new Set(TIMES)

/**
 * Of a document or a part of one, what it is made from: times in milliseconds. `N`: what offsets
 * are, a bigint where they come from the log.
 */
export type Unshaped<T, N = number> = T extends number
  ? N
  : T extends readonly (infer Each)[]
    ? readonly Unshaped<Each, N>[]
    : T extends object
      ? { readonly [K in keyof T]: K extends Time ? number | null : Unshaped<T[K], N> }
      : T

/** What a document says beside how fresh it is, and of which cluster, before it is one. */
export type AnswerOf<D extends Document> = Unshaped<Omit<D, keyof Document | 'cluster' | 'asOf'>>

export type Row<T extends readonly unknown[]> = T[number]

/** What a document of this kind is made from, but for why it may be incomplete. */
export type Made<K extends DocumentKind> = Unshaped<
  Omit<Documents[K], keyof Document | 'cascade'>,
  number | bigint
>

/** Fields beside the answer, such as its cluster, are written beside its fields. */
export function documentOf<K extends DocumentKind, A extends object, B extends object>(
  kind: K,
  told: Answered<A> & B & (A & B extends Made<K> ? unknown : Answered<Made<K>>),
): Documents[K] {
  const { answer, partial, ...beside } = told
  const { cluster, ...others } = beside as { readonly cluster?: Cluster }
  return {
    apiVersion: 'kinfold/v1',
    kind,
    ...(cluster !== undefined && { cluster }),
    partial,
    ...shaped(answer),
    ...shaped(others),
  } as unknown as Documents[K]
}

function shaped(from: object): object {
  return Object.fromEntries(Object.entries(from).flatMap(([key, value]) => fieldOf(key, value)))
}

function fieldOf(key: string, value: unknown): [string, unknown][] {
  if (value === undefined) return []
  // Where only one cluster is meant, it is named once, and not by id beside each object.
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

/**
 * What clusters are called before people. Of two that have one name the id is said, too, since one
 * may have replaced the other. Of one that is not among those that are known the name is its id.
 */
export function clusterRefs(
  known: readonly { readonly id: ClusterId; readonly name: string }[],
): (id: ClusterId) => Cluster {
  const names = new Map(known.map(({ id, name }) => [id, name]))
  const sharing = Map.groupBy(names.values(), (name) => name)
  return (id) => {
    const name = names.get(id) ?? id
    return { name, id, scope: (sharing.get(name)?.length ?? 0) > 1 ? id : name }
  }
}

/** The same of clusters that are known by name. */
export function clusterLabels(names: ReadonlyMap<ClusterId, string>): (id: ClusterId) => string {
  const refOf = clusterRefs([...names].map(([id, name]) => ({ id, name })))
  return (id) => labelOf(refOf(id))
}
