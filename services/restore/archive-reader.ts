/**
 * Reads the archive: first what it has, which costs little, then the bodies of what was chosen.
 *
 * What must stay true: an object counts only with all of its pieces, unharmed, and its body is that
 * of the object that the head names. It writes nothing.
 *
 * Not here: which of several records counts, and which does not (trusted-record.ts), what is made
 * of it (restore-plan.ts), which log it is (the caller's).
 */
import { createHash } from 'node:crypto'
import type { ClusterId, Uid } from '../../core/model/object.ts'
import { ownerElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { NamedResource } from '../../ports/cluster.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { CodecError } from '../../ports/record/codec.ts'
import type { Archived, ArchiveGap } from '../../ports/record/service-record.ts'
import type { ArchiveKey } from '../../runtime/archive/archive-key.ts'
import { openedPieces } from '../../runtime/archive/archive-record.ts'
import { isObject, type JsonObject, parseObject } from '../../runtime/exact-json.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { type ArchiveKeys, type Counted, type Trust, TrustedRecords } from './trusted-record.ts'

/** An object in the archive, without its body. */
export interface ArchivedObject extends Omit<Archived, 'chunk' | 'last' | 'piece'> {
  readonly partition: number
  /** Of its first piece. */
  readonly offset: bigint
}

/** Where it was. */
export function placeOf(object: ArchivedObject): NamedResource {
  const { group, kind, version, resource, namespace, name } = object
  const scope = namespace === '' ? 'Cluster' : 'Namespaced'
  return { group, kind, version, resource, scope, namespace, name }
}

export interface ArchiveIndex extends Counted<ArchivedObject> {
  /** Clusters that have something in the archive. */
  readonly clusters: ReadonlySet<ClusterId>
  /** By cluster of owners: those with objects that name one there by `kinfold.io/owner`. */
  readonly namers: ReadonlyMap<ClusterId, ReadonlySet<ClusterId>>
  /** Records that could not be read, or have not all of their pieces. */
  readonly incomplete: number
  /** By namespace: what is known not to have been archived. */
  readonly gaps: ReadonlyMap<string, ArchiveGap>
}

/** Pieces have up to 512 KiB, so a page has 16 MiB at most. */
const PAGE = 32

export interface ArchiveRequest {
  readonly cluster: ClusterId
  readonly trust: Trust
}

/** Of each object of a cluster the record that counts. */
export async function indexArchive(
  log: Log,
  codec: Codec,
  { cluster, trust }: ArchiveRequest,
  signal: AbortSignal,
): Promise<ArchiveIndex> {
  const records = new TrustedRecords<ArchivedObject>(trust)
  const clusters = new Set<ClusterId>()
  const namers = new Map<ClusterId, Set<ClusterId>>()
  const gaps = new Map<string, ArchiveGap>()
  let incomplete = 0
  for (let partition = 0; partition < log.partitions('archive'); partition++) {
    const open = new Map<string, Assembly>()
    for await (const { record, offset } of recordsOf(log, codec, partition, 0n, signal)) {
      if (record === undefined) {
        incomplete++
        continue
      }
      clusters.add(record.cluster)
      if (record.type === 'Archived') noteNamer(namers, record)
      if (record.cluster !== cluster) continue
      if (record.type === 'ArchiveGap') {
        gaps.set(record.namespace, joined(gaps.get(record.namespace), record))
        continue
      }
      const whole = assemble(open, record, offset)
      if (whole === 'broken') incomplete++
      else if (whole !== undefined) records.add({ ...whole.head, partition }, whole.bytes)
    }
    incomplete += open
      .values()
      .filter(({ isWhole }) => !isWhole)
      .toArray().length
  }
  return { ...records.counted(), clusters, namers, incomplete, gaps }
}

function noteNamer(
  namers: Map<ClusterId, Set<ClusterId>>,
  { cluster, ownerElsewhere: text }: Archived,
): void {
  const owner = text === '' ? null : ownerElsewhere(text)
  if (owner === null || owner.cluster === cluster) return
  const known = namers.get(owner.cluster)
  if (known === undefined) namers.set(owner.cluster, new Set([cluster]))
  else known.add(cluster)
}

function joined(known: ArchiveGap | undefined, gap: ArchiveGap): ArchiveGap {
  if (known === undefined) return gap
  const [from, to] = [Math.min(known.from, gap.from), Math.max(known.to, gap.to)]
  return { ...gap, from, to, count: known.count + gap.count }
}

/** For people: of the namespaces that are asked about; empty: no gap of them is known. */
export function gapsText(
  gaps: ReadonlyMap<string, ArchiveGap>,
  namespaces: ReadonlySet<string>,
): string {
  const known = [...namespaces].flatMap((namespace) => gaps.get(namespace) ?? [])
  return known
    .map(({ namespace, from, to, count }) => {
      const whose = namespace === '' ? 'cluster-scoped objects' : `namespace ${namespace}`
      const [first, last] = [new Date(from).toISOString(), new Date(to).toISOString()]
      return `of ${whose} ${count} or more deletions by others were not archived from ${first} to ${last}, since it had its share of the disk`
    })
    .join('; ')
}

/** Throws `ExitError` when one of them is encrypted and its key is not there. */
export function checkKeys(chosen: Iterable<ArchivedObject>, keys: ArchiveKeys): void {
  for (const object of chosen) if (object.keyId !== '') keyFor(object, keys)
}

/** The objects as they were, by uid. */
export async function readBodies(
  log: Log,
  codec: Codec,
  chosen: Iterable<ArchivedObject>,
  keys: ArchiveKeys,
  signal: AbortSignal,
): Promise<ReadonlyMap<Uid, JsonObject>> {
  const wanted = Map.groupBy(chosen, ({ partition }) => partition)
  const bodies = new Map<Uid, JsonObject>()
  for (const [partition, objects] of wanted) {
    const open = new Map<string, Assembly>()
    const left = new Map(objects.map((object) => [object.uid, object]))
    const first = objects.reduce(
      (least, { offset }) => (offset < least ? offset : least),
      objects[0]!.offset,
    )
    for await (const { record, offset } of recordsOf(log, codec, partition, first, signal)) {
      if (record?.type !== 'Archived') continue
      const object = left.get(record.uid)
      if (object === undefined || !isSame(object, record)) continue
      const whole = assemble(open, record, offset)
      if (whole === undefined || whole === 'broken') continue
      if (whole.head.offset !== object.offset) continue
      bodies.set(object.uid, bodyOf(object, whole.bytes, keys))
      left.delete(object.uid)
      if (left.size === 0) break
    }
  }
  return bodies
}

/** Pieces that came so far of one record. */
interface Assembly {
  readonly head: Omit<ArchivedObject, 'partition'>
  readonly pieces: Uint8Array[]
  /** It was taken, and its pieces are given up: whatever comes of it again was there before. */
  isWhole: boolean
}

interface Whole {
  readonly head: Omit<ArchivedObject, 'partition'>
  readonly bytes: Uint8Array
}

/**
 * Undefined while pieces are missing. Two reapers may write of one object at the same time, and a
 * piece may be there twice.
 */
function assemble(
  open: Map<string, Assembly>,
  record: Archived,
  offset: bigint,
): Whole | 'broken' | undefined {
  const { chunk, last, piece, ...head } = record
  const name = JSON.stringify([head.uid, head.digest, head.at, head.command])
  let assembly = open.get(name)
  if (chunk === 0 && (assembly === undefined || assembly.pieces.length > 1)) {
    assembly = { head: { ...head, offset }, pieces: [], isWhole: false }
    open.set(name, assembly)
  }
  if (assembly === undefined) return last ? 'broken' : undefined
  if (chunk < assembly.pieces.length) return undefined
  if (chunk > assembly.pieces.length) {
    open.delete(name)
    return last ? 'broken' : undefined
  }
  assembly.pieces.push(piece)
  if (!last) return undefined
  const bytes = Buffer.concat(assembly.pieces)
  assembly.isWhole = true
  assembly.pieces.fill(NOTHING)
  if (chunk === 0) open.delete(name)
  const digest = createHash('sha256').update(bytes).digest('hex')
  return digest === head.digest ? { head: assembly.head, bytes } : 'broken'
}

const NOTHING = new Uint8Array()

function isSame(object: ArchivedObject, record: Archived): boolean {
  const { cluster, uid, digest, at, command } = record
  return (
    object.cluster === cluster &&
    object.uid === uid &&
    object.digest === digest &&
    object.at === at &&
    object.command === command
  )
}

function bodyOf(object: ArchivedObject, bytes: Uint8Array, keys: ArchiveKeys): JsonObject {
  const body = parseObject(Buffer.from(opened(object, bytes, keys)).toString())
  if (body !== undefined && isOf(object, body)) return body
  const what = body === undefined ? 'it is no object' : 'its content is of another object'
  const name = `${object.kind}/${object.name}`
  throw new ExitError(EXIT.failure, `${name} cannot be read from the archive: ${what}`)
}

/** What is created is the body, and what was planned and shown is the head. */
function isOf({ group, kind, namespace, name, uid }: ArchivedObject, body: JsonObject): boolean {
  const { apiVersion, kind: bodyKind, metadata } = body
  if (typeof apiVersion !== 'string' || !isObject(metadata)) return false
  const slash = apiVersion.indexOf('/')
  return (
    group === (slash < 0 ? '' : apiVersion.slice(0, slash)) &&
    kind === bodyKind &&
    name === metadata['name'] &&
    namespace === (metadata['namespace'] ?? '') &&
    uid === metadata['uid']
  )
}

function opened(object: ArchivedObject, bytes: Uint8Array, keys: ArchiveKeys): Uint8Array {
  if (object.keyId === '') return bytes
  const plain = openedPieces(object, bytes, keyFor(object, keys))
  if (plain !== undefined) return plain
  const which = encryptedWith(object)
  throw new ExitError(EXIT.failure, `${which} and was changed since: it cannot be restored`)
}

function keyFor(object: ArchivedObject, keys: ArchiveKeys): ArchiveKey {
  const key = keys.get(object.keyId)
  if (key !== undefined) return key
  const given = keys.size === 0 ? '' : `, not with ${[...keys.keys()].join(' or ')}`
  const which = encryptedWith(object)
  throw new ExitError(
    EXIT.input,
    `${which}${given}: name the file of that key with --archive-key-file`,
  )
}

function encryptedWith({ kind, name, keyId }: ArchivedObject): string {
  return `${kind}/${name} is encrypted with the key ${keyId}`
}

interface Read {
  /** Undefined: it cannot be read. */
  readonly record: Archived | ArchiveGap | undefined
  readonly offset: bigint
}

async function* recordsOf(
  log: Log,
  codec: Codec,
  partition: number,
  from: bigint,
  signal: AbortSignal,
): AsyncIterable<Read> {
  const { start, end } = await log.bounds('archive', partition)
  for (let next = from < start ? start : from; next < end; ) {
    const page = await log.read('archive', partition, next, { limit: PAGE, waitMs: 0 }, signal)
    for (const { offset, value } of page.entries) {
      yield { record: value === null ? undefined : recordIn(codec, value), offset }
    }
    if (page.next === next) return
    next = page.next
  }
}

function recordIn(codec: Codec, value: Uint8Array): Archived | ArchiveGap | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'Archived' || record.type === 'ArchiveGap' ? record : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
