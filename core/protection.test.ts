/** Protection is decided from the object, the policy and the directives alone: a row a case. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { object } from '../testing/notation.ts'
import { World } from '../testing/story.ts'
import type { Guarding } from './guarding.ts'
import { isProtectionHold, protectedNow } from './guarding.ts'
import { ALL_MARKS, MARKED, projectionDigest, projectionOf } from './mark.ts'
import type { ObjectMeta } from './object.ts'
import { type Policy, policyFor } from './policy.ts'
import type { EvidenceClass } from './proof.ts'
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
  })
}

const NAMESPACE: ObjectMeta = {
  ...object('pv/vault', '1'),
  group: '',
  kind: 'Namespace',
}
const DEFINITION: ObjectMeta = {
  ...object('pv/widgets.example.com', '1'),
  group: 'apiextensions.k8s.io',
  kind: 'CustomResourceDefinition',
}

for (const [what, thing, evidence, guarding, isSpared] of [
  ['a namespace of the policy', NAMESPACE, 'E1', policy({ namespaces: ['vault'] }), true],
  ['another one', NAMESPACE, 'E1', policy({ namespaces: ['vaults'] }), false],
  ['a namespace by name', NAMESPACE, 'E1', by('namespace/vault'), true],
  [
    'a namespace of the system, missing',
    NAMESPACE,
    'E3',
    { ...PARITY, namespacesWhereUnseen: ['vault'] },
    true,
  ],
  ['a thing of that name', object('pv/vault', '1'), 'E1', by('namespace/vault'), false],
  ['the definition of a kind', DEFINITION, 'E1', by('kind/Widget.example.com'), true],
  ['one of another group', DEFINITION, 'E1', by('kind/Widget.ample.com'), false],
  ['a kind of the core group', DEFINITION, 'E1', by('kind/Secret'), false],
] as const) {
  test(`${what} itself is ${isSpared ? '' : 'not '}spared from ${evidence} with what goes with it`, () => {
    equal(protectedNow(thing, evidence, guarding) !== '', isSpared)
  })
}

const guarded = policyFor('enforce', 'guarded')
const keeping = (more: Partial<typeof protection>): Policy => ({
  ...guarded,
  protection: { ...protection, ...more },
})

/** A pod whose owner went and whose hold is over, kept by `kept`; then those policies are said, ten seconds apart. */
function afterwards(kept: Policy, ...later: readonly Policy[]): readonly string[] {
  const world = new World()
  const say = (policy: Policy): readonly string[] =>
    world.tell({ type: 'PolicyChanged', policy, who: 'ann', why: '' })
  world.begin()
  say(kept)
  for (const event of [world.put('rs/web'), world.put('pod/a <- rs/web'), world.remove('rs/web')]) {
    world.tell(event)
  }
  deepEqual(world.tell(world.beat(60)), [], 'it is kept')
  const now = later.flatMap((policy) => [...say(policy), ...world.tell(world.beat(10))])
  deepEqual([...now, ...world.tell(world.beat(560))], [], 'it is kept for ten minutes more')
  return world.tell(world.beat(60))
}

for (const [what, ...policies] of [
  ['lets go', keeping({ namespaces: ['ns'] }), guarded],
  ['lets go and is said twice', keeping({ namespaces: ['ns'] }), guarded, guarded],
  ['first keeps more', keeping({ namespaces: ['ns'] }), keeping({ labels: ['a'] }), guarded],
] as const) {
  test(`I9: what a policy protected that ${what} is spared for ten minutes more`, () => {
    const [kept, ...later] = policies
    deepEqual(afterwards(kept, ...later), [
      '> DeleteObject pod/a Background E1: ReplicaSet "web" is gone',
    ])
  })
}

for (const how of ['a policy', 'an order'] as const) {
  test(`I9: a label that ${how} named is remembered for ten minutes, though nobody tells it any more`, () => {
    const world = new World()
    const say = (policy: Policy): readonly string[] =>
      world.tell({ type: 'PolicyChanged', policy, who: 'ann', why: '' })
    const order = (verb: 'protect' | 'unprotect'): readonly string[] =>
      world.tell({
        ...{ type: 'Directive', verb, cluster: '', subject: 'label/tier', digest: null },
        ...{ listed: [], who: 'ann', isProven: false, why: '' },
      })
    world.begin()
    say(how === 'a policy' ? keeping({ labels: ['tier'] }) : guarded)
    if (how === 'an order') order('protect')
    world.tell(world.put('rs/web'))
    world.tell(world.put('pod/a <- rs/web [label:tier=gold]'))
    world.tell(world.remove('rs/web'))
    deepEqual(world.tell(world.beat(60)), [], 'it is kept')
    const now = how === 'a policy' ? say(guarded) : order('unprotect')
    const retold = world.tell(world.put('pod/a <- rs/web'))
    deepEqual([...now, ...retold, ...world.tell(world.beat(580))], [], 'it is kept still')
    const later = [...world.tell(world.beat(30)), ...world.tell(world.beat(30))]
    deepEqual(later, ['> DeleteObject pod/a Background E1: ReplicaSet "web" is gone'])
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
