/**
 * An order that removes one finalizer of others from an object that is being deleted: its subject,
 * and why it is refused.
 *
 * What must stay true: the order names uid, version and finalizer, and only an object that is still
 * just that, and being deleted, loses it. The same reasons are given before, with the plan, and
 * where it is folded.
 *
 * Not here: the command (issue/finalizer-removal.ts), what is shown before
 * (services/graph/query/plan/finalizer-plan.ts), the finalizers of the collector
 * (judge/completion.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { leftOf } from '../judge/completion.ts'
import type { Node } from '../model/node.ts'
import { nodePhase } from '../model/node.ts'
import {
  FINALIZER_FOREGROUND,
  isOfCollector,
  type ResourceVersion,
  type Uid,
} from '../model/object.ts'
import { protectedBecause } from './protection.ts'

/** What an order names. */
export interface FinalizerSubject {
  readonly uid: Uid
  readonly resourceVersion: ResourceVersion
  readonly finalizer: string
}

/**
 * As JSON: a uid and a finalizer are texts of servers, which may hold whatever a separator would
 * be.
 */
export function finalizerSubject({ uid, resourceVersion, finalizer }: FinalizerSubject): string {
  return JSON.stringify([uid, resourceVersion, finalizer])
}

/** Undefined for any other text. */
export function readFinalizerSubject(text: string): FinalizerSubject | undefined {
  const [uid, resourceVersion, finalizer, more] = listIn(text)
  if (typeof uid !== 'string' || uid === '' || more !== undefined) return undefined
  if (typeof resourceVersion !== 'string' || resourceVersion === '') return undefined
  if (typeof finalizer !== 'string' || finalizer === '') return undefined
  return { uid, resourceVersion, finalizer }
}

function listIn(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text)
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

/**
 * Why that finalizer may not be removed from the object, whatever the mode, as far as its own state
 * and the policy say; empty where it may.
 */
export function finalizerRefusal(facts: ClusterFacts, node: Node, finalizer: string): string {
  const { object } = node
  if (object.deletedAt === null) return 'it is not being deleted'
  if (node.doubt !== null) return 'what is known of it is untrusted until its kind is listed again'
  if (nodePhase(node) === 'reaped') return 'a server said that it is deleted'
  if (!object.finalizers.includes(finalizer)) return notThere(object.kind, finalizer)
  if (isOfCollector(finalizer)) return ofCollector(facts, node, finalizer)
  const spared = protectedBecause(facts, node, 'orphaning')
  if (spared !== null) return spared.because
  if (facts.policy.policy.mayRemove.includes(finalizer)) return ''
  return 'the config does not list that finalizer in finalizers.mayRemove'
}

/** Those in the spec of a namespace are no metadata, and its controller removes them. */
function notThere(kind: string, finalizer: string): string {
  if (kind !== 'Namespace' || finalizer !== 'kubernetes') return 'it has no such finalizer'
  return 'kubernetes is in spec.finalizers of a Namespace, which only its controller empties, once all objects in it are deleted'
}

function ofCollector(facts: ClusterFacts, { object }: Node, finalizer: string): string {
  const left = leftOf(facts, object.uid, object)
  const isForeground = finalizer === FINALIZER_FOREGROUND
  const count = isForeground ? left.blocking : left.dependents
  const what = `dependent${count === 1 ? '' : 's'} that ${isForeground ? 'block' : 'reference'}${count === 1 ? 's' : ''} it`
  const when =
    count === 0 ? 'no dependent is left' : `${count} ${what} ${count === 1 ? 'is' : 'are'} left`
  return `the collector removes ${finalizer} once no dependent is left: ${when}`
}
