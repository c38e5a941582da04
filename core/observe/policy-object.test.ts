/** Which rules of a cluster's own objects are in force, however many there are. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import type { Event } from '../model/event.ts'

const SERVED = ['serve cleanup', 'relist cleanup', 'serve clustercleanup', 'relist clustercleanup']

function world(...steps: readonly string[]): World {
  const begun = new World()
  begun.begin()
  for (const step of [...SERVED, ...steps]) begun.step(step)
  return begun
}

function namesIn({ folder }: World): readonly string[] {
  folder.commit()
  deepEqual(check(folder.state), [])
  return factsOf(folder.graph, 'c').rules.map(({ name }) => name)
}

function policy(namespace: string, name: string, createdSeconds: number, rule = 'pod 60'): string {
  const uid = `${namespace}-${name}-${createdSeconds}`
  return `put-policy cleanup/${name}@${uid} in ${namespace} [created:${createdSeconds}] = ${rule}`
}

test('of all namespaces 200 together, the oldest; those of the cluster beside them', () => {
  const all = Array.from({ length: 220 }, (_, index) =>
    policy(`n${index % 11}`, `p${index}`, 1_000 - index),
  )
  const { length, 0: first } = namesIn(world('put-policy clustercleanup/all = cm 60', ...all))
  // Its creation is the oldest.
  deepEqual([length, first], [201, '*/all'])
})

test('an older one that is seen later takes the place of the youngest, and leaves none of its state', () => {
  const all = Array.from({ length: 20 }, (_, index) =>
    policy('ns', `p${index}`, 10 + index, 'pod 60 limit:5'),
  )
  const begun = world(...all, 'put pod/a', 'beat 60')
  ok(namesIn(begun).includes('ns/p19'))
  begun.step(policy('ns', 'older', 5))
  const names = namesIn(begun)
  deepEqual([names.length, names[0], names.includes('ns/p19')], [20, 'ns/older', false])
})

test('one that was made again under its name replaces the former, whose deletion then ends nothing', () => {
  const begun = world(policy('ns', 'p', 1), policy('ns', 'p', 2, 'cm 60'))
  deepEqual(namesIn(begun), ['ns/p'])
  const kinds = (): unknown => factsOf(begun.folder.graph, 'c').rules[0]?.match.kinds
  deepEqual(kinds(), [{ group: '', kind: 'ConfigMap' }])
  begun.step('delete cleanup/p@ns-p-1 in ns')
  deepEqual([namesIn(begun), kinds()], [['ns/p'], [{ group: '', kind: 'ConfigMap' }]])
})

test('a rule that is about another namespace than that of its object is none', () => {
  const begun = world()
  const own = begun.put(policy('ns', 'p', 1).slice('put-policy '.length).split(' = ')[0] ?? '')
  ok('object' in own && own.object !== null)
  const [made] = begun.events(policy('ns', 'p', 1))
  ok(made !== undefined && made.type === 'ObjectUpdated')
  const { projected } = made.object
  const rule = projected?.policy?.rule
  ok(projected != null && projected.policy !== null && rule != null)
  for (const namespaces of [[], ['other'], ['ns', 'other'], ['*']]) {
    const other = { ...rule, match: { ...rule.match, namespaces } }
    const policy = { ...projected.policy, rule: other }
    const event: Event = {
      ...made,
      object: { ...made.object, projected: { ...projected, policy } },
    }
    begun.tell(event)
    deepEqual(namesIn(begun), [], namespaces.join())
  }
  begun.tell(made)
})

test('an author who enforces and suspends all day leaves no work behind, and judges once meanwhile', () => {
  const begun = world(policy('ns', 'p', 1), 'many 600 pod/a#')
  let most = 0
  for (let each = 0; each < 50; each++) {
    const rule = each % 2 === 0 ? 'pod 600 enforced' : 'pod 600'
    const [event] = begun.events(policy('ns', 'p', 1, rule))
    ok(event !== undefined)
    // As if no `Continue` came in between.
    begun.folder.foldOne(event, begun.now)
    const { head = 0, tail = 0 } = factsOf(begun.folder.graph, 'c').lane('ns') ?? {}
    most = Math.max(most, tail - head)
  }
  ok(most <= 2, `${most} works at once`)
})

test('a directive enforces none of them', () => {
  const begun = world(policy('ns', 'p', 1))
  equal(
    begun.step('enforce-rule ns/p')[0],
    'dropped: an annotation of its object enforces that rule',
  )
})
