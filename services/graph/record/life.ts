/**
 * What the record says of the end of an object: whether Kinfold deleted it, with which command and
 * on what evidence, and which deletion that followed from.
 *
 * What must stay true: a deletion is Kinfold's only where the result of its own DELETE says that it
 * was done, and another client's only where the object's whole history is known and has no such
 * command; else it is unknown. It is read from fields of records, and results from the events that
 * the records refer to; no sentence is read back. A deletion follows from that of an owner which
 * the object referenced, by uid and coordinates. The records that are read of one object and of one
 * chain of owners are bounded; beyond that it is unknown, too.
 *
 * Not here: who the other client is (deleter.ts): this record does not say it.
 */
import { type Identity, identityKey, identityOf } from '../../../core/graph/identity.ts'
import type { CommandSettled } from '../../../core/model/event.ts'
import type { CommandId } from '../../../core/model/id.ts'
import type { Coordinates, Uid } from '../../../core/model/object.ts'
import type { Evidence } from '../../../core/model/proof.ts'
import type { History } from '../../../core/model/record.ts'
import { type Log, LogError } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { CodecError } from '../../../ports/record/codec.ts'
import { isBegin } from '../query/answer/actor.ts'
import type { Begun, By } from '../query/answer/deletion-cause.ts'
import { ownersMeant } from '../query/answer/owner-of-record.ts'
import type { HistoryIndex } from '../query/index/history-index.ts'
import type { Clusters } from '../query/view/clusters.ts'
import type { Turns } from '../turns.ts'
import { Outages } from './outage.ts'

/**
 * Each kind has a watch of its own: so much later than the end of its namespace the end of an
 * object in it may be recorded.
 */
const APART_MS = 10_000
/** Entries of one object (the newest), and owners of one that are read. */
const MOST_ENTRIES = 2_000
const MOST_OWNERS = 20
const AT_ONCE = 500
/** Entries that are read of the owners of one object. */
export const MOST_OF_CHAIN = 20_000

export interface Named extends Coordinates {
  readonly uid: Uid
}

/** A delete of Kinfold's that was carried out. */
export interface Reaped {
  readonly command: CommandId
  readonly evidence: Evidence
  /** Append time of what it was decided by. */
  readonly at: number
  /** One sentence. */
  readonly text: string
}

export interface Life {
  /** Null where nothing is recorded of it. */
  readonly object: Named | null
  readonly by: By
  /** Null unless `by` is Kinfold. */
  readonly reaped: Reaped | null
  /** When its deletion was first recorded, or its absence; null before it. */
  readonly endedAt: number | null
  /** What is known of it, in order. */
  readonly history: readonly History[]
  /** Append time of the end of the one before it, with the same uid; zero where there was none. */
  readonly after: number
  /** By its API server; null where it is unknown. */
  readonly createdAt: number | null
  /** The deletionTimestamp that it had when a watch first reported one; null where none did. */
  readonly deletedAt: number | null
  /** Ended since then: nothing was seen of its cluster. Null: seen at once, as far as is known. */
  readonly unseenSince: number | null
  /** It began before what was read: its end may have been recorded earlier, too. */
  readonly isCut: boolean
}

const NOTHING = {
  ...{ object: null, reaped: null, endedAt: null, history: [], after: 0 },
  ...{ createdAt: null, deletedAt: null, unseenSince: null, isCut: false },
}
const UNKNOWN: Life = { ...NOTHING, by: 'unknown' }

/** An owner whose deletion was a cause, as far as is known. */
export interface OwnerBehind {
  readonly owner: Identity
  readonly life: Life
}

type Entries = readonly (readonly [offset: bigint, entry: History])[]

interface Read {
  readonly all: Entries
  /** There are older ones. */
  readonly isCut: boolean
}

interface ReadLife {
  readonly life: Entries
  /** All that happened in it is. */
  readonly isKnown: boolean
  /** The one before it. */
  readonly former?: Entries | undefined
}

export interface LivesParts {
  readonly log: Log
  readonly codec: Codec
  readonly index: Pick<HistoryIndex, 'entries' | 'newest' | 'begin' | 'namesOf' | 'objectAfter'>
  readonly clusters: Pick<Clusters, 'one'>
  readonly turns: Turns
}

/** For one answer: what was read once is not read again. */
export class Lives {
  readonly #parts: LivesParts
  readonly #last = new Map<string, Promise<Life>>()
  readonly #outages: Outages
  /** Entries read so far. */
  read = 0

  constructor(parts: LivesParts) {
    this.#parts = parts
    this.#outages = new Outages(parts)
  }

  /** Times in which nothing was seen, of all lives so far that may have ended then. */
  doubt(): string {
    return this.#outages.doubt()
  }

  /** The life that this entry of `history` ended. */
  async endedBy(of: Identity, offset: bigint): Promise<Life> {
    const entries = await this.#entries(of, offset + 1n)
    return await this.#lifeWith(of, entries, ([each]) => each === offset)
  }

