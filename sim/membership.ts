/**
 * Shares of partitions among the processes of a service, as one of them is notified of them: late,
 * when it was frozen.
 *
 * What must stay true: the group reassigns a member's partitions after a session without a
 * heartbeat of it; the member itself continues until it is notified, which is after it has woken.
 * An evicted member joins again.
 *
 * Not here: which member gets which partition (ports/share-out.ts).
 */
import type { MemoryCoordinator } from '../adapters/memory/placement.ts'
import type { Placed, Placement } from '../ports/placement.ts'
import type { Timeline } from './clock.ts'
import type { Incarnation } from './incarnation.ts'

/** As Kafka's session timeout. */
const SESSION_MS = 20_000
/** Until a process that slept is notified of what it lost. */
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

/** Evicts it after a session without a heartbeat. Returns what ends the watching. */
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
