/**
 * Kinds and the facts that the server needs to serve one; the built-in ones are the table below.
 *
 * What must stay true: every difference between kinds is a column here, never a comparison with a
 * name elsewhere (except namespaces and CustomResourceDefinitions, which are sweeps of their own:
 * sweep.ts).
 *
 * Not here: the kinds served at this moment (registry.ts), columns of tables (column.ts).
 */
import type { Scope } from '../../../core/model/object.ts'

/**
 * The effect of a DELETE without a policy; `Unsupported`: the kind knows none, and never gets a
 * finalizer of the collector.
 */
export type DefaultPolicy = 'Background' | 'Orphan' | 'Unsupported'

export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly priority: number
  readonly jsonPath: string
}

export interface Kind {
  readonly group: string
  readonly kind: string
  readonly resource: string
  readonly singular: string
  readonly scope: Scope
  /** Served ones, preferred first. */
  readonly versions: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** Objects of kinds with the same store are the same objects (Events, in two groups). */
  readonly store: string
  /**
   * Made by a CustomResourceDefinition: other refusals, no strategic merge, no unconditional
   * update.
   */
  readonly custom: boolean
  /** A PUT makes it where it is missing, and needs a version where it is not. */
  readonly createdByPut: boolean
  /** Changes outside metadata and status are counted in `metadata.generation`. */
  readonly countsGenerations: boolean
  readonly hasStatus: boolean
  readonly hasScale: boolean
  readonly defaultPolicy: DefaultPolicy
  /** A DELETE that removes answers with the object as it last was, and not with a Status. */
  readonly answersRemoved: boolean
  /** A DELETE has a grace period, if only of no length. */
  readonly graceful: boolean
  readonly verbs: readonly string[]
  /** Of a custom kind, by version. */
  readonly columns: Readonly<Record<string, readonly PrinterColumn[]>>
  /** Of a custom kind, by version: an OpenAPI schema, as its CustomResourceDefinition has it. */
  readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** With each write: a wrong belief that a client could have about it. */
  readonly warning: string
}

export const ALL_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]

interface Row extends Partial<Omit<Kind, 'group' | 'kind' | 'resource'>> {
  readonly group?: string
  readonly short?: string
}

function builtIn(kind: string, resource: string, row: Row = {}): Kind {
  const { group = '', short, ...given } = row
  return {
    group,
    kind,
    resource,
    singular: kind.toLowerCase(),
    scope: 'Namespaced',
    versions: ['v1'],
    shortNames: short === undefined ? [] : short.split(' '),
    categories: [],
    store: `${resource}.${group}`,
    custom: false,
    createdByPut: false,
    countsGenerations: false,
    hasStatus: false,
    hasScale: false,
    defaultPolicy: 'Background',
    answersRemoved: false,
    graceful: false,
    verbs: ALL_VERBS,
    columns: {},
    schemas: {},
    warning: '',
    ...given,
  }
}

const CLUSTER = { scope: 'Cluster' } as const
const STATUS = { hasStatus: true } as const
const COUNTED = { hasStatus: true, countsGenerations: true } as const
const WORKLOAD = { ...COUNTED, categories: ['all'] } as const
const ORPHANS = { defaultPolicy: 'Orphan' } as const
const SHOWN = { answersRemoved: true } as const

const APPS = { group: 'apps' } as const
const BATCH = { group: 'batch' } as const
const STORAGE = { group: 'storage.k8s.io', ...CLUSTER } as const
const RBAC = { group: 'rbac.authorization.k8s.io' } as const
const ADMISSION = { group: 'admissionregistration.k8s.io', ...CLUSTER } as const
const POLICY = {
  ...ADMISSION,
  warning: 'this server evaluates no admission policies: it keeps them, and they refuse nothing',
} as const
const WEBHOOK = {
  ...ADMISSION,
  warning: 'this server calls no webhooks: it keeps their configuration, and they refuse nothing',
} as const
const EVENTS = { short: 'ev', store: 'events', defaultPolicy: 'Unsupported' } as const

export const NAMESPACE: Kind = builtIn('Namespace', 'namespaces', {
  short: 'ns',
  ...CLUSTER,
  ...STATUS,
  verbs: ALL_VERBS.filter((verb) => verb !== 'deletecollection'),
})

