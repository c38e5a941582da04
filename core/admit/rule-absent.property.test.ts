/**
 * Whatever becomes of pods and Nodes, in whatever order: once no work is left, those are due that
 * name no Node which is known, and those that name one which is as the rule says.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import type { Node } from '../model/node.ts'

const RULE = 'orphaned pod 0 for:40 no-node:spec.nodeName'
const OUT = 'out pod 0 for:40 node:spec.nodeName node-when:taint=out'

const nodeName = fc.nat({ max: 2 }).map((number) => `n${number}`)
const podName = fc.nat({ max: 4 }).map((number) => `p${number}`)
const put = fc
  .tuple(podName, fc.option(nodeName), fc.constantFrom('', '', 'deleting', 'label:x=y'))
  .map(([name, on, marks]) => {
    return `put pod/${name} [${marks} ${on === null ? '' : `field:spec.nodeName=${on}`}]`
  })
// A Node may be made again, under another uid, before it is known that the former one left.
const node = fc
  .tuple(nodeName, fc.constantFrom('', 'a', 'b'))
  .map(([name, uid]) => (uid === '' ? name : `${name}@${name}${uid}`))
const step = fc.oneof(
  { weight: 6, arbitrary: put },
  { weight: 2, arbitrary: podName.map((each) => `delete pod/${each}`) },
  { weight: 4, arbitrary: node.map((each) => `put node/${each}`) },
  { weight: 4, arbitrary: node.map((each) => `put node/${each} [field:taint=out]`) },
  { weight: 1, arbitrary: node.map((each) => `put node/${each} [unread]`) },
  { weight: 3, arbitrary: node.map((each) => `delete node/${each}`) },
  { weight: 2, arbitrary: node.map((each) => `lose node/${each}`) },
  { weight: 2, arbitrary: fc.constantFrom('relist pod', 'relist node', 'open node', 'finish') },
  { weight: 3, arbitrary: fc.constantFrom('beat 1', 'beat 30', 'beat 300 node 300', 'restart') },
  { weight: 1, arbitrary: fc.constantFrom('rule RULE', 'rule RULE no-label:x') },
  { weight: 1, arbitrary: fc.constantFrom('unreadable c/', 'unserve node', 'serve node') },
)
/** Then all that is there is judged. */
const HEALED = ['serve node', 'finish', 'relist node', 'relist node', 'relist pod', 'beat 60']

for (const [what, rule, isDue] of [
  ['names no Node that is known', RULE, (taints: readonly string[]) => taints.length === 0],
  ['is beside a Node that is so', OUT, (taints: readonly string[]) => taints.join() === 'out'],
] as const) {
  test(`what ${what} is due`, () => checkDue(rule, isDue))
}

/** `isDue`: by the taints of all Nodes that a pod's name means, each a text or none. */
function checkDue(rule: string, isDue: (taints: readonly string[]) => boolean): void {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50, size: 'max' }), (steps) => {
      const world = new World()
      world.begin()
      world.step(`rule ${rule}`)
      for (const each of steps) {
        world.step(each.replace('RULE', rule))
        world.folder.commit()
        deepEqual(check(world.folder.state), [], each)
      }
      const end = [`rule ${rule}`, 'relist node', 'relist pod', 'beat 60']
      for (const each of [...HEALED, ...end]) world.step(each)
      world.folder.commit()
      deepEqual(check(world.folder.state), [])
      deepEqual(...dueAndMeant(world, isDue))
    }),
    { numRuns: 200 },
  )
}

function dueAndMeant(
  world: World,
  isDue: (taints: readonly string[]) => boolean,
): [readonly string[], readonly string[]] {
  const all = [...world.folder.state.values()].filter((value): value is Node => {
    return value.type === 'Node'
  })
  const nodes = all.filter(({ object }) => object.kind === 'Node')
  const pods = all.filter(({ object }) => object.kind === 'Pod')
  const due = pods.filter(({ verdict }) => verdict?.rule != null)
  const lost = pods.filter(({ object }) => {
    const on = fieldOf(object, 'spec.nodeName')
    const taints = nodes
      .filter((each) => each.object.name === on)
      .map((each) => fieldOf(each.object, 'taint') ?? '')
    return object.deletedAt === null && on !== undefined && isDue(taints)
  })
  return [due.map(nameOf).sort(), lost.map(nameOf).sort()]
}

function fieldOf({ projected }: Node['object'], path: string): string | undefined {
  return projected?.fields.find(({ key }) => key === path)?.value
}

function nameOf({ object }: Node): string {
  return object.name
}
