/**
 * Which owners in other clusters objects of this cluster name, what the lineage of those clusters
 * says of them, and the events that follow: what a watcher publishes beside its objects.
 *
 * What must stay true: only owners that both sides share are remembered at all. A fact about an
 * owner comes after the record of an object that names it, and all facts of a cluster come before
 * the word that it is followed. Only a deletion that a live watch observed, in the epoch that is
 * followed, is `deleted`. What is not known is not published. The fold forgets an owner with the
 * last object that names it, and may do so before this bridge: so each object that names one anew,
 * or is published as a new one, has it published again, and a round publishes an owner once,
 * however many objects there are. One without a record, once all are read, is unknown: it may have
 * been published as something else before this bridge.
 *
 * Not here: reading lineage, and whether a cluster is followed (other-cluster.ts), how many owners
 * are remembered (known-owners.ts), what becomes of the objects (core/judge/elsewhere.ts).
 */
import { isShared } from '../../core/judge/elsewhere.ts'
import type { ClusterElsewhere, OwnerElsewhere } from '../../core/model/event.ts'
import { type ClusterId, isSamePlace, type ObjectMeta, type Uid } from '../../core/model/object.ts'
import {
  type OwnerElsewhereName,
  ownerNamedBy,
  type RuleElsewhere,
} from '../../core/model/rule/elsewhere.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Lineage } from '../../ports/record/lineage.ts'
import { KnownOwners } from './known-owners.ts'

export type BridgeEvent = OwnerElsewhere | ClusterElsewhere

export interface BridgeParts {
  /** Of the objects that name owners elsewhere. */
  readonly cluster: ClusterId
  readonly epoch: number
  /** As long as a bridge lives they are these: others take another one, which reads all anew. */
  readonly rules: readonly Rule[]
}

/** Another cluster, as it is now. */
export interface OtherCluster {
  readonly clusterEpoch: number
  /** Why it is not followed; empty where it is, and all of its lineage until now was noted. */
  readonly cutOffBecause: string
  /** Up to where its events were folded before its lineage was read. */
  readonly folded: bigint
}

/** What the lineage says of an owner. */
interface Known {
  readonly namespace: string
  readonly lineage: OwnerLineage
  /** Its record was removed: it is remembered for as long as an object names it. */
  readonly isForgotten: boolean
}

/** So much is kept of a record. */
type OwnerLineage = Pick<
  Lineage,
  | ('cluster' | 'uid' | 'group' | 'kind' | 'namespace' | 'name' | 'version' | 'resource')
  | ('phase' | 'doubt' | 'departure' | 'position' | 'createdAt')
>

/** Of an object, which owner it names. */
interface Named extends Naming {
  /** Not so where a list has it alone: the fold may not have it yet. */
  readonly isPublished: boolean
}

type Naming = Pick<OwnerElsewhereName, 'cluster' | 'uid'>

interface Followed {
  readonly owners: KnownOwners<Known>
  /** How many objects name each, and as what. */
  readonly named: Map<Uid, { readonly count: number; readonly owner: OwnerElsewhereName }>
  /** Of those that are named, as they were published last. */
  readonly published: Map<Uid, OwnerElsewhere>
  /** To be published. */
  readonly pending: Set<Uid>
  /** Undefined until it is known. */
  state: OtherCluster | undefined
  /** All of its lineage was read once. */
  isRead: boolean
  saidAt: number
  isNews: boolean
}

/** As often as the fold expects it (core/model/constant.ts, ELSEWHERE_FRESH_MS), three times. */
export const PULSE_MS = 60_000

export class OwnerBridge {
  readonly #cluster: ClusterId
  readonly #epoch: number
  readonly #imports: readonly RuleElsewhere[]
  readonly #clusters = new Map<ClusterId, Followed>()
  /** By the object that names it. */
  readonly #names = new Map<Uid, Named>()

