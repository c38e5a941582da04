/**
 * When an object is due: `when`, `since` and `after` of a rule, or of each of its cases.
 *
 * What must stay true: a case has a time of its own (`since`, `after`, or both), so nothing is due
 * by a mapping that was left empty.
 */
import type { RuleCase, TimeSource, WaitSource } from '../../core/model/rule/rule.ts'
import { durationOf } from '../../core/model/text.ts'
import { annotationKey, fieldPath, fieldTerms, type Mapping, mapping } from './rule-term.ts'
import { bad } from './setting.ts'

export const CASE_KEYS = ['when', 'since', 'after'] as const
const MOST_CASES = 20
const MOST_MS = 36_500 * 24 * 3_600_000

/** Of a rule, whose own `when`, `since` and `after` are its only case. */
export function ruleCases(rule: Mapping, from: string): readonly RuleCase[] {
  const { cases } = rule
  const own = CASE_KEYS.filter((key) => rule[key] !== undefined)
  if (cases === undefined) return [ruleCase(rule, from)]
  if (own.length > 0) throw bad(`${from}: ${own.join(', ')} and cases exclude each other`)
  if (!Array.isArray(cases) || cases.length === 0 || cases.length > MOST_CASES) {
    throw bad(`${from}.cases: expected a list of 1 to ${MOST_CASES} mappings with ${KEYS}`)
  }
  return cases.map((each, index) => {
    const where = `${from}.cases[${index}]`
    return ruleCase(mapping(each, CASE_KEYS, where), where)
  })
}

const KEYS = CASE_KEYS.join(', ')

function ruleCase({ when, since, after }: Mapping, from: string): RuleCase {
  if (since === undefined && after === undefined) {
    throw bad(`${from}: after is missing, such as 72h, or since with the time that it counts from`)
  }
  return {
    fields: fieldTerms(when, `${from}.when`),
    since: sinceOf(since, `${from}.since`),
    after: afterOf(after, `${from}.after`),
  }
}

function sinceOf(value: unknown, from: string): TimeSource {
  if (value === undefined) return { type: 'created' }
  const { field, annotation } = mapping(value, ['field', 'annotation'], from)
  if ((field === undefined) === (annotation === undefined)) {
    throw bad(`${from}: expected {field: PATH} or {annotation: KEY}`)
  }
  return annotation === undefined
    ? { type: 'field', path: fieldPath(field, `${from}.field`) }
    : { type: 'annotation', key: annotationKey(annotation, `${from}.annotation`) }
}

function afterOf(value: unknown, from: string): WaitSource {
  if (value === undefined) return { type: 'fixed', ms: 0 }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { type: 'fixed', ms: waitMs(value, from) }
  }
  const { seconds, annotation } = mapping(value, ['seconds', 'annotation'], from)
  if ((seconds === undefined) === (annotation === undefined)) {
    throw bad(`${from}: expected a duration, {seconds: PATH} or {annotation: KEY}`)
  }
  return annotation === undefined
    ? { type: 'seconds', path: fieldPath(seconds, `${from}.seconds`) }
    : { type: 'duration', annotation: annotationKey(annotation, `${from}.annotation`) }
}

/** `0`, `90m`, `1h30m`, `7d`, `2w`. */
export function waitMs(value: unknown, from: string): number {
  const ms = value === 0 || value === '0' ? 0 : typeof value === 'string' ? durationOf(value) : null
  if (ms !== null && ms <= MOST_MS) return ms
  throw bad(`${from}: expected a duration such as 30m, 72h or 7d, at most 36500d`)
}
