/**
 * The held objects, by key, and the set of those that wait for an approval: a plan is that set, and
 * an approval names it.
 *
 * What must stay true: kept up wherever a node is written, so it is always that of the nodes. A
 * member names what would be done to which content; a changed member is another member, and as new
 * as the record that changed it.
 *
 * Not here: approving (approval.ts), lists for people (services/graph).
 */
import { withMember, withoutMember } from '../model/hash.ts'
import type { HeldBy, Node } from '../model/node.ts'
import { admissionOf } from '../model/node.ts'
import type { Step } from './outcome.ts'

/** A node is written, or leaves (null). */
export function noteHeld({ graph, at }: Step, before: Node | null, after: Node | null): void {
  const was = listedBy(before)
  const is = listedBy(after)
  const left = memberOf(before)
  const came = memberOf(after)
  if (was === is && left === came) return
  const uid = (after ?? before)?.object.uid ?? ''
  graph.setHeld(uid, is && { type: 'HeldNode', by: is, position: at.position })
  if (left === came) return
  let set = graph.plan
  if (left !== '') set = withoutMember(set, left)
  if (came !== '') set = withMember(set, came)
  graph.setPlan(set)
}

/**
 * Mode observe holds everything that would ever be deleted: that is no list. Objects with an
 * accepted dry run are one.
 */
export function listedBy(node: Node | null): HeldBy | null {
  if (node === null || node.hold?.by === 'mode') return null
  return admissionOf(node)?.by ?? null
}

/** Empty when it waits for no approval. */
export function memberOf(node: Node | null): string {
  if (node?.hold?.by !== 'approval') return ''
  return `${node.object.uid} ${node.hash} ${node.hold.what}`
}
