/**
 * What each object was at any moment, who referenced it then, and what held it: the part of the index (history-index.ts) that answers questions about the past.
 *
 * What must stay true: it is made of `history` and of the null values of `lineage` alone, so it can be rebuilt, and nothing rests on it. One value an object holds
 * all of its states; each is exact from its event on. What was forgotten, or was never recorded here, lies before the horizon of its cluster: whoever asks for a
 * moment before that is refused, and never told that nothing was there. The same entries give the same bytes, in whatever pages they come.
 *
 * Not here: reading the log (history-index.ts), what a moment is and whether it can be asked (moment.ts), answers (past-tree.ts, object-list.ts).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import type {
  ClusterId,
  Coordinates,
  GroupKind,
  OwnerReference,
  Uid,
} from '../../../../core/model/object.ts'
import { groupOf } from '../../../../core/model/object.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type {
  AddedChunk,
  HistoryRecord,
  KnownHold,
  Lineage,
} from '../../../../ports/record/lineage.ts'
import type {
  Life,
  LifeState,
  OwnerList,
  PastPhase,
} from '../../../../ports/record/service-record.ts'
import type { Store, StoreChange, StoreEntry } from '../../../../ports/store.ts'
import { prefixRange } from '../../../../ports/store.ts'
import { OF_OBJECT } from '../../fold/known-object.ts'
import { part, uidOfPart, uidPart } from './index-key.ts'
import {
  chunkBytes,
  costOf,
  isSameList,
  type Listed,
  listOf,
  NO_OWNERS,
  ownerChanges,
  referencesOf,
  unknownList,
} from './life-owners.ts'
import type { Horizon, Moment } from './moment.ts'
import { holds } from './moment.ts'

/** States of one object that are kept, the newest: one that flips without end must not fill the index. What it was before is `unknown`. */
const MOST_STATES = 200
/**
 * And as many as have so many owner references, or chunks of them, together: each entry about the
 * object costs time for all of them. The newest is kept whatever it has.
 */
const MOST_REFERENCES = 1_000

export interface PastObject extends Coordinates {
  readonly uid: Uid
  readonly phase: PastPhase
  readonly createdAt: number | null
  readonly deletedAt: number | null
  /** Append time of the event that brought this state about, but for what held it, and its position. */
  readonly since: number
  readonly position: number
  /** None where it is not there. */
  readonly owners: readonly OwnerReference[]
  readonly held: KnownHold | null
}

export interface SpanIndex {
  /** Undefined: it was not seen by then. */
  objectAt(cluster: ClusterId, uid: Uid, moment: Moment): PastObject | undefined
  /** As it was when it last was there; undefined where that is not kept. */
  lastThere(cluster: ClusterId, uid: Uid): PastObject | undefined
  /** At two moments. Undefined: it was never seen. */
  objectBetween(cluster: ClusterId, uid: Uid, from: Moment, to: Moment): Between | undefined
  /** Keys of all that changed in some minutes, the earliest minute first, then by uid; one that changed in several has a key in each of them (`minuteIn`). */
  changedPage(
    cluster: ClusterId,
    minutes: Minutes,
    after: string,
    limit: number,
  ): Promise<readonly string[]>
  /** Keys of all that were ever seen of a kind, or (null) of all kinds, forgotten ones aside; those behind a key, in an order that nothing changes. */
  page(
    cluster: ClusterId,
    kind: GroupKind | null,
    after: string,
    limit: number,
  ): Promise<readonly string[]>
  /** Keys of all that ever named an owner, by its uid and coordinates; by a kind in another case, too. */
  dependentsPage(owner: Identity, after: string, limit: number): Promise<readonly string[]>
  /** Keys of all that ever bore the owner's uid in a reference that names other coordinates. */
  misnamedPage(owner: Identity, limit: number): Promise<readonly string[]>
  /** Any object ever bore that uid in a reference. */
  isInReference(cluster: ClusterId, uid: Uid): Promise<boolean>
  /** Keys of all that were ever held in a namespace (undefined: in all), and whether one may have been at the moment. */
  heldPage(
    cluster: ClusterId,
    namespace: string | undefined,
    moment: Moment,
    after: string,
    limit: number,
  ): Promise<readonly (readonly [key: string, isMeant: boolean])[]>
  /** Keys of objects that had more states than are kept: of a moment before the first one nobody can say who referenced whom. */
  cutPage(cluster: ClusterId, limit: number): Promise<readonly string[]>
  /** Undefined: of this cluster nothing was lost. */
  horizon(cluster: ClusterId): Horizon | undefined
}

