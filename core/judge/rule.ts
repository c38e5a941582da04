/**
 * Which rule has an object deleted or annotated, since when, and when one will.
 *
 * What must stay true: decided from the object, the policy and log time alone. Unknown is never
 * absent: an object that was not read with all that the rules of its kind read is not decided
 * about, and a time or a number that cannot be read makes nothing due.
 *
 * Not here: whether it may be carried out now (admit/rule-hold.ts), what rules are
 * (model/rule/rule.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Node } from '../model/node.ts'
import type { GroupKind, ObjectMeta } from '../model/object.ts'
import { deletionAskedAt } from '../model/object.ts'
import { kindOfReference } from '../model/reference.ts'
import type {
  EnforcedRule,
  Rule,
  RuleCase,
  RuleExpression,
  RuleMatch,
  TimeSource,
  WaitSource,
} from '../model/rule/rule.ts'
import {
  boundTo,
  isEnforced,
  isOfPolicy,
  isReadFor,
  POD_PHASE,
  rulesOfKind,
} from '../model/rule/rule.ts'
import { durationOf, durationText, timeOf, timeText } from '../model/text.ts'
import { namedBy } from './beside.ts'
import { isMet } from './condition.ts'
import { goneElsewhereText } from './elsewhere.ts'
import { readTree } from './expression/read-tree.ts'
import type { Expression } from './expression/tree.ts'
import { costOf } from './expression/tree.ts'
import { type ExpressionSubject, evaluate, evaluation } from './expression.ts'
import { keepText } from './keep.ts'
import { isLike } from './like.ts'
import { areTrue, textOf } from './term.ts'
import { notDueBefore, useOf } from './unused.ts'

/** What a rule says of an object. */
export interface Dueness {
  readonly rule: Rule
  /** Log time at which it is due, or has been since. */
  readonly at: number
  readonly because: string
}

export interface RuleJudgement {
  /** The one that decides: of those that are due the first that `isBefore` the others. */
  readonly due: Dueness | null
  /** Log time at which another one is due; null for never, as the object is now. */
  readonly nextAt: number | null
}

/**
 * Null where no rule is about it, or it was read without what they read. About an object that is
 * being deleted only those decide that are about such objects.
 */
export function judgeByRules(facts: ClusterFacts, node: Node): RuleJudgement | null {
  const ofKind = rulesOfKind(facts.rules, node.object)
  if (ofKind === null || !isReadFor(node.object, ofKind)) return null
  const isTerminating = node.object.deletedAt !== null
  const now = facts.state?.now ?? 0
  const { enforced } = facts
  let due: Dueness | null = null
  let nextAt: number | null = null
  for (const rule of ofKind.rules) {
    if (rule.match.terminating !== isTerminating) continue
    const found = dueWith(facts, rule, node.object)
    const unreadAt = found === null ? askedAt(facts, rule, node.object) : null
    if (unreadAt !== null) nextAt = Math.min(nextAt ?? unreadAt, unreadAt)
    const laterAt = againAt(rule, node.object, now)
    if (laterAt !== null) nextAt = Math.min(nextAt ?? laterAt, laterAt)
    if (found === null) continue
    // What is said ahead is said of what is to be deleted, which then waits.
    const at = found.at - rule.warnMs
    if (at > now) nextAt = Math.min(nextAt ?? at, at)
    else if (!isMet(facts, rule, node.object)) continue
    else if (due === null || isBefore(found, due, enforced)) due = found
  }
  return { due, nextAt }
}

/**
 * One that is enforced; one of the config before a policy of the cluster, and that before one of a
 * namespace, since their accounts may lack the right to delete it, and would shield it; one that
 * deletes; and of two the one that deletes first. So among these one that becomes due later takes
 * over only from one that still waits: never from a command, and no wait begins anew.
 */
function isBefore(a: Dueness, b: Dueness, orders: readonly EnforcedRule[]): boolean {
  const [isDone, isOtherDone] = [isEnforced(a.rule, orders), isEnforced(b.rule, orders)]
  if (isDone !== isOtherDone) return isDone
  const [source, otherSource] = [sourceOf(a.rule), sourceOf(b.rule)]
  if (source !== otherSource) return source < otherSource
  const [isDeleted, isOtherDeleted] = [a.rule.annotate === null, b.rule.annotate === null]
  if (isDeleted !== isOtherDeleted) return isDeleted
  return deletedAt(a) < deletedAt(b)
}

/** 0: of the config; 1: a policy of the whole cluster; 2: of a namespace. */
function sourceOf(rule: Rule): number {
  if (boundTo(rule) !== '') return 2
  return isOfPolicy(rule) ? 1 : 0
}

function deletedAt({ rule, at }: Dueness): number {
  return at - rule.warnMs + waitMsOf(rule)
}

