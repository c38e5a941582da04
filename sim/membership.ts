/**
 * Shares of partitions among the processes of a service, as one of them hears of them: late, when it was frozen.
 *
 * What must stay true: the group gives away what a member has once it has not been heard of for a session; the member itself goes on until it
 * is told, which is after it has woken. One that finds itself put out joins again.
 *
 * Not here: who gets what (ports/share-out.ts).
 */
import type { MemoryCoordinator } from '../adapters/memory/placement.ts'
import type { Placed, Placement } from '../ports/placement.ts'
import type { Timeline } from './clock.ts'
import type { Incarnation } from './incarnation.ts'

/** As Kafka's session timeout. */
const SESSION_MS = 20_000
/** Until a process that slept hears of what it lost. */
const NEWS_MS = 1_500

export function membership(group: MemoryCoordinator, by: Incarnation, time: Timeline): Placement {
  const inner = group.placement()
  return {
    owners: () => inner.owners(),
    async *assignments(url, signal) {
      while (!signal.aborted) {
        const out = new AbortController()
        const end = watchOver(by, time, out)
        try {
          const either = AbortSignal.any([signal, out.signal])
          for await (const placed of inner.assignments(url, either)) {
            const known = heard(placed, by, time)
            await by.call('ask', () => undefined)
            yield known
          }
        } finally {
          end()
        }
        await by.call('ask', () => time.sleep(NEWS_MS, signal))
      }
    },
    [Symbol.asyncDispose]: async () => await inner[Symbol.asyncDispose](),
  }
}

/** Puts it out once nothing was heard of it for a session. Returns what ends that. */
function watchOver(by: Incarnation, time: Timeline, out: AbortController): () => void {
  return by.whenStill((isStill) => {
    time.at(time.monotonicMs() + SESSION_MS, () => {
      if (isStill()) out.abort(new Error('not heard of'))
    })
  })
}

function heard({ partition, role, revoked }: Placed, by: Incarnation, time: Timeline): Placed {
  const known = new AbortController()
  const tell = async (): Promise<void> => {
    if (!by.isAlive) await time.sleep(NEWS_MS)
    by.tell(() => {
      if (by.isAlive) known.abort(revoked.reason)
    })
  }
  if (revoked.aborted) known.abort(revoked.reason)
  else revoked.addEventListener('abort', () => void tell(), { once: true })
  return { partition, role, revoked: known.signal }
}
