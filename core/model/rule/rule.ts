/**
 * Rules: which objects are deleted, or get an annotation, for their age, their fields or their
 * marks, whatever owns them.
 *
 * What must stay true: a rule is policy, so it is part of an event and says all that it decides by;
 * it decides only about objects that were read with all that it reads (`readsOf`), since a field
 * that was not read is not absent. An order enforces a rule as it is, by its digest: a rule that
 * was changed is in dry run again.
 *
 * Not here: whether a rule matches an object (judge/rule.ts), how rules are written by people
 * (ports/rule), how fields are read from an object (adapters/kubernetes).
 */
import { hash64 } from '../hash.ts'
import { type RuleUnused, type UseRead, useReadsOf, usersOf } from '../use/use.ts'
import { OWNER_ANNOTATION, type RuleElsewhere } from './elsewhere.ts'
import type { GroupKind, PropagationPolicy } from './group-kind.ts'
import { reportOf } from './report.ts'

export interface Rule {
  /**
   * Unique in a cluster: a DNS label; of a CleanupPolicy `NAMESPACE/NAME`, and with `*` for the
   * namespace of a ClusterCleanupPolicy.
   */
  readonly name: string
  readonly match: RuleMatch
  /** At least one; an object is due as soon as one of them says so. */
  readonly cases: readonly RuleCase[]
  readonly propagationPolicy: PropagationPolicy
  /** Of its DELETE, in seconds; null for the server's default. */
  readonly gracePeriodSeconds: number | null
  /** Of Pods: one that has not ended is patched to Failed before its DELETE. */
  readonly failFirst: boolean
  /** For how long it must have been due without a break: log time in milliseconds. */
  readonly forMs: number
  /** An Event on the object says so long before that it is to be deleted; 0: none does. */
  readonly warnMs: number
  /** Null: none. */
  readonly limit: RuleLimit | null
  /**
   * With whose rights its objects are deleted, as a policy of the cluster names it
   * (`PolicyContent`): under others it is another rule. Null: with those of the reaper.
   */
  readonly account: string | null
  /** Null: all that is due is deleted. */
  readonly keep: RuleKeep | null
  /** Null: whatever else is there. */
  readonly absent: RuleAbsent | null
  /** Null: whatever the fields of another object say. None beside `absent`. */
  readonly beside: RuleBeside | null
  /** Null: whether anything uses it or not. */
  readonly unused: RuleUnused | null
  /** Null: whether an owner in another cluster is there or not. */
  readonly elsewhere: RuleElsewhere | null
  /** What an object gets that would be deleted otherwise; null: it is deleted. */
  readonly annotate: RuleAnnotation | null
}

/** One annotation. An object that has it, with this value, is not due. */
export interface RuleAnnotation {
  readonly key: string
  readonly value: string
}

/** All of it holds for an object that the rule is about. */
export interface RuleMatch {
  /** At least one. */
  readonly kinds: readonly GroupKind[]
  /**
   * Names; `*` in one stands for any text. Empty: all, cluster-scoped objects included. A Namespace
   * counts as one of its own.
   */
  readonly namespaces: readonly string[]
  /** The same, and left out. */
  readonly exceptNamespaces: readonly string[]
  readonly labels: readonly Term[]
  readonly annotations: readonly Term[]
  readonly expression: RuleExpression | null
  /** Of one of these kinds an owner is named; empty: none is. Null: whatever owns it. */
  readonly owner: readonly GroupKind[] | null
  /** About objects that are being deleted, and no others; false: about none of those. */
  readonly terminating: boolean
}

/** Of a label, an annotation or a field; an absent one is no value. */
export interface Term {
  readonly key: string
  readonly operator: 'in' | 'not-in' | 'exists' | 'absent'
  readonly values: readonly string[]
}

/** An expression as it was written, and the tree that was made of it when it was accepted. */
export interface RuleExpression {
  readonly source: string
  /** Of core/judge/expression.ts, as JSON: what decides, whatever library read the source. */
  readonly tree: string
  /** Field paths that it reads. */
  readonly fields: readonly string[]
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
}

/** Due at `since` and `after` it; an object without either is not due by this case. */
export interface RuleCase {
  /** Each key is a field's path. */
  readonly fields: readonly Term[]
  readonly since: TimeSource
  readonly after: WaitSource
}

