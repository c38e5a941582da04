/**
 * Nodes with many owner references as they are on the changelog and in stores: the node without
 * them, and chunks of them under keys of their own, so that a change of one reference, or of none,
 * writes one chunk, or none.
 *
 * What must stay true: what is read is what was written; a node and its chunks are written in one
 * commit, and no chunk is left that no node names. A chunk's name is never given again for its
 * object, whatever it holds: readers of history keep chunks by their names. Names follow from the
 * state and the record alone. A node with few references is written as it is.
 *
 * Not here: where a list is cut (chunk.ts), how history has the same chunks (known-object.ts).
 */
import { ownerChunkKey } from '../../../../core/graph/key.ts'
import { LONG_LIST } from '../../../../core/model/constant.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { EdgePlace, Node } from '../../../../core/model/node.ts'
import type { OwnerReference } from '../../../../core/model/object.ts'
import type { OwnerChunk, StateValue } from '../../../../core/model/state.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { ChunkName, LongOwners } from '../../../../ports/record/lineage.ts'
import { editsOf } from '../../../../ports/record/list-edit.ts'
import type { LongNode } from '../../../../ports/record/service-record.ts'
import type { StoreChange } from '../../../../ports/store.ts'
import { cutsOf } from './chunk.ts'

type Read = (key: string) => Uint8Array | undefined

/**
 * Of nodes that were read or written, where they have any: by the list that they belong to, which
 * never changes.
 */
const chunksOf = new WeakMap<readonly OwnerReference[], readonly ChunkName[]>()

/** All but the references, and what belongs to each, of the node that bytes are. */
export function headOf(codec: Codec, bytes: Uint8Array): LongNode['node'] {
  const value = codec.decode(bytes) as Node | LongNode
  return value.type === 'LongNode' ? value.node : value
}

/**
 * Of a chunk, which is no value of the fold. In the order of keys all chunks are behind all nodes.
 */
export function isChunkKey(key: string): boolean {
  return key.startsWith(CHUNKS)
}

const CHUNKS = 'owners/'

const NO_CHUNKS: readonly ChunkName[] = []

/** The value that the bytes under a key of the state are; `read` reads its other keys. */
export function stateValueOf(codec: Codec, key: string, bytes: Uint8Array, read: Read): StateValue {
  const value = valueInPart(codec, key, bytes, read)
  invariant(value !== undefined, 'a node names a chunk of owner references that is not there')
  return value
}

/**
 * The same of a state that may lack a part of a commit, as while it is restored. Undefined for a
 * node of which not all is there.
 */
export function valueInPart(
  codec: Codec,
  key: string,
  bytes: Uint8Array,
  read: Read,
): StateValue | undefined {
  const value = codec.decode(bytes) as StateValue | LongNode
  return value.type === 'LongNode' ? wholeNode(codec, key, value, read) : value
}

function wholeNode(
  codec: Codec,
  key: string,
  { node, chunks }: LongNode,
  read: Read,
): Node | undefined {
  const references: OwnerReference[] = []
  const places: (EdgePlace | null)[] = []
  const namedAt: number[] = []
  for (const { name } of chunks) {
    const bytes = read(ownerChunkKey(key, name))
    if (bytes === undefined) return undefined
    const chunk = codec.decode(bytes) as OwnerChunk
    references.push(...chunk.references)
    places.push(...chunk.places)
    namedAt.push(...chunk.namedAt)
  }
  chunksOf.set(references, chunks)
  const object = { ...node.object, ownerReferences: references }
  return { ...node, type: 'Node', object, places, namedAt }
}

/**
 * The chunks of a node that is in the state, or was before the record; none where its list is not
 * long.
 */
export function chunkNames(node: Node | undefined): readonly ChunkName[] {
  return (node && chunksOf.get(node.object.ownerReferences)) ?? NO_CHUNKS
}

