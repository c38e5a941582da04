/** JSON Schema (2020-12) as OpenAPI 3.1 takes it, in few words. What must stay true: an object has the fields that are written and no others; all of them, but for those that are named apart. */

export interface Schema {
  readonly [key: string]: unknown
}

export const TEXT: Schema = { type: 'string' }
export const FLAG: Schema = { type: 'boolean' }
export const COUNT: Schema = { type: 'integer', minimum: 0 }
export const TIME_OR_NULL: Schema = {
  type: ['string', 'null'],
  format: 'date-time',
  description: 'RFC 3339 in UTC; null where there is none, or where it never comes.',
}

export function say(description: string, schema: Schema): Schema {
  return { ...schema, description }
}

export function oneOf(words: readonly string[]): Schema {
  return { type: 'string', enum: words }
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] }
}

/** A schema of `components`. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** `optional`: those that an API server leaves out where they are empty. */
export function record(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  }
}
