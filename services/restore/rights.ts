/**
 * Which rights an object hands out, in words: those of RBAC, and whom it names beside them: a
 * person decides by them whether it is to come back.
 *
 * What must stay true: what is not named is counted; bodies are what users wrote, so any field may
 * be missing or of another type.
 */
import { isObject, type JsonObject } from '../../runtime/exact-json.ts'

/** Names of one list, and rules. */
const MOST_NAMED = 5

/** Empty where it hands out nothing. */
export function rightsIn(body: JsonObject): readonly string[] {
  const rules = objectsIn(body['rules'])
  const role = isObject(body['roleRef']) ? body['roleRef'] : undefined
  const texts = rules.slice(0, MOST_NAMED).map(ruleText)
  if (rules.length > MOST_NAMED) texts.push(`and ${rules.length - MOST_NAMED} more rules`)
  if (isObject(body['aggregationRule']))
    texts.push('has the rules of other ClusterRoles, by labels')
  const users = [
    ...textsIn(body['users']).map((name) => `User ${name}`),
    ...textsIn(body['groups']).map((name) => `Group ${name}`),
  ]
  if (users.length > 0) texts.push(`gives what it allows to ${listed(users)}`)
  if (role === undefined) return texts
  const subjects = listed(objectsIn(body['subjects']).map(subjectText))
  return [...texts, `gives ${textIn(role, 'kind')}/${textIn(role, 'name')} to ${subjects}`]
}

function ruleText(rule: JsonObject): string {
  const verbs = listed(textsIn(rule['verbs']))
  const paths = textsIn(rule['nonResourceURLs'])
  if (paths.length > 0) return `allows ${verbs} on ${listed(paths)}`
  const groups = textsIn(rule['apiGroups']).map((group) => group || 'the core group')
  const names = textsIn(rule['resourceNames'])
  const called = names.length === 0 ? '' : ` called ${listed(names)}`
  return `allows ${verbs} on ${listed(textsIn(rule['resources']))} of ${listed(groups)}${called}`
}

function subjectText(subject: JsonObject): string {
  const namespace = textIn(subject, 'namespace')
  const where = namespace === '' ? '' : `${namespace}/`
  return `${textIn(subject, 'kind')} ${where}${textIn(subject, 'name')}`
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'nobody and nothing'
  const rest = names.length - MOST_NAMED
  return names.slice(0, MOST_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function textIn(object: JsonObject, field: string): string {
  const value = object[field]
  return typeof value === 'string' ? value : ''
}