/** As history has the list of a node that was written; null where it is not long. */
export function longOwners(before: Node | undefined, after: Node): LongOwners | null {
  const chunks = chunkNames(after)
  if (chunks.length === 0) return null
  const known = new Set(chunkNames(before).map(({ name }) => name))
  let at = 0
  const added = chunks.flatMap(({ name, count }) => {
    const references = after.object.ownerReferences.slice(at, at + count)
    at += count
    return known.has(name) ? [] : [{ name, references }]
  })
  return { chunks, added }
}

/**
 * What a change of a node puts under which keys; `before` is what the state had. `position` is that
 * of the record.
 */
export function nodeChanges(
  codec: Codec,
  key: string,
  [before, after]: readonly [before: Node | undefined, after: Node | null],
  position: bigint,
): StoreChange[] {
  const former = chunkNames(before)
  const isLong = after !== null && after.object.ownerReferences.length > LONG_LIST
  if (!isLong) {
    const head: StoreChange = [key, after === null ? null : codec.encode(after)]
    if (former.length === 0) return [head]
    return [head, ...former.map(({ name }): StoreChange => [ownerChunkKey(key, name), null])]
  }
  const chunks = chunksAfter(before, after, position)
  const object = { ...after.object, ownerReferences: [] }
  const { type: _, ...node } = { ...after, object, places: [], namedAt: [] }
  const head = codec.encode({ type: 'LongNode', node, chunks })
  return [[key, head], ...chunkChanges(codec, key, [before, after])]
}

function chunksAfter(
  before: Node | undefined,
  after: Node,
  position: bigint,
): readonly ChunkName[] {
  const list = after.object.ownerReferences
  const known = chunksOf.get(list)
  if (known !== undefined) return known
  const former = before?.object.ownerReferences ?? []
  const names = chunkNames(before)
  const edits = editsOf(list, list.map(textOf), former.map(textOf))
  const counts = names.map(({ count }) => count)
  const cuts = cutsOf(edits, counts)
  const chunks = cuts.map(({ of, from, to }, index): ChunkName => {
    return names[of] ?? { name: `${position.toString(36)}.${index}`, count: to - from }
  })
  chunksOf.set(list, chunks)
  return chunks
}

function textOf(reference: OwnerReference): string {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])
}

/** Those that are new, or say something else of their references, and those that are no more. */
function chunkChanges(
  codec: Codec,
  key: string,
  [before, after]: readonly [before: Node | undefined, after: Node],
): StoreChange[] {
  const formerAt = new Map<string, number>()
  let at = 0
  for (const { name, count } of chunkNames(before)) {
    formerAt.set(name, at)
    at += count
  }
  const changes = new Map<string, Uint8Array | null>()
  const named = new Set<string>()
  at = 0
  for (const { name, count } of chunkNames(after)) {
    const from = formerAt.get(name)
    const isSame =
      before !== undefined && from !== undefined && isAlike([before, from], [after, at], count)
    // A list may have a chunk twice: of equal references a node says the same.
    if (!isSame && !named.has(name)) {
      changes.set(ownerChunkKey(key, name), codec.encode(chunkAt(after, at, at + count)))
    }
    named.add(name)
    at += count
  }
  for (const name of formerAt.keys()) {
    if (!named.has(name)) changes.set(ownerChunkKey(key, name), null)
  }
  return [...changes]
}

function chunkAt({ object, places, namedAt }: Node, from: number, to: number): OwnerChunk {
  return {
    type: 'OwnerChunk',
    references: object.ownerReferences.slice(from, to),
    places: places.slice(from, to),
    namedAt: namedAt.slice(from, to),
  }
}

/** Whether both say the same of so many references, which are the same. */
function isAlike(
  [a, atA]: readonly [Node, number],
  [b, atB]: readonly [Node, number],
  count: number,
): boolean {
  if (a.places === b.places && a.namedAt === b.namedAt && atA === atB) return true
  for (let index = 0; index < count; index++) {
    const [was, is] = [a.places[atA + index], b.places[atB + index]]
    if (was?.kind !== is?.kind || was?.namespace !== is?.namespace) return false
    if ((was === null) !== (is === null)) return false
    if (a.namedAt[atA + index] !== b.namedAt[atB + index]) return false
  }
  return true
}
