/**
 * How commands and their output are read from a document, and when an output has the shape that is
 * shown.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { examplesIn } from './example.ts'
import { missingLine } from './shape.ts'

const DOCUMENT = `
Text, and
\`\`\`
# a comment
kinfold tree a   # and why
curl -X POST \\
  -d x

\`\`\`
\`\`\`yaml
not: a command
\`\`\`
\`\`\`console
$ kinfold why a \\
    --more
One line
…
$ kinfold held
\`\`\`
`

test('commands are lines of blocks, or stand behind a prompt and have output', () => {
  const found = examplesIn('x.md', DOCUMENT)
  deepEqual(
    found.map(({ line, command, shown }) => [line, command, shown]),
    [
      [5, 'kinfold tree a   # and why', []],
      [6, 'curl -X POST \\\n-d x', []],
      [14, 'kinfold why a \\\n    --more', ['One line', '…']],
      [18, 'kinfold held', []],
    ],
  )
})

const shapes: readonly [
  what: string,
  shown: string[],
  output: string,
  missing: string | undefined,
][] = [
  ['the same text', ['a b'], 'a b', undefined],
  ['one of several lines', ['b'], 'a\nb\nc', undefined],
  ['other words', ['a b'], 'a c', 'a b'],
  ['more than is shown', ['a'], 'a b', 'a'],
  ['other names and times', ['rs/web-1a2b 10:00'], 'rs/web-9z 11:59', undefined],
  ['another word before such a name', ['rs/web-1a2b'], 'po/web-9z', 'rs/web-1a2b'],
  ['gaps of another width', ['a   b'], '  a b', undefined],
  ['what is left out', ['a … c'], 'a b b c', undefined],
  ['lines in another order', ['b', 'a'], 'a\nb', 'a'],
  ['lines that are left out', ['a', '…', 'c'], 'a\nb\nc', undefined],
]

for (const [what, shown, output, missing] of shapes) {
  test(`of ${what}, output ${missing === undefined ? 'has' : 'does not have'} the shape`, () => {
    equal(missingLine(shown, output), missing)
  })
}
