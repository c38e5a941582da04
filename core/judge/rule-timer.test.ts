/**
 * What rules leave in the state is bounded, however often an object's end is put off, and however
 * many controllers had objects that a rule deleted.
 *
 * Not here: stories of rules (scenarios/), the law of their timers (testing/model).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'

const DAY_SECONDS = 86_400

function world(...lines: readonly string[]): World {
  const made = new World()
  made.begin()
  for (const line of lines) made.step(line)
  return made
}

function rowsOf({ folder }: World, table: string): readonly string[] {
  folder.commit()
  return [...folder.state.keys()].filter((key) => key.startsWith(`${table}/`))
}

function nodeTimers(made: World): readonly string[] {
  return rowsOf(made, 'due').filter((key) => key.includes('/node/'))
}

function deleted({ folder }: World): readonly string[] {
  const deletions = folder.commands.filter(({ type }) => type === 'DeleteObject')
  return deletions.map(({ target }) => target.name)
}

test('an end that is put off 500 times, in the year 9999, has one timer', () => {
  const made = world('rule end pod 0 expires:e', 'enforce-rule end')
  for (let i = 0; i < 500; i++) {
    const fraction = String(i).padStart(3, '0')
    made.step(`put pod/a [annotation:e=9999-12-31T00:00:00.${fraction}Z]`)
  }
  equal(nodeTimers(made).length, 1)
})

test('a rule in dry run that would warn 30 days ahead sets no timer for each change', () => {
  const made = world('rule old pod 0 warn:2592000')
  for (let i = 0; i < 100; i++) {
    made.step(`put pod/a [label:x=${i}]`)
    made.step('beat 1')
  }
  equal(nodeTimers(made).length, 1)
})

test('an object that has to be due for ten days is deleted when it was', () => {
  const made = world(`rule old pod 0 for:${10 * DAY_SECONDS}`, 'enforce-rule old', 'put pod/a')
  for (let day = 0; day < 10; day++) {
    deepEqual(deleted(made), [])
    equal(nodeTimers(made).length, 1)
    made.step(`beat ${DAY_SECONDS}`)
  }
  deepEqual(deleted(made), ['a'])
})

test('an object that is due in ten days is judged at most once a day until then, and deleted in time', () => {
  const made = world(`rule old pod ${10 * DAY_SECONDS}`, 'enforce-rule old', 'put pod/a')
  for (let day = 0; day < 9; day++) {
    equal(nodeTimers(made).length, 1)
    made.step(`beat ${DAY_SECONDS}`)
  }
  made.step(`beat ${DAY_SECONDS - 20}`)
  deepEqual(deleted(made), [])
  made.step('beat 20')
  deepEqual(deleted(made), ['a'])
})

test('objects that are due long after are not all judged at one moment', () => {
  const made = world(`rule old pod ${10 * DAY_SECONDS}`, 'many 100 pod/p#')
  const moments = new Set(nodeTimers(made).map((key) => key.split('/')[2]))
  ok(moments.size > 90, `${moments.size} moments of 100 objects`)
})

test('what a rule deleted of a controller is forgotten with the controller', () => {
  const made = world('rule old pod 60', 'enforce-rule old')
  for (let i = 0; i < 20; i++) {
    made.step(`put job/j${i}`)
    made.step(`put pod/p${i} <- job/j${i}*`)
  }
  made.step('beat 70')
  equal(rowsOf(made, 'ruleowner').length, 20)
  for (let i = 0; i < 20; i++) {
    made.step(`delete pod/p${i}`)
    made.step(`delete job/j${i}`)
  }
  for (let day = 0; day < 40; day++) made.step(`beat ${DAY_SECONDS}`)
  deepEqual(rowsOf(made, 'ruleowner'), [])
})
