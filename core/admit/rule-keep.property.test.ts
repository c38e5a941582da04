/**
 * Whatever becomes of objects of which a rule keeps the newest, in whatever order: those beyond are
 * the oldest of each group, counted anew, once no work is left.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import type { Node } from '../model/node.ts'

const NEWEST = 2
const RULE = `history pod 20 keep:${NEWEST} by:label=app first:status.reason=Evicted`

const number = fc.nat({ max: 9 })
const name = number.map((each) => `p${each}`)
const put = fc
  .record({
    number,
    app: fc.constantFrom('', 'web', 'api'),
    marks: fc.constantFrom('', '', 'field:status.reason=Evicted', 'deleting'),
  })
  .map(({ number, app, marks }) => {
    // No two of one second, and in another order than their names.
    const created = ((number * 7) % 10) * 4
    const label = app === '' ? '' : `label:app=${app}`
    return `put pod/p${number} [created:${created} ${label} ${marks}]`
  })
const step = fc.oneof(
  { weight: 8, arbitrary: put },
  { weight: 4, arbitrary: name.map((each) => `delete pod/${each}`) },
  { weight: 2, arbitrary: name.map((each) => `lose pod/${each}`) },
  { weight: 2, arbitrary: fc.constantFrom('relist pod', 'open pod', 'finish', 'restart') },
  { weight: 3, arbitrary: fc.constantFrom('beat 1', 'beat 15', 'beat 300 pod 300') },
  { weight: 1, arbitrary: fc.constantFrom(`rule ${RULE}`, `rule ${RULE} no-label:x`) },
  { weight: 1, arbitrary: fc.constantFrom('unreadable c/ns', 'unserve pod', 'serve pod') },
)

/** Then all that is there is judged. */
const HEALED = ['serve pod', 'finish', 'relist pod', 'relist pod', 'beat 60', 'beat 60']

test('what is beyond the newest are the oldest of each group', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const world = new World()
      world.begin()
      world.step(`rule ${RULE}`)
      for (const each of steps) {
        world.step(each)
        world.folder.commit()
        deepEqual(check(world.folder.state), [], each)
      }
      for (const each of HEALED) world.step(each)
      world.folder.commit()
      deepEqual(check(world.folder.state), [])
      deepEqual(beyond(world), expected(world))
    }),
    { numRuns: 200 },
  )
})

function nodesOf(world: World): readonly Node[] {
  return [...world.folder.state.values()].filter((value) => value.type === 'Node')
}

/** Those about which the rule has decided that they are to be deleted. */
function beyond(world: World): readonly string[] {
  const ruled = nodesOf(world).filter(({ verdict }) => verdict?.rule === 'history')
  return ruled.map(({ object }) => object.name).sort()
}

function expected(world: World): readonly string[] {
  const facts = factsOf(world.folder.graph, 'c')
  const counted = nodesOf(world).filter(({ object }) => facts.keeps(object.uid) !== undefined)
  const groups = Object.groupBy(counted, ({ object }) => object.labels[0]?.value ?? '')
  return Object.values(groups)
    .flatMap((group = []) => group.sort(byAge).slice(0, Math.max(0, group.length - NEWEST)))
    .map(({ object }) => object.name)
    .sort()
}

/** The oldest first. */
function byAge({ object: a }: Node, { object: b }: Node): number {
  const isFirst = ({ projected }: Node['object']): number =>
    projected?.fields.some(({ value }) => value === 'Evicted') === true ? 0 : 1
  return isFirst(a) - isFirst(b) || (a.createdAt ?? 0) - (b.createdAt ?? 0)
}