export interface Between {
  readonly before: PastObject | undefined
  readonly after: PastObject | undefined
}

/** Of append time, since 1970; both included. */
export interface Minutes {
  readonly first: number
  readonly last: number
}

const MINUTE_MS = 60_000

/** In which one a change counts that was appended then. */
export function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS)
}

/** Of a key of `changedPage`. */
export function minuteIn(key: string): number {
  return Number(key.split('/').at(-2))
}

/** The uid at the end of a key of a page. */
export function uidIn(key: string): Uid {
  return uidOfPart(key.slice(key.lastIndexOf('/') + 1))
}

export function createSpanIndex(store: Pick<Store, 'get' | 'page'>, codec: Codec): SpanIndex {
  async function entriesOf(
    prefix: string,
    after: string,
    limit: number,
  ): Promise<readonly StoreEntry[]> {
    const all = prefixRange(prefix, limit)
    if (all.lt <= after) return []
    const range = all.gte <= after ? { ...all, gte: `${after}\0` } : all
    return (await store.page(range)).rows
  }
  function readerOf(cluster: ClusterId, uid: Uid): ReadList {
    const id = uidPart(uid)
    return (list) => referencesOf(codec, list, (name) => store.get(chunkKey(cluster, id, name)))
  }
  async function keysOf(prefix: string, after: string, limit: number): Promise<readonly string[]> {
    return (await entriesOf(prefix, after, limit)).map(([key]) => key)
  }
  return {
    objectAt(cluster, uid, moment) {
      const bytes = store.get(lifeKey(cluster, uidPart(uid)))
      if (bytes === undefined) return undefined
      return stateAt(codec.decode(bytes) as Life, uid, moment, readerOf(cluster, uid))
    },
    lastThere(cluster, uid) {
      const bytes = store.get(lifeKey(cluster, uidPart(uid)))
      if (bytes === undefined) return undefined
      return lastStateIn(codec.decode(bytes) as Life, uid, readerOf(cluster, uid))
    },
    objectBetween(cluster, uid, from, to) {
      const bytes = store.get(lifeKey(cluster, uidPart(uid)))
      if (bytes === undefined) return undefined
      const life = codec.decode(bytes) as Life
      const read = readerOf(cluster, uid)
      return { before: stateAt(life, uid, from, read), after: stateAt(life, uid, to, read) }
    },
    async changedPage(cluster, { first, last }, after, limit) {
      const all = prefixRange(changedPrefix(cluster), limit)
      const from = changedPrefix(cluster) + minuteText(first)
      const to = changedPrefix(cluster) + minuteText(last + 1)
      const gte = from <= after ? `${after}\0` : from
      const lt = to < all.lt ? to : all.lt
      return gte < lt ? (await store.page({ ...all, gte, lt })).rows.map(([key]) => key) : []
    },
    page: async (cluster, kind, after, limit) =>
      await keysOf(kindPrefix(cluster, kind), after, limit),
    dependentsPage: async (owner, after, limit) => await keysOf(edgesPrefix(owner), after, limit),
    async misnamedPage(owner, limit) {
      const all = prefixRange(bearersPrefix(owner.cluster, owner.uid), limit)
      const own = prefixRange(edgesPrefix(owner), limit)
      const { rows } = await store.page({ ...all, lt: own.gte })
      const left = limit - rows.length
      const behind = left > 0 ? await store.page({ ...all, gte: own.lt, limit: left }) : null
      return [...rows, ...(behind?.rows ?? [])].map(([key]) => key)
    },
    async isInReference(cluster, uid) {
      return (await store.page(prefixRange(bearersPrefix(cluster, uid), 1))).rows.length > 0
    },
    async heldPage(cluster, namespace, moment, after, limit) {
      const page = await entriesOf(heldPrefix(cluster, namespace), after, limit)
      return page.map(([key, bytes]) => [key, isWithin(moment, bytes)] as const)
    },
    cutPage: async (cluster, limit) => await keysOf(cutPrefix(cluster), '', limit),
    horizon: (cluster) => horizonIn(store.get(horizonKey(cluster))),
  }
}

