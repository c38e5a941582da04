/**
 * Verifies a bundle of evidence, without a log, a cluster or the network: its signature, its files,
 * and that what it says came of the records comes of them again.
 *
 * What must stay true: the key is the caller's, and nothing of a bundle is read as a record before
 * its signature and its digests fit. The statement is made again from the records and compared, so
 * nothing that it says is taken on trust but the snapshot and the records themselves.
 *
 * Not here: what makes a bundle (export.ts).
 */
import { POSITION_KEY } from '../../../core/graph/key.ts'
import { FOLD_VERSION } from '../../../core/model/policy.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Entry } from '../../../ports/log.ts'
import { type Codec, CodecError } from '../../../ports/record/codec.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import type { Verifier } from '../../../runtime/http/signature.ts'
import type { OrderSource } from '../audit/refold.ts'
import {
  type BundleFile,
  type Content,
  ContentOf,
  type Contents,
  checkFiles,
  digestOfFile,
  ENVELOPE,
  FILES,
  linesIn,
  readEnvelope,
} from './bundle-file.ts'
import { EvidenceFold } from './evidence-fold.ts'
import { entryIn, type KnownSchemas, LineWriter, schemaLine, valueIn } from './record-line.ts'
import { BeyondReachError, Refusal } from './refusal.ts'
import { type Result, readStatement, type Span, statementOf } from './statement.ts'

export interface VerifyParts {
  readonly codec: Codec
  /** An empty one, to fold into. */
  readonly store: Store
  readonly schemas: KnownSchemas
  readonly verifier: Verifier
}

export interface Proven {
  readonly span: Span
  readonly result: Result
  readonly decisions: number
  readonly history: number
  readonly lineage: number
}

/**
 * Throws `Refusal` for what is not proven, and `BeyondReachError` for what this program cannot
 * judge.
 */
export async function verifyEvidence(
  parts: VerifyParts,
  directory: string,
  signal: AbortSignal,
): Promise<Proven> {
  await checkFiles(directory)
  const opened = parts.verifier.open(await readEnvelope(directory))
  if (opened.type === 'refused') throw new Refusal(`${ENVELOPE}: ${opened.why}`)
  const { span, digests } = readStatement(opened.payload)
  for (const name of FILES) {
    signal.throwIfAborted()
    const digest = await digestOfFile(directory, name)
    if (digest !== digests.get(name)) {
      throw new Refusal(`${name} was changed: its digest is not the one in the statement`)
    }
  }
  if (span.foldVersion !== FOLD_VERSION) {
    throw new BeyondReachError(
      `it was folded by version ${span.foldVersion} of the rules, and this Kinfold has version ${FOLD_VERSION}: verify it with one that has that`,
    )
  }
  return await new Verification(parts, directory, span).run(opened.payload, signal)
}

const WRITE_LIMIT = 1_000

class Verification {
  readonly #parts: VerifyParts
  readonly #directory: string
  readonly #span: Span
  readonly #lines: LineWriter
  readonly #contents = new Map<BundleFile, ContentOf>(FILES.map((name) => [name, new ContentOf()]))

  constructor(parts: VerifyParts, directory: string, span: Span) {
    this.#parts = parts
    this.#directory = directory
    this.#span = span
    this.#lines = new LineWriter(parts.codec, parts.schemas)
  }

