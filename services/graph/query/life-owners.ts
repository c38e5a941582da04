/**
 * The lists of owners of a life (span-index.ts), and the chunks of those that are long, under keys
 * of their own: a life that gets another state is written without what it has in common with the
 * former one.
 *
 * What must stay true: a chunk is kept exactly as long as a list of the life names it. One that was
 * never read, since history was trimmed, makes a list that is unknown, and never one with fewer
 * owners.
 *
 * Not here: states (span-index.ts), where a list is cut (fold/chunk.ts).
 */
import type { OwnerReference, Uid } from '../../../core/model/object.ts'
import type { OwnerChunk } from '../../../core/model/state.ts'
import type { Codec } from '../../../ports/codec.ts'
import type { AddedChunk, KnownObject } from '../../../ports/lineage.ts'
import type { Life, OwnerList } from '../../../ports/service-record.ts'

type Lists = Life['owners']
/** Of one life, by the name of the chunk. */
type ReadChunk = (name: string) => Uint8Array | undefined

export const NO_OWNERS: OwnerList = { references: [], chunks: [] }

/** Of which only some are known: no chunk has that name. */
export function unknownList(count: number): OwnerList {
  return { references: [], chunks: [{ name: '', count }] }
}

export function listOf({ owners, long }: Pick<KnownObject, 'owners' | 'long'>): OwnerList {
  return long === null
    ? { references: owners, chunks: [] }
    : { references: [], chunks: long.chunks.map(({ name, count }) => ({ name, count })) }
}

/** What it adds to the bytes of a life, in references. */
export function costOf({ references, chunks }: OwnerList): number {
  return references.length + chunks.length
}

export function isSameList(a: OwnerList, b: OwnerList): boolean {
  return (
    a.references.length === b.references.length &&
    a.chunks.length === b.chunks.length &&
    a.references.every((each, index) => isSameReference(each, b.references[index]!)) &&
    a.chunks.every(({ name }, index) => name === b.chunks[index]!.name)
  )
}

function isSameReference(a: OwnerReference, b: OwnerReference): boolean {
  return (
    a.uid === b.uid &&
    a.controller === b.controller &&
    a.blockOwnerDeletion === b.blockOwnerDeletion &&
    a.name === b.name &&
    a.kind === b.kind &&
    a.apiVersion === b.apiVersion
  )
}

/** Undefined where a part of it was trimmed before it was read. */
export function referencesOf(
  codec: Codec,
  { references, chunks }: OwnerList,
  read: ReadChunk,
): readonly OwnerReference[] | undefined {
  if (chunks.length === 0) return references
  const all: OwnerReference[] = []
  for (const { name } of chunks) {
    const bytes = read(name)
    if (bytes === undefined) return undefined
    all.push(...referencesIn(codec, bytes))
  }
  return all
}

function referencesIn(codec: Codec, bytes: Uint8Array): readonly OwnerReference[] {
  return (codec.decode(bytes) as OwnerChunk).references
}

export function chunkBytes(codec: Codec, { references }: AddedChunk): Uint8Array {
  return codec.encode({ type: 'OwnerChunk', references, places: [], namedAt: [] })
}

/** What a change of a life's lists changes beside it. */
export interface OwnerChanges {
  /**
   * Chunks that a list names now, as far as they came with it, and chunks that none names any more.
   */
  readonly added: readonly AddedChunk[]
  readonly dropped: readonly string[]
  /** Owners in lists and chunks that are new; they may have been in others. */
  readonly owners: ReadonlySet<Uid>
  /** Owners that were in a list or chunk, and are in none. */
  readonly gone: ReadonlySet<Uid>
}

export function ownerChanges(
  codec: Codec,
  [before, after]: readonly [Lists, Lists],
  came: readonly AddedChunk[],
  read: ReadChunk,
): OwnerChanges {
  const [was, is] = [namesIn(before), namesIn(after)]
  const added = came.filter(({ name }) => is.has(name) && !was.has(name))
  const dropped = [...was].filter((name) => !is.has(name))
  const [known, kept] = [uidsIn(before), uidsIn(after)]
  const owners = new Set([...kept].filter((uid) => !known.has(uid)))
  for (const { references } of added) for (const { uid } of references) owners.add(uid)
  const gone = new Set([...known].filter((uid) => !kept.has(uid)))
  for (const name of dropped) {
    const bytes = read(name)
    if (bytes === undefined) continue
    for (const { uid } of referencesIn(codec, bytes)) if (!kept.has(uid)) gone.add(uid)
  }
  for (const { references } of added) for (const { uid } of references) gone.delete(uid)
  removeThoseIn(
    codec,
    gone,
    [...is].flatMap((name) => (was.has(name) ? (read(name) ?? []) : [])),
  )
  return { added, dropped, owners, gone }
}

/**
 * Of so few it is faster to look for each in the bytes; a uid that is part of another text counts
 * as there, until the object is forgotten.
 */
const FEW = 8

function removeThoseIn(codec: Codec, uids: Set<Uid>, chunks: readonly Uint8Array[]): void {
  if (uids.size > FEW) {
    for (const bytes of chunks) {
      for (const { uid } of referencesIn(codec, bytes)) uids.delete(uid)
    }
    return
  }
  const texts = uids.size === 0 ? [] : chunks.map(bufferOf)
  for (const uid of uids) if (texts.some((bytes) => bytes.includes(uid))) uids.delete(uid)
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function namesIn(lists: Lists): Set<string> {
  return new Set(lists.flatMap(({ chunks }) => chunks.map(({ name }) => name)))
}

function uidsIn(lists: Lists): Set<Uid> {
  return new Set(lists.flatMap(({ references }) => references.map(({ uid }) => uid)))
}