/** Undefined where not all of the list is known. */
type ReadList = (list: OwnerList) => readonly OwnerReference[] | undefined

function lastStateIn(life: Life, uid: Uid, read: ReadList): PastObject | undefined {
  const last = life.states.findLast(({ phase }) => !OUT.has(phase))
  if (last === undefined) return undefined
  return stateAt(life, uid, { type: 'position', position: last.position + 1, at: last.at }, read)
}

function stateAt(life: Life, uid: Uid, moment: Moment, read: ReadList): PastObject | undefined {
  const { group, kind, namespace, name, createdAt, states, isCut } = life
  const about = { group, kind, namespace, name, uid, createdAt }
  const last = states.findLastIndex(({ position, at }) => holds(moment, position, at))
  const state = states[last]
  if (state === undefined) return isCut ? { ...about, ...unknownAt(states[0]) } : undefined
  const owners = read(life.owners[state.owners] ?? NO_OWNERS)
  if (owners === undefined) return { ...about, ...unknownAt(state) }
  const { phase, deletedAt, held } = state
  const { position, at: since } = states[beganAt(states, last)] ?? state
  return { ...about, phase, deletedAt, position, since, owners, held }
}

function unknownAt({ position = 0, at: since = 0 }: Partial<LifeState> = {}) {
  return { phase: 'unknown', deletedAt: null, position, since, owners: [], held: null } as const
}

/** Of a state, the first since which all is the same but what holds it: that is told beside, and no change of the object. */
function beganAt(all: readonly LifeState[], last: number): number {
  let first = last
  while (first > 0 && isOnlyOtherHold(all[first - 1], all[first])) first -= 1
  return first
}

function isOnlyOtherHold(a: LifeState | undefined, b: LifeState | undefined): boolean {
  if (a === undefined || b === undefined) return false
  const isSame = a.phase === b.phase && a.deletedAt === b.deletedAt && a.owners === b.owners
  return isSame && JSON.stringify(a.held) !== JSON.stringify(b.held)
}

/** The changes of one page of the log. Later entries of it see what earlier ones changed. */
export class SpanChanges {
  readonly #store: Pick<Store, 'get'>
  readonly #codec: Codec
  readonly #isTrimmed: boolean
  readonly #changes = new Map<string, Uint8Array | null>()
  /** Lives that this page changed, by key: an object mostly has several entries in it. Null where it was forgotten. */
  readonly #lives = new Map<string, Life | null>()

  /** `isTrimmed`: history was, before it was first read. */
  constructor(store: Pick<Store, 'get'>, codec: Codec, isTrimmed: boolean) {
    this.#store = store
    this.#codec = codec
    this.#isTrimmed = isTrimmed
  }

