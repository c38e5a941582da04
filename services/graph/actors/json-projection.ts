/**
 * Reads JSON as it arrives, byte by byte, and keeps the fields of a given shape: the rest takes no
 * memory, however long and deep a sender makes it.
 *
 * What must stay true: memory is bounded by the shape alone. A text is kept up to `LONGEST_TEXT`
 * bytes and then ends with `CUT`; what the shape does not name is skipped, by counting brackets;
 * its grammar is not checked. Of the fields that are kept the grammar is checked, and the last of
 * two with one name counts, as in JSON.parse. What is written within a text is handed on byte by
 * byte (`Within`), so it has no bound of its own here.
 *
 * Not here: what the fields mean (audit-decoder.ts).
 */

/** Bytes of a text as it is written, so that one of 256 characters fits, each of them escaped. */
const LONGEST_TEXT = 4_096
/** Ends each text that was longer. */
export const CUT = '…'
const LONGEST_KEY = 64
const LONGEST_SCALAR = 32

/**
 * `text`: kept where it is one. `number` and `flag`: the same. `count`: of an array its length. A
 * list of one shape: each element is handed over as soon as it is read, and the field is their
 * number.
 */
export type Shape =
  | 'text'
  | 'number'
  | 'flag'
  | 'count'
  | readonly [ObjectShape]
  | Within
  | ObjectShape

/** A text that holds something of its own, such as JSON. */
export class Within {
  /** A new one for each such text. */
  readonly open: () => TextSink

  constructor(open: () => TextSink) {
    this.open = open
  }
}

/** Takes the bytes of a text. Characters beyond ASCII that were escaped still are (`\u00e9`). */
export interface TextSink {
  push(bytes: Uint8Array): void
  /** What is kept of it as the field's value. */
  end(): unknown
}

export interface ObjectShape {
  readonly [key: string]: Shape
}

export type Fields = Readonly<Record<string, unknown>>

export interface ProjectionSink {
  /** An element of a list, undefined where it is no object; `root`: what is known by then. */
  element(fields: Fields | undefined, root: Fields): void
  /** A whole value; undefined where it is no object. Others may follow it. */
  value(fields: Fields | undefined): void
}

export class JsonError extends Error {
  override readonly name = 'JsonError'
}

interface ObjectFrame {
  readonly type: 'object'
  readonly shape: ObjectShape
  readonly fields: Record<string, unknown>
  key: string
  expects: 'key-or-end' | 'key' | 'colon' | 'value' | 'comma'
}

interface ListFrame {
  readonly type: 'list'
  /** Undefined: elements are counted. */
  readonly shape: ObjectShape | undefined
  /** Its elements are values, as if they were written one after the other. */
  readonly isRoot: boolean
  count: number
  expects: 'value-or-end' | 'value' | 'comma'
}

type Frame = ObjectFrame | ListFrame
type Lexeme = 'none' | 'text' | 'key' | 'scalar'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
const [LINE_FEED, SMALL_U] = [0x0a, 0x75]
/** Bytes that may follow a backslash: `u` and four digits, or another one alone. */
const FIRST_OF_ESCAPE = 5

export class JsonProjection {
  readonly #shape: ObjectShape
  readonly #sink: ProjectionSink
  readonly #frames: Frame[] = []
  #root: Record<string, unknown> | undefined
  /** Open brackets of a value that is skipped. */
  #skipped = 0
  #lexeme: Lexeme = 'none'
  /** Of the text, key or scalar that is read; and how much of it may be kept. */
  readonly #kept: Buffer = Buffer.alloc(LONGEST_TEXT)
  #length = 0
  #room = 0
  /** Up to where no escape is cut in two. */
  #whole = 0
  #isCut = false
  #isEscaped = false
  /** Bytes of the escape that is read which have still to come. */
  #escape = 0
  #line = 1
  /** Of the text that is read. */
  #within: TextSink | undefined
  readonly #escaped: number[] = []
  readonly #isListed: boolean

  /** `isListed`: a list at the root is read as its elements, one after the other. */
  constructor(shape: ObjectShape, sink: ProjectionSink, isListed = false) {
    this.#shape = shape
    this.#sink = sink
    this.#isListed = isListed
  }

  /** Of the next byte, from 1 on. */
  get line(): number {
    return this.#line
  }

