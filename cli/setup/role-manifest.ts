/**
 * Accounts and rights as manifests, the least that each service needs of a cluster.
 *
 * What must stay true: every kind is listed by its name; no wildcards, and never
 * `deletecollection`, `escalate`, `bind`, or the making of pods or tokens; `impersonate` only of
 * service accounts, and only where policies of the cluster are asked for. What may act on objects
 * is apart from what may read them, so it can be given in some namespaces only.
 *
 * Not here: the lock beside these rights (lock-policy.ts), which kinds there are (rbac.ts).
 */
import { STARTS } from '../../ports/cluster.ts'
import { LOCK } from '../../ports/lock.ts'
import { POLICY_GROUP, POLICY_RESOURCES } from '../../ports/rule/policy-kind.ts'
import { LEASE } from '../../services/watcher/config.ts'
import { type ListedKind, nameOf } from '../print/kind-name.ts'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly [key: string]: unknown
}

/**
 * `up` is watcher and reaper in one process: one account. `observe` is `up` in mode observe, which
 * only reads.
 */
export type RightsOf = 'watcher' | 'reaper' | 'up' | 'observe'

export interface RoleOptions {
  readonly kinds: readonly ListedKind[]
  /** Of the accounts. */
  readonly namespace: string
  /** Where objects may be deleted and patched; empty: everywhere. */
  readonly onlyNamespaces: readonly string[]
  /**
   * Names of the kinds that are in no namespace, as a cluster reported; Kubernetes' own are known
   * without it.
   */
  readonly clusterScoped: ReadonlySet<string>
  /** Whether CleanupPolicies of the cluster are read and carried out. */
  readonly policies: boolean
  /** Whether a rule may set Pods to Failed before they are deleted. */
  readonly failsPods: boolean
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const RBAC_GROUP = 'rbac.authorization.k8s.io'
const RBAC = `${RBAC_GROUP}/v1`

/** The cluster says who it is by the uid of this namespace. */
const IDENTITY: Rule = {
  apiGroups: [''],
  resources: ['namespaces'],
  resourceNames: ['kube-system'],
  verbs: ['get'],
}
/**
 * Which kinds another API server answers for: those are looked up before each delete, and only
 * their objects can have any name.
 */
const AGGREGATION: Rule = {
  apiGroups: ['apiregistration.k8s.io'],
  resources: ['apiservices'],
  verbs: ['list'],
}
/** Warnings about references that nothing can come of. */
const WARNINGS: Rule = { apiGroups: [''], resources: ['events'], verbs: ['create', 'get'] }
/** A Pod is set to Failed before it is deleted (`failFirst`). */
const POD_STATUS: Rule = { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] }
/** Of Kubernetes itself, as rights in some namespaces leave them out. */
export const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  'apiservices.apiregistration.k8s.io',
  'certificatesigningrequests.certificates.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'deviceclasses.resource.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'ingressclasses.networking.k8s.io',
  'ipaddresses.networking.k8s.io',
  'namespaces',
  'nodes',
  'persistentvolumes',
  'priorityclasses.scheduling.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'resourceslices.resource.k8s.io',
  'runtimeclasses.node.k8s.io',
  'servicecidrs.networking.k8s.io',
  'storageclasses.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'volumeattributesclasses.storage.k8s.io',
])

/** What it does to the objects of each kind. */
export function verbsOf(of: RightsOf): {
  readonly read: readonly string[]
  readonly change: readonly string[]
} {
  return {
    read: of === 'reaper' ? ['get'] : ['get', 'list', 'watch'],
    change: reaps(of) ? ['delete', 'patch'] : [],
  }
}

/** Whether it deletes. */
export function reaps(of: RightsOf): boolean {
  return of === 'reaper' || of === 'up'
}

export function accountName(of: RightsOf): string {
  return of === 'up' ? 'kinfold' : `kinfold-${of}`
}

/** As the API server calls the account. */
export function usernameOf(of: RightsOf, namespace: string): string {
  return `system:serviceaccount:${namespace}:${accountName(of)}`
}

export function roleManifests(of: RightsOf, options: RoleOptions): readonly Manifest[] {
  const { namespace, kinds } = options
  const account = accountName(of)
  const read: readonly Rule[] = [
    ...rulesFor(kinds, verbsOf(of).read),
    IDENTITY,
    AGGREGATION,
    ...(reaps(of) ? [WARNINGS] : []),
  ]
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } },
    clusterRole(`${account}-read`, read),
    clusterBinding(`${account}-read`, `${account}-read`, account, namespace),
    // Every account has this unless an administrator took it away: the addresses of the API's
    // groups.
    clusterBinding(`${account}-discovery`, 'system:discovery', account, namespace),
    // Only where several watchers elect one.
    ...(of === 'watcher' ? leaseRole(`${account}-lease`, LEASE, account, namespace) : []),
    // A second process on a copy of its data directory is noticed by it.
    ...(of === 'up' ? leaseRole(`${account}-data`, STARTS, account, namespace) : []),
    ...(reaps(of) ? changeRole(of, options) : []),
    ...(options.policies ? policyRoles(of, options) : []),
  ]
}

