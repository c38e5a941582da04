/**
 * A rule in words for people.
 *
 * What must stay true: made of the rule alone, and of all of it, so two rules that decide otherwise
 * do not read alike. A sentence is never read back.
 *
 * Not here: what a rule says of one object (rule-explanation.ts).
 */
import { keepText } from '../../../../core/judge/keep.ts'
import type { GroupKind } from '../../../../core/model/object.ts'
import type { RuleElsewhere } from '../../../../core/model/rule/elsewhere.ts'
import type {
  Rule,
  RuleAnnotation,
  RuleBeside,
  RuleCase,
  RuleKeep,
  RuleLimit,
  RuleMatch,
  Term,
  TimeSource,
  WaitSource,
} from '../../../../core/model/rule/rule.ts'
import { durationText } from '../../../../core/model/text.ts'

/** One sentence. */
export function ruleText(rule: Rule): string {
  const { match, cases, propagationPolicy, gracePeriodSeconds, forMs, warnMs, limit, keep } = rule
  const { absent, beside, elsewhere, failFirst, annotate } = rule
  const what = match.kinds.map(kindText).join(', ')
  const when = cases.map(caseText).join(', or ')
  const where = termsOf(match).map((each) => `, ${each}`)
  const kept = keep === null ? '' : `, but for ${keepText(keep)}${firstText(keep)}`
  const gone = absent === null ? '' : `, while no ${absent.kind} has the name in ${absent.field}`
  const other = beside === null ? '' : `, while ${besideText(beside)}`
  const far = elsewhere === null ? '' : `, once ${elsewhereText(elsewhere)}${exportText(elsewhere)}`
  const free = rule.unused === null ? '' : `, ${unusedText(rule)}`
  const throughout = forMs === 0 ? '' : `, once that was so for ${durationText(forMs)}`
  const how = propagationPolicy === 'Background' ? '' : `; deleted with ${HOW[propagationPolicy]}`
  const grace = gracePeriodSeconds === null ? '' : `; with ${graceText(gracePeriodSeconds)}`
  const failed = failFirst ? ', after it was set to Failed' : ''
  const marked = annotate === null ? '' : `; annotated with ${pairText(annotate)}, and not deleted`
  const warned = warnMs === 0 ? '' : `; an Event says so ${durationText(warnMs)} before`
  const others = [gone, other, far, free, kept].join('')
  return `${what}, ${when}${where.join('')}${others}${throughout}${how}${grace}${failed}${marked}${warned}${limitText(limit)}.`
}

/** Of an owner in another cluster. */
export function elsewhereText({ cluster, kinds, namespaces }: RuleElsewhere): string {
  const within = inNamespacesText(namespaces)
  return `the owner that they name in cluster ${cluster} (${anyOf(kinds.map(kindText))}, ${within}) was deleted`
}

/** Empty where it does not ask. */
export function unusedText({ unused }: Pick<Rule, 'unused'>): string {
  return unused === null ? '' : `once nothing has used them for ${durationText(unused.forMs)}`
}

/** What that cluster exports, and to which: it is part of the rule. */
function exportText({ exports }: RuleElsewhere): string {
  const all = exports.map(({ kinds, namespaces, to }) => {
    return `${anyOf(kinds.map(kindText))} ${inNamespacesText(namespaces)} to ${anyOf(to)}`
  })
  return all.length === 0 ? ', of which it exports none' : `, of which it exports ${all.join('; ')}`
}

const HOW = {
  Foreground: 'their dependents first',
  Orphan: 'their dependents left',
  Background: '',
}

/** An empty value is shown as one. */
export function pairText({ key, value }: RuleAnnotation): string {
  return `${key}=${JSON.stringify(value)}`
}

function firstText({ first }: RuleKeep): string {
  return first.length === 0 ? '' : ` (oldest are those where ${first.map(fieldText).join(' and ')})`
}

/** Of another object. */
export function besideText({ kind, field, when }: RuleBeside): string {
  return `the ${kind} with the name in ${field} has ${when.map(fieldText).join(' and ')}`
}

function graceText(seconds: number): string {
  return seconds === 0 ? 'no grace period' : `a grace period of ${seconds} s`
}

