/**
 * What each object was at any moment, who referenced it then, and what held it: the part of the index (history-index.ts) that answers questions about the past.
 *
 * What must stay true: it is made of `history` and of the null values of `lineage` alone, so it can be rebuilt, and nothing rests on it. One value an object holds
 * all of its states; each is exact from its event on. What was forgotten, or was never recorded here, lies before the horizon of its cluster: whoever asks for a
 * moment before that is refused, and never told that nothing was there. The same entries give the same bytes, in whatever pages they come.
 *
 * Not here: reading the log (history-index.ts), what a moment is and whether it can be asked (moment.ts), answers (past-tree.ts, object-list.ts).
 */
import type { HeldBy, Phase } from '../../../core/model/node.ts'
import type {
  ClusterId,
  Coordinates,
  GroupKind,
  OwnerReference,
  Uid,
} from '../../../core/model/object.ts'
import type { Evidence } from '../../../core/model/proof.ts'
import type { HistoryRecord, KnownHold, Lineage } from '../../../ports/lineage.ts'
import type { Store, StoreChange, StoreEntry } from '../../../ports/store.ts'
import { prefixRange } from '../../../ports/store.ts'
import { OF_OBJECT } from '../fold/known-object.ts'
import { part, uidOfPart, uidPart } from './index-key.ts'
import type { Horizon, Moment } from './moment.ts'
import { holds } from './moment.ts'

/** States of one object that are kept, the newest: one that flips without end must not fill the index. What it was before is `unknown`. */
const MOST_STATES = 200
/** And as many as have so many owner references together: each entry about the object costs time for all of them. The newest is kept whatever it has. */
const MOST_REFERENCES = 1_000

/** `hidden`: it may be there, and nobody says: its kind is not watched. `unknown`: of a moment before the first of its states that is kept. */
export type PastPhase = Phase | 'gone' | 'hidden' | 'unknown'

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
  /** Keys of all that ever referenced an owner. */
  dependentsPage(
    cluster: ClusterId,
    owner: Uid,
    after: string,
    limit: number,
  ): Promise<readonly string[]>
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

/** One state of an object: position of its event, its append time, the phase, the deletionTimestamp, which of the lists of owners, and what held it. */
type State = readonly [
  position: number,
  at: number,
  phase: PastPhase,
  deletedAt: number | null,
  owners: number,
  ...held: readonly [] | readonly [HoldState],
]
type HoldState = readonly [
  by: HeldBy,
  evidence: Evidence | null,
  what: string,
  since: number,
  until: number | null,
  because: string,
]
type OwnerList = readonly (readonly [
  apiVersion: string,
  kind: string,
  name: string,
  uid: Uid,
  controller: boolean | null,
  blocking: boolean | null,
])[]

/** A value of the store, as JSON: short, since there is one of each object that is remembered. */
interface Life {
  /** Group, kind, namespace, name, creation. */
  readonly i: readonly [string, string, string, string, number | null]
  readonly s: readonly State[]
  readonly o: readonly OwnerList[]
  /** What it was before the first state is not known. */
  readonly cut?: true
  /** The first state is from lineage, which may have later records of it. */
  readonly base?: true
}

/** The uid at the end of a key of a page. */
export function uidIn(key: string): Uid {
  return uidOfPart(key.slice(key.lastIndexOf('/') + 1))
}

