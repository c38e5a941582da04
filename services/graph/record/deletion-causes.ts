/**
 * Who deleted each object of a list, and after which owner's deletion: asked where the histories of
 * its cluster are, for many of a page at once.
 *
 * What must stay true: what could not be asked is unknown, and `doubt` says why. One request reads
 * a bounded number of entries here, and as many in each process that it asks, but for its first
 * record. A process answers another one for whom it has checked that it may see the whole graph.
 *
 * Not here: how it is found out (attribution.ts), what a list shows of it (deletion-question.ts).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Identity, identityOf } from '../../../core/graph/identity.ts'
import type { History } from '../../../core/model/record.ts'
import { LogError } from '../../../ports/log.ts'
import type { HistoryRecord } from '../../../ports/record/lineage.ts'
import type { Deletion } from '../query/answer/deletion-cause.ts'
import { behindText } from '../query/answer/query.ts'
import { changeIn } from '../query/index/history-key.ts'
import { markOf, type RecordPlace, readJson } from '../query/view/forward-call.ts'
import { isClosed } from '../query/view/view.ts'
import { Turns } from '../turns.ts'
import { attributionOf } from './attribution.ts'
import type { ChangeParts } from './change-question.ts'
import type { Change, ChangeScan } from './change-scan.ts'
import { Deleters } from './deleter.ts'
import { Lives } from './life.ts'

/**
 * Entries of histories, and as many of audit logs, that one request reads at most, but for its
 * first object.
 */
const MOST_ENTRIES = 20_000
/** Records of a partition that another process is asked about at once, and of all together. */
const AT_ONCE = 50
const MOST_AT_ONCE = 400
/** Entries of the log that are read at once, and at most to find one after another. */
const PAGE_LIMIT = 500

export interface DeletionCause {
  readonly deletion: Deletion
  /** Owners by whose deletion it was deleted, the nearest first; after them its namespace. */
  readonly owners: readonly Identity[]
}

const UNKNOWN: DeletionCause = {
  deletion: {
    ...{ by: 'unknown', evidence: null, command: null, deletedBy: null, root: null },
    ...{ rootDeletedBy: null, isInferred: false, isRootKnown: false, unproven: null },
    ...{ unseenSince: null, text: '' },
  },
  owners: [],
}

/** What a process answers to another one. */
interface Answered {
  /** As they were asked for; those that it did not read any more are left out at the end. */
  readonly causes: readonly (readonly [key: string, cause: DeletionCause])[]
  /** Entries that it read of histories and of audit logs: the larger of the two numbers. */
  readonly read: number
  readonly doubts: readonly string[]
}

/** Of the clusters of this process. */
class OwnCauses {
  readonly #lives: Lives
  readonly #deleters: Deleters

  constructor(parts: ChangeParts, turns: Turns) {
    this.#lives = new Lives({ ...parts, turns })
    this.#deleters = new Deleters({ ...parts, turns })
  }

