/**
 * Finds objects by name, their history and what clusters are called, in a store of its own that
 * follows `lineage` and `history`.
 *
 * What must stay true: nothing else rests on it; it may lag or be rebuilt, and answers say how far
 * it has come. A null value of `lineage` is taken only once all history before it was: what is
 * forgotten stays forgotten, in whatever order the two are read. What a GET said of an owner is
 * history of whom the reference names, by uid and coordinates, and never of another object that has
 * the uid: anybody may write it into a reference.
 *
 * Not here: what objects were at a moment (fold/former).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import { coordinatesPart } from '../../../../core/graph/key.ts'
import type { ClusterId, Coordinates, Uid } from '../../../../core/model/object.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import { objectKey } from '../../../../core/model/partition.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Entry, Log, Page, Topic } from '../../../../ports/log.ts'
import { LogError } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { HistoryRecord, KnownObject, Lineage } from '../../../../ports/record/lineage.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { entriesIn, prefixRange, StoreError } from '../../../../ports/store.ts'
import { Turns } from '../../turns.ts'
import { type Forgetting, forgetOn, forgetPage } from './forgetting.ts'
import { part } from './index-key.ts'
import { reachOfPartition } from './log-reach.ts'
import {
  createNameIndex,
  type Indexed,
  type NamedOwner,
  type NameIndex,
  type NamesFound,
  nameKeys,
} from './name-index.ts'

/** Entries taken at once, pages of each partition in a round, and the pause behind each round. */
const PAGE_LIMIT = 500
const PAGES_PER_ROUND = 4
const PAUSE_MS = 200
/**
 * A pause is longer each time that nothing came, up to this: looking costs requests where the log
 * is on other machines.
 */
const IDLE_PAUSE_MS = 1_000
/**
 * It must never compete with the fold: while more than so many entries come in a pause it stands
 * back, until so many wait.
 */
const BURST_ENTRIES = 200n
const MOST_WAITING = 200_000n
/** How long a question waits for what the log holds already, and how often it looks. */
const CATCH_UP_MS = 1_000
const CATCH_UP_LOOK_MS = 10
/** History entries of one object that an answer holds at most, the newest. */
export const HISTORY_LIMIT = 10_000
/** Clusters in which one uid is looked up. */
const MOST_OF_A_UID = 10_000
/** Pages that are forgotten in a round (forgetting.ts). */
const FORGOTTEN_PAGES = 4

export type { Indexed, Named } from './name-index.ts'

/** Entries of one object, in order. */
export interface Newest<T> {
  readonly entries: readonly T[]
  /** It has older ones. */
  readonly isCut: boolean
}

/** Where the history that it holds begins, in one partition of the log. */
export interface IndexBegin {
  /** Of the first entry that it read. */
  readonly offset: bigint
  /**
   * It holds all entries that were appended since then, in milliseconds; null where it missed none.
   */
  readonly at: number | null
}

export interface HistoryIndex extends NameIndex {
  run(signal: AbortSignal): Promise<void>
  /** In each cluster that ever had one with this uid. */
  withUid(uid: Uid): Promise<NamesFound>
  /**
   * All that were ever seen, gone ones included, with their keys, in an order that nothing changes:
   * those behind a key, or (empty) the first.
   */
  all(after: string): AsyncIterable<readonly [key: string, last: Indexed]>
  /** As the last record of one of its objects has it. */
  clusterName(cluster: ClusterId): string | undefined
  /** Undefined when it was never seen, or is not indexed yet. */
  lastOf(cluster: ClusterId, uid: Uid): Indexed | undefined
  /** The newest of it, `HISTORY_LIMIT` at most. */
  history(of: Identity): Promise<Newest<History>>
  /** The newest before an offset (undefined: of all); each with its own. */
  newest(
    of: Identity,
    limit: number,
    before?: bigint,
  ): Promise<Newest<readonly [offset: bigint, entry: History]>>
  /**
   * A page of the same, from an offset on; each with its own. Where it is full there may be more.
   */
  entries(
    of: Identity,
    from: bigint,
    limit: number,
  ): Promise<readonly (readonly [offset: bigint, entry: History])[]>
  /** What the object was after the entry with that offset; null where the entry does not say it. */
  objectAfter(of: Identity, offset: bigint): KnownObject | null
  /** How far it has read this partition of `history`. */
  position(partition: number): bigint
  /** Undefined while it has read nothing there. */
  begin(partition: number): IndexBegin | undefined
  /** Entries of the log it has not read yet. */
  lagEntries(): Promise<bigint>
  /**
   * Waits a moment for all that the log holds now; answers with how many entries of that it has not
   * read yet.
   */
  caughtUp(): Promise<bigint>
}

