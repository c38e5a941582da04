/**
 * The records of earlier watchers of a cluster: how many there were, how often the cluster was
 * restored, and the position of each kind's watch.
 *
 * What must stay true: a kind's watermark is believed only if it has the epoch of the cluster's
 * own: one that a watcher wrote after it was succeeded covers events that the fold refused. Nor is
 * one believed that was written while other labels, annotations or fields were published of its
 * kind: no watch resumes from there. The cluster's own watermark names the partition that has the
 * published records.
 */

import type { ClusterId, ResourceVersion } from '../../../core/model/object.ts'
import type { Protection } from '../../../core/model/policy.ts'
import { isPolicyKind } from '../../../core/model/rule/policy-content.ts'
import type { Rule } from '../../../core/model/rule/rule.ts'
import type { Entry, Log, Produced } from '../../../ports/log.ts'
import type { Codec, Writable } from '../../../ports/record/codec.ts'
import { CodecError } from '../../../ports/record/codec.ts'
import {
  MARK_BOOK_KEY,
  markKeysIn,
  ORDER_PREFIX,
  PROTECT_PREFIX,
  type Protecting,
  protectingOf,
  RULE_BOOK_KEY,
} from '../../../ports/record/control-key.ts'
import { type MarkKeys, NO_MARK_KEYS } from '../../../ports/record/manager-mark.ts'
import type { Projection } from '../../../ports/record/projection.ts'
import { kindDigest, projectionDigest, projectionOf } from '../../../ports/record/projection.ts'
import type { Control, Watermark } from '../../../ports/record/service-record.ts'
import { WatcherError } from '../identity.ts'
import type { KindKey } from './catalog.ts'
import { kindKey } from './catalog.ts'

export interface Marks {
  /** Of the last watcher; 0 if there was none. */
  readonly epoch: number
  readonly clusterEpoch: number
  /** The partition with the records of the last watcher; -1 if there was none. */
  readonly partition: number
  /** Every kind that was served then. */
  readonly kinds: ReadonlyMap<KindKey, KindMark>
  readonly reading: Reading
  /** What to publish of each object now. */
  readonly projection: Projection
}

/** What the log says of what is read of objects. */
export interface Reading {
  readonly protection: Protection | null
  /** Of users' protections. */
  readonly subjects: readonly string[]
  /** Of the policy. */
  readonly rules: readonly Rule[]
  /** That answers read. */
  readonly marks: MarkKeys
  /** Clusters of owners that an order forgets for this one. */
  readonly forgotten: ReadonlySet<ClusterId>
}

/** `own`: rules of the cluster's own objects. */
export function projectionBy(
  { protection, subjects, rules, marks }: Reading,
  own: readonly Rule[],
): Projection {
  return projectionOf(protection, subjects, [...rules, ...own], marks)
}

export interface KindMark {
  readonly group: string
  readonly kind: string
  readonly resource: string
  readonly shortNames: readonly string[]
  /** Empty: no version to resume from. */
  readonly resourceVersion: ResourceVersion
  readonly sync: number
}

/**
 * In another epoch of the cluster, or if another partition has the published records, no earlier
 * version can be resumed from.
 */
export function resumable(marks: Marks, reign: Reign): readonly KindMark[] {
  const isSame = marks.partition === reign.partition && marks.clusterEpoch === reign.clusterEpoch
  const all = [...marks.kinds.values()]
  return isSame ? all : all.map((mark) => ({ ...mark, resourceVersion: '' }))
}

const FIRST_CLUSTER_EPOCH = 1

/** `ownRules`: of the cluster's objects, asked for where such objects were served. */
export async function readMarks(
  log: Log,
  codec: Codec,
  cluster: ClusterId,
  ownRules: () => Promise<readonly Rule[]>,
): Promise<Marks> {
  const watermarks = await readWatermarks(log, codec, cluster)
  const control = await readEpoch(log, codec, cluster)
  const reading = await readReading(log, codec, cluster)
  const projection = projectionBy(reading, watermarks.some(isPolicyKind) ? await ownRules() : [])
  const own = watermarks.find((mark) => mark.kind === '')
  const clusterEpoch = Math.max(
    FIRST_CLUSTER_EPOCH,
    control,
    ...watermarks.map((mark) => mark.clusterEpoch),
  )
  const kinds = new Map<KindKey, KindMark>()
  for (const mark of watermarks) {
    if (mark.kind === '') continue
    const isOwn = mark.epoch === own?.epoch && mark.clusterEpoch === clusterEpoch
    const isBelieved = isOwn && mark.projection === kindDigest(projection, mark)
    kinds.set(kindKey(mark), { ...mark, resourceVersion: isBelieved ? mark.resourceVersion : '' })
  }
  const epoch = Math.max(0, ...watermarks.map((mark) => mark.epoch))
  return { epoch, clusterEpoch, partition: own?.partition ?? -1, kinds, reading, projection }
}

/**
 * The labels and annotations by which the policy and users protect, in addition to the built-in
 * marks, and what the policy's rules read. A record of a protection that cannot be read blocks the
 * reapers; where the rules cannot be read nothing is read for them, and they decide nothing.
 */
