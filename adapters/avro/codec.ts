/**
 * Records as Avro in single-object encoding: the bytes C3 01, the schema's fingerprint (8 bytes,
 * little-endian), the body. Those whose schemas a registry knows have Confluent's framing: the byte
 * 0, the id there (4 bytes, big-endian), the body. Both are read.
 *
 * What must stay true: a record is read by the very schema it was written by, then resolved to
 * today's; bytes of a schema that is not here are refused, never guessed at. So a newer writer's
 * new word or field stops an older reader, which prevents that unknown is read as known.
 *
 * Nearly all records are read and written by generated code; avsc has what that refuses, former
 * schemas, and the last word on what does not fit.
 *
 * Not here: which schemas there are (schemas/, record-type.ts), and what may change in one
 * (schemas/README.md).
 */
import { fileURLToPath } from 'node:url'
import type { Type } from 'avsc'
import { type Codec, CodecError, type Writable } from '../../ports/record/codec.ts'
import { arenaFor, spend } from './arena.ts'
import { avroTypeOf } from './avro-type.ts'
import { type Generated, generatedFor } from './generated.ts'
import { RECORD_TYPE_NAMES } from './record-type.ts'
import { fingerprintOf, type Schema, withoutDefaults } from './schema.ts'
import { loadRecordSchema, type RecordSchema } from './schema-file.ts'

const SCHEMAS = new URL('../../schemas/', import.meta.url)

const MARK_0 = 0xc3
const MARK_1 = 0x01
const HEADER_BYTES = 10
const REGISTRY_MARK = 0
const REGISTRY_HEADER_BYTES = 5

/** Nearly all records are smaller. */
const LIKELY_BYTES = 4096
/**
 * Of avsc's buffer of a type at the start; it grows to the largest record written, and records have
 * a limit of 7 MiB.
 */
const INITIAL_BYTES = 1024

/** The ids of a registry for schemas, by their fingerprints. */
export type SchemaIds = ReadonlyMap<string, number>

const NO_IDS: SchemaIds = new Map()

export function avroCodec(ids: SchemaIds = NO_IDS): Codec {
  return codecOf(recordSchemas(RECORD_TYPE_NAMES), ids)
}

export function recordSchemas(names: readonly string[]): readonly RecordSchema[] {
  const directory = fileURLToPath(SCHEMAS)
  return names.map((name) => loadRecordSchema(directory, name))
}

export function codecOf(schemas: readonly RecordSchema[], ids: SchemaIds = NO_IDS): Codec {
  const writers = new Map<string, Writer>()
  const readers = new Map<number, Reader>()
  const readersById = new Map<number, Reader>()
  const addReader = (reader: Reader) => {
    if (reader.id !== undefined) readersById.set(reader.id, reader)
    const other = readers.get(reader.low)
    if (other !== undefined) {
      throw new Error(`schemas of ${other.name} and ${reader.name} share a fingerprint; keep one`)
    }
    readers.set(reader.low, reader)
  }
  for (const { name, current, former } of schemas) {
    const writer = new Writer(name, current, ids.get(fingerprintOf(current)))
    writers.set(name, writer)
    for (const schema of [current, ...former]) addReader(new Reader(name, schema, current, ids))
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
      if (ids.size > 0 && bytes[0] === REGISTRY_MARK && bytes.length >= REGISTRY_HEADER_BYTES) {
        const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
        return readerOf(buffer.readUInt32BE(1), readersById).read(buffer, REGISTRY_HEADER_BYTES)
      }
      if (bytes.length < HEADER_BYTES || bytes[0] !== MARK_0 || bytes[1] !== MARK_1) {
        const hint =
          bytes[0] === REGISTRY_MARK
            ? ', or give --schema-registry if they name a schema there'
            : ''
        throw new CodecError(
          'UNFRAMED',
          `these bytes do not begin as a record; see who wrote them${hint}`,
        )
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
      return reader.read(buffer, HEADER_BYTES)
    },
  }
}

function readerOf(id: number, readers: ReadonlyMap<number, Reader>): Reader {
  const reader = readers.get(id)
  if (reader !== undefined) return reader
  throw new CodecError(
    'UNKNOWN_SCHEMA',
    `the registry's schema ${id} is none of ours; give the registry that the writer had, or upgrade this reader`,
  )
}

class Writer {
  readonly #name: string
  readonly #schema: Schema
  readonly #headerBytes: number
  /** Null where there can be none. */
  #generated: Generated | null | undefined
  #type: Type | undefined
  /** Avsc's; it begins with the header. */
  #buffer: Buffer

  /** `id` is that of a registry. */
  constructor(name: string, schema: Schema, id: number | undefined) {
    this.#name = name
    this.#schema = schema
    this.#buffer = Buffer.alloc(INITIAL_BYTES)
    if (id === undefined) {
      this.#headerBytes = HEADER_BYTES
      this.#buffer[0] = MARK_0
      this.#buffer[1] = MARK_1
      this.#buffer.writeBigUInt64LE(BigInt(`0x${fingerprintOf(schema)}`), 2)
    } else {
      this.#headerBytes = REGISTRY_HEADER_BYTES
      this.#buffer[0] = REGISTRY_MARK
      this.#buffer.writeUInt32BE(id, 1)
    }
  }

