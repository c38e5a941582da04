/**
 * Whatever becomes of pods and Nodes, in whatever order: those are due that name no Node which is
 * known, once no work is left.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import type { Node } from '../model/node.ts'

const RULE = 'orphaned pod 0 for:40 no-node:spec.nodeName'

const nodeName = fc.nat({ max: 2 }).map((number) => `n${number}`)
const podName = fc.nat({ max: 4 }).map((number) => `p${number}`)
const put = fc
  .tuple(podName, fc.option(nodeName), fc.constantFrom('', '', 'deleting', 'label:x=y'))
  .map(([name, on, marks]) => {
    return `put pod/${name} [${marks} ${on === null ? '' : `field:spec.nodeName=${on}`}]`
  })
// A Node may be made again, under another uid, before it is known that the former one left.
const node = fc.tuple(nodeName, fc.constantFrom('', '@a', '@b')).map(([name, uid]) => name + uid)
const step = fc.oneof(
  { weight: 6, arbitrary: put },
  { weight: 2, arbitrary: podName.map((each) => `delete pod/${each}`) },
  { weight: 4, arbitrary: node.map((each) => `put node/${each}`) },
  { weight: 3, arbitrary: node.map((each) => `delete node/${each}`) },
  { weight: 2, arbitrary: node.map((each) => `lose node/${each}`) },
  { weight: 2, arbitrary: fc.constantFrom('relist pod', 'relist node', 'open node', 'finish') },
  { weight: 3, arbitrary: fc.constantFrom('beat 1', 'beat 30', 'beat 300 node 300', 'restart') },
  { weight: 1, arbitrary: fc.constantFrom(`rule ${RULE}`, `rule ${RULE} no-label:x`) },
  { weight: 1, arbitrary: fc.constantFrom('unreadable c/', 'unserve node', 'serve node') },
)
/** Then all that is there is judged. */
const HEALED = ['serve node', 'finish', 'relist node', 'relist node', 'relist pod', 'beat 60']

test('what names no Node that is known is due', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50, size: 'max' }), (steps) => {
      const world = new World()
      world.begin()
      world.step(`rule ${RULE}`)
      for (const each of steps) {
        world.step(each)
        world.folder.commit()
        deepEqual(check(world.folder.state), [], each)
      }
      for (const each of [...HEALED, `rule ${RULE}`, 'relist pod', 'beat 60']) world.step(each)
      world.folder.commit()
      deepEqual(check(world.folder.state), [])
      deepEqual(...dueAndLost(world))
    }),
    { numRuns: 200 },
  )
})

function dueAndLost(world: World): [readonly string[], readonly string[]] {
  const all = [...world.folder.state.values()].filter((value): value is Node => {
    return value.type === 'Node'
  })
  const names = new Set(all.filter(({ object }) => object.kind === 'Node').map(nameOf))
  const pods = all.filter(({ object }) => object.kind === 'Pod')
  const due = pods.filter(({ verdict }) => verdict?.rule === 'orphaned')
  const lost = pods.filter(({ object }) => {
    const on = object.projected?.fields.find(({ key }) => key === 'spec.nodeName')?.value
    return object.deletedAt === null && on !== undefined && !names.has(on)
  })
  return [due.map(nameOf).sort(), lost.map(nameOf).sort()]
}

function nameOf({ object }: Node): string {
  return object.name
}