  /** The life that the event at this position ended. */
  async endedAt(of: Identity, position: bigint): Promise<Life> {
    const entries = await this.#entries(of)
    return await this.#lifeWith(of, entries, ([, entry]) => {
      return entry.change === 'gone' && entry.position === position
    })
  }

  async #lifeWith(
    of: Identity,
    { all, isCut }: Read,
    isIt: (entry: Entries[number]) => boolean,
  ): Promise<Life> {
    const lives = livesIn(all)
    const found = lives.findIndex((life) => life.some(isIt))
    const life = lives[found]
    // It was forgotten, or is not indexed yet.
    if (life === undefined) return UNKNOWN
    const isKnown = found > 0 || (!isCut && (await this.#isFromTheStart(of, life)))
    const known = await this.#lifeOf(of, { life, isKnown, former: lives[found - 1] })
    return { ...known, isCut: isCut && found === 0 }
  }

  /**
   * Of its owners the one whose deletion was recorded last, by then. Where it is inferred, none may
   * have been there: a collector deletes nothing beside an owner that exists. Of two that were
   * deleted at one moment either may be named: without the deletion of each it would exist.
   */
  async ownerBehind(
    of: Identity,
    { at: until, isInferred }: { readonly at: number; readonly isInferred: boolean },
  ): Promise<OwnerBehind | 'there' | 'unknown'> {
    const { index } = this.#parts
    const dependent = index.namesOf(of.cluster).lastOf(of.cluster, of.uid)
    if (dependent === undefined || dependent.moreOwners !== undefined) return 'unknown'
    if (dependent.owners.length > MOST_OWNERS) return 'unknown'
    if (dependent.owners.length === 0) return 'there'
    let cause: (OwnerBehind & { readonly at: number }) | undefined
    let isUnknown = false
    const begun = this.read
    const below = { cluster: of.cluster, namespace: dependent.namespace }
    for (const reference of dependent.owners) {
      let isSeen = false
      for (const owner of ownersMeant(index, below, reference)) {
        if (this.read - begun >= MOST_OF_CHAIN) return 'unknown'
        const life = await this.lastOf(owner)
        isSeen ||= life.object !== null
        // It may have ended earlier than is known, or be the cause.
        if (life.isCut) isUnknown = true
        const at = life.endedAt
        const isBefore = at !== null && at <= until
        if (!isBefore && life.object !== null && isInferred) return 'there'
        if (!isBefore || (cause !== undefined && cause.at >= at)) continue
        cause = { owner, life, at }
      }
      isUnknown ||= !isSeen && isInferred
    }
    return isUnknown || cause === undefined ? 'unknown' : cause
  }

  /**
   * The namespace that was being deleted when the deletion of an object in it began; its end may be
   * reported before those of what was in it. Of several that had its name in turn, so shortly after
   * each other that either may be meant, none.
   */
  async namespaceBehind(of: Identity, { from, to }: Begun): Promise<OwnerBehind | undefined> {
    const { cluster, namespace } = of
    if (namespace === '') return undefined
    const { history: own } = await this.lastOf(of)
    const createdAt = own.find(({ change }) => change === 'created')?.at ?? 0
    const { found } = await this.#parts.index.namesOf(cluster).named({
      ...{ cluster, namespace: '', name: namespace, at: to },
    })
    const behind: OwnerBehind[] = []
    for (const each of found.filter(isNamespace)) {
      const owner = identityOf(cluster, each)
      const life = await this.lastOf(owner)
      const { endedAt, history } = life
      const goneAt = history.find(({ change }) => change === 'gone')?.at ?? null
      const isBefore = endedAt !== null && endedAt <= to
      const isOver = goneAt !== null && (goneAt < from - APART_MS || goneAt < createdAt)
      if (isBefore && !isOver) behind.push({ owner, life })
    }
    return behind.length === 1 ? behind[0] : undefined
  }

  /** The last life that is recorded of it. */
  async lastOf(of: Identity): Promise<Life> {
    const key = identityKey(of)
    const known = this.#last.get(key)
    if (known !== undefined) return await known
    const read = this.#readLast(of)
    this.#last.set(key, read)
    return await read
  }

  async #readLast(of: Identity): Promise<Life> {
    const { all, isCut } = await this.#entries(of)
    const lives = livesIn(all)
    const life = lives.at(-1)
    if (life === undefined) return UNKNOWN
    const isKnown = lives.length > 1 || (!isCut && (await this.#isFromTheStart(of, life)))
    const known = await this.#lifeOf(of, { life, isKnown, former: lives.at(-2) })
    return { ...known, isCut: isCut && lives.length === 1 }
  }

  /**
   * The newest before an offset (undefined: of all), and what follows it at once: a result may come
   * after the deletion was recorded. `isCut`: there are older ones.
   */
  async #entries(of: Identity, end?: bigint): Promise<Read> {
    const { index, turns } = this.#parts
    let all: Entries = end === undefined ? [] : await index.entries(of, end, AT_ONCE)
    this.read += all.length
    for (let before = end; ; ) {
      const { entries, isCut } = await index.newest(of, AT_ONCE, before)
      await turns.take()
      this.read += entries.length
      all = [...entries, ...all]
      const [first] = entries
      if (!isCut || first === undefined || all.length >= MOST_ENTRIES) return { all, isCut }
      before = first[0]
    }
  }

  /** What came before its first entry may have been removed before it was indexed. */
  async #isFromTheStart({ cluster }: Identity, life: Entries): Promise<boolean> {
    if (life[0]?.[1].change === 'created') return true
    const { clusters, index } = this.#parts
    const known = await clusters.one(cluster)
    return known !== undefined && index.begin(known.partition)?.at === null
  }

  async #lifeOf(of: Identity, { life, isKnown, former = [] }: ReadLife): Promise<Life> {
    const entries = life.map(([, entry]) => entry)
    const [first] = entries
    const object = first === undefined ? null : namedOf(first)
    let by: By = isKnown ? 'others' : 'unknown'
    let reaped: Reaped | null = null
    for (const command of entries.filter(isDelete)) {
      const result = entries.find(
        (each) => each.change === 'result' && each.command === command.command,
      )
      const outcome = result === undefined ? 'unknown' : await this.#outcomeOf(result)
      if (outcome === 'done') reaped = reapedBy(command)
      if (outcome === 'unknown') by = 'unknown'
    }
    const end = entries.find(isEnd)
    const isReport =
      end?.change === 'gone' && (end.evidence === 'deleted' || end.evidence === 'missing')
    const begun = life.find(([, entry]) => isBegin(entry))
    const createdAt = this.#createdAt(of, life)
    const after = former.findLast(([, { change }]) => change === 'gone')?.[1].at ?? 0
    return {
      object,
      by: reaped === null ? by : 'kinfold',
      reaped,
      endedAt: end?.at ?? null,
      history: entries,
      after,
      createdAt,
      deletedAt: begun === undefined ? null : this.#deletedAt(of, begun[0]),
      unseenSince: isReport && reaped === null ? await this.#outages.before(end, createdAt) : null,
      isCut: false,
    }
  }

  #createdAt(of: Identity, life: Entries): number | null {
    const [first] = life
    return first === undefined
      ? null
      : (this.#parts.index.objectAfter(of, first[0])?.createdAt ?? null)
  }

  #deletedAt(of: Identity, offset: bigint): number | null {
    return this.#parts.index.objectAfter(of, offset)?.deletedAt ?? null
  }

  /**
   * By the event that the entry refers to. Where the object was already deleted when it was sent:
   * an earlier try, whose answer was lost, may have done it.
   */
  async #outcomeOf(result: History): Promise<'done' | 'not' | 'unknown'> {
    const settled = await this.#settledBy(result)
    if (settled === undefined || settled.outcome === 'absent') return 'unknown'
    return settled.outcome === 'done' && settled.verb === 'DeleteObject' ? 'done' : 'not'
  }

  async #settledBy({
    partition,
    position,
    command,
    uid,
  }: History): Promise<CommandSettled | undefined> {
    const { log, codec } = this.#parts
    try {
      const options = { limit: 1, waitMs: 0 }
      const [entry] = (await log.read('events', partition, position, options)).entries
      if (entry?.offset !== position || entry.value === null) return undefined
      const event = codec.decode(entry.value)
      const isIt = event.type === 'CommandSettled' && event.command === command && event.uid === uid
      return isIt ? event : undefined
    } catch (error) {
      const isTrimmed = error instanceof LogError && error.code === 'OUT_OF_RANGE'
      if (isTrimmed || error instanceof CodecError) return undefined
      throw error
    }
  }
}

