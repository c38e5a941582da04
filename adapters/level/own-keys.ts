/**
 * The store's own books, under keys that begin with `~`: which store it is, and the number of its
 * last batch.
 *
 * What must stay true: a store that lost a batch, its first one included, does not pass `loadBooks`
 * (X1 to X3).
 */
import type { ClassicLevel } from 'classic-level'
import { type Checkpoint, StoreError } from '../../ports/store.ts'
import { BatchNumbers, batchKey, batchRange } from './batch-number.ts'
import { sealed, unsealed } from './sealed-value.ts'

export type Database = ClassicLevel<string, Uint8Array>
export type Snapshot = ReturnType<Database['snapshot']>

/**
 * Increased when an older program could misread the store; any other number is then wiped and
 * rebuilt.
 */
const FORMAT_VERSION = 1

/** All keys of the store's own are from here on; printable ASCII ends before them. */
export const OWN_KEYS = '~'

const IDENTITY_KEY = '~identity'
const CHECKPOINT_KEY = '~checkpoint'

/** Batch numbers read at a time when a store is opened. */
const PAGE_SIZE = 1_000

export interface Books {
  readonly checkpoint: Checkpoint | undefined
  readonly numbers: BatchNumbers
}

/** Writes the identity into a store that is new. */
export async function startBooks(database: Database, identity: string): Promise<Books> {
  const value = Buffer.from(JSON.stringify({ format: FORMAT_VERSION, identity }))
  await database.put(IDENTITY_KEY, sealed(IDENTITY_KEY, value))
  return { checkpoint: undefined, numbers: new BatchNumbers() }
}

/**
 * Undefined for a store that is new. Throws `DAMAGED` for lost batches, `FORMAT` for a store of
 * another program.
 */
export async function loadBooks(
  database: Database,
  snapshot: Snapshot,
  identity: string,
  directory: string,
): Promise<Books | undefined> {
  const damaged = (what: string) =>
    new StoreError('DAMAGED', `the store in ${directory} ${what}; wipe it and replay the changelog`)

  const isUsed = (await database.keys({ lt: CHECKPOINT_KEY, limit: 1, snapshot }).all()).length > 0
  const identityValue = database.getSync(IDENTITY_KEY, { snapshot })
  const checkpointValue = database.getSync(CHECKPOINT_KEY, { snapshot })
  if (identityValue === undefined) {
    if (isUsed || checkpointValue !== undefined) throw damaged('has lost its identity')
    return undefined
  }
  assertIdentity(unsealed(IDENTITY_KEY, identityValue), identity, directory)
  if (checkpointValue === undefined) {
    if (isUsed) throw damaged('has lost its checkpoint')
    return { checkpoint: undefined, numbers: new BatchNumbers() }
  }
  const { first, last, checkpoint } = decodedCheckpoint(unsealed(CHECKPOINT_KEY, checkpointValue))
  const numbers = await countedBatches(database, snapshot, first)
  if (numbers.next !== last + 1) throw damaged(`has lost batch ${numbers.next}`)
  return { checkpoint, numbers }
}

/** Counts from `first` to the first gap, or to the end. */
async function countedBatches(
  database: Database,
  snapshot: Snapshot,
  first: number,
): Promise<BatchNumbers> {
  const numbers = new BatchNumbers(first)
  await using iterator = database.iterator({ ...batchRange(first), snapshot })
  for (;;) {
    const page = await iterator.nextv(PAGE_SIZE)
    for (const [key, stored] of page) {
      if (key !== batchKey(numbers.next)) return numbers
      numbers.add(Buffer.from(unsealed(key, stored)).readUInt32LE(0))
    }
    if (page.length === 0) return numbers
  }
}

/**
 * The entries of a batch in the books besides its changes; call after `numbers.add` and
 * `numbers.prune`.
 */
export function bookEntries(
  number: number,
  first: number,
  bytes: number,
  checkpoint: Checkpoint,
): readonly (readonly [key: string, stored: Uint8Array])[] {
  const state = Buffer.allocUnsafe(32)
  state.writeBigInt64LE(BigInt(first), 0)
  state.writeBigInt64LE(BigInt(number), 8)
  state.writeBigInt64LE(checkpoint.changelog, 16)
  state.writeBigInt64LE(checkpoint.position, 24)
  const size = Buffer.allocUnsafe(4)
  size.writeUInt32LE(bytes)
  const key = batchKey(number)
  return [
    [CHECKPOINT_KEY, sealed(CHECKPOINT_KEY, state)],
    [key, sealed(key, size)],
  ]
}

function decodedCheckpoint(value: Uint8Array): {
  readonly first: number
  readonly last: number
  readonly checkpoint: Checkpoint
} {
  const state = Buffer.from(value.buffer, value.byteOffset, value.length)
  return {
    first: Number(state.readBigInt64LE(0)),
    last: Number(state.readBigInt64LE(8)),
    checkpoint: { changelog: state.readBigInt64LE(16), position: state.readBigInt64LE(24) },
  }
}

function assertIdentity(value: Uint8Array, identity: string, directory: string): void {
  const found: unknown = JSON.parse(Buffer.from(value).toString())
  const { format, identity: owner } = found as { format: unknown; identity: unknown }
  if (format !== FORMAT_VERSION) {
    throw new StoreError(
      'FORMAT',
      `the store in ${directory} has format ${format}, this program reads ${FORMAT_VERSION}; wipe it and replay the changelog`,
    )
  }
  if (owner !== identity) {
    throw new StoreError(
      'FORMAT',
      `the store in ${directory} belongs to ${owner}, not to ${identity}; correct the directory, or wipe it and replay the changelog`,
    )
  }
}
