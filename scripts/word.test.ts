/** Comments use the standard terms: an old word is found where it is prose, and nowhere else. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { oldNamesIn, oldWordsIn } from './word.ts'

// Put into a comment here and not in the table, where it would be a comment of this file.
const SOURCES = {
  block: (text: string) => `/** ${text} */`,
  line: (text: string) => `const a = 1 // ${text}`,
  code: (text: string) => text,
}

const cases = [
  ['block', 'The log is told of it.', ['told']],
  ['line', 'Nobody reads it.', ['Nobody']],
  ['block', 'It waits for want\n * of an owner.', ['for want of']],
  ['line', 'A kind that is served no more', ['served no more']],
  ['block', 'It is told to nobody.', ['told', 'nobody']],
  ['block', '`told` and "nobody" are names; see told.ts.', []],
  ['block', 'No more than three are watched.', []],
  ['code', "const told = 'nobody'", []],
  ['code', "const url = 'http://nobody/told'", []],
] as const

for (const [kind, text, words] of cases) {
  test(`old words in a ${kind}: ${JSON.stringify(text)}`, () => {
    const found = oldWordsIn(SOURCES[kind](text)).map((each) => /"(.*)"/.exec(each)?.[1])
    deepEqual(found, words)
  })
}

test('identifiers with an old word in them, wherever it stands', () => {
  const code = "const told = isTold(toldMs, told.at, bold, 'told', nobodyIs)"
  deepEqual(oldNamesIn(`${code}\n${SOURCES.line('told')}`), [
    'told',
    'isTold',
    'toldMs',
    'told',
    'nobodyIs',
  ])
})