export function createSpanIndex(store: Pick<Store, 'get' | 'page'>): SpanIndex {
  async function entriesOf(
    prefix: string,
    after: string,
    limit: number,
  ): Promise<readonly StoreEntry[]> {
    const all = prefixRange(prefix, limit)
    if (all.lt <= after) return []
    const range = all.gte <= after ? { ...all, gte: `${after}\0` } : all
    return await store.page(range)
  }
  async function keysOf(prefix: string, after: string, limit: number): Promise<readonly string[]> {
    return (await entriesOf(prefix, after, limit)).map(([key]) => key)
  }
  return {
    objectAt(cluster, uid, moment) {
      const bytes = store.get(lifeKey(cluster, uid))
      return bytes === undefined ? undefined : stateAt(lifeIn(bytes), uid, moment)
    },
    objectBetween(cluster, uid, from, to) {
      const bytes = store.get(lifeKey(cluster, uid))
      if (bytes === undefined) return undefined
      const life = lifeIn(bytes)
      return { before: stateAt(life, uid, from), after: stateAt(life, uid, to) }
    },
    async changedPage(cluster, { first, last }, after, limit) {
      const all = prefixRange(changedPrefix(cluster), limit)
      const from = changedPrefix(cluster) + minuteText(first)
      const to = changedPrefix(cluster) + minuteText(last + 1)
      const gte = from <= after ? `${after}\0` : from
      const lt = to < all.lt ? to : all.lt
      return gte < lt ? (await store.page({ ...all, gte, lt })).map(([key]) => key) : []
    },
    page: async (cluster, kind, after, limit) =>
      await keysOf(kindPrefix(cluster, kind), after, limit),
    dependentsPage: async (cluster, owner, after, limit) =>
      await keysOf(edgePrefix(cluster, owner), after, limit),
    async heldPage(cluster, namespace, moment, after, limit) {
      const page = await entriesOf(heldPrefix(cluster, namespace), after, limit)
      return page.map(([key, bytes]) => [key, isWithin(moment, bytes)] as const)
    },
    cutPage: async (cluster, limit) => await keysOf(cutPrefix(cluster), '', limit),
    horizon: (cluster) => horizonIn(store.get(horizonKey(cluster))),
  }
}

function stateAt({ i, s, o, cut }: Life, uid: Uid, moment: Moment): PastObject | undefined {
  const [group, kind, namespace, name, createdAt] = i
  const about = { group, kind, namespace, name, uid, createdAt }
  const last = s.findLastIndex(([position, at]) => holds(moment, position, at))
  const state = s[last]
  if (state === undefined) {
    const unknown = {
      phase: 'unknown',
      deletedAt: null,
      position: s[0]?.[0] ?? 0,
      since: s[0]?.[1] ?? 0,
      owners: [],
      held: null,
    } as const
    return cut ? { ...about, ...unknown } : undefined
  }
  const [, , phase, deletedAt, list, held] = state
  const [position, since] = s[beganAt(s, last)] ?? state
  const owners = (o[list] ?? []).map(referenceIn)
  return { ...about, phase, deletedAt, position, since, owners, held: holdIn(held) }
}

/** Of a state, the first since which all is the same but what holds it: that is told beside, and no change of the object. */
function beganAt(all: readonly State[], last: number): number {
  let first = last
  while (first > 0 && isOtherHold(all[first - 1], all[first])) first -= 1
  return first
}

function isOtherHold(a: State | undefined, b: State | undefined): boolean {
  const [was, is] = [a?.slice(PHASE_AT, UNHELD_LENGTH), b?.slice(PHASE_AT, UNHELD_LENGTH)]
  const isSame = JSON.stringify(was) === JSON.stringify(is)
  return isSame && JSON.stringify(a?.[UNHELD_LENGTH]) !== JSON.stringify(b?.[UNHELD_LENGTH])
}

/** The changes of one page of the log. Later entries of it see what earlier ones changed. */
export class SpanChanges {
  readonly #store: Pick<Store, 'get'>
  readonly #isTrimmed: boolean
  readonly #changes = new Map<string, Uint8Array | null>()
  /** Lives that this page changed, by key: an object mostly has several entries in it. Null where it was forgotten. */
  readonly #lives = new Map<string, Life | null>()

  /** `isTrimmed`: history was, before it was first read. */
  constructor(store: Pick<Store, 'get'>, isTrimmed: boolean) {
    this.#store = store
    this.#isTrimmed = isTrimmed
  }

  take(): StoreChange[] {
    const lives = [...this.#lives].map(([key, life]): StoreChange => {
      return [key, life === null ? null : bytesOf(life)]
    })
    return [...lives, ...this.#changes]
  }

  add(record: HistoryRecord): void {
    const { cluster, uid, change, object } = record
    if (object === null && !OF_OBJECT.has(change)) return
    const key = lifeKey(cluster, uid)
    const known = this.#life(key)
    const life = known ?? this.#begun(record)
    // An older version recorded no owners: nobody can say what there was until it is all told anew.
    if (object === null) this.#raise(cluster, NEVER)
    else this.#putLife(key, cluster, uid, known, grown(life, record, object))
  }

