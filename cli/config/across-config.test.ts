/** Which marks are read, as the config file says, and what ends the start. */
import { deepEqual, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { NO_MARKS } from '../../ports/record/manager-mark.ts'
import { marksOf } from './across-config.ts'

test('left out, or empty, it reads no mark', () => {
  deepEqual(marksOf(undefined, 'f'), NO_MARKS)
  deepEqual(marksOf({}, 'f'), NO_MARKS)
})

test('tools are read once each, whatever their order', () => {
  deepEqual(marksOf({ marks: ['helm', 'argo', 'helm'] }, 'f'), {
    tools: ['argo', 'helm'],
    argoInstanceLabel: null,
  })
  deepEqual(marksOf({ marks: ['argo'], argoInstanceLabel: 'example.com/app' }, 'f'), {
    tools: ['argo'],
    argoInstanceLabel: 'example.com/app',
  })
})

const WRONG = [
  [['argo'], /f: expected a mapping with marks, argoInstanceLabel/],
  [{ mark: ['argo'] }, /unknown key mark/],
  [{ marks: ['argocd'] }, /f\.marks: "argocd" is none of argo, flux/],
  [{ marks: ['helm'], argoInstanceLabel: 'a' }, /add argo to marks/],
  [{ marks: ['argo'], argoInstanceLabel: 'a b' }, /"a b" is no label/],
] as const

for (const [section, sentence] of WRONG) {
  test(`refuses ${JSON.stringify(section)}`, () => {
    throws(() => marksOf(section, 'f'), sentence)
  })
}
