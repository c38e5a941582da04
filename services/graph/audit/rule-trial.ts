/**
 * What a rule would have deleted in a span of the log, and what became of it: whether it was
 * changed, owned something new, or was asked for again later.
 *
 * What must stay true: the facts are those of the log, folded as they were. The rule is asked when
 * an object changes and when its time comes, in log time, and about objects only that were read
 * with all that it reads. What owners decide comes first, as in the fold.
 *
 * Not here: limits and fights, which hold a rule (core/admit/rule-hold.ts).
 */
import type { ClusterFacts } from '../../../core/graph/facts.ts'
import { FactsByCluster } from '../../../core/graph/facts.ts'
import { goneElsewhereText } from '../../../core/judge/elsewhere.ts'
import { duenessOf } from '../../../core/judge/rule.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Node } from '../../../core/model/node.ts'
import type {
  ClusterId,
  Coordinates,
  GroupKind,
  ObjectMeta,
  Uid,
} from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { Rule } from '../../../core/model/rule/rule.ts'
import { isReadFor, rulesOfKind } from '../../../core/model/rule/rule.ts'
import { SortedKeys } from '../../../ports/sorted-keys.ts'
import { type DecodedFold, decodedFold } from './decoded-fold.ts'
import { FarTrial } from './far-trial.ts'
import { loadBaseBefore } from './reach.ts'
import { committedEnd, eventOf, READ_LIMIT, type RefoldParts } from './refold.ts'

export interface TrialParts extends RefoldParts {
  /** Append time in milliseconds: the first one. */
  readonly fromMs: number
  readonly rule: Rule
  readonly progress?: (events: number, atMs: number) => void
}

/** An object that the rule would have deleted. */
export interface TrialCase extends Coordinates {
  readonly cluster: ClusterId
  readonly uid: Uid
  /** Log time since when it was due for as long as the rule asks. */
  readonly at: number
  readonly because: string
  /** How often it was changed afterwards, and when last; log time. */
  changes: number
  changedAt: number | null
  /** Objects that named it as their owner afterwards. */
  dependents: number
  /** Log time at which another actor, or an owner's deletion, deleted it; null: it exists. */
  deletedAt: number | null
  /** Log time at which an object of its name was made again; null: none was. */
  madeAgainAt: number | null
}

export interface TrialResult {
  readonly partition: number
  readonly events: number
  /** Objects that the rule selects, of all that existed within the span. */
  readonly selected: number
  /** Objects of its kinds that were not read with what it reads: nothing is known of them. */
  readonly unread: number
  /** Objects that it would have deleted; `cases` has the first ones. */
  readonly due: number
  /**
   * Objects whose owner in another cluster was deleted, and that the rule holds at the end: for as
   * long as it asks, or while the cluster of their owners is not followed.
   */
  readonly held: number
  /** Of those that are due: changed, given dependents, or made again afterwards. */
  readonly missed: number
  readonly cases: readonly TrialCase[]
}

const CASES_LIMIT = 10_000
const PROGRESS_EVENTS = 10_000
const TIME_DIGITS = 15

export async function tryRule(parts: TrialParts, signal: AbortSignal): Promise<TrialResult> {
  return await new Trial(parts).run(signal)
}

export function isMissed({ changes, dependents, madeAgainAt }: TrialCase): boolean {
  return changes > 0 || dependents > 0 || madeAgainAt !== null
}

class Trial {
  readonly #parts: TrialParts
  /** `TIME/cluster/uid` of what will be due. */
  readonly #timers = new SortedKeys()
  /** By object key: the time under which it is among these. */
  readonly #pending = new Map<string, number>()
  readonly #selected = new Set<string>()
  readonly #unread = new Set<string>()
  readonly #due = new Map<string, TrialCase>()
  /** The cases by where they are. */
  readonly #byPlace = new Map<string, TrialCase>()
  /** Of those with an owner in another cluster: which are held, and which name one, by cluster. */
  readonly #far = new FarTrial()
  /** Objects that were there before. */
  readonly #seen = new Set<string>()
  #events = 0

