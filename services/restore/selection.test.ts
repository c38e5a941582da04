/** Which of the archived objects a restore is about. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerReference } from '../../core/model/object.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { deletedByRule, existingAt, rootsOf, type ServedAs, subtreeOf } from './selection.ts'

function archived(
  uid: string,
  createdAt: number | null,
  at: number,
): readonly [string, ArchivedObject] {
  const object: ArchivedObject = {
    ...{ type: 'Archived', cluster: 'c', uid, group: '', kind: 'ConfigMap', namespace: 'default' },
    ...{ name: 'a', version: 'v1', resource: 'configmaps', resourceVersion: '7' },
    ...{
      ownerReferences: [],
      command: '',
      createdAt,
      at,
      rule: '',
      ownerElsewhere: '',
      content: 'whole',
      keyId: '',
    },
    ...{ nonce: new Uint8Array(), digest: '', partition: 0, offset: 0n },
  }
  return [uid, object]
}

const OBJECTS = new Map([
  archived('first', 10, 20),
  archived('second', 20, 30),
  archived('later', 40, 50),
  archived('unknown', null, 25),
])

for (const [atMs, expected] of [
  [9, ['unknown']],
  [10, ['first', 'unknown']],
  [20, ['first', 'second', 'unknown']],
  [26, ['second']],
  [35, []],
  [50, ['later']],
  [51, []],
] as const) {
  test(`at ${atMs} there were ${expected.join(', ') || 'none'}, and they were deleted since`, () => {
    deepEqual([...existingAt(OBJECTS, atMs).keys()], expected)
  })
}

/**
 * `ns/name` of a ConfigMap; `/name` of a Team, which is cluster-scoped. Uids are the names, in
 * whatever namespace.
 */
function dependent(
  place: string,
  owner: string,
  kind = 'ConfigMap',
): readonly [string, ArchivedObject] {
  const [namespace = '', name = ''] = place.split('/')
  const flags = { controller: null, blockOwnerDeletion: null }
  const reference: OwnerReference = { apiVersion: 'v1', kind, name: owner, uid: owner, ...flags }
  const [, object] = archived(place, 0, 1)
  const own = namespace === '' ? 'Team' : 'ConfigMap'
  return [place, { ...object, kind: own, namespace, name, ownerReferences: [reference] }]
}

test('what a rule had deleted since then is taken with its dependents, each once', () => {
  const byRule = ([uid, object]: readonly [string, ArchivedObject], rule: string) =>
    [uid, { ...object, rule }] as const
  const objects = new Map([
    byRule(dependent('ns/old', ''), 'previews'),
    byRule(['recent', { ...archived('recent', 0, 90)[1], name: 'recent' }], 'previews'),
    byRule(archived('other', 0, 95), 'tokens'),
    archived('by-hand', 0, 95),
    byRule(dependent('default/child', 'recent'), ''),
  ])
  // Of the deletion that was observed only the record from before it names the rule.
  objects.set(...archived('seen', 0, 60))
  const before = new Map([byRule(archived('seen', 0, 59), 'seen')])
  const since = (at: number, rule = 'previews'): readonly string[] =>
    deletedByRule(objects, before, { rule, since: at }).map(({ uid }) => uid)
  deepEqual(since(50), ['recent', 'default/child'])
  deepEqual(since(91), [])
  deepEqual(since(0, 'tokens'), ['other'])
  deepEqual([since(60, 'seen'), since(61, 'seen')], [['seen'], []])
  deepEqual(since(0, 'none'), [])
})

const served: ServedAs = ({ group, kind }) => {
  const named = kind.toLowerCase() === 'team' ? 'Team' : 'ConfigMap'
  return { group, kind: named, scope: named === 'Team' ? 'Cluster' : 'Namespaced' }
}

function chosen(
  objects: ReadonlyMap<string, ArchivedObject>,
  selector: Parameters<typeof rootsOf>[1],
): readonly (readonly string[])[] {
  return rootsOf(objects, selector, served).map(({ identity }) => {
    const { kind, namespace, name } = identity
    const below = subtreeOf(objects, identity).map(({ uid }) => uid)
    return [`${kind} ${namespace}/${name}`, ...below]
  })
}

test('T4: below an object of a namespace nothing is chosen in another, whoever bears its uid there', () => {
  const objects = new Map([
    dependent('shop/a', 'web'),
    dependent('evil/b', 'web'),
    dependent('evil/c', 'shop/a'),
    dependent('shop/other-kind', 'web', 'Team'),
    dependent('shop/lower', 'web', 'configmap'),
  ])
  const named = { kind: 'configmap', name: 'web', namespace: 'shop' }
  deepEqual(chosen(objects, named), [['ConfigMap shop/web', 'shop/a', 'shop/lower']])
})

test('a uid that several name as different owners is every one of them, and no choice of ours', () => {
  const objects = new Map([dependent('shop/a', 'web'), dependent('evil/b', 'web')])
  deepEqual(chosen(objects, { uid: 'web' }), [
    ['ConfigMap shop/web', 'shop/a'],
    ['ConfigMap evil/web', 'evil/b'],
  ])
})

test('an object that is in the archive is where it was, whatever bears its uid', () => {
  const objects = new Map([dependent('shop/a', 'web'), dependent('evil/b', 'shop/a')])
  deepEqual(chosen(objects, { uid: 'shop/a' }), [['ConfigMap shop/a', 'shop/a']])
})

test('below an object without a namespace is what named it, in whatever namespace', () => {
  const objects = new Map([dependent('shop/a', 'red', 'Team'), dependent('evil/b', 'red', 'team')])
  const named = { kind: 'team', name: 'red', namespace: 'shop' }
  deepEqual(chosen(objects, named), [['Team /red', 'shop/a', 'evil/b']])
})
