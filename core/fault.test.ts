/** A node that contradicts the facts around it is found; one that a story left is as they say. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../testing/model/story.ts'
import { faultsOf } from './fault.ts'
import { ClusterGraph } from './graph/cluster-graph.ts'
import type { Node } from './model/node.ts'

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

test('a kind that fell silent after it was seen that nothing is left makes no fault of what is held', () => {
  const world = new World()
  world.begin()
  world.tell(world.policy('observe', 'parity'))
  for (const step of ['put rs/web', 'put pod/a <- rs/web!', 'put rs/web [deleting foreground]'])
    world.step(step)
  world.tell(world.remove('pod/a'))
  equal(world.step('why rs/web')[0]?.split(':')[0], '= waiting, finish orphaning')
  // Silent for three minutes, which is told by nobody but a heartbeat.
  world.tell(world.beat(200, 'pod', 190))
  const graph = new ClusterGraph(world.folder.graph, 'c')
  const node = graph.node('rs-web')
  equal(node?.hold?.by, 'mode')
  deepEqual(node && faultsOf(graph, node), [])
})
