/**
 * The commands of one cluster that were read and not sent yet: one target at a time, of one kind in
 * one namespace in the order of the log, newest decision first; namespaces take turns, and in each
 * of them kinds do.
 *
 * What must stay true: two changes of one object are never under way together; a command that is
 * superseded was never sent. A kind whose calls hang or fail does not block those of others (I21),
 * and neither does a namespace with thousands of them (I36), or with those that take long.
 *
 * Not here: whose turn it is (rotation.ts), the number of concurrent calls (throttle.ts), the
 * results of superseded commands (reaper.ts).
 */
import type { Command } from '../../../core/model/command.ts'
import type { CommandId } from '../../../core/model/id.ts'
import type { Moments } from './moment.ts'
import { Rotation, type Taken } from './rotation.ts'

/** `onSettled` is called for each time it was read. */
export interface Job {
  readonly command: Command
  readonly moments: Moments
  readonly onSettled: (() => void)[]
}

/** A kind's calls, in all namespaces. */
interface Lane {
  waiting: number
  underWay: number
}

interface Subject {
  underWay: { readonly job: Job; readonly lane: string } | undefined
  /** At most one per question, in the order of arrival. */
  readonly waiting: Map<string, Job>
}

/**
 * Beyond a limit, for namespaces that have less than an eighth of it; the rest is for such kinds.
 */
function mostOfNamespaces(limit: number): number {
  return limit + Math.ceil(limit / 4)
}

/** Of all kinds together, at a limit. */
export function mostCalls(limit: number): number {
  return limit + Math.ceil(limit / 2)
}

export class Backlog {
  readonly #subjects = new Map<string, Subject>()
  readonly #lanes = new Map<string, Lane>()
  readonly #rotation = new Rotation<Subject>()
  /** By whose turn it took. */
  readonly #underWayOf = new Map<string, number>()
  #size = 0
  #underWay = 0

  /**
   * The job that will never be sent because of this one, or this one itself when a newer decision
   * is known.
   */
  add(job: Job): Job | undefined {
    const key = subjectOf(job.command)
    let subject = this.#subjects.get(key)
    if (subject === undefined) {
      subject = { underWay: undefined, waiting: new Map() }
      this.#subjects.set(key, subject)
    }
    const question = questionOf(job.command)
    const rival = rivalOf(subject, question)
    if (rival !== undefined && rival.command.id === job.command.id) {
      rival.onSettled.push(...job.onSettled) // The same command read twice is one.
      return undefined
    }
    if (rival !== undefined && isEarlier(job.command.id, rival.command.id)) return job
    const superseded = subject.waiting.get(question)
    subject.waiting.set(question, job)
    if (superseded !== undefined) return superseded
    this.#size++
    if (subject.underWay === undefined && subject.waiting.size === 1) this.#makeReady(subject)
    return undefined
  }

  /**
   * Undefined when every waiting command's target has one under way, or its kind has as many as it
   * may of `limit` for all.
   */
  next(limit: number): Job | undefined {
    const taken = this.#rotation.take(this.#open(limit)) ?? this.#takeForFew(limit)
    if (taken === undefined) return undefined
    const { item: subject, kind } = taken
    const [question, job] = subject.waiting.entries().next().value as [string, Job]
    subject.waiting.delete(question)
    subject.underWay = { job, lane: kind }
    const lane = this.#lanes.get(kind) as Lane
    lane.waiting--
    lane.underWay++
    this.#count(turnOf(job.command), 1)
    this.#size--
    return job
  }

  /** It was answered; the next about its uid may be sent. */
  finished(job: Job): void {
    const key = subjectOf(job.command)
    const subject = this.#subjects.get(key)
    if (subject?.underWay?.job !== job) return
    const { lane } = subject.underWay
    subject.underWay = undefined
    if (subject.waiting.size > 0) this.#makeReady(subject)
    else this.#subjects.delete(key)
    this.#leave(lane)
    this.#count(turnOf(job.command), -1)
  }

  /** Waiting ones. */
  size(): number {
    return this.#size
  }