/** A time as RFC 3339 has it; one that cannot be read makes nothing due. */
export type TimeSource =
  | { readonly type: 'created' }
  /** When its deletion was requested. */
  | { readonly type: 'deleted' }
  | { readonly type: 'field'; readonly path: string }
  | { readonly type: 'annotation'; readonly key: string }

export type WaitSource =
  | { readonly type: 'fixed'; readonly ms: number }
  /** A number of seconds. */
  | { readonly type: 'seconds'; readonly path: string }
  /** A duration, such as `90m`, `36h` or `7d`. */
  | { readonly type: 'duration'; readonly annotation: string }

/**
 * More objects than this that become due within an hour hold all of the rule. The larger of both
 * counts, so that one of two objects is no half of a kind.
 */
export interface RuleLimit {
  readonly perHour: number
  /** Of the kind's objects in the cluster; 0 for none. */
  readonly percent: number
}

/**
 * Of the objects of a kind in a cluster that are due, the newest of each group stay. One that is in
 * no group stays.
 */
export interface RuleKeep {
  /** At least one. */
  readonly newest: number
  readonly by: KeepBy
  /** Fields of those that count as older than all others; none: only the creation counts. */
  readonly first: readonly Term[]
}

/** Those with one controller, in one namespace, with one value of a label; or all of a cluster. */
export type KeepBy =
  | { readonly type: 'owner' | 'namespace' | 'cluster' }
  | { readonly type: 'label'; readonly key: string }

/**
 * Due only while no object of that kind has the name that a field of the object says. An object
 * that names none is not due.
 */
export interface RuleAbsent extends GroupKind {
  /** A path. */
  readonly field: string
}

/**
 * Due only while one object of that kind has the name that a field of the object says, and all of
 * these hold of it. An object that names none is not due.
 */
export interface RuleBeside extends RuleAbsent {
  /** Of the other object; each key is a field's path. At least one. */
  readonly when: readonly Term[]
}

/** What it names, for either reason; null where it names none. */
export function besideOf({ absent, beside }: Pick<Rule, 'absent' | 'beside'>): RuleAbsent | null {
  return absent ?? beside
}

/** Objects of other kinds are not known by name; these are in no namespace. */
const KNOWN_BY_NAME: readonly GroupKind[] = [{ group: '', kind: 'Node' }]

export function isKnownByName({ group, kind }: GroupKind): boolean {
  return KNOWN_BY_NAME.some((each) => each.kind === kind && each.group === group)
}

/** An order to enforce a rule, as it was then. */
export interface EnforcedRule {
  readonly name: string
  /** `ruleDigest`. */
  readonly digest: string
  readonly who: string
  readonly why: string
  /**
   * Append time: objects over the limit before it were seen by who gave the order, and count no
   * more.
   */
  readonly at: number
}

/** What rules read of the objects of a kind, beside what is read of every object. */
export interface KindReads extends GroupKind {
  /** Empty: of those in no namespace that rules are bound to, cluster-scoped ones included. */
  readonly namespace: string
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /** Paths, such as `status.conditions[type=Complete].status`. */
  readonly fields: readonly string[]
  /** Names of what they use; left out: none. */
  readonly uses?: readonly UseRead[]
  /**
   * Of all of these: an object that was read under another one may lack some of them. Empty where
   * nothing more is read than of every object.
   */
  readonly digest: string
}

export interface KindRules {
  readonly rules: readonly Rule[]
  readonly reads: KindReads
  /** Those that keep the newest, or decide by other objects. */
  readonly indexed: readonly Rule[]
}

/** It decides by other objects than those of the kinds that it is about. */
export function isAboutOthers({ unused, elsewhere, ...rule }: Rule): boolean {
  return besideOf(rule) !== null || unused !== null || elsewhere !== null
}

/** Whether an order has this rule carried out, as it is. */
export function isEnforced(rule: Rule, enforced: readonly EnforcedRule[]): boolean {
  return orderOf(rule, enforced) !== undefined
}

/** Undefined where none does, and of a rule that only reports. */
export function orderOf(rule: Rule, enforced: readonly EnforcedRule[]): EnforcedRule | undefined {
  if (enforced.length === 0 || reportOf(rule) !== '') return undefined
  const order = enforced.find(({ name }) => name === rule.name)
  return order?.digest === digestOf(rule) ? order : undefined
}

/** `ruleDigest`, remembered. */
export function digestOf(rule: Rule): string {
  const known = DIGESTS.get(rule)
  if (known !== undefined) return known
  const digest = ruleDigest(rule)
  DIGESTS.set(rule, digest)
  return digest
}

