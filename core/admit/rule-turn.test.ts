/**
 * However many objects are due by rules: so many deletions are under way, others are called as
 * those end, and namespaces take turns.
 *
 * Not here: stories of one rule (scenarios/), the counts as they follow from the nodes
 * (testing/model/rule-turn-check.ts).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import type { DeleteObject } from '../model/command.ts'
import { DELETIONS_BY_RULES } from '../model/constant.ts'

class Run {
  readonly world = new World()
  /** Without a result yet, in the order in which they were sent. */
  readonly underWay: DeleteObject[] = []
  /** Namespaces, in the order in which their objects were sent. */
  readonly sent: string[] = []
  #seen = 0
  #steps = 0

  constructor(...lines: readonly string[]) {
    this.world.begin()
    for (const line of lines) this.step(line)
  }

  step(line: string): void {
    this.world.step(line)
    const { commands } = this.world.folder
    for (const command of commands.slice(this.#seen)) {
      if (command.type !== 'DeleteObject') continue
      this.underWay.push(command)
      this.sent.push(command.target.namespace)
    }
    this.#seen = commands.length
    if (++this.#steps % 64 < 2) this.checked()
  }

  /** The oldest is deleted: its result comes first, or the watch does. */
  end(isWatchFirst = false): void {
    const command = this.underWay.shift()
    if (command === undefined) throw new Error('nothing is under way')
    const text = `pod/${command.target.name} in ${command.target.namespace}`
    if (isWatchFirst) return this.step(`delete ${text}`)
    this.world.tell(this.world.settle(text, 'done', ''))
    this.step(`delete ${text}`)
  }

  endAll(): void {
    for (let i = 0; this.underWay.length > 0; i++) this.end(i % 2 === 0)
    this.checked()
  }

  checked(): void {
    this.world.folder.commit()
    deepEqual(check(this.world.folder.state), [])
  }
}

test('of 1,000 objects of a namespace that are due together half of all turns are under way', () => {
  const run = new Run('rule old pod 60', 'enforce-rule old', 'many 1000 pod/a# in x', 'beat 70')
  equal(run.underWay.length, DELETIONS_BY_RULES / 2)
  run.endAll()
  equal(run.sent.length, 1_000)
})

test('few that are due go at once', () => {
  const run = new Run('rule old pod 60', 'enforce-rule old', 'many 50 pod/a#', 'beat 70')
  equal(run.underWay.length, 50)
})

test('a namespace with few objects is not behind one with many', () => {
  const lines = ['many 1000 pod/a# in a', 'many 1000 pod/b# in b', 'many 5 pod/z# in z']
  const run = new Run('rule old pod 60', 'enforce-rule old', ...lines, 'beat 70')
  for (let i = 0; i < 150; i++) run.end()
  equal(run.sent.filter((namespace) => namespace === 'z').length, 5)
  run.endAll()
  equal(run.sent.length, 2_005)
})

test('of many namespaces each has its turn, whatever its name', () => {
  const names = Array.from({ length: 200 }, (_, i) => `n${String(i).padStart(3, '0')}`)
  const many = names.map((name) => `many 6 pod/${name}x# in ${name}`)
  const run = new Run('rule old pod 60', 'enforce-rule old', ...many, 'beat 70')
  while (run.sent.length < 600) run.end()
  const sent = names.map((name) => run.sent.filter((each) => each === name).length)
  ok(Math.min(...sent) > 0, sent.join())
  run.endAll()
  equal(run.sent.length, 1_200)
})

test('those that wait, and are not to go any more, leave no turn behind', () => {
  const run = new Run('rule old pod 60', 'enforce-rule old', 'many 300 pod/a#', 'beat 70')
  for (let i = 100; i < 200; i++) run.step(`delete pod/a${i} in ns`)
  run.step('suspend-rule old')
  const before = run.sent.length
  run.endAll()
  equal(run.sent.length, before)
  run.step('enforce-rule old')
  equal(run.sent.length, before + DELETIONS_BY_RULES / 2)
  run.endAll()
})

test('all under way without an answer are sent again, and the others still wait', () => {
  const run = new Run('rule old pod 60', 'enforce-rule old', 'many 300 pod/a#', 'beat 70')
  run.underWay.length = 0
  for (let i = 0; i < 12; i++) run.step('beat 60')
  equal(run.underWay.length, DELETIONS_BY_RULES / 2)
  const again = new Set(run.underWay.map(({ target }) => target.name))
  equal(again.size, DELETIONS_BY_RULES / 2)
})
