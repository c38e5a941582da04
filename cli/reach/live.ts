/**
 * What objects of an answer are like just now, read from their cluster as the user, with the user's
 * own kubeconfig.
 *
 * What must stay true: a few at a time, and of a big answer the first ones; what could not be read
 * is unknown, never well. Kinds that have no status, Secrets among them, are read as metadata
 * alone.
 *
 * Not here: what an object's status means (live-status.ts), what it looks like (tree.ts).
 */
import type { GetAnswer, ReadAnswer } from '../../ports/cluster.ts'
import { liveStatusOf } from '../print/live-status.ts'
import { callSignal, type OwnCluster, type OwnObject, targetOf } from './own-cluster.ts'

const AT_ONCE = 8
const MOST_READ = 500
const WITHOUT_STATUS: ReadonlySet<string> = new Set(['/Secret', '/ConfigMap'])

export type Live =
  | {
      readonly type: 'Found'
      readonly ready: string
      readonly reason: string
      readonly status: string
      /** Milliseconds since 1970. */
      readonly createdAt: number | null
    }
  /** It is proven not to exist. */
  | { readonly type: 'NotFound' }
  | { readonly type: 'Unknown'; readonly because: string }

/** By uid. */
export async function readLive(
  own: OwnCluster,
  objects: readonly OwnObject[],
): Promise<ReadonlyMap<string, Live>> {
  const live = new Map<string, Live>()
  const left = objects.entries()
  const worker = async (): Promise<void> => {
    for (const [index, object] of left) {
      const because = `only the first ${MOST_READ} objects are read`
      const isRead = index < MOST_READ
      live.set(object.uid, isRead ? await liveOf(own, object) : { type: 'Unknown', because })
    }
  }
  // Asked for once, before the workers ask together.
  if (objects[0] !== undefined) await own.kind(objects[0])
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return live
}

async function liveOf(own: OwnCluster, object: OwnObject): Promise<Live> {
  const served = await own.kind(object)
  if (served === undefined)
    return { type: 'Unknown', because: 'the cluster does not serve its kind' }
  const target = targetOf(served, object)
  const isBare = WITHOUT_STATUS.has(`${object.group}/${object.kind}`)
  try {
    const answer: GetAnswer | ReadAnswer = isBare
      ? await own.cluster.get(target, callSignal(), own.id)
      : await own.cluster.read(target, callSignal(), own.id)
    if (answer.type === 'Absent') return { type: 'NotFound' }
    if (answer.type === 'Unknown') return { type: 'Unknown', because: answer.reason }
    const { uid, createdAt, deletedAt } = answer.object
    // Another object has its name now.
    if (uid !== object.uid) return { type: 'NotFound' }
    const { text } = answer as { readonly text?: string }
    if (text !== undefined) return { type: 'Found', ...liveStatusOf(JSON.parse(text)), createdAt }
    const status = deletedAt === null ? 'Current' : 'Terminating'
    return { type: 'Found', ready: '-', reason: '', status, createdAt }
  } catch (error) {
    return { type: 'Unknown', because: error instanceof Error ? error.message : String(error) }
  }
}
