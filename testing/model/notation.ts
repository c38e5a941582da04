/**
 * Objects and references in one line of text, for tests and stories:
 * `pod/a <- rs/web!, ~job/x [deleting foreground]`.
 *
 * - `KIND/NAME`, with ` in NAMESPACE` after it (default `ns`); the uid is `KIND-NAME` unless `@UID`
 *   says otherwise.
 * - `<-` begins its owners; `!` after one blocks, `*` is its controller; `.VERSION` after the kind
 *   names another version than the served one, `_` before it writes it in lower case.
 * - `[...]` holds `deleting`, `foreground`, `orphan`, other finalizers, `label:KEY=VALUE`,
 *   `annotation:KEY=VALUE`, `field:PATH=VALUE` and `uses:KIND=NAMES`, separated by spaces;
 *   `created:SECONDS` says when it was created (0 else), `deleting:SECONDS` when it is to be
 *   deleted, `graced:SECONDS` with which grace period, `unread` that it is published by a watcher
 *   that does not know the rules.
 */
import type { ObjectMeta, OwnerReference, Pair, Projected, Scope } from '../../core/model/object.ts'
import { apiVersionOf, FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../../core/model/object.ts'

export interface KindNotation {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly resource: string
  readonly scope: Scope
}

const RBAC = 'rbac.authorization.k8s.io'

export const KINDS: Readonly<Record<string, KindNotation>> = {
  pod: core('Pod', 'pods'),
  cm: core('ConfigMap', 'configmaps'),
  pvc: core('PersistentVolumeClaim', 'persistentvolumeclaims'),
  secret: core('Secret', 'secrets'),
  rs: namespaced('apps', 'ReplicaSet', 'replicasets'),
  deploy: namespaced('apps', 'Deployment', 'deployments'),
  job: namespaced('batch', 'Job', 'jobs'),
  widget: namespaced('example.com', 'Widget', 'widgets'),
  sa: core('ServiceAccount', 'serviceaccounts'),
  role: namespaced(RBAC, 'Role', 'roles'),
  clusterrole: { ...namespaced(RBAC, 'ClusterRole', 'clusterroles'), scope: 'Cluster' },
  binding: namespaced(RBAC, 'RoleBinding', 'rolebindings'),
  user: namespaced(RBAC, 'User', 'users'),
  namespace: {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    resource: 'namespaces',
    scope: 'Cluster',
  },
  crd: {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    resource: 'customresourcedefinitions',
    scope: 'Cluster',
  },
  cleanup: {
    group: 'kinfold.dev',
    version: 'v1alpha1',
    kind: 'CleanupPolicy',
    resource: 'cleanuppolicies',
    scope: 'Namespaced',
  },
  clustercleanup: {
    group: 'kinfold.dev',
    version: 'v1alpha1',
    kind: 'ClusterCleanupPolicy',
    resource: 'clustercleanuppolicies',
    scope: 'Cluster',
  },
  node: { group: '', version: 'v1', kind: 'Node', resource: 'nodes', scope: 'Cluster' },
  pv: {
    group: '',
    version: 'v1',
    kind: 'PersistentVolume',
    resource: 'persistentvolumes',
    scope: 'Cluster',
  },
}

function core(kind: string, resource: string): KindNotation {
  return { group: '', version: 'v1', kind, resource, scope: 'Namespaced' }
}

function namespaced(group: string, kind: string, resource: string): KindNotation {
  return { group, version: 'v1', kind, resource, scope: 'Namespaced' }
}

export function kindNotation(short: string): KindNotation {
  const kind = KINDS[short]
  if (kind === undefined) throw new Error(`no such kind in the notation: ${short}`)
  return kind
}

export function shortKind(group: string, kind: string): string {
  const found = Object.entries(KINDS).find(([, k]) => k.group === group && k.kind === kind)
  return found?.[0] ?? `${kind}.${group}`
}

const NAME = /^_?([a-z]+)(?:\.(\w+))?\/([\w.-]+)(?:@([\w-]+))?(!?)(\*?)(?: in ([\w-]+))?$/

/** Reads one object; `resourceVersion` is the caller's. */
export function object(text: string, resourceVersion: string): ObjectMeta {
  const bracket = /\[(.*)\]\s*$/.exec(text)
  const marks = bracket?.[1]?.split(/\s+/) ?? []
  const [head = '', owners = ''] = text.replace(/\[.*$/, '').split('<-')
  const [, short = '', , name = '', uid, , , namespace = 'ns'] = match(head.trim())
  const kind = kindNotation(short)
  const created = marks.find((mark) => mark.startsWith('created:'))
  const graced = marks.find((mark) => mark.startsWith('graced:'))
  const finalizers = marks.flatMap((mark) => {
    if (mark === 'deleting' || mark === UNREAD || mark.includes(':')) return []
    if (mark === 'foreground') return [FINALIZER_FOREGROUND]
    return mark === 'orphan' ? [FINALIZER_ORPHAN] : [mark]
  })
  const isUnread = marks.includes(UNREAD)
  const fields = fieldsOf(marks)
  return {
    ...kind,
    namespace: kind.scope === 'Namespaced' ? namespace : '',
    name,
    uid: uid ?? `${short}-${name}`,
    resourceVersion,
    generation: null,
    createdAt: Number(created?.slice('created:'.length) ?? 0) * 1_000,
    deletedAt: deletedAt(marks),
    graceSeconds: graced === undefined ? null : Number(graced.slice('graced:'.length)),
    finalizers,
    ownerReferences: owners.trim() === '' ? [] : owners.split(',').map((o) => reference(o.trim())),
    labels: pairsOf(marks, 'label:'),
    annotations: pairsOf(marks, 'annotation:'),
    projected: isUnread ? { ...NONE_READ, reads: UNREAD } : fields && { ...NONE_READ, fields },
  }
}

/** As `Projected.reads`, and as a mark. */
export const UNREAD = 'unread'
export const NONE_READ: Projected = { reads: '', fields: [], policy: null }

/** A value may have `=`, as a path may. */
function fieldsOf(marks: readonly string[]): Pair[] | null {
  const fields = marks.flatMap((mark) => {
    const [, used = '', names = ''] = /^uses:([a-z]+)=(.*)$/.exec(mark) ?? []
    if (used !== '') return [{ key: `uses/${kindNotation(used).kind}`, value: names }]
    const [, key, value = ''] = /^field:((?:[^=[]|\[[^\]]*\])+)=(.*)$/.exec(mark) ?? []
    return key === undefined ? [] : [{ key, value }]
  })
  return fields.length === 0 ? null : fields
}

/** `deleting` is long ago; `deleting:SECONDS` at that time, as `created:SECONDS`. */
function deletedAt(marks: readonly string[]): number | null {
  const at = marks.find((mark) => mark.startsWith('deleting:'))
  if (at !== undefined) return Number(at.slice('deleting:'.length)) * 1_000
  return marks.includes('deleting') ? 1 : null
}

function pairsOf(marks: readonly string[], prefix: string): Pair[] {
  return marks
    .filter((mark) => mark.startsWith(prefix))
    .map((mark) => {
      const [key = '', ...value] = mark.slice(prefix.length).split('=')
      return { key, value: value.join('=') }
    })
}

function reference(text: string): OwnerReference {
  const [, short = '', version, name = '', uid, blocking, controlling] = match(text)
  const kind = kindNotation(short)
  return {
    apiVersion: apiVersionOf(kind.group, version ?? kind.version),
    kind: text.startsWith('_') ? kind.kind.toLowerCase() : kind.kind,
    name,
    uid: uid ?? `${short}-${name}`,
    controller: controlling === '*' ? true : null,
    blockOwnerDeletion: blocking === '!' ? true : null,
  }
}

function match(text: string): RegExpExecArray {
  const found = NAME.exec(text)
  if (found === null) throw new Error(`not in the notation: ${text}`)
  return found
}
