/**
 * Answers to questions of users: which objects have this name, the dependents of one, its owners,
 * and why its state is what it is.
 *
 * What must stay true: it reads committed state and changes nothing; an answer that may be
 * incomplete says so.
 */
import { elsewhereOf } from '../../../../core/judge/elsewhere.ts'
import { isMatch } from '../../../../core/judge/rule.ts'
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../../../core/model/node.ts'
import type { OwnerReference } from '../../../../core/model/object.ts'
import type { KnownOwner } from '../../../../core/model/owner.ts'
import { orphanMarkOf, ownerStateOf } from '../../../../core/model/owner.ts'
import type { History } from '../../../../core/model/record.ts'
import { type OwnerElsewhereName, ownerNamedBy } from '../../../../core/model/rule/elsewhere.ts'
import { isReadFor, rulesOfKind } from '../../../../core/model/rule/rule.ts'
import {
  type MarkSettings,
  managersOf,
  markText,
  NO_MARKS,
  TOOL_NAMES,
} from '../../../../ports/record/manager-mark.ts'
import { isPathSegmentName } from '../../../../ports/record/object-name.ts'
import type { Why as WhyDocument } from '../../api/answer-schema.ts'
import { type AnswerOf, type Row, timeOf, type Unshaped } from '../../api/document.ts'
import { historiesAt } from '../index/history-at.ts'
import { HISTORY_LIMIT, type HistoryIndex, type Named } from '../index/history-index.ts'
import type { Lacks } from '../index/name-index.ts'
import type { Indexed } from '../index/name-key.ts'
import type { Clusters } from '../view/clusters.ts'
import { type Sight, WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import type { DeletedBy } from './actor.ts'
import type { Deletion } from './deletion-cause.ts'
import { namesakeText, standsWithNamesakes } from './namesake.ts'
import { obstacleOf, obstacleOfWaiting, withFirstSeen } from './obstacle.ts'
import { withRestored } from './restored.ts'

export interface Selector {
  /**
   * `Pod`, `pods`, `deployments.apps`, `Deployment.v1.apps`; upper and lower case alike; empty:
   * any.
   */
  readonly kind: string
  readonly name: string
  readonly namespace: string
  /** The cluster's name or id; undefined: any. */
  readonly cluster: string | undefined
  readonly uid: string | undefined
}

export interface Answer<T> {
  readonly answer: T
  /** Why it may be incomplete; empty when it is not. */
  readonly partial: string
}

type AnsweredWhy = AnswerOf<WhyDocument>

/** As it is found, for every user: which others have its name is said by question.ts. */
export interface Why
  extends Omit<
    AnsweredWhy,
    'object' | 'history' | 'deletedBy' | 'asOwner' | 'others' | 'elsewhere'
  > {
  readonly object: Named
  readonly deletedBy: readonly DeletedBy[]
  readonly asOwner: AsOwner | null
  readonly history: readonly History[]
  readonly elsewhere: readonly OwnerElsewhere[]
}

/** As one rule has it; what the cluster is called is said by question.ts. */
export type OwnerElsewhere = Omit<Row<AnsweredWhy['elsewhere']>, 'owner'> & {
  readonly owner: OwnerElsewhereName
}

type AsOwner = Unshaped<NonNullable<WhyDocument['asOwner']>, number | bigint>

/** An object that a selector fits. */
export interface Match {
  readonly object: Named
  readonly clusterName: string
  /** It is a node now. */
  readonly isThere: boolean
}

export interface Found {
  readonly matches: readonly Match[]
  /** What else may fit. */
  readonly lacks: Lacks
}

export interface Query {
  /** Waits a moment for what was seen just now; what is not indexed by then, else empty. */
  caughtUp(): Promise<string>
  /**
   * In these clusters, which this process has, and which are those that the selector names. Of
   * deleted ones those around a time, in ms (undefined: the last ones).
   */
  findIn(views: readonly View[], selector: Selector, at?: number): Promise<Found>
  /**
   * What there is of such a kind: under the name in other namespaces, or under one like it in this
   * one. Some of it; where nothing of that exists, of what was deleted.
   */
  nearestIn(views: readonly View[], selector: Selector): Promise<readonly Match[]>
  why(view: View, object: Named, sight?: Sight): Promise<Answer<Why>>
  /** Who deleted it; null of one that is there. */
  deletion(view: View, object: Named): Promise<Answer<Deletion | null> & When>
  /**
   * What to add to the verdict on an object where its deleted owner was created again; else empty.
   */
  namesake(view: View, node: Node): Promise<string>
}

/**
 * Of an object in this phase: who deleted it, of its owners who deleted each, and the owner that
 * orphaned it.
 */
export type DeletionOf = (
  view: Pick<View, 'turns' | 'moment'>,
  object: Named,
  phase: Why['phase'],
) => Promise<Pick<Why, 'deletion' | 'deletedBy' | 'orphaned'> & When & { readonly partial: string }>

interface When {
  /**
   * Append time at which a deletion was over or, where it is not, had begun; null where that is not
   * known.
   */
  readonly at: number | null
}

const LACKS: readonly Lacks[] = ['any', 'former']

/** What is said of a question is the worst that is said of a part of it. */
export function lacksOf(parts: readonly { readonly lacks: Lacks }[]): Lacks {
  return LACKS.find((each) => parts.some(({ lacks }) => lacks === each)) ?? 'nothing'
}

/** What exists, where anything does. */
export function livingFirst(all: readonly Match[]): readonly Match[] {
  const there = all.filter(({ isThere }) => isThere)
  return there.length > 0 ? there : all
}

export function createQuery(
  clusters: Clusters,
  index: HistoryIndex,
  deletionOf: DeletionOf,
  marks: MarkSettings = NO_MARKS,
): Query {
  async function matching(
    views: readonly View[],
    objects: readonly Indexed[],
    { kind, uid }: Selector,
  ): Promise<Match[]> {
    const word = await clusters.kindWords.of(kind)
    const known = new Map(views.map((each) => [each.cluster, each]))
    return objects.flatMap((object) => {
      const view = known.get(object.cluster)
      if (view === undefined) return []
      const isAny = uid !== undefined || kind === ''
      if (!isAny && !word.is(object, view.facts.kind(object))) return []
      const isThere = view.node(object.uid) !== undefined || isMissing(view, object)
      return [{ object: namedOf(object), clusterName: view.name, isThere }]
    })
  }

  return {
    caughtUp: async () => behindText(await index.caughtUp()),
    async nearestIn(views, asked) {
      const { name, namespace, uid } = asked
      if (uid !== undefined) return []
      const names = partitionsOf(views).map((partition) => index.namesIn(partition))
      // However many partitions there are here, a slip of the hand costs no more.
      const share = 1 / names.length
      const anywhere: Indexed[] = []
      for (const each of names) anywhere.push(...(await each.anywhere(name, share)))
      const elsewhere = await matching(views, anywhere, asked)
      if (elsewhere.length > 0) return livingFirst(elsewhere)
      const near: Indexed[] = []
      for (const within of new Set([namespace, ''])) {
        for (const each of names) near.push(...(await each.near(within, name, share)))
      }
      return livingFirst(await matching(views, near, asked))
    },
    async findIn(views, selector, at) {
      const { name, namespace, cluster, uid } = selector
      const namespaces = [...new Set([namespace, ''])]
      const read = partitionsOf(views).flatMap((partition) => {
        const names = index.namesIn(partition)
        if (uid !== undefined) return [names.withUid(uid)]
        const own = views.filter((view) => view.partition.partition === partition)
        const ids = cluster === undefined ? [undefined] : own.map((view) => view.cluster)
        return namespaces.flatMap((within) => {
          return ids.map((id) => names.named({ namespace: within, name, cluster: id, at }))
        })
      })
      const found = await Promise.all(read)
      const objects = found.flatMap((each) => each.found)
      return { matches: await matching(views, objects, selector), lacks: lacksOf(found) }
    },
    async why(view, object, sight = WHOLE) {
      const behind = behindText(await index.caughtUp())
      const histories = historiesAt(index, view.moment)
      const history = await histories.history(view.identityOf(object))
      const { node, obstacle: own, ...rest } = standingIn(view, object, marks)
      const obstacle = own ?? (node && (await obstacleOfWaiting(view, node, sight)))
      const seen =
        node && obstacle && (await withFirstSeen(histories, view.cluster, node, obstacle))
      const stands = node && (await standsWithNamesakes(view, index, node, sight))
      const references = (stands ?? []).map(({ reference, standing, reason }) => {
        return { ...reference, standing, reason: `${reason}${namedBadly(reference)}` }
      })
      const by = await deletionOf(view, object, rest.phase)
      const { partial, deletion, deletedBy, orphaned } = by
      const told = { object: namedOf(object), ...rest, references, obstacle: seen ?? null }
      const deleted = { deletion, deletedBy, orphaned }
      const restored = await withRestored(view, index, object, verdictsFirst(history.entries))
      const answer = { ...told, ...deleted, ...restored }
      const older = history.isCut ? cutText(history) : begunText(index, view, answer)
      const doubts = [view.partial(), behind, partial, older]
      return { answer, partial: doubts.filter((text) => text !== '').join('; ') }
    },
    async deletion(view, object) {
      const phase = phaseOf(view, view.node(object.uid))
      // What of its owners cannot be read is no doubt about it.
      if (isUndeleted(phase)) return { answer: null, at: null, partial: '' }
      const { deletion, at, partial } = await deletionOf(view, object, phase)
      return { answer: deletion, at, partial }
    },
    namesake: async (view, node) => await namesakeText(view, index, node),
  }
}

function markedBy(node: Node | undefined, marks: MarkSettings): Why['managers'] {
  const named = node === undefined ? [] : managersOf(node.object, marks)
  return named.map(({ mark, ...manager }) => ({
    ...manager,
    toolName: TOOL_NAMES[manager.tool],
    mark: markText(mark, marks),
  }))
}

/** As the rules that ask for such owners have it. */
function ownersElsewhere({ facts }: View, node: Node | undefined): Why['elsewhere'] {
  const ofKind = node === undefined ? null : rulesOfKind(facts.rules, node.object)
  if (node === undefined || ofKind === null || !isReadFor(node.object, ofKind)) return []
  const owner = ownerNamedBy(node.object.annotations)
  return ofKind.rules.flatMap((rule) => {
    const status = elsewhereOf(facts, rule, node.object)
    if (!isMatch(rule.match, node.object, facts.state?.now ?? 0)) return []
    if (owner === null || status === null || status.type === 'unnamed') return []
    return [{ rule: rule.name, owner, state: status.type, because: status.because }]
  })
}

/** While a store is restored it lacks nodes of objects that exist. */
function isMissing(view: View, { isGone }: Indexed): boolean {
  return !isGone && view.partial() !== ''
}

function partitionsOf(views: readonly View[]): readonly number[] {
  return [...new Set(views.map(({ partition }) => partition.partition))]
}

/** What is said where not all of a history was read. */
function cutText({ isCut }: { readonly isCut: boolean }): string {
  if (!isCut) return ''
  return `it has more than ${HISTORY_LIMIT} entries of history: older ones are left out`
}

/** At a moment: what was trimmed before the index was built. */
function begunText(
  index: Pick<HistoryIndex, 'begin'>,
  { moment, partition }: View,
  { history }: Pick<Why, 'object' | 'history'>,
): string {
  if (moment === null || history[0]?.change === 'created') return ''
  if (history.length === 0) return 'its history is forgotten ("remember")'
  const begun = index.begin(partition.partition)?.at ?? null
  return begun === null ? '' : `its history before ${timeOf(begun)} was removed from the log`
}

/** Of what the index knows of it: whatever else it holds is answered from the store. */
function namedOf({ cluster, uid, group, kind, namespace, name, at }: Named): Named {
  return { cluster, uid, group, kind, namespace, name, at }
}

export function behindText(lag: bigint, what = 'history'): string {
  return lag === 0n ? '' : `${lag} entries of ${what} are not indexed yet`
}

/** The present state of an object. */
function standingIn(
  view: View,
  object: Named,
  marks: MarkSettings,
): Pick<
  Why,
  | 'managers'
  | 'elsewhere'
  | 'phase'
  | 'doubt'
  | 'verdict'
  | 'admission'
  | 'attempt'
  | 'obstacle'
  | 'asOwner'
> & {
  readonly node: Node | undefined
} {
  const node = view.node(object.uid)
  const owner = view.facts.owner(object.uid, object)
  const verdict = node?.verdict ?? null
  return {
    node,
    managers: markedBy(node, marks),
    elsewhere: ownersElsewhere(view, node),
    phase: phaseOf(view, node),
    doubt: node?.doubt ?? null,
    verdict: verdict === null ? null : { ...verdict, basis: verdict.basis.map(String) },
    admission: node === undefined ? null : admissionOf(node),
    attempt: attemptOf(node),
    obstacle: node === undefined ? null : obstacleOf(view, node),
    asOwner: owner === undefined ? null : asOwner(owner),
  }
}

function attemptOf(node: Node | undefined): Why['attempt'] {
  if (node?.attempt == null) return null
  const { intent: _, ...attempt } = node.attempt
  return attempt
}

/** Its absence was proven without a GET, or could not be proven. */
function namedBadly({ name }: OwnerReference): string {
  return isPathSegmentName(name) ? '' : `; a server takes no object called ${JSON.stringify(name)}`
}

/** Null when it was deleted, which is unknown while a store is being restored. */
function phaseOf(view: View, node: Node | undefined): Why['phase'] {
  if (node !== undefined) return nodePhase(node)
  return view.partial() === '' ? null : 'unknown'
}

/** Its deletion has not begun. */
export function isUndeleted(phase: Why['phase']): boolean {
  return phase === 'observed' || phase === 'suspect'
}

function asOwner(owner: KnownOwner): AsOwner {
  const phase = owner.type === 'found' ? owner.phase : null
  const known = { state: ownerStateOf(owner), phase, orphanedAt: orphanMarkOf(owner) }
  if (owner.type !== 'absent') return { ...known, proof: null }
  const { class: evidence, at, position } = owner.proof
  return { ...known, proof: { evidence, at, position } }
}

/**
 * Of one record: what was decided, before what was asked for because of it. All else stays in its
 * order.
 */
export function verdictsFirst<T extends Pick<History, 'change' | 'partition' | 'position'>>(
  history: readonly T[],
): T[] {
  const records = Map.groupBy(history, ({ partition, position }) => `${partition}-${position}`)
  return [...records.values()].flatMap((all) => [
    ...all.filter(({ change }) => change !== 'command'),
    ...all.filter(({ change }) => change === 'command'),
  ])
}
