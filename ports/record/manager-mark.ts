/**
 * The marks that tools put on what they manage: which labels and annotations are read, and how they
 * name the manager, in the same cluster or in another one.
 *
 * What must stay true: data, one row a mark, read by the watcher's projection and by answers alike.
 * Nothing is deleted, held or kept because of any: who may write an object's labels may write
 * these. Each row says where the tool documents the mark; a row without a source is not added.
 *
 * Not here: objects that are marked (services/graph/query/across), what is published of objects
 * (projection.ts).
 */
import type { GroupKind, ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import { groupOf } from '../../core/model/object.ts'

export const TOOLS = ['argo', 'flux', 'helm', 'ocm', 'karmada', 'crossplane'] as const
export type Tool = (typeof TOOLS)[number]

/** For people. */
export const TOOL_NAMES: Readonly<Record<Tool, string>> = {
  argo: 'Argo CD',
  flux: 'Flux',
  helm: 'Helm',
  ocm: 'Open Cluster Management',
  karmada: 'Karmada',
  crossplane: 'Crossplane',
}

/** What the settings say. */
export interface MarkSettings {
  /** Empty: no mark is read. */
  readonly tools: readonly Tool[]
  /**
   * By which Argo CD tracks, where it does so by a label; null: by its annotation alone. It has no
   * default: charts set `app.kubernetes.io/instance`, too.
   */
  readonly argoInstanceLabel: string | null
}

export const NO_MARKS: MarkSettings = { tools: [], argoInstanceLabel: null }

/** What a mark names. */
export interface Manager {
  readonly tool: Tool
  readonly group: string
  /** Null: not said; any kind of the group that may be one. */
  readonly kind: string | null
  /** Empty for a cluster-scoped kind; null: not said. */
  readonly namespace: string | null
  readonly name: string
}

/** Of an object, what marks are read of. */
export type Marked = Pick<
  ObjectMeta,
  'group' | 'kind' | 'namespace' | 'name' | 'scope' | 'labels' | 'annotations' | 'ownerReferences'
>

interface Key {
  readonly on: 'label' | 'annotation'
  readonly key: string
}

/** How a mark is read. */
type Reading =
  /** `namespace` null: the kind is cluster-scoped. `with`: counts only beside this one. */
  | {
      readonly type: 'name'
      readonly name: Key
      readonly namespace: Key | null
      readonly with?: Key & { readonly value: string }
    }
  /** APP:GROUP/KIND:NAMESPACE/NAME of the object itself; APP may be NAMESPACE_NAME. */
  | { readonly type: 'tracking-id'; readonly key: string }
  /** NAME, or NAMESPACE_NAME, in a label that the settings name. */
  | { readonly type: 'instance-label' }
  /** The name of an owner of this kind is HASH-NAME. */
  | { readonly type: 'hashed-owner'; readonly owner: GroupKind }
  /** A claim, of the group of the composite that owns the object, or is it. */
  | { readonly type: 'claim'; readonly name: Key; readonly namespace: Key; readonly composite: Key }

/** What becomes of what is marked when its manager is deleted. */
export interface Deletion {
  /** With one of these its tool deletes it, else it stays. Empty: the manager is no object. */
  readonly finalizers: readonly string[]
  /** What the tool asks beside them, for people. */
  readonly also: string
  readonly otherwise: string
}

export interface ManagerMark {
  readonly tool: Tool
  /** `kind` null: any kind of the group. Group and kind of a name alone are ours. */
  readonly manager: { readonly group: string; readonly kind: string | null }
  /** In paths; where no cluster serves the kind, this is what it is called. */
  readonly resource: string
  /** Whether the manager is always in the cluster of what it manages. */
  readonly isNear: boolean
  readonly reading: Reading
  readonly deletion: Deletion
}

const label = (key: string): Key => ({ on: 'label', key })
const annotation = (key: string): Key => ({ on: 'annotation', key })

const ARGO = {
  tool: 'argo',
  manager: { group: 'argoproj.io', kind: 'Application' },
  resource: 'applications',
  isNear: false,
  // argo-cd's user guide, app_deletion.md; the suffixes choose the propagation policy.
  deletion: {
    finalizers: [
      'resources-finalizer.argocd.argoproj.io',
      'resources-finalizer.argocd.argoproj.io/background',
      'resources-finalizer.argocd.argoproj.io/foreground',
    ],
    also: '',
    otherwise: 'without its finalizer resources-finalizer.argocd.argoproj.io nothing is deleted',
  },
} as const satisfies Omit<ManagerMark, 'reading'>

/** Both controllers: fluxcd.io/flux/components, "Garbage collection" of Kustomization. */
const FLUX_FINALIZER = 'finalizers.fluxcd.io'
const FLUX_OTHERWISE = `without its finalizer ${FLUX_FINALIZER} nothing is deleted`

export const MANAGER_MARKS: readonly ManagerMark[] = [
  {
    // argo-cd's user guide, resource_tracking.md; the default since 3.0. The text is made and
    // read in util/argo/resource_tracking.go, APP in Application.InstanceName. Of an object without
    // a namespace it has that of the destination. One that names another object is a copy, and
    // counts for nothing there, either ("Non self-referencing annotations").
    ...ARGO,
    reading: { type: 'tracking-id', key: 'argocd.argoproj.io/tracking-id' },
  },
  {
    // The same page, "Tracking Kubernetes resources by label", "Use custom label".
    ...ARGO,
    reading: { type: 'instance-label' },
  },
  {
    // fluxcd.io/flux/components/kustomize/kustomizations: labels of all that one applies. With
    // spec.kubeConfig it is in another cluster than that.
    tool: 'flux',
    manager: { group: 'kustomize.toolkit.fluxcd.io', kind: 'Kustomization' },
    resource: 'kustomizations',
    isNear: false,
    reading: {
      type: 'name',
      name: label('kustomize.toolkit.fluxcd.io/name'),
      namespace: label('kustomize.toolkit.fluxcd.io/namespace'),
    },
    deletion: {
      finalizers: [FLUX_FINALIZER],
      also: 'where its spec.prune is true, and its spec.deletionPolicy does not orphan',
      otherwise: FLUX_OTHERWISE,
    },
  },
  {
    // fluxcd.io/flux/components/helm/helmreleases: the origin labels of a release's objects.
    tool: 'flux',
    manager: { group: 'helm.toolkit.fluxcd.io', kind: 'HelmRelease' },
    resource: 'helmreleases',
    isNear: false,
    reading: {
      type: 'name',
      name: label('helm.toolkit.fluxcd.io/name'),
      namespace: label('helm.toolkit.fluxcd.io/namespace'),
    },
    deletion: {
      finalizers: [FLUX_FINALIZER],
      also: 'by helm uninstall',
      otherwise: FLUX_OTHERWISE,
    },
  },
  {
    // helm pkg/action/validate.go: the label and both annotations, or it is of no release. A
    // release is stored in Secrets sh.helm.release.v1.NAME.vN: it is shown by its name alone.
    tool: 'helm',
    manager: { group: 'helm.sh', kind: 'Release' },
    resource: 'releases',
    isNear: true,
    reading: {
      type: 'name',
      name: annotation('meta.helm.sh/release-name'),
      namespace: annotation('meta.helm.sh/release-namespace'),
      with: { ...label('app.kubernetes.io/managed-by'), value: 'Helm' },
    },
    deletion: {
      finalizers: [],
      also: '',
      otherwise: 'helm uninstall deletes it; a release is no object that could be deleted',
    },
  },
  {
    // ocm pkg/work/spoke, manifestwork_reconciler: an AppliedManifestWork HUBHASH-NAME owns what is
    // applied in the managed cluster; the ManifestWork NAME is in the hub, in the managed cluster's
    // namespace there.
    tool: 'ocm',
    manager: { group: 'work.open-cluster-management.io', kind: 'ManifestWork' },
    resource: 'manifestworks',
    isNear: false,
    reading: {
      type: 'hashed-owner',
      owner: { group: 'work.open-cluster-management.io', kind: 'AppliedManifestWork' },
    },
    deletion: {
      finalizers: ['cluster.open-cluster-management.io/manifest-work-cleanup'],
      also: 'where its spec.deleteOption does not orphan',
      otherwise: 'without its finalizer nothing is deleted',
    },
  },
  {
    // karmada pkg/apis/work/v1alpha2/well_known_constants.go: on each manifest of a Work. The
    // finalizer: pkg/util/constants.go.
    tool: 'karmada',
    manager: { group: 'work.karmada.io', kind: 'ResourceBinding' },
    resource: 'resourcebindings',
    isNear: false,
    reading: {
      type: 'name',
      name: annotation('resourcebinding.karmada.io/name'),
      namespace: annotation('resourcebinding.karmada.io/namespace'),
    },
    deletion: {
      finalizers: ['karmada.io/binding-controller'],
      also: 'where spec.preserveResourcesOnDeletion is not true',
      otherwise: 'without its finalizer nothing is deleted',
    },
  },
  {
    tool: 'karmada',
    manager: { group: 'work.karmada.io', kind: 'ClusterResourceBinding' },
    resource: 'clusterresourcebindings',
    isNear: false,
    reading: {
      type: 'name',
      name: annotation('clusterresourcebinding.karmada.io/name'),
      namespace: null,
    },
    deletion: {
      finalizers: ['karmada.io/cluster-resource-binding-controller'],
      also: 'where spec.preserveResourcesOnDeletion is not true',
      otherwise: 'without its finalizer nothing is deleted',
    },
  },
  {
    // crossplane internal/xcrd/schemas.go (LabelKeyClaimName, LabelKeyClaimNamespace,
    // LabelKeyNamePrefixForComposed): labels of a composite and of all that it composes. From the
    // composite on there are owner references; from the claim to it there is none, and its kind is
    // in no label.
    tool: 'crossplane',
    manager: { group: '', kind: null },
    resource: '',
    isNear: true,
    reading: {
      type: 'claim',
      name: label('crossplane.io/claim-name'),
      namespace: label('crossplane.io/claim-namespace'),
      composite: label('crossplane.io/composite'),
    },
    deletion: {
      finalizers: ['finalizer.apiextensions.crossplane.io'],
      also: 'where the deletionPolicy of a managed resource does not orphan what is outside',
      otherwise: 'without its finalizer the composite stays',
    },
  },
]

interface Keep extends Key {
  /** One of these is the value, or among its words with commas between. */
  readonly values: readonly string[]
}

/** By which a tool leaves an object when its manager is deleted. */
const KEEPS: Readonly<Record<Tool, readonly Keep[]>> = {
  // argo-cd's user guide, sync-options.md: "No Resource Deletion", "… With Confirmation".
  argo: [
    {
      ...annotation('argocd.argoproj.io/sync-options'),
      values: ['Delete=false', 'Delete=confirm'],
    },
  ],
  // fluxcd.io/flux/components/kustomize/kustomizations, "Prune"; as a label or an annotation.
  flux: [label, annotation].map((on) => ({
    ...on('kustomize.toolkit.fluxcd.io/prune'),
    values: ['disabled', 'Disabled'],
  })),
  // helm.sh/docs/howto/charts_tips_and_tricks, "Tell Helm not to uninstall a resource".
  helm: [{ ...annotation('helm.sh/resource-policy'), values: ['keep'] }],
  ...{ ocm: [], karmada: [], crossplane: [] },
}

/** Whether that tool leaves it, by a mark of its own, when its manager is deleted. */
export function isKeptBy(tool: Tool, object: Marked): boolean {
  return KEEPS[tool].some(({ values, ...key }) => {
    const words = markOn(object, key)?.split(',') ?? []
    return words.some((word) => values.includes(word.trim()))
  })
}

/** Longer than any name and namespace that an API server takes, and a tracking id of them. */
export const MARK_LENGTH = 1_024

export interface MarkKeys {
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
}

export const NO_MARK_KEYS: MarkKeys = { labels: [], annotations: [] }

export function hasKeys({ labels, annotations }: MarkKeys): boolean {
  return labels.length + annotations.length > 0
}

/** The keys that have to be published of every object. */
export function markKeys(settings: MarkSettings): MarkKeys {
  const marks = marksOf(settings).flatMap(({ reading }) => keysOf(reading, settings))
  const keys: readonly Key[] = [...marks, ...settings.tools.flatMap((tool) => KEEPS[tool])]
  const on = (where: Key['on']): readonly string[] =>
    [...new Set(keys.filter((each) => each.on === where).map(({ key }) => key))].sort()
  return { labels: on('label'), annotations: on('annotation') }
}

export function marksOf({ tools }: MarkSettings): readonly ManagerMark[] {
  return MANAGER_MARKS.filter(({ tool }) => tools.includes(tool))
}

function keysOf(reading: Reading, { argoInstanceLabel }: MarkSettings): readonly Key[] {
  switch (reading.type) {
    case 'name': {
      const { name, namespace, with: beside } = reading
      return [name, ...(namespace === null ? [] : [namespace]), ...(beside ? [beside] : [])]
    }
    case 'tracking-id':
      return [annotation(reading.key)]
    case 'instance-label':
      return argoInstanceLabel === null ? [] : [label(argoInstanceLabel)]
    case 'hashed-owner':
      return []
    case 'claim':
      return [reading.name, reading.namespace, reading.composite]
  }
}

/** A manager, and the row by which it is named. */
export interface NamedManager extends Manager {
  readonly mark: ManagerMark
}

/** All that the marks of an object name, each once. */
export function managersOf(object: Marked, settings: MarkSettings): readonly NamedManager[] {
  const found: NamedManager[] = []
  for (const mark of marksOf(settings)) {
    const named = namedBy(object, mark, settings)
    if (named === null || named.name === '') continue
    const manager = { tool: mark.tool, ...mark.manager, ...named, mark }
    if (!found.some((each) => isSameManager(each, manager))) found.push(manager)
  }
  return found
}

export function isSameManager(a: Manager, b: Manager): boolean {
  return (
    a.name === b.name &&
    a.kind === b.kind &&
    a.group === b.group &&
    a.namespace === b.namespace &&
    a.tool === b.tool
  )
}

/** Whether an object at these coordinates is the one that a mark names, by all that it says. */
export function isManager(
  named: Manager,
  object: Pick<ObjectMeta, 'group' | 'kind' | 'namespace' | 'name'>,
): boolean {
  if (named.name !== object.name || named.group !== object.group) return false
  if (named.namespace !== null && named.namespace !== object.namespace) return false
  return named.kind === null ? object.namespace !== '' : named.kind === object.kind
}

type Named = Pick<Manager, 'namespace' | 'name'> & { readonly group?: string }

function namedBy(object: Marked, mark: ManagerMark, settings: MarkSettings): Named | null {
  const { reading } = mark
  switch (reading.type) {
    case 'name':
      return namedDirectly(object, reading)
    case 'tracking-id':
      return trackedBy(object, markOn(object, annotation(reading.key)))
    case 'instance-label': {
      const { argoInstanceLabel: key } = settings
      const value = key === null ? undefined : markOn(object, label(key))
      return value === undefined ? null : applicationIn(value)
    }
    case 'hashed-owner':
      return hashedOwner(object.ownerReferences, reading.owner)
    case 'claim':
      return claimOf(object, reading)
  }
}

type ReadingOf<T extends Reading['type']> = Extract<Reading, { readonly type: T }>

function namedDirectly(object: Marked, reading: ReadingOf<'name'>): Named | null {
  const { name: nameKey, namespace: namespaceKey, with: beside } = reading
  if (beside !== undefined && markOn(object, beside) !== beside.value) return null
  const name = markOn(object, nameKey)
  const namespace = namespaceKey === null ? '' : markOn(object, namespaceKey)
  return name === undefined || namespace === undefined ? null : { namespace, name }
}

function trackedBy(object: Marked, value: string | undefined): Named | null {
  const [app = '', kind, place, more] = value?.split(':') ?? []
  if (kind === undefined || place === undefined || more !== undefined) return null
  if (kind !== `${object.group}/${object.kind}`) return null
  const [namespace, name, rest] = place.split('/')
  if (name === undefined || rest !== undefined || name !== object.name) return null
  if (object.scope === 'Namespaced' && namespace !== object.namespace) return null
  return applicationIn(app)
}

/** No name of a namespace has an underscore. */
function applicationIn(text: string): Named {
  const at = text.indexOf('_')
  return at < 0
    ? { namespace: null, name: text }
    : { namespace: text.slice(0, at), name: text.slice(at + 1) }
}

/** The hash has no dash. */
function hashedOwner(references: readonly OwnerReference[], owner: GroupKind): Named | null {
  const by = references.find(({ apiVersion, kind }) => {
    return kind === owner.kind && groupOf(apiVersion) === owner.group
  })
  const dash = by?.name.indexOf('-') ?? -1
  return by === undefined || dash < 0 ? null : { namespace: null, name: by.name.slice(dash + 1) }
}

function claimOf(object: Marked, reading: ReadingOf<'claim'>): Named | null {
  const name = markOn(object, reading.name)
  const namespace = markOn(object, reading.namespace)
  if (name === undefined || !namespace) return null
  if (markOn(object, reading.composite) === object.name) {
    return { group: object.group, namespace, name }
  }
  const composite = object.ownerReferences.find(({ controller }) => controller === true)
  return composite === undefined ? null : { group: groupOf(composite.apiVersion), namespace, name }
}

/** Where a mark stands, for people. */
export function markText({ reading }: ManagerMark, { argoInstanceLabel }: MarkSettings): string {
  switch (reading.type) {
    case 'name':
    case 'claim':
      return `${reading.name.on} ${reading.name.key}`
    case 'tracking-id':
      return `annotation ${reading.key}`
    case 'instance-label':
      return `label ${argoInstanceLabel}`
    case 'hashed-owner':
      return `owner of kind ${reading.owner.kind}`
  }
}

function markOn({ labels, annotations }: Marked, { on, key }: Key): string | undefined {
  return (on === 'label' ? labels : annotations).find((pair) => pair.key === key)?.value
}
