/**
 * Folds a span of the log again under another policy, offline, and compares what would have been deleted with what was.
 *
 * What must stay true: the facts are those of the log, so only what Kinfold does first is told: after the first difference the cluster would have gone
 * another way, and what rests on one says so (`dependsOn`). What nobody looked up then is not known now: `unclear`, never a guess.
 *
 * Not here: reading the log (refold.ts), policies in a config file (cli).
 */
import { nodeOf, policyOf } from '../../../core/graph/graph.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import type { Command, CommandType, DeleteObject } from '../../../core/model/command.ts'
import type { Event, PolicyChanged } from '../../../core/model/event.ts'
import type { HeldBy, Node } from '../../../core/model/node.ts'
import type { ClusterId, GroupKind, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { Policy } from '../../../core/model/policy.ts'
import type { Entry } from '../../../ports/log.ts'
import { Batch } from '../fold/batch.ts'
import { checkFoldVersion, foldVersionOf } from '../fold/fold-version.ts'
import type { SnapshotPlace } from '../fold/retention.ts'
import {
  eventOf,
  issuedFrom,
  loadBase,
  offsetOf,
  READ_LIMIT,
  type RefoldParts,
  storeBatch,
} from './refold.ts'

export interface ReplayParts extends RefoldParts {
  /** Append times in milliseconds: the first one, and the first one beyond. */
  readonly fromMs: number
  readonly toMs: number
  /** Given the one that was in force at `fromMs`. It stays until `toMs`, whatever was set meanwhile. */
  readonly policyFrom: (inForce: Policy) => Policy
  readonly progress?: (events: number, atMs: number) => void
}

/** What happened: `deleted` by Kinfold, `left` by somebody else's doing, or it exists at the end of the span. */
export type Was = 'deleted' | 'left' | 'exists'
/** `unclear`: it rests on a live GET, and nobody made one then; or it was refused. */
export type Would = 'deleted' | 'held' | 'kept' | 'unclear'

export interface ReplayCase extends GroupKind {
  readonly cluster: ClusterId
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  readonly was: Was
  readonly would: Would
  /** Of what would be held. */
  readonly heldBy: HeldBy | null
  readonly because: string
  /** Append time, in milliseconds: of its deletion, or of the command for one, or the end of the span. */
  readonly at: number
  /** An owner whose own end differs: what is told of this one rests on that. */
  readonly dependsOn: Uid | null
}

export interface ReplayResult {
  readonly partition: number
  /** Folded within the span. */
  readonly events: number
  readonly from: bigint
  readonly to: bigint
  readonly policy: Policy
  readonly counts: readonly ReplayCount[]
  /** Differences, in the order of the log; the first ones, and `differences` of them there are. */
  readonly cases: readonly ReplayCase[]
  readonly differences: number
}

export interface ReplayCount {
  readonly was: Was
  readonly would: Would
  readonly heldBy: HeldBy | null
  readonly count: number
}

/** The span begins before anything that can still be folded. */
export class TooEarlyError extends Error {
  readonly earliestMs: number

  constructor(partition: number, earliestMs: number) {
    const text = new Date(earliestMs).toISOString()
    super(`partition ${partition} can be folded again from ${text} on: name a later --from`)
    this.earliestMs = earliestMs
  }
}

/** Of a partition, some 300 bytes each. */
const CASES_LIMIT = 10_000
const PROGRESS_EVENTS = 10_000
/** What is left on the agenda at the end, a slice each. */
const LAST_SLICES = 100_000

export async function replayPartition(
  parts: ReplayParts,
  signal: AbortSignal,
): Promise<ReplayResult> {
  return await new Replay(parts).run(signal)
}

/** What is remembered of an object until it is known what became of it. */
interface Subject {
  readonly cluster: ClusterId
  readonly object: GroupKind & { readonly namespace: string; readonly name: string }
  readonly uid: Uid
  owners: readonly Uid[]
  /** Append time of Kinfold's own command on the log. */
  didMs: number | null
  /** Append time of the event that the command would have followed from. */
  wouldMs: number | null
  /** As it was judged last. */
  judged: { readonly would: Would; readonly heldBy: HeldBy | null; readonly because: string }
}

const KEPT: Subject['judged'] = { would: 'kept', heldBy: null, because: 'an owner exists' }

class Replay {
  readonly #parts: ReplayParts
  readonly #subjects = new Map<string, Subject>()
  /** Whose end differs. */
  readonly #different = new Set<string>()
  /** By verb and uid, the command that the fold waits for now. */
  readonly #asked = new Map<string, string>()
  readonly #cases: ReplayCase[] = []
  readonly #counts = new Map<string, ReplayCount>()
  #differences = 0
  #events = 0
  #policy: Policy | undefined

  constructor(parts: ReplayParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<ReplayResult> {
    const { log, codec, store, partition, fromMs, toMs } = this.#parts
    checkFoldVersion(await foldVersionOf(log, codec))
    const base = await loadBase(this.#parts, async (bases) => await this.#latestBefore(bases))
    const partitions = log.partitions('events')
    const batch = new Batch({ store, codec, partition, partitions, from: base })
    await this.#checkReach(base?.position ?? 0n)
    const did = await this.#did(base?.position ?? 0n)
    let from: bigint | undefined
    let lastMs = fromMs
    let all = 0
    reading: for (;;) {
      signal.throwIfAborted()
      const { position } = batch.position
      const page = await log.read('events', partition, position, { limit: READ_LIMIT, waitMs: 0 })
      if (page.entries.length === 0) break
      for (const entry of page.entries) {
        if (entry.timestamp >= toMs) break reading
        all += 1
        if (all % PROGRESS_EVENTS === 0) this.#parts.progress?.(all, entry.timestamp)
        if (entry.timestamp < fromMs) {
          await batch.fold(await eventOf(this.#parts, batch, entry), this.#at(batch, entry))
          continue
        }
        from ??= entry.offset
        lastMs = entry.timestamp
        await this.#foldOne(batch, entry, did.get(entry.offset) ?? [])
      }
      await storeBatch(this.#parts, batch)
    }
    const to = batch.position.position
    await this.#finishAgenda(batch, lastMs)
    for (const [key, subject] of this.#subjects) this.#settle(key, subject, 'exists', lastMs)
    return {
      ...{ partition, events: this.#events, from: from ?? to, to },
      policy: this.#policy ?? this.#parts.policyFrom(policyOf(batch.graph).policy),
      counts: [...this.#counts.values()],
      cases: this.#cases,
      differences: this.#differences,
    }
  }

  #at(batch: Batch, { offset, timestamp }: Pick<Entry, 'offset' | 'timestamp'>): At {
    const { partition, partitions } = batch.position
    return { partition, partitions, position: offset, timestamp }
  }

  async #foldOne(batch: Batch, entry: Entry, did: readonly DeleteObject[]): Promise<void> {
    this.#events += 1
    const event = this.#eventFor(batch, await eventOf(this.#parts, batch, entry))
    const outcome = await batch.fold(event, this.#at(batch, entry))
    this.#follow(batch, outcome, entry.timestamp)
    for (const command of did) {
      const subject = this.#subjectOf(command)
      subject.didMs ??= entry.timestamp
      const node = nodeOf(batch.graph, command.cluster, command.target.uid)
      const isFirst = subject.wouldMs === null && node?.verdict?.type !== 'deleting'
      if (node !== undefined && isFirst) subject.judged = judgedOf(node)
    }
  }

  /** The policy in the place of a record that only lets time pass; later ones do not count. Answers go to the command that asks for them here. */
  #eventFor(batch: Batch, event: Event): Event {
    switch (event.type) {
      case 'Heartbeat':
      case 'Continue':
      case 'PolicyChanged':
        if (this.#policy === undefined) return this.#policyEvent(batch)
        return event.type === 'PolicyChanged' ? { type: 'Continue' } : event
      case 'OwnerFound':
      case 'OwnerAbsent':
        return { ...event, command: this.#askedBy('VerifyOwner', event) ?? event.command }
      case 'CommandSettled':
        return { ...event, command: this.#askedBy(event.verb, event) ?? event.command }
      default:
        return event
    }
  }

  #policyEvent(batch: Batch): PolicyChanged {
    this.#policy = this.#parts.policyFrom(policyOf(batch.graph).policy)
    return { type: 'PolicyChanged', policy: this.#policy, who: 'replay', why: 'another policy' }
  }

  #askedBy(
    verb: CommandType,
    { cluster, uid }: { readonly cluster: ClusterId; readonly uid: Uid },
  ): string | undefined {
    return this.#asked.get(`${verb} ${objectKey(cluster, uid)}`)
  }

  #follow(batch: Batch, outcome: Outcome, atMs: number): void {
    for (const command of outcome.commands) {
      const { cluster, target, type } = command
      this.#asked.set(`${type} ${objectKey(cluster, target.uid)}`, command.id)
      if (type !== 'DeleteObject' || command.mode !== 'enforce') continue
      const subject = this.#subjectOf(command)
      subject.wouldMs ??= atMs
      subject.judged = { would: 'deleted', heldBy: null, because: command.because }
    }
    for (const [key, { cluster, uid, last }] of outcome.touched) {
      const node = nodeOf(batch.graph, cluster, uid)
      if (node !== undefined) this.#judge(key, cluster, node)
      else if (last?.phase === 'gone') this.#settleGone(key, atMs)
    }
  }

  #judge(key: string, cluster: ClusterId, node: Node): void {
    const known = this.#subjects.get(key)
    const judged = judgedOf(node)
    const isOfNoInterest = judged.would === 'kept' || judged.would === 'deleted'
    if (known === undefined && isOfNoInterest) return
    const { object } = node
    const owners = object.ownerReferences.map(({ uid }) => uid)
    if (known === undefined) {
      const subject = {
        cluster,
        object,
        uid: object.uid,
        owners,
        didMs: null,
        wouldMs: null,
        judged,
      }
      this.#subjects.set(key, subject)
      return
    }
    known.owners = owners
    // What it was judged before anybody deleted it is what counts; once Kinfold would have, it is settled.
    if (known.wouldMs === null && node.verdict?.type !== 'deleting') known.judged = judged
    const isSettled = known.didMs !== null || known.wouldMs !== null
    if (!isSettled && isOfNoInterest && node.verdict?.type !== 'deleting')
      this.#subjects.delete(key)
  }

  #subjectOf({ cluster, target, references }: DeleteObject): Subject {
    const key = objectKey(cluster, target.uid)
    const owners = references.map(({ uid }) => uid)
    const known = this.#subjects.get(key)
    if (known !== undefined) return known
    const times = { didMs: null, wouldMs: null }
    const subject = { cluster, object: target, uid: target.uid, owners, ...times, judged: KEPT }
    this.#subjects.set(key, subject)
    return subject
  }

  #settleGone(key: string, atMs: number): void {
    const subject = this.#subjects.get(key)
    if (subject === undefined) return
    this.#subjects.delete(key)
    this.#settle(key, subject, subject.didMs === null ? 'left' : 'deleted', atMs)
  }

  #settle(key: string, subject: Subject, state: Was, atMs: number): void {
    const was = subject.didMs === null ? state : 'deleted'
    const { cluster, object, uid, owners, wouldMs } = subject
    const { would, heldBy, because } = subject.judged
    const id = `${was} ${would} ${heldBy ?? ''}`
    const count = (this.#counts.get(id)?.count ?? 0) + 1
    this.#counts.set(id, { was, would, heldBy, count })
    if (!isDifference(was, would)) return
    this.#different.add(key)
    this.#differences += 1
    if (this.#cases.length >= CASES_LIMIT) return
    const dependsOn = owners.find((owner) => this.#different.has(objectKey(cluster, owner))) ?? null
    const { group, kind, namespace, name } = object
    const at = subject.didMs ?? wouldMs ?? atMs
    this.#cases.push({
      ...{ cluster, group, kind, namespace, name, uid, was, would, heldBy, because, at, dependsOn },
    })
  }

  /** Another policy may have more to do than the log has records for. */
  async #finishAgenda(batch: Batch, atMs: number): Promise<void> {
    for (let slice = 0; slice < LAST_SLICES; slice++) {
      const at = this.#at(batch, { offset: batch.position.position, timestamp: atMs })
      const outcome = await batch.fold({ type: 'Continue' }, at)
      this.#follow(batch, outcome, atMs)
      if (!outcome.continues) return
    }
  }

  /** The newest snapshot from which the whole span is still ahead. */
  async #latestBefore(bases: readonly SnapshotPlace[]): Promise<SnapshotPlace | undefined> {
    for (const base of bases.toReversed()) {
      const timeMs = await this.#timeOf(base.position)
      if (timeMs !== undefined && timeMs <= this.#parts.fromMs) return base
    }
    return undefined
  }

  async #checkReach(position: bigint): Promise<void> {
    if (position === 0n) return
    const { partition, fromMs } = this.#parts
    const earliestMs = await this.#timeOf(position)
    if (earliestMs !== undefined && earliestMs > fromMs) {
      throw new TooEarlyError(partition, earliestMs)
    }
  }

  async #timeOf(position: bigint): Promise<number | undefined> {
    const { log, partition } = this.#parts
    const page = await log.read('events', partition, position, { limit: 1, waitMs: 0 })
    return page.entries[0]?.timestamp
  }

  /** Kinfold's own deletions that were carried out, by the position of the event that they followed from. */
  async #did(from: bigint): Promise<ReadonlyMap<bigint, readonly DeleteObject[]>> {
    const did = new Map<bigint, DeleteObject[]>()
    for (const [id, bytes] of await issuedFrom(this.#parts, from)) {
      const command = this.#parts.codec.decode(bytes) as Command
      if (command.type !== 'DeleteObject' || command.mode !== 'enforce') continue
      const position = offsetOf(id)
      did.set(position, [...(did.get(position) ?? []), command])
    }
    return did
  }
}

function judgedOf({ verdict, hold }: Node): Subject['judged'] {
  const because = verdict?.because ?? ''
  switch (verdict?.type) {
    case 'held':
      return { would: 'held', heldBy: hold?.by ?? null, because }
    case 'reap':
      return { would: 'deleted', heldBy: null, because }
    case 'verify':
    case 'blocked':
      return { would: 'unclear', heldBy: null, because }
    default:
      return { would: 'kept', heldBy: null, because }
  }
}

/** Whether an object's end, or its time, would have been another one by Kinfold's doing. */
function isDifference(was: Was, would: Would): boolean {
  switch (was) {
    case 'deleted':
      return would !== 'deleted'
    case 'left':
      return would === 'held'
    case 'exists':
      return would === 'deleted'
  }
}
