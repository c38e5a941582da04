/**
 * What a binding names: a role, and whom it binds to it. A rule about bindings asks the other way
 * round: not who uses the binding, but whether what it names is there.
 *
 * What must stay true: users and groups are in no cluster's API, so none of them is ever known to
 * be absent. They are rows as well, so that a binding of one is never called unused.
 *
 * Not here: when a binding is unused (core/judge/dangling.ts).
 */
import type { GroupKind } from '../rule/group-kind.ts'
import { isSameKind, type Use, type User } from './use.ts'
import { ACCOUNT, of, ROLE } from './use-row.ts'

const RBAC = 'rbac.authorization.k8s.io'
export const CLUSTER_ROLE: GroupKind = { group: RBAC, kind: 'ClusterRole' }
/** Subjects of these kinds are no objects. */
const USER: GroupKind = { group: RBAC, kind: 'User' }
const GROUP: GroupKind = { group: RBAC, kind: 'Group' }

const NAMESPACED = of(RBAC, 'RoleBinding')
export const BINDINGS: readonly User[] = [NAMESPACED, of(RBAC, 'ClusterRoleBinding')]

export const BINDING_USES: readonly Use[] = [
  {
    used: ACCOUNT,
    users: BINDINGS,
    paths: [
      'subjects[kind=ServiceAccount].name@namespace',
      // By the name as which it calls the API.
      'subjects[kind=User].name@system:serviceaccount:',
    ],
  },
  { used: ROLE, users: [NAMESPACED], paths: ['roleRef[kind=Role].name'] },
]

/** Of rules about bindings alone. */
export const BINDING_NAMES: readonly Use[] = [
  ...BINDING_USES,
  { used: CLUSTER_ROLE, users: BINDINGS, paths: ['roleRef[kind=ClusterRole].name@-'] },
  { used: USER, users: BINDINGS, paths: ['subjects[kind=User].name'] },
  { used: GROUP, users: BINDINGS, paths: ['subjects[kind=Group].name'] },
]

export function isBinding(kind: GroupKind): boolean {
  return BINDINGS.some((each) => isSameKind(each, kind))
}

export function isRole(kind: GroupKind): boolean {
  return isSameKind(ROLE, kind) || isSameKind(CLUSTER_ROLE, kind)
}

/** What may be absent of it. */
export const NAMED_BY_BINDINGS: readonly GroupKind[] = [ROLE, CLUSTER_ROLE, ACCOUNT]

export function mayBeAbsent(kind: GroupKind): boolean {
  return NAMED_BY_BINDINGS.some((each) => isSameKind(each, kind))
}
