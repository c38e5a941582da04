/**
 * The open file: its transactions, and the heads after each of them.
 *
 * What must stay true: records, heads, positions and root change together or not at all, and the
 * state in memory is the committed state. After a failed write or damage nothing more is written
 * until the file is opened again.
 *
 * Not here: which callers wait for what (log.ts), the full check at open (verify.ts).
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import {
  type Entry,
  LogError,
  type Produced,
  type SavedPosition,
  type Topic,
} from '../../ports/log.ts'
import { columnsSum } from './checksum.ts'
import { damagedFile, failureOf, isLogError } from './failure.ts'
import { type Head, headColumns, headSum, nameOf } from './head.ts'
import { RecordTable } from './record-table.ts'
import { addTraces, FORMAT, hasTraces, type Root, rootSum } from './schema.ts'
import { FOLLOWED, TAIL_BYTES, Tail } from './tail.ts'

export interface FileOptions {
  readonly path: string
  readonly readOnly: boolean
  /** Beyond it the file accepts no writes. */
  readonly maxBytes: number | undefined
  /** Whether it is to have room for traces. */
  readonly traces: boolean
}

/** The operations within one transaction. None may be called after it. */
export interface Transaction {
  head(lane: number): Head
  append(lane: number, records: readonly Produced[]): number
  savePosition(lane: number, reader: string, position: SavedPosition): void
  replaceHead(head: Head): void
}

/** Another program that writes this file for longer than this makes a write `UNAVAILABLE`. */
const BUSY_MS = 1_000
/** Enough for the inner pages of a large file and the ends of all lanes. */
const CACHE_KIB = 4 * 1024
/** A write-ahead log that once grew larger is cut to this when it is reused. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024
/**
 * The write-ahead log is carried over into the file once it has so many pages (16 MiB). Each time
 * costs two waits for the disk in the middle of a write, and a page that was changed ten times
 * since, as the end of every lane is, is carried over once.
 */
const WAL_PAGES = 4_000

/** Records that became their lane's last, the first of them at `offset`. */
interface Appended {
  readonly lane: number
  readonly offset: number
  readonly timestamp: number
  readonly records: readonly Produced[]
}

/** The changes of a transaction besides the file, once it is committed. */
interface Staged {
  readonly heads: Map<number, Head>
  /** In the order of writing. */
  readonly appended: Appended[]
}

export class LogFile {
  readonly path: string
  readonly records: RecordTable
  readonly #db: DatabaseSync
  readonly #readOnly: boolean
  readonly #heads = new Map<number, Head>()
  readonly #lanes = new Map<string, number>()
  readonly #tails = new Map<number, Tail>()
  readonly #selectHead: StatementSync
  readonly #updateHead: StatementSync
  readonly #updateRoot: StatementSync
  readonly #selectPosition: StatementSync
  readonly #upsertPosition: StatementSync
  #root: Root
  #failed: Error | undefined

