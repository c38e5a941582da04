/**
 * A rule with its keys in the order in which it comes back from the log.
 *
 * What must stay true: the digest of a rule (rule.ts) is of its JSON, so one that was just compiled
 * has the digest that the fold computes only if its keys have the order of schemas/rule.avsc.
 */
import type { GroupKind } from './group-kind.ts'
import type { Rule, RuleCase, RuleExpression, Term, TimeSource, WaitSource } from './rule.ts'

export function orderedRule({ match, cases, ...rest }: Rule): Rule {
  const { name, propagationPolicy, forMs, warnMs, limit } = rest
  const { kinds, namespaces, exceptNamespaces, labels, annotations, expression } = match
  return {
    name,
    match: {
      kinds: kinds.map(orderedKind),
      namespaces,
      exceptNamespaces,
      labels: labels.map(orderedTerm),
      annotations: annotations.map(orderedTerm),
      expression: expression && orderedExpression(expression),
    },
    cases: cases.map(orderedCase),
    propagationPolicy,
    forMs,
    warnMs,
    limit: limit && { perHour: limit.perHour, percent: limit.percent },
  }
}

function orderedKind({ group, kind }: GroupKind): GroupKind {
  return { group, kind }
}

function orderedTerm({ key, operator, values }: Term): Term {
  return { key, operator, values }
}

function orderedExpression(expression: RuleExpression): RuleExpression {
  const { source, tree, fields, labels, annotations } = expression
  return { source, tree, fields, labels, annotations }
}

function orderedCase({ fields, since, after }: RuleCase): RuleCase {
  return { fields: fields.map(orderedTerm), since: orderedSince(since), after: orderedWait(after) }
}

function orderedSince(since: TimeSource): TimeSource {
  switch (since.type) {
    case 'created':
      return { type: 'created' }
    case 'field':
      return { type: 'field', path: since.path }
    case 'annotation':
      return { type: 'annotation', key: since.key }
  }
}

function orderedWait(after: WaitSource): WaitSource {
  switch (after.type) {
    case 'fixed':
      return { type: 'fixed', ms: after.ms }
    case 'seconds':
      return { type: 'seconds', path: after.path }
    case 'duration':
      return { type: 'duration', annotation: after.annotation }
  }
}
