/**
 * How far the cascade of an owner has come that is being deleted or was deleted: over all its
 * dependents, what is done, what remains, and why. Of a namespace: over all that is in it.
 *
 * What must stay true: what is there, and what was, is read from the graph of one moment, and from
 * nothing else; only the names in a namespace are the index's. A dependent references its owner by
 * uid and coordinates; what is in a namespace of the same name that came later is no part of it.
 * The work is bounded, and an answer that is cut says so; others get their turn between pages.
 *
 * Not here: what would happen (plan.ts).
 */
import { type Identity, identityKey, identityNamed } from '../../../../core/graph/identity.ts'
import { standingOf } from '../../../../core/judge/standing.ts'
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../../../core/model/node.ts'
import type { ObjectMeta, Uid } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Cascade as AnsweredCascade } from '../../api/answer-schema.ts'
import type { AnswerOf, AsOf, Row } from '../../api/document.ts'
import { reachOf } from '../../fold/former/former-rows.ts'
import { type Histories, historiesAt } from '../index/history-at.ts'
import type { HistoryIndex, Indexed, Named } from '../index/history-index.ts'
import { hiddenText, type Sight, WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'

/** Objects read for one answer, some 150 bytes each; then it is cut. */
const CASCADE_LIMIT = 100_000
/** Watches of two kinds may report one moment so far apart. */
const SKEW_MS = 2_000
/** Changes of the owner that are read back to the beginning of its deletion. */
const CHANGES_LIMIT = 2_000
/** Blocked objects and waiting owners that one answer names. */
const NAMED_LIMIT = 200
/**
 * While a client follows: how often it is read again at most, and how many times longer than a
 * reading the pause is.
 */
const FOLLOW_MS = 1_000
const FOLLOW_SHARE = 10
/** For how long and how often it is checked whether a deletion begins. */
const BEGIN_MS = 5_000
const BEGIN_LOOK_MS = 200

/**
 * - `reaping`: asked of the cluster, not confirmed yet.
 * - `blocked`: see `blocked`.
 * - `waiting`: being deleted, for dependents.
 * - `queued`: not its turn yet. - `unknown`: in a partition that is being restored.
 */
export type Progress = keyof Cascade['progress']

export type CascadeObject = Omit<Cascade['root'], 'phase'>

export type WaitingOwner = Row<Cascade['waiting']>

export type Cascade = AnswerOf<AnsweredCascade>

export interface CascadeAnswer {
  readonly answer: Cascade
  readonly partial: string
  readonly asOf: readonly AsOf[]
}

export interface Cascades {
  /** Undefined of one that is there and not being deleted. */
  cascade(view: View, root: Named, sight?: Sight): Promise<CascadeAnswer | undefined>
  /**
   * It was deleted or is being deleted, or is within a few seconds: a user who has just deleted it
   * need not wait until that is observed.
   */
  begins(view: View, root: Named, signal: AbortSignal): Promise<boolean>
  /**
   * An answer now and whenever it is another, until it is over or the signal aborts. `sightOf` says
   * before each of them what it shows.
   */
  follow(
    view: View,
    root: Named,
    signal: AbortSignal,
    sightOf?: () => Promise<Sight>,
  ): AsyncIterable<CascadeAnswer>
}

export function createCascades(
  index: Pick<HistoryIndex, 'namesOf' | keyof Histories>,
  clock: Clock,
  limit: number = CASCADE_LIMIT,
): Cascades {
  async function cascade(view: View, root: Named, sight: Sight): Promise<CascadeAnswer> {
    const asOf = [view.asOf()]
    const histories = historiesAt(index, view.moment)
    const { begin, isCut } = await beginOf(view, root.uid)
    const walk = new Walk({ view, index, histories, limit, from: begin?.position ?? null, sight })
    const phase = walk.root(root.uid)
    if (isNamespace(root)) await walk.content(root, begin?.at ?? null)
    await walk.all(view.identityOf(root))
    const doubts = [
      view.partial(),
      unrememberedText(view, begin?.position ?? 0),
      isCut ? 'when its deletion began is not remembered' : '',
      walk.isCut ? `cut after ${limit} objects: there are more` : '',
      hiddenText(walk.hidden),
    ].filter((text) => text !== '')
    const { isOver, ...rest } = await walk.answer(root, phase, begin?.at ?? null)
    // An object whose present state is unknown may still exist.
    const isFinal = isOver && view.partial() === ''
    return { answer: { ...rest, isOver, isFinal }, partial: doubts.join('; '), asOf }
  }

  return {
    async cascade(view, root, sight = WHOLE) {
      if (!isGoing(view, root)) return undefined
      return await cascade(view, root, sight)
    },
    async begins(view, root, signal) {
      const until = clock.monotonicMs() + BEGIN_MS
      while (!isGoing(view, root) && clock.monotonicMs() < until && !signal.aborted) {
        await clock.sleep(BEGIN_LOOK_MS, signal)
      }
      return isGoing(view, root)
    },
    async *follow(view, root, signal, sightOf = async () => WHOLE) {
      let [told, position] = ['', '']
      while (!signal.aborted) {
        const now = positionOf(view)
        const began = clock.monotonicMs()
        if (now !== position) {
          position = now
          if (!isGoing(view, root)) return
          const { asOf, ...rest } = await cascade(view, root, await sightOf())
          const text = JSON.stringify(rest)
          if (text !== told) yield { ...rest, asOf }
          told = text
          if (rest.answer.isFinal) return
        }
        const took = clock.monotonicMs() - began
        await clock.sleep(Math.max(FOLLOW_MS, took * FOLLOW_SHARE), signal)
      }
    },
  }
}

function isGoing(view: View, { uid }: Named): boolean {
  const node = view.node(uid)
  return node === undefined || isDeleting(node)
}

function isDeleting(node: Node): boolean {
  return nodePhase(node) === 'reaped' || node.object.deletedAt !== null
}

function isNamespace({ group, kind }: Named): boolean {
  return group === '' && kind === 'Namespace'
}

/** Another one whenever there may be something new, or the task is another process' now. */
function positionOf(view: View): string {
  return `${view.partition.status().position} ${view.partial()}`
}

/** Why some that were deleted since a position may be missing. */
function unrememberedText({ now, codec, partition }: View, since: number): string {
  const reach = reachOf(now, codec)
  if (reach !== undefined && reach.begin <= since) return ''
  const what = reach === undefined ? '' : ` before pos:${partition.partition}-${reach.begin}`
  return `what was deleted${what} is not remembered, so more may be done`
}

/**
 * When the owner was first seen being deleted or, if it never was, deleted. `isCut`: that is not
 * known, since it is too long ago.
 */
async function beginOf(
  view: View,
  owner: Uid,
): Promise<{ readonly begin: Begin | null; readonly isCut: boolean }> {
  let changes = 0
  for (const { position, node } of view.changes(owner)) {
    // Before that it was there, or it was seen for the first time while it was being deleted.
    if (node === undefined || !isDeleting(node)) {
      const at = await view.timeOf(position)
      return at === undefined ? TOO_LONG_AGO : { begin: { at, position }, isCut: false }
    }
    changes += 1
    if (changes >= CHANGES_LIMIT) return TOO_LONG_AGO
    await view.turns.take()
  }
  return changes === 0 ? { begin: null, isCut: false } : TOO_LONG_AGO
}

const TOO_LONG_AGO = { begin: null, isCut: true } as const

/** Of the event by which it was recorded, and its append time. */
interface Begin {
  readonly position: number
  readonly at: number
}

interface WalkOptions {
  readonly view: View
  readonly index: Pick<HistoryIndex, 'namesOf'>
  readonly histories: Histories
  readonly limit: number
  /**
   * Objects that an event before this position removed are no part of it; null where it is unknown.
   */
  readonly from: number | null
  readonly sight: Sight
}

/** All that a search has to know of an object that exists. */
interface Looked {
  readonly node: Node
  readonly obstacle: Obstacle | null
  readonly waiting: WaitingOwner | null
  /** Its solid owners, as far as is known: by `identityKey`. */
  readonly solid: readonly string[]
}

/** An object that references an owner, or did. */
interface Met {
  readonly object: Pick<ObjectMeta, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>
  /** Undefined: it is not in the graph. */
  readonly looked?: Looked
  /** The position of the event that removed it. */
  readonly until: number
  /** It is, as far as is known. */
  readonly isThere: boolean
}

class Walk {
  readonly #options: WalkOptions
  /** All objects that were read, by `identityKey`; true once their dependents were read, too. */
  readonly #seen = new Map<string, boolean>()
  readonly #kinds = new Map<
    string,
    { group: string; kind: string; done: number; remaining: number }
  >()
  readonly #progress = { reaping: 0, blocked: 0, waiting: 0, queued: 0, unknown: 0 }
  readonly #blocked: { readonly node: Node; readonly obstacle: Obstacle }[] = []
  readonly #waiting: WaitingOwner[] = []
  readonly #total = { done: 0, kept: 0, remaining: 0 }
  hidden = 0
  isCut = false

  constructor(options: WalkOptions) {
    this.#options = options
  }

  /** Its phase, if it is there. */
  root(uid: Uid): string | undefined {
    const looked = lookedAt(this.#options.view, uid)
    // Who asks may get it.
    if (looked !== undefined) this.#note(looked, true)
    return looked && nodePhase(looked.node)
  }

  /**
   * All objects in a namespace, which are deleted with it, whatever their owners. `since`: its
   * deletion began.
   */
  async content(root: Named, since: number | null): Promise<void> {
    const { view, index, limit } = this.#options
    const end =
      view.node(root.uid) === undefined
        ? index.namesOf(view.cluster).lastOf(view.cluster, root.uid)
        : undefined
    const until = end?.isGone === true ? end.at + SKEW_MS : Number.POSITIVE_INFINITY
    const from = since === null ? Number.POSITIVE_INFINITY : since - SKEW_MS
    let read = 0
    for await (const last of index.namesOf(view.cluster).within(view.cluster, root.name)) {
      await view.turns.take()
      read += 1
      if (read > limit) {
        this.isCut = true
        return
      }
      await this.#meetWithin(last, { from, until })
    }
  }

  async #meetWithin(last: Indexed, time: { from: number; until: number }): Promise<void> {
    const { view } = this.#options
    const met = this.#met(last.uid)
    if (met === undefined) return
    const key = identityKey(view.identityOf(met.object))
    if (met.looked !== undefined) {
      // It may be in a namespace that has the same name by now.
      if ((met.looked.node.object.createdAt ?? 0) > time.until) return
      this.#seen.set(key, true)
      await this.#countThere(met.looked)
      return
    }
    if (!met.isThere && (last.at < time.from || last.at > time.until)) return
    this.#seen.set(key, true)
    await this.#countUnseen(met)
  }

  async all(root: Identity): Promise<void> {
    const { view } = this.#options
    const queue = [root]
    this.#seen.set(identityKey(root), true)
    for (const owner of queue) {
      for (const dependents of [view.dependents(owner), view.formerDependents(owner)]) {
        for await (const uid of dependents) {
          await view.turns.take()
          const met = this.#met(uid)
          if (met === undefined) continue
          const dependent = view.identityOf(met.object)
          if (this.#seen.get(identityKey(dependent)) === true) continue
          if (await this.#meet(dependent, met, owner)) queue.push(dependent)
          if (this.isCut) return
        }
      }
    }
  }

  /** Undefined: nothing is known of it. In a store that is being restored it may be there. */
  #met(uid: Uid): Met | undefined {
    const { view, index } = this.#options
    const looked = lookedAt(view, uid)
    if (looked !== undefined) return { object: looked.node.object, looked, until: 0, isThere: true }
    const former = view.lastThere(uid)
    if (view.partial() === '') return former && { ...former, isThere: false }
    const last = index.namesOf(view.cluster).lastOf(view.cluster, uid)
    const object = former?.object ?? last
    return object && { object, until: former?.until ?? 0, isThere: last?.isGone !== true }
  }

  /** True when its dependents are to be read now. */
  async #meet(dependent: Identity, met: Met, owner: Identity): Promise<boolean> {
    const { view, from, limit } = this.#options
    const { looked, until, isThere } = met
    const key = identityKey(dependent)
    const isKnown = this.#seen.has(key)
    if (!isKnown && this.#seen.size >= limit) {
      this.isCut = true
      return false
    }
    if (looked === undefined) {
      // It was deleted long before: no part of this.
      if (!isThere && from !== null && until < from) return false
      this.#seen.set(key, true)
      await this.#countUnseen(met)
      return true
    }
    const { object } = looked.node
    if (view.referenceTo(owner, object) === undefined) {
      if (!isKnown) {
        this.#total.kept += 1
        await this.#count(object, 'done')
      }
      this.#seen.set(key, true)
      return false
    }
    if (!isKnown) await this.#countThere(looked)
    const goes = !this.#keepsOthers(looked)
    this.#seen.set(key, goes)
    return goes
  }

  async #countThere(looked: Looked): Promise<void> {
    const isShown = await this.#count(looked.node.object, 'remaining')
    this.#progress[this.#note(looked, isShown)] += 1
  }

  /** It is not in the graph. */
  async #countUnseen({ object, isThere }: Met): Promise<void> {
    if (isThere) this.#progress.unknown += 1
    await this.#count(object, isThere ? 'remaining' : 'done')
  }

  /** It only loses a reference: its dependents stay. */
  #keepsOthers({ node, solid }: Looked): boolean {
    return node.verdict?.type === 'drop' || solid.some((owner) => this.#seen.get(owner) !== true)
  }

  /** False where it is counted, and nothing else may be said of it. */
  async #count(
    object: Pick<CascadeObject, 'group' | 'kind' | 'namespace'>,
    what: 'done' | 'remaining',
  ): Promise<boolean> {
    const { sight } = this.#options
    this.#total[what] += 1
    if (!sight.isWhole && !(await sight.shows(object))) {
      this.hidden += 1
      return false
    }
    const { group, kind } = object
    const key = `${kind}.${group}`
    const count = this.#kinds.get(key) ?? { group, kind, done: 0, remaining: 0 }
    this.#kinds.set(key, count)
    count[what] += 1
    return true
  }

  #note({ node, obstacle, waiting }: Looked, isShown: boolean): Progress {
    if (obstacle !== null) {
      const isNamed = isShown && this.#blocked.length < NAMED_LIMIT
      if (isNamed) this.#blocked.push({ node, obstacle })
      return 'blocked'
    }
    if (waiting !== null) {
      const isNamed = isShown && this.#waiting.length < NAMED_LIMIT
      if (isNamed) this.#waiting.push(waiting)
      return node.attempt === null ? 'waiting' : 'reaping'
    }
    const isAsked =
      nodePhase(node) === 'reaped' || node.attempt !== null || node.object.deletedAt !== null
    return isAsked ? 'reaping' : 'queued'
  }

  async answer(
    root: Named,
    found: string | undefined,
    since: number | null,
  ): Promise<Omit<Cascade, 'isFinal'>> {
    const { view, histories } = this.#options
    const kinds = [...this.#kinds.values()].sort((a, b) =>
      byText(`${a.kind}.${a.group}`, `${b.kind}.${b.group}`),
    )
    const { done, kept, remaining } = this.#total
    const blocked = this.#blocked.map(async ({ node, obstacle }) => ({
      ...nameOf(node.object),
      ...(await withFirstSeen(histories, view.cluster, node, obstacle)),
    }))
    const phase = found ?? (view.partial() === '' ? 'gone' : 'unknown')
    return {
      root: { ...nameOf(root), phase },
      since,
      done,
      kept,
      remaining,
      hidden: this.hidden,
      progress: this.#progress,
      kinds,
      blocked: await Promise.all(blocked),
      waiting: this.#waiting,
      isOver: phase === 'gone' && remaining === 0,
      deletion: null,
      deletedAt: null,
    }
  }
}

function lookedAt(view: View, uid: Uid): Looked | undefined {
  const node = view.node(uid)
  if (node === undefined) return undefined
  const phase = nodePhase(node)
  const isWaiting = phase === 'waiting' || phase === 'orphaning'
  return {
    node,
    obstacle: obstacleOf(view, node),
    waiting: isWaiting ? waitingOf(view, node) : null,
    solid: node.object.ownerReferences.flatMap((reference) => {
      const { standing } = standingOf(view.facts, node.object, reference)
      if (standing !== 'solid') return []
      const owner = identityNamed(view.facts, node.object, reference)
      return owner === undefined ? [] : identityKey(owner)
    }),
  }
}

function waitingOf({ facts }: View, node: Node): WaitingOwner {
  const { object, verdict } = node
  const held = admissionOf(node)
  const because = verdict?.because ?? ''
  const count = facts.count(object.uid, object)
  return {
    ...nameOf(object),
    phase: nodePhase(node),
    because: held === null ? because : `${because}; ${held.because}`,
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
