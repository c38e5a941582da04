/**
 * What each entry of history makes of its object, so that who follows history knows the graph of any moment.
 *
 * What must stay true: whenever the phase, the owner references or the deletionTimestamp of a node change, or there is a node or none any more, an entry says so
 * with all of them as they are after the event; where the fold tells of none (texts name a few owners only), one is added. They are made from the state alone.
 *
 * Not here: the index of moments (query/span-index.ts).
 */
import type { StateReader } from '../../../core/graph/graph.ts'
import { nodeOf } from '../../../core/graph/graph.ts'
import { ALL_NODES_PREFIX } from '../../../core/graph/key.ts'
import type { At } from '../../../core/graph/outcome.ts'
import type { Node } from '../../../core/model/node.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History, HistoryChange } from '../../../core/model/record.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type { HistoryRecord, KnownObject } from '../../../ports/lineage.ts'

const OF_OBJECT: ReadonlySet<HistoryChange> = new Set(['created', 'references', 'phase', 'gone'])
const NOT_THERE: KnownObject = { phase: null, createdAt: null, deletedAt: null, owners: [] }

/** A node that an event changed. */
export interface ChangedNode {
  readonly cluster: ClusterId
  readonly before: Node | undefined
  readonly after: Node | undefined
}

/** Undefined for what was no node and is none. */
export function changedNode(
  key: string,
  before: StateValue | undefined,
  after: StateValue | null,
): ChangedNode | undefined {
  const node = { before: nodeIn(before), after: nodeIn(after ?? undefined) }
  if (node.before === undefined && node.after === undefined) return undefined
  return { cluster: decodeURIComponent(key.split('/')[1] ?? ''), ...node }
}

export function isNodeKey(key: string): boolean {
  return key.startsWith(ALL_NODES_PREFIX)
}

/** `told` by the fold, in its order, and behind it what it did not tell. */
export function historyOf(
  graph: StateReader,
  told: readonly History[],
  nodes: readonly ChangedNode[],
  at: At,
): HistoryRecord[] {
  const open = new Map(nodes.map((node) => [identityOf(node), node]))
  const records = told.map((entry): HistoryRecord => {
    if (!OF_OBJECT.has(entry.change)) return { ...entry, object: null }
    open.delete(objectKey(entry.cluster, entry.uid))
    return { ...entry, object: knownObject(nodeOf(graph, entry.cluster, entry.uid)) }
  })
  for (const node of open.values()) {
    const added = addedFor(node, at)
    if (added !== undefined) records.push(added)
  }
  return records
}

function identityOf({ cluster, before, after }: ChangedNode): string {
  return objectKey(cluster, (after ?? before)?.object.uid ?? '')
}

function addedFor(
  { cluster, before, after }: ChangedNode,
  { partition, position, timestamp }: At,
): HistoryRecord | undefined {
  const node = after ?? before
  if (node === undefined) return undefined
  const object = knownObject(after)
  const was = knownObject(before)
  const isSame = object.phase === was.phase && object.deletedAt === was.deletedAt
  const areSame = JSON.stringify(object.owners) === JSON.stringify(was.owners)
  if (isSame && areSame) return undefined
  const { group, kind, namespace, name, uid } = node.object
  return {
    ...{ type: 'History', cluster, group, kind, namespace, name, uid },
    change: isSame ? 'references' : 'phase',
    text: isSame ? referencesText(was, object) : phaseText(was, object),
    phase: isSame ? null : object.phase,
    ...{ evidence: null, command: null, partition, position, basis: [], at: timestamp },
    object,
  }
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
  return { phase: node.phase, createdAt, deletedAt, owners: ownerReferences }
}

function nodeIn(value: StateValue | undefined): Node | undefined {
  return value?.type === 'Node' ? value : undefined
}
