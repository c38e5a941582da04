/**
 * How the cascade of an owner that is being deleted, or has gone, stands: over all that hangs on it, what is done and what is left, and why.
 *
 * What must stay true: what is there is read from the graph, only what was there from the index; bounded work, cut with a word; others get their
 * turn between pages.
 *
 * Not here: what would happen (plan.ts).
 */
import type { StateReader } from '../../core/graph.ts'
import { countAt } from '../../core/graph.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, Uid } from '../../core/object.ts'
import { standingOf } from '../../core/standing.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Committed, Found } from './committed.ts'
import type { HistoryIndex, Named } from './history-index.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'
import { Turns } from './turns.ts'

/** Objects looked at for one answer, some 150 bytes each; then it is cut. */
const CASCADE_LIMIT = 100_000
/** Blocked objects and waiting owners that one answer names. */
const NAMED_LIMIT = 200
/** While somebody follows: how often it is looked at again at most, and how many times longer than a look took. */
const FOLLOW_MS = 1_000
const FOLLOW_SHARE = 10
/** How long and how often it is looked whether a deletion begins. */
const BEGIN_MS = 5_000
const BEGIN_LOOK_MS = 200

/**
 * - `reaping`: asked of the cluster, not confirmed yet. - `blocked`: see `blocked`. - `waiting`: being deleted, for dependents.
 * - `queued`: not its turn yet.
 */
export type Progress = 'reaping' | 'blocked' | 'waiting' | 'queued'

export interface CascadeObject {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
}

export interface BlockedObject extends CascadeObject, Obstacle {}

export interface WaitingOwner extends CascadeObject {
  readonly phase: string
  readonly because: string
  /** In the partition of its home. */
  readonly dependents: number
  readonly blocking: number
}

export interface Cascade {
  readonly cluster: string
  readonly root: CascadeObject & {
    /** `gone` once it is. */
    readonly phase: string
  }
  /** When its deletion was first seen; null when that is not known. */
  readonly since: number | null
  /** Gone, or without the reference. */
  readonly done: number
  /** The owner itself not counted. */
  readonly remaining: number
  readonly progress: Readonly<Record<Progress, number>>
  readonly kinds: readonly (Pick<CascadeObject, 'group' | 'kind'> & {
    readonly done: number
    readonly remaining: number
  })[]
  readonly blocked: readonly BlockedObject[]
  readonly waiting: readonly WaitingOwner[]
  /** It is gone, and nothing is left to do. */
  readonly isOver: boolean
}

export interface CascadeAnswer {
  readonly answer: Cascade
  readonly partial: string
  /** Nothing will change any more. */
  readonly isFinal: boolean
}

export interface Cascades {
  /** Undefined of one that is there and not being deleted. */
  cascade(root: Named): Promise<CascadeAnswer | undefined>
  /** It is gone or being deleted, or is within a few seconds: who has just deleted it need not wait until that is seen. */
  begins(root: Named, signal: AbortSignal): Promise<boolean>
  /** An answer now and whenever it is another, until it is over or the signal aborts. */
  follow(root: Named, signal: AbortSignal): AsyncIterable<CascadeAnswer>
}

