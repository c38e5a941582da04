/** Warnings are commands like others: each has an id of its own, also when one verdict brings about several. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Stand } from '../judge/standing.ts'
import type { CommandBase, WarnObject } from '../model/command.ts'
import { warningsOf } from './warning.ts'

test('two references that nothing can come of are warned of under two ids', () => {
  const issued: WarnObject[] = []
  // As the fold gives ids: by how many commands were issued before.
  const baseOf = (): CommandBase => ({ id: String(issued.length) }) as CommandBase
  for (const warning of warningsOf([misplaced('a'), misplaced('b')], '', baseOf))
    issued.push(warning)
  deepEqual(
    issued.map(({ id }) => id),
    ['0', '1'],
  )
})

test('an object with thousands of references that nothing can come of is warned of a few', () => {
  const stands = Array.from({ length: 5_000 }, (_, index) => misplaced(`${index}`))
  const issued = [...warningsOf(stands, '', () => ({ id: '0' }) as CommandBase)]
  equal(issued.length, 16)
})

function misplaced(name: string): Stand {
  const reference = { apiVersion: 'v1', kind: 'Pod', name, uid: name }
  return { reference, isOutOfScope: true } as unknown as Stand
}
