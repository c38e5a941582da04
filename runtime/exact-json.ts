/**
 * JSON there and back without loss: a number that JavaScript cannot hold exactly keeps its
 * spelling.
 *
 * What must stay true: what is written says what was read. Users' objects have 64-bit integers, and
 * a rounded one would come back wrong.
 *
 * Not here: the order of keys that look like numbers, which means nothing in JSON.
 */

/** JSON as it comes: any field may be missing or of another type. */
export type JsonObject = { readonly [key: string]: unknown }

/** Node has it; the compiler's library does not know it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

/** Undefined when it is no JSON object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text, keepNumber) as unknown
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function keepNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return String(value) === context.source ? value : rawJSON(context.source)
}