/**
 * A uid appears again where a cluster was restored from a backup. Results may be recorded after the
 * watch has reported the deletion.
 */
function livesIn(all: Entries): readonly Entries[] {
  const lives: (readonly [bigint, History])[][] = []
  let isOver = true
  for (const each of all) {
    const { change } = each[1]
    if (lives.length === 0 || (isOver && change === 'created')) {
      lives.push([])
      isOver = false
    }
    lives.at(-1)?.push(each)
    if (change === 'gone') isOver = true
  }
  return lives
}

/**
 * Of what is only orphaned, or loses its finalizer, the evidence is `orphaning`: nothing is
 * deleted.
 */
function isDelete({ change, evidence, command }: History): boolean {
  return change === 'command' && command !== null && evidence !== null && evidence !== 'orphaning'
}

function isEnd({ change, phase, evidence }: History): boolean {
  if (change === 'gone') return true
  if (change === 'owner') return evidence !== null
  return phase === 'deleting' || phase === 'waiting' || phase === 'orphaning'
}

function reapedBy({ command, evidence, at, text }: History): Reaped | null {
  return command === null || evidence === null ? null : { command, evidence, at, text }
}

function isNamespace({ group, kind }: Pick<Named, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'Namespace'
}

function namedOf({ group, kind, namespace, name, uid }: History): Named {
  return { group, kind, namespace, name, uid }
}
