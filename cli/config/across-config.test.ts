/** Which marks are read, as the config file says, and what ends the start. */
import { deepEqual, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { NO_MARKS } from '../../ports/record/manager-mark.ts'
import { marksOf, sharesOf } from './across-config.ts'

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
  [['argo'], /f: expected a mapping with marks, argoInstanceLabel, aliases, exports/],
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

test('clusters export nothing unless it says so, and are uids once it is read', () => {
  const [north, south] = ['a', 'b'].map((each) => {
    return `${each.repeat(8)}-0000-4000-8000-${each.repeat(12)}`
  })
  deepEqual(sharesOf(undefined, 'f').exports, [])
  deepEqual(sharesOf({ marks: ['helm'] }, 'f').exports, [])
  const given = {
    cluster: 'north',
    kinds: ['Widget.example.com'],
    namespaces: ['a'],
    to: ['south'],
  }
  const { exports } = sharesOf({ aliases: { north, south }, exports: [given] }, 'f')
  const kinds = [{ group: 'example.com', kind: 'Widget' }]
  deepEqual(exports, [{ cluster: north, kinds, namespaces: ['a'], to: [south] }])
  throws(() => sharesOf({ exports: [given] }, 'f'), /f\.exports\[0\]\.cluster: "north" is neither/)
})
