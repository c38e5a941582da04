/**
 * Whether output has the shape that a document shows: it contains each shown line, in that order.
 *
 * What must stay true: words are compared as they are. Text that differs from run to run is
 * compared by its shape only: a word with a digit in it (names that are generated, times, uids,
 * counts), the width of gaps, and `…`, which is any text.
 */
const MADE_UP = /[0-9A-Za-z]*\d[0-9A-Za-z]*/

/** The first shown line that is missing at its place; undefined when all do. */
export function missingLine(shown: readonly string[], output: string): string | undefined {
  const lines = output.split('\n')
  let at = 0
  for (const line of shown) {
    if (line.trim() === '…') continue
    const shape = shapeOf(line)
    const found = lines.findIndex((each, index) => index >= at && shape.test(each))
    if (found < 0) return line
    at = found + 1
  }
  return undefined
}

function shapeOf(line: string): RegExp {
  const parts = line.trim().split(/(…|\s+|[0-9A-Za-z]*\d[0-9A-Za-z]*)/)
  const shape = parts.map((part) => {
    if (part === '…') return '.*'
    if (/^\s+$/.test(part)) return '\\s+'
    return MADE_UP.test(part) ? '[0-9A-Za-z]+' : RegExp.escape(part)
  })
  return new RegExp(`^\\s*${shape.join('')}\\s*$`)
}
