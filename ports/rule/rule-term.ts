/**
 * What annotations and fields have to be: `{KEY: VALUE}`, a list of values, `{exists: false}`, or
 * `{not: VALUE}`; and the paths of fields.
 *
 * What must stay true: a path that cannot be read, or that would put far more on the log than a
 * rule decides by, is refused here.
 *
 * Not here: labels, which are written as kubectl takes them (label-selector.ts).
 */
import { readPath } from '../../core/model/rule/field-path.ts'
import type { Term } from '../../core/model/rule/rule.ts'
import { isAnnotationKey } from './label-selector.ts'
import { bad, checkKey, flag } from './setting.ts'

const MOST_TERMS = 20
const MOST_VALUES = 100
const MOST_VALUE = 256
/** Has the whole object, as it was applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

export type Mapping = Readonly<Record<string, unknown>>

/** A mapping of these keys and no others. */
export function mapping(value: unknown, keys: readonly string[], from: string): Mapping {
  const fields = anyMapping(value, `a mapping with ${keys.join(', ')}`, from)
  for (const key of Object.keys(fields)) checkKey(key, keys, from)
  return fields
}

function anyMapping(value: unknown, what: string, from: string): Mapping {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Mapping
  throw bad(`${from}: expected ${what}`)
}

export function annotationTerms(value: unknown, from: string): readonly Term[] {
  return terms(value, annotationKey, from)
}

export function fieldTerms(value: unknown, from: string): readonly Term[] {
  return terms(value, fieldPath, from)
}

function terms(
  value: unknown,
  keyOf: (key: unknown, from: string) => string,
  from: string,
): readonly Term[] {
  if (value === undefined) return []
  const fields = Object.entries(anyMapping(value, 'a mapping of keys to values', from))
  if (fields.length === 0) throw bad(`${from}: expected at least one key`)
  if (fields.length > MOST_TERMS) {
    throw bad(`${from}: ${fields.length} keys, and ${MOST_TERMS} are the most`)
  }
  return fields.map(([key, wanted]) => termOf(keyOf(key, from), wanted, `${from}.${key}`))
}

function termOf(key: string, value: unknown, from: string): Term {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { key, operator: 'in', values: valuesOf(value, from) }
  }
  const { exists, not } = mapping(value, ['exists', 'not'], from)
  if ((exists === undefined) === (not === undefined)) {
    throw bad(`${from}: expected a value, a list of values, {exists: true}, or {not: VALUE}`)
  }
  if (not !== undefined) return { key, operator: 'not-in', values: valuesOf(not, `${from}.not`) }
  const isThere = flag({ key: 'exists', value: exists, from: `${from}.exists` })
  return { key, operator: isThere === true ? 'exists' : 'absent', values: [] }
}

/** As they are read: numbers and booleans as JSON has them. */
function valuesOf(value: unknown, from: string): readonly string[] {
  const all = Array.isArray(value) ? value : [value]
  if (all.length === 0 || all.length > MOST_VALUES) {
    throw bad(`${from}: ${all.length} values, and from 1 to ${MOST_VALUES} are expected`)
  }
  return all.map((each) => {
    const text = typeof each === 'number' || typeof each === 'boolean' ? String(each) : each
    if (typeof text === 'string' && text.length <= MOST_VALUE) return text
    throw bad(`${from}: expected texts of at most ${MOST_VALUE} characters, numbers or booleans`)
  })
}

export function annotationKey(value: unknown, from: string): string {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : 'this'
  if (typeof value !== 'string' || !isAnnotationKey(value)) {
    throw bad(`${from}: ${shown} is no key of an annotation, such as example.com/ttl`)
  }
  checkAnnotation(value, from)
  return value
}

/** Of a Secret it has what is secret. */
export function checkAnnotation(key: string, from: string): void {
  if (key !== LAST_APPLIED) return
  throw bad(`${from}: ${key} is the whole object as it was applied, and no rule reads that`)
}

export function fieldPath(value: unknown, from: string): string {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : 'this'
  if (typeof value !== 'string' || readPath(value) === undefined) {
    throw bad(
      `${from}: ${shown} is no path of a field, such as status.phase or status.conditions[type=Ready].status`,
    )
  }
  if (!/^metadata(\.(labels|annotations|managedFields)|$|\[|:)/.test(value)) return value
  throw bad(`${from}: ${shown} is read by match.labels and match.annotations, or not at all`)
}
