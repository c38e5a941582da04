/**
 * A rule as answers have it. What must stay true: made of the policy and of the orders, and of
 * nothing else, so that it reads the same whichever process answers.
 */
import type { PropagationPolicy } from '../../../../core/model/object.ts'
import { reportOf } from '../../../../core/model/rule/report.ts'
import {
  digestOf,
  type EnforcedRule,
  orderOf,
  type Rule,
  readsOf,
} from '../../../../core/model/rule/rule.ts'
import type { RuleExplanation } from '../../api/answer-schema.ts'
import type { Unshaped } from '../../api/document.ts'
import type { RuleDocument } from '../../api/rule-schema.ts'
import { caseText, fieldText, kindText, ruleText, termsOf } from './rule-text.ts'

export type RuleAnswer = Unshaped<RuleDocument>

export function ruleAnswer(rule: Rule, enforced: readonly EnforcedRule[]): RuleAnswer {
  const order = orderOf(rule, enforced)
  const report = reportOf(rule)
  return {
    name: rule.name,
    kinds: rule.match.kinds.map(({ group, kind }) => ({ group, kind })),
    description: ruleText(rule),
    mode: report !== '' ? 'report' : order === undefined ? 'dry-run' : 'enforced',
    report,
    enforcedBy: order === undefined ? null : { who: order.who, why: order.why, since: order.at },
    ruleDigest: digestOf(rule),
    limit: rule.limit,
    annotate: rule.annotate,
  }
}

export type RuleWhole = Pick<
  Unshaped<RuleExplanation>,
  'match' | 'cases' | 'propagationPolicy' | 'forMs' | 'reads'
>

/** `all`: the rules of its policy, by which objects of its kinds are read. */
export function ruleWhole(rule: Rule, all: readonly Rule[]): RuleWhole {
  const { match, cases, propagationPolicy, forMs } = rule
  const isAbout = (group: string, kind: string): boolean =>
    match.kinds.some((each) => each.group === group && each.kind === kind)
  return {
    match: [match.kinds.map(kindText).join(' or '), ...termsOf(match)],
    cases: cases.map((each) => ({ what: caseText(each), where: each.fields.map(fieldText) })),
    propagationPolicy: POLICIES[propagationPolicy],
    forMs,
    reads: readsOf(all)
      .filter(({ group, kind }) => isAbout(group, kind))
      .map(({ group, kind, labels, annotations, fields }) => {
        return { group, kind, labels, annotations, fields }
      }),
  }
}

const POLICIES: Readonly<Record<PropagationPolicy, 'background' | 'foreground' | 'orphan'>> = {
  Background: 'background',
  Foreground: 'foreground',
  Orphan: 'orphan',
}
