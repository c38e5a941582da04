/**
 * Where in its history the deletion of an object began, and where it was over.
 *
 * What must stay true: a deletion of which only the end is recorded begins there.
 */
import type { Why } from '../../cli/answer.ts'

type Entry = Pick<Why['history'][number], 'change' | 'phase' | 'partition' | 'position' | 'at'>

export interface End {
  readonly at: string | null
  readonly since: string | null
  /** False: only its end is recorded, and `since` is that. */
  readonly isBegun: boolean
  /** Everything before its deletion. */
  readonly before: string
}

const ENDING: ReadonlySet<string> = new Set(['deleting', 'waiting', 'orphaning'])

/** Undefined: its end is not in what is kept of its history. */
export function endOf(history: readonly Entry[]): End | undefined {
  const gone = history.findLast(({ change }) => change === 'gone')
  if (gone === undefined) return undefined
  const begun = history.find(({ phase, change }) => change === 'phase' && ENDING.has(phase ?? ''))
  const { partition, position, at } = begun ?? gone
  const before = `pos:${partition}-${position}`
  return { at: gone.at, since: at, isBegun: begun !== undefined, before }
}
