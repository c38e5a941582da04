/**
 * The second lock: a ValidatingAdmissionPolicy that refuses Kinfold's own account what it must never do, and the ConfigMap that it is tried on.
 *
 * What must stay true: it concerns no other account, and what it cannot evaluate it refuses. What comes first is what a probe is told first
 * (adapters/kubernetes/lock-probe.ts).
 *
 * Not here: rights (role-manifest.ts). Deletes of objects that another API server keeps pass it by, and so does who may change the policy.
 */
import { LOCK, LOCK_REFUSALS, PROTECTED_KEY } from '../core/lock.ts'
import { type ListedKind, nameOf } from './listed-kind.ts'
import type { Manifest } from './role-manifest.ts'

export interface LockRules {
  /** As `request.userInfo.username` has them. */
  readonly usernames: readonly string[]
  readonly protectedKinds: readonly ListedKind[]
  readonly protectedNamespaces: readonly string[]
  /** Empty: everywhere. */
  readonly onlyNamespaces: readonly string[]
}

/** A label or annotation by which users say that an object is to stay. */
interface Mark {
  readonly key: string
  /** Of its value, which may be a list with commas; null: any but `false`. */
  readonly values: readonly string[] | null
}

const MARKS: readonly Mark[] = [
  { key: PROTECTED_KEY, values: null },
  {
    key: 'argocd.argoproj.io/sync-options',
    values: ['Prune=false', 'Prune=confirm', 'Delete=false', 'Delete=confirm'],
  },
  { key: 'helm.sh/resource-policy', values: ['keep'] },
  { key: 'resourcetemplate.karmada.io/deletion-protected', values: ['Always'] },
  { key: 'policy.kruise.io/delete-protection', values: ['Always', 'Cascading'] },
]

const ADMISSION = 'admissionregistration.k8s.io/v1'
/** What moves by itself, or may be shortened. */
const LOOSE = ['ownerReferences', 'finalizers', 'managedFields', 'resourceVersion', 'generation']

interface Validation {
  readonly expression: string
  readonly message: string
  readonly reason: 'Forbidden'
}

export function lockManifests(rules: LockRules): readonly Manifest[] {
  const metadata = { name: LOCK.name }
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...LOCK, annotations: { [PROTECTED_KEY]: 'true' } },
      data: { README: 'Kinfold tries here, by dry runs, whether its lock is in force.' },
    },
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          // All of them: this is where nothing may be left out.
          resourceRules: [
            {
              apiGroups: ['*'],
              apiVersions: ['*'],
              resources: ['*/*'],
              operations: ['DELETE', 'UPDATE'],
            },
          ],
        },
        matchConditions: [
          {
            name: 'kinfold-account',
            expression: `request.userInfo.username in ${celList(rules.usernames)}`,
          },
        ],
        variables: [
          {
            name: 'marks',
            expression: MARKS_OF_OLD,
          },
        ],
        validations: validationsOf(rules),
      },
    },
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: LOCK.name, validationActions: ['Deny', 'Audit'] },
    },
  ]
}

const MARKS_OF_OLD =
  'oldObject == null ? [] : [oldObject.metadata.?labels.orValue({}), oldObject.metadata.?annotations.orValue({})]'

function validationsOf(rules: LockRules): readonly Validation[] {
  const { protectedKinds, protectedNamespaces, onlyNamespaces } = rules
  const { unguarded, collection, marked, kind, namespace, elsewhere, content } = LOCK_REFUSALS
  const resource =
    "(request.resource.group == '' ? request.resource.resource : request.resource.resource + '.' + request.resource.group)"
  const place = "request.?namespace.orValue('')"
  return [
    deleting(`${precondition('uid')} && ${precondition('resourceVersion')}`, unguarded),
    deleting("request.?name.orValue('') != ''", collection),
    deleting(`!variables.marks.exists(m, ${MARKS.map(celMark).join(' || ')})`, marked),
    ...(protectedKinds.length === 0
      ? []
      : [deleting(`!(${resource} in ${celList(protectedKinds.map(nameOf))})`, kind)]),
    ...(protectedNamespaces.length === 0
      ? []
      : [deleting(`!(${place} in ${celList(protectedNamespaces)})`, namespace)]),
    ...(onlyNamespaces.length === 0
      ? []
      : [refusing(`${place} in ${celList(onlyNamespaces)}`, elsewhere)]),
    refusing(`request.operation != 'UPDATE' || (${ONLY_SHORTENED})`, content),
  ]
}

/** The rest of the object is as it was, and these two lists hold nothing new. */
const ONLY_SHORTENED = [
  "request.?subResource.orValue('') == ''",
  "object.all(k, k == 'metadata' || (k in oldObject && object[k] == oldObject[k]))",
  'oldObject.all(k, k in object)',
  `object.metadata.all(k, k in ${celList(LOOSE)} || (k in oldObject.metadata && object.metadata[k] == oldObject.metadata[k]))`,
  `oldObject.metadata.all(k, k in ${celList(LOOSE)} || k in object.metadata)`,
  shortened('ownerReferences'),
  shortened('finalizers'),
].join(' && ')

function shortened(list: string): string {
  return `object.metadata.?${list}.orValue([]).all(each, each in oldObject.metadata.?${list}.orValue([]))`
}

function precondition(field: string): string {
  return `request.?options.?preconditions.?${field}.orValue('') != ''`
}

function celMark({ key, values }: Mark): string {
  const value = `m[?${celText(key)}]`
  if (values === null) return `${value}.orValue('false') != 'false'`
  return `${value}.orValue('').split(',').exists(v, v.trim() in ${celList(values)})`
}

function deleting(expression: string, message: string): Validation {
  return refusing(`request.operation != 'DELETE' || (${expression})`, message)
}

/** Forbidden, and not Invalid: a patch's failing test is answered so. */
function refusing(expression: string, message: string): Validation {
  return { expression, message, reason: 'Forbidden' }
}

function celList(texts: readonly string[]): string {
  return `[${texts.map(celText).join(', ')}]`
}

/** JSON's escapes are CEL's, too. */
function celText(text: string): string {
  return JSON.stringify(text)
}
