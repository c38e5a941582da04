/** Protection is decided from the object, the policy and the directives alone: a row a case. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { object } from '../testing/notation.ts'
import { ALL_MARKS, MARKED, projectionDigest, projectionOf } from './mark.ts'
import { policyFor } from './policy.ts'
import type { EvidenceClass } from './proof.ts'
import { type Guarding, isProtectionHold, protectedNow } from './protection.ts'
import { readSubject } from './subject.ts'

const { protection } = policyFor('enforce', 'guarded')
const GUARDING: Guarding = { policy: protection, subjects: [], namespacesWhereUnseen: ['system'] }
const PARITY: Guarding = {
  policy: policyFor('enforce', 'parity').protection,
  subjects: [],
  namespacesWhereUnseen: [],
}
const by = (subject: string): Guarding => ({
  ...PARITY,
  subjects: [{ subject, who: 'ann', why: '' }],
})
const policy = (more: Partial<typeof protection>): Guarding => ({
  ...PARITY,
  policy: { ...PARITY.policy, ...more },
})

const ARGO = 'annotation:argocd.argoproj.io/sync-options'
const HELM = 'annotation:helm.sh/resource-policy'

const spared: readonly (readonly [string, string, EvidenceClass, Guarding, boolean])[] = [
  ['nothing', 'pod/a', 'E3', GUARDING, false],
  ['our annotation, empty', 'pod/a [annotation:kinfold.dev/protected=]', 'E1', PARITY, true],
  ['our annotation, false', 'pod/a [annotation:kinfold.dev/protected=false]', 'E1', PARITY, false],
  ['our label', 'pod/a [label:kinfold.dev/protected=yes]', 'W', PARITY, true],
  ['Argo CD, Prune', `pod/a [${ARGO}=Prune=false]`, 'E1', GUARDING, true],
  ['Argo CD, Delete', `pod/a [${ARGO}=A=b,Delete=confirm]`, 'E1', GUARDING, true],
  ['Argo CD, something else', `pod/a [${ARGO}=Prune=true,XPrune=false]`, 'E1', GUARDING, false],
  ['Argo CD where it does not count', `pod/a [${ARGO}=Prune=false]`, 'E1', PARITY, false],
  ['Helm', `pod/a [${HELM}=keep]`, 'E1', GUARDING, true],
  ['Helm, something else', `pod/a [${HELM}=drop]`, 'E1', GUARDING, false],
  ['a built-in kind, seen to go', 'pv/a', 'E1', GUARDING, false],
  ['a built-in kind, waited for', 'pv/a', 'W', GUARDING, false],
  ['a built-in kind, missing', 'pv/a', 'E2', GUARDING, true],
  ['a built-in kind, never seen', 'pv/a', 'E3', GUARDING, true],
  ['a namespace of the system, seen to go', 'pod/a in system', 'E1', GUARDING, false],
  ['a namespace of the system, missing', 'pod/a in system', 'E2', GUARDING, true],
  ['a namespace of the policy', 'pod/a', 'E1', policy({ namespaces: ['ns'] }), true],
  ['a label of the policy', 'pod/a [label:t=g]', 'E1', policy({ labels: ['t'] }), true],
  ['its value', 'pod/a [label:t=g]', 'E1', policy({ labels: ['t=g'] }), true],
  ['another value', 'pod/a [label:t=h]', 'E1', policy({ labels: ['t=g'] }), false],
  ['an annotation', 'pod/a [annotation:t=g]', 'E1', policy({ annotations: ['t'] }), true],
  ['a label for an annotation', 'pod/a [label:t=g]', 'E1', policy({ annotations: ['t'] }), false],
  ['a namespace by name', 'pod/a', 'E1', by('namespace/ns'), true],
  ['another namespace by name', 'pod/a', 'E1', by('namespace/n'), false],
  ['a kind by name', 'rs/a', 'E1', by('kind/ReplicaSet.apps'), true],
  ['a kind of another group', 'rs/a', 'E1', by('kind/ReplicaSet'), false],
  ['a label by name', 'pod/a [label:t=g]', 'E1', by('label/t=g'), true],
  ['an annotation by name', 'pod/a [annotation:x.y/t=g]', 'E1', by('annotation/x.y/t'), true],
]

for (const [what, text, evidence, guarding, isSpared] of spared) {
  test(`${what} ${isSpared ? 'spares' : 'does not spare'} it from ${evidence}`, () => {
    const reason = protectedNow(object(text, '1'), evidence, guarding)
    equal(reason !== '', isSpared, reason)
    equal(isProtectionHold(`held: its owner is gone; ${reason}`), isSpared)
  })
}

test('what a controller copies to its ReplicaSet says nothing of that, but our own mark does', () => {
  const copied = (marks: string) => {
    const { ownerReferences, ...rs } = object(`rs/a <- deploy/d [${marks}]`, '1')
    return {
      ...rs,
      ownerReferences: ownerReferences.map((each) => ({ ...each, controller: true })),
    }
  }
  equal(protectedNow(copied(`${HELM}=keep`), 'E1', GUARDING), '')
  notEqual(protectedNow(object(`rs/a [${HELM}=keep]`, '1'), 'E1', GUARDING), '')
  notEqual(protectedNow(copied('annotation:kinfold.dev/protected=1'), 'E1', GUARDING), '')
})

const subjects: readonly (readonly [string, unknown])[] = [
  ['namespace/prod', { type: 'namespace', name: 'prod' }],
  ['kind/Secret', { type: 'kind', kind: 'Secret', group: '' }],
  ['kind/Widget.example.com', { type: 'kind', kind: 'Widget', group: 'example.com' }],
  ['label/a.b/c', { type: 'label', key: 'a.b/c', value: null }],
  ['label/a.b/c=d=e', { type: 'label', key: 'a.b/c', value: 'd=e' }],
  ['annotation/c=', { type: 'annotation', key: 'c', value: '' }],
  ['namespace/', undefined],
  ['namespace/a/b', undefined],
  ['namespace', undefined],
  ['pod/a', undefined],
  ['kind/', undefined],
  ['label/=x', undefined],
  ['label/a b', undefined],
  ['', undefined],
]

for (const [text, expected] of subjects) {
  test(`"${text}" is ${expected === undefined ? 'no subject' : 'a subject'}`, () => {
    deepEqual(readSubject(text), expected)
  })
}

test('every key that may protect is told of every object, and another set has another digest', () => {
  const { labels, annotations } = MARKED
  for (const { on, key } of ALL_MARKS)
    equal((on === 'label' ? labels : annotations).includes(key), true)
  const more = projectionOf({ labels: ['tier=gold'], annotations: ['x'] }, [
    'label/own',
    'kind/Pod',
  ])
  deepEqual(more.labels, [...labels, 'tier', 'own'].sort())
  deepEqual(more.annotations, [...annotations, 'x'].sort())
  notEqual(projectionDigest(more), projectionDigest(MARKED))
  equal(projectionDigest(projectionOf(null, ['namespace/a'])), projectionDigest(MARKED))
})