  /**
   * An object was forgotten, at this append time: what it was is no longer answered, and nor is any moment at which it was. Answers with the position from which it
   * is there once more, with the same uid; undefined where it is not.
   */
  forget(cluster: ClusterId, uid: Uid, timestamp: number): number | undefined {
    const key = lifeKey(cluster, uid)
    const life = this.#life(key)
    // What is forgotten was deleted long before: at that very time it is another life, which may be read before this is, or later.
    const isOut = ([, at, phase]: State): boolean => at < timestamp && OUT.has(phase)
    const last = life?.s.findLastIndex(isOut) ?? -1
    const gone = life?.s[last]
    if (life === undefined || gone === undefined) return undefined
    this.#raise(cluster, { position: gone[0] + 1, at: gone[1] })
    const left = life.s.slice(last + 1)
    const [again] = left
    if (again !== undefined) {
      const isNode = left.some(([, , phase]) => !OUT.has(phase))
      const [group, kind, namespace, name, createdAt] = life.i
      const i = [group, kind, namespace, name, isNode ? createdAt : null] as const
      const { base: _, ...rest } = life
      this.#putLife(key, cluster, uid, life, { ...rest, i, s: left })
      return again[0]
    }
    this.#putOut(cluster, uid, life)
    return undefined
  }

