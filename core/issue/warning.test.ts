/** Warnings are commands like others: each has an id of its own, also when one verdict brings about several. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
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

function misplaced(name: string): Stand {
  const reference = { apiVersion: 'v1', kind: 'Pod', name, uid: name }
  return { reference, isOutOfScope: true } as unknown as Stand
}
