/**
 * What a row of the table of routes says of one of them. What must stay true: a path has its
 * parameters in braces, as OpenAPI has them.
 */
import { type Schema, TEXT } from './schema.ts'

export interface Parameter<N extends string = string, T = unknown> {
  readonly name: N
  readonly description: string
  readonly schema: Schema<T>
}

export function parameter<const N extends string, T>(
  name: N,
  description: string,
  schema: Schema<T>,
): Parameter<N, T> {
  return { name, description, schema }
}

/** - `problem`: RFC 9457. - `status`: a Status, as an API server answers. */
export type Refusal = 'problem' | 'status'

export interface Route {
  readonly method: 'get' | 'post'
  readonly path: string
  /** Of a client's function. */
  readonly operation: string
  readonly summary: string
  /** In the path. */
  readonly segments?: readonly Parameter[]
  /** In the query. */
  readonly parameters: readonly Parameter[]
  /** By content type. */
  readonly answers: Readonly<Record<string, Schema>>
  readonly body?: Schema
  /** Parameters that other lists of this kind take, and why this one does not. */
  readonly refused?: Readonly<Record<string, string>>
  /** `problem` without it. */
  readonly refusal?: Refusal
}

export const JSON_TYPE = 'application/json'

export const CONTINUE: Parameter<'continue', string> = parameter(
  'continue',
  'From the answer before.',
  TEXT,
)

export function limitParameter(description: string, minimum: number): Parameter<'limit', number> {
  return { name: 'limit', description, schema: { type: 'integer', minimum } }
}

/** The path as the server takes it: `:name` instead of `{name}`. */
export function patternOf({ path }: Pick<Route, 'path'>): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}
