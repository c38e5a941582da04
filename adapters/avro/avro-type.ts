/**
 * avsc's types with our in-memory forms: offsets are bigints, bytes are plain Uint8Arrays, records
 * are plain objects, and an enum's symbol `dry_run` is the word `dry-run`. A symbol that was
 * renamed is read as the enum's attribute `formerly` says. One of several cases says by its `type`
 * which of a union's records it is.
 *
 * What must stay true: reading takes time and memory in proportion to the bytes, for any bytes.
 * avsc itself believes an array's length.
 *
 * Not here: framing (codec.ts). avsc marks the methods that are overridden here as its own; its
 * version is pinned for that.
 */
import avro, { type Type } from 'avsc'
import type { ComplexSchema, Schema } from './schema.ts'
import { isCases } from './schema.ts'

/** The buffer that avsc reads from and writes to. */
interface Tap {
  readonly buf: Buffer
  pos: number
  readLong(): number
  writeLong(value: number): void
  readBytes(): Buffer | undefined
  writeBytes(value: Uint8Array): void
  writeString(value: string): void
}

interface InnerType {
  _read(tap: Tap): unknown
  _skip(tap: Tap): void
  _write(tap: Tap, value: unknown): void
  _check(value: unknown, flags?: number, hook?: Hook, path?: string[]): boolean
  createResolver(writer: Type, options?: unknown): InnerResolver
}

interface InnerResolver {
  _read: (tap: Tap) => unknown
}

type Hook = ((value: unknown, type: unknown) => void) | undefined

/** A type for a self-contained schema. */
export function avroTypeOf(schema: Schema): Type {
  const type = avro.Type.forSchema(schema as never, {
    wrapUnions: 'never',
    omitRecordMethods: true,
    typeHook: ourType as never,
  })
  makePlain(type)
  return type
}

function ourType(schema: Schema, options: unknown): Type | undefined {
  if (schema === 'long') return NUMBER
  if (schema === 'bytes') return PLAIN_BYTES
  if (schema === 'string') return TEXT
  if (typeof schema === 'string') return undefined
  if (Array.isArray(schema)) return isCases(schema) ? new CasesType(schema, options) : undefined
  const { type, logicalType } = schema as ComplexSchema
  switch (type) {
    case 'long':
      return logicalType === 'offset' ? OFFSET : NUMBER
    case 'bytes':
      return PLAIN_BYTES
    case 'array':
      return new BoundedArrayType(schema as never, options)
    case 'enum':
      return new WordType(schema as ComplexSchema, options)
    default:
      return undefined
  }
}

/**
 * Lets avsc's record constructors make objects like those of a literal, which compare and print as
 * such.
 */
function makePlain(type: Type): void {
  if (type instanceof avro.types.RecordType) {
    type.recordConstructor.prototype = Object.prototype
    for (const field of type.fields) makePlain(field.type)
  } else if (type instanceof avro.types.ArrayType) {
    makePlain(type.itemsType)
  } else if (type instanceof avro.types.UnwrappedUnionType || type instanceof CasesType) {
    type.types.forEach(makePlain)
  }
}

/** A union of records, of which each value says by its `type` which one it is. */
class CasesType extends avro.types.WrappedUnionType {
  constructor(schemas: readonly ComplexSchema[], options: unknown) {
    super(schemas as never, options as never)
    WORDS.set(
      this,
      schemas.map(({ word = '' }) => word),
    )
  }

  _check(value: unknown, flags?: number, hook?: Hook, path?: string[]): boolean {
    const branch = branchesOf(this)[caseOf(this, value)]
    if (branch !== undefined) return branch._check(value, flags, hook, path)
    hook?.(value, this)
    return false
  }

  _read(tap: Tap): unknown {
    const index = tap.readLong()
    const branch = branchesOf(this)[index]
    if (branch === undefined) throw new Error('a case is not in its list')
    return { type: WORDS.get(this)?.[index], ...(branch._read(tap) as object) }
  }

  _write(tap: Tap, value: unknown): void {
    const index = caseOf(this, value)
    const branch = branchesOf(this)[index]
    if (branch === undefined) throw new Error('a case is not in its list')
    tap.writeLong(index)
    branch._write(tap, value)
  }

