/**
 * Rules of a rules file of kube-janitor: resources, a JMESPath condition, a TTL since creation.
 *
 * What must stay true: of its rules the first one that matches counts, so a rule after one that may
 * match the same objects with a longer TTL is left out. An object with a TTL of its own is subject
 * to none of them.
 *
 * Not here: its annotations, which are the built-in rule `janitor` (ports/rule/builtin.ts).
 */
import type { Mapping } from '../../../ports/rule/rule-term.ts'
import {
  type Import,
  type Imported,
  importedBy,
  isMapping,
  known,
  LeftOut,
  textsOf,
} from './imported.ts'
import { ownResource } from './own-kind.ts'

const KEYS = ['id', 'resources', 'jmespath', 'ttl']
/** An object with one of its own is subject to no rule. */
const OWN_TTL = 'janitor/ttl'
const TTL = /^(\d{1,9})([smhdw])$/
const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
}

interface JanitorRule {
  readonly id: string
  readonly resources: readonly string[]
  /** Infinite: it keeps what it matches. */
  readonly ttl: number
  readonly ttlText: string
  readonly jmespath: string
  /** Null: not understood. */
  readonly condition: Condition | null
}

interface Condition {
  /** Label → the one value that it has. */
  readonly labels: ReadonlyMap<string, string>
  readonly selector: readonly string[]
  readonly annotations: ReadonlyMap<string, string>
  readonly namespace: string | null
}

export function importJanitor(entries: readonly unknown[]): Import {
  const before: JanitorRule[] = []
  const policies = entries.map((entry, index): Imported => {
    const { id = index + 1 } = isMapping(entry) ? entry : {}
    return importedBy(`rule ${id}`, () => {
      const former = [...before]
      // Until it is understood.
      before.push({ ...ANY, id: String(id) })
      const rule = ruleOf(entry)
      before.splice(-1, 1, rule)
      return importedRule(rule, former)
    })
  })
  return { policies, notes: [...keptNotes(before), ...NOTES] }
}

/** Their TTL keeps what they match: what no rule deletes needs none. */
function keptNotes(rules: readonly JanitorRule[]): readonly string[] {
  const kept = rules.filter(
    ({ ttl, ttlText }) => ttl === Number.POSITIVE_INFINITY && ttlText !== '',
  )
  if (kept.length === 0) return []
  const names = kept.map(({ id }) => id).join(', ')
  return [`rules that keep what they match for ever need no entry: ${names}`]
}

/** Of one that is not understood: it may match anything, and keep it. */
const ANY: JanitorRule = {
  ...{ id: '', resources: ['*'], ttl: Number.POSITIVE_INFINITY, ttlText: '' },
  ...{ jmespath: '', condition: null },
}

/** `before`: all rules that come first. */
function importedRule(rule: JanitorRule, before: readonly JanitorRule[]): readonly Mapping[] {
  const longer = before.find((each) => each.ttl > rule.ttl && mayShare(each, rule))
  if (!Number.isFinite(rule.ttl)) return []
  if (rule.condition === null) {
    throw new LeftOut(
      `its condition ${JSON.stringify(rule.jmespath)} is more than labels, annotations and a namespace that are equal`,
    )
  }
  if (longer !== undefined) {
    throw new LeftOut(`rule ${longer.id} before it may keep the same objects for longer`)
  }
  return [written(rule, rule.condition)]
}

const NOTES: readonly string[] = [
  'janitor/ttl and janitor/expires are the built-in rule janitor: list it as well',
  'flags of kube-janitor are not in its file: kube-system is excepted as it does by default; except what --exclude-namespaces names, and leave out kinds of --exclude-resources',
]

function ruleOf(entry: unknown): JanitorRule {
  const { id, resources, jmespath, ttl } = known(entry, KEYS, 'it')
  if (typeof id !== 'string' || typeof jmespath !== 'string' || typeof ttl !== 'string') {
    throw new LeftOut('it has no id, jmespath or ttl')
  }
  const [, count, unit] = TTL.exec(ttl) ?? []
  const seconds = Number(count) * (SECONDS[unit ?? ''] ?? Number.NaN)
  // None, and zero, keep what they match.
  const isKept = ttl.toLowerCase() === 'forever' || seconds === 0
  if (!isKept && Number.isNaN(seconds)) throw new LeftOut(`its ttl ${JSON.stringify(ttl)} is none`)
  return {
    id,
    resources: textsOf(resources, 'resources'),
    ttl: isKept ? Number.POSITIVE_INFINITY : seconds,
    ...{ ttlText: ttl, jmespath },
    condition: conditionOf(jmespath),
  }
}