  async run(statement: string, signal: AbortSignal): Promise<Proven> {
    const { codec, store } = this.#parts
    await this.#checkSchemas()
    const base = await this.#loadSnapshot()
    if (base !== undefined && base.position > this.#span.from) {
      throw new Refusal('the snapshot is later than the first event that is stated')
    }
    const orders = await this.#orders()
    const fold = new EvidenceFold({ codec, store, orders, lines: this.#lines, base }, this.#span)
    await this.#fold(fold, base?.position ?? 0n, signal)
    for (const line of this.#lines.schemas()) this.#add('schemas.jsonl', line)
    const result = fold.result()
    const contents = this.#content()
    if (statementOf(this.#span, result, contents) !== statement) {
      throw new Refusal(await this.#difference(contents))
    }
    const lines = (name: BundleFile): number => contents[name].lines
    return {
      ...{ span: this.#span, result, decisions: lines('decisions.jsonl') },
      ...{ history: lines('history.jsonl'), lineage: lines('lineage.jsonl') },
    }
  }

  async #fold(fold: EvidenceFold, start: bigint, signal: AbortSignal): Promise<void> {
    let next = start
    for await (const line of linesIn(this.#directory, 'events.jsonl')) {
      signal.throwIfAborted()
      const entry = this.#entry('events.jsonl', line)
      if (entry.offset < next || entry.offset >= this.#span.to) {
        throw new Refusal(`event ${entry.offset} is out of order, or outside of what is stated`)
      }
      next = entry.offset + 1n
      for (const [file, answer] of await this.#folded(fold, entry)) this.#add(file, answer)
    }
  }

  /** The fold ends where a state is impossible, which no log of Kinfold leads to. */
  async #folded(fold: EvidenceFold, entry: Entry): ReturnType<typeof answersOf> {
    try {
      return await answersOf(fold, entry)
    } catch (error) {
      throw new Refusal(`event ${entry.offset} cannot be folded: ${messageOf(error)}`)
    }
  }

  async #checkSchemas(): Promise<void> {
    for await (const line of linesIn(this.#directory, 'schemas.jsonl')) {
      const [, name = '', fingerprint = ''] =
        /^\{"name":"([\w.]+)","fingerprint":"([0-9a-f]{16})",/.exec(line) ?? []
      const known = this.#parts.schemas.get(fingerprint)
      if (name === '') throw new Refusal('schemas.jsonl has a line that is no schema')
      if (known === undefined) {
        throw new BeyondReachError(
          `this Kinfold has no schema ${fingerprint} of ${name}: verify it with the version that made it`,
        )
      }
      if (schemaLine(known) !== line)
        throw new Refusal(`the schema ${fingerprint} is another one here`)
    }
  }

  /** Undefined without one: then the fold begins with nothing. */
  async #loadSnapshot(): Promise<Position | undefined> {
    const { codec, store } = this.#parts
    let base: Position | undefined
    let last = ''
    let changes: StoreChange[] = []
    const write = async (): Promise<void> => {
      await store.write(changes, { changelog: 0n, position: 0n })
      changes = []
    }
    for await (const line of linesIn(this.#directory, 'snapshot.jsonl')) {
      const found = valueIn(line)
      const value = found?.value ?? null
      if (found === undefined || value === null || this.#lines.value(found.key, value) !== line) {
        throw new Refusal('snapshot.jsonl has a line that does not say what its bytes say')
      }
      const { key } = found
      if (key <= last || !/^[!-}]+$/.test(key)) {
        throw new Refusal('snapshot.jsonl has a key that is out of order')
      }
      last = key
      this.#add('snapshot.jsonl', line)
      const record = decoded(codec, value)
      if (key === POSITION_KEY && record?.type === 'Position') base = record
      changes.push([key, value])
      if (changes.length >= WRITE_LIMIT) await write()
    }
    if (last === '') return undefined
    await write()
    const { partition, partitions, foldVersion } = this.#span
    if (base === undefined) throw new Refusal('the snapshot has no position')
    const isOther = base.partition !== partition || base.partitions !== partitions
    if (isOther || base.foldVersion !== foldVersion) {
      throw new Refusal('the snapshot is of another partition, or of other rules')
    }
    return base
  }

  async #orders(): Promise<OrderSource> {
    const entries = new Map<bigint, Entry>()
    let last = -1n
    for await (const line of linesIn(this.#directory, 'orders.jsonl')) {
      const entry = this.#entry('orders.jsonl', line)
      if (entry.offset <= last) throw new Refusal('orders.jsonl is out of order')
      last = entry.offset
      entries.set(entry.offset, entry)
    }
    const { orders } = this.#span
    return {
      bounds: async () => orders,
      read: async (_topic, _partition, from) => {
        const entry = entries.get(from)
        return { entries: entry === undefined ? [] : [entry], next: from + 1n }
      },
    }
  }

  /** That says what its bytes say. */
  #entry(name: BundleFile, line: string): Entry {
    const entry = entryIn(line)
    if (entry === undefined || this.#lines.entry(entry) !== line) {
      throw new Refusal(`${name} has a line that does not say what its bytes say`)
    }
    this.#add(name, line)
    return entry
  }

  #add(name: BundleFile, line: string): void {
    this.#contents.get(name)?.add(line)
  }

  #content(): Contents {
    const found = [...this.#contents].map(([name, of]): [BundleFile, Content] => [
      name,
      of.content(),
    ])
    return Object.fromEntries(found) as unknown as Contents
  }

  /** Of the files that were made again; else it is in the statement alone. */
  async #difference(contents: Contents): Promise<string> {
    for (const name of FILES) {
      if (contents[name].sha256 === (await digestOfFile(this.#directory, name))) continue
      return `${name} is not what follows from the records: the fold makes ${contents[name].lines} other lines`
    }
    return 'the statement says something else of the records than what follows from them'
  }
}

async function answersOf(
  fold: EvidenceFold,
  entry: Entry,
): Promise<readonly (readonly [file: BundleFile, line: string])[]> {
  return (await fold.fold(entry)).answers
}

function decoded(codec: Codec, value: Uint8Array): ReturnType<Codec['decode']> | undefined {
  try {
    return codec.decode(value)
  } catch (error) {
    if (error instanceof CodecError)
      throw new Refusal('snapshot.jsonl has a value without a schema')
    throw error
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
