/** Protection is decided from the object, the policy and the directives alone: a row a case. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { object } from '../../testing/model/notation.ts'
import { World } from '../../testing/model/story.ts'
import type { Guarding } from '../graph/guarding.ts'
import { protectedNow } from '../graph/guarding.ts'
import { EMPTY_SET } from '../model/hash.ts'
import type { ObjectMeta } from '../model/object.ts'
import { type Policy, policyFor } from '../model/policy.ts'
import type { Evidence } from '../model/proof.ts'
import { readSubject } from '../model/subject.ts'

const { protection } = policyFor('enforce', 'guarded')
const GUARDING: Guarding = { policy: protection, subjects: [], namespacesWhereUnseen: ['system'] }
const PARITY: Guarding = {
  policy: policyFor('enforce', 'parity').protection,
  subjects: [],
  namespacesWhereUnseen: [],
}
const by = (subject: string): Guarding => ({
  ...PARITY,
  subjects: [{ subject, who: 'ann', why: '', scope: '' }],
})
const policy = (more: Partial<typeof protection>): Guarding => ({
  ...PARITY,
  policy: { ...PARITY.policy, ...more },
})

const ARGO = 'annotation:argocd.argoproj.io/sync-options'
const HELM = 'annotation:helm.sh/resource-policy'

const spared: readonly (readonly [string, string, Evidence, Guarding, boolean])[] = [
  ['nothing', 'pod/a', 'not-found', GUARDING, false],
  ['our annotation, empty', 'pod/a [annotation:kinfold.dev/protected=]', 'deleted', PARITY, true],
  [
    'our annotation, false',
    'pod/a [annotation:kinfold.dev/protected=false]',
    'deleted',
    PARITY,
    false,
  ],
  ['our label', 'pod/a [label:kinfold.dev/protected=yes]', 'waiting', PARITY, true],
  ['Argo CD, Prune', `pod/a [${ARGO}=Prune=false]`, 'deleted', GUARDING, true],
  ['Argo CD, Delete', `pod/a [${ARGO}=A=b,Delete=confirm]`, 'deleted', GUARDING, true],
  [
    'Argo CD, something else',
    `pod/a [${ARGO}=Prune=true,XPrune=false]`,
    'deleted',
    GUARDING,
    false,
  ],
  ['Argo CD where it does not count', `pod/a [${ARGO}=Prune=false]`, 'deleted', PARITY, false],
  ['Helm', `pod/a [${HELM}=keep]`, 'deleted', GUARDING, true],
  ['Helm, something else', `pod/a [${HELM}=drop]`, 'deleted', GUARDING, false],
  ['a built-in kind, seen to go', 'pv/a', 'deleted', GUARDING, false],
  ['a built-in kind, waited for', 'pv/a', 'waiting', GUARDING, false],
  ['a built-in kind, missing', 'pv/a', 'missing', GUARDING, true],
  ['a built-in kind, never seen', 'pv/a', 'not-found', GUARDING, true],
  ['a namespace of the system, seen to go', 'pod/a in system', 'deleted', GUARDING, false],
  ['a namespace of the system, missing', 'pod/a in system', 'missing', GUARDING, true],
  ['a namespace of the policy', 'pod/a', 'deleted', policy({ namespaces: ['ns'] }), true],
  ['a label of the policy', 'pod/a [label:t=g]', 'deleted', policy({ labels: ['t'] }), true],
  ['its value', 'pod/a [label:t=g]', 'deleted', policy({ labels: ['t=g'] }), true],
  ['another value', 'pod/a [label:t=h]', 'deleted', policy({ labels: ['t=g'] }), false],
  ['an annotation', 'pod/a [annotation:t=g]', 'deleted', policy({ annotations: ['t'] }), true],
  [
    'a label for an annotation',
    'pod/a [label:t=g]',
    'deleted',
    policy({ annotations: ['t'] }),
    false,
  ],
  ['a namespace by name', 'pod/a', 'deleted', by('namespace/ns'), true],
  ['another namespace by name', 'pod/a', 'deleted', by('namespace/n'), false],
  ['a kind by name', 'rs/a', 'deleted', by('kind/ReplicaSet.apps'), true],
  ['a kind of another group', 'rs/a', 'deleted', by('kind/ReplicaSet'), false],
  ['a label by name', 'pod/a [label:t=g]', 'deleted', by('label/t=g'), true],
  ['an annotation by name', 'pod/a [annotation:x.y/t=g]', 'deleted', by('annotation/x.y/t'), true],
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
  ['a namespace of the policy', NAMESPACE, 'deleted', policy({ namespaces: ['vault'] }), true],
  ['another one', NAMESPACE, 'deleted', policy({ namespaces: ['vaults'] }), false],
  ['a namespace by name', NAMESPACE, 'deleted', by('namespace/vault'), true],
  [
    'a namespace of the system, missing',
    NAMESPACE,
    'not-found',
    { ...PARITY, namespacesWhereUnseen: ['vault'] },
    true,
  ],
  ['a thing of that name', object('pv/vault', '1'), 'deleted', by('namespace/vault'), false],
  ['the definition of a kind', DEFINITION, 'deleted', by('kind/Widget.example.com'), true],
  ['one of another group', DEFINITION, 'deleted', by('kind/Widget.ample.com'), false],
  ['a kind of the core group', DEFINITION, 'deleted', by('kind/Secret'), false],
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

/**
 * A pod whose owner was deleted and whose hold is over, kept by `kept`; then the later policies are
 * set, ten seconds apart.
 */
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
      '> DeleteObject pod/a Background deleted: ReplicaSet "web" no longer exists',
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
        ...{ listed: EMPTY_SET, who: 'ann', isProven: false, why: '' },
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
    deepEqual(later, ['> DeleteObject pod/a Background deleted: ReplicaSet "web" no longer exists'])
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
  equal(protectedNow(copied(`${HELM}=keep`), 'deleted', GUARDING), '')
  notEqual(protectedNow(object(`rs/a [${HELM}=keep]`, '1'), 'deleted', GUARDING), '')
  notEqual(protectedNow(copied('annotation:kinfold.dev/protected=1'), 'deleted', GUARDING), '')
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
