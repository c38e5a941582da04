/**
 * How much happened when: changes of a tree in equal slices of a span, in a lane for each kind,
 * deletions by who did them.
 *
 * What must stay true: every change in the span is counted in one cell. A slice in which nothing is
 * recorded is none; time before the record begins is a gap.
 */

import { kindText, type Named } from '../base/text.ts'
import type { Deletion } from '../deletion-text.ts'
import { type By, byOf } from '../record/record.ts'
import type { Change, Steps } from './steps.ts'

export const SLICES = 60
/** Kinds that have a lane of their own; the rarest share one. */
const MOST_LANES = 5

export interface Cell {
  /** 0 is the earliest. */
  readonly slice: number
  readonly created: number
  readonly deleted: ReadonlyMap<By, number>
  /** Neither: owners, states, verdicts, commands. */
  readonly other: number
}

export interface Lane {
  /** Null: of several. */
  readonly kind: Pick<Named, 'group' | 'kind'> | null
  readonly cells: readonly Cell[]
}

export interface Density {
  readonly lanes: readonly Lane[]
  /** Of one kind of change in one cell. */
  readonly most: number
  readonly created: number
  readonly deleted: ReadonlyMap<By, number>
  readonly other: number
}

type Span = Steps['span']

/** Of the span, from 0 to 1. */
export function partOf({ begin, end }: Span, at: number): number {
  return Math.min(1, Math.max(0, (at - begin) / Math.max(1, end - begin)))
}

export function densityOf(
  changes: readonly Change[],
  span: Span,
  deletions: ReadonlyMap<string, Deletion>,
): Density {
  const byKind = [...Map.groupBy(changes, kindText).values()]
  const sorted = byKind.toSorted((a, b) => b.length - a.length)
  const [own, rest] = [sorted.slice(0, MOST_LANES), sorted.slice(MOST_LANES).flat()]
  const countedIn = (all: readonly Change[]): readonly Cell[] => cellsOf(all, span, deletions)
  const lanes: Lane[] = own.map((all) => ({ kind: all[0] ?? null, cells: countedIn(all) }))
  if (rest.length > 0) lanes.push({ kind: null, cells: countedIn(rest) })
  const cells = lanes.flatMap((lane) => lane.cells)
  const deleted = new Map<By, number>()
  for (const cell of cells) {
    for (const [by, count] of cell.deleted) deleted.set(by, (deleted.get(by) ?? 0) + count)
  }
  const sum = (of: (cell: Cell) => number): number => cells.reduce((all, each) => all + of(each), 0)
  return {
    lanes,
    most: Math.max(1, ...cells.map((cell) => Math.max(cell.created, deletedIn(cell)))),
    created: sum(({ created }) => created),
    deleted,
    other: sum(({ other }) => other),
  }
}

export function deletedIn({ deleted }: Pick<Cell, 'deleted'>): number {
  return [...deleted.values()].reduce((sum, each) => sum + each, 0)
}

function cellsOf(
  changes: readonly Change[],
  span: Span,
  deletions: ReadonlyMap<string, Deletion>,
): readonly Cell[] {
  const slices = Map.groupBy(changes, ({ at }) => {
    const part = partOf(span, at === null ? span.begin : Date.parse(at))
    return Math.min(SLICES - 1, Math.floor(part * SLICES))
  })
  return [...slices].map(([slice, all]) => {
    const deleted = new Map<By, number>()
    for (const { uid, change } of all) {
      if (change !== 'gone') continue
      const known = deletions.get(uid)
      const by = known === undefined ? 'unknown' : byOf(known)
      deleted.set(by, (deleted.get(by) ?? 0) + 1)
    }
    const created = all.filter(({ change }) => change === 'created').length
    const ended = all.filter(({ change }) => change === 'gone').length
    return { slice, created, deleted, other: all.length - created - ended }
  })
}
