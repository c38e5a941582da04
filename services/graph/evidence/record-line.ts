/**
 * Records as lines of JSON: the bytes as the log has them, in base64, and beside them what they
 * say, for people and ordinary tools.
 *
 * What must stay true: a line follows from the bytes and the schemas alone, so it has one spelling,
 * and a reading that differs from the bytes is found by making the line again.
 *
 * Not here: which records are in a bundle (export.ts), how lines are read and written
 * (bundle-file.ts).
 */

import type { Entry } from '../../../ports/log.ts'
import { type Codec, CodecError } from '../../../ports/record/codec.ts'

/** A schema, as the codec reads records by it. */
export interface KnownSchema {
  readonly name: string
  /** As the Avro specification has it, 16 hexadecimal digits. */
  readonly fingerprint: string
  /** Parsing Canonical Form. */
  readonly text: string
}

export type KnownSchemas = ReadonlyMap<string, KnownSchema>

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

const HEADER_BYTES = 10
const FRAME = Buffer.from([0xc3, 0x01])

/** Makes lines, and remembers by which schemas their records are written. */
export class LineWriter {
  readonly #codec: Codec
  readonly #schemas: KnownSchemas
  readonly #used = new Set<string>()

  constructor(codec: Codec, schemas: KnownSchemas) {
    this.#codec = codec
    this.#schemas = schemas
  }

  /** Of an entry of the log. */
  entry({ offset, timestamp, key, value }: Entry): string {
    return lineOf({ offset: String(offset), timestamp, key, ...this.#read(value) })
  }

  /** Of a key of the store and its value. */
  value(key: string, value: Uint8Array): string {
    return lineOf({ key, ...this.#read(value) })
  }

  /** Of what followed from the event at an offset. */
  answer(offset: bigint, key: string, value: Uint8Array | null): string {
    return lineOf({ offset: String(offset), key, ...this.#read(value) })
  }

  /** The schemas of all records until now. */
  schemas(): readonly string[] {
    return [...this.#used].sort().flatMap((fingerprint) => {
      const schema = this.#schemas.get(fingerprint)
      return schema === undefined ? [] : [schemaLine(schema)]
    })
  }

  #read(value: Uint8Array | null): { readonly value: string | null; readonly record: Json } {
    if (value === null) return { value: null, record: null }
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    return { value: bytes.toString('base64'), record: this.#record(bytes) }
  }

  /** Null of what cannot be read, which the fold takes for unreadable, too. */
  #record(bytes: Buffer): Json {
    try {
      const record = plain(this.#codec.decode(bytes))
      const isFramed = bytes.length >= HEADER_BYTES && bytes.subarray(0, 2).equals(FRAME)
      if (isFramed) this.#used.add(bytes.readBigUInt64LE(2).toString(16).padStart(16, '0'))
      return record
    } catch (error) {
      if (error instanceof CodecError) return null
      throw error
    }
  }
}

export function schemaLine({ name, fingerprint, text }: KnownSchema): string {
  return `{"name":${JSON.stringify(name)},"fingerprint":"${fingerprint}","schema":${text}}\n`
}

export function lineOf(value: Json): string {
  return `${JSON.stringify(value)}\n`
}

/** Numbers of 64 bits and bytes as text. */
function plain(value: unknown): Json {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value as Json
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]))
}

/**
 * Undefined of a line that is none of ours; whether it is spelled as ours shows when it is made
 * again.
 */
export function entryIn(line: string): Entry | undefined {
  const found = valueIn(line)
  if (found === undefined) return undefined
  const { offset, timestamp } = found.fields
  if (typeof offset !== 'string' || !/^\d{1,18}$/.test(offset)) return undefined
  if (typeof timestamp !== 'number' || !Number.isSafeInteger(timestamp)) return undefined
  return { offset: BigInt(offset), timestamp, key: found.key, value: found.value }
}

export function valueIn(line: string):
  | {
      readonly key: string
      readonly value: Uint8Array | null
      readonly fields: Readonly<Record<'offset' | 'timestamp', unknown>>
    }
  | undefined {
  let fields: Readonly<Record<'offset' | 'timestamp' | 'key' | 'value', unknown>>
  try {
    fields = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof fields !== 'object' || fields === null) return undefined
  const { key, value } = fields
  if (typeof key !== 'string' || !(typeof value === 'string' || value === null)) return undefined
  return { key, value: value === null ? null : Buffer.from(value, 'base64'), fields }
}