  constructor({ path, readOnly, maxBytes, traces }: FileOptions) {
    this.path = path
    this.#readOnly = readOnly
    this.#db = openDatabase(path, readOnly)
    try {
      this.#db.exec(pragmas(readOnly, maxBytes))
      // Until `opened`, all that is read of a file that another process writes is of one moment.
      if (readOnly) this.#db.exec('BEGIN')
      this.#root = this.#loadRoot()
      const isTraced = hasTraces(this.#db)
      if (isTraced === undefined)
        throw damagedFile(path, 'its schema is not the one it was made with')
      const isMigrated = !readOnly && traces && !isTraced
      if (isMigrated) addTraces(this.#db)
      this.#selectHead = this.#db.prepare('SELECT * FROM head WHERE lane = ?')
      this.#updateHead = this.#db.prepare(
        'REPLACE INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      )
      this.#updateRoot = this.#db.prepare('UPDATE root SET heads = ?, sum = ?')
      this.#selectPosition = this.#db.prepare(
        'SELECT offset, detail, sum FROM position WHERE lane = ? AND reader = ?',
      )
      this.#upsertPosition = this.#db.prepare('REPLACE INTO position VALUES (?, ?, ?, ?, ?)')
      this.records = new RecordTable(this.#db, path, isTraced || isMigrated)
      this.#loadHeads()
      if (!readOnly) this.#makeTails()
    } catch (error) {
      this.#db.close()
      throw failureOf(error, 'opened', path)
    }
  }

  get partitions(): number {
    return this.#root.partitions
  }

  get heads(): Iterable<Head> {
    return this.#heads.values()
  }

  laneOf(topic: Topic, partition: number): number | undefined {
    return this.#lanes.get(`${topic}/${partition}`)
  }

  /** As last committed; a read-only file asks the file, since another process writes it. */
  head(lane: number): Head {
    const head = this.#readOnly ? this.#storedHead(lane) : this.#heads.get(lane)
    if (head === undefined) throw damagedFile(this.path, `head ${lane} is missing`)
    return head
  }

  /**
   * Entries that this process wrote of late, from `from` on; undefined when they have to be read.
   */
  recent(lane: number, from: bigint, limit: number): readonly Entry[] | undefined {
    return this.#tails.get(lane)?.read(from, limit)
  }

  /** All that `body` reads is of one moment. */
  read<T>(body: () => T): T {
    const own = this.#readOnly && !this.#db.isTransaction
    try {
      if (own) this.#db.exec('BEGIN')
      return body()
    } catch (error) {
      const failure = failureOf(error, 'read', this.path)
      if (isLogError(failure, 'DAMAGED')) this.#failed ??= failure
      throw failure
    } finally {
      if (own && this.#db.isTransaction) this.#db.exec('COMMIT')
    }
  }

  write<T>(now: number, body: (transaction: Transaction) => T): T {
    if (this.#failed !== undefined) throw this.#failed
    const staged: Staged = { heads: new Map(), appended: [] }
    try {
      this.#db.exec('BEGIN IMMEDIATE')
      const result = body(this.#transaction(staged, now))
      const root = this.#storeHeads(staged.heads)
      this.#db.exec('COMMIT')
      for (const [lane, head] of staged.heads) this.#heads.set(lane, head)
      for (const { lane, offset, timestamp, records } of staged.appended) {
        this.#tails.get(lane)?.append(offset, timestamp, records)
      }
      this.#root = root
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      const failure = failureOf(error, 'written', this.path)
      if (!isLogError(failure, 'UNAVAILABLE')) this.#failed = failure
      throw failure
    }
  }

  position(lane: number, reader: string): SavedPosition | undefined {
    const row = this.#selectPosition.get(lane, reader)
    if (row === undefined) return undefined
    const [offset, detail] = [Number(row['offset']), String(row['detail'])]
    if (columnsSum([lane, reader, offset, detail]) !== row['sum']) {
      const name = nameOf(this.head(lane))
      throw damagedFile(this.path, `the position of ${reader} in ${name} does not fit its checksum`)
    }
    return { offset: BigInt(offset), detail }
  }

  /** The full check is over. */
  opened(): void {
    if (this.#db.isTransaction) this.#db.exec('COMMIT')
  }

  /** For the full check at open. */
  get database(): DatabaseSync {
    return this.#db
  }

  close(): void {
    this.#db.close()
  }

  #transaction({ heads: staged, appended }: Staged, now: number): Transaction {
    const head = (lane: number): Head => staged.get(lane) ?? this.head(lane)
    return {
      head,
      append: (lane, records) => {
        const before = head(lane)
        const after = this.records.append(before, records, now)
        const offset = before.next
        staged.set(lane, after)
        appended.push({ lane, offset, timestamp: after.timestamp, records })
        return offset
      },
      savePosition: (lane, reader, { offset, detail }) => {
        const before = head(lane)
        const old = this.#selectPosition.get(lane, reader)
        const sum = columnsSum([lane, reader, Number(offset), detail])
        this.#upsertPosition.run(lane, reader, Number(offset), detail, sum)
        const positions = (before.positions ^ Number(old?.['sum'] ?? 0) ^ sum) >>> 0
        staged.set(lane, { ...before, positions })
      },
      replaceHead: (changed) => staged.set(changed.lane, changed),
    }
  }

  #storeHeads(staged: ReadonlyMap<number, Head>): Root {
    if (staged.size === 0) return this.#root
    let { heads } = this.#root
    for (const [lane, head] of staged) {
      const sum = headSum(head)
      heads = (heads ^ headSum(this.head(lane)) ^ sum) >>> 0
      this.#updateHead.run(...headColumns(head), sum)
    }
    const root = { ...this.#root, heads }
    this.#updateRoot.run(heads, rootSum(root))
    return root
  }

  #loadRoot(): Root {
    const row = this.#db.prepare('SELECT * FROM root WHERE id = 1').get()
    if (row === undefined) throw damagedFile(this.path, 'its root is missing')
    const format = Number(row['format'])
    const root = { format, partitions: Number(row['partitions']), heads: Number(row['heads']) }
    if (rootSum(root) !== row['sum']) throw damagedFile(this.path, 'its root does not fit its sum')
    if (format === FORMAT) return root
    const message = `The log ${this.path} has format ${format} and this version reads ${FORMAT}: use the version that wrote it`
    throw new LogError('FORMAT', message)
  }

  #loadHeads(): void {
    let sums = 0
    for (const { lane } of this.#db.prepare('SELECT lane FROM head').all()) {
      const head = this.#storedHead(Number(lane))
      this.#heads.set(head.lane, head)
      this.#lanes.set(`${head.topic}/${head.partition}`, head.lane)
      sums = (sums ^ headSum(head)) >>> 0
    }
    if (sums !== this.#root.heads) throw damagedFile(this.path, 'its heads do not fit its root')
  }

  #makeTails(): void {
    const followed = [...this.#heads.values()].filter(({ topic }) => FOLLOWED.has(topic))
    const maxBytes = TAIL_BYTES / followed.length
    for (const { lane } of followed) this.#tails.set(lane, new Tail(maxBytes))
  }

  #storedHead(lane: number): Head {
    const row = this.#selectHead.get(lane)
    if (row === undefined) throw damagedFile(this.path, `head ${lane} is missing`)
    const { sum, ...head } = row
    if (headSum(head as unknown as Head) !== sum) {
      throw damagedFile(this.path, `head ${lane} does not fit its checksum`)
    }
    return head as unknown as Head
  }
}

function openDatabase(path: string, readOnly: boolean): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly, timeout: BUSY_MS })
  } catch (error) {
    throw failureOf(error, 'opened', path)
  }
}

function pragmas(readOnly: boolean, maxBytes: number | undefined): string {
  const common = `PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -${CACHE_KIB};`
  if (readOnly) return common
  const bound =
    maxBytes === undefined ? '' : `PRAGMA max_page_count = ${Math.ceil(maxBytes / 4096)};`
  return `${common} PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}; PRAGMA wal_autocheckpoint = ${WAL_PAGES}; ${bound}`
}
