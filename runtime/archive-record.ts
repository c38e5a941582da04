/**
 * The records that an object is archived in: encrypted where there is a key, and in pieces that every log takes.
 *
 * What must stay true: identity, owners and times are in the clear; the content of an encrypted object is in no record.
 *
 * Not here: which objects, and when (services/reaper/archive.ts, services/watcher/deletion-archive.ts), reading them (services/restore).
 */
import { createHash } from 'node:crypto'
import type { Archived } from '../ports/service-record.ts'
import { type ArchiveKey, aboutObject } from './archive-key.ts'

export interface ArchiveSettings {
  /** Of Secrets too the whole object; else their metadata, without annotations: those may contain the Secret's data. */
  readonly secrets: boolean
  /** Undefined: as they are. */
  readonly key: ArchiveKey | undefined
}

export type ArchivedAbout = Omit<
  Archived,
  'type' | 'keyId' | 'nonce' | 'digest' | 'chunk' | 'last' | 'piece'
>

/** Bytes of one piece: with its envelope a record stays far below its limit. */
const PIECE_BYTES = 512 * 1024
/** No API server stores an object of this size; a server that answers so is not to be trusted with the log. */
export const MAX_OBJECT_BYTES: number = 16 * 1024 * 1024

/** To be appended in their order, all under the same key. A piece that is there twice is read once. */
export function archivedPieces(
  about: ArchivedAbout,
  content: Buffer,
  key: ArchiveKey | undefined,
): readonly Archived[] {
  const { cluster, uid, resourceVersion } = about
  const sealed = key?.seal(content, aboutObject(cluster, uid, resourceVersion))
  const bytes = sealed?.bytes ?? content
  const head = {
    ...about,
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
