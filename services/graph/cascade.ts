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
import type { HistoryIndex, Named } from './history-index.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'
import { Turns } from './turns.ts'
import type { Found, View, Views } from './view.ts'
import { piecesOf } from './view.ts'

/** Objects looked at for one answer, some 150 bytes each; then it is cut. */
const CASCADE_LIMIT = 100_000
/** Blocked objects and waiting owners that one answer names. */
const NAMED_LIMIT = 200
/** Owners of which it is asked at once where their dependents are. */
const LOOKAHEAD = 200
/** While somebody follows: how often it is looked at again at most, and how many times longer than a look took. */
const FOLLOW_MS = 1_000
const FOLLOW_SHARE = 10
/** How long and how often it is looked whether a deletion begins. */
const BEGIN_MS = 5_000
const BEGIN_LOOK_MS = 200

/**
 * - `reaping`: asked of the cluster, not confirmed yet. - `blocked`: see `blocked`. - `waiting`: being deleted, for dependents.
 * - `queued`: not its turn yet. - `unknown`: in a partition that is nobody's just now.
 */
export type Progress = 'reaping' | 'blocked' | 'waiting' | 'queued' | 'unknown'

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
    /** `gone` once it is; `unknown` while its partition is nobody's. */
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
  views: Views,
  index: HistoryIndex,
  clock: Clock,
  limit: number = CASCADE_LIMIT,
): Cascades {
  async function isGoing(root: Named): Promise<boolean> {
    const view = await views.open()
    return await view.read(() => isGoingIn(view, root))
  }

  async function cascade(root: Named): Promise<CascadeAnswer | undefined> {
    const view = await views.open()
    if (!(await view.read(() => isGoingIn(view, root)))) return undefined
    // In this order: what is not indexed now may be in a moment, and then it is known when it began.
    const lagged = await index.lagEntries()
    const since = await beginOf(index, root)
    const isUnindexed = since === null && lagged > 0n
    const from = isUnindexed ? Number.POSITIVE_INFINITY : since
    const walk = new Walk({ view, index, clock, limit, cluster: root.cluster, since: from })
    const phase = await walk.root(root.uid)
    await walk.all(root.uid)
    const lag = await index.lagEntries()
    const doubts = [
      view.partial(),
      isUnindexed
        ? 'its deletion is not indexed yet, so what went long before it cannot be told from what went with it, and is not counted'
        : '',
      lag === 0n ? '' : `${lag} entries of history are not indexed yet, so more may be done`,
      walk.isCut ? `cut after ${limit} objects: there are more` : '',
    ].filter((text) => text !== '')
    const { isOver, ...rest } = await walk.answer(root, phase, since)
    const answer = { ...rest, isOver: isOver && !isUnindexed }
    // What nobody can tell of now may still be there.
    const isFinal = answer.isOver && view.partial() === '' && (lag === 0n || walk.isCut)
    return { answer, partial: doubts.join('; '), isFinal }
  }

  return {
    cascade,
    async begins(root, signal) {
      const until = clock.monotonicMs() + BEGIN_MS
      while (!(await isGoing(root)) && clock.monotonicMs() < until && !signal.aborted) {
        await clock.sleep(BEGIN_LOOK_MS, signal)
      }
      return await isGoing(root)
    },
    async *follow(root, signal) {
      let told = ''
      let standing = ''
      while (!signal.aborted) {
        const began = clock.monotonicMs()
        const now = await standOf(await views.open(), index)
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

function isGoingIn(view: View, { cluster, uid }: Named): boolean {
  const found = view.nodeAnywhere(cluster, uid)
  if (found === undefined || found.node.phase === 'reaped') return true
  return found.node.object.deletedAt !== null
}

/** Another one whenever there may be something new. */
async function standOf(view: View, index: HistoryIndex): Promise<string> {
  const positions = view.partitions.map((partition) => partition.status().position)
  return [...positions, await index.lagEntries(), view.partial()].join(' ')
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
  readonly view: View
  readonly index: HistoryIndex
  readonly clock: Clock
  readonly limit: number
  readonly cluster: ClusterId
  /** What went before is no part of it; null where nobody knows. */
  readonly since: number | null
}

/** All that a walk has to know of an object that is there. */
interface Looked {
  readonly node: Node
  readonly obstacle: Obstacle | null
  readonly waiting: WaitingOwner | null
  /** Owners on whom it stands firmly, as far as is known. */
  readonly solid: readonly Uid[]
}

class Walk {
  readonly #options: WalkOptions
  /** All looked at; true once what hangs on it was, too. */
  readonly #seen = new Map<Uid, boolean>()
  readonly #kinds = new Map<
    string,
    { group: string; kind: string; done: number; remaining: number }
  >()
  readonly #progress = { reaping: 0, blocked: 0, waiting: 0, queued: 0, unknown: 0 }
  readonly #blocked: { readonly node: Node; readonly obstacle: Obstacle }[] = []
  readonly #waiting: WaitingOwner[] = []
  readonly #turns: Turns
  isCut = false

  constructor(options: WalkOptions) {
    this.#options = options
    this.#turns = new Turns(options.clock)
  }

  /** Its phase, if it is there. */
  async root(uid: Uid): Promise<string | undefined> {
    const [looked] = await this.#look([uid])
    if (looked?.[1] === undefined) return undefined
    this.#note(looked[1])
    return looked[1].node.phase
  }

  async all(root: Uid): Promise<void> {
    const { view, index, cluster } = this.#options
    const queue = [root]
    this.#seen.set(root, true)
    let ahead = 0
    for (const [number, owner] of queue.entries()) {
      if (number >= ahead) {
        const some = queue.slice(number, number + LOOKAHEAD)
        await view.fetchCounts(cluster, some)
        ahead = number + some.length
      }
      for (const pages of [
        view.dependentPages(cluster, owner),
        index.dependentPages(cluster, owner),
      ]) {
        for await (const page of pages) {
          const unseen = page.filter((uid) => this.#seen.get(uid) !== true)
          await view.fetchNodes(cluster, unseen)
          for (const some of piecesOf(unseen)) {
            for (const [uid, looked] of await this.#look(some)) {
              if (this.#meet(uid, looked, owner)) queue.push(uid)
            }
            await this.#turns.take()
          }
          view.forget()
          if (this.isCut) return
        }
      }
    }
  }

  async #look(uids: readonly Uid[]): Promise<readonly (readonly [Uid, Looked | undefined])[]> {
    const { view, cluster } = this.#options
    return await view.read(() =>
      uids.map((uid) => {
        const found = view.nodeAnywhere(cluster, uid)
        return [uid, found && lookedAt(cluster, found)] as const
      }),
    )
  }

  /** True when what hangs on it is to be looked at now. */
  #meet(uid: Uid, looked: Looked | undefined, owner: Uid): boolean {
    const { view, index, cluster, since, limit } = this.#options
    const isKnown = this.#seen.has(uid)
    if (this.#seen.get(uid) === true) return false
    if (!isKnown && this.#seen.size >= limit) {
      this.isCut = true
      return false
    }
    if (looked === undefined) {
      const last = index.lastOf(cluster, uid)
      // Gone long before: no part of this.
      if (last?.isGone && since !== null && last.at < since) return false
      this.#seen.set(uid, true)
      const isUnknown = last?.isGone !== true && view.partial() !== ''
      if (isUnknown) this.#progress.unknown += 1
      if (last !== undefined) this.#count(last, isUnknown ? 'remaining' : 'done')
      return true
    }
    const { object } = looked.node
    const isDependent = object.ownerReferences.some((each) => each.uid === owner)
    if (!isDependent) {
      if (!isKnown) this.#count(object, 'done')
      this.#seen.set(uid, true)
      return false
    }
    if (!isKnown) {
      this.#count(object, 'remaining')
      this.#progress[this.#note(looked)] += 1
    }
    const goes = !this.#keepsOthers(looked)
    this.#seen.set(uid, goes)
    return goes
  }

  /** It only loses a reference: what hangs on it stays. */
  #keepsOthers({ node, solid }: Looked): boolean {
    return node.verdict?.type === 'drop' || solid.some((uid) => this.#seen.get(uid) !== true)
  }

  #count({ group, kind }: Pick<CascadeObject, 'group' | 'kind'>, what: 'done' | 'remaining'): void {
    const key = `${kind}.${group}`
    const count = this.#kinds.get(key) ?? { group, kind, done: 0, remaining: 0 }
    this.#kinds.set(key, count)
    count[what] += 1
  }

  #note({ node, obstacle, waiting }: Looked): Progress {
    if (obstacle !== null) {
      if (this.#blocked.length < NAMED_LIMIT) this.#blocked.push({ node, obstacle })
      return 'blocked'
    }
    if (waiting !== null) {
      if (this.#waiting.length < NAMED_LIMIT) this.#waiting.push(waiting)
      return node.attempt === null ? 'waiting' : 'reaping'
    }
    const isAsked =
      node.phase === 'reaped' || node.attempt !== null || node.object.deletedAt !== null
    return isAsked ? 'reaping' : 'queued'
  }

  async answer(root: Named, found: string | undefined, since: number | null): Promise<Cascade> {
    const { view, index, cluster } = this.#options
    const kinds = [...this.#kinds.values()].sort((a, b) =>
      byText(`${a.kind}.${a.group}`, `${b.kind}.${b.group}`),
    )
    const remaining = kinds.reduce((sum, kind) => sum + kind.remaining, 0)
    const blocked = this.#blocked.map(async ({ node, obstacle }) => ({
      ...nameOf(node.object),
      ...(await withFirstSeen(index, cluster, node, obstacle)),
    }))
    const phase = found ?? (view.partial() === '' ? 'gone' : 'unknown')
    return {
      cluster: await view.read(() => view.clusterName(cluster)),
      root: { ...nameOf(root), phase },
      since,
      done: kinds.reduce((sum, kind) => sum + kind.done, 0),
      remaining,
      progress: this.#progress,
      kinds,
      blocked: await Promise.all(blocked),
      waiting: this.#waiting,
      isOver: phase === 'gone' && remaining === 0,
    }
  }
}

function lookedAt(cluster: ClusterId, found: Found): Looked {
  const { node, reader } = found
  const isWaiting = node.phase === 'waiting' || node.phase === 'orphaning'
  return {
    node,
    obstacle: obstacleOf(cluster, found),
    waiting: isWaiting ? waitingOf(reader, cluster, node) : null,
    solid: node.object.ownerReferences.flatMap((reference) => {
      const { standing } = standingOf(reader, cluster, node.object, reference)
      return standing === 'solid' ? reference.uid : []
    }),
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
