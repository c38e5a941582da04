/**
 * What rows of the table are made of: the kinds that may be called unused, and how a user is
 * written.
 */
import type { GroupKind } from '../rule/group-kind.ts'
import type { User } from './use.ts'

export const SECRET: GroupKind = { group: '', kind: 'Secret' }
export const CONFIG_MAP: GroupKind = { group: '', kind: 'ConfigMap' }
export const CLAIM: GroupKind = { group: '', kind: 'PersistentVolumeClaim' }
export const ACCOUNT: GroupKind = { group: '', kind: 'ServiceAccount' }
export const ROLE: GroupKind = { group: 'rbac.authorization.k8s.io', kind: 'Role' }

/** What it names is below `at`. */
export function of(group: string, kind: string, at = ''): User {
  return { group, kind, at }
}