  #makeReady(subject: Subject): void {
    const [[, { command }]] = subject.waiting as unknown as [[string, Job]]
    const key = `${command.target.group}/${command.target.kind}`
    const lane = this.#lanes.get(key) ?? { waiting: 0, underWay: 0 }
    this.#lanes.set(key, lane)
    lane.waiting++
    this.#rotation.add(turnOf(command), key, subject)
  }

  /** Those of which one may be sent now. */
  #open(limit: number): ReadonlySet<string> {
    const keys = new Set<string>()
    for (const [key, lane] of this.#lanes)
      if (lane.waiting > 0 && this.#mayBegin(lane, limit)) keys.add(key)
    return keys
  }

  /**
   * While others wait, a kind has no more than its share; and beyond the limit there are half as
   * many for kinds that have less than an eighth of it.
   */
  #mayBegin(lane: Lane, limit: number): boolean {
    if (this.#underWay >= limit)
      return this.#underWay < mostCalls(limit) && lane.underWay < limit / 8
    const share = Math.ceil(limit / this.#lanes.size)
    return lane.underWay < share || this.#rotation.size() === lane.waiting
  }

  /**
   * Where others' commands take long, as with thousands of owners to prove, a namespace with few
   * under way still has its turn.
   */
  #takeForFew(limit: number): Taken<Subject> | undefined {
    if (this.#underWay < limit || this.#underWay >= mostOfNamespaces(limit)) return undefined
    const may = (turn: string): boolean => (this.#underWayOf.get(turn) ?? 0) < limit / 8
    return this.#rotation.take(new Set(this.#lanes.keys()), may)
  }

  #count(turn: string, change: 1 | -1): void {
    const own = (this.#underWayOf.get(turn) ?? 0) + change
    this.#underWay += change
    if (own === 0) this.#underWayOf.delete(turn)
    else this.#underWayOf.set(turn, own)
  }

  #leave(key: string): void {
    const lane = this.#lanes.get(key) as Lane
    lane.underWay--
    if (lane.underWay === 0 && lane.waiting === 0) this.#lanes.delete(key)
  }
}

/**
 * Whose turn it takes: its namespace's. References of any namespace may cause live GETs of
 * cluster-scoped owners, so those GETs take turns of their own, which no change of a cluster-scoped
 * object waits for.
 */
export function turnOf({ type, target: { namespace } }: Command): string {
  return namespace === '' && type === 'VerifyOwner' ? 'looks at cluster-scoped owners' : namespace
}

/**
 * A reference may name any uid, also that of another tenant's object: a verification for its sake
 * elsewhere does not delay commands for that object.
 */
function subjectOf(command: Command): string {
  return `${turnOf(command)}/${command.target.uid}`
}

/** The one waiting, or else the one under way, that asks the same. */
function rivalOf({ waiting, underWay }: Subject, question: string): Job | undefined {
  const rival = waiting.get(question)
  if (rival !== undefined || underWay === undefined) return rival
  return questionOf(underWay.job.command) === question ? underWay.job : undefined
}

/**
 * What one command has in common with another that replaces it. Changes of an object replace each
 * other, whichever verb. A live GET replaces one of the same partition at the same coordinates, and
 * a warning an equal one; neither replaces a change.
 */
function questionOf(command: Command): string {
  switch (command.type) {
    case 'DeleteObject':
    case 'AnnotateObject':
    case 'OrphanDependent':
    case 'RemoveFinalizer':
      return 'change'
    case 'VerifyOwner': {
      const { group, kind, namespace, name } = command.target
      return `look/${command.partition}/${group}/${kind}/${namespace}/${name}`
    }
    case 'WarnObject':
      return `warn/${command.reason}/${command.message}`
  }
}

/**
 * Decided at an earlier place of the same partition. Ids that are not comparable count by the order
 * of arrival.
 */
function isEarlier(one: CommandId, other: CommandId): boolean {
  const a = placeOf(one)
  const b = placeOf(other)
  if (a === undefined || b === undefined || a.partition !== b.partition) return false
  return a.offset < b.offset || (a.offset === b.offset && a.index < b.index)
}

function placeOf(id: CommandId): { partition: string; offset: bigint; index: number } | undefined {
  const match = /^(\d+)-(\d+)-(\d+)$/.exec(id)
  if (match === null) return undefined
  const [, partition, offset, index] = match as unknown as [string, string, string, string]
  return { partition, offset: BigInt(offset), index: Number(index) }
}