/** With a limit all that is due together is counted for so long before the first is deleted. */
const RULE_COUNT_MS = 60_000

/** A deletion in another cluster is acted on so late that people can notice a mistake. */
export const LEAST_ELSEWHERE_MS = 3_600_000

/** How long an object has to be due before it is deleted. */
export function waitMsOf({ forMs, warnMs, limit, elsewhere }: Rule): number {
  const least = elsewhere === null ? 0 : LEAST_ELSEWHERE_MS
  return Math.max(forMs, warnMs, limit === null ? 0 : RULE_COUNT_MS, least)
}

/**
 * Null where the rule does not match, or no case of it has a time. `now`: log time, which its
 * expression may read.
 */
export function duenessOf(rule: Rule, object: ObjectMeta, now: number): Dueness | null {
  const only = boundTo(rule)
  if (only !== '' && only !== object.namespace) return null
  if (hasAnnotation(rule, object)) return null
  if (!isMatch(rule.match, object, now) || isFutile(rule, object)) return null
  let first: Dueness | null = null
  for (const each of rule.cases) {
    const found = caseOf(rule, each, object)
    if (found !== null && (first === null || found.at < first.at)) first = found
  }
  return first
}

/** The same, with what takes the users of the object. */
export function dueWith(facts: ClusterFacts, rule: Rule, object: ObjectMeta): Dueness | null {
  const found = duenessOf(rule, object, facts.state?.now ?? 0)
  if (found === null || rule.unused === null) return found
  const use = useOf(facts, rule, object)
  if (use?.type !== 'unused') return null
  const { forMs } = rule.unused
  const at = Math.max(found.at, Math.min(use.since + forMs, NEVER_MS))
  const because = `rule ${rule.name}: due after ${durationText(forMs)}, ${use.because}`
  return { rule, at, because }
}

/** When it has to be asked again what uses it; null where that is known. */
function askedAt(facts: ClusterFacts, rule: Rule, object: ObjectMeta): number | null {
  if (rule.unused === null) return null
  const use = useOf(facts, rule, object)
  return use === null ? null : notDueBefore(facts, rule, object, use)
}

/**
 * A further DELETE of an object that is being deleted can only shorten its grace period: where that
 * is as short already, its finalizers hold it, and a DELETE would be sent for ever. A Pod may still
 * have to be Failed, for a controller that takes its finalizer off then.
 */
function isFutile({ match, gracePeriodSeconds, failFirst }: Rule, object: ObjectMeta): boolean {
  if (!match.terminating || object.finalizers.length === 0) return false
  if (failFirst && !hasEnded(object)) return false
  return (object.graceSeconds ?? 0) <= (gracePeriodSeconds ?? 0)
}

/** What it has a rule do is done; any other value is none of it. */
export function hasAnnotation(
  { annotate }: Pick<Rule, 'annotate'>,
  { annotations }: Pick<ObjectMeta, 'annotations'>,
): boolean {
  return annotate !== null && textOf(annotations, annotate.key) === annotate.value
}

function hasEnded({ projected }: ObjectMeta): boolean {
  const phase = textOf(projected?.fields ?? [], POD_PHASE)
  return phase === 'Succeeded' || phase === 'Failed'
}

/** When its expression may say something else as time passes; null for never. */
function againAt({ match }: Rule, object: ObjectMeta, now: number): number | null {
  const { expression } = match
  if (expression === null || !isSelected(match, object)) return null
  const { tree, readsTime } = parsed(expression)
  if (tree === undefined || !readsTime) return null
  const { until } = evaluation(tree, subjectOf(object), now)
  return until === null ? null : Math.min(until, NEVER_MS)
}

/** So many steps of expressions cost as much as judging a reference. */
const STEPS_OF_A_REFERENCE = 32

/** What judging an object by rules costs, in references. */
export function costOfRules(facts: ClusterFacts, object: ObjectMeta): number {
  const ofKind = rulesOfKind(facts.rules, object)
  if (ofKind === null) return 0
  let steps = 0
  for (const { match } of ofKind.rules) {
    if (match.expression !== null) steps += parsed(match.expression).steps
  }
  return Math.ceil(steps / STEPS_OF_A_REFERENCE)
}

/** All of it holds; `now` is that of its expression. */
export function isMatch(match: RuleMatch, object: ObjectMeta, now: number): boolean {
  return isSelected(match, object) && holds(match, object, now)
}

/** By all but its expression. */
function isSelected(match: RuleMatch, object: ObjectMeta): boolean {
  const { labels, annotations } = object
  const { namespaces, exceptNamespaces, terminating } = match
  if (terminating && object.deletedAt === null) return false
  if (match.owner !== null && !isOwnedBy(object, match.owner)) return false
  if (namespaces.length > 0 && !isWithin(object, namespaces)) return false
  if (isWithin(object, exceptNamespaces)) return false
  return areTrue(match.labels, labels) && areTrue(match.annotations, annotations)
}

