/**
 * Why a name may be missing in an answer, or may be another one: requests that were not kept, or
 * are too many to be read.
 *
 * What must stay true: everything that was cut on the way to an answer is in its `partial`, in as
 * many words as fit on a line. A user is named only to users who may know who deleted the object.
 *
 * Not here: what is cut (actor-index.ts, actors/audit-feed.ts).
 */
import { timeText } from '../../../../core/model/text.ts'
import type { ActorGap } from '../../../../ports/record/service-record.ts'

/** Sentences of one answer. */
const MOST_SAID = 3

export class ActorDoubts {
  /** From when to when, by what is said of it. */
  readonly #gaps = new Map<string, { from: number; to: number }>()
  readonly #others = new Set<string>()

  gap({ namespace, user, cause, from, to }: ActorGap, isNamed: boolean): void {
    const whose = isNamed && user !== null ? ` of ${user}` : ''
    const where = namespace === null || namespace === '' ? '' : ` in namespace ${namespace}`
    const what =
      cause === 'share'
        ? `requests${whose}${where} above their share were not kept`
        : 'events of the audit log could not be read'
    const known = this.#gaps.get(what)
    this.#gaps.set(what, {
      from: Math.min(from, known?.from ?? from),
      to: Math.max(to, known?.to ?? to),
    })
  }

  other(text: string): void {
    this.#others.add(text)
  }

  text(): string {
    const gaps = [...this.#gaps].map(([what, { from, to }]) => {
      const when = from === 0 ? 'of deletions' : `of ${timeText(from)} to ${timeText(to)}`
      return `names ${when} are incomplete: ${what}`
    })
    const all = [...gaps, ...this.#others]
    const more = all.length - MOST_SAID
    const last = more > 0 ? [`${more} more of these`] : []
    return [...all.slice(0, MOST_SAID), ...last].join('; ')
  }
}
