/**
 * Orders about rules: which one enforces a rule, how long it is in force, and what it lets go.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { directivesOf } from '../graph/graph.ts'
import { EMPTY_SET } from '../model/hash.ts'
import { policyFor } from '../model/policy.ts'

const OLD = 'rule old cm 60'
const DELETED = '> DeleteObject cm/a'

/** What follows from each line: commands, without their reasons, and what was dropped. */
function follows(world: World, ...lines: readonly string[]): readonly string[] {
  const all = lines.flatMap((line) => world.step(line))
  return all
    .filter((each) => each.startsWith('> ') || each.startsWith('dropped'))
    .map((each) => each.replace(/^(> \w+ \S+) .*/, '$1'))
}

function begun(...lines: readonly string[]): World {
  const world = new World()
  world.begin()
  for (const line of lines) world.step(line)
  return world
}

function enforced(world: World): readonly string[] {
  return directivesOf(world.folder.graph).rules.map(({ name, who, why }) => `${name} ${who} ${why}`)
}

test('a rule deletes once an order enforces it, and no more once another suspends it', () => {
  const world = begun(OLD, 'put cm/a [created:0]')
  deepEqual(follows(world, 'beat 120'), [])
  deepEqual(follows(world, 'enforce-rule old'), [DELETED])
  deepEqual(enforced(world), ['old ann test'])
  deepEqual(
    follows(world, 'delete cm/a', 'suspend-rule old', 'put cm/b [created:0]', 'beat 120'),
    [],
  )
  deepEqual(enforced(world), [])
  deepEqual(follows(world, 'enforce-rule old'), ['> DeleteObject cm/b'])
})

test('an order given twice is one', () => {
  const world = begun(OLD, 'enforce-rule old', 'enforce-rule old')
  deepEqual(enforced(world), ['old ann test'])
})

test('an order of a rule as it is no longer, or that there is not, is dropped', () => {
  const world = begun(OLD, 'put cm/a [created:0]', 'beat 120')
  const order = (subject: string, digest: string | null): readonly string[] =>
    world.tell({
      ...{ type: 'Directive', verb: 'enforce-rule', cluster: '', subject, digest },
      ...{ listed: EMPTY_SET, who: 'ann', isProven: false, why: '' },
    })
  deepEqual(order('old', '0'.repeat(32)), ['dropped: the rule is another by now'])
  deepEqual(order('old', null), ['dropped: the rule is another by now'])
  deepEqual(order('other', '0'.repeat(32)), ['dropped: there is no such rule'])
  deepEqual(follows(world, 'suspend-rule old'), ['dropped: it was in dry run'])
  deepEqual(follows(world, 'beat 120'), [])
})

const CHANGES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['the rule is changed', ['rule old cm 90'], []],
  ['it is changed, and back', ['rule old cm 90', OLD], []],
  ['a limit is added', [`${OLD} limit:5`], []],
  ['another rule is added', ['rule other pod 60'], ['old ann test']],
  ['another rule is changed', ['rule other pod 60', 'rule other pod 90'], ['old ann test']],
  ['the mode changes', ['policy dry-run parity', 'policy enforce guarded'], ['old ann test']],
]

for (const [what, lines, left] of CHANGES) {
  test(`after ${what} the order is ${left.length === 0 ? 'over' : 'in force'}`, () => {
    const world = begun(OLD, 'enforce-rule old', ...lines)
    deepEqual(enforced(world), left)
    world.step('put cm/a [created:0]')
    const { length } = follows(world, 'beat 120', 'beat 120', 'beat 120')
    deepEqual(length > 0, left.length > 0)
  })
}

test('an order of a rule that the policy no longer has is over, also once it has it again', () => {
  const world = begun(OLD, 'enforce-rule old')
  const policy = policyFor('enforce', 'parity')
  world.tell({ type: 'PolicyChanged', policy, who: 'ann', why: '' })
  deepEqual(enforced(world), [])
  world.step(OLD)
  deepEqual(enforced(world), [])
})
