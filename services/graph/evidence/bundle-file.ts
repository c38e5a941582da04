/**
 * The files of a bundle of evidence: a directory with lines of JSON, and the signed statement.
 *
 * What must stay true: files are written and read line by line, so that a bundle of any size takes
 * little memory; a directory that is there already is never written to; what is no ordinary file of
 * the bundle, and one more file, are refused.
 *
 * Not here: what is in the lines (record-line.ts).
 */
import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from './refusal.ts'

/** In the order in which the statement names them. */
export const FILES = [
  'schemas.jsonl',
  'snapshot.jsonl',
  'orders.jsonl',
  'events.jsonl',
  'decisions.jsonl',
  'history.jsonl',
  'lineage.jsonl',
] as const

export type BundleFile = (typeof FILES)[number]

/** The DSSE envelope around the statement. */
export const ENVELOPE = 'statement.dsse.json'

/** SHA-256, in hexadecimal, and the number of lines. */
export interface Content {
  readonly sha256: string
  readonly lines: number
}

export type Contents = Readonly<Record<BundleFile, Content>>

/** Of lines that are made one after the other. */
export class ContentOf {
  readonly #hash: Hash = createHash('sha256')
  #lines = 0

  add(line: string): void {
    this.#hash.update(line)
    this.#lines += 1
  }

  /** Once only. */
  content(): Content {
    return { sha256: this.#hash.digest('hex'), lines: this.#lines }
  }
}

const WRITE_CHARACTERS = 256 * 1024
const READ_BYTES = 256 * 1024
/**
 * A record has 7 MiB at most; in base64 and as JSON, with all that has to be escaped, it has less
 * than this.
 */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const MAX_ENVELOPE_BYTES = 1024 * 1024

interface Open {
  readonly handle: FileHandle
  readonly content: ContentOf
  readonly waiting: string[]
  characters: number
}

/** A bundle that is being written. Unless it was finished, nothing of it is left. */
export class BundleWriter implements AsyncDisposable {
  readonly #directory: string
  readonly #files: ReadonlyMap<BundleFile, Open>
  #isFinished = false

  private constructor(directory: string, files: ReadonlyMap<BundleFile, Open>) {
    this.#directory = directory
    this.#files = files
  }

  /** Its parent has to be there. */
  static async make(directory: string): Promise<BundleWriter> {
    await mkdir(directory, { mode: 0o700 })
    const files = new Map<BundleFile, Open>()
    for (const name of FILES) {
      const handle = await open(join(directory, name), 'wx', 0o600)
      files.set(name, { handle, content: new ContentOf(), waiting: [], characters: 0 })
    }
    return new BundleWriter(directory, files)
  }

  async write(name: BundleFile, line: string): Promise<void> {
    const file = this.#file(name)
    file.content.add(line)
    file.waiting.push(line)
    file.characters += line.length
    if (file.characters >= WRITE_CHARACTERS) await flush(file)
  }

  async contents(): Promise<Contents> {
    const found: [BundleFile, Content][] = []
    for (const name of FILES) {
      const file = this.#file(name)
      await flush(file)
      await file.handle.sync()
      found.push([name, file.content.content()])
    }
    return Object.fromEntries(found) as unknown as Contents
  }

  /** Last: a directory without it is no evidence. */
  async finish(envelope: string): Promise<void> {
    await writeFile(join(this.#directory, ENVELOPE), envelope, { flag: 'wx', mode: 0o600 })
    this.#isFinished = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { handle } of this.#files.values()) await handle.close()
    if (!this.#isFinished) await rm(this.#directory, { recursive: true, force: true })
  }

  #file(name: BundleFile): Open {
    const file = this.#files.get(name)
    if (file === undefined) throw new Error(`${name} is no file of a bundle`)
    return file
  }
}

async function flush(file: Open): Promise<void> {
  const text = file.waiting.join('')
  file.waiting.length = 0
  file.characters = 0
  if (text !== '') await file.handle.appendFile(text)
}

/** Throws `Refusal` where a file is missing, or one is there that no bundle has. */
export async function checkFiles(directory: string): Promise<void> {
  const names = new Set(await readdir(directory))
  for (const name of [...FILES, ENVELOPE]) {
    if (!names.delete(name)) throw new Refusal(`${name} is missing`)
  }
  const [other] = names
  if (other !== undefined) {
    throw new Refusal(
      `${JSON.stringify(other)} is no file of a bundle: the statement does not name it`,
    )
  }
}

export async function readEnvelope(directory: string): Promise<string> {
  await using handle = await openFile(directory, ENVELOPE)
  const { size } = await handle.stat()
  if (size > MAX_ENVELOPE_BYTES) throw new Refusal(`${ENVELOPE} has ${size} bytes`)
  return await handle.readFile('utf8')
}

/** Its digest, without reading its lines. */
export async function digestOfFile(directory: string, name: BundleFile): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of chunksOf(directory, name)) hash.update(bytes)
  return hash.digest('hex')
}

/** Each with its line feed. */
export async function* linesIn(directory: string, name: BundleFile): AsyncGenerator<string> {
  let begun: Buffer[] = []
  let length = 0
  for await (const bytes of chunksOf(directory, name)) {
    let from = 0
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, from)) {
      begun.push(bytes.subarray(from, end + 1))
      yield Buffer.concat(begun).toString('utf8')
      begun = []
      length = 0
      from = end + 1
    }
    if (from < bytes.length) {
      begun.push(Buffer.from(bytes.subarray(from)))
      length += bytes.length - from
    }
    if (length > MAX_LINE_BYTES)
      throw new Refusal(`${name} has a line that no record is as long as`)
  }
  if (length > 0) throw new Refusal(`the last line of ${name} has no end`)
}

async function* chunksOf(directory: string, name: BundleFile): AsyncGenerator<Buffer> {
  await using handle = await openFile(directory, name)
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** No link leads out of the bundle, and no pipe is waited for. */
async function openFile(directory: string, name: string): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  let handle: FileHandle
  try {
    handle = await open(join(directory, name), flags)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOOP' || code === 'ENXIO') throw new Refusal(`${name} is no ordinary file`)
    throw error
  }
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Refusal(`${name} is no ordinary file`)
}