  take(): StoreChange[] {
    const all: StoreChange[] = []
    for (const [key, life] of this.#lives) {
      all.push([key, life === null ? null : this.#codec.encode(life)])
    }
    for (const change of this.#changes) all.push(change)
    return all
  }

  add(record: HistoryRecord): void {
    const { cluster, uid, change, object } = record
    if (object === null && !OF_OBJECT.has(change)) return
    const id = uidPart(uid)
    const known = this.#life(cluster, id)
    const life = known ?? this.#begun(record)
    // An older version recorded no owners: nobody can say what there was until it is all told anew.
    if (object === null) this.#raise(cluster, NEVER)
    else this.#putLife(cluster, id, known, grown(life, record, object), object.long?.added)
  }

  /**
   * An object was forgotten, at this append time: what it was is no longer answered, and nor is any moment at which it was. Answers with the position from which it
   * is there once more, with the same uid; undefined where it is not.
   */
  forget(cluster: ClusterId, uid: Uid, timestamp: number): number | undefined {
    const id = uidPart(uid)
    const life = this.#life(cluster, id)
    // What is forgotten was deleted long before: at that very time it is another life, which may be read before this is, or later.
    const isOut = ({ at, phase }: LifeState): boolean => at < timestamp && OUT.has(phase)
    const last = life?.states.findLastIndex(isOut) ?? -1
    const gone = life?.states[last]
    if (life === undefined || gone === undefined) return undefined
    this.#raise(cluster, { position: gone.position + 1, at: gone.at })
    const states = life.states.slice(last + 1)
    const [again] = states
    if (again !== undefined) {
      const isNode = states.some(({ phase }) => !OUT.has(phase))
      const createdAt = isNode ? life.createdAt : null
      this.#putLife(cluster, id, life, { ...life, createdAt, states, isBase: false })
      return again.position
    }
    this.#putOut(cluster, id, life)
    return undefined
  }

  #putOut(cluster: ClusterId, id: string, life: Life): void {
    this.#lives.set(lifeKey(cluster, id), null)
    this.#changes.set(listKey(cluster, id, life), null)
    for (const minute of minutesOf(life.states)) {
      this.#changes.set(changedKey(cluster, minute, id), null)
    }
    if (life.isCut) this.#changes.set(cutPrefix(cluster) + id, null)
    if (heldSpan(life) !== undefined) this.#changes.set(heldKey(cluster, id, life), null)
    this.#putOwners(cluster, id, [life, { ...life, owners: [] }])
  }

  /**
   * An object as its last record says, where history no longer has its creation: the index is built anew, and what is older was trimmed. What it was before that
   * record is not known.
   */
  base({
    cluster,
    uid,
    group,
    kind,
    namespace,
    name,
    phase,
    position,
    at,
    ...rest
  }: Lineage): void {
    const id = uidPart(uid)
    const known = this.#life(cluster, id)
    const [first, ...later] = known?.states ?? []
    const [next] = later
    const isOlder = first !== undefined && first.position >= Number(position)
    const isInHistory = next !== undefined && next.position <= Number(position)
    if ((known !== undefined && !known.isBase) || isOlder || isInHistory) return
    const listed = rest.owners.map(({ standing: _, blocking: blockOwnerDeletion, ...each }) => {
      return { ...each, blockOwnerDeletion }
    })
    // Of a suspect nobody can say whether its kind is watched.
    const then = phase === 'suspect' ? 'unknown' : phase
    this.#raise(cluster, { position: Number(position) + 1, at })
    const list =
      rest.moreOwners > 0 ? unknownList(rest.moreOwners) : { references: listed, chunks: [] }
    const owners = [...(known?.owners ?? []), then === 'gone' ? NO_OWNERS : list]
    const state: LifeState = {
      ...{ position: Number(position), at, phase: then, deletedAt: rest.deletedAt },
      ...{ owners: owners.length - 1, held: rest.held },
    }
    this.#putLife(cluster, id, known, {
      ...{ type: 'Life', group, kind, namespace, name, createdAt: rest.createdAt },
      ...{ states: [state, ...later], owners, isCut: false, isBase: true },
    })
  }

  /** The same of one that was forgotten: a record before that one may still be there. */
  baseForgotten(cluster: ClusterId, uid: Uid, timestamp: number): void {
    const id = uidPart(uid)
    const life = this.#life(cluster, id)
    const [first, ...later] = life?.states ?? []
    if (life?.isBase && first !== undefined && later.length === 0 && first.at <= timestamp) {
      this.#putOut(cluster, id, life)
    } else this.forget(cluster, uid, timestamp)
  }

  /** Nothing of the cluster is known before. */
  #raise(cluster: ClusterId, horizon: Horizon): void {
    const key = horizonKey(cluster)
    const known = horizonIn(this.#get(key))
    if (known !== undefined && known.position >= horizon.position) return
    this.#changes.set(key, bytesOf([horizon.position, horizon.at]))
  }

