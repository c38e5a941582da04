/**
 * Folds a span of the log again under another policy, offline, and compares what would have been
 * deleted with what was.
 *
 * What must stay true: the facts are those of the log, so only the first action of Kinfold is
 * reported: after the first difference the cluster would have changed in another way, and a
 * difference that follows from another one says so (`dependsOn`). An owner that was not verified
 * then is not known now: `unclear`, never a guess.
 *
 * Not here: reading the log (refold.ts), policies in a config file (cli).
 */
import { factsOf } from '../../../core/graph/facts.ts'
import { policyOf } from '../../../core/graph/graph.ts'
import type { Outcome } from '../../../core/graph/outcome.ts'
import type { Command, CommandType, DeleteObject } from '../../../core/model/command.ts'
import type { CommandSettled, Event, PolicyChanged } from '../../../core/model/event.ts'
import { admissionOf, goesByUs, type HeldBy, type Node } from '../../../core/model/node.ts'
import type { ClusterId, GroupKind, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { Policy } from '../../../core/model/policy.ts'
import type { Entry } from '../../../ports/log.ts'
import { type DecodedFold, decodedFold } from './decoded-fold.ts'
import { loadBaseBefore } from './reach.ts'
import {
  committedEnd,
  eventOf,
  issuedFrom,
  offsetOf,
  READ_LIMIT,
  type RefoldParts,
} from './refold.ts'

export interface ReplayParts extends RefoldParts {
  /** Append times in milliseconds: the first one, and the first one beyond. */
  readonly fromMs: number
  readonly toMs: number
  /**
   * Given the one that was in force at `fromMs`. It stays until `toMs`, whatever was set meanwhile.
   */
  readonly policyFrom: (inForce: Policy) => Policy
  readonly progress?: (events: number, atMs: number) => void
}

/**
 * What happened: `deleted` by Kinfold, `left` because of another client, or it exists at the end of
 * the span.
 */
export type Was = 'deleted' | 'left' | 'exists'
/** `unclear`: it depends on a live GET that was not made then; or it was refused. */
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
  /**
   * Append time, in milliseconds: of its deletion, or of the command for one, or the end of the
   * span.
   */
  readonly at: number
  /**
   * An owner whose own end differs, or for a breaker or a budget the first object of the cluster:
   * what is said of this one rests on that.
   */
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

/** Of a partition, some 300 bytes each. */
const CASES_LIMIT = 10_000
const PROGRESS_EVENTS = 10_000
/** What is left on the agenda at a heartbeat, a slice each. */
const SLICES_LIMIT = 100_000

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
  /** The server accepted it. */
  isDone: boolean
  /** Append time of the event that the command would have followed from. */
  wouldMs: number | null
  /** As it was judged last. */
  judged: { readonly would: Would; readonly heldBy: HeldBy | null; readonly because: string }
}

const NOT_JUDGED: Subject['judged'] = {
  would: 'unclear',
  heldBy: null,
  because: 'nothing was judged',
}

const NONE: readonly DeleteObject[] = []

class Replay {
  readonly #parts: ReplayParts
  readonly #subjects = new Map<string, Subject>()
  /** Whose end differs. */
  readonly #different = new Set<string>()
  /** By verb and uid, the command that the fold waits for now. */
  readonly #asked = new Map<string, string>()
  readonly #cases: ReplayCase[] = []
  readonly #counts = new Map<string, ReplayCount>()
  /** What Kinfold was deleting when the span began. */
  readonly #begun = new Set<string>()
  #differences = 0
  #events = 0
  #policy: Policy | undefined
  /** Whether Kinfold deleted then: the mode on the log. */
  #didEnforce = false
  /** By cluster, the first object whose end differs. */
  readonly #firstDifferent = new Map<ClusterId, Uid>()

