/**
 * What was not archived of which namespace, for a record in the archive itself: who restores later
 * must find it said there.
 *
 * What must stay true: the first deletion of a namespace that is not archived is recorded at once,
 * what follows at most once an hour, so that a namespace cannot fill with such records what it may
 * not fill with objects. The memory is bounded: of the namespaces the last thousand are remembered.
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { ArchiveGap } from '../../../ports/record/service-record.ts'

const EVERY_MS = 3_600_000
const MOST_NAMESPACES = 1_000

interface Gap {
  readonly namespace: string
  from: number
  to: number
  count: number
  /** When it may be recorded again. */
  dueAt: number
}

export class ArchiveGaps {
  readonly #byNamespace = new Map<string, Gap>()

  note(namespace: string, at: number): void {
    const known = this.#byNamespace.get(namespace)
    if (known === undefined || known.count === 0) {
      const dueAt = known?.dueAt ?? at
      this.#byNamespace.set(namespace, { namespace, from: at, to: at, count: 1, dueAt })
    } else {
      known.to = at
      known.count++
    }
    const [oldest] = this.#byNamespace.keys()
    if (this.#byNamespace.size > MOST_NAMESPACES && oldest !== undefined) {
      this.#byNamespace.delete(oldest)
    }
  }

  /** What is due; it counts as recorded. */
  take(cluster: ClusterId, now: number): readonly ArchiveGap[] {
    const due = [...this.#byNamespace.values()].filter(
      ({ count, dueAt }) => count > 0 && dueAt <= now,
    )
    return due.map((gap) => {
      const { namespace, from, to, count } = gap
      gap.count = 0
      gap.dueAt = now + EVERY_MS
      return { type: 'ArchiveGap', cluster, namespace, from, to, count }
    })
  }
}
