/**
 * Warnings are commands like others: each has an id of its own, also when one verdict brings about
 * several.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import type { Stand } from '../judge/standing.ts'
import type { CommandBase, WarnObject } from '../model/command.ts'
import { recentWarnings, warningsOf } from './warning.ts'

test('two references that nothing can come of are warned of under two ids', () => {
  const issued: WarnObject[] = []
  // As the fold gives ids: by how many commands were issued before.
  const baseOf = (): CommandBase => ({ id: String(issued.length) }) as CommandBase
  for (const warning of warningsOf([misplaced('a'), misplaced('b')], '', 0, baseOf))
    issued.push(warning)
  deepEqual(
    issued.map(({ id }) => id),
    ['0', '1'],
  )
})

test('an object with thousands of references that nothing can come of has three Events an hour, which count the rest', () => {
  const stands = Array.from({ length: 5_000 }, (_, index) => misplaced(`${index}`))
  const messages = (recent: number): readonly string[] =>
    [...warningsOf(stands, '', recent, () => ({ id: '0' }) as CommandBase)].map(
      (each) => each.message,
    )
  const all = messages(0)
  equal(all.length, 3)
  equal(all.filter((message) => / of 4997 more references$/.test(message)).length, 1)
  match(all.at(-1) ?? '', / of 4997 more references$/)
  equal(messages(2).length, 1)
  equal(messages(3).length, 0)
})

test('an Event counts for an hour of log time', () => {
  deepEqual(recentWarnings({ warnedAt: [0, 1, 3_600_000] }, 3_600_000), [1, 3_600_000])
})

/** A volume that names owners in a namespace, by edits of a minute each; returns the messages. */
function warned(...edits: readonly string[]): readonly string[] {
  const world = new World()
  world.begin()
  world.step('policy enforce parity')
  for (const edit of edits) {
    world.step(`put pv/a <- ${edit}`)
    world.step(edit === edits.at(-2) ? 'beat 3700' : 'beat 60')
  }
  return world.folder.commands.flatMap((each) => (each.type === 'WarnObject' ? [each.message] : []))
}

test('references that an edit adds are warned of, too', () => {
  const messages = warned('rs/x1', 'rs/x1, rs/x2')
  match(messages.at(-1) ?? '', /x2/)
})

test('references that come when the hour has no room left are counted by the next Event', () => {
  const four = 'rs/x1, rs/x2, rs/x3, rs/x4'
  const messages = warned('rs/x1', 'rs/x2', 'rs/x3', four, `${four}, rs/x5, rs/x6`)
  equal(messages.length, 6)
  match(messages.at(-1) ?? '', / of 3 more references$/)
})

function misplaced(name: string): Stand {
  const reference = { apiVersion: 'v1', kind: 'Pod', name, uid: name }
  return { reference, isOutOfScope: true } as unknown as Stand
}
