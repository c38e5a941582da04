/**
 * What a rule says of one object: which of its terms hold, and when it is due.
 *
 * What must stay true: each term is decided by the code that decides about the object
 * (core/judge/rule.ts). What was not read is null, and never false.
 */
import { isBeside, isGone, namedBy } from '../../../../core/judge/beside.ts'
import { isMet } from '../../../../core/judge/condition.ts'
import { elsewhereOf, unsureOfElsewhere } from '../../../../core/judge/elsewhere.ts'
import { isBeyond, keepText } from '../../../../core/judge/keep.ts'
import { caseOf, dueWith, hasAnnotation, isMatch } from '../../../../core/judge/rule.ts'
import { isTrue, textOf } from '../../../../core/judge/term.ts'
import { unsureOfUse, useOf } from '../../../../core/judge/unused.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { ObjectMeta, Pair } from '../../../../core/model/object.ts'
import { BEYOND_READS, MOST_PROJECTED } from '../../../../core/model/rule/field-path.ts'
import {
  isReadFor,
  type Rule,
  type RuleCase,
  rulesOfKind,
  type Term,
} from '../../../../core/model/rule/rule.ts'
import type { RuleExplanation } from '../../api/answer-schema.ts'
import type { Unshaped } from '../../api/document.ts'
import { judgedOf } from '../answer/tree.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import {
  besideText,
  caseText,
  elsewhereText,
  exceptNamespacesText,
  fieldText,
  inNamespacesText,
  kindText,
  ownerText,
  pairText,
  TERMINATING,
  termText,
  unusedText,
} from './rule-text.ts'
import { lastUserOf } from './use-list.ts'

export type ExplainedObject = NonNullable<Unshaped<RuleExplanation>['object']>

type ExplainedTerm = ExplainedObject['terms'][number]

/** `sight`: of who asks, who may not see which objects use it. */
export function explained(view: View, rule: Rule, node: Node, sight: Sight): ExplainedObject {
  const { object } = node
  const unreadBecause = unreadText(view, node)
  const isRead = unreadBecause === ''
  const { group, kind, namespace, name, uid } = object
  const now = view.facts.state?.now ?? 0
  const isAbout = rule.match.kinds.some((each) => each.group === group && each.kind === kind)
  const dueness = isRead && isAbout ? dueWith(view.facts, rule, object) : null
  const terms = termsOf(rule, object, { isRead, now })
  const isOut = terms.some((each) => each.isTrue === false)
  const conditions = conditionsOf(view, rule, object, { isRead, sight })
  const isOpen = conditions.every((each) => each.isTrue === true)
  return {
    ...{ group, kind, namespace, name, uid, isRead, unreadBecause },
    isMatched: isRead ? isAbout && isMatch(rule.match, object, now) : isOut ? false : null,
    dueAt: dueness?.at ?? null,
    isDue: dueness !== null && dueness.at <= now && isMet(view.facts, rule, object),
    terms: [...terms, ...conditions],
    cases: rule.cases.map((each) => {
      const found = isRead ? caseOf(rule, each, object) : null
      return {
        what: caseText(each),
        terms: each.fields.map((term) => {
          const fields = object.projected?.fields ?? []
          return explainedTerm(fieldText(term), term, fields, isRead)
        }),
        dueAt: found?.at ?? null,
        // It has the conditions in it, as if they held.
        because:
          found === null ? unreadTimeText(each, object, isRead) : isOpen ? found.because : '',
      }
    }),
    ...judgedOf(node),
  }
}

/** What it says of other objects. */
function conditionsOf(
  view: View,
  rule: Rule,
  object: ObjectMeta,
  { isRead, sight }: { readonly isRead: boolean; readonly sight: Sight },
): readonly ExplainedTerm[] {
  const { facts } = view
  const { keep, absent, beside, annotate } = rule
  const terms: ExplainedTerm[] = []
  if (keep !== null) {
    const isTrue = isRead ? isBeyond(facts, rule, object) : null
    terms.push({ what: `beyond ${keepText(keep)}`, isTrue, value: null })
  }
  if (absent !== null) {
    const isTrue = isRead ? isGone(facts, rule, object) : null
    const value = isRead ? (namedBy(rule, object)?.name ?? null) : null
    terms.push({ what: `no ${absent.kind} has the name in ${absent.field}`, isTrue, value })
  }
  if (beside !== null) {
    const isTrue = isRead ? isBeside(facts, rule, object) : null
    const value = isRead ? (namedBy(rule, object)?.name ?? null) : null
    terms.push({ what: besideText(beside), isTrue, value })
  }
  const far = elsewhereOf(facts, rule, object)
  if (rule.elsewhere !== null && far !== null) {
    const isTrue = !isRead || far.type === 'unknown' ? null : far.type === 'deleted'
    const doubt = far.type === 'deleted' ? unsureOfElsewhere(facts, rule) : ''
    const value = isRead ? [far.because, doubt].filter((text) => text !== '').join('; ') : null
    terms.push({ what: elsewhereText(rule.elsewhere), isTrue, value })
  }
  if (annotate !== null) {
    const value = isRead ? (textOf(object.annotations, annotate.key) ?? null) : null
    const isTrue = isRead ? !hasAnnotation(rule, object) : null
    terms.push({ what: `without annotation ${pairText(annotate)}`, isTrue, value })
  }
  const use = useOf(facts, rule, object)
  if (use !== null) {
    const isTrue = !isRead || use.type === 'unread' ? null : use.type === 'unused'
    const doubt = unsureOfUse(facts, rule, object)
    const last = sight.isWhole ? lastUserOf(view, object) : ''
    const by = last === '' ? '' : `the last user that came or left: ${last}`
    const value = [use.because, by, doubt].filter((text) => text !== '').join('; ')
    terms.push({ what: unusedText(rule), isTrue, value })
  }
  return terms
}

