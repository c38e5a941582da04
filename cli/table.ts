/** What answers look like in a terminal: tables and times. What must stay true: one row a line. */
import { timeText } from '../core/model/time-text.ts'
import { lineOf } from './terminal.ts'

/** Rows under a head, as kubectl prints them: no borders, columns as wide as their widest. */
export function table(head: readonly string[], told: readonly (readonly string[])[]): string {
  const rows = told.map((row) => row.map(lineOf))
  const widths = head.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), title.length),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd()
  return [head, ...rows].map((row) => `${line(row)}\n`).join('')
}

/** Milliseconds or RFC 3339, to the second, in UTC; `-` when it is not known. */
export function time(at: number | string | null): string {
  return at === null ? '-' : `${new Date(at).toISOString().slice(0, 19)}Z`
}

/** Of what has not happened yet: rounded up, as in the reasons that name it. */
export function timeAhead(at: number | string | null): string {
  return at === null ? '-' : timeText(new Date(at).getTime())
}
