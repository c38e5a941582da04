/**
 * What a rule says of other objects: how many of the newest stay (`keep`), which one is not there
 * (`absent`), and what one is like (`beside`).
 *
 * What must stay true: of each group at least one stays, so no mapping that was left empty deletes
 * all.
 */
import type { KeepBy, RuleAbsent, RuleBeside, RuleKeep } from '../../core/model/rule/rule.ts'
import { isLabelKey } from './label-selector.ts'
import { fieldPath, fieldTerms, type Mapping, mapping } from './rule-term.ts'
import { bad, oneOf, whole } from './setting.ts'

const GROUPS = ['owner', 'namespace', 'cluster'] as const
const MOST_KEPT = 1_000_000

export function keepOf(value: unknown, from: string): RuleKeep | null {
  if (value === undefined) return null
  const fields = mapping(value, ['newest', 'by', 'first'], from)
  const number = { key: 'newest', value: fields['newest'], from: `${from}.newest` }
  const newest = whole(number, 1, MOST_KEPT)
  if (newest === undefined) throw bad(`${from}.newest: is missing: so many of each group stay`)
  return {
    newest,
    by: byOf(fields['by'], `${from}.by`),
    first: fieldTerms(fields['first'], `${from}.first`),
  }
}

function byOf(value: unknown, from: string): KeepBy {
  if (typeof value === 'object' && value !== null) {
    const { label } = mapping(value, ['label'], from)
    if (typeof label === 'string' && isLabelKey(label)) return { type: 'label', key: label }
    throw bad(`${from}.label: expected the key of a label`)
  }
  const type = oneOf({ key: 'by', value, from }, GROUPS)
  if (type === undefined)
    throw bad(`${from}: is missing: owner, namespace, cluster or {label: KEY}`)
  return { type }
}

export function absentOf(value: unknown, from: string): RuleAbsent | null {
  if (value === undefined) return null
  const { kind, name } = mapping(value, ['kind', 'name'], from)
  if (kind !== 'Node') throw bad(`${from}.kind: expected Node; no other kind is known by name`)
  const { field } = mapping(name, ['field'], `${from}.name`)
  return { group: '', kind, field: fieldPath(field, `${from}.name.field`) }
}

export function besideOf(value: unknown, from: string): RuleBeside | null {
  if (value === undefined) return null
  const { when, ...named } = mapping(value, ['kind', 'name', 'when'], from)
  const absent = absentOf(named, from)
  const terms = fieldTerms(when, `${from}.when`)
  if (absent === null || terms.length === 0) throw bad(`${from}.when: is missing`)
  return { ...absent, when: terms }
}

/** Of a built-in rule only the number can be another. */
export function narrowedKeep(own: unknown, value: unknown, from: string): unknown {
  if (value === undefined) return own
  if (own === undefined) throw bad(`${from}: this built-in rule keeps none; leave it out`)
  return { ...(own as Mapping), ...mapping(value, ['newest'], from) }
}