export async function readReading(log: Log, codec: Codec, cluster: ClusterId): Promise<Reading> {
  let protection: Protection | null = null
  const subjects: string[] = []
  let rules: readonly Rule[] = []
  let marks = NO_MARK_KEYS
  const forgotten = new Set<ClusterId>()
  for (const entry of await log.latest('orders', 0)) {
    const { key, value } = entry
    const about = forgettingIn(codec, entry, cluster)
    if (about?.isForgotten === true) forgotten.add(about.owner)
    if (about?.isForgotten === false) forgotten.delete(about.owner)
    if (key === RULE_BOOK_KEY) rules = rulesIn(codec, value)
    if (key === MARK_BOOK_KEY) marks = markKeysIn(codec, value)
    if (!key.startsWith(PROTECT_PREFIX)) continue
    const protecting = protectingIn(codec, key, value)
    if (protecting?.type === 'policy') protection = protecting.protection
    else if (protecting !== undefined && !protecting.isLifted) {
      if (protecting.cluster === '' || protecting.cluster === cluster) {
        subjects.push(protecting.subject)
      }
    }
  }
  return { protection, subjects, rules, marks, forgotten }
}

/**
 * What an order says of a cluster of owners; undefined where it is about another cluster of
 * objects, or another matter. Whether it took effect is for the fold to say, which holds what a
 * watcher no longer reports.
 */
export function forgettingIn(
  codec: Codec,
  { key, value }: Pick<Entry, 'key' | 'value'>,
  cluster: ClusterId,
): { readonly owner: ClusterId; readonly isForgotten: boolean } | undefined {
  if (!key.startsWith(ORDER_PREFIX) || value === null) return undefined
  const record = recordIn(codec, value)
  if (record?.type !== 'Directive' || record.cluster !== cluster) return undefined
  const { verb, subject: owner } = record
  if (verb === 'forget-cluster') return { owner, isForgotten: true }
  return verb === 'remember-cluster' ? { owner, isForgotten: false } : undefined
}

function recordIn(codec: Codec, value: Uint8Array): Writable | undefined {
  try {
    return codec.decode(value)
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}

function rulesIn(codec: Codec, value: Entry['value']): readonly Rule[] {
  try {
    const record = value === null ? null : codec.decode(value)
    return record?.type === 'RuleBook' ? record.rules : []
  } catch (error) {
    if (error instanceof CodecError) return []
    throw error
  }
}

function protectingIn(codec: Codec, key: string, value: Entry['value']): Protecting | undefined {
  try {
    const record = value === null ? null : codec.decode(value)
    return record === null || record.type === 'Control' ? protectingOf(key, record) : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}

async function readWatermarks(log: Log, codec: Codec, cluster: ClusterId): Promise<Watermark[]> {
  const marks: Watermark[] = []
  for (const entry of await log.latest('watermarks', 0)) {
    if (!entry.key.startsWith(`${cluster}/`)) continue
    const record = decodeMark(codec, entry, clusterMarkKey(cluster))
    if (record !== undefined) marks.push(record)
  }
  return marks
}

/**
 * A kind's unreadable watermark costs a relist; without the cluster's own it is unknown which epoch
 * is free.
 */
function decodeMark(codec: Codec, entry: Entry, ownKey: string): Watermark | undefined {
  try {
    const record = entry.value === null ? undefined : codec.decode(entry.value)
    return record?.type === 'Watermark' ? record : undefined
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    if (entry.key !== ownKey) return undefined
    throw new WatcherError(
      'DAMAGED_WATERMARK',
      `The watermark "${ownKey}" at offset ${entry.offset} cannot be read: run a newer Kinfold, or start with an empty log.`,
      { cause: error },
    )
  }
}

async function readEpoch(log: Log, codec: Codec, cluster: ClusterId): Promise<number> {
  const key = connectionKey(cluster)
  const entry = (await log.latest('control', 0)).find((latest) => latest.key === key)
  if (entry?.value == null) return 0
  try {
    const record = codec.decode(entry.value)
    return record.type === 'Control' ? record.number : 0
  } catch (error) {
    // The watermarks know it too.
    if (error instanceof CodecError) return 0
    throw error
  }
}

export function clusterMarkKey(cluster: ClusterId): string {
  return `${cluster}//`
}

export function kindMarkKey(cluster: ClusterId, kind: KindKey): string {
  return `${cluster}/${kind}`
}

export function connectionKey(cluster: ClusterId): string {
  return `cluster/${cluster}`
}

export function connectionRecord(
  codec: Codec,
  control: Pick<Control, 'cluster' | 'number' | 'connected' | 'why'>,
): Produced {
  const rest = { kind: null, protection: null, mode: null, who: 'watcher' }
  const record: Control = { type: 'Control', verb: 'epoch', ...rest, ...control }
  return { key: connectionKey(control.cluster), value: codec.encode(record) }
}

export interface Reign {
  readonly cluster: ClusterId
  readonly epoch: number
  readonly clusterEpoch: number
  /** What the log said of that at the start. */
  readonly reading: Reading
  /** What is published of each object; the session changes it with the cluster's policies. */
  projection: Projection
  /** Of `events`: all of the cluster is there. */
  readonly partition: number
}

export function clusterMark(codec: Codec, reign: Reign): Produced {
  const own = { group: '', kind: '', resource: '', shortNames: [], resourceVersion: '', sync: 0 }
  const { projection, cluster, epoch, clusterEpoch, partition } = reign
  const term = { cluster, epoch, clusterEpoch, partition }
  const digest = projectionDigest(projection)
  const value = codec.encode({ type: 'Watermark', ...term, ...own, projection: digest })
  return { key: clusterMarkKey(term.cluster), value }
}

export function kindMark(codec: Codec, reign: Reign, mark: KindMark): Produced {
  const { projection, cluster, epoch, clusterEpoch, partition } = reign
  const term = { cluster, epoch, clusterEpoch, partition }
  const { group, kind, resource, shortNames, resourceVersion, sync } = mark
  const value = codec.encode({
    type: 'Watermark',
    ...term,
    projection: kindDigest(projection, mark),
    group,
    kind,
    resource,
    shortNames,
    resourceVersion,
    sync,
  })
  return { key: kindMarkKey(term.cluster, kindKey(mark)), value }
}
