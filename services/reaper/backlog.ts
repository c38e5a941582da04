/**
 * The commands of one cluster that were read and not sent yet: one target at a time, of one kind in the order of the log, newest decision first; kinds
 * take turns.
 *
 * What must stay true: two commands about one uid are never under way together; a command that is superseded was never sent. A kind whose calls
 * hang or fail does not keep those of others from going (I21).
 *
 * Not here: how many go at once (throttle.ts), what is written about the superseded (reaper.ts).
 */
import type { Command } from '../../core/model/command.ts'
import type { CommandId } from '../../core/model/id.ts'
import type { Moments } from './moment.ts'

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
  /** It was answered; the next about its uid may go. */
  finished(job: Job): void
  /** Waiting ones. */
  size(): number
}

/** A kind's. */
interface Lane {
  readonly ready: Subject[]
  /** What of `ready` is taken. */
  head: number
  underWay: number
}

interface Subject {
  underWay: { readonly job: Job; readonly lane: string } | undefined
  /** At most one per question, in the order they came. */
  readonly waiting: Map<string, Job>
}

/** Of all kinds together, at a limit. */
export function mostCalls(limit: number): number {
  return limit + Math.ceil(limit / 2)
}

export function createBacklog(): Backlog {
  const subjects = new Map<string, Subject>()
  /** The next to have its turn comes first. */
  const lanes = new Map<string, Lane>()
  let size = 0
  let underWay = 0

  function makeReady(subject: Subject): void {
    const [[, { command }]] = subject.waiting as unknown as [[string, Job]]
    const key = `${command.target.group}/${command.target.kind}`
    const lane = lanes.get(key) ?? { ready: [], head: 0, underWay: 0 }
    lanes.set(key, lane)
    lane.ready.push(subject)
  }

  /** While others wait, a kind has no more than its share; and beyond the limit there are half as many for kinds that have less than an eighth of it. */
  function mayBegin(lane: Lane, limit: number): boolean {
    if (underWay >= limit) return underWay < mostCalls(limit) && lane.underWay < limit / 8
    return lane.underWay < Math.ceil(limit / lanes.size) || !isAwaitedBeside(lane)
  }

  function isAwaitedBeside(lane: Lane): boolean {
    for (const other of lanes.values()) if (other !== lane && isWaiting(other)) return true
    return false
  }

  function shift(lane: Lane): Subject {
    const subject = lane.ready[lane.head++] as Subject
    if (lane.head > 1_024 && lane.head * 2 > lane.ready.length) {
      lane.ready.splice(0, lane.head)
      lane.head = 0
    }
    return subject
  }

  function leave(key: string): void {
    const lane = lanes.get(key) as Lane
    lane.underWay--
    underWay--
    if (lane.underWay === 0 && !isWaiting(lane)) lanes.delete(key)
  }

  return {
    add(job) {
      const { uid } = job.command.target
      let subject = subjects.get(uid)
      if (subject === undefined) {
        subject = { underWay: undefined, waiting: new Map() }
        subjects.set(uid, subject)
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
      for (const [key, lane] of lanes) {
        if (!isWaiting(lane) || !mayBegin(lane, limit)) continue
        const subject = shift(lane)
        const [question, job] = subject.waiting.entries().next().value as [string, Job]
        subject.waiting.delete(question)
        subject.underWay = { job, lane: key }
        lane.underWay++
        underWay++
        size--
        lanes.delete(key)
        lanes.set(key, lane)
        return job
      }
      return undefined
    },
    finished(job) {
      const { uid } = job.command.target
      const subject = subjects.get(uid)
      if (subject?.underWay?.job !== job) return
      const { lane } = subject.underWay
      subject.underWay = undefined
      if (subject.waiting.size > 0) makeReady(subject)
      else subjects.delete(uid)
      leave(lane)
    },
    size: () => size,
  }
}

function isWaiting({ ready, head }: Lane): boolean {
  return head < ready.length
}

/** The one waiting, or else the one under way, that asks the same. */
function rivalOf({ waiting, underWay }: Subject, question: string): Job | undefined {
  const rival = waiting.get(question)
  if (rival !== undefined || underWay === undefined) return rival
  return questionOf(underWay.job.command) === question ? underWay.job : undefined
}

/**
 * What one command has in common with another that replaces it. Changes of an object replace each other, whichever verb. A look replaces a
 * look of the same partition at the same place, and a warning an equal one; neither replaces a change.
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

/** Decided at an earlier place of the same partition. Ids that do not say count by the order they came in. */
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
