/**
 * Finds objects by name, their history by uid, what named them as owners and what clusters are called, in a store of its own that follows `lineage` and `history`.
 *
 * What must stay true: nothing else rests on it; it may lag or be rebuilt, and answers say how far it has come.
 */
import type { ClusterId, Coordinates, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History } from '../../../core/model/record.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Codec } from '../../../ports/codec.ts'
import type { Lineage } from '../../../ports/lineage.ts'
import type { Entry, Log, Page, Topic } from '../../../ports/log.ts'
import { LogError } from '../../../ports/log.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { prefixRange, StoreError } from '../../../ports/store.ts'
import { reachOfPartition } from './log-reach.ts'

/** Entries taken at once (some 5 ms without a turn for others), pages of each partition in a round, and the pause behind each round. */
const PAGE_LIMIT = 500
const PAGES_PER_ROUND = 4
const PAUSE_MS = 200
/** A pause is longer each time that nothing came, up to this: looking costs requests where the log is on other machines. */
const IDLE_PAUSE_MS = 1_000
/** It must never compete with the fold: while more than so many entries come in a pause it stands back, until so many wait. */
const BURST_ENTRIES = 200n
const MOST_WAITING = 200_000n
/** How long a question waits for what the log holds already, and how often it looks. */
const CATCH_UP_MS = 1_000
const CATCH_UP_LOOK_MS = 10
/** History entries of one object that an answer holds at most, the newest. */
const HISTORY_LIMIT = 10_000

export interface Named {
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Append time of the last event about it, in milliseconds. */
  readonly at: number
}

export interface Indexed extends Named {
  /** It was gone then. */
  readonly isGone: boolean
  /** As it named them last. */
  readonly owners: readonly Uid[]
}

/** Where the history that it holds begins, in one partition of the log. */
export interface IndexBegin {
  /** Of the first entry that it read. */
  readonly offset: bigint
  /** It holds all entries that were appended since then, in milliseconds; null where it missed none. */
  readonly at: number | null
}

export interface HistoryIndex {
  run(signal: AbortSignal): Promise<void>
  /** All objects that ever had this name in this namespace, of any kind and cluster. */
  named(namespace: string, name: string): Promise<readonly Indexed[]>
  /** Uids of all that ever had these coordinates, gone ones included. */
  at(cluster: ClusterId, place: Coordinates): AsyncIterable<Uid>
  withUid(uid: Uid): Promise<readonly Indexed[]>
  /** All that were ever seen, gone ones included, with their keys, in an order that nothing changes: those behind a key, or (empty) the first. */
  page(after: string, limit: number): Promise<readonly (readonly [key: string, last: Indexed])[]>
  /** As the last record of one of its objects has it. */
  clusterName(cluster: ClusterId): string | undefined
  /** Undefined when it was never seen, or is not indexed yet. */
  lastOf(cluster: ClusterId, uid: Uid): Indexed | undefined
  /** It was ever seen there, or an object that named it as an owner. */
  isKnown(cluster: ClusterId, uid: Uid): Promise<boolean>
  /** Uids of all that named it as an owner when last seen, gone ones included, in the order of `part`, from such a text on. */
  dependents(cluster: ClusterId, owner: Uid, from?: string): AsyncIterable<Uid>
  history(cluster: ClusterId, uid: Uid): Promise<readonly History[]>
  /** A page of the same, from an offset on; each with its own. */
  entries(
    cluster: ClusterId,
    uid: Uid,
    from: bigint,
    limit: number,
  ): Promise<readonly (readonly [offset: bigint, entry: History])[]>
  /** How far it has read this partition of `history`. */
  position(partition: number): bigint
  /** Undefined while it has read nothing there. */
  begin(partition: number): IndexBegin | undefined
  /** Entries of the log it has not read yet. */
  lagEntries(): Promise<bigint>
  /** Waits a moment for all that the log holds now; answers with how many entries of that it has not read yet. */
  caughtUp(): Promise<bigint>
}

