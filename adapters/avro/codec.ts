/**
 * Records as Avro in single-object encoding: the bytes C3 01, the schema's fingerprint (8 bytes, little-endian), the body.
 *
 * What must stay true: a record is read by the very schema it was written by, then resolved to today's; bytes of a schema that is not here are refused,
 * never guessed at. So a newer writer's new word or field stops an older reader, which is what keeps unknown from being read as known.
 *
 * Not here: which schemas there are (schemas/, record-type.ts), and what may change in one (schemas/README.md).
 */
import { fileURLToPath } from 'node:url'
import type { Type } from 'avsc'
import { type Codec, CodecError, type Writable } from '../../ports/codec.ts'
import { avroTypeOf } from './avro-type.ts'
import { RECORD_TYPE_NAMES } from './record-type.ts'
import { fingerprintOf, type Schema, withoutDefaults } from './schema.ts'
import { loadRecordSchema, type RecordSchema } from './schema-file.ts'

const SCHEMAS = new URL('../../schemas/', import.meta.url)

const MARK_0 = 0xc3
const MARK_1 = 0x01
const HEADER_BYTES = 10

/** A type's buffer at the start; it grows to the largest record written, and records have a limit of 1 MiB. */
const INITIAL_BYTES = 1024

export function avroCodec(): Codec {
  const directory = fileURLToPath(SCHEMAS)
  return codecOf(RECORD_TYPE_NAMES.map((name) => loadRecordSchema(directory, name)))
}

export function codecOf(schemas: readonly RecordSchema[]): Codec {
  const writers = new Map<string, Writer>()
  const readers = new Map<number, Reader>()
  const addReader = (reader: Reader) => {
    const other = readers.get(reader.low)
    if (other !== undefined) {
      throw new Error(`schemas of ${other.name} and ${reader.name} share a fingerprint; keep one`)
    }
    readers.set(reader.low, reader)
  }
  for (const { name, current, former } of schemas) {
    const writer = new Writer(name, current)
    writers.set(name, writer)
    addReader(new Reader(name, current, current))
    for (const schema of former) addReader(new Reader(name, schema, current))
  }

  return {
    encode(record: Writable): Uint8Array {
      const writer = writers.get(record.type)
      if (writer === undefined) {
        throw new CodecError('INVALID', `no schema for records of type ${record.type}; add one`)
      }
      return writer.write(record)
    },

    decode(bytes: Uint8Array): Writable {
      if (bytes.length < HEADER_BYTES || bytes[0] !== MARK_0 || bytes[1] !== MARK_1) {
        throw new CodecError('UNFRAMED', 'these bytes do not begin as a record; see who wrote them')
      }
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      const reader = readers.get(buffer.readUInt32LE(2))
      if (reader === undefined || reader.high !== buffer.readUInt32LE(6)) {
        const fingerprint = buffer.readBigUInt64LE(2).toString(16).padStart(16, '0')
        throw new CodecError(
          'UNKNOWN_SCHEMA',
          `no schema has the fingerprint ${fingerprint}; upgrade this reader, or keep the former version in schemas/history`,
        )
      }
      return reader.read(buffer)
    },
  }
}

class Writer {
  readonly #name: string
  readonly #schema: Schema
  #type: Type | undefined
  #buffer: Buffer

  constructor(name: string, schema: Schema) {
    this.#name = name
    this.#schema = schema
    this.#buffer = Buffer.alloc(INITIAL_BYTES)
    this.#buffer[0] = MARK_0
    this.#buffer[1] = MARK_1
    this.#buffer.writeBigUInt64LE(BigInt(`0x${fingerprintOf(schema)}`), 2)
  }

  write(record: Writable): Uint8Array {
    // Without defaults, so that a field left out is an error and not a null.
    this.#type ??= avroTypeOf(withoutDefaults(this.#schema))
    const end = this.#encode(this.#type, record)
    if (end < 0) {
      this.#grow(this.#buffer.length - end)
      return this.write(record)
    }
    // Out of Node's pool: an allocation of its own costs ten times the copy.
    const copy = Buffer.allocUnsafe(end)
    this.#buffer.copy(copy, 0, 0, end)
    return new Uint8Array(copy.buffer, copy.byteOffset, end)
  }

  /** Negative by the bytes that are missing. */
  #encode(type: Type, record: Writable): number {
    try {
      return type.encode(record, this.#buffer, HEADER_BYTES)
    } catch (cause) {
      throw new CodecError('INVALID', invalidSentence(this.#name, type, record), { cause })
    }
  }

  #grow(needed: number): void {
    const larger = Buffer.alloc(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, HEADER_BYTES)
    this.#buffer = larger
  }
}

class Reader {
  readonly name: string
  /** The halves of the fingerprint. */
  readonly low: number
  readonly high: number
  readonly #schema: Schema
  readonly #current: Schema
  #decode: ((buffer: Buffer) => { value: unknown; offset: number }) | undefined

  constructor(name: string, schema: Schema, current: Schema) {
    const fingerprint = BigInt(`0x${fingerprintOf(schema)}`)
    this.name = name
    this.low = Number(fingerprint & 0xffff_ffffn)
    this.high = Number(fingerprint >> 32n)
    this.#schema = schema
    this.#current = current
  }

  read(buffer: Buffer): Writable {
    let decoded: { value: unknown; offset: number }
    try {
      this.#decode ??= this.#makeDecode()
      decoded = this.#decode(buffer)
    } catch (cause) {
      throw this.#corrupt((cause as Error).message, cause)
    }
    if (decoded.offset < 0) throw this.#corrupt('it ends too early')
    if (decoded.offset < buffer.length) throw this.#corrupt('bytes are left over')
    const record = decoded.value as { type: string }
    record.type = this.name
    return record as Writable
  }

  #makeDecode(): (buffer: Buffer) => { value: unknown; offset: number } {
    const type = avroTypeOf(this.#current)
    if (this.#schema === this.#current) return (buffer) => type.decode(buffer, HEADER_BYTES)
    const resolver = type.createResolver(avroTypeOf(this.#schema))
    return (buffer) => type.decode(buffer, HEADER_BYTES, resolver)
  }

  #corrupt(what: string, cause?: unknown): CodecError {
    return new CodecError(
      'CORRUPT',
      `a record of type ${this.name} does not fit its schema: ${what}; skip it and relist what it was about`,
      { cause },
    )
  }
}

/** Names the first field that does not fit; slow, so only for a record that was refused. */
function invalidSentence(name: string, type: Type, record: Writable): string {
  let found: string | undefined
  type.isValid(record, {
    errorHook: (path, value) => {
      found ??= `${path.join('.')} is ${printed(value)}`
    },
  })
  return `a record of type ${name} does not fit its schema: ${found ?? 'it cannot be written'}; correct the record or the schema`
}

function printed(value: unknown): string {
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'a list' : 'an object'
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value)
}
