/**
 * The commands of one cluster that were read and not sent yet: one target at a time, in the order of the log, newest decision first.
 *
 * What must stay true: two commands about one uid are never under way together; a command that is superseded was never sent.
 *
 * Not here: how many go at once (throttle.ts), what is written about the superseded (reaper.ts).
 */
import type { Command, CommandId } from '../../core/command.ts'
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
  /** Undefined when every waiting command's target has one under way. */
  next(): Job | undefined
  /** It was answered; the next about its uid may go. */
  finished(job: Job): void
  /** Waiting ones. */
  size(): number
}

interface Subject {
  underWay: Job | undefined
  /** At most one per question, in the order they came. */
  readonly waiting: Map<string, Job>
}

export function createBacklog(): Backlog {
  const subjects = new Map<string, Subject>()
  let ready: Subject[] = []
  let head = 0
  let size = 0

  function shift(): Subject | undefined {
    const subject = ready[head]
    if (subject === undefined) return undefined
    head++
    if (head > 1_024 && head * 2 > ready.length) {
      ready = ready.slice(head)
      head = 0
    }
    return subject
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
      if (subject.underWay === undefined && subject.waiting.size === 1) ready.push(subject)
      return undefined
    },
    next() {
      const subject = shift()
      if (subject === undefined) return undefined
      const [question, job] = subject.waiting.entries().next().value as [string, Job]
      subject.waiting.delete(question)
      subject.underWay = job
      size--
      return job
    },
    finished(job) {
      const { uid } = job.command.target
      const subject = subjects.get(uid)
      if (subject?.underWay !== job) return
      subject.underWay = undefined
      if (subject.waiting.size > 0) ready.push(subject)
      else subjects.delete(uid)
    },
    size: () => size,
  }
}

/** The one waiting, or else the one under way, that asks the same. */
function rivalOf({ waiting, underWay }: Subject, question: string): Job | undefined {
  const rival = waiting.get(question)
  if (rival !== undefined || underWay === undefined) return rival
  return questionOf(underWay.command) === question ? underWay : undefined
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
