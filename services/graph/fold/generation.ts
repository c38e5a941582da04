/**
 * Begins a new log in place of one of an older version: an empty one, paused, above the epochs of
 * the old one, with its archive.
 *
 * What must stay true: no state of a cluster is taken over from the old log, so it lists everything
 * anew, as a fresh install does, in a partition that is chosen anew; and nothing is deleted before
 * a person has reviewed it and resumed. The old log is only read.
 *
 * Not here: files and their names (cli/offline/upgrade.ts).
 */

import type { Directive } from '../../../core/model/event.ts'
import { EMPTY_SET } from '../../../core/model/hash.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import type { Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { CodecError } from '../../../ports/record/codec.ts'
import { PROTECT_PREFIX, pauseKey, protectingOf } from '../../../ports/record/control-key.ts'
import type { Control, Watermark } from '../../../ports/record/service-record.ts'
import { giveOrder } from './order.ts'

export interface GenerationParts {
  readonly from: Log
  /** A new one, with as many partitions. */
  readonly to: Log
  readonly codec: Codec
  readonly who: string
}

export interface Generation {
  /** Records of the archive that were carried over. */
  readonly archived: number
  readonly clusters: readonly ClusterId[]
}

const WHY = 'a new log was begun by "kinfold upgrade": see "kinfold held", then resume'
/** Of the archive, read and written at once: 4 MiB at most. */
const PAGE = 8

export async function beginGeneration(
  parts: GenerationParts,
  signal: AbortSignal,
): Promise<Generation> {
  await pause(parts)
  await carryProtections(parts)
  const clusters = await carryEpochs(parts)
  const archived = await carryArchive(parts, signal)
  return { archived, clusters }
}

/** For the reapers, and for the fold. */
async function pause({ to, codec, who }: GenerationParts): Promise<void> {
  const said = { cluster: '', who, why: WHY } as const
  const control: Control = {
    ...{ type: 'Control', verb: 'pause', kind: null, number: 1, connected: false },
    ...{ protection: null, mode: null, ...said },
  }
  await to.append('orders', 0, [{ key: pauseKey(''), value: codec.encode(control) }])
  await direct(to, codec, { verb: 'pause', subject: '', ...said })
}

/**
 * For the reapers, too. A record that cannot be read is carried unchanged: then they do nothing
 * until a person mends it.
 */
async function carryProtections({ from, to, codec }: GenerationParts): Promise<void> {
  // Before version 15 they were in `control`.
  const said = [...(await from.latest('control', 0)), ...(await from.latest('orders', 0))]
  for (const { key, value } of said) {
    if (!key.startsWith(PROTECT_PREFIX) || value === null) continue
    const record = recordIn(codec, value, 'Control')
    const protecting = record === undefined ? undefined : protectingOf(key, record)
    const isLifted = protecting?.type === 'subject' && protecting.isLifted
    // The policy's own is published anew with the policy.
    if (protecting?.type === 'policy' || isLifted) continue
    const again = record === undefined ? value : codec.encode(record)
    await to.append('orders', 0, [{ key, value: again }])
    if (record === undefined || protecting === undefined) continue
    const { cluster, subject } = protecting
    const { who, why } = record
    await direct(to, codec, { verb: 'protect', cluster, subject, who, why })
  }
}

type Said = Pick<Directive, 'verb' | 'cluster' | 'subject' | 'who' | 'why'>

/** Publishes a directive to all partitions of a log. */
async function direct(to: Log, codec: Codec, said: Said): Promise<void> {
  const directive: Directive = {
    ...{ type: 'Directive', digest: null, listed: EMPTY_SET, isProven: false },
    ...said,
  }
  const partitions = Array.from({ length: to.partitions('events') }, (_, each) => each)
  await giveOrder(to, codec, directive, partitions)
}

/**
 * Each cluster's own watermark alone, without its partition: a kind's would have its watch resumed,
 * by a graph without the former state.
 */
async function carryEpochs({ from, to, codec }: GenerationParts): Promise<readonly ClusterId[]> {
  const highest = new Map<ClusterId, Watermark>()
  for (const { value } of await from.latest('watermarks', 0)) {
    const mark = value === null ? undefined : recordIn(codec, value, 'Watermark')
    if (mark === undefined) continue
    const known = highest.get(mark.cluster)
    const epoch = Math.max(mark.epoch, known?.epoch ?? 0)
    const clusterEpoch = Math.max(mark.clusterEpoch, known?.clusterEpoch ?? 0)
    const of = { group: '', kind: '', resource: '', shortNames: [] }
    const stand = { resourceVersion: '', sync: 0, partition: -1 }
    highest.set(mark.cluster, { ...mark, ...of, ...stand, epoch, clusterEpoch })
  }
  for (const [cluster, mark] of highest) {
    await to.append('watermarks', 0, [{ key: `${cluster}//`, value: codec.encode(mark) }])
  }
  return [...highest.keys()]
}

/**
 * Undefined for a record that cannot be read: in a log of its own no epoch was ever given out, so
 * one that is lost is not missed.
 */
function recordIn<T extends 'Control' | 'Watermark'>(
  codec: Codec,
  value: Uint8Array,
  type: T,
): Extract<Control | Watermark, { readonly type: T }> | undefined {
  try {
    const record = codec.decode(value)
    const isOne = (one: typeof record): one is Extract<Control | Watermark, { readonly type: T }> =>
      one.type === type
    return isOne(record) ? record : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}

/** Byte for byte. Its retention begins anew: kept too long does no harm. */
async function carryArchive({ from, to }: GenerationParts, signal: AbortSignal): Promise<number> {
  let archived = 0
  for (let partition = 0; partition < from.partitions('archive'); partition++) {
    const { start, end } = await from.bounds('archive', partition)
    for (let next = start; next < end; ) {
      signal.throwIfAborted()
      const page = await from.read('archive', partition, next, { limit: PAGE, waitMs: 0 })
      const records = page.entries.map(({ key, value }) => ({ key, value }))
      if (records.length > 0) await to.append('archive', partition, records)
      archived += records.length
      if (page.next === next) break
      next = page.next
    }
  }
  return archived
}
