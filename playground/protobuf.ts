/**
 * Turns the protobuf bodies that kubectl's typed commands send (`create configmap`, `auth can-i`)
 * into the JSON that the API server reads. Answers need none of this: those clients take JSON as
 * well.
 *
 * What must stay true: nothing is dropped in silence. A body with anything that is not known here
 * is refused, as a media type that is not understood.
 *
 * Not here: which fields there are (protobuf-message.ts).
 */
import { type Field, type Message, messageOf } from './protobuf-message.ts'

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** What cannot be read; the message says by which name. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

const MAGIC = Buffer.from('k8s\0')
const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Of an envelope: runtime.Unknown and its type. */
const ENVELOPE: Message = new Map([
  [1, field('type', 'TypeMeta')],
  [2, field('raw', 'raw')],
  [3, field('contentEncoding', '-')],
  [4, field('contentType', '-')],
])
const TYPE: Message = new Map([
  [1, field('apiVersion', 's')],
  [2, field('kind', 's')],
])

export function jsonFromProtobuf(body: Buffer): string {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) throw new ProtobufError('no Kubernetes object')
  const { type, raw } = decode(body.subarray(MAGIC.length), ENVELOPE, 'envelope') as {
    readonly type?: { readonly apiVersion?: string; readonly kind?: string }
    readonly raw?: Buffer
  }
  const { apiVersion, kind = '' } = type ?? {}
  const message = messageOf(kind)
  if (message === undefined) throw new ProtobufError(`a ${kind}`)
  const object = decode(raw ?? Buffer.alloc(0), message, kind)
  return JSON.stringify({ apiVersion, kind, ...object })
}

function decode(bytes: Buffer, message: Message, where: string): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  const reader = new Reader(bytes)
  while (!reader.isAtEnd) {
    const key = Number(reader.varint())
    const value = reader.value(key & 7)
    const known = message.get(key >> 3)
    if (known === undefined) {
      if (isZero(value)) continue
      throw new ProtobufError(`field ${key >> 3} of ${where}`)
    }
    put(object, known, value, where)
  }
  return object
}

type Value = bigint | Buffer

function put(object: Record<string, unknown>, field: Field, value: Value, where: string): void {
  const { name, type, shape, isPointer } = field
  const inside = `${where}.${name}`
  if (type === '-') return
  if (shape === 'map') {
    const entry = decode(asBuffer(value), entryOf(type), inside) as {
      key?: string
      value?: unknown
    }
    const map = (object[name] ?? {}) as Record<string, unknown>
    map[entry.key ?? ''] = entry.value ?? ''
    object[name] = map
    return
  }
  const read = scalar(type, value, inside)
  if (shape === 'list') object[name] = [...((object[name] ?? []) as unknown[]), read]
  else if (isPointer || !isAbsent(read)) object[name] = read
}

function scalar(type: string, value: Value, where: string): unknown {
  switch (type) {
    case 's':
      return asBuffer(value).toString()
    case 'y':
      return asBuffer(value).toString('base64')
    case 'raw':
      return asBuffer(value)
    case 'i':
      return Number(BigInt.asIntN(64, asInteger(value)))
    case 'b':
      return asInteger(value) !== 0n
    case 'q':
      return decode(asBuffer(value), QUANTITY, where)['string'] ?? '0'
    case 'o': {
      const either = decode(asBuffer(value), INT_OR_STRING, where)
      return either['isString'] === 1 ? (either['string'] ?? '') : (either['integer'] ?? 0)
    }
    case 'TypeMeta':
      return decode(asBuffer(value), TYPE, where)
    default: {
      const message = messageOf(type)
      if (message === undefined) throw new ProtobufError(where)
      return decode(asBuffer(value), message, where)
    }
  }
}

const QUANTITY: Message = new Map([[1, field('string', 's')]])
const INT_OR_STRING: Message = new Map([
  [1, field('isString', 'i')],
  [2, field('integer', 'i')],
  [3, field('string', 's')],
])

function entryOf(type: string): Message {
  return new Map([
    [1, field('key', 's')],
    [2, field('value', type)],
  ])
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) break
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new ProtobufError('a number that does not end')
  }

  value(wireType: number): Value {
    switch (wireType) {
      case VARINT:
        return this.varint()
      case BYTES:
        return this.#take(Number(this.varint()))
      case FIXED64:
        return this.#take(8)
      case FIXED32:
        return this.#take(4)
      default:
        throw new ProtobufError(`wire type ${wireType}`)
    }
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    if (taken.length < length) throw new ProtobufError('a value that does not end')
    this.#at += length
    return taken
  }
}

function field(name: string, type: string): Field {
  return { name, type, shape: 'one', isPointer: false }
}

/** Go writes fields that are no pointers even when there is nothing in them. */
function isZero(value: Value): boolean {
  return typeof value === 'bigint' ? value === 0n : value.length === 0
}

function isAbsent(value: unknown): boolean {
  if (value === '' || value === 0 || value === false) return true
  if (Buffer.isBuffer(value)) return false
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function asBuffer(value: Value): Buffer {
  if (typeof value === 'bigint') throw new ProtobufError('a number in the place of a text')
  return value
}

function asInteger(value: Value): bigint {
  if (typeof value !== 'bigint') throw new ProtobufError('a text in the place of a number')
  return value
}
