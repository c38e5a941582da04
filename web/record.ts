/**
 * Deletions of the last hour: a bar for each namespace, in parts by who deleted; a part leads to the object, or to the list of its deletions.
 *
 * What must stay true: a part is told by its words and pattern, not by its colour alone; what was not counted is said.
 */
import type { Deletion } from './deletion-text.ts'

export type By = 'a user' | 'another collector' | 'Kinfold' | 'unknown'
export const BY: readonly By[] = ['a user', 'another collector', 'Kinfold', 'unknown']

/** Class of each in page.css: patterns, so that they differ without colours. */
export const PATTERN: Readonly<Record<By, string>> = {
  'a user': 'user',
  'another collector': 'collector',
  Kinfold: 'kinfold',
  unknown: 'unknown',
}

export interface Bar {
  readonly cluster: Deletion['cluster']
  readonly namespace: string
  readonly total: number
  /** Of each who deleted here, the newest of theirs first. */
  readonly parts: ReadonlyMap<By, readonly Deletion[]>
}

/** Longest first. */
export function barsOf(deletions: readonly Deletion[]): readonly Bar[] {
  const bars = new Map<
    string,
    { -readonly [K in keyof Bar]: Bar[K] } & { parts: Map<By, Deletion[]> }
  >()
  for (const each of deletions.toReversed()) {
    const { cluster, namespace } = each
    const key = JSON.stringify([cluster.id, namespace])
    const bar = bars.get(key) ?? { cluster, namespace, total: 0, parts: new Map() }
    bars.set(key, bar)
    bar.total += 1
    const by = byOf(each)
    const part = bar.parts.get(by)
    if (part === undefined) bar.parts.set(by, [each])
    else part.push(each)
  }
  return [...bars.values()].toSorted((a, b) => b.total - a.total)
}

/** Where no audit log names anybody, and no owner's deletion is the cause, it is not known who it was. */
export function byOf({ by, isInferred, deletedBy }: Deletion): By {
  if (by === 'kinfold' || deletedBy?.match === 'audit-id') return 'Kinfold'
  if (deletedBy !== null) return deletedBy.isCollector ? 'another collector' : 'a user'
  return isInferred && by === 'others' ? 'another collector' : 'unknown'
}

/** Who deleted, by name, each with how many; at most three are named. */
export function namesIn(deletions: readonly Deletion[]): string {
  const counts = new Map<string, number>()
  for (const { deletedBy } of deletions) {
    if (deletedBy !== null) counts.set(deletedBy.user, (counts.get(deletedBy.user) ?? 0) + 1)
  }
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a)
  const named = sorted.slice(0, 3).map(([user, count]) => `${user} ${count}`)
  return [...named, ...(sorted.length > 3 ? [`${sorted.length - 3} more`] : [])].join(', ')
}
