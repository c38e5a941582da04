/**
 * How the cascade of an owner that is being deleted, or was deleted, proceeds: over all its dependents
 * what is done and what is left, and why. Of a namespace: over all that is in it.
 *
 * What must stay true: what is there is read from the graph, only what was there from the index; a
 * dependent names its owner by uid and coordinates; what is in a namespace of the same name that came
 * later is no part of it; bounded work, cut with a word; others get their turn between pages.
 *
 * Not here: what would happen (plan.ts).
 */
import { type Identity, identityKey, identityNamed } from '../../../../core/graph/identity.ts'
import { standingOf } from '../../../../core/judge/standing.ts'
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../../../core/model/node.ts'
import type { Uid } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Cascade as AnsweredCascade } from '../../api/answer-schema.ts'
import type { AnswerOf, AsOf, Row } from '../../api/document.ts'
import type { HistoryIndex, Indexed, Named } from '../index/history-index.ts'
import { type SpanIndex, uidIn } from '../index/span-index.ts'
import { hiddenText, type Sight, WHOLE } from '../view/sight.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'
import { cutText } from './query.ts'

/** Objects looked at for one answer, some 150 bytes each; then it is cut. */
const CASCADE_LIMIT = 100_000
/** Blocked objects and waiting owners that one answer names. */
const NAMED_LIMIT = 200
/** While somebody follows: how often it is looked at again at most, and how many times longer than a look took. */
const FOLLOW_MS = 1_000
const FOLLOW_SHARE = 10
/** Watches of two kinds may report one moment so far apart. */
const SKEW_MS = 2_000
/** How long and how often it is looked whether a deletion begins. */
const BEGIN_MS = 5_000
const BEGIN_LOOK_MS = 200

/**
 * - `reaping`: asked of the cluster, not confirmed yet. - `blocked`: see `blocked`. - `waiting`: being deleted, for dependents.
 * - `queued`: not its turn yet. - `unknown`: in a partition that is being restored.
 */
export type Progress = keyof Cascade['progress']

export type CascadeObject = Omit<Cascade['root'], 'phase'>

export type BlockedObject = Row<Cascade['blocked']>

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
  /** It is gone or being deleted, or is within a few seconds: who has just deleted it need not wait until that is seen. */
  begins(view: View, root: Named, signal: AbortSignal): Promise<boolean>
  /** An answer now and whenever it is another, until it is over or the signal aborts. `sightOf` says before each of them what it shows. */
  follow(
    view: View,
    root: Named,
    signal: AbortSignal,
    sightOf?: () => Promise<Sight>,
  ): AsyncIterable<CascadeAnswer>
}