  get read(): number {
    return Math.max(this.#lives.read, this.#deleters.read)
  }

  async unnamed(): Promise<string> {
    return await this.#deleters.caughtUp()
  }

  doubts(): readonly string[] {
    return [this.#deleters.doubt(), this.#lives.doubt()].filter((text) => text !== '')
  }

  async of({ record, offset }: Change): Promise<DeletionCause> {
    const of = identityOf(record.cluster, record)
    const parts = { lives: this.#lives, deleters: this.#deleters }
    const { deletion, owners } = await attributionOf(
      parts,
      record,
      await this.#lives.endedBy(of, offset),
    )
    return { deletion, owners }
  }
}

/** For one page. */
export class DeletionCauses {
  readonly #parts: ChangeParts
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #own: OwnCauses
  readonly #known = new Map<string, DeletionCause>()
  readonly #doubts = new Set<string>()
  /** Partitions that no process answered for. */
  readonly #missing = new Set<number>()
  #readElsewhere = 0

  constructor(parts: ChangeParts, request: FastifyRequest, reply: FastifyReply, turns: Turns) {
    this.#parts = parts
    this.#request = request
    this.#reply = reply
    this.#own = new OwnCauses(parts, turns)
  }

  /** Whether this one may be asked for, too. */
  mayAsk(change: Change): boolean {
    if (this.#own.read >= MOST_ENTRIES) return false
    return this.#readElsewhere < MOST_ENTRIES || this.#known.has(keyOf(change))
  }

  /** Why a user may be missing in all of them. */
  async unnamed(): Promise<string> {
    return await this.#own.unnamed()
  }

  /** Of all asked for so far. */
  doubt(): string {
    return [...new Set([...this.#own.doubts(), ...this.#doubts])].join('; ')
  }

  /** Of this change; so many that the scan has next are asked for with it. */
  async of(change: Change, scan: ChangeScan, ahead: number): Promise<DeletionCause> {
    const key = keyOf(change)
    if (!this.#known.has(key) && !this.#missing.has(change.record.partition)) {
      const own = await this.#ofOwn(change)
      if (own !== undefined) return own
      await this.#gather([change, ...scan.waiting(Math.min(ahead, AT_ONCE))])
    }
    const known = this.#known.get(key)
    this.#known.delete(key)
    return known ?? UNKNOWN
  }

  /** Undefined where another process has it. */
  async #ofOwn(change: Change): Promise<DeletionCause | undefined> {
    // Another process sent the whole question here: it asks again who has the cluster.
    const isSent = markOf(this.#request) !== undefined
    if (!isSent && !this.#isHere(change)) return undefined
    try {
      return await this.#own.of(change)
    } catch (error) {
      if (isSent || !isClosed(error)) throw error
      return undefined
    }
  }

  #isHere({ record }: Change): boolean {
    return this.#parts.clusters.here(record.partition) !== undefined
  }

  async #gather(changes: readonly Change[]): Promise<void> {
    const { clusters, forwarding } = this.#parts
    const [first, ...next] = changes
    const others = next.filter((each) => !this.#isHere(each) && !this.#known.has(keyOf(each)))
    const elsewhere = [...(first === undefined ? [] : [first]), ...others].slice(0, MOST_AT_ONCE)
    const partitions = new Set(elsewhere.map(({ record }) => record.partition))
    const asked = (await clusters.all()).filter(({ partition }) => partitions.has(partition))
    const { all, partial } = await forwarding.gathered(this.#request, this.#reply, {
      asked,
      records: (some) => {
        return elsewhere.map(placeOf).filter(({ partition }) => some.includes(partition))
      },
      own: async (views) => {
        // They were moved here meanwhile.
        const here = new Set(views.map(({ partition }) => partition.partition))
        const own = elsewhere.filter(({ record }) => here.has(record.partition))
        return await answeredOf(this.#own, own)
      },
      read: async (answer) => (await readJson(answer)) as Answered,
    })
    for (const each of partitions) this.#missing.add(each)
    for (const { answer, clusters: its } of all) {
      for (const { partition } of its) this.#missing.delete(partition)
      for (const [key, cause] of answer.causes) this.#known.set(key, cause)
      for (const doubt of answer.doubts) this.#doubts.add(doubt)
      this.#readElsewhere += answer.read
    }
    if (partial !== '') this.#doubts.add(`who deleted what is not known of some: ${partial}`)
  }
}

/** Of a request by which another process asks for its page; undefined when it is none. */
export async function causesAsked(
  parts: ChangeParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Answered | undefined> {
  const mark = markOf(request)
  if (mark?.partitions === undefined || mark.records === undefined) return undefined
  await parts.access.graph(request)
  await parts.forwarding.ownOf(request, reply)
  const own = new OwnCauses(parts, new Turns(parts.clock))
  const doubts = [behindText(await parts.index.caughtUp()), await own.unnamed()]
  const changes = await changesAt(parts, mark.records)
  const answered = await answeredOf(own, changes)
  return { ...answered, doubts: [...doubts.filter((text) => text !== ''), ...answered.doubts] }
}

async function answeredOf(own: OwnCauses, changes: readonly Change[]): Promise<Answered> {
  const causes: (readonly [string, DeletionCause])[] = []
  for (const change of changes) {
    if (causes.length > 0 && own.read >= MOST_ENTRIES) break
    causes.push([keyOf(change), await own.of(change)])
  }
  return { causes, read: own.read, doubts: own.doubts() }
}

/** Those of these records that are on the log still. */
async function changesAt(
  { log, codec }: ChangeParts,
  records: readonly RecordPlace[],
): Promise<readonly Change[]> {
  const changes: Change[] = []
  for (const [partition, some] of Map.groupBy(records, (each) => each.partition)) {
    const offsets = new Set(some.map(({ offset }) => offset))
    for (let next = some[0]?.offset; next !== undefined; ) {
      const entries = await entriesFrom(log, partition, next)
      for (const { offset, value } of entries) {
        if (!offsets.delete(offset) || value === null) continue
        changes.push({ record: changeIn(codec.decode(value) as HistoryRecord), offset })
      }
      const last = entries.at(-1)?.offset
      next = [...offsets].filter((each) => last !== undefined && each > last).at(0)
    }
  }
  return changes
}

async function entriesFrom(
  log: ChangeParts['log'],
  partition: number,
  from: bigint,
): Promise<Awaited<ReturnType<ChangeParts['log']['read']>>['entries']> {
  try {
    return (await log.read('history', partition, from, { limit: PAGE_LIMIT, waitMs: 0 })).entries
  } catch (error) {
    if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return []
    throw error
  }
}

function placeOf({ record, offset }: Pick<Change, 'offset'> & { record: History }): RecordPlace {
  return { partition: record.partition, offset }
}

function keyOf({ record, offset }: Change): string {
  return `${record.partition}-${offset}`
}
