/**
 * What is never deleted for want of an owner: kinds, namespaces, labels and annotations, by policy and by what users already wrote.
 *
 * What must stay true: decided from the object and the policy alone, so the gate asks the same question of an object that it has read.
 */
import type { StateReader } from './graph.ts'
import type { ClusterId, ObjectMeta } from './object.ts'
import type { EvidenceClass } from './proof.ts'

/** Why this object is spared; empty when it is not. */
export function protectedBecause(
  _graph: StateReader,
  _cluster: ClusterId,
  _object: ObjectMeta,
  _evidence: EvidenceClass,
): string {
  return ''
}