export function createCascades(
  index: HistoryIndex,
  clock: Clock,
  limit: number = CASCADE_LIMIT,
): Cascades {
  async function cascade(
    view: View,
    root: Named,
    lag: bigint,
    sight: Sight,
  ): Promise<CascadeAnswer | undefined> {
    if (!isGoing(view, root)) return undefined
    const asOf = [view.asOf()]
    const { since, isCut } = await beginOf(index, view.identityOf(root))
    const isUnindexed = since === null && lag > 0n
    const from = isUnindexed ? Number.POSITIVE_INFINITY : since
    const walk = new Walk({ view, index, limit, since: from, sight })
    const phase = walk.root(root.uid)
    if (isNamespace(root)) await walk.content(root)
    await walk.all(view.identityOf(root))
    const doubts = [
      view.partial(),
      isUnindexed
        ? 'its deletion is not indexed yet, so what was deleted long before cannot be distinguished from what was deleted with it, and is not counted'
        : '',
      lag === 0n ? '' : `${lag} entries of history are not indexed yet, so more may be done`,
      isCut ? `when its deletion began is not known: ${cutText({ isCut })}` : '',
      walk.isCut ? `cut after ${limit} objects: there are more` : '',
      hiddenText(walk.hidden),
    ].filter((text) => text !== '')
    const { isOver, ...rest } = await walk.answer(root, phase, since)
    const isSurelyOver = isOver && !isUnindexed
    // What nobody can tell of now may still be there.
    const isFinal = isSurelyOver && view.partial() === '' && (lag === 0n || walk.isCut)
    const answer = { ...rest, isOver: isSurelyOver, isFinal }
    return { answer, partial: doubts.join('; '), asOf }
  }

  return {
    async cascade(view, root, sight = WHOLE) {
      if (!isGoing(view, root)) return undefined
      return await cascade(view, root, await index.caughtUp(), sight)
    },
    async begins(view, root, signal) {
      const until = clock.monotonicMs() + BEGIN_MS
      while (!isGoing(view, root) && clock.monotonicMs() < until && !signal.aborted) {
        await clock.sleep(BEGIN_LOOK_MS, signal)
      }
      return isGoing(view, root)
    },
    async *follow(view, root, signal, sightOf = async () => WHOLE) {
      let told = ''
      let standing = ''
      while (!signal.aborted) {
        const now = await standOf(view, index)
        const lag = now === standing ? 0n : await index.caughtUp()
        const began = clock.monotonicMs()
        if (now !== standing) {
          standing = now
          const answer = await cascade(view, root, lag, await sightOf())
          if (answer === undefined) return
          const { asOf: _, ...rest } = answer
          const text = JSON.stringify(rest)
          if (text !== told) yield answer
          told = text
          if (answer.answer.isFinal) return
        }
        const took = clock.monotonicMs() - began
        await clock.sleep(Math.max(FOLLOW_MS, took * FOLLOW_SHARE), signal)
      }
    },
  }
}

function isGoing(view: View, { uid }: Named): boolean {
  const node = view.node(uid)
  if (node === undefined || nodePhase(node) === 'reaped') return true
  return node.object.deletedAt !== null
}

function isNamespace({ group, kind }: Named): boolean {
  return group === '' && kind === 'Namespace'
}

/** Another one whenever there may be something new, or the task is another process' now. */
async function standOf(view: View, index: HistoryIndex): Promise<string> {
  const { position } = view.partition.status()
  return [position, await index.lagEntries(), view.partial()].join(' ')
}

/**
 * When the owner was first seen being deleted or, if it never was, gone. `isCut`: that is not known,
 * since it began before the newest entries of its history.
 */
async function beginOf(
  index: HistoryIndex,
  owner: Identity,
): Promise<{ readonly since: number | null; readonly isCut: boolean }> {
  const { entries, isCut } = await index.history(owner)
  const phases = entries.filter(({ phase }) => phase !== null && phase !== 'suspect')
  const wasThere = phases.findLastIndex(({ phase }) => phase === 'observed')
  const begun = phases[wasThere + 1] ?? entries.findLast(({ change }) => change === 'gone')
  const isBefore = isCut && wasThere < 0 && begun?.change !== 'gone'
  if (isBefore || begun === undefined) return { since: null, isCut: isBefore }
  return { since: Number(begun.at), isCut: false }
}

interface WalkOptions {
  readonly view: View
  readonly index: HistoryIndex
  readonly limit: number
  /** What went before is no part of it; null where nobody knows. */
  readonly since: number | null
  readonly sight: Sight
}

/** All that a walk has to know of an object that is there. */
interface Looked {
  readonly node: Node
  readonly obstacle: Obstacle | null
  readonly waiting: WaitingOwner | null
  /** Owners on whom it stands firmly, as far as is known: by `identityKey`. */
  readonly solid: readonly string[]
}

class Walk {
  readonly #options: WalkOptions
  /** All looked at, by `identityKey`; true once what hangs on it was, too. */
  readonly #seen = new Map<string, boolean>()
  readonly #kinds = new Map<
    string,
    { group: string; kind: string; done: number; remaining: number }
  >()
  readonly #progress = { reaping: 0, blocked: 0, waiting: 0, queued: 0, unknown: 0 }
  readonly #blocked: { readonly node: Node; readonly obstacle: Obstacle }[] = []
  readonly #waiting: WaitingOwner[] = []
  readonly #total = { done: 0, remaining: 0 }
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