  constructor(parts: ReplayParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<ReplayResult> {
    const { log, partition, fromMs, toMs } = this.#parts
    const base = await loadBaseBefore(this.#parts, fromMs)
    const fold = await decodedFold(this.#parts, base)
    // Before the commands: those of what is committed are on the log by now.
    const end = await committedEnd(this.#parts)
    const did = await this.#did(0n)
    let from: bigint | undefined
    let lastMs = fromMs
    let all = 0
    reading: for (;;) {
      signal.throwIfAborted()
      const { position } = fold.position
      const page = await log.read('events', partition, position, { limit: READ_LIMIT, waitMs: 0 })
      if (page.entries.length === 0) break
      for (const entry of page.entries) {
        if (entry.offset >= end || entry.timestamp >= toMs) break reading
        all += 1
        if (all % PROGRESS_EVENTS === 0) this.#parts.progress?.(all, entry.timestamp)
        const isBefore = from === undefined && entry.timestamp < fromMs
        if (from === undefined && !isBefore) {
          from = entry.offset
          this.#noteBegun(fold, did, from)
          this.#begin(fold, entry)
        }
        // Nearly all are there at once: a promise for each would cost as much as reading it.
        const read = eventOf(this.#parts, fold, entry)
        const event = read instanceof Promise ? await read : read
        if (isBefore) {
          fold.fold(event, fold.at(entry))
          continue
        }
        lastMs = entry.timestamp
        this.#foldOne(fold, entry, event, did.get(entry.offset) ?? NONE)
      }
    }
    const to = fold.position.position
    // What is left on the agenda was left by the fold that wrote the span, too: it is no
    // difference.
    for (const [key, subject] of this.#subjects) this.#settle(key, subject, 'exists', lastMs)
    return {
      ...{ partition, events: this.#events, from: from ?? to, to },
      policy: this.#policy ?? this.#parts.policyFrom(policyOf(fold.graph).policy),
      counts: [...this.#counts.values()],
      cases: this.#cases,
      differences: this.#differences,
    }
  }

  #foldOne(fold: DecodedFold, entry: Entry, read: Event, did: readonly DeleteObject[]): void {
    this.#events += 1
    const outcome = fold.fold(this.#eventFor(read), fold.at(entry))
    this.#follow(fold, outcome, entry.timestamp)
    if (read.type === 'CommandSettled') this.#noteResult(read)
    // The log has no `Continue` for what only this policy has to do.
    if (read.type === 'Heartbeat') this.#drain(fold, entry.offset, entry.timestamp)
    for (const command of did) {
      const subject = this.#subjectOf(command)
      subject.didMs ??= entry.timestamp
      const node = factsOf(fold.graph, command.cluster).node(command.target.uid)
      const isFirst = subject.wouldMs === null && node?.object.deletedAt === null
      if (node !== undefined && isFirst) subject.judged = this.#judgedOf(node)
    }
  }

  /** The policy of the log does not count. Answers go to the command that asks for them here. */
  #eventFor(event: Event): Event {
    switch (event.type) {
      case 'PolicyChanged':
        this.#didEnforce = event.policy.mode === 'enforce'
        return { type: 'Continue' }
      case 'OwnerFound':
      case 'OwnerAbsent':
        return { ...event, command: this.#askedBy('VerifyOwner', event) ?? event.command }
      case 'CommandSettled':
        return { ...event, command: this.#askedBy(event.verb, event) ?? event.command }
      default:
        return event
    }
  }

  /** The policy, before the first record of the span, with all that it has judged again. */
  #begin(fold: DecodedFold, entry: Entry): void {
    const former = policyOf(fold.graph).policy
    this.#didEnforce = former.mode === 'enforce'
    this.#policy = this.#parts.policyFrom(former)
    const event: PolicyChanged = {
      ...{ type: 'PolicyChanged', policy: this.#policy, who: 'replay', why: 'another policy' },
    }
    const outcome = fold.fold(event, fold.at(entry))
    this.#follow(fold, outcome, entry.timestamp)
    this.#drain(fold, entry.offset, entry.timestamp)
  }

  /** What Kinfold was deleting when the span began: its end is no result of the span. */
  #noteBegun(
    fold: DecodedFold,
    did: ReadonlyMap<bigint, readonly DeleteObject[]>,
    from: bigint,
  ): void {
    for (const [position, commands] of did) {
      if (position >= from) continue
      for (const { cluster, target } of commands) {
        const node = factsOf(fold.graph, cluster).node(target.uid)
        if (node !== undefined && goesByUs(node)) this.#begun.add(objectKey(cluster, target.uid))
      }
    }
  }

  /** Of Kinfold's own command: what a server refused was not deleted, nor would it have been. */
  #noteResult({ verb, cluster, uid, outcome, reason }: CommandSettled): void {
    const subject = this.#subjects.get(objectKey(cluster, uid))
    if (verb !== 'DeleteObject' || subject === undefined) return
    if (outcome === 'done') subject.isDone = true
    else if (!subject.isDone) {
      subject.didMs = null
      if (subject.judged.would === 'deleted')
        subject.judged = { would: 'unclear', heldBy: null, because: `${outcome}: ${reason}` }
    }
  }

  #askedBy(
    verb: CommandType,
    { cluster, uid }: { readonly cluster: ClusterId; readonly uid: Uid },
  ): string | undefined {
    return this.#asked.get(`${verb} ${objectKey(cluster, uid)}`)
  }

  #follow(fold: DecodedFold, outcome: Outcome, atMs: number): void {
    for (const command of outcome.commands) {
      const { cluster, target, type } = command
      this.#asked.set(`${type} ${objectKey(cluster, target.uid)}`, command.id)
      if (type !== 'DeleteObject' || command.mode !== 'enforce') continue
      const subject = this.#subjectOf(command)
      subject.wouldMs ??= atMs
      subject.judged = { would: 'deleted', heldBy: null, because: command.because }
    }
    for (const [key, { cluster, uid, last }] of outcome.touched) {
      const node = factsOf(fold.graph, cluster).node(uid)
      if (node !== undefined) this.#judge(key, cluster, node)
      else if (last?.phase === 'gone') this.#settleGone(key, atMs)
    }
  }

  #judge(key: string, cluster: ClusterId, node: Node): void {
    const known = this.#subjects.get(key)
    const judged = this.#judgedOf(node)
    const isOfNoInterest = judged.would === 'kept' || judged.would === 'deleted'
    if (known === undefined && (isOfNoInterest || this.#begun.has(key))) return
    const { object } = node
    const owners = object.ownerReferences.map(({ uid }) => uid)
    if (known === undefined) {
      const subject = {
        cluster,
        object,
        uid: object.uid,
        owners,
        didMs: null,
        isDone: false,
        wouldMs: null,
        judged,
      }
      this.#subjects.set(key, subject)
      return
    }
    known.owners = owners
    // Its verdict before the first deletion by any client counts; once Kinfold would have deleted
    // it, it is settled.
    if (known.wouldMs === null && node.object.deletedAt === null) known.judged = judged
    const isSettled = known.didMs !== null || known.wouldMs !== null
    if (!isSettled && isOfNoInterest && node.object.deletedAt === null) this.#subjects.delete(key)
  }

  #judgedOf(node: Node): Subject['judged'] {
    const because = node.verdict?.because ?? ''
    switch (node.verdict?.type) {
      case 'delete': {
        const held = admissionOf(node)
        if (held !== null) {
          return { would: 'held', heldBy: held.by, because: `${because}; ${held.because}` }
        }
        return this.#policy?.mode === 'enforce'
          ? { would: 'deleted', heldBy: null, because }
          : { would: 'held', heldBy: 'mode', because }
      }
      case 'verify':
      case 'blocked':
        return { would: 'unclear', heldBy: null, because }
      default:
        return { would: 'kept', heldBy: null, because }
    }
  }

  #subjectOf({ cluster, target, references }: DeleteObject): Subject {
    const key = objectKey(cluster, target.uid)
    const owners = references.map(({ uid }) => uid)
    const known = this.#subjects.get(key)
    if (known !== undefined) return known
    const times = { didMs: null, isDone: false, wouldMs: null }
    const subject = {
      cluster,
      object: target,
      uid: target.uid,
      owners,
      ...times,
      judged: NOT_JUDGED,
    }
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
    if (!isDifference(was, would, this.#didEnforce)) return
    // Kinfold's own deletions count there like those of others.
    const isShared = heldBy === 'breaker' || heldBy === 'budget'
    const sharedCause = (isShared ? this.#firstDifferent.get(cluster) : undefined) ?? null
    if (!this.#firstDifferent.has(cluster)) this.#firstDifferent.set(cluster, uid)
    this.#different.add(key)
    this.#differences += 1
    if (this.#cases.length >= CASES_LIMIT) return
    const owner = owners.find((each) => this.#different.has(objectKey(cluster, each)))
    const dependsOn = owner ?? sharedCause
    const { group, kind, namespace, name } = object
    const at = subject.didMs ?? wouldMs ?? atMs
    this.#cases.push({
      ...{ cluster, group, kind, namespace, name, uid, was, would, heldBy, because, at, dependsOn },
    })
  }

  /** Another policy may have more to do than the log has records for. */
  #drain(fold: DecodedFold, offset: bigint, atMs: number): void {
    for (let slice = 0; slice < SLICES_LIMIT; slice++) {
      const outcome = fold.fold({ type: 'Continue' }, fold.at({ offset, timestamp: atMs }))
      this.#follow(fold, outcome, atMs)
      if (!outcome.continues) return
    }
  }

  /** Kinfold's own commands to delete, by the position of the event that they followed from. */
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

/** Whether an object's end, or its time, would have been another one by Kinfold's doing. */
function isDifference(was: Was, would: Would, didEnforce: boolean): boolean {
  switch (was) {
    case 'deleted':
      return would !== 'deleted'
    case 'left':
      // Where Kinfold enforced, no other collector did: a user deleted what waited.
      return would === 'held' && !didEnforce
    case 'exists':
      return would === 'deleted'
  }
}
