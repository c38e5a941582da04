/**
 * The ways in which an owner can be deleted, as options of benchmarks name them.
 *
 * What must stay true: all contenders meet the same DELETE of the owner.
 */
import type { PropagationPolicy } from '../../core/model/object.ts'

export type PolicyName = 'background' | 'foreground' | 'orphan'

export const POLICY_NAMES: readonly PolicyName[] = ['background', 'foreground', 'orphan']

const PROPAGATION: Readonly<Record<PolicyName, PropagationPolicy>> = {
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
}

export function deleteOptions(policy: PolicyName): object {
  const propagationPolicy = PROPAGATION[policy]
  return { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy }
}

/** Of a dependent; `blockOwnerDeletion` where the owner is to wait for it. */
export function referenceTo(
  owner: { readonly name: string; readonly uid: string },
  policy: PolicyName,
): Readonly<Record<string, string | boolean>> {
  const { name, uid } = owner
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name, uid }
  return policy === 'foreground' ? { ...reference, blockOwnerDeletion: true } : reference
}
