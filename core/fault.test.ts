/** A node that contradicts the facts around it is found; one that a story left is as they say. */
import { deepEqual, equal } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../testing/model/story.ts'
import { faultsOf } from './fault.ts'
import { ClusterGraph } from './graph/cluster-graph.ts'
import { CATCH_UP_MS } from './model/constant.ts'
import type { Node } from './model/node.ts'
import type { Mode } from './model/policy.ts'

/** A pod whose ReplicaSet exists, and its facts. */
function scene(): { readonly graph: ClusterGraph; readonly node: Node } {
  const world = new World()
  world.begin()
  for (const step of ['put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web']) world.step(step)
  const graph = new ClusterGraph(world.folder.graph, 'c')
  const node = graph.node('pod-a')
  if (node === undefined) throw new Error('the story has no such pod')
  return { graph, node }
}

test('a node as the fold left it has none', () => {
  const { graph, node } = scene()
  deepEqual(faultsOf(graph, node), [])
})

const damaged: readonly [
  name: string,
  spoil: (graph: ClusterGraph, node: Node) => Node,
  string[],
][] = [
  [
    'its content is another one',
    (_, node) => ({ ...node, hash: '0' }),
    ['its hash is of another content'],
  ],
  [
    'its version is missing',
    (graph, node) => {
      graph.setSeen(node.object, node.object.uid, null)
      return node
    },
    ['no version'],
  ],
  ['a place is missing', (_, node) => ({ ...node, places: [] }), ['a place for each reference']],
  [
    'a place is another one',
    (_, node) => ({ ...node, places: [null] }),
    ['reference 0 leads elsewhere'],
  ],
  [
    'its owner counts no dependent',
    (graph, node) => {
      const [reference] = node.object.ownerReferences
      const { object } = graph.node(reference?.uid ?? '') ?? node
      graph.setCount(object.uid, object, null)
      return node
    },
    ['reference 0 is not counted'],
  ],
  [
    'its owner was deleted, and it was not judged again',
    (graph, node) => {
      const owner = graph.node(node.object.ownerReferences[0]?.uid ?? '')
      if (owner !== undefined) graph.setNode(owner.object.uid, null)
      return node
    },
    [
      'its verdict is keep null: ReplicaSet "web" exists, judged now verify null: ReplicaSet "web" has not been seen',
    ],
  ],
]

for (const [name, spoil, expected] of damaged) {
  test(`is found when ${name}`, () => {
    const { graph, node } = scene()
    deepEqual(faultsOf(graph, spoil(graph, node)), expected)
  })
}

suite('an object that goes, and is protected meanwhile', () => {
  /** Its owner was deleted; `isAsked`: by a DELETE that has no answer yet. */
  function going(isAsked: boolean): { readonly graph: ClusterGraph; readonly node: Node } {
    const world = new World()
    world.begin()
    for (const step of ['put rs/web', 'put pod/a <- rs/web']) world.step(step)
    world.tell(world.remove('rs/web'))
    world.step('protect namespace/ns')
    const graph = new ClusterGraph(world.folder.graph, 'c')
    const node = graph.node('pod-a')
    if (node?.attempt?.state !== 'issued') throw new Error('a DELETE of it is under way')
    return { graph, node: isAsked ? node : { ...node, attempt: null } }
  }

  test('has no fault while its DELETE is under way', () => {
    const { graph, node } = going(true)
    deepEqual(faultsOf(graph, node), [])
  })

  test('has one if none is', () => {
    const { graph, node } = going(false)
    equal(faultsOf(graph, node).length, 1)
  })
})

test('what is held has no fault when its time is over, and no heartbeat has come since', () => {
  const world = new World()
  world.begin()
  world.tell(world.policy('enforce', 'guarded'))
  for (const step of ['put rs/web', 'put pod/a <- rs/web']) world.step(step)
  world.tell(world.remove('rs/web'))
  world.folder.fold(world.restart(), world.now + 3_600_000)
  const graph = new ClusterGraph(world.folder.graph, 'c')
  const node = graph.node('pod-a')
  equal(node?.hold?.by, 'hold')
  deepEqual(node && faultsOf(graph, node), [])
})

suite('an owner that was found done', () => {
  /** In the foreground, with its last dependent gone. */
  function done(mode: Mode): World {
    const world = new World()
    world.begin()
    world.tell(world.policy(mode, 'parity'))
    for (const step of ['put rs/web', 'put pod/a <- rs/web!', 'put rs/web [deleting foreground]'])
      world.step(step)
    world.tell(world.remove('pod/a'))
    equal(world.step('why rs/web')[0]?.split(':')[0], '= waiting, finish orphaning')
    return world
  }

  const facts = (world: World): ClusterGraph => new ClusterGraph(world.folder.graph, 'c')
  const owner = (graph: ClusterGraph): Node => {
    const node = graph.node('rs-web')
    if (node === undefined) throw new Error('it is there')
    return node
  }

  test('has no fault while it is held, and a watch falls silent', () => {
    const world = done('observe')
    world.tell(world.beat(200, 'pod', 190))
    const graph = facts(world)
    deepEqual(faultsOf(graph, owner(graph)), [])
  })

  test('has none when its watcher starts again', () => {
    const world = done('enforce')
    world.tell(world.restart())
    const graph = facts(world)
    deepEqual(faultsOf(graph, owner(graph)), [])
  })

  test('has none while its finalizer is being taken off, and what it waited for is over', () => {
    const world = done('enforce')
    world.tell(world.restart())
    world.tell(world.put('rs/web [deleting foreground label:a=b]'))
    equal(
      world.step('why rs/web')[0],
      '= waiting, wait: the watches are catching up since their start',
    )
    world.tell(world.beat(CATCH_UP_MS / 1_000))
    const graph = facts(world)
    deepEqual(faultsOf(graph, owner(graph)), [])
  })

  test('has none when something blocks it again, and its next try is to come', () => {
    const graph = facts(done('enforce'))
    const node = owner(graph)
    if (node.attempt?.state !== 'issued') throw new Error('its finalizer is being taken off')
    const { uid } = node.object
    graph.setCount(uid, node.object, {
      ...{ type: 'Count', dependents: 1, blocking: 1, waiting: 0, unserved: 0 },
    })
    deepEqual(faultsOf(graph, node), [])
  })

  test('has one when something blocks it again, and nothing is under way', () => {
    const graph = facts(done('observe'))
    const node = owner(graph)
    const { uid } = node.object
    graph.setCount(uid, node.object, {
      ...{ type: 'Count', dependents: 1, blocking: 1, waiting: 0, unserved: 0 },
    })
    deepEqual(faultsOf(graph, node), [
      'its verdict is finish orphaning: no dependent blocks it; held by mode: mode observe only records, judged now wait null: dependents block it',
    ])
  })
})
