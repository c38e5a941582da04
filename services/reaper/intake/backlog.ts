/**
 * The commands of one cluster that were read and not sent yet: one target at a time, of one kind in one namespace in the order of the log, newest
 * decision first; namespaces take turns, and in each of them kinds do.
 *
 * What must stay true: two changes of one object are never under way together; a command that is superseded was never sent. A kind whose calls
 * hang or fail does not block those of others (I21), and neither does a namespace with thousands of them (I36), or with those that take long.
 *
 * Not here: whose turn it is (rotation.ts), the number of concurrent calls (throttle.ts), the results of superseded commands (reaper.ts).
 */
import type { Command } from '../../../core/model/command.ts'
import type { CommandId } from '../../../core/model/id.ts'
import type { Moments } from './moment.ts'
import { createRotation } from './rotation.ts'

/** `onSettled` is called for each time it was read. */
export interface Job {
  readonly command: Command
  readonly moments: Moments
  readonly onSettled: (() => void)[]
}

export interface Backlog {
  /** The job that will never be sent because of this one, or this one itself when a newer decision is known. */
  add(job: Job): Job | undefined
  /** Undefined when every waiting command's target has one under way, or its kind has as many as it may of `limit` for all. */
  next(limit: number): Job | undefined
  /** It was answered; the next about its uid may be sent. */
  finished(job: Job): void
  /** Waiting ones. */
  size(): number
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

/** Beyond a limit, for namespaces that have less than an eighth of it; the rest is for such kinds. */
function mostOfNamespaces(limit: number): number {
  return limit + Math.ceil(limit / 4)
}

/** Of all kinds together, at a limit. */
export function mostCalls(limit: number): number {
  return limit + Math.ceil(limit / 2)
}

export function createBacklog(): Backlog {
  const subjects = new Map<string, Subject>()
  const lanes = new Map<string, Lane>()
  /** By whose turn it took. */
  const underWayOf = new Map<string, number>()
  const rotation = createRotation<Subject>()
  let size = 0
  let underWay = 0

  function makeReady(subject: Subject): void {
    const [[, { command }]] = subject.waiting as unknown as [[string, Job]]
    const key = `${command.target.group}/${command.target.kind}`
    const lane = lanes.get(key) ?? { waiting: 0, underWay: 0 }
    lanes.set(key, lane)
    lane.waiting++
    rotation.add(turnOf(command), key, subject)
  }

  /** While others wait, a kind has no more than its share; and beyond the limit there are half as many for kinds that have less than an eighth of it. */
  function mayBegin(lane: Lane, limit: number): boolean {
    if (underWay >= limit) return underWay < mostCalls(limit) && lane.underWay < limit / 8
    return lane.underWay < Math.ceil(limit / lanes.size) || rotation.size() === lane.waiting
  }

  /** Those of which one may be sent now. */
  function open(limit: number): ReadonlySet<string> {
    const keys = new Set<string>()
    for (const [key, lane] of lanes) if (lane.waiting > 0 && mayBegin(lane, limit)) keys.add(key)
    return keys
  }

  /** Where others' commands take long, as with thousands of owners to prove, it still has its turn. */
  function takeForFew(limit: number): ReturnType<typeof rotation.take> {
    if (underWay < limit || underWay >= mostOfNamespaces(limit)) return undefined
    const may = (turn: string): boolean => (underWayOf.get(turn) ?? 0) < limit / 8
    return rotation.take(new Set(lanes.keys()), may)
  }

  function count(turn: string, change: 1 | -1): void {
    const own = (underWayOf.get(turn) ?? 0) + change
    underWay += change
    if (own === 0) underWayOf.delete(turn)
    else underWayOf.set(turn, own)
  }

  function leave(key: string): void {
    const lane = lanes.get(key) as Lane
    lane.underWay--
    if (lane.underWay === 0 && lane.waiting === 0) lanes.delete(key)
  }

  return {
    add(job) {
      const key = subjectOf(job.command)
      let subject = subjects.get(key)
      if (subject === undefined) {
        subject = { underWay: undefined, waiting: new Map() }
        subjects.set(key, subject)
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
      size++
      if (subject.underWay === undefined && subject.waiting.size === 1) makeReady(subject)
      return undefined
    },
    next(limit) {
      const taken = rotation.take(open(limit)) ?? takeForFew(limit)
      if (taken === undefined) return undefined
      const { item: subject, kind } = taken
      const [question, job] = subject.waiting.entries().next().value as [string, Job]
      subject.waiting.delete(question)
      subject.underWay = { job, lane: kind }
      const lane = lanes.get(kind) as Lane
      lane.waiting--
      lane.underWay++
      count(turnOf(job.command), 1)
      size--
      return job
    },
    finished(job) {
      const key = subjectOf(job.command)
      const subject = subjects.get(key)
      if (subject?.underWay?.job !== job) return
      const { lane } = subject.underWay
      subject.underWay = undefined
      if (subject.waiting.size > 0) makeReady(subject)
      else subjects.delete(key)
      leave(lane)
      count(turnOf(job.command), -1)
    },
    size: () => size,
  }
}

/**
 * Whose turn it takes: its namespace's. References of any namespace may cause live GETs of cluster-scoped owners, so those GETs take turns of their own, which
 * no change of a cluster-scoped object waits for.
 */
function turnOf({ type, target: { namespace } }: Command): string {
  return namespace === '' && type === 'VerifyOwner' ? 'looks at cluster-scoped owners' : namespace
}

/**
 * A reference may name any uid, also that of another tenant's object: a verification for its sake elsewhere does not delay commands for that object.
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
 * What one command has in common with another that replaces it. Changes of an object replace each other, whichever verb. A live GET
 * replaces one of the same partition at the same coordinates, and a warning an equal one; neither replaces a change.
 */
function questionOf(command: Command): string {
  switch (command.type) {
    case 'DeleteObject':
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

/** Decided at an earlier place of the same partition. Ids that are not comparable count by the order of arrival. */
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