export function createHistoryIndex(
  log: Log,
  codec: Codec,
  clock: Clock,
  store: Store,
): HistoryIndex {
  const topics = ['lineage', 'history'] as const

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
      // What was trimmed is no loss: only what lies beyond the end is.
      const { start } = await log.bounds(topic, partition)
      if (known >= start) throw error
      return { page: await log.read(topic, partition, start, options), from: start }
    }
  }

  function begin(partition: number): IndexBegin | undefined {
    const bytes = store.get(beginKey(partition))
    if (bytes === undefined) return undefined
    const { offset, at } = JSON.parse(Buffer.from(bytes).toString())
    return { offset: BigInt(offset), at }
  }

  /** What was trimmed before it was read is missing from then on: whoever asks has to know since when none is. */
  async function beginning(partition: number, known: bigint, from: bigint): Promise<StoreChange[]> {
    if (known === from && begin(partition) !== undefined) return []
    const reach = from === 0n ? undefined : await reachOfPartition(log, 'history', partition)
    const isWhole = reach === undefined || reach.isWhole
    const made = { offset: isWhole ? '0' : `${from}`, at: isWhole ? null : reach.earliest }
    return [[beginKey(partition), Buffer.from(JSON.stringify(made))]]
  }

  /** False when there was nothing new. */
  async function follow(topic: 'lineage' | 'history', partition: number): Promise<boolean> {
    const known = positionOf(topic, partition)
    const { page, from } = await pageFrom(topic, partition, known)
    if (page.next === known) return false
    const changes: StoreChange[] = []
    if (topic === 'history') changes.push(...(await beginning(partition, known, from)))
    const clusterNames = new Map<ClusterId, string>()
    for (const entry of page.entries) {
      if (topic === 'history') changes.push(historyChange(entry))
      else if (entry.value === null) changes.push(...(await forgetting(entry.key)))
      else {
        const lineage = codec.decode(entry.value) as Lineage
        changes.push(...nameChanges(lineage))
        clusterNames.set(lineage.cluster, lineage.clusterName)
      }
    }
    for (const [cluster, name] of clusterNames) {
      if (clusterName(cluster) === name) continue
      changes.push([clusterNameKey(cluster), Buffer.from(name)])
    }
    changes.push([`at/${topic}/${partition}`, Buffer.from(page.next.toString())])
    await store.write(changes, { changelog: 0n, position: 0n })
    return true
  }

  function lastOf(cluster: ClusterId, uid: Uid): Indexed | undefined {
    const bytes = store.get(`uid/${part(uid)}/${part(cluster)}`)
    return bytes === undefined ? undefined : named(bytes)
  }

  /** An object that has been gone for longer than is remembered: its names and its history go. */
  async function forgetting(key: string): Promise<StoreChange[]> {
    const [cluster = '', uid = ''] = key.split('/')
    const last = lastOf(cluster, uid)
    const names = last === undefined ? [] : keysOf(last)
    const history = await store.page(prefixRange(`entry/${part(key)}/`, HISTORY_LIMIT))
    const dependents = await store.page(prefixRange(dependentsPrefix(cluster, uid), HISTORY_LIMIT))
    const others = [...history, ...dependents].map(([entry]) => entry)
    return [...names, ...others].map((gone) => [gone, null])
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
    const ends: [Topic, number, bigint][] = []
    for (const topic of topics) {
      for (let p = 0; p < log.partitions(topic); p++) {
        ends.push([topic, p, (await log.bounds(topic, p)).end])
      }
    }
    return ends
  }

  async function endOfAll(): Promise<bigint> {
    return (await endsOfAll()).reduce((sum, [, , end]) => sum + end, 0n)
  }

  async function lagEntries(): Promise<bigint> {
    return leftOf(await endsOfAll())
  }

  /** Of all keys with this prefix, a page at a time. */
  async function* lastParts(prefix: string, from = ''): AsyncIterable<string> {
    for (let range = { ...prefixRange(prefix, PAGE_LIMIT), gte: prefix + from }; ; ) {
      const page = await store.page(range)
      for (const [key] of page) yield decodeURIComponent(key.slice(key.lastIndexOf('/') + 1))
      const last = page.at(-1)?.[0]
      if (last === undefined || page.length < PAGE_LIMIT) return
      range = { ...range, gte: `${last}\0` }
    }
  }

  /** Ends a pause that is longer than others, because nothing had come. */
  let wake: AbortController | undefined

  function clusterName(cluster: ClusterId): string | undefined {
    const bytes = store.get(clusterNameKey(cluster))
    return bytes === undefined ? undefined : Buffer.from(bytes).toString()
  }

  return {
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
          // It has read more than the log holds, or is damaged: it is only an index, so it begins again.
          if (isOutdated(error)) await store.wipe()
          else if (!isAway(error)) throw error
        }
        wake = new AbortController()
        const isIdle = pauseMs > PAUSE_MS
        await clock.sleep(pauseMs, isIdle ? AbortSignal.any([signal, wake.signal]) : signal)
      }
    },
    async named(namespace, name) {
      const prefix = `name/${part(namespace)}/${part(name)}/`
      const page = await store.page(prefixRange(prefix, HISTORY_LIMIT))
      return page.flatMap(([key]) => lastOf(...identityIn(key)) ?? [])
    },
    at: (cluster, { group, kind, namespace, name }) =>
      lastParts(`name/${part(namespace)}/${part(name)}/${idPrefix(cluster, group, kind)}`),
    async withUid(uid) {
      const page = await store.page(prefixRange(`uid/${part(uid)}/`, HISTORY_LIMIT))
      return page.map(([, value]) => named(value))
    },
    async page(after, limit) {
      const all = prefixRange('uid/', limit)
      const gte = after < all.gte ? all.gte : `${after}\0`
      const page = gte < all.lt ? await store.page({ ...all, gte }) : []
      return page.map(([key, value]) => [key, named(value)] as const)
    },
    lastOf,
    async isKnown(cluster, uid) {
      if (lastOf(cluster, uid) !== undefined) return true
      return (await store.page(prefixRange(dependentsPrefix(cluster, uid), 1))).length > 0
    },
    dependents: (cluster, owner, from) => lastParts(dependentsPrefix(cluster, owner), from),
    async history(cluster, uid) {
      const prefix = `entry/${part(objectKey(cluster, uid))}/`
      const page = await store.page(prefixRange(prefix, HISTORY_LIMIT))
      return page.map(([, value]) => codec.decode(value) as History)
    },
    async entries(cluster, uid, from, limit) {
      const range = prefixRange(`entry/${part(objectKey(cluster, uid))}/`, limit)
      const page = await store.page({ ...range, gte: range.gte + offsetText(from) })
      return page.map(([key, value]) => {
        return [BigInt(key.slice(range.gte.length)), codec.decode(value) as History] as const
      })
    },
    position: (partition) => positionOf('history', partition),
    begin,
    lagEntries,
    async caughtUp() {
      const ends = await endsOfAll()
      const until = clock.monotonicMs() + CATCH_UP_MS
      while (leftOf(ends) > 0n && clock.monotonicMs() < until) {
        wake?.abort()
        await clock.sleep(CATCH_UP_LOOK_MS)
      }
      return leftOf(ends)
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

/** The value is stored as it came; only who asks for it decodes it. */
function historyChange({ key, offset, value }: Entry): StoreChange {
  return [`entry/${part(key)}/${offsetText(offset)}`, value]
}

/** As keys have it, in the order of numbers. */
function offsetText(offset: bigint): string {
  return offset.toString().padStart(19, '0')
}

function beginKey(partition: number): string {
  return `begin/history/${partition}`
}

function nameChanges(lineage: Lineage): StoreChange[] {
  const { cluster, uid, group, kind, namespace, name, at } = lineage
  const isGone = lineage.phase === 'gone'
  const owners = [...new Set(lineage.owners.map((owner) => owner.uid))]
  const last: Indexed = { cluster, uid, group, kind, namespace, name, at, isGone, owners }
  const bytes = Buffer.from(JSON.stringify(last))
  return keysOf(last).map((key) => [key, key.startsWith('uid/') ? bytes : NO_BYTES])
}

/** What else there is to say of an object stands under its uid alone. */
const NO_BYTES = new Uint8Array()

function keysOf({ cluster, uid, group, kind, namespace, name, owners }: Indexed): string[] {
  const id = idPrefix(cluster, group, kind) + part(uid)
  return [
    `name/${part(namespace)}/${part(name)}/${id}`,
    `uid/${part(uid)}/${part(cluster)}`,
    ...owners.map((owner) => dependentsPrefix(cluster, owner) + part(uid)),
  ]
}

function idPrefix(cluster: ClusterId, group: string, kind: string): string {
  return `${part(cluster)}/${part(kind)}.${part(group)}/`
}

/** Out of a key under `name/`. */
function identityIn(key: string): [ClusterId, Uid] {
  const [cluster = '', , uid = ''] = key.split('/').slice(-3).map(decodeURIComponent)
  return [cluster, uid]
}

function clusterNameKey(cluster: ClusterId): string {
  return `cluster/${part(cluster)}`
}

function dependentsPrefix(cluster: ClusterId, owner: Uid): string {
  return `dependent/${part(cluster)}/${part(owner)}/`
}

function named(bytes: Uint8Array): Indexed {
  return JSON.parse(Buffer.from(bytes).toString()) as Indexed
}

/** As in core/graph/key.ts: printable ASCII without a bare separator. */
export function part(text: string): string {
  return /^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}
