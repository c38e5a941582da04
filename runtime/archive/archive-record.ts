/**
 * The records that an object is archived in: encrypted where there is a key, and in pieces that
 * every log takes.
 *
 * What must stay true: identity, owners and times are in the clear; the content of an encrypted
 * object is in no record. All of a record's head is authenticated with its content: who may write
 * the topic, but does not have the key, can neither change a field of it nor combine two records.
 *
 * Not here: which objects, and when (services/reaper/archive.ts,
 * services/watcher/publish/deletion-archive.ts), what is made of them (services/restore).
 */
import { createHash } from 'node:crypto'
import { OWNER_ELSEWHERE, ownerElsewhereText } from '../../ports/record/owner-elsewhere.ts'
import type { Archived } from '../../ports/record/service-record.ts'
import { isObject, parseObject } from '../exact-json.ts'
import type { ArchiveKey } from './archive-key.ts'
import type { ArchiveRoom } from './archive-room.ts'

export interface ArchiveSettings {
  /**
   * Of Secrets too the whole object; else their metadata, without annotations: those may contain
   * the Secret's data.
   */
  readonly secrets: boolean
  /** Undefined: as they are. */
  readonly key: ArchiveKey | undefined
  /** Undefined: the log is on brokers, whose disks are theirs to bound. */
  readonly room?: ArchiveRoom | undefined
}

export type ArchivedAbout = Omit<ArchivedHead, 'ownerElsewhere'>

export type ArchivedHead = Omit<
  Archived,
  'type' | 'keyId' | 'nonce' | 'digest' | 'chunk' | 'last' | 'piece'
>

/** Bytes of one piece: with its envelope a record stays far below its limit. */
const PIECE_BYTES = 512 * 1024
/**
 * No API server stores an object of this size; a server that answers so is not to be trusted with
 * the log.
 */
export const MAX_OBJECT_BYTES: number = 16 * 1024 * 1024

/** What the content is bound to. */
type Head = ArchivedHead & Pick<Archived, 'keyId'>

/**
 * To be appended in their order, all under the same key. A piece that is there twice is read once.
 */
export function archivedPieces(
  about: ArchivedAbout,
  content: Buffer,
  key: ArchiveKey | undefined,
): readonly Archived[] {
  const ownerElsewhere = about.content === 'whole' ? ownerElsewhereIn(content) : ''
  const sealed = key?.seal(content, headOf({ ...about, ownerElsewhere, keyId: key.id }))
  const bytes = sealed?.bytes ?? content
  const head = {
    ...about,
    ownerElsewhere,
    type: 'Archived',
    keyId: key?.id ?? '',
    nonce: sealed?.nonce ?? new Uint8Array(),
    digest: createHash('sha256').update(bytes).digest('hex'),
  } as const
  const chunks = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES))
  return Array.from({ length: chunks }, (_, chunk) => ({
    ...head,
    chunk,
    last: chunk === chunks - 1,
    piece: bytes.subarray(chunk * PIECE_BYTES, (chunk + 1) * PIECE_BYTES),
  }))
}

/** The content, from all pieces together; undefined: not this content was sealed with this head. */
export function openedPieces(
  head: Head & Pick<Archived, 'nonce'>,
  bytes: Uint8Array,
  key: ArchiveKey,
): Uint8Array | undefined {
  return key.open({ nonce: head.nonce, bytes }, headOf(head))
}

/**
 * One spelling of a whole head. Each field is named, so one that is added later does not compile
 * until it is bound, too. What describes pieces is not: their order and number are those of the
 * ciphertext.
 */
function headOf(head: Head): string {
  const bound: { readonly [Field in keyof Required<Head>]: unknown } = {
    cluster: head.cluster,
    uid: head.uid,
    group: head.group,
    kind: head.kind,
    namespace: head.namespace,
    name: head.name,
    version: head.version,
    resource: head.resource,
    resourceVersion: head.resourceVersion,
    ownerReferences: head.ownerReferences.map(
      ({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }) => [
        apiVersion,
        kind,
        name,
        uid,
        controller,
        blockOwnerDeletion,
      ],
    ),
    command: head.command,
    rule: head.rule,
    createdAt: head.createdAt,
    ownerElsewhere: head.ownerElsewhere,
    at: head.at,
    content: head.content,
    keyId: head.keyId,
  }
  // Heads from before there was the field are those of objects without such an owner.
  const entries = Object.entries(bound).filter(([field, value]) => {
    return field !== 'ownerElsewhere' || value !== ''
  })
  return JSON.stringify(['kinfold.dev/archived/v1', entries])
}

/** In the clear, so that what named an owner elsewhere is found without the key. */
function ownerElsewhereIn(content: Buffer): string {
  if (!content.includes(OWNER_ELSEWHERE)) return ''
  const metadata = parseObject(content.toString())?.['metadata']
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  return isObject(annotations) ? ownerElsewhereText(annotations) : ''
}
