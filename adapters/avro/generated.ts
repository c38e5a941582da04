/**
 * One writer and one reader for each schema, generated as JavaScript when the first record of it is
 * met: the same bytes as avsc's, in a third of the time.
 *
 * What must stay true: what they write and read, avsc writes and reads as well, byte for byte and
 * value for value. Everything else throws, and is left to avsc: numbers beyond 2^49, odd encodings,
 * values that do not fit, damaged bytes. So the error messages are avsc's.
 *
 * Not here: former schemas (codec.ts has avsc resolve them), the helpers that the generated code
 * calls (wire.ts).
 */
import type { ComplexSchema, Field, Schema } from './schema.ts'
import { isCases } from './schema.ts'
import * as wire from './wire.ts'

export interface Generated {
  /**
   * Writes at `at` and returns where it ended, which is beyond the buffer when that was too small.
   * Throws for a record that avsc has to write.
   */
  write(buffer: Buffer, at: number, record: unknown): number
  /**
   * Reads from the cursor on, which it leaves at the end, perhaps beyond the buffer. Throws for
   * bytes that avsc has to read.
   */
  read(buffer: Buffer, cursor: wire.Cursor): unknown
}

/** Undefined for a schema with types that none of Kinfold's schemas has. */
export function generatedFor(schema: Schema, recordType: string): Generated | undefined {
  try {
    return new Generator(recordType).generate(schema)
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}

class Unsupported extends Error {}

/** Texts that hardly ever come again: to remember them costs more than to read them. */
const UNREPEATED: ReadonlySet<string> = new Set([
  'resourceVersion',
  'hash',
  'id',
  'text',
  'because',
  'why',
  'intent',
  'cursor',
  'reason',
  'state',
  'outputs',
])

const NAME = /^[A-Za-z_]\w*$/

interface FunctionNames {
  readonly write: string
  readonly read: string
}

class Generator {
  readonly #recordType: string
  readonly #named = new Map<string, ComplexSchema>()
  readonly #functions = new Map<Schema, FunctionNames>()
  readonly #code: string[] = []

  constructor(recordType: string) {
    this.#recordType = recordType
  }

  generate(schema: Schema): Generated {
    const top = this.#resolved(schema)
    if (typeof top === 'string' || isUnion(top) || top.type !== 'record') throw new Unsupported()
    const { write, read } = this.#functionsFor(top)
    const helpers = Object.keys(wire).join(', ')
    const source = `'use strict'\nconst { ${helpers} } = wire\n${this.#code.join('\n')}\nreturn { write: ${write}, read: ${read} }`
    return new Function('wire', source)(wire) as Generated
  }

  #functionsFor(schema: ComplexSchema): FunctionNames {
    const known = this.#functions.get(schema)
    if (known !== undefined) return known
    const number = this.#functions.size
    const names = { write: `write${number}`, read: `read${number}` }
    this.#functions.set(schema, names)
    this.#name(schema)
    switch (schema.type) {
      case 'record':
        this.#record(names, schema.fields ?? [], number === 0 ? this.#recordType : schema.word)
        break
      case 'array':
        this.#array(names, schema.items ?? 'null')
        break
      case 'enum':
        this.#enum(names, schema.symbols ?? [])
        break
      default:
        throw new Unsupported()
    }
    return names
  }

  /** By its last part, so one part may not mean two types. */
  #name(schema: ComplexSchema): void {
    if (schema.name === undefined) return
    const name = lastPart(schema.name)
    const other = this.#named.get(name)
    if (other !== undefined && other !== schema) throw new Unsupported()
    this.#named.set(name, schema)
  }

  /** `type`: in memory, where it has one. */
  #record({ write, read }: FunctionNames, fields: readonly Field[], type?: string): void {
    if (!fields.every(({ name }) => NAME.test(name))) throw new Unsupported()
    const writing = fields.map((field) => this.#writing(field.type, `value.${field.name}`))
    this.#code.push(`function ${write}(buffer, at, value) {
  if (typeof value !== 'object' || value === null) refuse()
  ${writing.join('\n  ')}
  return at
}`)
    const reading = fields.map((field) => {
      return `const ${field.name}$ = ${this.#reading(field.type, field.name)}`
    })
    const parts = fields.map(({ name }) => `${name}: ${name}$`)
    // As the literals of core/ begin, so that both have one shape for V8.
    if (type !== undefined) parts.unshift(`type: ${JSON.stringify(type)}`)
    this.#code.push(`function ${read}(buffer, cursor) {
  ${reading.join('\n  ')}
  return { ${parts.join(', ')} }
}`)
  }

  /** A union with a record for each case. */
  #casesFor(union: readonly ComplexSchema[]): FunctionNames {
    const known = this.#functions.get(union)
    if (known !== undefined) return known
    if (union.length > 64) throw new Unsupported()
    const number = this.#functions.size
    const { write, read } = { write: `write${number}`, read: `read${number}` }
    this.#functions.set(union, { write, read })
    const cases = union.map((each) => this.#functionsFor(each))
    const writing = cases.map(({ write: one }, i) => {
      const word = JSON.stringify(union[i]?.word)
      return `case ${word}: buffer[at] = ${2 * i}; return ${one}(buffer, at + 1, value)`
    })
    const reading = cases.map(({ read: one }, i) => `case ${2 * i}: return ${one}(buffer, cursor)`)
    this.#code.push(`function ${write}(buffer, at, value) {
  if (typeof value !== 'object' || value === null) refuse()
  switch (value.type) { ${writing.join('; ')} }
  return refuse()
}`)
    this.#code.push(`function ${read}(buffer, cursor) {
  switch (buffer[cursor.pos++]) { ${reading.join('; ')} }
  return refuse()
}`)
    return { write, read }
  }

  #array({ write, read }: FunctionNames, items: Schema): void {
    this.#code.push(`function ${write}(buffer, at, list) {
  if (!Array.isArray(list)) refuse()
  const length = list.length
  if (length > 0) {
    at = writeLong(buffer, at, length)
    for (let i = 0; i < length; i++) {
      const item = list[i]
      ${this.#writing(items, 'item')}
    }
  }
  buffer[at] = 0
  return at + 1
}`)
    this.#code.push(`function ${read}(buffer, cursor) {
  const list = []
  for (let left = readBlockLength(buffer, cursor); left > 0; left = readBlockLength(buffer, cursor)) {
    while (left-- > 0) list.push(${this.#reading(items, '')})
  }
  return list
}`)
  }

  #enum({ write, read }: FunctionNames, symbols: readonly string[]): void {
    // Beyond these an index takes two bytes.
    if (symbols.length > 64) throw new Unsupported()
    const words = symbols.map((symbol) => JSON.stringify(symbol.replaceAll('_', '-')))
    const writing = words.map((word, i) => `case ${word}: buffer[at] = ${2 * i}; return at + 1`)
    const reading = words.map((word, i) => `case ${2 * i}: return ${word}`)
    this.#code.push(`function ${write}(buffer, at, word) {
  switch (word) { ${writing.join('; ')} }
  return refuse()
}`)
    this.#code.push(`function ${read}(buffer, cursor) {
  switch (buffer[cursor.pos++]) { ${reading.join('; ')} }
  return refuse()
}`)
  }

  /** A statement that writes the expression `value` at `at`, and sets `at` after it. */
  #writing(type: Schema, value: string): string {
    const schema = this.#resolved(type)
    if (isUnion(schema)) {
      if (isCases(schema)) return `at = ${this.#casesFor(schema).write}(buffer, at, ${value})`
      return `if (${value} === null) buffer[at++] = 0
  else { buffer[at++] = 2; ${this.#writing(optional(schema), value)} }`
    }
    switch (kindOf(schema)) {
      case 'boolean':
        return `if (${value} === true) buffer[at++] = 1; else if (${value} === false) buffer[at++] = 0; else refuse()`
      case 'long':
        return `at = writeLong(buffer, at, ${value})`
      case 'offset':
        return `at = writeOffset(buffer, at, ${value})`
      case 'string':
        return `at = writeText(buffer, at, ${value})`
      case 'bytes':
        return `at = writeBytes(buffer, at, ${value})`
      default:
        if (typeof schema === 'string') throw new Unsupported()
        return `at = ${this.#functionsFor(schema).write}(buffer, at, ${value})`
    }
  }

  /** An expression that reads one value. */
  #reading(type: Schema, field: string): string {
    const schema = this.#resolved(type)
    if (isUnion(schema) && isCases(schema)) return `${this.#casesFor(schema).read}(buffer, cursor)`
    if (isUnion(schema))
      return `(isNull(buffer, cursor) ? null : ${this.#reading(optional(schema), field)})`
    switch (kindOf(schema)) {
      case 'boolean':
        return 'readBoolean(buffer, cursor)'
      case 'long':
        return 'readLong(buffer, cursor)'
      case 'offset':
        return 'BigInt(readLong(buffer, cursor))'
      case 'string':
        return `${UNREPEATED.has(field) ? 'readText' : 'readRepeated'}(buffer, cursor)`
      case 'bytes':
        return 'readBytes(buffer, cursor)'
      default:
        if (typeof schema === 'string') throw new Unsupported()
        return `${this.#functionsFor(schema).read}(buffer, cursor)`
    }
  }

  /** `{ "type": { "type": "array", … } }` is the inner type, and a name the type that it names. */
  #resolved(schema: Schema): Schema {
    if (isUnion(schema)) return schema
    if (typeof schema === 'string') return this.#named.get(lastPart(schema)) ?? schema
    return typeof schema.type === 'string' ? schema : this.#resolved(schema.type)
  }
}

function kindOf(schema: string | ComplexSchema): Schema {
  if (typeof schema === 'string') return schema
  return schema.type === 'long' && schema.logicalType === 'offset' ? 'offset' : schema.type
}

/**
 * The type of a value that is not null; beside unions of cases the only ones in Kinfold's schemas.
 */
function optional(union: readonly Schema[]): Schema {
  const [first, second] = union
  const isOptional = union.length === 2 && first === 'null' && second !== undefined
  if (!isOptional || second === 'null' || isUnion(second)) throw new Unsupported()
  return second
}

function isUnion(schema: Schema): schema is readonly Schema[] {
  return Array.isArray(schema)
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