  /** All that is in a namespace: it is deleted with it, whoever owns it. */
  async content(root: Named): Promise<void> {
    const { view, index, limit } = this.#options
    const end = view.node(root.uid) === undefined ? index.lastOf(view.cluster, root.uid) : undefined
    const until = end?.isGone === true ? end.at + SKEW_MS : Number.POSITIVE_INFINITY
    let read = 0
    for await (const last of index.within(view.cluster, root.name)) {
      await view.turns.take()
      read += 1
      if (read > limit) {
        this.isCut = true
        return
      }
      await this.#meetWithin(last, until)
    }
  }

  async #meetWithin(last: Indexed, until: number): Promise<void> {
    const { view, since } = this.#options
    const key = identityKey(view.identityOf(last))
    const looked = lookedAt(view, last.uid)
    if (looked !== undefined) {
      // It may be in a namespace that has the same name by now.
      if ((looked.node.object.createdAt ?? 0) > until) return
      this.#seen.set(key, true)
      await this.#countThere(looked)
      return
    }
    const isWithin = since !== null && last.at >= since - SKEW_MS && last.at <= until
    if (last.isGone && !isWithin) return
    this.#seen.set(key, true)
    await this.#countGone(last)
  }

  async all(root: Identity): Promise<void> {
    const { view, index } = this.#options
    const queue = [root]
    this.#seen.set(identityKey(root), true)
    for (const owner of queue) {
      const former = formerDependents(index.spans, owner)
      for (const dependents of [view.dependents(owner), former]) {
        for await (const uid of dependents) {
          await view.turns.take()
          const looked = lookedAt(view, uid)
          const object = looked?.node.object ?? index.spans.lastThere(view.cluster, uid)
          if (object === undefined) continue
          const dependent = view.identityOf(object)
          if (this.#seen.get(identityKey(dependent)) === true) continue
          if (await this.#meet(dependent, looked, owner)) queue.push(dependent)
          if (this.isCut) return
        }
      }
    }
  }

  /** True when what hangs on it is to be looked at now. */
  async #meet(dependent: Identity, looked: Looked | undefined, owner: Identity): Promise<boolean> {
    const { view, index, since, limit } = this.#options
    const { uid } = dependent
    const key = identityKey(dependent)
    const isKnown = this.#seen.has(key)
    if (!isKnown && this.#seen.size >= limit) {
      this.isCut = true
      return false
    }
    if (looked === undefined) {
      const last = index.lastOf(view.cluster, uid)
      // Gone long before: no part of this.
      if (last?.isGone && since !== null && last.at < since) return false
      this.#seen.set(key, true)
      await this.#countGone(last)
      return true
    }
    const { object } = looked.node
    if (view.referenceTo(owner, object) === undefined) {
      if (!isKnown) await this.#count(object, 'done')
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

  async #countGone(last: Indexed | undefined): Promise<void> {
    const isUnknown = last?.isGone !== true && this.#options.view.partial() !== ''
    if (isUnknown) this.#progress.unknown += 1
    if (last !== undefined) await this.#count(last, isUnknown ? 'remaining' : 'done')
  }

  /** It only loses a reference: what hangs on it stays. */
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
    const { view, index } = this.#options
    const kinds = [...this.#kinds.values()].sort((a, b) =>
      byText(`${a.kind}.${a.group}`, `${b.kind}.${b.group}`),
    )
    const { done, remaining } = this.#total
    const blocked = this.#blocked.map(async ({ node, obstacle }) => ({
      ...nameOf(node.object),
      ...(await withFirstSeen(index, view.cluster, node, obstacle)),
    }))
    const phase = found ?? (view.partial() === '' ? 'gone' : 'unknown')
    return {
      root: { ...nameOf(root), phase },
      since,
      done,
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

/** Uids of all that ever named it: what is gone among them is done, perhaps long before. */
async function* formerDependents(spans: SpanIndex, owner: Identity): AsyncIterable<Uid> {
  for (let after = ''; ; ) {
    const page = await spans.dependentsPage(owner, after, PAGE_KEYS)
    yield* page.map(uidIn)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_KEYS) return
    after = last
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
