/**
 * What an importer makes of another tool's policy: rules as a config file has them, or why not.
 *
 * What must stay true: a policy that a rule cannot say exactly is left out, with a sentence; none
 * is approximated. An importer that does not know a field leaves the policy out.
 *
 * Not here: how each tool's policies are read (janitor.ts, cleaner.ts, kyverno.ts).
 */
import type { Mapping } from '../../../ports/rule/rule-term.ts'

/** Why a policy is left out: the end of a sentence that begins with its name. */
export class LeftOut extends Error {
  override readonly name = 'LeftOut'
}

export interface Imported {
  /** Of the policy, for sentences: `Cleaner unused`. */
  readonly from: string
  readonly rules: readonly Mapping[]
  /** Empty where it was imported. */
  readonly leftOut: string
}

/** What its file does not say: flags of the tool. */
export interface Import {
  readonly policies: readonly Imported[]
  readonly notes: readonly string[]
}

export function importedBy(from: string, make: () => readonly Mapping[]): Imported {
  try {
    return { from, rules: make(), leftOut: '' }
  } catch (error) {
    if (error instanceof LeftOut) return { from, rules: [], leftOut: error.message }
    throw error
  }
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What may be there; anything else is not understood. */
export function known(value: unknown, keys: readonly string[], what: string): Mapping {
  if (value === undefined) return {}
  if (!isMapping(value)) throw new LeftOut(`${what} is no mapping`)
  const strange = Object.keys(value).find((key) => !keys.includes(key))
  if (strange !== undefined) throw new LeftOut(`${what}.${strange} has no counterpart`)
  return value
}

/** Undefined counts as none. */
export function textsOf(value: unknown, what: string): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw new LeftOut(`${what} is no list of texts`)
}

/** As a label selector takes them, each read again where the rule is. */
export function equalities(value: unknown, what: string): readonly string[] {
  if (value === undefined) return []
  if (!isMapping(value)) throw new LeftOut(`${what} is no mapping`)
  return Object.entries(value).map(([key, each]) => {
    if (typeof each !== 'string') throw new LeftOut(`${what}.${key} is no text`)
    if (/[*?]/.test(key + each)) throw new LeftOut(`${what}.${key} has a wildcard`)
    return `${key}=${each}`
  })
}

/** `matchLabels` and `matchExpressions`, as a label selector of a rule. */
export function selectorOf(value: unknown, what: string): readonly string[] {
  const { matchLabels, matchExpressions = [] } = known(
    value,
    ['matchLabels', 'matchExpressions'],
    what,
  )
  if (!Array.isArray(matchExpressions)) throw new LeftOut(`${what}.matchExpressions is no list`)
  const terms = matchExpressions.map((each) => expressionOf(each, `${what}.matchExpressions`))
  return [...equalities(matchLabels, `${what}.matchLabels`), ...terms]
}

function expressionOf(value: unknown, what: string): string {
  const { key, operator, values } = known(value, ['key', 'operator', 'values'], what)
  const all = textsOf(values, `${what}.values`)
  if (typeof key !== 'string' || /[*?]/.test([key, ...all].join())) {
    throw new LeftOut(`${what} has a wildcard, or no key`)
  }
  switch (operator) {
    case 'In':
    case 'NotIn':
      return `${key} ${operator.toLowerCase()} (${all.join(',')})`
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
    default:
      throw new LeftOut(`${what}: operator ${JSON.stringify(operator)} has no counterpart`)
  }
}

/** Every minute, or every few: what matches is deleted soon. */
const POLLING = /^\s*(\*|\*\/[1-5])(\s+\*){4}\s*$/

/** A rule deletes as soon as an object is due; a schedule that does so is a rule. */
export function checkSchedule(value: unknown): void {
  if (typeof value === 'string' && POLLING.test(value)) return
  throw new LeftOut(
    `its schedule ${JSON.stringify(value)} has no counterpart: a rule deletes as soon as an object is due, as a schedule of every five minutes or fewer does`,
  )
}

/** Where a DELETE has no policy, the API server orphans the dependents of these. */
const ORPHANING: ReadonlySet<string> = new Set(['Job.batch', 'ReplicationController'])

export function propagationOf(value: unknown, kinds: readonly string[]): Mapping {
  if (value !== undefined) return { propagationPolicy: value }
  const orphaning = kinds.filter((kind) => ORPHANING.has(kind))
  if (orphaning.length === 0) return {}
  if (orphaning.length === kinds.length) return { propagationPolicy: 'Orphan' }
  throw new LeftOut(
    `it names no propagation policy: dependents of ${orphaning.join(' and ')} are orphaned, others are not, and a rule has one policy`,
  )
}

/** A rule of it has this name; a policy may have several. */
export function nameAt(name: string, index: number, count: number): string {
  return count === 1 ? name : `${name}-${index + 1}`
}
