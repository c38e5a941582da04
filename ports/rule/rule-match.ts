/**
 * Which objects a rule is about: `match` of a rule, and of a built-in rule together with what the
 * config adds to it.
 *
 * What must stay true: a config can only narrow what a built-in rule is about, but for namespaces
 * that the rule leaves out by default.
 */
import { readPath } from '../../core/model/rule/field-path.ts'
import type { GroupKind } from '../../core/model/rule/group-kind.ts'
import type { RuleExpression, RuleMatch } from '../../core/model/rule/rule.ts'
import type { CompileExpression } from '../expression.ts'
import { labelTerms } from './label-selector.ts'
import { kindsIn, ruleKinds } from './rule-kind.ts'
import { annotationTerms, checkAnnotation, type Mapping, mapping } from './rule-term.ts'
import { bad, flag, texts } from './setting.ts'

const KEYS = [
  ...['kinds', 'namespaces', 'exceptNamespaces', 'labels', 'annotations', 'expression'],
  ...['owner', 'terminating'],
] as const
const MOST_NAMESPACES = 200
/** A name, with `*` for any text. */
const NAMESPACE = /^(?=.{1,63}$)[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$/
const MOST_EXPRESSION = 10_000

export function ruleMatch(value: unknown, from: string, compile: CompileExpression): RuleMatch {
  if (value === undefined) throw bad(`${from}: is missing; it takes kinds at least`)
  const fields = mapping(value, KEYS, from)
  const { labels, annotations, expression } = fields
  return {
    kinds: ruleKinds(fields['kinds'], `${from}.kinds`),
    namespaces: namespacesOf(fields, 'namespaces', from),
    exceptNamespaces: namespacesOf(fields, 'exceptNamespaces', from),
    labels: labels === undefined ? [] : labelTerms(selector(labels, from), `${from}.labels`),
    annotations: annotationTerms(annotations, `${from}.annotations`),
    expression:
      expression === undefined ? null : expressionOf(expression, `${from}.expression`, compile),
    owner: ownerOf(fields['owner'], `${from}.owner`),
    terminating: flagOf(fields['terminating'], `${from}.terminating`),
  }
}

/** By the kinds of its own references: what owns its owners is not asked. */
function ownerOf(value: unknown, from: string): readonly GroupKind[] | null {
  if (value === undefined) return null
  if (value === 'none') return []
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw bad(`${from}: expected none or {kinds: [Job.batch]}`)
  }
  return kindsIn(mapping(value, ['kinds'], from)['kinds'], `${from}.kinds`)
}

function flagOf(value: unknown, from: string): boolean {
  return flag({ key: 'terminating', value, from }) ?? false
}

export function namespacesOf(
  fields: Mapping,
  key: 'namespaces' | 'exceptNamespaces',
  from: string,
): readonly string[] {
  const value = fields[key]
  const where = `${from}.${key}`
  const all = texts({ key, value, from: where })
  if (value !== undefined && all.length === 0) throw bad(`${where}: is empty; leave it out for all`)
  if (all.length > MOST_NAMESPACES) {
    throw bad(`${where}: ${all.length} entries, and ${MOST_NAMESPACES} are the most`)
  }
  const wrong = all.find((each) => !NAMESPACE.test(each))
  if (wrong === undefined) return all
  const shown = JSON.stringify(wrong.slice(0, 200))
  throw bad(`${where}: ${shown} is no name of a namespace, and no pattern such as preview-*`)
}

function selector(value: unknown, from: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw bad(`${from}.labels: expected a label selector such as 'preview=true,!keep'`)
}

function expressionOf(value: unknown, from: string, compile: CompileExpression): RuleExpression {
  if (typeof value !== 'string' || value === '' || value.length > MOST_EXPRESSION) {
    throw bad(`${from}: expected an expression of at most ${MOST_EXPRESSION} characters`)
  }
  const made = compile(value)
  if (made.type === 'Refused') throw bad(`${from}: ${made.reason}`)
  const { annotations, fields } = made.expression
  for (const key of annotations) checkAnnotation(key, from)
  const wrong = fields.find((path) => readPath(path) === undefined)
  if (wrong === undefined) return made.expression
  throw bad(`${from}: ${wrong.slice(0, 200)} is no path of a field that can be read`)
}

/** Of a built-in rule: its own, and what the config says. */
export function narrowed(own: Mapping, value: unknown, from: string): Mapping {
  if (value === undefined) return own
  const given = mapping(value, KEYS, from)
  for (const key of ['kinds', 'namespaces', 'terminating'] as const) {
    if (own[key] !== undefined && given[key] !== undefined) {
      throw bad(`${from}.${key}: are fixed in this built-in rule; leave them out`)
    }
  }
  const labels = [own['labels'], given['labels']].filter((each) => each !== undefined)
  return {
    ...own,
    ...given,
    ...(labels.length === 2 ? { labels: labels.join(',') } : {}),
    ...annotationsOf(own['annotations'], given['annotations'], from),
  }
}

function annotationsOf(own: unknown, given: unknown, from: string): Mapping {
  if (own === undefined || given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return {}
  const twice = Object.keys(own as Mapping).find((key) => Object.hasOwn(given, key))
  if (twice !== undefined) {
    throw bad(`${from}.annotations.${twice}: is read by this built-in rule itself; leave it out`)
  }
  return { annotations: { ...given, ...(own as Mapping) } }
}
