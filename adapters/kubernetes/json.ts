/** JSON as a server sends it: any field may be missing or of another type. */
export type Json = { readonly [key: string]: unknown }

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
