/**
 * The oracle of rules: when an object is due by a rule, written once more from what rules promise.
 *
 * What must stay true: it shares no code with the core, and reads times and numbers only in the
 * forms that tests write.
 *
 * Not here: what holds an object, and which rule decides where several match.
 */
import type { Rule, Term, TimeSource, WaitSource } from '../../core/model/rule/rule.ts'

/** An object as a rule sees it, wherever it is from. */
export interface RuledObject {
  readonly group: string
  readonly kind: string
  /** Empty for none. */
  readonly namespace: string
  readonly createdMs: number | null
  /** When its deletion was requested; null while it lives. */
  readonly deletedMs: number | null
  /** Null for none. */
  readonly graceSeconds: number | null
  readonly hasFinalizers: boolean
  /** `KIND.GROUP` of each reference. */
  readonly ownerKinds: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Undefined where it has no such field. */
  field(path: string): string | undefined
}

/** The earliest time at which the rule has it deleted; undefined for never, as it is. */
export function dueMsOf(rule: Rule, object: RuledObject): number | undefined {
  const { match, cases } = rule
  const { group, kind, namespace, labels, annotations } = object
  if (match.terminating !== (object.deletedMs !== null) || isStuck(rule, object)) return undefined
  if (rule.annotate !== null && annotations[rule.annotate.key] === rule.annotate.value) return
  if (!match.kinds.some((each) => each.group === group && each.kind === kind)) return undefined
  if (!isOwnedAs(match.owner, object)) return undefined
  const isIn = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => asRegExp(pattern).test(namespace))
  if (match.namespaces.length > 0 && !isIn(match.namespaces)) return undefined
  if (isIn(match.exceptNamespaces) || match.expression !== null) return undefined
  if (!match.labels.every((term) => holds(term, labels[term.key]))) return undefined
  if (!match.annotations.every((term) => holds(term, annotations[term.key]))) return undefined
  const times = cases
    .filter(({ fields }) => fields.every((term) => holds(term, object.field(term.key))))
    .map(({ since, after }) => sinceMs(since, object) + afterMs(after, object))
    .filter((ms) => !Number.isNaN(ms))
  return times.length === 0 ? undefined : Math.min(...times)
}

function isOwnedAs(owner: Rule['match']['owner'], { ownerKinds }: RuledObject): boolean {
  if (owner === null) return true
  const wanted = owner.map(({ group, kind }) => `${kind}.${group}`)
  return wanted.length === 0
    ? ownerKinds.length === 0
    : ownerKinds.some((each) => wanted.includes(each))
}

/** Nothing but its finalizers keeps it. */
function isStuck({ match, gracePeriodSeconds, failFirst }: Rule, object: RuledObject): boolean {
  const isOver = ['Succeeded', 'Failed'].includes(object.field('status.phase') ?? '')
  if (failFirst && !isOver) return false
  const isShorter = (gracePeriodSeconds ?? 0) < (object.graceSeconds ?? 0)
  return match.terminating && object.hasFinalizers && !isShorter
}

function asRegExp(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[^\w]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}

function holds({ operator, values }: Term, value: string | undefined): boolean {
  const isOneOf = value !== undefined && values.includes(value)
  return {
    in: isOneOf,
    'not-in': !isOneOf,
    exists: value !== undefined,
    absent: value === undefined,
  }[operator]
}

/** NaN for a text that is no time. */
function sinceMs(since: TimeSource, object: RuledObject): number {
  if (since.type === 'created') return object.createdMs ?? Number.NaN
  if (since.type === 'deleted') return object.deletedMs ?? Number.NaN
  const text = since.type === 'field' ? object.field(since.path) : object.annotations[since.key]
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function afterMs(after: WaitSource, object: RuledObject): number {
  if (after.type === 'fixed') return after.ms
  if (after.type === 'seconds') {
    const text = object.field(after.path) ?? ''
    return /^\d+$/.test(text) ? Number(text) * 1_000 : Number.NaN
  }
  const [, count, unit = ''] =
    /^(\d+)([smhd])$/.exec(object.annotations[after.annotation] ?? '') ?? []
  return Number(count) * (UNITS[unit] ?? Number.NaN)
}
