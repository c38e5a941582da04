/**
 * The machine-readable form of every answer, in JSON and YAML: the one place that knows it (docs/questions.md).
 *
 * What must stay true: an answer says in itself which cluster it is about and why it may be incomplete; times are RFC 3339, digests say how they were made, and words are
 * those that flags take.
 *
 * Not here: what people read (each command has its own text), what a restore prints (restore-report.ts).
 */
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { ClusterRef } from '../services/graph/query/cluster-label.ts'
import { yaml } from './yaml.ts'

/** What `/v1` answers. */
export interface Told<T> {
  readonly answer: T
  /** Why it may be incomplete; empty when it is not. */
  readonly partial: string
}

/** The same about one cluster. */
export interface ToldOfOne<T> extends Told<T> {
  readonly cluster: ClusterRef
}

export type AnswerKind =
  | 'Cascade'
  | 'Held'
  | 'HeldPlan'
  | 'ObjectList'
  | 'Plan'
  | 'Shadow'
  | 'Status'
  | 'Tree'
  | 'Why'

export type Structured = 'json' | 'yaml'

export function outputOf<T extends string>(word: string, outputs: readonly T[]): T {
  const output = outputs.find((each) => each === word)
  if (output !== undefined) return output
  throw new ExitError(EXIT.input, `-o ${word} is none of ${outputs.join(', ')}`)
}

export function structured(kind: AnswerKind, told: Told<object>, output: Structured): string {
  const document = documentOf(kind, told)
  return output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : yaml().stringify(document)
}

/** One of many, as they come. */
export function structuredPart(kind: AnswerKind, told: Told<object>, output: Structured): string {
  const document = documentOf(kind, told)
  return output === 'json' ? `${JSON.stringify(document)}\n` : `---\n${yaml().stringify(document)}`
}

function documentOf(kind: AnswerKind, { answer, partial, ...beside }: Told<object>): object {
  const { cluster, ...others } = beside as { readonly cluster?: ClusterRef }
  return {
    apiVersion: 'kinfold/v1',
    kind,
    ...(cluster !== undefined && { cluster: clusterIn(cluster) }),
    partial,
    ...shaped(kind === 'Tree' ? { root: answer } : answer),
    ...shaped(others),
  }
}

/** Milliseconds since 1970, null for never. */
const TIMES: ReadonlySet<string> = new Set(['at', 'since', 'until', 'orphanedAt', 'nextTry'])

function shaped(from: object): object {
  return Object.fromEntries(
    Object.entries(from).flatMap(([key, value]) => fieldOf(key, value, from)),
  )
}

function fieldOf(key: string, value: unknown, from: object): [string, unknown][] {
  if (key === 'clusterName') return []
  if (key === 'cluster') {
    const { clusterName: name } = from as { clusterName?: string }
    if (typeof value !== 'string') return [[key, value && clusterIn(value as ClusterRef)]]
    // Where only one cluster is told of, that one is named once.
    return name === undefined ? [] : [[key, { name, id: value }]]
  }
  if (typeof value === 'number' && TIMES.has(key)) return [[key, timeOf(value)]]
  if (typeof value === 'string') {
    if (key === 'digest') return [[key, `sha256:${value}`]]
    if (key === 'cascade') return [[key, value.toLowerCase()]]
  }
  return [[key, shapedValue(value)]]
}

function shapedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapedValue)
  return typeof value === 'object' && value !== null ? shaped(value) : value
}

/** Null for what no calendar has: some wait for ever. */
function timeOf(ms: number): string | null {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

function clusterIn({ name, id }: ClusterRef): object {
  return { name, id }
}
