/**
 * Adds the object as it is after the event to each entry of history, so that a reader of history
 * knows the graph at any moment, and what was held.
 *
 * What must stay true: whenever the phase, the owner references, the deletionTimestamp or the hold
 * of a node change, or a node is added or removed, an entry has all of them as they are after the
 * event: one of those that the fold writes, or, where it writes none (its texts name a few owners
 * only), one that is added. They are made from the state alone.
 *
 * Not here: what facts were before (former/former-rows.ts).
 */
import type { FactsByCluster } from '../../../core/graph/facts.ts'
import { listedBy } from '../../../core/graph/held-plan.ts'
import { ALL_NODES_PREFIX, clusterIn } from '../../../core/graph/key.ts'
import type { At } from '../../../core/graph/outcome.ts'
import type { Node, Phase, Verdict } from '../../../core/model/node.ts'
import { admissionOf, goesByUs, nodePhase } from '../../../core/model/node.ts'
import {
  type ClusterId,
  isSameReferences,
  type OwnerReference,
  type Uid,
} from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History, HistoryChange } from '../../../core/model/record.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type {
  HistoryRecord,
  KnownDeletion,
  KnownHold,
  KnownObject,
} from '../../../ports/record/lineage.ts'
import { longOwners } from './bytes/long-node.ts'

/** Each of these has its object; others have it where nothing else says that it changed. */
export const OF_OBJECT: ReadonlySet<HistoryChange> = new Set([
  'created',
  'references',
  'phase',
  'gone',
])
/** Of a long list, in public records. */
export const SHOWN_OWNERS = 16

const NOT_THERE: KnownObject = {
  ...{ phase: null, createdAt: null, deletedAt: null, owners: [], held: null, long: null },
}

const NO_REFERENCES: readonly OwnerReference[] = []

/** A node that an event changed. */
export interface ChangedNode {
  readonly cluster: ClusterId
  /** After it, or before it where there is none any more. */
  readonly node: Node
  readonly before: Node | undefined
  readonly after: Node | undefined
}

/** Undefined where there was no node and is none. */
export function changedNode(
  key: string,
  before: StateValue | undefined,
  after: StateValue | null,
): ChangedNode | undefined {
  const was = nodeIn(before)
  const is = nodeIn(after ?? undefined)
  const node = is ?? was
  if (node === undefined) return undefined
  return { cluster: clusterIn(key), node, before: was, after: is }
}

export function isNodeKey(key: string): boolean {
  return key.startsWith(ALL_NODES_PREFIX)
}

/** The entries of the fold in their order, then those that are added. */
export function historyOf(
  facts: FactsByCluster,
  entries: readonly History[],
  nodes: readonly ChangedNode[],
  at: At,
): HistoryRecord[] {
  const all = nodes.map((node): Written => ({ node, hasObject: false, last: null }))
  const writtenOf = finderOf(all)
  const records: HistoryRecord[] = []
  for (const entry of entries) {
    const written = writtenOf(entry.cluster, entry.uid)
    // What a GET said of an owner is of whom a reference names, which may be another that bears
    // the uid.
    if (written !== undefined && entry.change !== 'owner') written.last = records.length
    if (OF_OBJECT.has(entry.change)) {
      if (written !== undefined) written.hasObject = true
      const now = facts.of(entry.cluster).node(entry.uid)
      const before = written === undefined ? now : written.node.before
      records.push({ ...entry, object: knownObject(now, before) })
    } else records.push({ ...entry, object: null })
  }
  for (const { node, hasObject, last } of all) {
    if (hasObject || !isOther(node)) continue
    const record = last === null ? undefined : records[last]
    if (last === null || record === undefined) records.push(addedFor(node, at))
    else records[last] = { ...record, object: knownObject(node.after, node.before) }
  }
  return records
}

/** A changed node, with what the entries say of it. */
interface Written {
  readonly node: ChangedNode
  /** One of them has the object. */
  hasObject: boolean
  /** Index of the last one about it. */
  last: number | null
}

function finderOf(all: readonly Written[]): (cluster: ClusterId, uid: Uid) => Written | undefined {
  const [first] = all
  if (all.length > 1) {
    const byKey = new Map(all.map((written) => [identityOf(written.node), written]))
    return (cluster, uid) => byKey.get(objectKey(cluster, uid))
  }
  return (cluster, uid) => {
    const isIt = first?.node.node.object.uid === uid && first.node.cluster === cluster
    return isIt ? first : undefined
  }
}

