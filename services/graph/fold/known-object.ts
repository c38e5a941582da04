/**
 * Adds the object as it is after the event to each entry of history, so that a reader of history knows the graph at any moment, and what was held.
 *
 * What must stay true: whenever the phase, the owner references, the deletionTimestamp or the hold of a node change, or a node is added or removed, an entry has all of
 * them as they are after the event: one of those that the fold writes, or, where it writes none (its texts name a few owners only), one that is added. They are
 * made from the state alone.
 *
 * Not here: the index of moments (query/span-index.ts).
 */
import type { StateReader } from '../../../core/graph/graph.ts'
import { nodeOf } from '../../../core/graph/graph.ts'
import { listedBy } from '../../../core/graph/held-plan.ts'
import { ALL_NODES_PREFIX } from '../../../core/graph/key.ts'
import type { At } from '../../../core/graph/outcome.ts'
import type { Node } from '../../../core/model/node.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History, HistoryChange } from '../../../core/model/record.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type { HistoryRecord, KnownHold, KnownObject } from '../../../ports/lineage.ts'

/** Each of these has its object; others have it where nothing else says that it changed. */
export const OF_OBJECT: ReadonlySet<HistoryChange> = new Set([
  'created',
  'references',
  'phase',
  'gone',
])
const NOT_THERE: KnownObject = {
  ...{ phase: null, createdAt: null, deletedAt: null, owners: [], held: null },
}

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
  return { cluster: decodeURIComponent(key.split('/')[1] ?? ''), node, before: was, after: is }
}

export function isNodeKey(key: string): boolean {
  return key.startsWith(ALL_NODES_PREFIX)
}

/** The entries of the fold in their order, then those that are added. */
export function historyOf(
  graph: StateReader,
  entries: readonly History[],
  nodes: readonly ChangedNode[],
  at: At,
): HistoryRecord[] {
  const changed = new Map(nodes.map((node) => [identityOf(node), node]))
  const records = entries.map((entry): HistoryRecord => {
    if (!OF_OBJECT.has(entry.change)) return { ...entry, object: null }
    changed.delete(objectKey(entry.cluster, entry.uid))
    return { ...entry, object: knownObject(nodeOf(graph, entry.cluster, entry.uid)) }
  })
  const left = [...changed.values()].filter(isOther)
  if (left.length === 0) return records
  // What a GET said of an owner is of whom a reference names, which may be another that bears the uid.
  const lastOf = new Map(
    records.flatMap((record, index) =>
      record.change === 'owner' ? [] : [[objectKey(record.cluster, record.uid), index] as const],
    ),
  )
  const added: HistoryRecord[] = []
  for (const node of left) {
    const index = lastOf.get(identityOf(node)) ?? -1
    const last = records[index]
    if (last === undefined) added.push(addedFor(node, at))
    else records[index] = { ...last, object: knownObject(node.after) }
  }
  return [...records, ...added]
}

/** By what readers of history know of it. */
function isOther({ before, after }: ChangedNode): boolean {
  const [was, is] = [knownObject(before), knownObject(after)]
  return isOtherPhase(was, is) || isOtherList(was, is) || isOtherHold(before, after)
}

function isOtherPhase(was: KnownObject, is: KnownObject): boolean {
  return is.phase !== was.phase || is.deletedAt !== was.deletedAt
}

function isOtherList(was: KnownObject, is: KnownObject): boolean {
  return is.owners !== was.owners && JSON.stringify(is.owners) !== JSON.stringify(was.owners)
}

export function isOtherHold(before: Node | undefined, after: Node | undefined): boolean {
  const [was, is] = [knownHold(before), knownHold(after)]
  return (was !== null || is !== null) && JSON.stringify(was) !== JSON.stringify(is)
}

function identityOf({ cluster, node }: ChangedNode): string {
  return objectKey(cluster, node.object.uid)
}

function addedFor(changed: ChangedNode, { partition, position, timestamp }: At): HistoryRecord {
  const { cluster, node, before, after } = changed
  const { group, kind, namespace, name, uid } = node.object
  const [was, object] = [knownObject(before), knownObject(after)]
  const isPhase = isOtherPhase(was, object)
  return {
    ...{ type: 'History', cluster, group, kind, namespace, name, uid },
    ...addedText(was, object),
    phase: isPhase ? object.phase : null,
    ...{ evidence: null, command: null, partition, position, basis: [], at: timestamp },
    object,
  }
}

function addedText(was: KnownObject, is: KnownObject): Pick<HistoryRecord, 'change' | 'text'> {
  if (isOtherPhase(was, is)) return { change: 'phase', text: phaseText(was, is) }
  if (isOtherList(was, is)) return { change: 'references', text: referencesText(was, is) }
  const text = is.held === null ? 'held no more' : `held: ${is.held.because}`
  return { change: 'verdict', text }
}

function referencesText(was: KnownObject, now: KnownObject): string {
  return `${was.owners.length} owners → ${now.owners.length} others`
}

function phaseText(was: KnownObject, now: KnownObject): string {
  const isSame = was.phase === now.phase
  return `${was.phase ?? 'unknown'} → ${now.phase ?? 'unknown'}${isSame ? ': its deletionTimestamp is another' : ''}`
}

function knownObject(node: Node | undefined): KnownObject {
  if (node === undefined) return NOT_THERE
  const { createdAt, deletedAt, ownerReferences } = node.object
  return { phase: node.phase, createdAt, deletedAt, owners: ownerReferences, held: knownHold(node) }
}

/** Null when nothing holds it, or a mode that only records. */
export function knownHold(node: Node | undefined): KnownHold | null {
  const by = node === undefined ? null : listedBy(node)
  if (node === undefined || by === null) return null
  const { hold, attempt, verdict } = node
  const { because = '', evidence = null } = verdict ?? {}
  // A dry run was accepted: no time lets it go.
  const tried = { what: attempt?.verb ?? '', since: attempt?.since ?? 0, until: null }
  const { what, since, until } = hold?.by == null ? tried : hold
  return { by, evidence, what, since, until, because }
}

function nodeIn(value: StateValue | undefined): Node | undefined {
  return value?.type === 'Node' ? value : undefined
}