  /** Where the first entry of an object is not its creation, that was trimmed; or it never was in the graph, and only its deletion was observed. */
  #begun({
    cluster,
    group,
    kind,
    namespace,
    name,
    change,
    position,
    at,
    object,
  }: HistoryRecord): Life {
    if (change !== 'created' && this.#isTrimmed)
      this.#raise(cluster, { position: Number(position) + 1, at })
    const createdAt = object?.createdAt ?? null
    const about = { type: 'Life', group, kind, namespace, name, createdAt } as const
    return { ...about, states: [], owners: [], isCut: false, isBase: false }
  }

  #putLife(
    cluster: ClusterId,
    id: string,
    known: Life | undefined,
    life: Life,
    came: readonly AddedChunk[] = [],
  ): void {
    const kept = inOrder(life)
    this.#lives.set(lifeKey(cluster, id), kept)
    if (!isSamePlace(known, kept)) {
      if (known !== undefined) this.#changes.set(listKey(cluster, id, known), null)
      this.#changes.set(listKey(cluster, id, kept), NO_BYTES)
    }
    this.#putMinutes(cluster, id, known, kept)
    this.#putHeld(cluster, id, known, kept)
    if (kept.isCut && !known?.isCut) this.#changes.set(cutPrefix(cluster) + id, NO_BYTES)
    this.#putOwners(cluster, id, [known, kept], came)
  }

  #putHeld(cluster: ClusterId, id: string, known: Life | undefined, kept: Life): void {
    const [span, former] = [heldSpan(kept), heldSpan(known)]
    const isMoved = known !== undefined && known.namespace !== kept.namespace
    if (span === former && !isMoved) return
    if (known !== undefined && former !== undefined) {
      this.#changes.set(heldKey(cluster, id, known), null)
    }
    if (span !== undefined) this.#changes.set(heldKey(cluster, id, kept), Buffer.from(span))
  }

  /** `came`: chunks that the record brought. */
  #putOwners(
    cluster: ClusterId,
    id: string,
    [known, kept]: readonly [known: Life | undefined, kept: Life],
    came: readonly AddedChunk[] = [],
  ): void {
    if (known?.owners === kept.owners && known.namespace === kept.namespace) return
    const before: Listed = { owners: known?.owners ?? [], namespace: (known ?? kept).namespace }
    const keyOf = (name: string): string => chunkKey(cluster, id, name)
    const edgeOf = (namespace: string, reference: OwnerReference): string =>
      `${edgeTo(cluster, namespace, reference)}${id}`
    const parts = { codec: this.#codec, edgeOf, read: (name: string) => this.#get(keyOf(name)) }
    const changes = ownerChanges(parts, [before, kept], came)
    for (const name of changes.dropped) this.#changes.set(keyOf(name), null)
    for (const chunk of changes.added) {
      this.#changes.set(keyOf(chunk.name), chunkBytes(this.#codec, chunk))
    }
    for (const edge of changes.gone) this.#changes.set(edge, null)
    for (const edge of changes.edges) {
      if (this.#get(edge) === undefined) this.#changes.set(edge, NO_BYTES)
    }
  }

  #putMinutes(cluster: ClusterId, id: string, known: Life | undefined, kept: Life): void {
    const states = known?.states ?? []
    const same = countSame(states, kept.states)
    // All that were known are kept, mostly, and one is new.
    const before = same === states.length ? undefined : minutesOf(states)
    for (const { at } of kept.states.slice(same)) {
      const minute = minuteOf(at)
      const wasThere = before?.has(minute) ?? states.some((each) => minuteOf(each.at) === minute)
      if (!wasThere) this.#changes.set(changedKey(cluster, minute, id), NO_BYTES)
    }
    if (same === states.length) return
    const after = minutesOf(kept.states)
    for (const minute of minutesOf(states)) {
      if (!after.has(minute)) this.#changes.set(changedKey(cluster, minute, id), null)
    }
  }

  #life(cluster: ClusterId, id: string): Life | undefined {
    const key = lifeKey(cluster, id)
    const changed = this.#lives.get(key)
    if (changed !== undefined) return changed ?? undefined
    const bytes = this.#store.get(key)
    return bytes === undefined ? undefined : (this.#codec.decode(bytes) as Life)
  }

  #get(key: string): Uint8Array | undefined {
    const changed = this.#changes.get(key)
    return changed === undefined ? this.#store.get(key) : (changed ?? undefined)
  }
}

