/**
 * Label selectors as kubectl takes them, as terms of a rule: a row a selector, and what is none.
 */
import { deepEqual, throws } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Term } from '../../core/model/rule/rule.ts'
import { isLabelKey, labelTerms } from './label-selector.ts'

const GOOD: readonly (readonly [string, string])[] = [
  ['preview=true', 'preview in [true]'],
  ['preview==true', 'preview in [true]'],
  ['preview = true', 'preview in [true]'],
  ['preview=', 'preview in []'],
  ['preview!=true', 'preview not-in [true]'],
  ['preview', 'preview exists'],
  ['!preview', 'preview absent'],
  ['! preview', 'preview absent'],
  ['tier in (a, b)', 'tier in [a b]'],
  ['tier notin (a)', 'tier not-in [a]'],
  ['tier in ()', 'tier in []'],
  ['tier in (a,,b)', 'tier in [a  b]'],
  ['tier in (a,)', 'tier in [a ]'],
  ['in in (in,notin)', 'in in [in notin]'],
  ['a=,b', 'a in []; b exists'],
  ['example.com/a=B_c.d', 'example.com/a in [B_c.d]'],
  ['preview=true,tier in (a,b),!keep', 'preview in [true]; tier in [a b]; keep absent'],
]

function shown(terms: readonly Term[]): string {
  return terms
    .map(({ key, operator, values }) =>
      /in$/.test(operator) ? `${key} ${operator} [${values.join(' ')}]` : `${key} ${operator}`,
    )
    .join('; ')
}

for (const [text, terms] of GOOD) {
  test(`${text} is ${terms}`, () => deepEqual(shown(labelTerms(text, 'f')), terms))
}

const BAD: readonly (readonly [string, RegExp])[] = [
  ['', /expected the key of a label at its end/],
  [',', /"," is no key of a label/],
  ['a,', /expected the key of a label at its end/],
  ['a b', /expected =, !=, in or notin before "b"/],
  ['a=b c', /expected "," before "c"/],
  ['a=b=c', /expected "," before "="/],
  ['a in b', /expected "\(" after in and notin/],
  ['a in (b', /expected "," or "\)" before its end/],
  ['a in (b c)', /expected "," or "\)" before "c"/],
  ['a>1', /compares no numbers/],
  ['a=-b', /"-b" is no value of a label/],
  ['/a', /"\/a" is no key of a label/],
  ['Example.com/a', /is no key of a label/],
  ['a..b/c', /is no key of a label/],
  [`${'a'.repeat(64)}`, /is no key of a label/],
  ['a='.padEnd(4_097, 'b'), /more than 4096 characters/],
]

for (const [text, sentence] of BAD) {
  test(`${JSON.stringify(text.slice(0, 20))} is no selector`, () =>
    throws(() => labelTerms(text, 'f'), { name: 'SettingError', message: sentence }))
}

const value = fc.stringMatching(/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9])?)?$/)
const key = fc
  .stringMatching(/^([a-z]{1,3}\.[a-z]{1,3}\/)?[A-Za-z]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9])?$/)
  .filter(isLabelKey)
const term: fc.Arbitrary<Term> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom('in' as const, 'not-in' as const),
    values: fc.uniqueArray(value, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    key,
    operator: fc.constantFrom('exists' as const, 'absent' as const),
    values: fc.constant([]),
  }),
)

test('terms that are written as a selector are read again', () => {
  fc.assert(
    fc.property(fc.array(term, { minLength: 1, maxLength: 5 }), (terms) => {
      const text = terms.map(({ key: each, operator, values }) => {
        if (operator === 'exists') return each
        if (operator === 'absent') return `!${each}`
        return `${each} ${operator === 'in' ? 'in' : 'notin'} (${values.join(', ')})`
      })
      deepEqual(
        labelTerms(text.join(','), 'f'),
        terms.map((each) => ({ ...each })),
      )
    }),
  )
})