  /** Throws `JsonError`; nothing may be pushed after that. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at = this.#step(bytes, at)
  }

  /** Throws `JsonError` where a value is not whole. */
  end(): void {
    if (this.#lexeme === 'scalar') this.#endScalar()
    if (this.#lexeme !== 'none' || this.#skipped > 0 || this.#frames.length > 0) {
      throw new JsonError('it ends too early')
    }
  }

  #step(bytes: Uint8Array, at: number): number {
    switch (this.#lexeme) {
      case 'text':
      case 'key':
        return this.#readText(bytes, at)
      case 'scalar':
        return this.#readScalar(bytes, at)
      case 'none':
        this.#readStructure(bytes[at] ?? 0)
        return at + 1
    }
  }

  #readStructure(byte: number): void {
    if (byte <= 0x20) {
      if (byte === LINE_FEED) this.#line += 1
      else if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) throw new JsonError('a control')
      return
    }
    if (this.#skipped > 0) return this.#skip(byte)
    const frame = this.#frames.at(-1)
    switch (byte) {
      case COLON:
        if (frame?.type !== 'object' || frame.expects !== 'colon') throw unexpected(byte)
        frame.expects = 'value'
        return
      case COMMA:
        if (frame?.expects !== 'comma') throw unexpected(byte)
        frame.expects = frame.type === 'object' ? 'key' : 'value'
        return
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        return this.#close(byte, frame)
      case QUOTE:
        if (frame?.expects !== 'key' && frame?.expects !== 'key-or-end') break
        return this.#beginText('key', LONGEST_KEY)
      default:
    }
    this.#beginValue(byte, frame)
  }

  #skip(byte: number): void {
    if (byte === QUOTE) this.#beginText('text', 0)
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#skipped += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      this.#skipped -= 1
      if (this.#skipped === 0) this.#put(undefined)
    }
  }

  #close(byte: number, frame: Frame | undefined): void {
    if (frame === undefined || byte !== (frame.type === 'object' ? CLOSE_OBJECT : CLOSE_LIST)) {
      throw unexpected(byte)
    }
    const { expects } = frame
    if (expects !== 'comma' && expects !== 'key-or-end' && expects !== 'value-or-end') {
      throw unexpected(byte)
    }
    this.#frames.pop()
    if (frame.type === 'list' && frame.isRoot) return
    this.#put(frame.type === 'object' ? frame.fields : frame.count)
  }

  #beginValue(byte: number, frame: Frame | undefined): void {
    const expects = frame?.expects ?? 'value'
    if (expects !== 'value' && expects !== 'value-or-end') throw unexpected(byte)
    const shape = this.#shapeOfNext(frame)
    switch (byte) {
      case QUOTE:
        this.#beginText('text', shape === 'text' ? LONGEST_TEXT : 0)
        this.#within = shape instanceof Within ? shape.open() : undefined
        return
      case OPEN_OBJECT:
        if (isObject(shape)) this.#openObject(shape)
        else this.#skipped = 1
        return
      case OPEN_LIST:
        if (frame === undefined && this.#isListed) this.#openList(this.#shape, true)
        else if (shape === 'count') this.#openList(undefined)
        else if (shape !== undefined && isList(shape)) this.#openList(shape[0])
        else this.#skipped = 1
        return
      default:
        if (!/[-0-9a-z]/.test(String.fromCharCode(byte))) throw unexpected(byte)
        this.#lexeme = 'scalar'
        this.#length = 0
        this.#kept[this.#length++] = byte
    }
  }

  #shapeOfNext(frame: Frame | undefined): Shape | undefined {
    if (frame === undefined) return this.#shape
    if (frame.type === 'list') return frame.shape
    return Object.hasOwn(frame.shape, frame.key) ? frame.shape[frame.key] : undefined
  }

  #openObject(shape: ObjectShape): void {
    const fields: Record<string, unknown> = {}
    const frame = this.#frames.at(-1)
    if (frame === undefined || (frame.type === 'list' && frame.isRoot)) this.#root = fields
    this.#frames.push({ type: 'object', shape, fields, key: '', expects: 'key-or-end' })
  }

  #openList(shape: ObjectShape | undefined, isRoot = false): void {
    this.#frames.push({ type: 'list', shape, isRoot, count: 0, expects: 'value-or-end' })
  }

  /** A value is over. */
  #put(value: unknown): void {
    const frame = this.#frames.at(-1)
    if (frame !== undefined) frame.expects = 'comma'
    if (frame === undefined || (frame.type === 'list' && frame.isRoot)) {
      this.#root = undefined
      return this.#sink.value(isFields(value) ? value : undefined)
    }
    if (frame.type === 'list') {
      frame.count += 1
      if (frame.shape !== undefined)
        this.#sink.element(isFields(value) ? value : undefined, this.#root ?? {})
      return
    }
    if (!Object.hasOwn(frame.shape, frame.key)) return
    frame.fields[frame.key] = value
  }

  #beginText(lexeme: 'text' | 'key', room: number): void {
    this.#lexeme = lexeme
    this.#room = room
    this.#length = 0
    this.#whole = 0
    this.#isCut = false
    this.#isEscaped = false
    this.#escape = 0
  }

  /** Up to its end, or that of what has come. */
  #readText(bytes: Uint8Array, from: number): number {
    const begin = this.#readEscape(bytes, from)
    let at = begin
    let byte = 0
    for (; at < bytes.length; at++) {
      byte = bytes[at] ?? 0
      if (byte === QUOTE || byte === BACKSLASH) break
      if (byte < 0x20) throw new JsonError('a control within a text')
    }
    const wasCut = this.#isCut
    this.#keep(bytes, begin, at)
    this.#within?.push(bytes.subarray(begin, at))
    if (!wasCut && this.#escape === 0) this.#whole = this.#length
    if (at === bytes.length) return at
    if (byte === QUOTE) this.#endText()
    else {
      this.#isEscaped = true
      this.#escape = FIRST_OF_ESCAPE
      this.#keep(bytes, at, at + 1)
    }
    return at + 1
  }

  #readEscape(bytes: Uint8Array, from: number): number {
    let at = from
    for (; at < bytes.length && this.#escape > 0; at++) {
      const isShort = this.#escape === FIRST_OF_ESCAPE && bytes[at] !== SMALL_U
      this.#escape = isShort ? 0 : this.#escape - 1
      this.#keep(bytes, at, at + 1)
      if (this.#within === undefined) continue
      this.#escaped.push(bytes[at] ?? 0)
      if (this.#escape === 0) this.#within.push(meantBy(this.#escaped.splice(0)))
    }
    return at
  }

  #keep(bytes: Uint8Array, from: number, to: number): void {
    const count = Math.min(to - from, this.#room - this.#length)
    if (count < to - from) this.#isCut = true
    for (let each = 0; each < count; each++) this.#kept[this.#length++] = bytes[from + each] ?? 0
  }

  #endText(): void {
    const lexeme = this.#lexeme
    this.#lexeme = 'none'
    const text = this.#room === 0 ? undefined : this.#text()
    if (lexeme === 'text') {
      const within = this.#within
      this.#within = undefined
      if (within !== undefined) return this.#put(within.end())
      if (this.#skipped === 0) this.#put(text)
      return
    }
    const frame = this.#frames.at(-1)
    if (frame?.type !== 'object') return
    frame.key = text ?? ''
    frame.expects = 'colon'
  }

  #text(): string {
    const written = this.#kept.toString('utf8', 0, this.#isCut ? this.#whole : this.#length)
    return `${this.#isEscaped ? unescaped(written) : written}${this.#isCut ? CUT : ''}`
  }

  #readScalar(bytes: Uint8Array, from: number): number {
    let at = from
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      const isOver = byte <= 0x20 || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST
      if (isOver) {
        this.#endScalar()
        return at
      }
      if (this.#length > LONGEST_SCALAR) throw new JsonError('a number that is too long')
      this.#kept[this.#length++] = byte
    }
    return at
  }

  #endScalar(): void {
    this.#lexeme = 'none'
    const written = this.#kept.toString('latin1', 0, this.#length)
    const shape = this.#shapeOfNext(this.#frames.at(-1))
    const value = parsed(written)
    const isKept =
      (shape === 'number' && typeof value === 'number') ||
      (shape === 'flag' && typeof value === 'boolean')
    this.#put(isKept ? value : undefined)
  }
}

function isList(shape: Shape): shape is readonly [ObjectShape] {
  return Array.isArray(shape)
}

function isObject(shape: Shape | undefined): shape is ObjectShape {
  return typeof shape === 'object' && !isList(shape) && !(shape instanceof Within)
}

/** The character after a backslash. Beyond ASCII it stays as it is written. */
function meantBy(escaped: readonly number[]): Buffer {
  const written = `\\${Buffer.from(escaped).toString('latin1')}`
  const meant = unescaped(written)
  return Buffer.from(meant.charCodeAt(0) < 0x80 ? meant : written)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function unescaped(written: string): string {
  return String(parsed(`"${written}"`))
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written) as unknown
  } catch {
    throw new JsonError(`${written.slice(0, 20)} is no JSON`)
  }
}

function unexpected(byte: number): JsonError {
  return new JsonError(`${String.fromCharCode(byte)} is not expected`)
}
