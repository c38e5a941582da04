/** The status of a reference is the first row of the table that fits. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { standingOf, standsOf } from './standing.ts'

// Steps as in a story; the last word is the status of the references of the object named last.
const cases = [
  ['an owner that is there', 'put rs/web; put pod/a <- rs/web', 'solid'],
  ['a cluster-scoped owner', 'put node/n; put pod/a in other <- node/n', 'solid'],
  ['a cluster-scoped owner of a cluster-scoped object', 'put node/n; put pv/a <- node/n', 'solid'],
  ['an owner held by a finalizer', 'put rs/web [deleting hold.io/x]; put pod/a <- rs/web', 'solid'],
  ['itself', 'put pod/a <- pod/a', 'solid'],
  [
    'an owner that the server said it deleted',
    'put rs/top; put rs/web <- rs/top; put pod/a <- rs/web; delete rs/top; settle rs/web done',
    'solid',
    'pod/a',
  ],
  ['an owner found by a GET', 'put pod/a <- rs/web; found rs/web', 'solid', 'pod/a'],
  [
    'an owner found waiting by a GET',
    'put pod/a <- rs/web; found rs/web [deleting foreground]',
    'waiting',
    'pod/a',
  ],
  ['a waiting owner', 'put rs/web [deleting foreground]; put pod/a <- rs/web', 'waiting'],
  ['an orphaning owner', 'put rs/web [deleting orphan]; put pod/a <- rs/web', 'orphaned'],
  [
    'an owner with both finalizers: orphan wins',
    'put rs/web [deleting foreground orphan]; put pod/a <- rs/web',
    'orphaned',
  ],
  [
    'an owner that went while it was orphaning',
    'put rs/web [deleting orphan]; delete rs/web; put pod/a <- rs/web',
    'orphaned',
  ],
  [
    'an owner that was seen without orphan before it went',
    'put pod/z <- rs/web; put rs/web [deleting orphan]; put rs/web [deleting hold.io/x]; delete rs/web; put pod/a <- rs/web',
    'dangling',
  ],
  ['an orphan finalizer and no deletion', 'put rs/web [orphan]; put pod/a <- rs/web', 'solid'],
  ['an owner seen deleted', 'put rs/web; put pod/a <- rs/web; delete rs/web', 'dangling', 'pod/a'],
  [
    'an owner missing from a relist',
    'put rs/web; put pod/a <- rs/web; lose rs/web; relist rs',
    'dangling',
    'pod/a',
  ],
  ['an owner that a GET did not find', 'put pod/a <- rs/no; absent rs/no', 'dangling', 'pod/a'],
  ['an owner nobody has seen', 'put pod/a <- rs/web', 'unverified'],
  ['the right uid at another name', 'put rs/web@u; put pod/a <- rs/other@u', 'unverified'],
  ['the right uid of another kind', 'put rs/web@u; put pod/a <- job/web@u', 'unverified'],
  ['the right uid in another namespace', 'put rs/web in x; put pod/a <- rs/web', 'unverified'],
  ['another uid in the place', 'put rs/web@u1; put pod/a <- rs/web@u2', 'unverified'],
  ['an owner in doubt', 'put rs/web; touch rs/web other; put pod/a <- rs/web', 'unverified'],
  [
    'an owner of an earlier epoch of the cluster',
    'put rs/web; rollback; put pod/a <- rs/web',
    'unverified',
  ],
  [
    'an owner whose kind does not sync, and that nobody has seen',
    'serve widget; put pod/a <- widget/x',
    'unverified',
  ],
  ['a kind that was never served', 'put pod/a <- widget/x', 'unresolvable'],
  ['a kind that went', 'put rs/web; unserve rs; put pod/a <- rs/web', 'unresolvable'],
  ['a version that is not served', 'put rs/web; put pod/a <- rs.v0/web', 'unresolvable'],
  [
    'a version that was not served when the owner went',
    'put rs/web; delete rs/web; versions rs v1,v0; put pod/a <- rs.v0/web',
    'unresolvable',
  ],
  [
    'a version that was served when the owner went, and is no more',
    'put rs/web; delete rs/web; versions rs v2; put pod/a <- rs/web',
    'dangling',
  ],
  [
    'an owner that went, of a kind that went after it',
    'put rs/web; delete rs/web; unserve rs; put pod/a <- rs/web',
    'dangling',
  ],
  ['another version that is served', 'versions rs v2,v1; put rs/web; put pod/a <- rs/web', 'solid'],
  ['a namespaced owner of a cluster-scoped object', 'put pv/a <- rs/web', 'unresolvable'],
  [
    'a namespaced owner, gone, of a cluster-scoped object',
    'put rs/web; delete rs/web; put pv/a <- rs/web',
    'unresolvable',
  ],
  [
    'one of each, in their order',
    'put rs/web; put job/gone; delete job/gone; put pod/a <- job/gone, widget/x, rs/web, cm/who',
    'dangling, unresolvable, solid, unverified',
  ],
] as const

for (const [name, steps, expected, about] of cases) {
  test(`stands ${expected}: ${name}`, () => {
    const world = new World()
    world.begin()
    const lines = steps.split('; ')
    for (const line of lines) world.step(line)
    const [, last = ''] = lines.at(-1)?.split(' ') ?? []
    const node = factsOf(world.folder.graph, 'c').node((about ?? last).replace('/', '-'))
    const standings = node?.object.ownerReferences.map(
      (reference) => standingOf(factsOf(world.folder.graph, 'c'), node.object, reference).standing,
    )
    equal(standings?.join(', '), expected)
  })
}

// What a person reads of an owner of which nothing is known: steps, and the reason.
const reasons = [
  ['its kind is listed without it', 'put pod/a <- rs/web', 'ReplicaSet "web" has not been seen'],
  [
    'its kind is not watched',
    'serve widget unmonitored; put pod/a <- widget/x',
    'kind Widget.example.com is not watched: whether Widget "x" exists is not known',
  ],
  [
    'its kind, of the core group, is watched no more',
    'put cm/x; put pod/a <- cm/x; serve cm unmonitored',
    'kind ConfigMap is not watched: whether ConfigMap "x" exists is not known',
    'pod/a',
  ],
  [
    'its kind is not listed yet',
    'serve widget; put pod/a <- widget/x',
    'kind Widget.example.com is not listed yet: whether Widget "x" exists is not known',
  ],
  [
    'its kind is listed by now',
    'serve widget; put pod/a <- widget/x; relist widget',
    'Widget "x" has not been seen',
    'pod/a',
  ],
  [
    'its kind is not listed since a restore of the cluster',
    'rollback; put pod/a <- rs/web',
    'kind ReplicaSet.apps is not listed yet: whether ReplicaSet "web" exists is not known',
  ],
  [
    'it was seen, and is untrusted',
    'put rs/web; touch rs/web other; put pod/a <- rs/web',
    'ReplicaSet "web" is untrusted until it is listed again',
  ],
] as const

for (const [name, steps, expected, about] of reasons) {
  test(`says why: ${name}`, () => {
    const world = new World()
    world.begin()
    const lines = steps.split('; ')
    for (const line of lines) world.step(line)
    const [, last = ''] = lines.at(-1)?.split(' ') ?? []
    const facts = factsOf(world.folder.graph, 'c')
    const node = facts.node((about ?? last).replace('/', '-'))
    equal(node && standsOf(facts, node)[0]?.reason, expected)
    // As it is recorded.
    equal(node?.verdict?.because, expected)
  })
}