  constructor({ cluster, epoch, rules }: BridgeParts) {
    this.#cluster = cluster
    this.#epoch = epoch
    this.#imports = rules.flatMap(({ elsewhere }) => elsewhere ?? [])
    for (const each of this.#imports) {
      if (!this.#clusters.has(each.cluster)) this.#clusters.set(each.cluster, newFollowed())
    }
  }

  /** Whose lineage is to be read. */
  get clusters(): readonly ClusterId[] {
    return [...this.#clusters.keys()]
  }

  /** An object was published; as a new one, which the fold may have forgotten meanwhile. */
  noteObject(object: Marked, isNew: boolean): void {
    const had = this.#names.get(object.uid)
    const has = this.#ownerOf(object)
    const isSame = had?.cluster === has?.cluster && had?.uid === has?.uid
    if (!isNew && had?.isPublished === true && isSame) return
    this.noteGone(object.uid)
    if (has !== null) this.#name(object.uid, has, true)
  }

  /** It is there; what was published of it is newer. */
  noteListed(object: Marked): void {
    const has = this.#names.has(object.uid) ? null : this.#ownerOf(object)
    if (has !== null) this.#name(object.uid, has, false)
  }

  /** Null also where it is not shared: authors of annotations take no room. */
  #ownerOf({ annotations }: Marked): OwnerElsewhereName | null {
    const owner = ownerNamedBy(annotations)
    return owner !== null && this.#isShared(owner) ? owner : null
  }

  #name(object: Uid, owner: OwnerElsewhereName, isPublished: boolean): void {
    const { cluster, uid } = owner
    const followed = this.#clusters.get(cluster)
    if (followed === undefined) return
    this.#names.set(object, { cluster, uid, isPublished })
    followed.named.set(uid, { owner, count: (followed.named.get(uid)?.count ?? 0) + 1 })
    followed.published.delete(uid)
    if (followed.owners.has(uid)) followed.pending.add(uid)
  }

  /** It left. */
  noteGone(uid: Uid): void {
    const had = this.#names.get(uid)
    const followed = had === undefined ? undefined : this.#clusters.get(had.cluster)
    if (had === undefined || followed === undefined) return
    this.#names.delete(uid)
    const named = followed.named.get(had.uid)
    if (named !== undefined && named.count > 1) {
      followed.named.set(had.uid, { ...named, count: named.count - 1 })
      return
    }
    followed.named.delete(had.uid)
    followed.published.delete(had.uid)
    followed.pending.delete(had.uid)
    if (followed.owners.get(had.uid)?.isForgotten === true) followed.owners.delete(had.uid)
  }

  /** A record of the lineage of another cluster, in order; null: it was removed. */
  noteLineage(cluster: ClusterId, uid: Uid, lineage: Lineage | null): void {
    const followed = this.#clusters.get(cluster)
    if (followed === undefined) return
    const known = followed.owners.get(uid)
    const isNamed = followed.named.has(uid)
    const last = lineage === null ? known?.lineage : keptOf(lineage)
    if (last === undefined || (lineage === null && !isNamed) || !this.#isShared(last)) {
      followed.owners.delete(uid)
      return
    }
    const now = { namespace: last.namespace, lineage: last, isForgotten: lineage === null }
    // What was published of those that are forgotten is taken back.
    const changed = [uid, ...followed.owners.set(uid, now)]
    for (const each of changed) if (followed.named.has(each)) followed.pending.add(each)
  }

  /** More owners there are shared than are kept: of some it is not known what they are. */
  isFull(cluster: ClusterId): boolean {
    return this.#clusters.get(cluster)?.owners.isFull === true
  }