/** Jobs (batch). */
export function kindText({ group, kind }: GroupKind): string {
  return group === '' ? pluralOf(kind) : `${pluralOf(kind)} (${group})`
}

/** `Ingresses`, `NetworkPolicies`. */
function pluralOf(kind: string): string {
  if (/[^aeiou]y$/.test(kind)) return `${kind.slice(0, -1)}ies`
  return /(s|x|ch|sh)$/.test(kind) ? `${kind}es` : `${kind}s`
}

/** But for its kinds: all of them hold for an object that the rule is about. */
export function termsOf(match: RuleMatch): readonly string[] {
  const { namespaces, exceptNamespaces, labels, annotations, expression, owner, terminating } =
    match
  return [
    ...(terminating ? [TERMINATING] : []),
    ...(owner === null ? [] : [ownerText(owner)]),
    ...(namespaces.length === 0 ? [] : [inNamespacesText(namespaces)]),
    ...(exceptNamespaces.length === 0 ? [] : [exceptNamespacesText(exceptNamespaces)]),
    ...labels.map((term) => termText('label', term)),
    ...annotations.map((term) => termText('annotation', term)),
    ...(expression === null ? [] : [`where ${expression.source}`]),
  ]
}

export function ownerText(owner: readonly GroupKind[]): string {
  return owner.length === 0 ? 'that nothing owns' : `owned by ${anyOf(owner.map(kindText))}`
}

export const TERMINATING = 'that are being deleted already'

export function inNamespacesText(namespaces: readonly string[]): string {
  return namespaces.length === 1
    ? `in namespace ${namespaces[0]}`
    : `in namespaces ${anyOf(namespaces)}`
}

export function exceptNamespacesText(namespaces: readonly string[]): string {
  return `not in ${namespaces.length === 1 ? 'namespace' : 'namespaces'} ${anyOf(namespaces)}`
}

/** Of a label or an annotation. */
export function termText(what: 'label' | 'annotation', { key, operator, values }: Term): string {
  switch (operator) {
    case 'in':
      return `with ${what} ${key}=${anyOf(values)}`
    case 'not-in':
      return `without ${what} ${key}=${anyOf(values)}`
    case 'exists':
      return `with ${what} ${key}`
    case 'absent':
      return `without ${what} ${key}`
  }
}

/** Of a field. */
export function fieldText({ key, operator, values }: Term): string {
  switch (operator) {
    case 'in':
      return `${key} is ${anyOf(values)}`
    case 'not-in':
      return `${key} is not ${anyOf(values)}`
    case 'exists':
      return `${key} is set`
    case 'absent':
      return `${key} is not set`
  }
}

export function caseText({ fields, since, after }: RuleCase): string {
  const time = timeText(since, after)
  return fields.length === 0 ? time : `${time} where ${fields.map(fieldText).join(' and ')}`
}

function timeText(since: TimeSource, after: WaitSource): string {
  if (after.type === 'fixed' && after.ms === 0) {
    const isOwn = since.type === 'created' || since.type === 'deleted'
    return isOwn ? `as soon as ${sourceText(since)}` : `from ${sourceText(since)} on`
  }
  return `${waitText(after)} after ${sourceText(since)}`
}

function sourceText(since: TimeSource): string {
  switch (since.type) {
    case 'created':
      return 'they are created'
    case 'deleted':
      return 'their deletion was requested'
    case 'field':
      return since.path
    case 'annotation':
      return `the time in annotation ${since.key}`
  }
}

function waitText(after: WaitSource): string {
  switch (after.type) {
    case 'fixed':
      return durationText(after.ms)
    case 'seconds':
      return `as many seconds as ${after.path} has`
    case 'duration':
      return `the duration in annotation ${after.annotation}`
  }
}

function limitText(limit: RuleLimit | null): string {
  if (limit === null) return ''
  const share = limit.percent === 0 ? '' : `, or ${limit.percent} % of the kind,`
  return `; all of it is held where more than ${limit.perHour}${share} become due within an hour`
}

function anyOf(values: readonly string[]): string {
  return values.join(' or ')
}
