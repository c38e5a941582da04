/**
 * A restore of any object creates only what named it, or a dependent of it, by uid *and*
 * coordinates, however uids are borne across namespaces and kinds; and nothing that hands out
 * rights (T4).
 *
 * What must stay true: who owns whom is said here by the objects alone.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { OwnerReference } from '../../core/model/object.ts'
import { groupOf, isSamePlace } from '../../core/model/object.ts'
import { runs } from '../../testing/hostile.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { planRestore } from './restore-plan.ts'
import { identityIn, rootsOf, type ServedAs, subtreeOf } from './selection.ts'
import type { Look } from './survey.ts'

const RBAC = 'rbac.authorization.k8s.io'
const KINDS = [
  { group: '', kind: 'ConfigMap', scope: 'Namespaced' },
  { group: 'apps', kind: 'Deployment', scope: 'Namespaced' },
  { group: RBAC, kind: 'RoleBinding', scope: 'Namespaced' },
  { group: 'x.io', kind: 'Team', scope: 'Cluster' },
] as const

const FLAWS = ['none', 'none', 'none', 'lower', 'kind', 'name'] as const

const archive = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    namespace: fc.constantFrom('shop', 'evil'),
    refs: fc.array(fc.record({ to: fc.nat(9), flaw: fc.constantFrom(...FLAWS) }), { maxLength: 3 }),
  }),
  { minLength: 2, maxLength: 10 },
)

type Told = typeof archive extends fc.Arbitrary<infer T> ? T : never

/** Two of a kind may have one name, each in its namespace. */
function objectsOf(told: Told): ArchivedObject[] {
  const placed = told.map(({ kind: { group, kind, scope }, namespace }, n) => ({
    ...{ group, kind, namespace: scope === 'Cluster' ? '' : namespace, name: `n${n >> 1}` },
    uid: `u${n}`,
  }))
  return told.map(({ refs }, n): ArchivedObject => {
    const ownerReferences = refs.map(({ to, flaw }): OwnerReference => {
      const owner = placed[to % placed.length]!
      const { group } = flaw === 'kind' ? { group: 'other.io' } : owner
      return {
        apiVersion: group === '' ? 'v1' : `${group}/v1`,
        kind: flaw === 'lower' ? owner.kind.toLowerCase() : owner.kind,
        name: flaw === 'name' ? 'z' : owner.name,
        uid: owner.uid,
        ...{ controller: null, blockOwnerDeletion: null },
      }
    })
    return {
      ...{ type: 'Archived', cluster: 'c', ...placed[n]!, version: 'v1', resource: 'x' },
      ...{ resourceVersion: '7', ownerReferences, command: '', createdAt: 0, at: n + 1 },
      ...{
        rule: '',
        ownerElsewhere: '',
        content: 'whole',
        keyId: '',
        nonce: new Uint8Array(),
        digest: '',
      },
      ...{ partition: 0, offset: BigInt(n) },
    }
  })
}

function isOwner(owner: ArchivedObject, dependent: ArchivedObject): boolean {
  return dependent.ownerReferences.some(({ apiVersion, kind, name, uid }) => {
    const isKind = kind.toLowerCase() === owner.kind.toLowerCase()
    const isPlace = owner.namespace === '' || owner.namespace === dependent.namespace
    const isNamed = isKind && name === owner.name && groupOf(apiVersion) === owner.group
    return uid === owner.uid && isNamed && isPlace
  })
}

function below(root: ArchivedObject, all: readonly ArchivedObject[]): Set<string> {
  const found = new Set([root])
  for (const owner of found) for (const each of all) if (isOwner(owner, each)) found.add(each)
  return new Set([...found].map(({ uid }) => uid))
}

const served: ServedAs = ({ group, kind }) => {
  const isIt = (each: (typeof KINDS)[number]): boolean =>
    each.group === group && [each.kind, each.kind.toLowerCase()].includes(kind)
  return KINDS.find(isIt)
}

const ABSENT: Look = { type: 'Absent' }
/** Another object has each owner's name: with relink all of it may be created. */
const OTHER = { type: 'Found', object: { uid: 'other', deletedAt: null, annotations: [] } }
const SURVEY = { at: () => ABSENT, owner: () => OTHER as unknown as Look }

test('whatever uids objects bear, a restore creates only what uid and coordinates both name', () => {
  let [created, strangers] = [0, 0]
  fc.assert(
    fc.property(archive, (told) => {
      const all = objectsOf(told)
      const objects = new Map(all.map((each) => [each.uid, each]))
      for (const root of all) {
        const meant = below(root, all)
        const chosen = subtreeOf(objects, identityIn(root))
        deepEqual(new Set(chosen.map(({ uid }) => uid)), meant, root.uid)
        const byUid = rootsOf(objects, { uid: root.uid }, served).map(({ identity }) => identity)
        deepEqual(byUid, [identityIn(root)])
        const wishes = { lost: 'relink', controlled: true, included: new Set<never>() } as const
        for (const { type, object } of planRestore(chosen, SURVEY, wishes)) {
          if (type !== 'create') continue
          created += 1
          ok(object.group !== RBAC, `${object.kind} was not asked for`)
          ok(root.namespace === '' || object.namespace === root.namespace, object.uid)
        }
        strangers += all.filter(({ uid, ownerReferences }) => {
          return !meant.has(uid) && ownerReferences.some((each) => each.uid === root.uid)
        }).length
      }
    }),
    runs(200),
  )
  ok(created > 0 && strangers > 0, `${created} ${strangers}`)
})

test('an owner that only its dependents tell of is where they name it', () => {
  fc.assert(
    fc.property(archive, (told) => {
      const all = objectsOf(told)
      const [root, ...rest] = all
      if (root === undefined) return
      // The root itself was deleted by a person, so it was not archived.
      const objects = new Map(rest.map((each) => [each.uid, each]))
      for (const { identity } of rootsOf(objects, { uid: root.uid }, served)) {
        const isRoot = isSamePlace(identity, root)
        const direct = rest.filter((each) => isOwner(root, each)).map(({ uid }) => uid)
        const chosen = new Set(subtreeOf(objects, identity).map(({ uid }) => uid))
        if (isRoot) for (const uid of direct) ok(chosen.has(uid), uid)
        for (const uid of chosen) {
          const { namespace } = objects.get(uid)!
          ok(identity.namespace === '' || namespace === identity.namespace, uid)
        }
      }
    }),
    runs(200),
  )
})
