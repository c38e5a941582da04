/**
 * Reads the values of `lineage` or `history`, in both framings: by the schema that the writer had,
 * as today's record.
 *
 * What must stay true: a schema that is not known is an error that says what to do; nothing is
 * guessed.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import avsc from 'avsc'

type Decode<Value> = (body: Buffer) => Value

export class Decoder<Value> {
  readonly #reader: avsc.Type
  readonly #byFingerprint: ReadonlyMap<string, Decode<Value>>
  readonly #byId = new Map<number, Promise<Decode<Value>>>()
  readonly #registry: string | undefined

  constructor(schemas: string, record: string, registry: string | undefined) {
    const read = (file: string): avsc.Type =>
      avsc.Type.forSchema(JSON.parse(readFileSync(join(schemas, file), 'utf8')))
    this.#reader = read(`public/${record}.avsc`)
    const released = `history/${record}`
    const former = existsSync(join(schemas, released)) ? readdirSync(join(schemas, released)) : []
    const writers = [this.#reader, ...former.map((file) => read(`${released}/${file}`))]
    this.#byFingerprint = new Map(writers.map((each) => [fingerprintOf(each), this.#from(each)]))
    this.#registry = registry
  }

  /**
   * Single-object encoding: C3 01, the fingerprint, the body. By a registry: 00, the id, the body.
   */
  async decode(bytes: Buffer): Promise<Value> {
    if (bytes[0] === 0) {
      const id = bytes.readInt32BE(1)
      const decode = this.#byId.get(id) ?? this.#registered(id)
      this.#byId.set(id, decode)
      return (await decode)(bytes.subarray(5))
    }
    if (bytes.length < 10 || bytes.readUInt16BE(0) !== 0xc301) {
      throw new Error('this is no record of Kinfold.')
    }
    const fingerprint = bytes.readBigUInt64LE(2).toString(16).padStart(16, '0')
    const decode = this.#byFingerprint.get(fingerprint)
    if (decode !== undefined) return decode(bytes.subarray(10))
    throw new Error(
      `no schema has the fingerprint ${fingerprint}. ` +
        'Another version of Kinfold wrote this: give the folder schemas of the newest one with --schemas.',
    )
  }

  async #registered(id: number): Promise<Decode<Value>> {
    if (this.#registry === undefined) {
      throw new Error('the schema is in a registry: give its URL with --registry.')
    }
    const response = await fetch(`${this.#registry}/schemas/ids/${id}`)
    if (!response.ok) throw new Error(`the registry answers ${response.status} for schema ${id}.`)
    const { schema } = (await response.json()) as { schema: string }
    return this.#from(avsc.Type.forSchema(JSON.parse(schema)))
  }

  /** Fields that the writer lacked have their defaults. */
  #from(writer: avsc.Type): Decode<Value> {
    const resolver = this.#reader.createResolver(writer)
    return (body) => this.#reader.fromBuffer(body, resolver) as Value
  }
}

/** CRC-64-AVRO of the parsing canonical form, as in Avro's specification. */
function fingerprintOf(type: avsc.Type): string {
  const empty = 0xc15d213aa4d7a795n
  let crc = empty
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1n) ^ (crc & 1n ? empty : 0n)
  }
  return crc.toString(16).padStart(16, '0')
}
