/**
 * The tables of log.sqlite, and the creation of a new file.
 *
 * What must stay true: a file appears under its name only once it is complete, so an empty or cut
 * one is damage, never a fresh start; and its schema is letter by letter the one below, with the
 * column for traces or, where none was ever written, without.
 *
 * Auditors: read the view `entry` with any SQLite client, also while the log is in use.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SINGLE_PARTITION, TOPICS } from '../../ports/log.ts'
import { columnsSum } from './checksum.ts'
import { emptyHead, type Head, headColumns, headSum } from './head.ts'

export const FORMAT = 1

const TABLES: Readonly<Record<string, string>> = {
  root: `CREATE TABLE root (
  id INTEGER PRIMARY KEY, format INTEGER NOT NULL, partitions INTEGER NOT NULL,
  heads INTEGER NOT NULL, sum INTEGER NOT NULL
) STRICT`,
  head: `CREATE TABLE head (
  lane INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL,
  start INTEGER NOT NULL, next INTEGER NOT NULL, timestamp INTEGER NOT NULL,
  base INTEGER NOT NULL, last INTEGER NOT NULL, records INTEGER NOT NULL, kept INTEGER NOT NULL,
  positions INTEGER NOT NULL, sum INTEGER NOT NULL
) STRICT`,
  record: `CREATE TABLE record (
  id INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL, key TEXT NOT NULL, value BLOB,
  prev INTEGER NOT NULL, sum INTEGER NOT NULL
) STRICT`,
  position: `CREATE TABLE position (
  lane INTEGER NOT NULL, reader TEXT NOT NULL, offset INTEGER NOT NULL, detail TEXT NOT NULL,
  sum INTEGER NOT NULL, PRIMARY KEY (lane, reader)
) STRICT, WITHOUT ROWID`,
  entry: `CREATE VIEW entry AS
SELECT head.topic, head.partition, record.id & 17592186044415 AS offset,
  strftime('%Y-%m-%dT%H:%M:%fZ', record.timestamp / 1000.0, 'unixepoch') AS time,
  record.key, length(record.value) AS length, record.value
FROM record JOIN head ON head.lane = record.id >> 44
WHERE record.id & 17592186044415 >= head.start`,
}

/** Not covered by the sums: a log without it, or with another text in it, is the same log. */
const ADD_TRACES = 'ALTER TABLE record ADD COLUMN trace TEXT'
/** As SQLite writes the table down after that. */
const TRACED_RECORD = TABLES['record']?.replace(/\) STRICT$/, ', trace TEXT) STRICT')

export function createFile(path: string, partitions: number): void {
  const unfinished = `${path}.new`
  for (const suffix of ['', '-journal']) rmSync(unfinished + suffix, { force: true })
  closeSync(openSync(unfinished, 'ax', 0o600))
  const db = new DatabaseSync(unfinished)
  try {
    db.exec('PRAGMA synchronous = FULL; BEGIN')
    for (const sql of Object.values(TABLES)) db.exec(sql)
    insertHeads(db, partitions)
    db.exec('COMMIT')
  } finally {
    db.close()
  }
  renameSync(unfinished, path)
  syncDirectory(dirname(path))
}

/**
 * Whether its records have a column for traces; undefined if the file has not exactly the tables
 * this version knows.
 */
export function hasTraces(db: DatabaseSync): boolean | undefined {
  const rows = db.prepare('SELECT name, sql FROM sqlite_schema').all()
  const found = new Map(rows.map((row) => [row['name'], row['sql']]))
  const isTraced = found.get('record') === TRACED_RECORD
  const names = Object.keys(TABLES)
  const isOurs = names.every((name) => {
    return found.get(name) === TABLES[name] || (name === 'record' && isTraced)
  })
  return isOurs && found.size === names.length ? isTraced : undefined
}

/** Permanent: an older version no longer opens the file. */
export function addTraces(db: DatabaseSync): void {
  db.exec(ADD_TRACES)
}

/** The root row: the file's format, its shape, and the exclusive or of the sums of all heads. */
export interface Root {
  readonly format: number
  readonly partitions: number
  readonly heads: number
}

export function rootSum({ format, partitions, heads }: Root): number {
  return columnsSum([format, partitions, heads])
}

function insertHeads(db: DatabaseSync, partitions: number): void {
  const insert = db.prepare('INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  let sums = 0
  for (const head of newHeads(partitions)) {
    insert.run(...headColumns(head), headSum(head))
    sums = (sums ^ headSum(head)) >>> 0
  }
  const root = { format: FORMAT, partitions, heads: sums }
  db.prepare('INSERT INTO root VALUES (1, ?, ?, ?, ?)').run(FORMAT, partitions, sums, rootSum(root))
}

function newHeads(partitions: number): Head[] {
  const places = TOPICS.flatMap((topic) => {
    const count = SINGLE_PARTITION.has(topic) ? 1 : partitions
    return Array.from({ length: count }, (_, partition) => ({ topic, partition }))
  })
  return places.map(({ topic, partition }, lane) => emptyHead(lane, topic, partition))
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
