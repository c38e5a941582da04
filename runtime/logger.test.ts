/** A log entry is one line: JSON where a program reads it, text where a person asked for it. */
import { deepEqual, equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { type Fields, textLine } from './logger.ts'

const AT = new Date('2026-01-31T10:00:00Z')
const HEAD = '2026-01-31T10:00:00.000Z INFO  serving'

const cases: readonly [string, Fields, string][] = [
  ['nothing', {}, ''],
  ['a word', { url: 'http://127.0.0.1:7070' }, '  url=http://127.0.0.1:7070'],
  ['a sentence', { reason: 'it is "gone"' }, '  reason="it is \\"gone\\""'],
  ['nothing in a text', { reason: '' }, '  reason=""'],
  ['lines and escapes', { name: 'a\nb\u001b[2J' }, '  name="a\\nb\\u001b[2J"'],
  ['what looks like a field', { name: 'a=b' }, '  name="a=b"'],
  ['numbers', { count: 3, position: 7n }, '  count=3 position=7'],
  ['a list', { positions: [7n, 8n] }, '  positions=["7","8"]'],
  ['what is not known', { reason: undefined, left: 1 }, '  left=1'],
]

suite('a line of text', () => {
  for (const [what, fields, expected] of cases) {
    test(`with ${what}`, () => equal(textLine(AT, 'info', 'serving', fields), HEAD + expected))
  }
})

/** Its standard error is a pipe. */
async function logged(...args: readonly unknown[]): Promise<readonly string[]> {
  const program = `
const { createLogger } = await import('${new URL('logger.ts', import.meta.url).href}')
const logger = createLogger(...${JSON.stringify(args)})
logger.log('info', 'unheard')
logger.log('warn', 'heard', { n: 1 })
`
  const run = ['--input-type=module', '--eval', program]
  const { stderr } = await promisify(execFile)(process.execPath, run)
  return stderr.trimEnd().split('\n')
}

test('in a pipe a line is JSON, from its level on', async () => {
  const lines = await logged('kinfold', 'warn')
  equal(lines.length, 1)
  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  equal(new Date(time).toISOString(), time)
  deepEqual(rest, { level: 'warn', component: 'kinfold', n: 1, msg: 'heard' })
})

test('or text, where that is wanted', async () => {
  const lines = await logged('kinfold', 'warn', 'text')
  deepEqual(
    lines.map((line) => line.slice(25)),
    ['WARN  heard  n=1'],
  )
})