/** By what readers of history know of it. */
function isOther(node: ChangedNode): boolean {
  return isOtherPhase(node) || isOtherList(node) || isOtherHold(node.before, node.after)
}

function isOtherPhase({ before, after }: ChangedNode): boolean {
  if (phaseName(before) !== phaseName(after)) return true
  return (before?.object.deletedAt ?? null) !== (after?.object.deletedAt ?? null)
}

function isOtherList({ before, after }: ChangedNode): boolean {
  const was = before?.object.ownerReferences ?? NO_REFERENCES
  return !isSameReferences(was, after?.object.ownerReferences ?? NO_REFERENCES)
}

export function isOtherHold(before: Node | undefined, after: Node | undefined): boolean {
  const was = knownHold(before)
  const is = knownHold(after)
  return (was !== null || is !== null) && JSON.stringify(was) !== JSON.stringify(is)
}

function identityOf({ cluster, node }: ChangedNode): string {
  return objectKey(cluster, node.object.uid)
}

function addedFor(changed: ChangedNode, { partition, position, timestamp }: At): HistoryRecord {
  const { cluster, node, before, after } = changed
  const { group, kind, namespace, name, uid } = node.object
  const object = knownObject(after, before)
  const { change, text } = addedText(changed)
  const isVerdict = change === 'verdict' && after !== undefined
  return {
    type: 'History',
    cluster,
    group,
    kind,
    namespace,
    name,
    uid,
    change,
    text,
    phase: isOtherPhase(changed) ? object.phase : null,
    admission: isVerdict ? admissionOf(after) : null,
    evidence: isVerdict ? (after.verdict?.evidence ?? null) : null,
    command: null,
    partition,
    position,
    basis: [],
    at: timestamp,
    object,
  }
}

function addedText(node: ChangedNode): Pick<HistoryRecord, 'change' | 'text'> {
  if (isOtherPhase(node)) return { change: 'phase', text: phaseText(node) }
  if (isOtherList(node)) return { change: 'references', text: referencesText(node) }
  return { change: 'verdict', text: verdictText(node.after?.verdict ?? null) }
}

/** As the fold writes it. */
export function verdictText(verdict: Verdict | null): string {
  return verdict === null ? '' : `${verdict.type}: ${verdict.because}`
}

function referencesText({ before, after }: ChangedNode): string {
  const was = before?.object.ownerReferences.length ?? 0
  const is = after?.object.ownerReferences.length ?? 0
  return `${was} owners → ${is} others`
}

function phaseText({ before, after }: ChangedNode): string {
  const [was, is] = [phaseName(before), phaseName(after)]
  return `${was} → ${is}${was === is ? ': its deletionTimestamp is another' : ''}`
}

function phaseName(node: Node | undefined): Phase | 'unknown' {
  return node === undefined ? 'unknown' : nodePhase(node)
}

/** `before`: what the entries before this one know of it. */
function knownObject(node: Node | undefined, before: Node | undefined): KnownObject {
  if (node === undefined) return NOT_THERE
  const { object } = node
  const { createdAt, deletedAt, ownerReferences } = object
  const long = longOwners(before, node)
  const owners = long === null ? ownerReferences : ownerReferences.slice(0, SHOWN_OWNERS)
  return { phase: nodePhase(node), createdAt, deletedAt, owners, held: knownHold(node), long }
}

/** Null when nothing holds it, or a mode that only records. */
export function knownHold(node: Node | undefined): KnownHold | null {
  const admission = node === undefined || listedBy(node) === null ? null : admissionOf(node)
  if (node === undefined || admission === null) return null
  const { hold, attempt, verdict } = node
  const { by, since, until, because: held } = admission
  const what = (hold?.by ?? null) === null ? (attempt?.verb ?? '') : (hold?.what ?? '')
  const because = `${verdict?.because ?? ''}; ${held}`
  return { by, evidence: verdict?.evidence ?? null, what, since, until, because }
}

/** Null where it is not being deleted. */
export function knownDeletion(node: Node): KnownDeletion | null {
  const isGone = node.deletion?.isGone === true
  if (node.object.deletedAt === null && !isGone) return null
  return { by: goesByUs(node) ? 'kinfold' : 'others', isGone }
}

function nodeIn(value: StateValue | undefined): Node | undefined {
  return value?.type === 'Node' ? value : undefined
}