/** Of a case that has no time: what was read in the place of one; empty where all is given. */
function unreadTimeText({ since, after }: RuleCase, object: ObjectMeta, isRead: boolean): string {
  if (!isRead) return ''
  const fields = object.projected?.fields ?? []
  const said = (what: string, value: string | undefined): string =>
    `${what} is ${value === undefined ? 'not set' : JSON.stringify(value)}`
  const read = [
    ...(after.type === 'seconds' ? [said(after.path, textOf(fields, after.path))] : []),
    ...(after.type === 'duration'
      ? [said(`annotation ${after.annotation}`, textOf(object.annotations, after.annotation))]
      : []),
    ...(since.type === 'field' ? [said(since.path, textOf(fields, since.path))] : []),
    ...(since.type === 'annotation'
      ? [said(`annotation ${since.key}`, textOf(object.annotations, since.key))]
      : []),
  ]
  return read.join(', ')
}

/** Empty where it was read with all that rules of its kind read. */
function unreadText({ facts }: View, { object }: Node): string {
  const ofKind = rulesOfKind(facts.rules, object)
  if (ofKind === null || isReadFor(object, ofKind)) return ''
  if (object.projected?.reads === BEYOND_READS) {
    return `its fields take more than ${MOST_PROJECTED} characters together, so no rule decides about it`
  }
  return 'what rules of its kind read was not read of it yet, so nothing is decided about it'
}

interface Reading {
  readonly isRead: boolean
  /** Log time. */
  readonly now: number
}

function termsOf(
  { match }: Rule,
  object: ObjectMeta,
  { isRead, now }: Reading,
): readonly ExplainedTerm[] {
  const { kinds, namespaces, exceptNamespaces, labels, annotations, expression } = match
  const isTerminating = object.deletedAt !== null
  const isKind = kinds.some(({ group, kind }) => group === object.group && kind === object.kind)
  const known = (what: string, is: boolean | null, value: string): ExplainedTerm => {
    return { what, isTrue: is, value }
  }
  const isOnly = (rest: Partial<Rule['match']>): boolean =>
    isMatch({ ...NOTHING, kinds, ...rest }, object, now)
  return [
    known(kinds.map(kindText).join(' or '), isKind, object.kind),
    ...(match.terminating ? [known(TERMINATING, isTerminating, isTerminating ? 'yes' : 'no')] : []),
    ...(match.owner === null
      ? []
      : [known(ownerText(match.owner), isOnly({ owner: match.owner }), ownersOf(object))]),
    ...(namespaces.length === 0
      ? []
      : [known(inNamespacesText(namespaces), isOnly({ namespaces }), object.namespace)]),
    ...(exceptNamespaces.length === 0
      ? []
      : [
          known(
            exceptNamespacesText(exceptNamespaces),
            isOnly({ exceptNamespaces }),
            object.namespace,
          ),
        ]),
    ...labels.map((term) => explainedTerm(termText('label', term), term, object.labels, isRead)),
    ...annotations.map((term) => {
      return explainedTerm(termText('annotation', term), term, object.annotations, isRead)
    }),
    ...(expression === null
      ? []
      : [
          {
            what: `where ${expression.source}`,
            isTrue: isRead ? isOnly({ expression }) : null,
            value: null,
          },
        ]),
  ]
}

/** An object may have thousands. */
const MOST_OWNERS = 5

function ownersOf({ ownerReferences }: ObjectMeta): string {
  const some = ownerReferences.slice(0, MOST_OWNERS).map(({ kind, name }) => `${kind} ${name}`)
  const more = ownerReferences.length - some.length
  return [...some, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

const NOTHING: Rule['match'] = {
  kinds: [],
  namespaces: [],
  exceptNamespaces: [],
  labels: [],
  annotations: [],
  expression: null,
  owner: null,
  terminating: false,
}

function explainedTerm(
  what: string,
  term: Term,
  pairs: readonly Pair[],
  isRead: boolean,
): ExplainedTerm {
  if (!isRead) return { what, isTrue: null, value: null }
  const value = textOf(pairs, term.key)
  return { what, isTrue: isTrue(term, value), value: value ?? null }
}