  #putOut(cluster: ClusterId, uid: Uid, life: Life): void {
    this.#lives.set(lifeKey(cluster, uid), null)
    this.#changes.set(listKey(cluster, uid, life), null)
    for (const minute of minutesOf(life)) {
      this.#changes.set(changedKey(cluster, minute, uid), null)
    }
    if (life.cut) this.#changes.set(cutPrefix(cluster) + uidPart(uid), null)
    if (heldSpan(life) !== undefined) this.#changes.set(heldKey(cluster, uid, life), null)
    for (const owner of ownersOf(life)) {
      this.#changes.set(edgePrefix(cluster, owner) + uidPart(uid), null)
    }
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
    const key = lifeKey(cluster, uid)
    const known = this.#life(key)
    const [first, next] = known?.s ?? []
    const isOlder = first !== undefined && first[0] >= Number(position)
    const isInHistory = next !== undefined && next[0] <= Number(position)
    if ((known !== undefined && !known.base) || isOlder || isInHistory) return
    const owners = rest.owners.map((each) => {
      return listed({ ...each, blockOwnerDeletion: each.blocking })
    })
    const held = holdOf(rest.held)
    // Of a suspect nobody can say whether its kind is watched.
    const then = phase === 'suspect' ? 'unknown' : phase
    this.#raise(cluster, { position: Number(position) + 1, at })
    const o = [...(known?.o ?? []), then === 'gone' ? [] : owners]
    this.#putLife(key, cluster, uid, known, {
      i: [group, kind, namespace, name, rest.createdAt],
      s: [
        [Number(position), at, then, rest.deletedAt, o.length - 1, ...held],
        ...(known?.s.slice(1) ?? []),
      ],
      o,
      base: true,
    })
  }

  /** The same of one that was forgotten: a record before that one may still be there. */
  baseForgotten(cluster: ClusterId, uid: Uid, timestamp: number): void {
    const life = this.#life(lifeKey(cluster, uid))
    const [first, ...later] = life?.s ?? []
    if (life?.base && first !== undefined && later.length === 0 && first[1] <= timestamp) {
      this.#putOut(cluster, uid, life)
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
    return { i: [group, kind, namespace, name, object?.createdAt ?? null], s: [], o: [] }
  }

  #putLife(key: string, cluster: ClusterId, uid: Uid, known: Life | undefined, life: Life): void {
    const kept = inOrder(life)
    this.#lives.set(key, kept)
    if (!isSamePlace(known, kept)) {
      if (known !== undefined) this.#changes.set(listKey(cluster, uid, known), null)
      this.#changes.set(listKey(cluster, uid, kept), NO_BYTES)
    }
    this.#putMinutes(cluster, uid, known, kept)
    this.#putHeld(cluster, uid, known, kept)
    if (kept.cut && !known?.cut) this.#changes.set(cutPrefix(cluster) + uidPart(uid), NO_BYTES)
    if (known?.o === kept.o) return
    const [before, after] = [ownersOf(known), ownersOf(kept)]
    for (const owner of after) {
      if (!before.has(owner)) this.#changes.set(edgePrefix(cluster, owner) + uidPart(uid), NO_BYTES)
    }
    for (const owner of before) {
      if (!after.has(owner)) this.#changes.set(edgePrefix(cluster, owner) + uidPart(uid), null)
    }
  }

  #putHeld(cluster: ClusterId, uid: Uid, known: Life | undefined, kept: Life): void {
    const [span, former] = [heldSpan(kept), heldSpan(known)]
    const isMoved = known !== undefined && known.i[2] !== kept.i[2]
    if (span === former && !isMoved) return
    if (known !== undefined && former !== undefined) {
      this.#changes.set(heldKey(cluster, uid, known), null)
    }
    if (span !== undefined) this.#changes.set(heldKey(cluster, uid, kept), Buffer.from(span))
  }

  #putMinutes(cluster: ClusterId, uid: Uid, known: Life | undefined, kept: Life): void {
    const [before, after] = [minutesOf(known), minutesOf(kept)]
    for (const minute of after) {
      if (!before.has(minute)) this.#changes.set(changedKey(cluster, minute, uid), NO_BYTES)
    }
    for (const minute of before) {
      if (!after.has(minute)) this.#changes.set(changedKey(cluster, minute, uid), null)
    }
  }

  #life(key: string): Life | undefined {
    const changed = this.#lives.get(key)
    if (changed !== undefined) return changed ?? undefined
    const bytes = this.#store.get(key)
    return bytes === undefined ? undefined : lifeIn(bytes)
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
  const phase = object.phase ?? (change === 'gone' ? 'gone' : 'hidden')
  const list = object.owners.map(listed)
  const known = life.o.findIndex((each) => isSameList(each, list))
  const o = known < 0 ? [...life.o, list] : life.o
  const state: State = [
    Number(position),
    at,
    phase,
    object.deletedAt,
    known < 0 ? o.length - 1 : known,
    ...holdOf(object.held),
  ]
  // Several entries of one event say the same; the log may give an entry twice.
  const before = life.s.filter(([earlier]) => earlier < state[0])
  // What is deleted may be another that had the same uid.
  const place = change === 'gone' ? life.i : ([group, kind, namespace, name] as const)
  const all = [...before, state]
  const s = newest(all, o)
  const cut = life.cut === true || s.length < all.length
  return {
    i: [place[0], place[1], place[2], place[3], object.createdAt ?? life.i[4]],
    s,
    o,
    ...(cut && { cut }),
    ...(life.base && !cut && { base: life.base }),
  }
}

function newest(all: readonly State[], lists: readonly OwnerList[]): readonly State[] {
  const listed = new Set<number>()
  let references = 0
  const tooOld = all.findLastIndex(([, , , , owners], index) => {
    if (!listed.has(owners)) references += lists[owners]?.length ?? 0
    listed.add(owners)
    const count = all.length - index
    return count > 1 && (count > MOST_STATES || references > MOST_REFERENCES)
  })
  return all.slice(tooOld + 1)
}

/** It is listed below the same kind. */
function isSamePlace(a: Life | undefined, b: Life): boolean {
  return a !== undefined && a.i[0] === b.i[0] && a.i[1] === b.i[1]
}

/** Lists of owners are in the order in which states name them, and no others are kept. */
function inOrder(life: Life): Life {
  const used = [...new Set(life.s.map(([, , , , owners]) => owners))]
  if (used.length === life.o.length && used.every((list, index) => list === index)) return life
  const s = life.s.map(([position, at, phase, deletedAt, owners, ...held]): State => {
    return [position, at, phase, deletedAt, used.indexOf(owners), ...held]
  })
  return { ...life, s, o: used.map((index) => life.o[index] ?? []) }
}

