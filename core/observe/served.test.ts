/**
 * A kind is served otherwise than before: an object whose status rests on it is judged again,
 * though it waits for nothing.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { laneKey } from '../graph/key.ts'

const cases = [
  ['by a version that is served no more', 'put rs/web; put pod/a <- rs/web', 'versions rs v2'],
  [
    'of a kind that has another scope, its owner gone',
    'policy dry-run parity; put rs/web; put pod/a <- rs/web; delete rs/web',
    'scope rs Cluster',
  ],
  [
    'of a kind that no cluster-scoped object may name now',
    'put node/n; put pv/a <- node/n',
    'scope node Namespaced',
  ],
] as const

for (const [what, before, steps] of cases) {
  test(`looks again at a reference ${what}`, () => {
    const world = new World()
    world.begin()
    for (const line of [...before.split('; '), ...steps.split('; ')]) world.step(line)
    world.folder.commit()
    deepEqual(check(world.folder.state), [])
  })
}

test('blocks a dependent that it kept by a version that is served no more', () => {
  const world = new World()
  world.begin()
  for (const line of ['put rs/web', 'put pod/a <- rs/web', 'versions rs v2']) world.step(line)
  equal(factsOf(world.folder.graph, 'c').node('pod-a')?.verdict?.type, 'blocked')
})

for (const [what, steps, verdict] of [
  ['that a look did not find', 'put pod/a <- rs/web; absent rs/web', 'blocked'],
  ['that was seen to go', 'put rs/web; put pod/a <- rs/web; delete rs/web', 'delete'],
] as const) {
  test(`of an owner ${what} a version that is served no more says ${verdict}`, () => {
    const world = new World()
    world.begin()
    for (const line of ['policy dry-run parity', 'relist rs', ...steps.split('; ')])
      world.step(line)
    equal(factsOf(world.folder.graph, 'c').node('pod-a')?.verdict?.type, 'delete')
    world.step('versions rs v2')
    world.folder.commit()
    equal(factsOf(world.folder.graph, 'c').node('pod-a')?.verdict?.type, verdict)
    deepEqual(check(world.folder.state), [])
  })
}

test('leads an edge elsewhere at once when its kind has another scope', () => {
  const world = new World()
  world.begin()
  const lines = ['policy dry-run parity', 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web']
  for (const line of [...lines, 'scope rs Cluster']) world.step(line)
  const places = factsOf(world.folder.graph, 'c').node('pod-a')?.places
  deepEqual(places, [{ kind: 'ReplicaSet', namespace: '' }])
})

for (const [when, createdAt, evidence] of [
  ['before', 0, 'bulk'],
  ['after', 60_000, 'not-found'],
] as const) {
  test(`holds what a GET did not find for ${evidence} when a reference came ${when} another scope`, () => {
    const world = new World()
    world.begin()
    for (const line of ['serve widget', 'scope widget Cluster']) world.step(line)
    const put = world.put('pod/a <- widget/x')
    if (put.type !== 'ObjectAdded') throw new Error('a put adds')
    world.tell({ ...put, object: { ...put.object, createdAt } })
    for (const line of ['relist widget', 'absent widget/x']) world.step(line)
    equal(factsOf(world.folder.graph, 'c').node('pod-a')?.verdict?.evidence, evidence)
  })
}

test('walks over all once more, not for each, when many kinds lose a version together', () => {
  const world = new World()
  world.begin()
  for (const line of ['put rs/web', 'many 600 pod/a# <- rs/web']) world.step(line)
  const kinds = ['rs', 'job', 'deploy', 'cm']
  for (const short of kinds) world.folder.foldOne(world.served(short, true, ['v2']))
  const lane = world.folder.graph.get(laneKey('c', ''))
  equal(lane?.type === 'Lane' && lane.tail - lane.head, 2)
})

test('acts at a version that is served, when the one an object was told in is served no more', () => {
  const world = new World()
  world.begin()
  for (const line of ['serve pod', 'put rs/web', 'put pod/a <- rs/web', 'versions pod v2']) {
    world.step(line)
  }
  world.step('delete rs/web')
  const command = world.folder.commands.find(({ target }) => target.name === 'a')
  equal(command?.target.version, 'v2')
})

test('an owner of a kind that two resources share is not looked for, and what a look said of it counts no more', () => {
  const world = new World()
  world.begin()
  const lines = ['serve widget unmonitored', 'put pod/a <- widget/x', 'absent widget/x']
  for (const line of lines) world.step(line)
  const verdictOf = (): string | undefined =>
    factsOf(world.folder.graph, 'c').node('pod-a')?.verdict?.type
  equal(verdictOf(), 'delete')
  const asked = world.folder.commands.length
  world.tell({ ...world.served('widget', false), ambiguous: true, resource: 'gadgets' })
  world.step('put pod/b <- widget/y')
  world.step('put pod/a <- widget/x [x.io/hold]')
  world.step('beat 3600')
  equal(verdictOf(), 'blocked')
  equal(world.folder.commands.length, asked)
})

test('an owner that a GET found is not looked for again while two resources share its kind', () => {
  const world = new World()
  world.begin()
  for (const line of ['serve widget unmonitored', 'put pod/a <- widget/x', 'found widget/x'])
    world.step(line)
  const asked = world.folder.commands.length
  world.tell({ ...world.served('widget', false), ambiguous: true, resource: 'gadgets' })
  world.step('beat 3600')
  equal(world.folder.commands.length, asked)
  equal(factsOf(world.folder.graph, 'c').node('pod-a')?.verdict?.type, 'keep')
})

test('nobody is asked to look at an owner that was seen to go and whose kind went after it', () => {
  const claimed = (...lines: readonly string[]): unknown => {
    const world = new World()
    world.begin()
    for (const line of [
      'serve widget',
      'relist widget',
      'put widget/x',
      'put pod/a <- widget/x',
      'delete widget/x',
      'settle pod/a blocked',
      ...lines,
      'beat 600',
    ])
      world.step(line)
    const last = world.folder.commands.at(-1)
    if (last?.type !== 'DeleteObject') throw new Error('no DELETE')
    return [last.evidence, last.owners.length]
  }
  deepEqual(claimed(), ['deleted', 1])
  deepEqual(claimed('unserve widget'), ['deleted', 0])
})