export function createHistoryIndex(
  log: Log,
  codec: Codec,
  clock: Clock,
  store: Store,
): HistoryIndex {
  const topics = ['history', 'lineage'] as const
  /**
   * To be taken between any two entries: one of an object with many owners costs as much as
   * hundreds of others.
   */
  const turns = new Turns(clock)

  function positionOf(topic: Topic, partition: number): bigint {
    const bytes = store.get(`at/${topic}/${partition}`)
    return bytes === undefined ? 0n : BigInt(Buffer.from(bytes).toString())
  }

  async function pageFrom(
    topic: Topic,
    partition: number,
    known: bigint,
  ): Promise<{ readonly page: Page; readonly from: bigint }> {
    const options = { limit: PAGE_LIMIT, waitMs: 0 }
    try {
      return { page: await log.read(topic, partition, known, options), from: known }
    } catch (error) {
      if (!isOutdated(error)) throw error
      const { start } = await log.bounds(topic, partition)
      // What was trimmed before it was ever read is no loss; what is beyond the end is, and what
      // was trimmed in between: it begins again.
      if (known >= start || (topic !== 'lineage' && known > 0n)) throw error
      return { page: await log.read(topic, partition, start, options), from: start }
    }
  }

  function begin(partition: number): IndexBegin | undefined {
    const bytes = store.get(beginKey(partition))
    if (bytes === undefined) return undefined
    const { offset, at } = JSON.parse(Buffer.from(bytes).toString())
    return { offset: BigInt(offset), at }
  }

  async function isAtEnd(topic: Topic, partition: number): Promise<boolean> {
    return positionOf(topic, partition) >= (await log.end(topic, partition))
  }

  /**
   * With the first page: history that was trimmed before it was read is missing, and readers have
   * to know since when none is.
   */
  async function beginning(partition: number, from: bigint): Promise<StoreChange[]> {
    if (begin(partition) !== undefined) return []
    const reach = await reachOfPartition(log, 'history', partition)
    const isWhole = from === 0n || reach.isWhole
    const made = { offset: isWhole ? '0' : `${from}`, at: isWhole ? null : reach.earliest }
    return [[beginKey(partition), Buffer.from(JSON.stringify(made))]]
  }

  /** Up to the first null value, where history is behind. */
  async function readable(topic: Topic, partition: number, page: Page): Promise<Page> {
    const first = page.entries.findIndex(({ value }) => value === null)
    if (topic !== 'lineage' || first < 0 || (await isAtEnd('history', partition))) return page
    const entries = page.entries.slice(0, first)
    return { entries, next: page.entries[first]?.offset ?? page.next }
  }

  /** False when there was nothing new. */
  async function follow(topic: (typeof topics)[number], partition: number): Promise<boolean> {
    const known = positionOf(topic, partition)
    const { page: read, from } = await pageFrom(topic, partition, known)
    const page = await readable(topic, partition, read)
    if (page.next === known) return false
    const changes = new Map(topic === 'history' ? await beginning(partition, from) : [])
    const clusterNames = new Map<ClusterId, string>()
    for (const entry of page.entries) {
      await turns.take()
      if (topic === 'history') {
        if (entry.value !== null) {
          const record = codec.decode(entry.value) as HistoryRecord
          changes.set(...historyChange(codec, entry, record))
        }
      } else if (entry.value === null) {
        const [cluster, uid] = identityOf(entry.key)
        const again = await againOf(cluster, uid, entry.timestamp)
        const life = { cluster, uid, at: entry.timestamp, again }
        for (const change of await forgotten(life, changes)) changes.set(...change)
      } else {
        const lineage = codec.decode(entry.value) as Lineage
        const former = lastIn(changes, lineage.cluster, lineage.uid)
        for (const change of nameChanges(lineage, former)) putNew(changes, change)
        clusterNames.set(lineage.cluster, lineage.clusterName)
      }
    }
    for (const [cluster, name] of clusterNames) {
      if (clusterName(cluster) === name) continue
      changes.set(clusterNameKey(cluster), Buffer.from(name))
    }
    changes.set(`at/${topic}/${partition}`, Buffer.from(page.next.toString()))
    await store.write([...changes], { changelog: 0n, position: 0n })
    return true
  }

  /**
   * What is there already is not written again: most of what names an object has named it before.
   */
  function putNew(changes: Map<string, Uint8Array | null>, [key, value]: StoreChange): void {
    const known = changes.get(key)
    const isThere = known === undefined ? store.get(key) !== undefined : known !== null
    if (value !== NO_BYTES || !isThere) changes.set(key, value)
  }

  /** Of the object itself, where it is the one that has the uid, and of references that name it. */
  function prefixesOf(of: Identity): readonly string[] {
    const last = lastOf(of.cluster, of.uid)
    const isIt = last !== undefined && isSamePlace(last, of)
    return isIt ? [answersPrefix(of), entriesPrefix(of)] : [answersPrefix(of)]
  }

  async function entriesOf(
    of: Identity,
    from: bigint,
    limit: number,
  ): Promise<readonly (readonly [offset: bigint, entry: History])[]> {
    const found: (readonly [bigint, Uint8Array])[] = []
    for (const prefix of prefixesOf(of)) {
      // Of each as many as are asked for: where these are cut, so is the whole, which is as long.
      const range = { ...prefixRange(prefix, limit), gte: prefix + offsetText(from) }
      for (const [key, value] of (await store.page(range)).rows) {
        found.push([BigInt(key.slice(prefix.length)), value])
      }
    }
    found.sort(([a], [b]) => (a < b ? -1 : 1))
    return found.slice(0, limit).map(([offset, value]) => [offset, changeOf(value, of)])
  }

  /** `of`: whose key it was read under. */
  function changeOf(value: Uint8Array, of: Identity): History {
    const change = storedChange(value)
    if (change.cluster !== '') return change
    const { cluster, uid, group, kind, namespace, name } = of
    return { ...change, cluster, uid, group, kind, namespace, name }
  }

  function storedChange(value: Uint8Array): History {
    return changeIn(codec.decode(value) as HistoryRecord)
  }

  function lastOf(cluster: ClusterId, uid: Uid): Indexed | undefined {
    const bytes = store.get(uidKey(cluster, uid))
    return bytes === undefined ? undefined : named(bytes)
  }

  /** Also of what the same page of the log says. */
  function lastIn(
    pending: ReadonlyMap<string, Uint8Array | null>,
    cluster: ClusterId,
    uid: Uid,
  ): Indexed | undefined {
    const bytes = pending.get(uidKey(cluster, uid))
    return bytes == null ? lastOf(cluster, uid) : named(bytes)
  }

  /**
   * Of an object that has been gone for longer than is remembered: its names at once, and of its
   * history a page; the rest follows (forgetting.ts).
   */
  async function forgotten(
    { cluster, uid, at, again }: { cluster: ClusterId; uid: Uid; at: number; again: number | null },
    pending: ReadonlyMap<string, Uint8Array | null>,
  ): Promise<StoreChange[]> {
    const last = lastIn(pending, cluster, uid)
    const names = last === undefined ? [] : keysOf(last)
    const changes = names.map((key): StoreChange => [key, null])
    const prefixes = [entriesPrefix({ cluster, uid })]
    if (last !== undefined) prefixes.push(answersPrefix(last))
    for (const prefix of prefixes) {
      changes.push(...(await forgetPage(store, { prefix, at, again, from: '' }, isForgotten)))
    }
    return changes
  }

  /**
   * The position from which it is there once more, with the same uid; null where it is not. What is
   * forgotten was deleted long before: at that very time it is another life.
   */
  async function againOf(cluster: ClusterId, uid: Uid, at: number): Promise<number | null> {
    const range = prefixRange(entriesPrefix({ cluster, uid }), PAGE_LIMIT)
    let again: number | null = null
    for (let { lt } = range; ; ) {
      const { rows, isCut } = await store.page({ ...range, lt, take: 'last' })
      for (const [, value] of rows.toReversed()) {
        await turns.take()
        const record = codec.decode(value) as HistoryRecord
        const isOut = record.change === 'gone' || record.object?.phase === null
        if (isOut && record.at < at) return again
        if (!isOut && record.object !== null) again = Number(record.position)
      }
      const [first] = rows
      if (!isCut || first === undefined) return null
      lt = first[0]
    }
  }

  /** History may have been read beyond what was forgotten. */
  function isForgotten(value: Uint8Array, { at, again }: Forgetting): boolean {
    const entry = storedChange(value)
    return entry.at <= at && (again === null || entry.position < BigInt(again))
  }

  /** False when nothing is left to forget. */
  async function goOnForgetting(): Promise<boolean> {
    const changes = await forgetOn(store, isForgotten)
    if (changes === undefined) return false
    await store.write(changes, { changelog: 0n, position: 0n })
    return true
  }

  /** It was away for so long that what is forgotten may be told nowhere any more. */
  async function hasMissed(): Promise<boolean> {
    for (let p = 0; p < log.partitions('lineage'); p++) {
      const at = positionOf('lineage', p)
      if (at > 0n && at < (await log.wholeFrom('lineage', p))) return true
    }
    return false
  }

  /** False when there was nothing new anywhere. */
  async function followAll(): Promise<boolean> {
    let isNew = false
    for (const topic of topics) {
      for (let p = 0; p < log.partitions(topic); p++) {
        for (let left = PAGES_PER_ROUND; left > 0 && (await follow(topic, p)); left--) isNew = true
      }
    }
    for (let left = FORGOTTEN_PAGES; left > 0 && (await goOnForgetting()); left--) isNew = true
    return isNew
  }

  /** Of what lies before these ends. */
  function leftOf(ends: readonly (readonly [Topic, number, bigint])[]): bigint {
    let left = 0n
    for (const [topic, partition, end] of ends) {
      const at = positionOf(topic, partition)
      if (end > at) left += end - at
    }
    return left
  }

  async function endsOfAll(): Promise<[Topic, number, bigint][]> {
    const asked = topics.flatMap((topic) => {
      return Array.from({ length: log.partitions(topic) }, (_, each) => [topic, each] as const)
    })
    return await Promise.all(
      asked.map(async ([topic, each]): Promise<[Topic, number, bigint]> => {
        return [topic, each, await log.end(topic, each)]
      }),
    )
  }

  async function endOfAll(): Promise<bigint> {
    return (await endsOfAll()).reduce((sum, [, , end]) => sum + end, 0n)
  }

  async function lagEntries(): Promise<bigint> {
    return leftOf(await endsOfAll())
  }

  /** Ends a pause that is longer than others, because nothing had come. */
  let wake: AbortController | undefined

  /**
   * Of those who ask before its ends are looked up: one question may ask for each of hundreds of
   * clusters, and each look is a request to a broker.
   */
  let joined: Promise<bigint> | undefined
  let looking: Promise<unknown> = Promise.resolve()

  async function waited(): Promise<bigint> {
    await looking
    // Who asks from now on has to know of what comes from now on.
    joined = undefined
    const look = endsOfAll()
    looking = look.catch(() => undefined)
    const ends = await look
    const until = clock.monotonicMs() + CATCH_UP_MS
    while (leftOf(ends) > 0n && clock.monotonicMs() < until) {
      wake?.abort()
      await clock.sleep(CATCH_UP_LOOK_MS)
    }
    return leftOf(ends)
  }

  function clusterName(cluster: ClusterId): string | undefined {
    const bytes = store.get(clusterNameKey(cluster))
    return bytes === undefined ? undefined : Buffer.from(bytes).toString()
  }

  async function newest(
    of: Identity,
    limit: number,
    before?: bigint,
  ): Promise<Newest<readonly [offset: bigint, entry: History]>> {
    const found: (readonly [bigint, Uint8Array])[] = []
    let isCut = false
    for (const prefix of prefixesOf(of)) {
      const all = prefixRange(prefix, limit)
      const lt = before === undefined ? all.lt : prefix + offsetText(before)
      const page = await store.page({ ...all, lt, take: 'last' })
      isCut ||= page.isCut
      for (const [key, value] of page.rows) found.push([BigInt(key.slice(prefix.length)), value])
    }
    found.sort(([a], [b]) => (a < b ? -1 : 1))
    const kept = found.slice(Math.max(0, found.length - limit))
    const entries = kept.map(([offset, value]) => [offset, changeOf(value, of)] as const)
    return { entries, isCut: isCut || kept.length < found.length }
  }

  return {
    ...createNameIndex(store, lastOf),
    clusterName,
    async run(signal) {
      let isKnownWhole = false
      let end: bigint | undefined
      let pauseMs = PAUSE_MS
      while (!signal.aborted) {
        try {
          if (!isKnownWhole && (await hasMissed())) await store.wipe()
          isKnownWhole = true
          const before = end
          end = await endOfAll()
          const came = before === undefined ? 0n : end - before
          const isBurst = came > BURST_ENTRIES && (await lagEntries()) < MOST_WAITING
          const isNew = isBurst || (await followAll())
          pauseMs = isNew ? PAUSE_MS : Math.min(2 * pauseMs, IDLE_PAUSE_MS)
        } catch (error) {
          // It has read more than the log holds, or is damaged: it is only an index, so it begins
          // again.
          if (isOutdated(error)) await store.wipe()
          else if (!isAway(error)) throw error
        }
        wake = new AbortController()
        const isIdle = pauseMs > PAUSE_MS
        await clock.sleep(pauseMs, isIdle ? AbortSignal.any([signal, wake.signal]) : signal)
      }
    },
    async withUid(uid) {
      const { rows, isCut } = await store.page(prefixRange(`uid/${part(uid)}/`, MOST_OF_A_UID))
      return { found: rows.map(([, value]) => named(value)), lacks: isCut ? 'any' : 'nothing' }
    },
    async *all(after) {
      const range = prefixRange('uid/', PAGE_LIMIT)
      if (range.lt <= after) return
      const gte = after < range.gte ? range.gte : `${after}\0`
      for await (const [key, value] of entriesIn(store, { ...range, gte })) {
        yield [key, named(value)]
      }
    },
    lastOf,
    objectAfter(of, offset) {
      const bytes = store.get(entriesPrefix(of) + offsetText(offset))
      return bytes === undefined ? null : (codec.decode(bytes) as HistoryRecord).object
    },
    async history(of) {
      const { entries, isCut } = await newest(of, HISTORY_LIMIT)
      return { entries: entries.map(([, entry]) => entry), isCut }
    },
    newest,
    entries: entriesOf,
    position: (partition) => positionOf('history', partition),
    begin,
    lagEntries,
    async caughtUp() {
      joined ??= waited()
      return await joined
    },
  }
}

