/**
 * The lists of owners of a life (span-index.ts), and the chunks of those that are long, under keys
 * of their own: a life that gets another state is written without what it has in common with the
 * former one.
 *
 * What must stay true: a chunk is kept exactly as long as a list of the life names it. One that was
 * never read, since history was trimmed, makes a list that is unknown, and never one with fewer
 * owners.
 *
 * Not here: states (span-index.ts), where a list is cut (fold/bytes/chunk.ts).
 */
import type { OwnerReference, Uid } from '../../../../core/model/object.ts'
import type { OwnerChunk } from '../../../../core/model/state.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { AddedChunk, KnownObject } from '../../../../ports/record/lineage.ts'
import type { Life, OwnerList } from '../../../../ports/record/service-record.ts'

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
  /** To the owners in lists and chunks that are new; they may have been in others. */
  readonly edges: ReadonlySet<string>
  /** To owners that were in a list or chunk, and are in none. */
  readonly gone: ReadonlySet<string>
}

export type Listed = Pick<Life, 'owners' | 'namespace'>

export interface OwnerParts {
  readonly codec: Codec
  /** The key of the edge to an owner, from an object in that namespace. */
  readonly edgeOf: (namespace: string, reference: OwnerReference) => string
  readonly read: ReadChunk
}

export function ownerChanges(
  parts: OwnerParts,
  [before, after]: readonly [Listed, Listed],
  came: readonly AddedChunk[],
): OwnerChanges {
  const { codec, read } = parts
  const [was, is] = [namesIn(before.owners), namesIn(after.owners)]
  const added = came.filter(({ name }) => is.has(name) && !was.has(name))
  const dropped = [...was].filter((name) => !is.has(name))
  // From another namespace every edge is another one.
  const isMoved = before.namespace !== after.namespace
  const left = isMoved ? [...was] : dropped
  const stays = [...is].filter((name) => was.has(name))
  const known = new Map<string, Uid>()
  const edges = new Set<string>()
  for (const { references } of before.owners) addEdges(parts, before.namespace, references, known)
  const short = new Map(known)
  for (const name of left) {
    addEdges(parts, before.namespace, referencesAt(codec, read(name)), known)
  }
  const now = new Map<string, Uid>()
  for (const { references } of after.owners) addEdges(parts, after.namespace, references, now)
  for (const { references } of added) addEdges(parts, after.namespace, references, now)
  if (isMoved) {
    for (const name of stays) {
      addEdges(parts, after.namespace, referencesAt(codec, read(name)), now)
    }
  }
  for (const edge of now.keys()) if (isMoved || !short.has(edge)) edges.add(edge)
  for (const edge of now.keys()) known.delete(edge)
  if (!isMoved) removeThoseIn(parts, after.namespace, known, stays)
  return { added, dropped, edges, gone: new Set(known.keys()) }
}

function addEdges(
  { edgeOf }: OwnerParts,
  namespace: string,
  references: readonly OwnerReference[],
  edges: Map<string, Uid>,
): void {
  for (const each of references) edges.set(edgeOf(namespace, each), each.uid)
}

/** Of these edges, those that a chunk still has. Few are asked for mostly, so bytes are searched. */
function removeThoseIn(
  parts: OwnerParts,
  namespace: string,
  edges: Map<string, Uid>,
  chunks: readonly string[],
): void {
  if (edges.size === 0) return
  const uids = new Set(edges.values())
  for (const name of chunks) {
    const bytes = parts.read(name)
    if (bytes === undefined) continue
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    if (uids.size <= FEW && ![...uids].some((uid) => text.includes(uid))) continue
    for (const each of referencesAt(parts.codec, bytes)) edges.delete(parts.edgeOf(namespace, each))
  }
}

const FEW = 8

function referencesAt(codec: Codec, bytes: Uint8Array | undefined): readonly OwnerReference[] {
  return bytes === undefined ? [] : referencesIn(codec, bytes)
}

function namesIn(lists: Lists): Set<string> {
  return new Set(lists.flatMap(({ chunks }) => chunks.map(({ name }) => name)))
}