  /** How to read what `writer` wrote: one of its cases, which is the one of that name here. */
  _update(resolver: InnerResolver, writer: Type, options?: unknown): void {
    const index = this.types.findIndex((each) => each.branchName === writer.branchName)
    const branch = branchesOf(this)[index]?.createResolver(writer, options)
    if (branch === undefined) return
    const word = WORDS.get(this)?.[index]
    resolver._read = (tap) => ({ type: word, ...(branch._read(tap) as object) })
  }
}

/** Of each union of cases, in order; avsc freezes its unions, so they have no fields of ours. */
const WORDS = new WeakMap<object, readonly string[]>()

function branchesOf({ types }: CasesType): readonly InnerType[] {
  return types as unknown as readonly InnerType[]
}

/** Below 0 for a value that is none of them. */
function caseOf(type: CasesType, value: unknown): number {
  const isObject = typeof value === 'object' && value !== null
  return isObject ? (WORDS.get(type)?.indexOf((value as { type?: string }).type ?? '') ?? -1) : -1
}

/** Any length of items that have at least one byte each; all of Kinfold's have. */
class BoundedArrayType extends avro.types.ArrayType {
  _read(this: { readonly itemsType: unknown }, tap: Tap): unknown[] {
    const items = this.itemsType as InnerType
    const values: unknown[] = []
    for (let left = blockLength(tap); left > 0; left = blockLength(tap)) {
      while (left-- > 0) values.push(items._read(tap))
    }
    return values
  }

  _skip(tap: Tap): void {
    const items = this.itemsType as unknown as InnerType
    for (let left = blockLength(tap); left > 0; left = blockLength(tap)) {
      while (left-- > 0) items._skip(tap)
    }
  }
}

function blockLength(tap: Tap): number {
  let length = tap.readLong()
  if (length < 0) {
    length = -length
    // The block's size in bytes, for readers who want to skip it.
    tap.readLong()
  }
  if (length > tap.buf.length - tap.pos) throw new Error('an array is longer than the record')
  return length
}

/**
 * Whole numbers from -2^52 to 2^53 - 1. avsc takes lower ones, too, and reads them back as others.
 */
class NumberType extends avro.types.LongType {
  _check(value: unknown, _flags?: number, hook?: Hook): boolean {
    const isValid = isNumber(value)
    if (!isValid) hook?.(value, this)
    return isValid
  }

  _read(tap: Tap): number {
    const value = tap.readLong()
    if (!isNumber(value)) throw new Error('a number is beyond 2^53')
    return value
  }

  _write(tap: Tap, value: unknown): void {
    if (!isNumber(value)) throw new Error('not a whole number below 2^53')
    tap.writeLong(value)
  }
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= -EXACT_LONG
}

/**
 * avsc folds the sign into the lowest bit of a double: exact below this, and for positive numbers
 * up to 2^53.
 */
const EXACT_LONG = 2 ** 52

/** `{ "type": "long", "logicalType": "offset" }`: a bigint of 64 bits. */
class OffsetType extends avro.types.LongType {
  _check(value: unknown, _flags?: number, hook?: Hook): boolean {
    const isValid = typeof value === 'bigint' && BigInt.asIntN(64, value) === value
    if (!isValid) hook?.(value, this)
    return isValid
  }

  _read(tap: Tap): bigint {
    const start = tap.pos
    const value = tap.readLong()
    if (Math.abs(value) < EXACT_LONG) return BigInt(value)
    tap.pos = start
    return readLarge(tap)
  }

  _write(tap: Tap, value: unknown): void {
    const number = typeof value === 'bigint' ? Number(value) : Number.NaN
    if (Math.abs(number) < EXACT_LONG) tap.writeLong(number)
    else if (this._check(value)) writeLarge(tap, value as bigint)
    else throw new Error('not an offset')
  }

  _update(resolver: InnerResolver, writer: Type): void {
    if (['int', 'long', 'abstract:long'].includes(writer.typeName)) {
      resolver._read = (tap) => this._read(tap)
    }
  }

  _deref(): string {
    return 'long'
  }
}

// avsc then asks `_check`, and not `typeof`, which branch of a union a value belongs to.
Object.defineProperty(OffsetType.prototype, 'typeName', { value: 'abstract:long' })
Object.defineProperty(OffsetType.prototype, '_concreteTypeName', { value: 'long' })

/** Zigzag, seven bits a byte, the lowest first. */
function readLarge(tap: Tap): bigint {
  let folded = 0n
  let shift = 0n
  for (;;) {
    const byte = tap.buf[tap.pos++] ?? 0
    folded |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) break
    shift += 7n
    if (shift > 63n) throw new Error('an offset is beyond 2^63')
  }
  return BigInt.asIntN(64, (folded >> 1n) ^ -(folded & 1n))
}

