/**
 * A change of a broken build finds its function, and its file wherever that was moved to; what is
 * not one place is none.
 */
import { equal, throws } from 'node:assert/strict'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import { brokenText } from './broken-build.ts'
import { placeOf } from './broken-file.ts'

const TEXT = `import { b } from './b.ts'

export const MOST = 64

export interface Counter {
  count(by: number): number
}

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

export class Sum {
  #sum = 0

  async count(by: number): Promise<number> {
    this.#add(by)
    return this.#sum
  }

  #add(by: number): void {
    this.#sum += by
  }
}

export function counter(): Counter {
  let sum = 0
  const isMuch = (by: number): boolean => by > MOST
  const onMuch = (): void => {
    sum = 0
  }

  function add(by: number): void {
    sum += by
  }

  return {
    count(by) {
      add(by)
      if (isMuch(sum)) onMuch()
      return sum
    },
  }
}
`
const file = 'core/a.ts'

function changed(path: string, ...body: readonly string[]): string {
  return brokenText({ file, function: path, body }, TEXT)
}

interface Program {
  readonly counter: () => { count(by: number): number }
  readonly Sum: new () => { count(by: number): Promise<number> }
  readonly first: (one: number) => number
}

async function program(text: string): Promise<Program> {
  const runnable = text.replace("import { b } from './b.ts'", 'const b = (n: number) => n + 1')
  const code = stripTypeScriptTypes(runnable)
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Program
}

test('a function has another body', () => {
  const text = changed('first', '  return 1')
  equal(text, TEXT.replace('  if (one > 0) {\n    return b(one)\n  }\n  return 0', '  return 1'))
})

test('so has one whose result is described over several lines', () => {
  const text = changed('second', '  return { one: 1 }')
  equal(text, TEXT.replace('return { one }', 'return { one: 1 }'))
})

test('a body may ask the function as it was', async () => {
  const { first } = await program(changed('first', 'return 10 * original(one)'))
  equal(first(1), 20)
})

test('so may one of a method, private or not, of its object', async () => {
  const { Sum } = await program(changed('Sum.#add', 'original(2 * by)'))
  equal(await new Sum().count(3), 6)
  const other = await program(changed('Sum.count', 'return 1 + (await original(by))'))
  equal(await new other.Sum().count(3), 4)
})

const inner = [
  ['a function inside of another one', 'counter.add', 'original(2 * by)', 6],
  ['a method of what it returns', 'counter.count', 'return original(by + 1)', 4],
  ['a condition without braces', 'counter.isMuch', 'return by > 2', 0],
  ['a handler', 'counter.onMuch', 'sum = -1', 3],
] as const

for (const [what, path, body, sum] of inner)
  test(`${what} has another body`, async () => {
    const { counter } = await program(changed(path, body))
    equal(counter().count(3), sum)
  })

test('a constant has another value', async () => {
  const text = brokenText({ file, constant: 'MOST', value: '2' }, TEXT)
  equal((await program(text)).counter().count(3), 0)
  throws(() => brokenText({ file, constant: 'LEAST', value: '2' }, TEXT), /no constant LEAST/)
})

test('a function that is not there, or there twice, is refused', () => {
  throws(() => changed('third', 'return 1'), /has no function third/)
  throws(() => changed('Sum.first', 'return 1'), /has no function Sum.first/)
  throws(() => changed('Counter.count', 'return 1'), /has no function Counter.count/)
  const change = { file, function: 'first', body: ['return 1'] }
  throws(() => brokenText(change, `${TEXT}\n${TEXT}`), /or several/)
})

test('a body is refused that names what its file does not know, as after a new name', () => {
  throws(() => changed('first', 'return two'), /says two, which core\/a.ts does not know/)
  equal(changed('first', "const two = 'too'", 'return one.three === two').includes('three'), true)
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
