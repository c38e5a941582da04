/**
 * Avro schemas as JSON: names written out in full, canonical form and fingerprint.
 *
 * What must stay true: two schemas have one fingerprint only when they read and write the same
 * bytes. The fingerprint is that of the Avro specification (CRC-64-AVRO of the Parsing Canonical
 * Form), so any Avro library finds the schema of our records.
 *
 * Not here: files (schema-file.ts), reading and writing by a schema (avro-type.ts).
 */

export type Schema = string | readonly Schema[] | ComplexSchema

/** Attributes that Avro does not know are kept, and mean nothing to the canonical form. */
export interface ComplexSchema {
  readonly type: Schema
  readonly name?: string
  readonly namespace?: string
  readonly fields?: readonly Field[]
  readonly symbols?: readonly string[]
  /** Kinfold's own attribute: today's symbol by each former one. */
  readonly formerly?: Readonly<Record<string, string>>
  /**
   * Kinfold's own attribute, of a record that is a case of a union: in memory its `type` is this.
   */
  readonly word?: string
  readonly items?: Schema
  readonly values?: Schema
  readonly size?: number
  readonly logicalType?: string
}

export interface Field {
  readonly name: string
  readonly type: Schema
  readonly default?: unknown
}

const PRIMITIVES: ReadonlySet<string> = new Set([
  'null',
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'bytes',
  'string',
])

/** CRC-64-AVRO of the empty text, and the polynomial. */
const EMPTY = 0xc15d213aa4d7a795n

const TABLE = makeTable()

/** As the specification's notation: 16 hexadecimal digits, the most significant first. */
export function fingerprintOf(schema: Schema): string {
  return crc64(Buffer.from(canonicalForm(schema)))
    .toString(16)
    .padStart(16, '0')
}

/**
 * Parsing Canonical Form: primitives by name, full names, only what decides the bytes, in one
 * order, without blanks.
 */
export function canonicalForm(schema: Schema, namespace = ''): string {
  if (typeof schema === 'string') return JSON.stringify(fullName(schema, namespace))
  if (isUnion(schema)) return `[${schema.map((branch) => canonicalForm(branch, namespace)).join()}]`
  const { type, fields, symbols, items, values, size } = schema
  if (typeof type !== 'string') return canonicalForm(type, namespace)
  if (PRIMITIVES.has(type)) return JSON.stringify(type)

  const parts: string[] = []
  const inner = namespaceOf(schema, namespace)
  if (schema.name !== undefined)
    parts.push(`"name":${JSON.stringify(fullName(schema.name, inner))}`)
  parts.push(`"type":${JSON.stringify(type)}`)
  if (fields !== undefined) {
    const texts = fields.map(
      (field) =>
        `{"name":${JSON.stringify(field.name)},"type":${canonicalForm(field.type, inner)}}`,
    )
    parts.push(`"fields":[${texts.join()}]`)
  }
  if (symbols !== undefined) parts.push(`"symbols":${JSON.stringify(symbols)}`)
  if (items !== undefined) parts.push(`"items":${canonicalForm(items, inner)}`)
  if (values !== undefined) parts.push(`"values":${canonicalForm(values, inner)}`)
  if (size !== undefined) parts.push(`"size":${size}`)
  return `{${parts.join()}}`
}

/**
 * The schema with every named type written out where it is first named, so that it is
 * self-contained. `find` gives the schema of a full name.
 */
export function standalone(schema: Schema, find: (name: string) => ComplexSchema): Schema {
  const written = new Set<string>()
  const write = (schema: Schema, namespace: string): Schema => {
    if (typeof schema === 'string') {
      const name = fullName(schema, namespace)
      return PRIMITIVES.has(name) || written.has(name) ? name : write(find(name), '')
    }
    if (isUnion(schema)) return schema.map((branch) => write(branch, namespace))
    const inner = namespaceOf(schema, namespace)
    const { name, fields, items, values } = schema
    if (name !== undefined) written.add(fullName(name, inner))
    return {
      ...schema,
      ...(fields && {
        fields: fields.map((field) => ({ ...field, type: write(field.type, inner) })),
      }),
      ...(items && { items: write(items, inner) }),
      ...(values && { values: write(values, inner) }),
    }
  }
  return write(schema, '')
}

/** The schema without defaults: one by which nothing may be left out when a record is written. */
export function withoutDefaults(schema: Schema): Schema {
  if (typeof schema === 'string') return schema
  if (isUnion(schema)) return schema.map(withoutDefaults)
  const { fields, items } = schema
  return {
    ...schema,
    ...(fields && {
      fields: fields.map(({ default: _, ...field }) => ({
        ...field,
        type: withoutDefaults(field.type),
      })),
    }),
    ...(items && { items: withoutDefaults(items) }),
  }
}

/** A record for each case: in memory one has the word of its record as `type`. */
export function isCases(union: readonly Schema[]): union is readonly ComplexSchema[] {
  return union.every(
    (each) => typeof each === 'object' && !isUnion(each) && each.word !== undefined,
  )
}

/** `kinfold.ObjectMeta` out of `ObjectMeta`, where that is the namespace around it. */
function fullName(name: string, namespace: string): string {
  const isFull = namespace === '' || name.includes('.') || PRIMITIVES.has(name)
  return isFull ? name : `${namespace}.${name}`
}

function namespaceOf(schema: ComplexSchema, around: string): string {
  const { name, namespace } = schema
  if (name?.includes('.')) return name.slice(0, name.lastIndexOf('.'))
  return namespace ?? around
}

function isUnion(schema: Schema): schema is readonly Schema[] {
  return Array.isArray(schema)
}

function crc64(bytes: Uint8Array): bigint {
  let crc = EMPTY
  for (const byte of bytes) crc = (crc >> 8n) ^ TABLE[Number(crc & 0xffn) ^ byte]!
  return crc
}

function makeTable(): BigUint64Array {
  return BigUint64Array.from({ length: 256 }, (_, index) => {
    let crc = BigInt(index)
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1n) ^ (crc & 1n ? EMPTY : 0n)
    return crc
  })
}
