/**
 * Waits for a condition in another process, by checking it again and again.
 *
 * What must stay true: it ends, and then says which condition was not met and what was seen last. A
 * check that throws counts as "not yet".
 */
import { setTimeout as delay } from 'node:timers/promises'

export interface Patience {
  readonly withinMs?: number
  readonly everyMs?: number
}

/** Two busy cores, and work that has to back off once or twice. */
const WITHIN_MS = 90_000
const EVERY_MS = 50

/** `look` returns true when the condition is met; a text describes the present state. */
export async function eventually(
  what: string,
  look: () => Promise<boolean | string>,
  { withinMs = WITHIN_MS, everyMs = EVERY_MS }: Patience = {},
): Promise<void> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const seen = await look().catch((error: unknown) => String(error))
    if (seen === true) return
    if (performance.now() > deadline) {
      const last = seen === false ? '' : `; last seen: ${seen}`
      throw new Error(`not within ${withinMs} ms: ${what}${last}`)
    }
    await delay(everyMs)
  }
}
