/**
 * What a rule sets in the place of a deletion: `annotate: {key: example.com/stale, value: 'true'}`.
 *
 * What must stay true: nothing of a deletion is said beside it. The value is read from an object as
 * a whole, so an object that has it is known to.
 *
 * Not here: which keys are refused (core/model/rule/annotation.ts).
 */
import { refusedKey } from '../../core/model/rule/annotation.ts'
import type { Rule, RuleAnnotation } from '../../core/model/rule/rule.ts'
import { type Mapping, mapping } from './rule-term.ts'
import { bad, show } from './setting.ts'

/** They are about a DELETE. */
const OF_DELETIONS = ['warn', 'propagationPolicy', 'gracePeriodSeconds', 'failFirst'] as const
const MOST_VALUE = 256

export function annotateOf(fields: Mapping, from: string): RuleAnnotation | null {
  const { annotate } = fields
  if (annotate === undefined) return null
  const { key, value } = mapping(annotate, ['key', 'value'], `${from}.annotate`)
  if (typeof key !== 'string') {
    throw bad(`${from}.annotate.key: expected the key of an annotation, such as example.com/stale`)
  }
  const refused = refusedKey(key)
  if (refused !== '') {
    throw bad(`${from}.annotate.key: no rule sets ${show(key.slice(0, 200))}: ${refused}`)
  }
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  if (typeof text !== 'string' || text.length > MOST_VALUE) {
    throw bad(`${from}.annotate.value: expected a text of at most ${MOST_VALUE} characters`)
  }
  const other = OF_DELETIONS.find((each) => fields[each] !== undefined)
  if (other === undefined) return { key, value: text }
  throw bad(`${from}: ${other} is of a deletion, and a rule with annotate deletes nothing`)
}

/** Of what is being deleted no annotation is left. */
export function checkAnnotate({ annotate, match }: Rule, from: string): void {
  if (annotate === null || !match.terminating) return
  throw bad(`${from}: annotate is about objects that stay, and match.terminating about no others`)
}
