/**
 * Bulk deletions by one act of a user: a namespace with all in it, a CustomResourceDefinition with
 * all objects of its kind, a kind that becomes absent from discovery.
 *
 * What must stay true: an object deleted in that time, shortly before or after, was deleted with
 * it; one that is created again within a moment changes nothing about that. Lists are bounded: when
 * an entry is evicted, every time before it counts as affected, so eviction can only make a
 * decision more conservative.
 *
 * Not here: kinds that discovery misses (sync.ts), the effect on a verdict or a budget (verdict.ts,
 * price.ts, burst.ts).
 */
import { judgeAll, setTimer } from '../graph/agenda.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import type { Step } from '../graph/outcome.ts'
import {
  DEFINITION_LATE_MS,
  ENDED_MEMORY_MS,
  KIND_CAUSE_MS,
  KINDS_GONE_REMEMBERED,
} from '../model/constant.ts'
import type { GroupKind, ObjectMeta } from '../model/object.ts'
import type { DefinitionSpan } from '../model/state.ts'

/** An object is seen, or leaves (null). */
export function noteNamespace(
  step: Step,
  before: ObjectMeta | null,
  after: ObjectMeta | null,
): void {
  const object = after ?? before
  if (object?.kind !== 'Namespace' || object.group !== '') return
  const ends = after !== null && after.deletedAt !== null
  const ended = before !== null && before.deletedAt !== null
  if (ends === ended) return
  if (ends) {
    if (step.graph.policy.policy.budgets !== null) step.graph.setEnding(object.name, true)
    return
  }
  if (!step.graph.isEnding(object.name)) return
  const now = step.graph.state?.now ?? 0
  const timer = { type: 'ending', namespace: object.name } as const
  setTimer(step, now + ENDED_MEMORY_MS, timer)
}

export function endingDue({ graph }: Step, namespace: string): void {
  if (graph.isEnding(namespace)) graph.setEnding(namespace, false)
}

/** Whether objects of it define other kinds. */
export function isDefinition({ kind, group }: GroupKind): boolean {
  return kind === 'CustomResourceDefinition' && group === 'apiextensions.k8s.io'
}

/**
 * An object is seen, or leaves (null): records when the deletion of a CustomResourceDefinition
 * begins or ends.
 */
export function noteDefinition(
  step: Step,
  before: ObjectMeta | null,
  after: ObjectMeta | null,
): void {
  const object = after ?? before
  if (object === null || !isDefinition(object)) return
  const { name } = object
  const isBegun = after !== null && after.deletedAt !== null && (before?.deletedAt ?? null) === null
  // A restore brought it back as it was before.
  const isUndone = before?.deletedAt != null && after?.deletedAt === null
  if (!isBegun && !isUndone && after !== null) return
  const open = step.graph.definitionSpans(name).find(({ until }) => until === null)
  if (open === undefined && (isUndone || step.graph.policy.policy.preset !== 'guarded')) return
  const { timestamp } = step.at
  const since = open?.since ?? timestamp
  const until = isBegun ? null : timestamp
  const others = step.graph.definitionSpans(name).filter((span) => span !== open)
  const kept = fitted([...others, { since, until }])
  step.graph.setDefinitionSpans(name, kept)
  // An object that waits because an owner of the kind was deleted may now wait for an approval.
  if (open === undefined) judgeAll(step)
}

/**
 * Beyond so many the first two closed spans become one, and deletions between them count as caused
 * by the CustomResourceDefinition as well: if it is unclear a person has to approve.
 */
function fitted(spans: readonly DefinitionSpan[]): readonly DefinitionSpan[] {
  if (spans.length <= KINDS_GONE_REMEMBERED) return spans
  const [first, second] = spans.filter(({ until }) => until !== null)
  if (first === undefined || second === undefined) return spans.slice(-KINDS_GONE_REMEMBERED)
  const since = Math.min(first.since, second.since)
  const until = Math.max(first.until ?? 0, second.until ?? 0)
  return [{ since, until }, ...spans.filter((span) => span !== first && span !== second)]
}

/**
 * Whether an object of this resource that was deleted at that time was deleted with its
 * CustomResourceDefinition.
 */
export function wentWithDefinition(
  facts: ClusterFacts,
  { resource, group }: { readonly resource: string; readonly group: string },
  at: number,
): boolean {
  // A group without a dot is built into the server: its kinds have no CustomResourceDefinition.
  if (!group.includes('.')) return false
  return facts
    .definitionSpans(`${resource}.${group}`)
    .some(
      ({ since, until }) =>
        at >= since - KIND_CAUSE_MS && (until === null || at <= until + DEFINITION_LATE_MS),
    )
}

/**
 * Whether a CustomResourceDefinition of this resource was deleted, or being deleted, in that time,
 * both ends included.
 */
export function wasRedefined(
  facts: ClusterFacts,
  { resource, group }: { readonly resource: string; readonly group: string },
  from: number,
  to: number,
): boolean {
  return facts
    .definitionSpans(`${resource}.${group}`)
    .some(({ since, until }) => since <= to && (until === null || from <= until))
}

/**
 * In order of time. Of a full list the second is forgotten: between the first and the next the kind
 * may have been absent at any time.
 */
export function withGone(goneAt: readonly number[], at: number): readonly number[] {
  if (goneAt.length < KINDS_GONE_REMEMBERED) return [...goneAt, at]
  const [first = at, , ...later] = goneAt
  return [first, ...later, at]
}

/** Whether the kind may have been absent in that time, both ends included. */
export function mayHaveGone(goneAt: readonly number[], from: number, to: number): boolean {
  const [first = 0, second = 0] = goneAt
  const isFull = goneAt.length >= KINDS_GONE_REMEMBERED
  if (isFull && from <= second && first <= to) return true
  return goneAt.some((gone) => from <= gone && gone <= to)
}