/**
 * Each deletes by the rights of a service account, so an attacker who has Kinfold's token may act
 * as any service account where this is bound.
 */
function policyRoles(
  of: RightsOf,
  { namespace, onlyNamespaces }: RoleOptions,
): readonly Manifest[] {
  const account = accountName(of)
  const status = POLICY_RESOURCES.map((each) => `${each}/status`)
  const role = `${account}-policies`
  const impersonate = `${account}-impersonate`
  const rules: readonly Rule[] = [
    { apiGroups: [POLICY_GROUP], resources: POLICY_RESOURCES, verbs: verbsOf(of).read },
    ...(reaps(of) ? [{ apiGroups: [POLICY_GROUP], resources: status, verbs: ['patch'] }] : []),
  ]
  const accounts: Rule = { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] }
  const bindings =
    onlyNamespaces.length === 0
      ? [clusterBinding(impersonate, impersonate, account, namespace)]
      : onlyNamespaces.map((each) =>
          bindingIn(each, impersonate, 'ClusterRole', account, namespace),
        )
  return [
    clusterRole(role, rules),
    clusterBinding(role, role, account, namespace),
    ...(reaps(of) ? [clusterRole(impersonate, [accounts]), ...bindings] : []),
  ]
}

/** A rule for each group: the kinds of one do not name those of another. */
function rulesFor(kinds: readonly ListedKind[], verbs: readonly string[]): readonly Rule[] {
  const groups = new Map<string, string[]>()
  for (const { group, resource } of kinds) {
    groups.set(group, [...(groups.get(group) ?? []), resource])
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, resources]) => {
      return { apiGroups: [group], resources: [...new Set(resources)].sort(), verbs }
    })
}

function leaseRole(
  role: string,
  lease: { readonly namespace: string; readonly name: string },
  account: string,
  namespace: string,
): readonly Manifest[] {
  const rule: Rule = {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [lease.name],
    verbs: ['get', 'create', 'update'],
  }
  return roleIn(lease.namespace, role, rule, account, namespace)
}

function changeRole(of: RightsOf, options: RoleOptions): readonly Manifest[] {
  const { namespace, onlyNamespaces } = options
  const account = accountName(of)
  const role = `${account}-change`
  // What the lock is tried on; it refuses both.
  const probe: Rule = {
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: [LOCK.name],
    verbs: ['get', 'delete'],
  }
  const bindings =
    onlyNamespaces.length === 0
      ? [clusterBinding(role, role, account, namespace)]
      : onlyNamespaces.map((each) => bindingIn(each, role, 'ClusterRole', account, namespace))
  return [
    clusterRole(role, [...rulesFor(changed(options), verbsOf(of).change), ...statusRule(options)]),
    ...bindings,
    ...roleIn(LOCK.namespace, `${account}-lock`, probe, account, namespace),
  ]
}

function statusRule({ kinds, failsPods }: RoleOptions): readonly Rule[] {
  return failsPods && kinds.some((kind) => nameOf(kind) === 'pods') ? [POD_STATUS] : []
}

/**
 * In a namespace of its own name a RoleBinding gives the right to delete the Namespace itself. To
 * all else that is in no namespace it gives none, and none is printed.
 */
function changed({ kinds, onlyNamespaces, clusterScoped }: RoleOptions): readonly ListedKind[] {
  if (onlyNamespaces.length === 0) return kinds
  return kinds.filter((kind) => {
    const name = nameOf(kind)
    return !CLUSTER_SCOPED.has(name) && !clusterScoped.has(name)
  })
}

function clusterRole(name: string, rules: readonly Rule[]): Manifest {
  return { apiVersion: RBAC, kind: 'ClusterRole', metadata: { name }, rules }
}

function clusterBinding(name: string, role: string, account: string, namespace: string): Manifest {
  return {
    apiVersion: RBAC,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    ...bound('ClusterRole', role, account, namespace),
  }
}

function roleIn(
  place: string,
  name: string,
  rule: Rule,
  account: string,
  namespace: string,
): readonly Manifest[] {
  return [
    { apiVersion: RBAC, kind: 'Role', metadata: { name, namespace: place }, rules: [rule] },
    bindingIn(place, name, 'Role', account, namespace),
  ]
}

function bindingIn(
  place: string,
  role: string,
  of: 'Role' | 'ClusterRole',
  account: string,
  namespace: string,
): Manifest {
  const metadata = { name: role, namespace: place }
  return { apiVersion: RBAC, kind: 'RoleBinding', metadata, ...bound(of, role, account, namespace) }
}

function bound(
  kind: 'Role' | 'ClusterRole',
  name: string,
  account: string,
  namespace: string,
): Pick<Manifest, 'roleRef' | 'subjects'> {
  return {
    roleRef: { apiGroup: RBAC_GROUP, kind, name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  }
}