export function isOutdated(error: unknown): boolean {
  if (error instanceof LogError) return error.code === 'OUT_OF_RANGE'
  return error instanceof StoreError && error.remedy === 'rebuild'
}

/** A log that cannot be reached is waited for: nothing rests on this one. */
export function isAway(error: unknown): boolean {
  return error instanceof LogError && error.remedy === 'retry'
}

/** What happened, without the object after it. */
export function changeIn({ object: _, ...change }: HistoryRecord): History {
  return change
}

/**
 * The value is stored as it came; only who asks for it decodes it. One that is large is stored
 * without the owners at once, and what a GET said of an owner without the owner.
 */
function historyChange(codec: Codec, { offset, value }: Entry, record: HistoryRecord): StoreChange {
  const prefix = record.change === 'owner' ? answersPrefix(record) : entriesPrefix(record)
  // Its key says which owner it is about, and a tenant may name thousands (T10).
  if (record.change === 'owner')
    return [prefix + offsetText(offset), codec.encode({ ...record, ...IN_ITS_KEY })]
  const { object } = record
  const isLong = object !== null && object.long !== null
  const short = isLong && { ...object, owners: [], long: null }
  const stored = short ? codec.encode({ ...record, object: short }) : value
  return [prefix + offsetText(offset), stored]
}