  constructor(parts: TrialParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<TrialResult> {
    const { log, partition, fromMs } = this.#parts
    const fold = await decodedFold(this.#parts, await loadBaseBefore(this.#parts, fromMs))
    const end = await committedEnd(this.#parts)
    let hasBegun = false
    let all = 0
    for (;;) {
      signal.throwIfAborted()
      const { position } = fold.position
      const page = await log.read('events', partition, position, { limit: READ_LIMIT, waitMs: 0 })
      const entries = page.entries.filter(({ offset }) => offset < end)
      for (const entry of entries) {
        all += 1
        if (all % PROGRESS_EVENTS === 0) this.#parts.progress?.(all, entry.timestamp)
        if (!hasBegun && entry.timestamp >= fromMs) {
          hasBegun = true
          this.#begin(fold)
        }
        const read = eventOf(this.#parts, fold, entry)
        const event = read instanceof Promise ? await read : read
        fold.fold(event, fold.at(entry))
        if (hasBegun) this.#follow(fold, event)
      }
      if (entries.length < page.entries.length || entries.length === 0) break
    }
    return this.#result()
  }

  #result(): TrialResult {
    const cases = [...this.#due.values()]
    return {
      ...{ partition: this.#parts.partition, events: this.#events },
      ...{ selected: this.#selected.size, unread: this.#unread.size, due: cases.length },
      held: this.#far.heldOf(this.#pending),
      missed: cases.filter(isMissed).length,
      cases: cases.toSorted((a, b) => a.at - b.at).slice(0, CASES_LIMIT),
    }
  }

  /** What exists when the span begins. */
  #begin(fold: DecodedFold): void {
    const facts = new FactsByCluster(fold.graph)
    for (const { cluster, uid } of fold.objects()) {
      this.#seen.add(objectKey(cluster, uid))
      this.#look(facts.of(cluster), uid)
    }
  }

  #follow(fold: DecodedFold, event: Event): void {
    this.#events += 1
    if (!('cluster' in event) || event.cluster === '') return
    const facts = new FactsByCluster(fold.graph).of(event.cluster)
    switch (event.type) {
      case 'ObjectAdded':
      case 'ObjectUpdated':
        this.#noteMade(facts, event.object)
        this.#noteChange(facts, event.object.uid, event.sync === null)
        return this.#look(facts, event.object.uid)
      case 'Touched':
        for (const { uid } of event.entries) {
          this.#noteChange(facts, uid, event.sync === null)
          this.#look(facts, uid)
        }
        return
      case 'ObjectDeleted':
        return this.#noteDeleted(facts, event.object.uid)
      case 'Heartbeat':
        return this.#fire(facts)
      case 'OwnerElsewhere':
      case 'ClusterElsewhere':
        for (const uid of this.#far.toLookAt(facts, event)) this.#look(facts, uid)
        return
      default:
        return
    }
  }

  /** As it is now: due at once, later, or not at all. */
  #look(facts: ClusterFacts, uid: Uid): void {
    const node = facts.node(uid)
    const key = objectKey(facts.cluster, uid)
    const at = node === undefined ? null : this.#dueAt(facts, node)
    const former = this.#pending.get(key)
    if (former === at) return
    if (former !== undefined) this.#timers.delete(timerKey(former, key))
    this.#pending.delete(key)
    if (at === null || this.#due.has(key)) return
    this.#pending.set(key, at)
    this.#timers.add(timerKey(at, key))
    this.#fire(facts)
  }

  #dueAt(facts: ClusterFacts, { object, verdict }: Node): number | null {
    const { rule } = this.#parts
    if (!isAbout(rule, object)) return null
    const key = objectKey(facts.cluster, object.uid)
    if (!isReadWith(facts, object, rule)) {
      this.#unread.add(key)
      return null
    }
    this.#unread.delete(key)
    if (object.deletedAt !== null) return null
    if (verdict !== null && verdict.type !== 'keep' && verdict.rule === null) return null
    const found = duenessOf(rule, object, facts.state?.now ?? 0)
    if (found === null) return null
    this.#selected.add(key)
    const since = this.#far.goneSince(facts, rule, object)
    return since === null ? null : Math.max(found.at, since) + rule.forMs
  }

  #fire(facts: ClusterFacts): void {
    const now = facts.state?.now ?? 0
    for (const timer of this.#timers.page('', timerKey(now + 1, ''), CASES_LIMIT)) {
      const key = timer.slice(TIME_DIGITS + 1)
      const uid = key.slice(facts.cluster.length + 1)
      if (!key.startsWith(`${facts.cluster}/`)) continue
      this.#timers.delete(timer)
      this.#pending.delete(key)
      const node = facts.node(uid)
      const found = node === undefined ? null : duenessOf(this.#parts.rule, node.object, now)
      if (node === undefined || found === null) continue
      const { rule } = this.#parts
      const since = this.#far.goneSince(facts, rule, node.object)
      if (since === null) continue
      const at = Math.max(Math.max(found.at, since) + rule.forMs, now)
      const because = `${found.because}${goneElsewhereText(rule, node.object)}`
      this.#take(facts.cluster, node.object, at, because)
    }
  }

  #take(cluster: ClusterId, object: ObjectMeta, at: number, because: string): void {
    const { group, kind, namespace, name, uid } = object
    const later = { changes: 0, changedAt: null, dependents: 0, deletedAt: null, madeAgainAt: null }
    const taken = { cluster, group, kind, namespace, name, uid, at, because, ...later }
    this.#due.set(objectKey(cluster, uid), taken)
    this.#byPlace.set(placeKey(cluster, object), taken)
  }

  /** `isLive`: a watch reported it, so it is a change and no list. */
  #noteChange(facts: ClusterFacts, uid: Uid, isLive: boolean): void {
    const taken = this.#due.get(objectKey(facts.cluster, uid))
    if (taken === undefined || !isLive || facts.node(uid)?.object.deletedAt !== null) return
    taken.changes += 1
    taken.changedAt = facts.state?.now ?? null
  }

  #noteMade(facts: ClusterFacts, object: ObjectMeta): void {
    const former = this.#byPlace.get(placeKey(facts.cluster, object))
    if (former !== undefined && former.uid !== object.uid) {
      former.madeAgainAt ??= facts.state?.now ?? null
    }
    if (this.#isKnown(facts, object)) return
    for (const { uid } of object.ownerReferences) {
      const owner = this.#due.get(objectKey(facts.cluster, uid))
      if (owner !== undefined) owner.dependents += 1
    }
  }

  /** It was here before this event, so what it names is not new. */
  #isKnown(facts: ClusterFacts, { uid }: ObjectMeta): boolean {
    const key = objectKey(facts.cluster, uid)
    const isNew = !this.#seen.has(key)
    this.#seen.add(key)
    return !isNew
  }
  #noteDeleted(facts: ClusterFacts, uid: Uid): void {
    const key = objectKey(facts.cluster, uid)
    const taken = this.#due.get(key)
    if (taken !== undefined) taken.deletedAt ??= facts.state?.now ?? null
    const former = this.#pending.get(key)
    if (former !== undefined) this.#timers.delete(timerKey(former, key))
    this.#pending.delete(key)
    this.#far.leave(key)
  }
}

function isAbout({ match }: Rule, { group, kind }: GroupKind): boolean {
  return match.kinds.some((each) => each.kind === kind && each.group === group)
}

/** By the rules that were in force when it was published, or by what is read of every object. */
function isReadWith(facts: ClusterFacts, object: ObjectMeta, rule: Rule): boolean {
  const needed = rulesOfKind([rule], object)?.reads
  if (needed === undefined || needed.digest === '') return true
  const then = rulesOfKind(facts.rules, object)
  if (then === null || !isReadFor(object, then)) return false
  const { labels, annotations, fields } = then.reads
  return (
    needed.labels.every((each) => labels.includes(each)) &&
    needed.annotations.every((each) => annotations.includes(each)) &&
    needed.fields.every((each) => fields.includes(each))
  )
}

function timerKey(at: number, key: string): string {
  return `${String(at).padStart(TIME_DIGITS, '0')}/${key}`
}

function placeKey(cluster: ClusterId, { group, kind, namespace, name }: Coordinates): string {
  return `${cluster}/${group}/${kind}/${namespace}/${name}`
}
