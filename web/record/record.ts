/**
 * Deletions by namespace and by who deleted: the bars of the last hour, in parts, and who is in
 * each.
 *
 * What must stay true: a part is recognized by its words and pattern, not by its colour alone. A
 * name that is a guess is called so, and so is an owner's deletion that is inferred.
 */
import { countOf } from '../base/text.ts'
import { type Deletion, deleterText } from '../deletion-text.ts'

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

/** Unknown where no audit log names a user, and no owner's deletion is the cause. */
export function byOf({ by, isInferred, deletedBy }: Deletion): By {
  if (by === 'kinfold' || deletedBy?.match === 'audit-id') return 'Kinfold'
  if (deletedBy !== null) return deletedBy.isCollector ? 'another collector' : 'a user'
  return isInferred && by === 'others' ? 'another collector' : 'unknown'
}

/** How many, and who; of what a collector deleted, who deleted the owners that were the cause. */
export function partText(by: By, part: readonly Deletion[]): string {
  const head = `${by} ${part.length.toLocaleString('en')}`
  if (by === 'unknown') return head
  if (by === 'a user') return `${head}: ${namesIn(part.map(({ deletedBy }) => deletedBy))}`
  const caused = part.filter(({ rootDeletedBy }) => rootDeletedBy !== null)
  if (caused.length === 0) return head
  const names = namesIn(caused.map(({ rootDeletedBy }) => rootDeletedBy))
  const inferred = caused.some(({ isInferred }) => isInferred) ? ' (inferred)' : ''
  return `${head}, because of deletions by ${names}${inferred}`
}

/** Who deleted, by name, each with how many; at most three are named. */
function namesIn(deleters: readonly Deletion['deletedBy'][]): string {
  const counts = new Map<string, number>()
  for (const each of deleters) {
    if (each === null) continue
    const name = deleterText(each)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a)
  const named = sorted.slice(0, 3).map(([user, count]) => `${user} ${count}`)
  return [...named, ...(sorted.length > 3 ? [countOf(sorted.length - 3, 'other')] : [])].join(', ')
}

/** Rows of a list that were asked for: of one who deleted, or of no namespace. */
export interface Filter {
  /** Empty: by any client. */
  readonly who: string
  /** Only what is in no namespace, which the server cannot be asked for. */
  readonly isOutside: boolean
}

export function filtered(
  deletions: readonly Deletion[],
  { who, isOutside }: Filter,
): readonly Deletion[] {
  return deletions.filter((each) => {
    if (isOutside && each.namespace !== '') return false
    return who === '' || byOf(each) === who
  })
}