type Keyed = Pick<HistoryRecord, 'cluster' | 'uid'>

/** Of what a GET said of an owner. */
const IN_ITS_KEY = { cluster: '', uid: '', group: '', kind: '', namespace: '', name: '' }

function entriesPrefix({ cluster, uid }: Keyed): string {
  return `entry/${part(objectKey(cluster, uid))}/`
}

/** Of what GETs said of the owner that is named by this uid at these coordinates. */
function answersPrefix({ cluster, uid, ...place }: Keyed & Coordinates): string {
  return `answer/${part(objectKey(cluster, uid))}/${coordinatesPart(place)}/`
}

/** As keys have it, in the order of numbers. */
function offsetText(offset: bigint): string {
  return offset.toString().padStart(19, '0')
}

function beginKey(partition: number): string {
  return `begin/history/${partition}`
}

/** `former`: as its record before this had it. */
function nameChanges(lineage: Lineage, former: Indexed | undefined): StoreChange[] {
  const { cluster, uid, group, kind, namespace, name, at } = lineage
  const isGone = lineage.phase === 'gone'
  const owners = lineage.owners.map(({ apiVersion, kind, name, uid, standing }): NamedOwner => {
    const isUnresolvable = standing === 'unresolvable'
    return { apiVersion, kind, name, uid, ...(isUnresolvable && { isUnresolvable }) }
  })
  const moreOwners = lineage.moreOwners || undefined
  const named = { cluster, uid, group, kind, namespace, name }
  const last: Indexed = { ...named, at, isGone, owners, moreOwners }
  const bytes = Buffer.from(JSON.stringify(last))
  const keys = keysOf(last)
  const over = former === undefined ? [] : nameKeys(former).filter((key) => !keys.includes(key))
  return [
    ...over.map((key): StoreChange => [key, null]),
    ...keys.map((key): StoreChange => [key, key.startsWith('uid/') ? bytes : NO_BYTES]),
  ]
}

/** What else there is to say of an object stands under its uid alone. */
const NO_BYTES = new Uint8Array()

function keysOf(object: Indexed): string[] {
  return [...nameKeys(object), uidKey(object.cluster, object.uid)]
}

/** Out of a key of the log. */
function identityOf(key: string): [ClusterId, Uid] {
  const [cluster = '', uid = ''] = key.split('/')
  return [cluster, uid]
}

function uidKey(cluster: ClusterId, uid: Uid): string {
  return `uid/${part(uid)}/${part(cluster)}`
}

function clusterNameKey(cluster: ClusterId): string {
  return `cluster/${part(cluster)}`
}

function named(bytes: Uint8Array): Indexed {
  return JSON.parse(Buffer.from(bytes).toString()) as Indexed
}
