/**
 * The state a fold reads and changes: an overlay of changes not yet stored over a reader of what is.
 *
 * What must stay true: every read sees every earlier change, in points and in pages alike; nothing leaves the overlay before its commit.
 *
 * Not here: bytes and disks (ports/store.ts), what the changes mean (fold.ts).
 */
import { invariant } from '../model/invariant.ts'
import type { Node } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import { DEFAULT_POLICY } from '../model/policy.ts'
import type {
  Agenda,
  ClusterState,
  Count,
  Directives,
  Kind,
  Owner,
  PolicyState,
  Seen,
  StateValue,
} from '../model/state.ts'
import {
  AGENDA_KEY,
  ALL_NODES_PREFIX,
  clusterKey,
  countKey,
  DIRECTIVES_KEY,
  kindKey,
  nodeKey,
  ownerKey,
  POLICY_KEY,
  seenKey,
} from './key.ts'
import { rangeOf } from './table.ts'

export interface StateReader {
  get(key: string): StateValue | undefined
}

export interface Graph extends StateReader {
  put(key: string, value: StateValue): void
  remove(key: string): void
  /** What changed since the last call, in the order in which it was first changed: one record's doing. */
  takeRecent(): Map<string, StateValue | null>
  /** All changes since `clear`. */
  readonly changes: ReadonlyMap<string, StateValue | null>
  /**
   * The stored keys with the overlay's changes laid over them: all keys with this prefix behind `after`, up to and with `upTo` (undefined:
   * to the end), in order. `stored` must hold all of the store's in that range.
   */
  overlaid(stored: readonly string[], range: OverlaidRange): readonly string[]
  clear(): void
}

export interface OverlaidRange {
  readonly prefix: string
  readonly after: string
  readonly upTo: string | undefined
}

export function graphOver(reader: StateReader): Graph {
  const changes = new Map<string, StateValue | null>()
  const buckets = new Map<string, Set<string>>()
  /** Of each first letter the bucket used last: nearly always the next one's, too. */
  let last: (Bucket | undefined)[] = []
  let recent = new Map<string, StateValue | null>()

  function change(key: string, value: StateValue | null): void {
    changes.set(key, value)
    recent.set(key, value)
    const letter = key.charCodeAt(0)
    const likely = last[letter]
    if (likely !== undefined && key.startsWith(likely.prefix)) {
      likely.keys.add(key)
      return
    }
    const prefix = rangeOf(key)
    if (prefix === undefined) return
    const keys = buckets.get(prefix) ?? new Set()
    buckets.set(prefix, keys.add(key))
    last[letter] = { prefix, keys }
  }

  return {
    changes,
    get(key) {
      const changed = changes.get(key)
      if (changed !== undefined) return changed ?? undefined
      return changed === null ? undefined : reader.get(key)
    },
    put: change,
    remove(key) {
      change(key, null)
    },
    takeRecent() {
      const taken = recent
      recent = new Map()
      return taken
    },
    overlaid(stored, { prefix, after, upTo }) {
      invariant(isRange(prefix), 'a page of keys that the overlay does not hold by range')
      const keys = new Set(stored)
      for (const key of overlaidKeys(buckets, prefix)) {
        if (key <= after || (upTo !== undefined && key > upTo)) continue
        if (changes.get(key) === null) keys.delete(key)
        else keys.add(key)
      }
      return [...keys].sort(byAscii)
    },
    clear() {
      invariant(recent.size === 0, 'a record was folded whose changes nobody took')
      changes.clear()
      buckets.clear()
      last = []
    },
  }
}

/** The changed keys of one range. */
interface Bucket {
  readonly prefix: string
  readonly keys: Set<string>
}

/** Changed keys with this prefix; `node/`, of all clusters, is read as a whole when a policy changes. */
function* overlaidKeys(buckets: Map<string, Set<string>>, prefix: string): Iterable<string> {
  if (prefix !== ALL_NODES_PREFIX) return yield* buckets.get(prefix) ?? []
  for (const [bucket, keys] of buckets) if (bucket.startsWith(prefix)) yield* keys
}

function isRange(prefix: string): boolean {
  return prefix === ALL_NODES_PREFIX || rangeOf(`${prefix}x`) === prefix
}

function byAscii(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
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
): Owner | undefined {
  return typed(graph.get(ownerKey(cluster, uid, coordinates)), 'Owner')
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

function typed<T extends StateValue['type']>(
  value: StateValue | undefined,
  type: T,
): Extract<StateValue, { type: T }> | undefined {
  invariant(value === undefined || value.type === type, 'a key holds a value of another type')
  return value as Extract<StateValue, { type: T }> | undefined
}
