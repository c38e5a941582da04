/** What answers look like in a terminal: tables and times. What must stay true: one row a line. */
import { timeText } from '../../core/model/text.ts'
import { paint, type Style } from './paint.ts'
import { lineOf } from './terminal.ts'

/** Of a cell below the head. */
export type StyleOf = (row: number, column: number) => Style | undefined

/** Rows under a head, as kubectl prints them: no borders, columns as wide as their widest. */
export function table(
  head: readonly string[],
  given: readonly (readonly string[])[],
  styleOf: StyleOf = () => undefined,
): string {
  const rows = given.map((row) => row.map(lineOf))
  const widths = head.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), title.length),
  )
  const line = (cells: readonly string[], row: number): string => {
    const last = cells.findLastIndex((cell) => cell.trimEnd() !== '')
    return cells
      .slice(0, last + 1)
      .map((cell, column) => {
        const rest = column === last ? '' : ' '.repeat((widths[column] ?? 0) - cell.length)
        const style = row < 0 ? undefined : styleOf(row, column)
        return paint(column === last ? cell.trimEnd() : cell, style) + rest
      })
      .join('   ')
  }
  return [head, ...rows].map((row, index) => `${line(row, index - 1)}\n`).join('')
}

/** Rows that come one page after the other: the head once, and columns that never get narrower. */
export class GrowingTable {
  readonly #head: readonly string[]
  readonly #widths: number[]
  #isBegun = false

  constructor(head: readonly string[]) {
    this.#head = head
    this.#widths = head.map((title) => title.length)
  }

  /** These rows, below the head where they are the first. */
  add(given: readonly (readonly string[])[]): string {
    const rows = given.map((row) => row.map(lineOf))
    for (const row of rows) {
      for (const [column, cell] of row.entries()) {
        this.#widths[column] = Math.max(this.#widths[column] ?? 0, cell.length)
      }
    }
    const lines = this.#isBegun || rows.length === 0 ? rows : [this.#head, ...rows]
    this.#isBegun ||= rows.length > 0
    return lines.map((row) => `${this.#line(row)}\n`).join('')
  }

  #line(row: readonly string[]): string {
    const padded = row.map((cell, column) => cell.padEnd(this.#widths[column] ?? 0))
    return padded.join('   ').trimEnd()
  }
}

/** Milliseconds or RFC 3339, to the second, in UTC; `-` when it is not known. */
export function time(at: number | string | null): string {
  return at === null ? '-' : `${new Date(at).toISOString().slice(0, 19)}Z`
}

/** Of what has not happened yet: rounded up, as in the reasons that name it. */
export function timeAhead(at: number | string | null): string {
  return at === null ? '-' : timeText(new Date(at).getTime())
}
