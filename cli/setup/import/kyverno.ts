/**
 * Policies of Kyverno that delete: DeletingPolicy and CleanupPolicy, each for the cluster or for a
 * namespace.
 *
 * What must stay true: of conditions those alone are taken that are an age since creation, a label
 * or a namespace; all else is left out. A rule deletes what the policy would at its next run.
 */
import { SYSTEM_NAMESPACES } from '../../../core/graph/guarding.ts'
import type { Mapping } from '../../../ports/rule/rule-term.ts'
import {
  checkSchedule,
  equalities,
  type Imported,
  importedBy,
  known,
  LeftOut,
  nameAt,
  propagationOf,
  selectorOf,
  textsOf,
} from './imported.ts'
import { ownKind, ownResource } from './own-kind.ts'

export interface KyvernoPolicy {
  readonly kind: string
  readonly name: string
  /** Empty: of the whole cluster. */
  readonly namespace: string
  readonly spec: unknown
}

export const KYVERNO_KINDS: readonly string[] = [
  ...['DeletingPolicy', 'NamespacedDeletingPolicy', 'CleanupPolicy', 'ClusterCleanupPolicy'],
]

export const KYVERNO_NOTES: readonly string[] = [
  'resourceFilters of the ConfigMap kyverno are not in its policies: except what yours keep; kube-system, kube-public and kube-node-lease are left out, as they do by default',
]

export function importKyverno(policy: KyvernoPolicy): Imported {
  const make = policy.kind.endsWith('DeletingPolicy') ? ofDeleting : ofCleanup
  return importedBy(`${policy.kind} ${policy.name}`, () => make(policy))
}

interface Match {
  readonly kinds: readonly string[]
  readonly namespaces: readonly string[]
  readonly exceptNamespaces: readonly string[]
  readonly labels: readonly string[]
  readonly annotations: Mapping
}

