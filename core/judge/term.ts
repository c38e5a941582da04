/**
 * Whether a term of a rule holds for the labels, annotations or fields of an object: an absent one
 * is no value.
 */
import type { Pair } from '../model/object.ts'
import type { Term } from '../model/rule/rule.ts'

export function areTrue(terms: readonly Term[], pairs: readonly Pair[]): boolean {
  return terms.every((term) => isTrue(term, textOf(pairs, term.key)))
}

export function isTrue({ operator, values }: Term, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value)
    case 'not-in':
      return value === undefined || !values.includes(value)
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
  }
}

export function textOf(pairs: readonly Pair[], key: string): string | undefined {
  return pairs.find((pair) => pair.key === key)?.value
}