function written({ id, resources, ttlText }: JanitorRule, condition: Condition): Mapping {
  if (resources.length === 0 || resources.includes('*')) {
    throw new LeftOut('it is about all kinds, and a rule names its kinds')
  }
  const kinds = resources.map((each) => ownResource(each, undefined))
  const { selector, annotations, namespace } = condition
  if (namespace !== null && kinds.includes('Namespace')) {
    throw new LeftOut('its condition asks for the namespace of a Namespace, which has none')
  }
  return {
    name: id,
    match: {
      kinds,
      ...(namespace === null ? {} : { namespaces: [namespace] }),
      exceptNamespaces: ['kube-system'],
      ...(selector.length === 0 ? {} : { labels: selector.join(',') }),
      annotations: { [OWN_TTL]: { exists: false }, ...Object.fromEntries(annotations) },
    },
    after: ttlText,
  }
}

const IDENTIFIER = String.raw`([A-Za-z_]\w*|"[^"\\]+")`
const EQUAL = new RegExp(String.raw`^metadata\.(labels|annotations)\.${IDENTIFIER} == '([^'\\]*)'$`)
const UNEQUAL = new RegExp(String.raw`^metadata\.labels\.${IDENTIFIER} != '([^'\\]*)'$`)
const SOME = new RegExp(String.raw`^metadata\.labels\.${IDENTIFIER}$`)
const NAMESPACE = /^metadata\.namespace == '([a-z0-9-]+)'$/
const PREFIX = /^starts_with\(metadata\.namespace, ?'([a-z0-9-]+)'\)$/

/** Parts that are all true; null where one is not understood. */
function conditionOf(jmespath: string): Condition | null {
  const labels = new Map<string, string>()
  const annotations = new Map<string, string>()
  const selector: string[] = []
  const namespaces: string[] = []
  for (const part of jmespath.split('&&').map((each) => each.trim())) {
    const [, of, quoted = '', value = ''] = EQUAL.exec(part) ?? []
    const [, unequal, other] = UNEQUAL.exec(part) ?? []
    const [, some] = SOME.exec(part) ?? []
    const [, whole] = NAMESPACE.exec(part) ?? []
    const [, prefix] = PREFIX.exec(part) ?? []
    const key = unquoted(quoted)
    if (key === OWN_TTL) return null
    if (of === 'annotations' && !annotations.has(key)) annotations.set(key, value)
    else if (of === 'labels') selector.push(`${key}=${labels.set(key, value).get(key)}`)
    else if (unequal !== undefined) selector.push(`${unquoted(unequal)}!=${other}`)
    // An empty text is not true.
    else if (some !== undefined) selector.push(unquoted(some), `${unquoted(some)}!=`)
    else if (whole !== undefined) namespaces.push(whole)
    else if (prefix !== undefined) namespaces.push(`${prefix}*`)
    else return null
  }
  if (namespaces.length > 1) return null
  return { labels, annotations, selector, namespace: namespaces[0] ?? null }
}

function unquoted(identifier: string): string {
  return identifier.replaceAll('"', '')
}

/** Whether an object may match both: not where a label or the namespace tells them apart. */
function mayShare(a: JanitorRule, b: JanitorRule): boolean {
  const all = a.resources.includes('*') || b.resources.includes('*')
  if (!all && !a.resources.some((each) => b.resources.includes(each))) return false
  if (a.condition === null || b.condition === null) return true
  const [one, other] = [a.condition, b.condition]
  const differs = [...one.labels].some(([key, value]) => {
    const wanted = other.labels.get(key)
    return wanted !== undefined && wanted !== value
  })
  if (differs) return false
  const [here, there] = [one.namespace, other.namespace]
  const areNames = here !== null && there !== null && !`${here}${there}`.includes('*')
  return !areNames || here === there
}