function writeLarge(tap: Tap, value: bigint): void {
  let folded = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  for (; folded > 0x7fn; folded >>= 7n) tap.buf[tap.pos++] = Number(folded & 0x7fn) | 0x80
  tap.buf[tap.pos++] = Number(folded)
}

/** avsc takes and gives Buffers only. */
class PlainBytesType extends avro.types.BytesType {
  _check(value: unknown, _flags?: number, hook?: Hook): boolean {
    const isValid = value instanceof Uint8Array
    if (!isValid) hook?.(value, this)
    return isValid
  }

  _read(tap: Tap): Uint8Array {
    return Uint8Array.from(tap.readBytes() ?? [])
  }

  _write(tap: Tap, value: unknown): void {
    if (!(value instanceof Uint8Array)) throw new Error('not bytes')
    tap.writeBytes(Buffer.from(value.buffer, value.byteOffset, value.length))
  }
}

/**
 * Nearly all of Kinfold's texts are short and ASCII: they are measured while they are written. avsc
 * measures first, by a call out of JavaScript that costs as much as the rest.
 */
class TextType extends avro.types.StringType {
  _write(tap: Tap, value: unknown): void {
    if (typeof value !== 'string') throw new Error('not a string')
    // Of half a surrogate pair avsc makes bytes that are no UTF-8, and strict readers refuse the
    // whole record.
    if (!writeShortAscii(tap, value)) tap.writeString(value.toWellFormed())
  }
}

/**
 * False where it is not so: then the bytes written after `pos` have no meaning. Beyond the buffer
 * nothing is written, and `pos` says so, as avsc's own do.
 */
function writeShortAscii(tap: Tap, text: string): boolean {
  const { buf, pos } = tap
  const { length } = text
  if (length > ONE_BYTE_LENGTH) return false
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > MOST_ASCII) return false
    buf[pos + 1 + i] = code
  }
  buf[pos] = 2 * length
  tap.pos = pos + 1 + length
  return true
}

/** A longer one's length takes two bytes. */
const ONE_BYTE_LENGTH = 63
const MOST_ASCII = 0x7f

/** A value of a closed list. Avro's symbols have no dash: an underscore replaces it. */
class WordType extends avro.types.EnumType {
  /** Today's symbol by each former one: records written with those have to be readable. */
  readonly #formerly: Readonly<Record<string, string>>

  constructor(schema: ComplexSchema, options: unknown) {
    super(schema as never, options as never)
    this.#formerly = schema.formerly ?? {}
  }

  _check(value: unknown, _flags?: number, hook?: Hook): boolean {
    const isValid = indexOfWord(this.symbols, value) >= 0
    if (!isValid) hook?.(value, this)
    return isValid
  }

  /** Also called on a resolver, which has the symbols of the writer. */
  _read(this: { readonly symbols: readonly string[] }, tap: Tap): string {
    const symbol = this.symbols[tap.readLong()]
    if (symbol === undefined) throw new Error('a word is not in its list')
    return symbol.includes('_') ? wordOf(symbol) : symbol
  }

  /**
   * How to read what `writer` wrote: its symbols in its order, by today's names. avsc knows aliases
   * of types and fields, and none of symbols.
   */
  _update(resolver: InnerResolver & { symbols?: readonly string[] }, writer: Type): void {
    if (!(writer instanceof avro.types.EnumType) || writer.name !== this.name) return
    const today = (symbol: string): string => this.#formerly[symbol] ?? symbol
    const symbols = writer.symbols.map(today)
    if (!symbols.every((symbol) => this.symbols.includes(symbol))) return
    resolver.symbols = symbols
    resolver._read = this._read
  }

  _write(tap: Tap, value: unknown): void {
    const index = indexOfWord(this.symbols, value)
    if (index < 0) throw new Error('a word is not in its list')
    tap.writeLong(index)
  }
}

function indexOfWord(symbols: readonly string[], value: unknown): number {
  if (typeof value !== 'string' || value.includes('_')) return -1
  return symbols.indexOf(value.includes('-') ? value.replaceAll('-', '_') : value)
}

function wordOf(symbol: string): string {
  return symbol.replaceAll('_', '-')
}

const NUMBER: Type = new NumberType()
const OFFSET: Type = new OffsetType()
const PLAIN_BYTES: Type = new PlainBytesType()
const TEXT: Type = new TextType()