export function createCascades(
  committed: Committed,
  index: HistoryIndex,
  clock: Clock,
  limit: number = CASCADE_LIMIT,
): Cascades {
  function isGoing({ cluster, uid }: Named): boolean {
    const found = committed.nodeAnywhere(cluster, uid)
    if (found === undefined || found.node.phase === 'reaped') return true
    return found.node.object.deletedAt !== null
  }

  async function cascade(root: Named): Promise<CascadeAnswer | undefined> {
    if (!isGoing(root)) return undefined
    const found = committed.nodeAnywhere(root.cluster, root.uid)
    const since = await beginOf(index, root)
    const walk = new Walk({ committed, index, clock, limit, cluster: root.cluster, since })
    if (found !== undefined) walk.note(found)
    await walk.all(root.uid)
    const lag = await index.lagEntries()
    const doubts = [
      committed.partial(),
      lag === 0n ? '' : `${lag} entries of history are not indexed yet, so more may be done`,
      walk.isCut ? `cut after ${limit} objects: there are more` : '',
    ].filter((text) => text !== '')
    const answer = await walk.answer(root, found, since)
    const isFinal = answer.isOver && (lag === 0n || walk.isCut)
    return { answer, partial: doubts.join('; '), isFinal }
  }

  return {
    cascade,
    async begins(root, signal) {
      const until = clock.monotonicMs() + BEGIN_MS
      while (!isGoing(root) && clock.monotonicMs() < until && !signal.aborted) {
        await clock.sleep(BEGIN_LOOK_MS, signal)
      }
      return isGoing(root)
    },
    async *follow(root, signal) {
      let told = ''
      let standing = ''
      while (!signal.aborted) {
        const began = clock.monotonicMs()
        const now = await standOf(committed, index)
        if (now !== standing) {
          standing = now
          const answer = await cascade(root)
          if (answer === undefined) return
          const text = JSON.stringify(answer)
          if (text !== told) yield answer
          told = text
          if (answer.isFinal) return
        }
        const took = clock.monotonicMs() - began
        await clock.sleep(Math.max(FOLLOW_MS, took * FOLLOW_SHARE), signal)
      }
    },
  }
}

/** Another one whenever there may be something new. */
async function standOf(committed: Committed, index: HistoryIndex): Promise<string> {
  const positions = committed.partitions().map((each) => each.status().position)
  return [...positions, await index.lagEntries()].join(' ')
}

/** When the owner was first seen being deleted or, if it never was, gone. */
async function beginOf(index: HistoryIndex, { cluster, uid }: Named): Promise<number | null> {
  const history = await index.history(cluster, uid)
  const begun =
    history.findLast(({ change, text }) => change === 'phase' && text.startsWith('observed →')) ??
    history.findLast(
      ({ change, text }) => change === 'created' && text.endsWith('being deleted'),
    ) ??
    history.findLast(({ change }) => change === 'gone')
  return begun === undefined ? null : Number(begun.at)
}

interface WalkOptions {
  readonly committed: Committed
  readonly index: HistoryIndex
  readonly clock: Clock
  readonly limit: number
  readonly cluster: ClusterId
  readonly since: number | null
}

class Walk {
  readonly #options: WalkOptions
  /** All looked at; true once what hangs on it was, too. */
  readonly #seen = new Map<Uid, boolean>()
  readonly #kinds = new Map<
    string,
    { group: string; kind: string; done: number; remaining: number }
  >()
  readonly #progress = { reaping: 0, blocked: 0, waiting: 0, queued: 0 }
  readonly #blocked: { readonly node: Node; readonly obstacle: Obstacle }[] = []
  readonly #waiting: WaitingOwner[] = []
  readonly #turns: Turns
  isCut = false

  constructor(options: WalkOptions) {
    this.#options = options
    this.#turns = new Turns(options.clock)
  }

