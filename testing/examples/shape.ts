/**
 * Whether output has the shape that a document shows: each shown line comes in it, in that order.
 *
 * What must stay true: words are compared as they are. What differs from run to run is compared by its shape only: a word with a digit in it
 * (names that are generated, times, uids, counts), the width of gaps, and `…`, which is any text. Steps of a plan, indented, come in the
 * order in which they were archived, so they are compared sorted, as documents show them.
 */
const MADE_UP = /[0-9A-Za-z]*\d[0-9A-Za-z]*/

/** The first shown line that does not come where it should; undefined when all do. */
export function missingLine(shown: readonly string[], output: string): string | undefined {
  const lines = stepsInOrder(output).split('\n')
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

/** Lines that are indented by two, sorted where they follow each other. */
export function stepsInOrder(text: string): string {
  return text.replaceAll(/(^ {2}.*\n)+/gm, (steps) =>
    steps
      .split(/(?<=\n)/)
      .toSorted()
      .join(''),
  )
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
