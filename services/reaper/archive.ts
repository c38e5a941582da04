/**
 * Archives an object, whole, before it is deleted, or loses a finalizer by order: reads it, checks
 * that it is the very one that the call will name, appends it, and waits for the log.
 *
 * What must stay true: `Kept` is returned only when the log has acknowledged the last piece of the
 * object read at just this uid and version. In every other case nothing is deleted (F95, I14).
 * Where the namespace has its share of the archive's disk, only its own deletions wait.
 *
 * Not here: the second pass through the gate after it (reap.ts), the source of keys (main.ts), how
 * long it is kept (the graph trims), whose share is how large (runtime/archive/archive-room.ts).
 */

import type { DeleteObject, RemoveFinalizer } from '../../core/model/command.ts'
import type { ObjectMeta, ResourceVersion } from '../../core/model/object.ts'
import { objectKey } from '../../core/model/partition.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GetAnswer, ReadAnswer } from '../../ports/cluster.ts'
import { type Log, LogError } from '../../ports/log.ts'
import { partitionOf } from '../../ports/partition.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Archived } from '../../ports/record/service-record.ts'
import {
  type ArchiveSettings,
  archivedPieces,
  MAX_OBJECT_BYTES,
} from '../../runtime/archive/archive-record.ts'
import type { ArchiveRoom, Place } from '../../runtime/archive/archive-room.ts'
import { isObject, type JsonObject, parseObject } from '../../runtime/exact-json.ts'
import { mayTryAgain } from '../../runtime/retry.ts'
import type { Caller } from './call.ts'

export interface Archive {
  keep(request: ArchiveRequest, signal: AbortSignal): Promise<Keeping>
}

export interface ArchiveRequest {
  /** A DELETE, or an order that removes a finalizer: the object may end with the last one. */
  readonly command: DeleteObject | RemoveFinalizer
  /** That it will be sent with. */
  readonly resourceVersion: ResourceVersion
  readonly caller: Caller
  readonly onCall: () => void
}

export type Keeping =
  /** `read`: as it is to be deleted; with its body but for a Secret. */
  | { readonly type: 'Kept'; readonly read: Read }
  /**
   * It is another object, another version of it, or deleted: the read object decides what follows.
   */
  | { readonly type: 'Moved'; readonly read: GetAnswer }
  | { readonly type: 'Failed'; readonly reason: string }

type Read = Extract<GetAnswer | ReadAnswer, { readonly type: 'Found' }>

export interface ArchiveParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  /** Further tries of an append that failed for now. */
  readonly bounds: { readonly retries: number }
  readonly settings: ArchiveSettings
}

export function createArchive(parts: ArchiveParts): Archive {
  return {
    async keep(request, signal) {
      const { command, resourceVersion } = request
      const { room } = parts.settings
      const place = { cluster: command.cluster, namespace: command.target.namespace }
      // What it has to wait for is known without a call.
      if (room?.isFull(place) === true) return refused(room, place)
      const read = await look(request, parts.settings, signal)
      if (read.type === 'Unknown') return failed(`it could not be read: ${read.reason}`)
      if (read.type === 'Absent') return { type: 'Moved', read }
      const { uid } = command.target
      if (read.object.uid !== uid || read.object.resourceVersion !== resourceVersion) {
        return { type: 'Moved', read }
      }
      const content = 'text' in read ? wholeOf(read.text) : metadataOf(read)
      if (content === undefined) return failed('it is no object as it was read')
      if (content.length > MAX_OBJECT_BYTES) return failed(`it has ${content.length} bytes`)
      const taken = room?.take(place, content.length)
      if (room !== undefined && taken === undefined) return failed(NO_SHARE)
      const whole = 'text' in read ? 'whole' : 'metadata'
      const records = piecesOf(request, read.object, content, whole, parts)
      const failure = await append(request, records, parts, signal)
      // It may be on the log in part, and the next try is counted again.
      if (failure !== undefined && taken !== undefined) room?.giveBack(taken)
      return failure ?? { type: 'Kept', read }
    },
  }
}

type Look = ReadAnswer | GetAnswer

async function look(
  { command, caller, onCall }: ArchiveRequest,
  { secrets }: ArchiveSettings,
  signal: AbortSignal,
): Promise<Look> {
  const { target } = command
  const isSecret = target.group === '' && target.resource === 'secrets'
  return isSecret && !secrets
    ? await caller.look(target, onCall, signal)
    : await caller.read(target, onCall, signal)
}

/** All but `managedFields`, which say who wrote what and are of no use to a new object. */
function wholeOf(text: string): Buffer | undefined {
  const object = parseObject(text)
  const metadata = object?.['metadata']
  if (object === undefined || !isObject(metadata)) return undefined
  const { managedFields: _, ...rest } = metadata
  return Buffer.from(JSON.stringify({ ...object, metadata: rest } satisfies JsonObject))
}

function metadataOf({ object }: Extract<GetAnswer, { type: 'Found' }>): Buffer {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers } = object
  const metadata = { name, namespace, uid, resourceVersion, ownerReferences, finalizers }
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata }))
}

function piecesOf(
  { command, resourceVersion }: ArchiveRequest,
  object: ObjectMeta,
  bytes: Buffer,
  content: Archived['content'],
  { clock, settings }: ArchiveParts,
): readonly Archived[] {
  const { cluster, target } = command
  const { group, kind, namespace, name, version, resource, uid } = target
  const about = {
    ...{ cluster, uid, group, kind, namespace, name, version, resource, resourceVersion },
    ownerReferences: object.ownerReferences,
    command: command.id,
    rule: command.type === 'DeleteObject' ? (command.rule?.name ?? '') : '',
    createdAt: object.createdAt,
    at: clock.now(),
    content,
  }
  return archivedPieces(about, bytes, settings.key)
}

/**
 * One after the other, so that the last piece confirms those before it. A piece that occurs twice
 * is read once.
 */
/** Undefined once the last piece is acknowledged. */
async function append(
  { command, caller }: ArchiveRequest,
  records: readonly Archived[],
  { log, codec, bounds }: ArchiveParts,
  signal: AbortSignal,
): Promise<Keeping | undefined> {
  const key = objectKey(command.cluster, command.target.uid)
  const partition = partitionOf(key, log.partitions('archive'))
  for (const record of records) {
    const produced = { key, value: codec.encode(record) }
    for (let tries = 0; ; tries++) {
      try {
        await log.append('archive', partition, [produced])
        break
      } catch (error) {
        if (signal.aborted || !(error instanceof LogError)) throw error
        if (!mayTryAgain(error) || tries >= bounds.retries) return failed(error.message)
        await caller.wait(tries, null, signal)
      }
    }
  }
  return undefined
}

/** The same words each time, so that they are counted together. */
const NO_SHARE =
  "its namespace has its share of the archive's disk; until older records are removed (archive.keep), or archive.maxSize is raised, it stays"

function refused(room: ArchiveRoom, place: Place): Keeping {
  room.refuse(place)
  return failed(NO_SHARE)
}

function failed(why: string): Keeping {
  return { type: 'Failed', reason: `not archived, so not deleted: ${why}` }
}