function written(name: string, match: Match, after: string, policy: unknown): Mapping {
  const { kinds, namespaces, exceptNamespaces, labels, annotations } = match
  const own = namespaces.find((each) => SYSTEM_NAMESPACES.includes(each))
  if (own !== undefined) throw new LeftOut(`it is about ${own}, which Kyverno keeps by default`)
  return {
    name,
    match: {
      kinds,
      ...(namespaces.length === 0 ? {} : { namespaces }),
      ...(exceptNamespaces.length === 0 ? {} : { exceptNamespaces }),
      ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    after,
    ...propagationOf(policy, kinds),
  }
}

function ofDeleting({ name, namespace, spec }: KyvernoPolicy): readonly Mapping[] {
  const keys = ['matchConstraints', 'conditions', 'schedule', 'deletionPropagationPolicy']
  const given = known(spec, keys, 'spec')
  checkSchedule(given['schedule'])
  const constraints = known(
    given['matchConstraints'],
    ['resourceRules', 'objectSelector', 'matchPolicy'],
    'matchConstraints',
  )
  const kinds = kindsOf(constraints['resourceRules'])
  const conditions = given['conditions'] ?? []
  if (!Array.isArray(conditions)) throw new LeftOut('conditions is no list')
  const texts = conditions.flatMap((each) => partsOf(known(each, ['name', 'expression'], 'it')))
  const read = readAll(texts, kinds)
  const within = withinNamespace(namespace, read.namespaces, kinds)
  const labels = [...selectorOf(constraints['objectSelector'], 'objectSelector'), ...read.labels]
  const match = { kinds, namespaces: within, exceptNamespaces: [], labels, annotations: {} }
  return [written(name, match, read.after, given['deletionPropagationPolicy'])]
}

function partsOf({ expression }: Mapping): readonly string[] {
  if (typeof expression !== 'string') throw new LeftOut('a condition is no text')
  return expression.split('&&').map((each) => each.replaceAll(/\s+/g, ' ').trim())
}

/** Own kinds only: the policy names resources, and a rule kinds. */
function kindsOf(rules: unknown): readonly string[] {
  if (!Array.isArray(rules) || rules.length === 0) throw new LeftOut('it is about no kinds')
  return rules.flatMap((each) => {
    const keys = ['apiGroups', 'apiVersions', 'resources', 'operations', 'scope']
    const rule = known(each, keys, 'resourceRules')
    const groups = textsOf(rule['apiGroups'], 'apiGroups')
    const resources = textsOf(rule['resources'], 'resources')
    if ([...groups, ...resources].some((text) => /[*/]/.test(text))) {
      throw new LeftOut('its resourceRules name more than kinds: a wildcard or a subresource')
    }
    if (groups.length === 0 || resources.length === 0) throw new LeftOut('it is about no kinds')
    const { scope = '*' } = rule
    if (scope !== '*' && (scope !== 'Namespaced' || resources.includes('namespaces'))) {
      throw new LeftOut(`its scope ${JSON.stringify(scope)} is not that of its resources`)
    }
    return groups.flatMap((group) => resources.map((resource) => ownResource(resource, group)))
  })
}

interface Conditions {
  readonly after: string
  readonly labels: readonly string[]
  readonly namespaces: readonly string[]
}

const NOW = String.raw`(?:time\.)?now\(\)`
const CREATED = String.raw`timestamp\(object\.metadata\.creationTimestamp\)`
const DURATION = String.raw`duration\(['"]((?:\d{1,9}[hms])+)['"]\)`
const KEY = String.raw`(?:\.(\w+)|\[['"]([^'"\\]+)['"]\])`
const AGE = new RegExp(`^${NOW} - ${CREATED} >=? ${DURATION}$`)
const AGE_TURNED = new RegExp(`^${CREATED} <=? ${NOW} - ${DURATION}$`)
const LABEL = new RegExp(String.raw`^object\.metadata\.labels${KEY} == ['"]([^'"\\]*)['"]$`)
const HAS = /^has\(object\.metadata\.labels(?:\.(\w+))?\)$/
const IN = /^['"]([^'"\\]+)['"] in object\.metadata\.labels$/
const NAMESPACE = /^object\.metadata\.namespace == ['"]([a-z0-9-]+)['"]$/
const PREFIX = /^object\.metadata\.namespace\.startsWith\(['"]([a-z0-9-]+)['"]\)$/

/** A label that is absent is an error of an expression, and no match; it is none here, too. */
function readAll(parts: readonly string[], kinds: readonly string[]): Conditions {
  const [ages, labels, namespaces]: [string[], string[], string[]] = [[], [], []]
  let isGuarded = false
  for (const part of parts) {
    const age = AGE.exec(part) ?? AGE_TURNED.exec(part)
    const label = LABEL.exec(part)
    const has = HAS.exec(part)
    const namespace = NAMESPACE.exec(part)
    const prefix = PREFIX.exec(part)
    const within = IN.exec(part)
    if (age !== null) ages.push(age[1] ?? '')
    else if (label !== null) labels.push(`${label[1] ?? label[2]}=${label[3]}`)
    else if (within !== null) labels.push(within[1] ?? '')
    else if (has?.[1] !== undefined) labels.push(has[1])
    else if (has !== null) isGuarded = true
    else if (namespace !== null) namespaces.push(namespace[1] ?? '')
    else if (prefix !== null) namespaces.push(`${prefix[1]}*`)
    else throw new LeftOut(`its condition ${JSON.stringify(part)} is not read`)
  }
  if (isGuarded && labels.length === 0) throw new LeftOut('it asks whether there are labels at all')
  if (ages.length > 1 || namespaces.length > 1) throw new LeftOut('it has two ages or namespaces')
  if (namespaces.length > 0 && kinds.includes('Namespace')) {
    throw new LeftOut('its condition asks for the namespace of a Namespace, which has none')
  }
  return { after: ages[0] ?? '0s', labels, namespaces }
}

/** A policy in a namespace is about that one. */
function withinNamespace(
  namespace: string,
  named: readonly string[],
  kinds: readonly string[],
): readonly string[] {
  if (namespace === '') return named
  if (kinds.includes('Namespace')) throw new LeftOut('it is in a namespace, and about Namespaces')
  if (named.length === 0 || named.includes(namespace)) return [namespace]
  throw new LeftOut(`it is in the namespace ${namespace}, and about others`)
}

function ofCleanup({ name, namespace, spec }: KyvernoPolicy): readonly Mapping[] {
  const keys = ['match', 'exclude', 'conditions', 'schedule', 'deletionPropagationPolicy']
  const given = known(spec, keys, 'spec')
  checkSchedule(given['schedule'])
  const after = ageOf(given['conditions'])
  const except = exceptOf(given['exclude'])
  const matches = alternatives(given['match'])
  return matches.map((each, index) => {
    const match = resourcesOf(each)
    const namespaces = withinNamespace(namespace, match.namespaces, match.kinds)
    const whole = { ...match, namespaces, exceptNamespaces: except }
    const ruleName = nameAt(name, index, matches.length)
    return written(ruleName, whole, after, given['deletionPropagationPolicy'])
  })
}

/** Each makes a rule: of `all` there may be one. */
function alternatives(value: unknown): readonly unknown[] {
  const { any, all } = known(value, ['any', 'all'], 'match')
  if (Array.isArray(any) && any.length > 0 && all === undefined) return any
  if (Array.isArray(all) && all.length === 1 && any === undefined) return all
  throw new LeftOut('its match is neither any, nor all with one entry')
}

function resourcesOf(value: unknown): Match {
  const { resources } = known(value, ['resources'], 'match')
  const keys = ['kinds', 'namespaces', 'selector', 'annotations']
  const given = known(resources, keys, 'match.resources')
  const kinds = textsOf(given['kinds'], 'kinds').map(kindOf)
  if (kinds.length === 0) throw new LeftOut('it is about no kinds')
  return {
    kinds,
    namespaces: namespacesOf(given['namespaces']),
    exceptNamespaces: [],
    labels: selectorOf(given['selector'], 'selector'),
    annotations: annotationsOf(given['annotations']),
  }
}

function annotationsOf(value: unknown): Mapping {
  if (equalities(value, 'annotations').length === 0) return {}
  return value as Mapping
}

function namespacesOf(value: unknown): readonly string[] {
  const all = textsOf(value, 'namespaces')
  if (all.some((each) => each.includes('?'))) throw new LeftOut('its namespaces have a "?"')
  return all
}

/** `Pod`, `v1/Pod`, `apps/v1/Deployment`. */
function kindOf(text: string): string {
  const parts = text.split('/')
  const kind = parts.at(-1) ?? ''
  const group = parts.length === 3 ? (parts[0] ?? '') : ''
  if (parts.length > 3 || /[*.]/.test(kind + group.replaceAll('.', '')) || kind === '') {
    throw new LeftOut(`its kind ${JSON.stringify(text)} has a wildcard or a subresource`)
  }
  if (parts.length === 3) return `${kind}.${group}`
  if (parts.length === 2 && !/^(v\d\w*|\*)$/.test(parts[0] ?? '')) {
    throw new LeftOut(`its kind ${JSON.stringify(text)} has a subresource`)
  }
  return ownKind(kind)
}

/** Namespaces alone. */
function exceptOf(value: unknown): readonly string[] {
  if (value === undefined) return []
  const { any } = known(value, ['any'], 'exclude')
  if (!Array.isArray(any)) throw new LeftOut('exclude is no list')
  return any.flatMap((each) => {
    const { resources } = known(each, ['resources'], 'exclude')
    const { namespaces } = known(resources, ['namespaces'], 'exclude.resources')
    const all = namespacesOf(namespaces)
    if (all.length === 0) throw new LeftOut('exclude names no namespaces')
    return all
  })
}

const TIME_SINCE =
  /^\{\{ ?time_since\('', ?'\{\{ ?target\.metadata\.creationTimestamp ?\}\}', ?''\) ?\}\}$/

function ageOf(value: unknown): string {
  if (value === undefined) return '0s'
  const { any, all } = known(value, ['any', 'all'], 'conditions')
  const list = any === undefined ? all : any
  if (!Array.isArray(list) || list.length !== 1 || (any !== undefined && all !== undefined)) {
    throw new LeftOut('its conditions are more than one age')
  }
  const { key, operator, value: age } = known(list[0], ['key', 'operator', 'value'], 'conditions')
  const isAge = typeof key === 'string' && TIME_SINCE.test(key)
  const isLater = operator === 'GreaterThan' || operator === 'GreaterThanOrEquals'
  if (isAge && isLater && /^(\d{1,9}[hms])+$/.test(String(age))) return String(age)
  throw new LeftOut(`its condition ${JSON.stringify(key)} is not read`)
}
