/**
 * JSON Schema (2020-12) as OpenAPI 3.1 takes it, in few words, and with each schema the type of the
 * values that fit it: both are written once.
 *
 * What must stay true: an object has the fields that are written and no others; all of them, but
 * for those that are named apart.
 *
 * Not here: a check of values by a schema. The compiler checks what the server answers; tests check
 * it again, by ajv (testing/answer-check.ts).
 */
declare const TYPE: unique symbol

export interface Schema<out T = unknown> {
  readonly [key: string]: unknown
  /** For the compiler: no schema has it. */
  readonly [TYPE]?: T
}

export type TypeOf<S> = S extends Schema<infer T> ? T : never

export type Fields = Readonly<Record<string, Schema>>
export type TypesOf<F> = { readonly [K in keyof F]: TypeOf<F[K]> }
/** One object type, so that it reads well where an editor shows it. */
type Flat<T> = { [K in keyof T]: T[K] }

export const TEXT: Schema<string> = { type: 'string' }
export const FLAG: Schema<boolean> = { type: 'boolean' }
export const COUNT: Schema<number> = { type: 'integer', minimum: 0 }
export const TIME_OR_NULL: Schema<string | null> = {
  type: ['string', 'null'],
  format: 'date-time',
  description: 'RFC 3339 in UTC; null where there is none, or where it never comes.',
}

export function say<T>(description: string, schema: Schema<T>): Schema<T> {
  return { ...schema, description }
}

export function constant<const T extends string>(value: T): Schema<T> {
  return { const: value }
}

export function oneOf<const T extends string>(words: readonly T[]): Schema<T> {
  return { type: 'string', enum: words }
}

export function listOf<T>(items: Schema<T>): Schema<readonly T[]> {
  return { type: 'array', items }
}

export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  return { anyOf: [schema, { type: 'null' }] }
}

/** A schema of `components`. */
export function ref<T>(name: string): Schema<T> {
  return { $ref: `#/components/schemas/${name}` }
}

/** `optional`: those that an API server leaves out where they are empty. */
export function record<F extends Fields, O extends Fields = Record<never, never>>(
  properties: F,
  optional?: O,
): Schema<Flat<TypesOf<F> & Partial<TypesOf<O>>>> {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

/** Puts a record among the `components`; the schema that is returned refers to it. */
export function component<F extends Fields>(
  all: Record<string, Schema>,
  name: string,
  description: string,
  fields: F,
): Schema<Flat<TypesOf<F>>> {
  const schema = record(fields)
  all[name] = description === '' ? schema : say(description, schema)
  return ref(name)
}