  /** The namespaces there of whose owners nothing is known, since they have too many. */
  leftOut(cluster: ClusterId): readonly string[] {
    return [...(this.#clusters.get(cluster)?.owners.leftOut ?? [])]
  }

  #isShared(owner: OwnerElsewhereName): boolean {
    return this.#imports.some((rule) => isShared(rule, owner, this.#cluster))
  }

  noteCluster(cluster: ClusterId, state: OtherCluster): void {
    const followed = this.#clusters.get(cluster)
    if (followed === undefined) return
    const former = followed.state
    const isOther = former?.clusterEpoch !== state.clusterEpoch
    // What was known in another epoch is to be said anew, or to be said no more.
    if (isOther) for (const uid of followed.named.keys()) followed.pending.add(uid)
    if (isOther || former?.cutOffBecause !== state.cutOffBecause) followed.isNews = true
    followed.state = state
    if (followed.isRead || state.cutOffBecause !== '') return
    followed.isRead = true
    for (const uid of followed.named.keys()) {
      if (!followed.owners.has(uid)) followed.pending.add(uid)
    }
  }

  /** Until it is noted again nothing of it is published; then all is. */
  noteForgotten(cluster: ClusterId): void {
    const followed = this.#clusters.get(cluster)
    if (followed !== undefined) followed.state = undefined
  }

  /** All that is to be published now, in this order. */
  take(now: number): readonly BridgeEvent[] {
    return [...this.#clusters].flatMap(([cluster, followed]) =>
      this.#takeOf(cluster, followed, now),
    )
  }

  #takeOf(cluster: ClusterId, followed: Followed, now: number): readonly BridgeEvent[] {
    const { state, pending, published } = followed
    // In which epoch anything is so is not known.
    if (state === undefined) return []
    const events: BridgeEvent[] = []
    for (const uid of pending) {
      const known = followed.owners.get(uid)
      const event =
        known === undefined
          ? this.#unknownOf(followed, uid, state)
          : this.#eventOf(cluster, known, state)
      if (event === undefined) continue
      const last = published.get(uid)
      if (last !== undefined && isAlike(last, event)) continue
      published.set(uid, event)
      events.push(event)
    }
    pending.clear()
    if (!followed.isNews && now - followed.saidAt < PULSE_MS) return events
    followed.isNews = false
    followed.saidAt = now
    return [...events, this.#clusterEvent(cluster, state)]
  }

  #eventOf(ownerCluster: ClusterId, known: Known, state: OtherCluster): OwnerElsewhere {
    const { lineage } = known
    const { group, kind, namespace, name, uid, version, resource, createdAt, position } = lineage
    const found = stateOf(known, state.clusterEpoch)
    const epoch =
      found === 'deleted' || found === 'orphaned' ? lineage.departure?.clusterEpoch : null
    return {
      ...{ type: 'OwnerElsewhere', cluster: this.#cluster, epoch: this.#epoch, ownerCluster },
      ownerEpoch: epoch ?? state.clusterEpoch,
      ...{ place: { group, kind, namespace, name }, uid, version, resource, createdAt },
      ...{ state: found, position },
    }
  }

  /** Of no record; undefined before all were read, or where no object names it. */
  #unknownOf(
    { named, isRead }: Followed,
    uid: Uid,
    { clusterEpoch: ownerEpoch, folded }: OtherCluster,
  ): OwnerElsewhere | undefined {
    const owner = named.get(uid)?.owner
    if (owner === undefined || !isRead) return undefined
    const { cluster: ownerCluster, group, kind, namespace, name } = owner
    return {
      ...{ type: 'OwnerElsewhere', cluster: this.#cluster, epoch: this.#epoch, ownerCluster },
      ...{ ownerEpoch, place: { group, kind, namespace, name }, uid },
      ...{ version: '', resource: '', createdAt: null },
      // Any record that comes is of a later event.
      ...{ state: 'unknown', position: folded > 0n ? folded - 1n : 0n },
    }
  }

  #clusterEvent(ownerCluster: ClusterId, state: OtherCluster): ClusterElsewhere {
    const { clusterEpoch: ownerEpoch, cutOffBecause: because } = state
    return {
      ...{ type: 'ClusterElsewhere', cluster: this.#cluster, epoch: this.#epoch },
      ...{ ownerCluster, ownerEpoch, state: because === '' ? 'followed' : 'cut-off', because },
    }
  }
}

type Marked = Pick<ObjectMeta, 'uid' | 'annotations'>

function keptOf(lineage: Lineage): OwnerLineage {
  const { cluster, uid, group, kind, namespace, name, version, resource } = lineage
  const { phase, doubt, departure, position, createdAt } = lineage
  return {
    ...{ cluster, uid, group, kind, namespace, name, version, resource },
    ...{ phase, doubt, departure, position, createdAt },
  }
}

function newFollowed(): Followed {
  return {
    ...{ owners: new KnownOwners<Known>(), named: new Map(), published: new Map() },
    ...{ state: undefined, saidAt: Number.NEGATIVE_INFINITY, isNews: true },
    ...{ isRead: false, pending: new Set() },
  }
}

/** A deletion of an epoch that is over proves nothing: the object may have been restored. */
function stateOf({ lineage, isForgotten }: Known, clusterEpoch: number): OwnerElsewhere['state'] {
  const { phase, doubt, departure } = lineage
  if (doubt !== null) return 'unknown'
  // What was deleted is forgotten after a while, and stays so.
  if (phase !== 'gone' && isForgotten) return 'unknown'
  if (phase !== 'gone') return phase === 'suspect' ? 'unknown' : 'there'
  if (departure === null || !departure.isWatched || departure.evidence !== 'deleted') {
    return 'unknown'
  }
  if (departure.clusterEpoch < clusterEpoch) return 'unknown'
  return departure.isOrphaning ? 'orphaned' : 'deleted'
}

function isAlike(a: OwnerElsewhere, b: OwnerElsewhere): boolean {
  return a.state === b.state && a.ownerEpoch === b.ownerEpoch && isSamePlace(a.place, b.place)
}
