/**
 * Owners that were published as found a short while ago.
 *
 * What must stay true: only owners published within that time are remembered. An owner that is
 * forgotten with the process is published once more, which harms nothing.
 */
import type { OwnerFound } from '../../core/model/event.ts'
import type { Clock } from '../../ports/clock.ts'

export interface FoundOwners {
  /** False when the same owner was published less than `againMs` ago. */
  isNews(found: OwnerFound): boolean
}

export function createFoundOwners(clock: Pick<Clock, 'monotonicMs'>, againMs: number): FoundOwners {
  /** By the time of publication, oldest first. */
  const toldMs = new Map<string, number>()

  function forget(nowMs: number): void {
    for (const [key, atMs] of toldMs) {
      if (nowMs - atMs < againMs) return
      toldMs.delete(key)
    }
  }

  return {
    isNews({ cluster, clusterEpoch, owner, uid }) {
      const nowMs = clock.monotonicMs()
      forget(nowMs)
      const { group, kind, namespace, name } = owner
      const key = JSON.stringify([cluster, clusterEpoch, group, kind, namespace, name, uid])
      if (toldMs.has(key)) return false
      toldMs.set(key, nowMs)
      return true
    },
  }
}