function grown(
  life: Life,
  { change, position, at, group, kind, namespace, name }: HistoryRecord,
  object: NonNullable<HistoryRecord['object']>,
): Life {
  const list = listOf(object)
  const known = life.owners.findIndex((each) => isSameList(each, list))
  const owners = known < 0 ? [...life.owners, list] : life.owners
  const state: LifeState = {
    position: Number(position),
    at,
    phase: object.phase ?? (change === 'gone' ? 'gone' : 'hidden'),
    deletedAt: object.deletedAt,
    owners: known < 0 ? owners.length - 1 : known,
    held: object.held,
  }
  // Several entries of one event say the same; the log may give an entry twice.
  const before = life.states.findLastIndex((earlier) => earlier.position < state.position)
  const all = [...life.states.slice(0, before + 1), state]
  // What is deleted, or was looked for, may be another that bears the uid.
  const isOther = change === 'gone' || change === 'owner'
  const place = isOther ? life : { group, kind, namespace, name }
  const states = newest(all, owners)
  const isCut = life.isCut || states.length < all.length
  return {
    type: 'Life',
    group: place.group,
    kind: place.kind,
    namespace: place.namespace,
    name: place.name,
    createdAt: object.createdAt ?? life.createdAt,
    states,
    owners,
    isCut,
    isBase: life.isBase && !isCut,
  }
}

function newest(all: readonly LifeState[], lists: Life['owners']): readonly LifeState[] {
  const most = lists.reduce((sum, list) => sum + costOf(list), 0)
  if (all.length <= MOST_STATES && most <= MOST_REFERENCES) return all
  const counted = new Set<number>()
  let references = 0
  const tooOld = all.findLastIndex(({ owners }, index) => {
    if (!counted.has(owners)) references += costOf(lists[owners] ?? NO_OWNERS)
    counted.add(owners)
    const count = all.length - index
    return count > 1 && (count > MOST_STATES || references > MOST_REFERENCES)
  })
  return all.slice(tooOld + 1)
}

/** It is listed below the same kind. */
function isSamePlace(a: Life | undefined, b: Life): boolean {
  return a !== undefined && a.group === b.group && a.kind === b.kind
}

/** Lists of owners are in the order in which states name them, and no others are kept. */
function inOrder(life: Life): Life {
  if (isInOrder(life)) return life
  const used = [...new Set(life.states.map(({ owners }) => owners))]
  const states = life.states.map((state) => ({ ...state, owners: used.indexOf(state.owners) }))
  return { ...life, states, owners: used.map((index) => life.owners[index] ?? NO_OWNERS) }
}

function isInOrder({ states, owners }: Life): boolean {
  let named = 0
  for (const state of states) {
    if (state.owners > named) return false
    if (state.owners === named) named += 1
  }
  return named === owners.length
}

/** Of the first values of both: how many are the very same. Mostly all that were known are, and one is new. */
function countSame<T>(known: readonly T[], kept: readonly T[]): number {
  let same = 0
  while (same < known.length && known[same] === kept[same]) same += 1
  return same
}

/** Prefix of an edge from an object in a namespace, before its id. */
function edgeTo(
  cluster: ClusterId,
  namespace: string,
  { apiVersion, kind, name, uid }: OwnerReference,
): string {
  const named = { group: groupOf(apiVersion), kind, name }
  return `${namedPrefix(cluster, uid, named)}${part(namespace)}/`
}

function minutesOf(states: readonly LifeState[]): Set<number> {
  const minutes = new Set<number>()
  for (const { at } of states) minutes.add(minuteOf(at))
  return minutes
}

/** The first event after which it was held, and the one after which it was held no more: position and append time of each. Undefined: it never was. */
function heldSpan(life: Life | undefined): string | undefined {
  const first = life?.states.find(isHeld)
  if (life === undefined || first === undefined) return undefined
  const [end] = life.states.slice(life.states.findLastIndex(isHeld) + 1)
  const ends = end === undefined ? [first] : [first, end]
  return JSON.stringify(ends.map(({ position, at }) => [position, at]))
}