const DIGESTS = new WeakMap<Rule, string>()

/**
 * Of a rule as it is: two with the same digest decide alike. In whatever order its keys come: one
 * that was just compiled, and the same from a log. What a rule does not have is no part of it, so a
 * version that knows more keys has the same digest of it.
 */
export function ruleDigest({ name, match, cases, propagationPolicy, ...rest }: Rule): string {
  const parts = [[name, match, cases, propagationPolicy], rest]
  return parts.map((part) => hash64(JSON.stringify(part, canonical))).join('')
}

function canonical(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const pairs = Object.entries(value).filter(([, each]) => each !== null && each !== false)
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * The only namespace whose objects a rule is about, that of the object which it is of; empty for a
 * rule of the policy, or of a whole cluster.
 */
export function boundTo({ name }: Pick<Rule, 'name'>): string {
  const at = name.indexOf('/')
  return at < 0 || name.startsWith('*/') ? '' : name.slice(0, at)
}

/** By a policy of the cluster, or of a namespace, and not by the config. */
export function isOfPolicy({ name }: Pick<Rule, 'name'>): boolean {
  return name.includes('/')
}

/** That any rule is about, in the order of the rules. */
export function kindsOf(rules: readonly Rule[]): readonly GroupKind[] {
  const kinds = new Map<string, GroupKind>()
  for (const { match } of rules) {
    for (const { group, kind } of match.kinds) kinds.set(`${kind}.${group}`, { group, kind })
  }
  return [...kinds.values()]
}

/**
 * Of each kind that any rule is about, in the order of the rules, and of those whose objects use
 * such; and once more for a namespace that has rules of its own about it. Those of one namespace
 * change nothing for another one.
 */
export function readsOf(rules: readonly Rule[]): readonly KindReads[] {
  const besides = rules.flatMap(({ beside }) => beside ?? [])
  const kinds = [...kindsOf(rules), ...besides, ...usersOf(unusedIn(rules))]
  const known = new Map(
    kinds.map(({ group, kind }) => [`${kind}.${group}`, { group, kind }] as const),
  )
  return [...known.values()].flatMap((kind) => {
    const bound = rules.filter((rule) => isAbout(rule, kind)).map(boundTo)
    const namespaces = new Set(['', ...bound])
    return [...namespaces].map((namespace) => readsOfKind(rules, { ...kind, namespace }))
  })
}

/** A kind's objects in a namespace; left out, those in no namespace that rules are bound to. */
export interface KindWithin extends GroupKind {
  readonly namespace?: string
}

/** Null where no rule is about objects of that kind, there. */
export function rulesOfKind(rules: readonly Rule[], within: KindWithin): KindRules | null {
  if (rules.length === 0) return null
  const { kinds, bound } = KNOWN.get(rules) ?? knownOf(rules)
  const namespace = bound.has(within.namespace ?? '') ? (within.namespace ?? '') : ''
  const key = `${namespace}/${within.kind}.${within.group}`
  const known = kinds.get(key)
  if (known !== undefined) return known
  const own = rulesWithin(rules, namespace).filter((rule) => isAbout(rule, within))
  const about = { group: within.group, kind: within.kind, namespace }
  const indexed = own.filter((rule) => rule.keep !== null || isAboutOthers(rule))
  const found = own.length === 0 ? null : { rules: own, reads: readsOfKind(rules, about), indexed }
  kinds.set(key, found)
  return found
}

/** What is read of objects of a kind there, whatever rules are about. */
export function readsWithin(rules: readonly Rule[], within: KindWithin): KindReads | null {
  const ofKind = rulesOfKind(rules, within)
  if (ofKind !== null) return ofKind.reads
  if (rules.length === 0) return null
  const { uses } = KNOWN.get(rules) ?? knownOf(rules)
  const key = `${within.kind}.${within.group}`
  const known = uses.get(key)
  if (known !== undefined) return known
  const reads = readsOfKind(rules, { group: within.group, kind: within.kind, namespace: '' })
  const found = reads.digest === '' ? null : reads
  uses.set(key, found)
  return found
}

/** What rules say of use. */
export function unusedIn(rules: readonly Rule[]): readonly RuleUnused[] {
  return rules.flatMap(({ unused }) => unused ?? [])
}

/** Those bound to none, and to that one. */
export function rulesWithin(rules: readonly Rule[], namespace: string): readonly Rule[] {
  return rules.filter((rule) => {
    const only = boundTo(rule)
    return only === '' || only === namespace
  })
}

/** What is known of a list of rules: by namespace and kind, and where any is bound to. */
interface Known {
  readonly kinds: Map<string, KindRules | null>
  readonly bound: ReadonlySet<string>
  /** Of kinds that no rule is about. */
  readonly uses: Map<string, KindReads | null>
}

const KNOWN = new WeakMap<readonly Rule[], Known>()

function knownOf(rules: readonly Rule[]): Known {
  const bound = new Set(rules.map(boundTo))
  bound.delete('')
  const known: Known = { kinds: new Map(), bound, uses: new Map() }
  KNOWN.set(rules, known)
  return known
}

function readsOfKind(
  rules: readonly Rule[],
  { group, kind, namespace }: Pick<KindReads, 'group' | 'kind' | 'namespace'>,
): KindReads {
  const within = rulesWithin(rules, namespace)
  const own = within.filter((rule) => isAbout(rule, { group, kind }))
  const besides = within.flatMap(({ beside }) => {
    return beside !== null && isSameKind(beside, { group, kind }) ? beside.when : []
  })
  const labels = sorted(own.flatMap(labelsOf))
  const annotations = sorted(own.flatMap(annotationsOf))
  const fields = sorted([...own.flatMap(fieldsOf), ...besides.map(({ key }) => key)])
  const uses = useReadsOf(unusedIn(rules), { group, kind })
  const isNone = labels.length + annotations.length + fields.length + uses.length === 0
  const keys = uses.length === 0 ? [] : [uses.map(({ key }) => key)]
  const digest = isNone ? '' : hash64(JSON.stringify([labels, annotations, fields, ...keys]))
  const reads = { group, kind, namespace, labels, annotations, fields, digest }
  return uses.length === 0 ? reads : { ...reads, uses }
}

/** An object, as far as it says by what it was read. */
interface Read {
  readonly projected: { readonly reads: string } | null
}

/** Whether it was read with all that these rules read. */
export function isReadFor({ projected }: Read, { reads }: Pick<KindRules, 'reads'>): boolean {
  return (projected?.reads ?? '') === reads.digest
}

function isAbout({ match }: Rule, kind: GroupKind): boolean {
  return match.kinds.some((each) => isSameKind(each, kind))
}

function isSameKind(a: GroupKind, b: GroupKind): boolean {
  return a.kind === b.kind && a.group === b.group
}

function labelsOf({ match, keep, unused }: Rule): readonly string[] {
  const grouped = keep?.by.type === 'label' ? [keep.by.key] : []
  const named = match.labels.map(({ key }) => key)
  return [...named, ...(match.expression?.labels ?? []), ...grouped, ...marksOf(unused)]
}

/** Labels or annotations. */
function marksOf(unused: RuleUnused | null): readonly string[] {
  return unused?.except.map(({ mark }) => mark).filter((mark) => mark !== '') ?? []
}

function annotationsOf({ match, cases, unused, elsewhere, annotate }: Rule): readonly string[] {
  const named = [...match.annotations, ...(annotate === null ? [] : [annotate])].map(
    ({ key }) => key,
  )
  const timed = cases.flatMap(({ since, after }) => [
    ...(since.type === 'annotation' ? [since.key] : []),
    ...(after.type === 'duration' ? [after.annotation] : []),
  ])
  const owner = elsewhere === null ? [] : [OWNER_ANNOTATION]
  const expressed = match.expression?.annotations ?? []
  return [...named, ...timed, ...expressed, ...marksOf(unused), ...owner]
}

/** Of a Pod: `Succeeded` and `Failed` are its ends. */
export const POD_PHASE = 'status.phase'

function fieldsOf({ match, cases, keep, failFirst, ...rest }: Rule): readonly string[] {
  const timed = cases.flatMap(({ fields, since, after }) => [
    ...fields.map(({ key }) => key),
    ...(since.type === 'field' ? [since.path] : []),
    ...(after.type === 'seconds' ? [after.path] : []),
  ])
  const first = keep?.first.map(({ key }) => key) ?? []
  const named = besideOf(rest)?.field ?? []
  // Of one that its finalizers alone hold it is known whether it is still to be Failed.
  const phase = failFirst && match.terminating ? [POD_PHASE] : []
  return [timed, match.expression?.fields ?? [], first, named, phase].flat()
}

function sorted(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)].sort()
}
