/** A log before a fold, on which each append comes after the earlier ones: `Continue` too. */
import type { Outcome } from '../../core/graph/outcome.ts'
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import type { Folder } from '../model/folder.ts'

export class FolderLog {
  readonly #folder: Folder
  readonly #entries: Event[] = []
  /** Of each record folded. */
  readonly outcomes: Outcome[] = []
  /** `Continue` folded. */
  continues = 0
  /** Append time of the next entry to fold. */
  at = 0

  constructor(folder: Folder) {
    this.#folder = folder
  }

  append(...events: readonly Event[]): void {
    this.#entries.push(...events)
  }

  /** Folds the next entry, and returns its commands; undefined when there is none. */
  next(): readonly Command[] | undefined {
    const event = this.#entries.shift()
    if (event === undefined) return undefined
    if (event.type === 'Continue') this.continues++
    const outcome = this.#folder.foldOne(event, this.at)
    this.outcomes.push(outcome)
    if (outcome.continues) this.append({ type: 'Continue' })
    return outcome.commands
  }

  /** Entries that are not folded. */
  get length(): number {
    return this.#entries.length
  }

  all(): readonly Command[] {
    const commands: Command[] = []
    for (let next = this.next(); next !== undefined; next = this.next()) commands.push(...next)
    return commands
  }

  /** References judged. */
  get work(): number {
    return this.outcomes.reduce((sum, { work }) => sum + work, 0)
  }
}