export const DEFINITION: Kind = builtIn('CustomResourceDefinition', 'customresourcedefinitions', {
  group: 'apiextensions.k8s.io',
  short: 'crd crds',
  ...CLUSTER,
  ...COUNTED,
})

export const BUILT_IN: readonly Kind[] = [
  builtIn('ConfigMap', 'configmaps', { short: 'cm' }),
  builtIn('Endpoints', 'endpoints', { short: 'ep' }),
  builtIn('Event', 'events', EVENTS),
  NAMESPACE,
  builtIn('Node', 'nodes', { short: 'no', ...CLUSTER, ...STATUS }),
  builtIn('PersistentVolumeClaim', 'persistentvolumeclaims', { short: 'pvc', ...STATUS, ...SHOWN }),
  builtIn('PersistentVolume', 'persistentvolumes', {
    short: 'pv',
    ...CLUSTER,
    ...STATUS,
    ...SHOWN,
  }),
  builtIn('Pod', 'pods', { short: 'po', ...WORKLOAD, ...SHOWN, graceful: true }),
  builtIn('ReplicationController', 'replicationcontrollers', {
    short: 'rc',
    ...WORKLOAD,
    ...ORPHANS,
    hasScale: true,
  }),
  builtIn('Secret', 'secrets'),
  builtIn('ServiceAccount', 'serviceaccounts', { short: 'sa', ...SHOWN }),
  builtIn('Service', 'services', { short: 'svc', ...STATUS, ...SHOWN, categories: ['all'] }),
  builtIn('ControllerRevision', 'controllerrevisions', APPS),
  builtIn('DaemonSet', 'daemonsets', { ...APPS, short: 'ds', ...WORKLOAD }),
  builtIn('Deployment', 'deployments', { ...APPS, short: 'deploy', ...WORKLOAD, hasScale: true }),
  builtIn('ReplicaSet', 'replicasets', { ...APPS, short: 'rs', ...WORKLOAD, hasScale: true }),
  builtIn('StatefulSet', 'statefulsets', { ...APPS, short: 'sts', ...WORKLOAD, hasScale: true }),
  builtIn('CronJob', 'cronjobs', { ...BATCH, short: 'cj', ...WORKLOAD }),
  builtIn('Job', 'jobs', { ...BATCH, ...WORKLOAD, ...ORPHANS }),
  builtIn('Event', 'events', { group: 'events.k8s.io', ...EVENTS }),
  builtIn('Lease', 'leases', { group: 'coordination.k8s.io', createdByPut: true }),
  builtIn('Ingress', 'ingresses', { group: 'networking.k8s.io', short: 'ing', ...COUNTED }),
  builtIn('NetworkPolicy', 'networkpolicies', { group: 'networking.k8s.io', short: 'netpol' }),
  builtIn('EndpointSlice', 'endpointslices', { group: 'discovery.k8s.io' }),
  builtIn('PodDisruptionBudget', 'poddisruptionbudgets', {
    group: 'policy',
    short: 'pdb',
    ...COUNTED,
  }),
  builtIn('ClusterRoleBinding', 'clusterrolebindings', { ...RBAC, ...CLUSTER }),
  builtIn('ClusterRole', 'clusterroles', { ...RBAC, ...CLUSTER }),
  builtIn('RoleBinding', 'rolebindings', RBAC),
  builtIn('Role', 'roles', RBAC),
  builtIn('StorageClass', 'storageclasses', { ...STORAGE, short: 'sc' }),
  builtIn('VolumeAttachment', 'volumeattachments', { ...STORAGE, ...STATUS }),
  builtIn('PriorityClass', 'priorityclasses', {
    group: 'scheduling.k8s.io',
    short: 'pc',
    ...CLUSTER,
  }),
  builtIn('ValidatingAdmissionPolicy', 'validatingadmissionpolicies', { ...POLICY, ...COUNTED }),
  builtIn('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', POLICY),
  builtIn('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', WEBHOOK),
  builtIn('APIService', 'apiservices', {
    group: 'apiregistration.k8s.io',
    ...CLUSTER,
    ...STATUS,
  }),
  DEFINITION,
]

/** `apps/v1`, or `v1` of the core group. */
export function groupVersion(kind: Kind, version: string): string {
  return kind.group === '' ? version : `${kind.group}/${version}`
}