  async all(root: Uid): Promise<void> {
    const { committed, index, cluster } = this.#options
    const queue = [root]
    this.#seen.set(root, true)
    for (const owner of queue) {
      for (const pages of [
        committed.dependentPages(cluster, owner),
        index.dependentPages(cluster, owner),
      ]) {
        for await (const page of pages) {
          for (const uid of page) {
            if (this.#look(uid, owner)) queue.push(uid)
            await this.#turns.take()
          }
          if (this.isCut) return
        }
      }
    }
  }

  /** True when what hangs on it is to be looked at now. */
  #look(uid: Uid, owner: Uid): boolean {
    const { committed, index, cluster, since, limit } = this.#options
    const isKnown = this.#seen.has(uid)
    if (this.#seen.get(uid) === true) return false
    if (!isKnown && this.#seen.size >= limit) {
      this.isCut = true
      return false
    }
    const found = committed.nodeAnywhere(cluster, uid)
    if (found === undefined) {
      const last = index.lastOf(cluster, uid)
      // Gone long before: no part of this.
      if (last?.isGone && since !== null && last.at < since) return false
      this.#seen.set(uid, true)
      if (last !== undefined) this.#count(last, 'done')
      return true
    }
    const isDependent = found.node.object.ownerReferences.some((each) => each.uid === owner)
    if (!isDependent) {
      if (!isKnown) this.#count(found.node.object, 'done')
      this.#seen.set(uid, true)
      return false
    }
    if (!isKnown) {
      this.#count(found.node.object, 'remaining')
      this.#progress[this.note(found)] += 1
    }
    const goes = !this.#keepsOthers(found)
    this.#seen.set(uid, goes)
    return goes
  }

  /** It only loses a reference: what hangs on it stays. */
  #keepsOthers({ node, reader }: Found): boolean {
    if (node.verdict?.type === 'drop') return true
    const { cluster } = this.#options
    return node.object.ownerReferences.some(
      (reference) =>
        this.#seen.get(reference.uid) !== true &&
        standingOf(reader, cluster, node.object, reference).standing === 'solid',
    )
  }

  #count({ group, kind }: Pick<CascadeObject, 'group' | 'kind'>, what: 'done' | 'remaining'): void {
    const key = `${kind}.${group}`
    const count = this.#kinds.get(key) ?? { group, kind, done: 0, remaining: 0 }
    this.#kinds.set(key, count)
    count[what] += 1
  }

  note(found: Found): Progress {
    const { cluster } = this.#options
    const { node, reader } = found
    const obstacle = obstacleOf(cluster, found)
    if (obstacle !== null) {
      if (this.#blocked.length < NAMED_LIMIT) this.#blocked.push({ node, obstacle })
      return 'blocked'
    }
    if (node.phase === 'waiting' || node.phase === 'orphaning') {
      if (this.#waiting.length < NAMED_LIMIT) this.#waiting.push(waitingOf(reader, cluster, node))
      return node.attempt === null ? 'waiting' : 'reaping'
    }
    const isAsked =
      node.phase === 'reaped' || node.attempt !== null || node.object.deletedAt !== null
    return isAsked ? 'reaping' : 'queued'
  }

  async answer(root: Named, found: Found | undefined, since: number | null): Promise<Cascade> {
    const { committed, index, cluster } = this.#options
    const kinds = [...this.#kinds.values()].sort((a, b) =>
      byText(`${a.kind}.${a.group}`, `${b.kind}.${b.group}`),
    )
    const remaining = kinds.reduce((sum, kind) => sum + kind.remaining, 0)
    const blocked = this.#blocked.map(async ({ node, obstacle }) => ({
      ...nameOf(node.object),
      ...(await withFirstSeen(index, cluster, node, obstacle)),
    }))
    return {
      cluster: committed.clusterName(cluster),
      root: { ...nameOf(root), phase: found?.node.phase ?? 'gone' },
      since,
      done: kinds.reduce((sum, kind) => sum + kind.done, 0),
      remaining,
      progress: this.#progress,
      kinds,
      blocked: await Promise.all(blocked),
      waiting: this.#waiting,
      isOver: found === undefined && remaining === 0,
    }
  }
}

function waitingOf(
  reader: StateReader,
  cluster: ClusterId,
  { object, phase, verdict }: Node,
): WaitingOwner {
  const count = countAt(reader, cluster, object.uid, object)
  return {
    ...nameOf(object),
    phase,
    because: verdict?.because ?? '',
    dependents: count?.dependents ?? 0,
    blocking: count?.blocking ?? 0,
  }
}

function nameOf({ group, kind, namespace, name, uid }: CascadeObject): CascadeObject {
  return { group, kind, namespace, name, uid }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
