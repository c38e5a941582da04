/**
 * What waits for a person in the clusters of this process, as its webhook is notified: few notices
 * of each cluster, however much is held.
 */
import type { HeldBy } from '../../core/model/node.ts'
import { shellWord } from '../../core/model/text.ts'
import type { ClusterRef } from '../../services/graph/api/document.ts'
import { clusterRefs } from '../../services/graph/api/document.ts'
import type { ClusterCount } from '../../services/graph/census.ts'
import type { Notice } from '../../services/notify/notifier.ts'
import type { LockStatus } from '../../services/reaper/lock.ts'

type Count = Pick<ClusterCount, 'cluster' | 'held' | 'isBreakerOpen'>
type Lock = Pick<LockStatus, 'cluster' | 'name' | 'state' | 'reason' | 'isRequired'>

/**
 * What has a notice of its own is not among what is held. `mode`: mode observe holds everything.
 */
const OTHERWISE: readonly HeldBy[] = ['approval', 'breaker', 'mode']

export function noticesOf(
  counts: readonly Count[],
  nameOf: (cluster: string) => string,
  locks: readonly Lock[],
): readonly Notice[] {
  const refOf = clusterRefs(counts.map(({ cluster: id }) => ({ id, name: nameOf(id) })))
  return [
    ...counts.flatMap((count) => noticesOfCluster(count, refOf(count.cluster))),
    ...locks.filter(({ state }) => state === 'absent').map(noticeOfLock),
  ]
}

/**
 * Of a cluster that another process has by now, and of a lock whose test had no result, this
 * process cannot say that anything is over.
 */
export function isKnownIn(
  { type, cluster }: Notice,
  counts: readonly Pick<Count, 'cluster'>[],
  locks: readonly Pick<Lock, 'cluster' | 'state'>[],
): boolean {
  if (type !== 'lock') return counts.some((count) => count.cluster === cluster.id)
  return locks.some((lock) => lock.cluster === cluster.id && lock.state === 'in force')
}

function noticesOfCluster(
  { held, isBreakerOpen }: Count,
  { name, id, scope }: ClusterRef,
): Notice[] {
  const cluster = { name, id }
  const at = ` --cluster ${shellWord(scope)}`
  const notices: Notice[] = []
  if (held.approval > 0) {
    notices.push({
      ...{ type: 'approval', cluster, part: '', count: held.approval },
      message: `${objects(held.approval)} held until a person approves or rejects`,
      command: `kinfold plan held${at}`,
    })
  }
  const command = `kinfold held${at}`
  const breaker = { type: 'breaker', cluster, count: held.breaker, command } as const
  const until = `${objects(held.breaker)} held until a person closes it`
  if (isBreakerOpen) {
    const message = `the cluster's breaker is open: ${until}`
    notices.push({ ...breaker, part: 'cluster', message })
  }
  if (held.breaker > 0)
    notices.push({ ...breaker, part: '', message: `a breaker is open: ${until}` })
  const by = Object.entries(held).filter(
    ([each, count]) => count > 0 && !OTHERWISE.includes(each as HeldBy),
  )
  if (by.length > 0) {
    const message = `held: ${by.map(([each, count]) => `${count} by ${each}`).join(', ')}`
    const count = by.reduce((sum, [, each]) => sum + each, 0)
    notices.push({ type: 'held', cluster, part: '', count, message, command })
  }
  return notices
}

function noticeOfLock({ cluster: id, name, reason, isRequired }: Lock): Notice {
  const effect = isRequired ? ', so commands are only dry runs' : ''
  return {
    ...{ type: 'lock', cluster: { name, id }, part: '', count: 1 },
    message: `the lock is not in force${effect}: ${reason}`,
    command: `kinfold doctor --context ${shellWord(name)}`,
  }
}

function objects(count: number): string {
  return count === 1 ? '1 object is' : `${count} objects are`
}
