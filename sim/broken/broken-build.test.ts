/** A change of a broken build finds its function or text, and its file wherever that was moved to; what is not one place is none. */
import { equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { brokenText } from './broken-build.ts'
import { placeOf } from './broken-file.ts'

const TEXT = `import { b } from './b.ts'

export function first(one: number): number {
  if (one > 0) {
    return b(one)
  }
  return 0
}

async function second(
  one: number,
): Promise<{
  readonly one: number
}> {
  return { one }
}

export function firstly(): void {}
`
const file = 'core/a.ts'

test('a function has another body', () => {
  const text = brokenText({ file, function: 'first', body: '  return 1' }, TEXT)
  equal(text, TEXT.replace('  if (one > 0) {\n    return b(one)\n  }\n  return 0', '  return 1'))
})

test('so has one whose result is described over several lines', () => {
  const text = brokenText({ file, function: 'second', body: '  return { one: 1 }' }, TEXT)
  equal(text, TEXT.replace('return { one }', 'return { one: 1 }'))
})

test('a function that is not there, or there twice, is refused', () => {
  const twice = `${TEXT}\n${TEXT}`
  const body = '  return 1'
  throws(() => brokenText({ file, function: 'third', body }, TEXT), /has no function third/)
  throws(() => brokenText({ file, function: 'first', body }, twice), /or several/)
})

test('a text that is not there once is refused', () => {
  equal(brokenText({ file, from: 'return 0', to: 'return 1' }, 'return 0'), 'return 1')
  throws(() => brokenText({ file, from: 'return', to: '' }, TEXT), /3 times and not once/)
  throws(() => brokenText({ file, from: 'returns', to: '' }, TEXT), /0 times and not once/)
})

const FILES = ['core/a.ts', 'core/model/b.ts', 'services/x/b.ts', 'services/y/sub/c.ts', 'sim/a.ts']
const places = [
  ['core/a.ts', 'core/a.ts'],
  ['core/b.ts', 'core/model/b.ts'],
  ['services/b.ts', 'services/x/b.ts'],
  ['c.ts', 'services/y/sub/c.ts'],
  ['core/c.ts', 'services/y/sub/c.ts'],
  ['services/y/c.ts', 'services/y/sub/c.ts'],
] as const

for (const [named, place] of places)
  test(`${named} is ${place}`, () => equal(placeOf(named, FILES), place))

for (const named of ['a.ts', 'b.ts', 'ports/b.ts', 'd.ts'])
  test(`${named} is no one file`, () => throws(() => placeOf(named, FILES), /a broken build names/))