/** By its own references. Where such an owner is not known, no rule is asked at all. */
function isOwnedBy({ ownerReferences }: ObjectMeta, kinds: readonly GroupKind[]): boolean {
  if (kinds.length === 0) return ownerReferences.length === 0
  return ownerReferences.some((reference) => {
    const { group, kind } = kindOfReference(reference)
    return kinds.some((each) => each.group === group && each.kind === kind)
  })
}

/** A Namespace is in itself: to except one is to keep it, and what is in it. */
function isWithin(object: ObjectMeta, patterns: readonly string[]): boolean {
  const { group, kind, name, namespace } = object
  const within = kind === 'Namespace' && group === '' ? name : namespace
  return patterns.some((each) => isLike(within, each))
}

/** An error is never true, nor is a tree that this version cannot read. */
function holds({ expression }: RuleMatch, object: ObjectMeta, now: number): boolean {
  if (expression === null) return true
  const { tree } = parsed(expression)
  if (tree === undefined) return false
  return evaluate(tree, subjectOf(object), now) === true
}

function subjectOf(object: ObjectMeta): ExpressionSubject {
  const pairs = object.projected?.fields ?? []
  return { object, fields: new Map(pairs.map(({ key, value }) => [key, value])) }
}

interface Parsed {
  readonly tree: Expression | undefined
  readonly steps: number
  readonly readsTime: boolean
}

function parsed(expression: RuleExpression): Parsed {
  const known = PARSED.get(expression)
  if (known !== undefined) return known
  const tree = readTree(expression.tree)
  const steps = tree === undefined ? 0 : costOf(tree)
  const made = { tree, steps, readsTime: expression.tree.includes('{"op":"now"}') }
  PARSED.set(expression, made)
  return made
}

const PARSED = new WeakMap<RuleExpression, Parsed>()

/** Whatever the rest of its rule says. */
export function caseOf(
  rule: Rule,
  { fields, since, after }: RuleCase,
  object: ObjectMeta,
): Dueness | null {
  if (!areTrue(fields, object.projected?.fields ?? [])) return null
  const from = startOf(since, object)
  const wait = waitOf(after, object)
  if (from === null || wait === null) return null
  const at = Math.min(from.time + wait.ms, NEVER_MS)
  const time = `${wait.text}${from.text} (${timeText(from.time)})`
  const because = `rule ${rule.name}: due ${time}${conditionText(rule, object)}`
  return { rule, at, because }
}

function conditionText(rule: Rule, object: ObjectMeta): string {
  const kept = rule.keep === null ? '' : `, beyond ${keepText(rule.keep)}`
  const owner = goneElsewhereText(rule, object)
  const named = namedBy(rule, object)
  if (named === null) return `${kept}${owner}`
  const what = rule.beside === null ? 'is not there' : 'is as the rule says'
  return `${kept}, and ${named.kind} "${named.name}" ${what}${owner}`
}

/** The last time that a key of a timer can name: beyond the year 30,000. */
const NEVER_MS = 999_999_999_999_999

interface Start {
  readonly time: number
  readonly text: string
}

function startOf(since: TimeSource, object: ObjectMeta): Start | null {
  switch (since.type) {
    case 'created':
      return object.createdAt === null ? null : { time: object.createdAt, text: 'it was created' }
    case 'deleted': {
      const time = deletionAskedAt(object)
      return time === null ? null : { time, text: 'the request to delete it' }
    }
    case 'field':
      return startIn(since.path, textOf(object.projected?.fields ?? [], since.path))
    case 'annotation':
      return startIn(`annotation ${since.key}`, textOf(object.annotations, since.key))
  }
}

function startIn(text: string, value: string | undefined): Start | null {
  const time = value === undefined ? null : timeOf(value)
  return time === null ? null : { time, text }
}

interface Wait {
  readonly ms: number
  readonly text: string
}

function waitOf(after: WaitSource, object: ObjectMeta): Wait | null {
  switch (after.type) {
    case 'fixed':
      return { ms: after.ms, text: after.ms === 0 ? 'since ' : `${durationText(after.ms)} after ` }
    case 'seconds': {
      const value = textOf(object.projected?.fields ?? [], after.path) ?? ''
      if (!/^\d{1,10}$/.test(value)) return null
      return { ms: Number(value) * 1_000, text: `${after.path} (${value} s) after ` }
    }
    case 'duration': {
      const value = textOf(object.annotations, after.annotation)
      const ms = value === undefined ? null : durationOf(value)
      return ms === null ? null : { ms, text: `annotation ${after.annotation} (${value}) after ` }
    }
  }
}