function isHeld({ held }: LifeState): boolean {
  return held !== null
}

/** Of a value that `heldSpan` made. */
function isWithin(moment: Moment, bytes: Uint8Array): boolean {
  const [first, end] = JSON.parse(Buffer.from(bytes).toString()) as [number, number][]
  if (first === undefined || !holds(moment, ...first)) return false
  return end === undefined || !holds(moment, ...end)
}

/** It is not in the graph. */
const OUT: ReadonlySet<PastPhase> = new Set(['gone', 'hidden'])

/** Nothing at all can be asked of the cluster. */
export const NEVER: Horizon = { position: Number.MAX_SAFE_INTEGER, at: Number.MAX_SAFE_INTEGER }

const NO_BYTES = new Uint8Array()

function bytesOf(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

function horizonIn(bytes: Uint8Array | undefined): Horizon | undefined {
  if (bytes === undefined) return undefined
  const [position = 0, at = 0] = JSON.parse(Buffer.from(bytes).toString()) as number[]
  return { position, at }
}

/** The last one is mostly the next one, too. */
let lastCluster: readonly [cluster: ClusterId, part: string] = ['', '']

function clusterPart(cluster: ClusterId): string {
  if (lastCluster[0] !== cluster) lastCluster = [cluster, uidPart(cluster)]
  return lastCluster[1]
}

/** `id` is the `uidPart` of the object, here and below. */
function lifeKey(cluster: ClusterId, id: string): string {
  return `life/${clusterPart(cluster)}/${id}`
}

/** Null: of all kinds. */
export function kindPrefix(cluster: ClusterId, kind: GroupKind | null): string {
  const all = `lives/${clusterPart(cluster)}/`
  return kind === null ? all : `${all}${part(kind.kind)}.${part(kind.group)}/`
}

function listKey(cluster: ClusterId, id: string, { group, kind }: Life): string {
  return kindPrefix(cluster, { group, kind }) + id
}

function changedPrefix(cluster: ClusterId): string {
  return `changed/${clusterPart(cluster)}/`
}

function changedKey(cluster: ClusterId, minute: number, id: string): string {
  return `${changedPrefix(cluster)}${minuteText(minute)}/${id}`
}

/** In the order of numbers: no date has more digits. */
function minuteText(minute: number): string {
  const most = 10 ** MINUTE_DIGITS - 1
  return `${Math.min(Math.max(0, minute), most)}`.padStart(MINUTE_DIGITS, '0')
}

const MINUTE_DIGITS = 12

function cutPrefix(cluster: ClusterId): string {
  return `cut/${clusterPart(cluster)}/`
}

/** Undefined: of all namespaces. */
function heldPrefix(cluster: ClusterId, namespace: string | undefined): string {
  const all = `held/${clusterPart(cluster)}/`
  return namespace === undefined ? all : `${all}${part(namespace)}/`
}

function heldKey(cluster: ClusterId, id: string, { namespace }: Life): string {
  return heldPrefix(cluster, namespace) + id
}

function chunkKey(cluster: ClusterId, id: string, name: string): string {
  return `chunk/${clusterPart(cluster)}/${id}/${name}`
}

/** Of all references that bear a uid, whatever they name. */
function bearersPrefix(cluster: ClusterId, uid: Uid): string {
  return `owned/${clusterPart(cluster)}/${uidPart(uid)}/`
}

/** Of those that name this, from whatever namespace. A kind may be written in lower case. */
function namedPrefix(
  cluster: ClusterId,
  uid: Uid,
  { group, kind, name }: Pick<Coordinates, 'group' | 'kind' | 'name'>,
): string {
  return `${bearersPrefix(cluster, uid)}${part(kind.toLowerCase())}.${part(group)}/${part(name)}/`
}

/** Of those that name this owner: where it is in a namespace, from there only. */
function edgesPrefix(owner: Identity): string {
  const named = namedPrefix(owner.cluster, owner.uid, owner)
  return owner.namespace === '' ? named : `${named}${part(owner.namespace)}/`
}

function horizonKey(cluster: ClusterId): string {
  return `horizon/${clusterPart(cluster)}`
}
