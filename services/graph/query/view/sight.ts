/**
 * What of a cluster one answer shows, where who asks may not see all of it.
 *
 * What must stay true: what is not shown is counted as one number, and nothing else is said of it:
 * no name or uid, and no count by kind or namespace. So where a question names a namespace or a
 * kind, nothing is counted (`LEFT_OUT`).
 *
 * Not here: how rights are checked (access.ts).
 */
import type { Coordinates } from '../../../../core/model/object.ts'

export interface Sight {
  /** All of it is shown. */
  readonly isWhole: boolean
  shows(place: Omit<Coordinates, 'name'>): Promise<boolean>
}

/**
 * For `partial`, where a question is about a namespace and not about one object: whatever is there,
 * it says the same, or it could be asked namespace by namespace what others have.
 */
export const LEFT_OUT = 'what you may not list is left out, and not counted'

export const WHOLE: Sight = { isWhole: true, shows: async () => true }

/** Instead of a text that may name what is not shown. */
export const HIDDEN = 'hidden'

/** For `partial`; empty where nothing is hidden. */
export function hiddenText(count: number): string {
  if (count === 0) return ''
  return count === 1
    ? '1 object is hidden: it is counted, and not listed'
    : `${count} objects are hidden: they are counted, and not listed`
}

/** Those that are shown. */
export async function shownOf<T extends Omit<Coordinates, 'name'>>(
  all: readonly T[],
  sight: Sight,
): Promise<readonly T[]> {
  if (sight.isWhole) return all
  const shown: T[] = []
  for (const each of all) if (await sight.shows(each)) shown.push(each)
  return shown
}