  write(record: Writable): Uint8Array {
    if (this.#generated === undefined) {
      this.#generated = generatedFor(this.#schema, this.#name) ?? null
    }
    return this.#written(this.#generated, record) ?? this.#writtenByAvsc(record)
  }

  /** Undefined where avsc has to be asked. */
  #written(generated: Generated | null, record: Writable): Uint8Array | undefined {
    if (generated === null) return undefined
    const { buffer, at } = arenaFor(LIKELY_BYTES)
    const from = at + this.#headerBytes
    let end: number
    try {
      end = generated.write(buffer, from, record)
    } catch {
      return undefined
    }
    if (end > buffer.length) return undefined
    for (let i = 0; i < this.#headerBytes; i++) buffer[at + i] = this.#buffer[i]!
    spend(end)
    return new Uint8Array(buffer.buffer, buffer.byteOffset + at, end - at)
  }

  #writtenByAvsc(record: Writable): Uint8Array {
    // Without defaults, so that a field left out is an error and not a null.
    this.#type ??= avroTypeOf(withoutDefaults(this.#schema))
    const end = this.#encode(this.#type, record)
    if (end < 0) {
      this.#grow(this.#buffer.length - end)
      return this.#writtenByAvsc(record)
    }
    // Out of Node's pool: an allocation of its own costs ten times the copy.
    const copy = Buffer.allocUnsafe(end)
    this.#buffer.copy(copy, 0, 0, end)
    return new Uint8Array(copy.buffer, copy.byteOffset, end)
  }

  /** Negative by the bytes that are missing. */
  #encode(type: Type, record: Writable): number {
    try {
      return type.encode(record, this.#buffer, this.#headerBytes)
    } catch (cause) {
      throw new CodecError('INVALID', invalidSentence(this.#name, type, record), { cause })
    }
  }

  #grow(needed: number): void {
    const larger = Buffer.alloc(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#headerBytes)
    this.#buffer = larger
  }
}

type Decode = (buffer: Buffer, from: number) => { value: unknown; offset: number }

class Reader {
  readonly name: string
  /** The halves of the fingerprint. */
  readonly low: number
  readonly high: number
  /** Where a registry knows it. */
  readonly id: number | undefined
  readonly #schema: Schema
  readonly #current: Schema
  /** Null where there can be none. */
  #generated: Generated | null | undefined
  #decode: Decode | undefined

  constructor(name: string, schema: Schema, current: Schema, ids: SchemaIds) {
    const text = fingerprintOf(schema)
    const fingerprint = BigInt(`0x${text}`)
    this.name = name
    this.id = ids.get(text)
    this.low = Number(fingerprint & 0xffff_ffffn)
    this.high = Number(fingerprint >> 32n)
    this.#schema = schema
    this.#current = current
  }

  read(buffer: Buffer, from: number): Writable {
    if (this.#generated === undefined) {
      const isCurrent = this.#schema === this.#current
      this.#generated = (isCurrent && generatedFor(this.#schema, this.name)) || null
    }
    return readBy(this.#generated, buffer, from) ?? this.#readByAvsc(buffer, from)
  }

  #readByAvsc(buffer: Buffer, from: number): Writable {
    let decoded: { value: unknown; offset: number }
    try {
      this.#decode ??= this.#makeDecode()
      decoded = this.#decode(buffer, from)
    } catch (cause) {
      throw this.#corrupt((cause as Error).message, cause)
    }
    if (decoded.offset < 0) throw this.#corrupt('it ends too early')
    if (decoded.offset < buffer.length) throw this.#corrupt('bytes are left over')
    const record = decoded.value as { type: string }
    record.type = this.name
    return record as Writable
  }

  #makeDecode(): Decode {
    const type = avroTypeOf(this.#current)
    if (this.#schema === this.#current) return (buffer, from) => type.decode(buffer, from)
    const resolver = type.createResolver(avroTypeOf(this.#schema))
    return (buffer, from) => type.decode(buffer, from, resolver)
  }

  #corrupt(what: string, cause?: unknown): CodecError {
    return new CodecError(
      'CORRUPT',
      `a record of type ${this.name} does not fit its schema: ${what}; skip it and relist what it was about`,
      { cause },
    )
  }
}

const cursor = { pos: 0 }

/** Undefined where avsc has to be asked. */
function readBy(generated: Generated | null, buffer: Buffer, from: number): Writable | undefined {
  if (generated === null) return undefined
  cursor.pos = from
  try {
    const record = generated.read(buffer, cursor)
    return cursor.pos === buffer.length ? (record as Writable) : undefined
  } catch {
    return undefined
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
