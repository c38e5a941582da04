/**
 * The state a fold reads and changes, and which value it has under which key.
 *
 * What must stay true: every read sees every earlier change, in points and in pages alike.
 *
 * Not here: how changes are laid over the stored values (services/graph/fold/bytes/overlay.ts), their meaning (fold.ts).
 */
import { invariant } from '../model/invariant.ts'
import type { Node } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import { DEFAULT_POLICY } from '../model/policy.ts'
import type {
  Agenda,
  ClusterState,
  Count,
  Directives,
  Kind,
  PolicyState,
  Seen,
  StateValue,
} from '../model/state.ts'
import {
  AGENDA_KEY,
  clusterKey,
  countKey,
  DIRECTIVES_KEY,
  kindKey,
  nodeKey,
  ownerKey,
  POLICY_KEY,
  seenKey,
} from './key.ts'

export interface StateReader {
  get(key: string): StateValue | undefined
}

export interface Graph extends StateReader {
  put(key: string, value: StateValue): void
  remove(key: string): void
  /** The changes since the last call, in the order in which their keys were first changed: those of one record. */
  takeRecent(): Map<string, StateValue | null>
  /** All changes since `clear`. */
  readonly changes: ReadonlyMap<string, StateValue | null>
  /**
   * The stored keys with the overlay's changes laid over them: all keys with this prefix after `after`, up to and including `upTo`
   * (undefined: to the end), in order. `stored` must hold all of the store's in that range.
   */
  overlaid(stored: readonly string[], range: OverlaidRange): readonly string[]
  clear(): void
}

export interface OverlaidRange {
  readonly prefix: string
  readonly after: string
  readonly upTo: string | undefined
}

export function nodeOf(graph: StateReader, cluster: ClusterId, uid: Uid): Node | undefined {
  return typed(graph.get(nodeKey(cluster, uid)), 'Node')
}

export function seenOf(
  graph: StateReader,
  cluster: ClusterId,
  kind: GroupKind,
  uid: Uid,
): Seen | undefined {
  return typed(graph.get(seenKey(cluster, kind, uid)), 'Seen')
}

export function ownerOf(
  graph: StateReader,
  cluster: ClusterId,
  uid: Uid,
  coordinates: Coordinates,
): KnownOwner | undefined {
  return typed(graph.get(ownerKey(cluster, uid, coordinates)), 'Owner')?.known
}

export function kindOf(graph: StateReader, cluster: ClusterId, kind: GroupKind): Kind | undefined {
  return typed(graph.get(kindKey(cluster, kind)), 'Kind')
}

export function clusterOf(graph: StateReader, cluster: ClusterId): ClusterState | undefined {
  return typed(graph.get(clusterKey(cluster)), 'ClusterState')
}

/** Of the edges that name an owner at these coordinates. */
export function countOf(
  graph: StateReader,
  cluster: ClusterId,
  owner: Uid,
  place: Coordinates,
): Count | undefined {
  return typed(graph.get(countKey(cluster, owner, place)), 'Count')
}

/** An owner by where it is, or by the object that it is. */
export function isNamed(
  graph: StateReader,
  cluster: ClusterId,
  owner: Uid,
  place: Coordinates,
): boolean {
  return countOf(graph, cluster, owner, place) !== undefined
}

export function policyOf(graph: StateReader): PolicyState {
  return typed(graph.get(POLICY_KEY), 'PolicyState') ?? NO_POLICY
}

export function directivesOf(graph: StateReader): Directives {
  return typed(graph.get(DIRECTIVES_KEY), 'Directives') ?? NO_DIRECTIVES
}

export function agendaOf(graph: StateReader): Agenda {
  return typed(graph.get(AGENDA_KEY), 'Agenda') ?? EMPTY_AGENDA
}

/** Before any was folded: records only, as if in `observe`. */
const NO_POLICY: PolicyState = {
  type: 'PolicyState',
  policy: { ...DEFAULT_POLICY, mode: 'observe' },
  position: -1n,
  enforcedAt: -1n,
  former: null,
}

const NO_DIRECTIVES: Directives = {
  type: 'Directives',
  pauses: [],
  protections: [],
  resumedAt: 0n,
}

const EMPTY_AGENDA: Agenda = { type: 'Agenda', head: 0, tail: 0 }

/** A value of the table that its key belongs to. */
export function typed<T extends StateValue['type']>(
  value: StateValue | undefined,
  type: T,
): Extract<StateValue, { type: T }> | undefined {
  invariant(value === undefined || value.type === type, 'a key holds a value of another type')
  return value as Extract<StateValue, { type: T }> | undefined
}
