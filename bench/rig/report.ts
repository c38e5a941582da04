/**
 * The results of a benchmark: tables for people, figures for machines, both of the same numbers.
 *
 * Not here: whether a figure is good.
 */
import { cpus, totalmem } from 'node:os'

export interface Report {
  readonly bench: string
  readonly options: Readonly<Record<string, number | string>>
  readonly machine: Machine
  readonly tables: readonly Table[]
  /** Everything measured, in full. */
  readonly measured: unknown
}

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

export interface Machine {
  readonly cores: number
  readonly memoryGib: number
  readonly node: string
}

export function machine(): Machine {
  return {
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  }
}

/** As Markdown, so that it can be kept as it is. */
export function print({ bench, options, machine: on, tables }: Report): string {
  const asked = Object.entries(options).map(([name, value]) => `${name} ${value}`)
  const head = `${bench}: ${asked.join(', ')}; ${on.cores} cores, ${on.memoryGib} GiB, Node ${on.node}\n`
  return [head, ...tables.map(printTable)].join('\n')
}

function printTable({ title, columns, rows }: Table): string {
  const cells = [columns, ...rows].map((row) => row.map(String))
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  const [first = [], ...others] = cells
  return `${title}\n\n${[line(first), rule, ...others.map(line)].join('\n')}\n`
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

/** The smallest value that at least this share of all does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = Math.max(0, Math.ceil(share * sorted.length) - 1)
  return sorted[at] ?? Number.NaN
}

export function rounded(value: number, digits = 0): number {
  return Number(value.toFixed(digits))
}