function isSameList(a: OwnerList, b: OwnerList): boolean {
  return (
    a.length === b.length &&
    a.every((reference, index) => reference.every((each, field) => each === b[index]?.[field]))
  )
}

function ownersOf(life: Life | undefined): Set<Uid> {
  return new Set(life?.o.flatMap((list) => list.map(([, , , uid]) => uid)))
}

function minutesOf(life: Life | undefined): Set<number> {
  return new Set(life?.s.map(([, at]) => minuteOf(at)))
}

function listed(reference: OwnerReference): OwnerList[number] {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference
  return [apiVersion, kind, name, uid, controller, blockOwnerDeletion]
}

function referenceIn(each: OwnerList[number]): OwnerReference {
  const [apiVersion, kind, name, uid, controller, blockOwnerDeletion] = each
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion }
}

function holdOf(held: KnownHold | null): readonly [] | readonly [HoldState] {
  if (held === null) return []
  const { by, evidence, what, since, until, because } = held
  return [[by, evidence, what, since, until, because]]
}

function holdIn(held: HoldState | undefined): KnownHold | null {
  if (held === undefined) return null
  const [by, evidence, what, since, until, because] = held
  return { by, evidence, what, since, until, because }
}

/** The first event after which it was held, and the one after which it was held no more: position and append time of each. Undefined: it never was. */
function heldSpan(life: Life | undefined): string | undefined {
  const first = life?.s.find(isHeld)
  if (life === undefined || first === undefined) return undefined
  const [end] = life.s.slice(life.s.findLastIndex(isHeld) + 1)
  return JSON.stringify([first, ...(end === undefined ? [] : [end])].map(([p, at]) => [p, at]))
}

function isHeld({ length }: State): boolean {
  return length > UNHELD_LENGTH
}

/** Of a state: where its phase is, and where what held it. */
const PHASE_AT = 2
const UNHELD_LENGTH = 5

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

function lifeIn(bytes: Uint8Array): Life {
  return JSON.parse(Buffer.from(bytes).toString()) as Life
}

function horizonIn(bytes: Uint8Array | undefined): Horizon | undefined {
  if (bytes === undefined) return undefined
  const [position = 0, at = 0] = JSON.parse(Buffer.from(bytes).toString()) as number[]
  return { position, at }
}

function lifeKey(cluster: ClusterId, uid: Uid): string {
  return `life/${part(cluster)}/${uidPart(uid)}`
}

/** Null: of all kinds. */
export function kindPrefix(cluster: ClusterId, kind: GroupKind | null): string {
  const all = `lives/${part(cluster)}/`
  return kind === null ? all : `${all}${part(kind.kind)}.${part(kind.group)}/`
}

function listKey(cluster: ClusterId, uid: Uid, { i: [group, kind] }: Life): string {
  return kindPrefix(cluster, { group, kind }) + uidPart(uid)
}

function changedPrefix(cluster: ClusterId): string {
  return `changed/${part(cluster)}/`
}

function changedKey(cluster: ClusterId, minute: number, uid: Uid): string {
  return `${changedPrefix(cluster)}${minuteText(minute)}/${uidPart(uid)}`
}

/** In the order of numbers: no date has more digits. */
function minuteText(minute: number): string {
  const most = 10 ** MINUTE_DIGITS - 1
  return `${Math.min(Math.max(0, minute), most)}`.padStart(MINUTE_DIGITS, '0')
}

const MINUTE_DIGITS = 12

function cutPrefix(cluster: ClusterId): string {
  return `cut/${part(cluster)}/`
}

/** Undefined: of all namespaces. */
function heldPrefix(cluster: ClusterId, namespace: string | undefined): string {
  const all = `held/${part(cluster)}/`
  return namespace === undefined ? all : `${all}${part(namespace)}/`
}

function heldKey(cluster: ClusterId, uid: Uid, { i: [, , namespace] }: Life): string {
  return heldPrefix(cluster, namespace) + uidPart(uid)
}

function edgePrefix(cluster: ClusterId, owner: Uid): string {
  return `owned/${part(cluster)}/${uidPart(owner)}/`
}

function horizonKey(cluster: ClusterId): string {
  return `horizon/${part(cluster)}`
}
