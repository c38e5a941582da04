/**
 * The second lock: a ValidatingAdmissionPolicy that refuses Kinfold's own account what it must
 * never do, and the ConfigMap that it is tried on.
 *
 * What must stay true: it concerns no other account, and what it cannot evaluate it refuses. The
 * validation that comes first is what a probe is refused with (adapters/kubernetes/lock-probe.ts).
 *
 * Not here: rights (role-manifest.ts), what a mark is (core/model/mark.ts). Deletes of objects that
 * another API server keeps pass it by, and so does who may change the policy.
 */

import {
  ALL_MARKS,
  COPIED_TO,
  type Mark,
  OTHERS_MARKS,
  OWN_KEY,
  OWN_MARKS,
} from '../../core/model/mark.ts'
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../../core/model/object.ts'
import { ACTING_DOMAINS } from '../../core/model/rule/annotation.ts'
import { readKeyValue } from '../../core/model/subject.ts'
import { STARTS } from '../../ports/cluster.ts'
import { LOCK, LOCK_REFUSALS } from '../../ports/lock.ts'
import { POLICY_GROUP } from '../../ports/rule/policy-kind.ts'
import { type ListedKind, nameOf } from '../print/kind-name.ts'
import type { Manifest } from './role-manifest.ts'

export interface LockRules {
  /** As `request.userInfo.username` has them. */
  readonly usernames: readonly string[]
  readonly protectedKinds: readonly ListedKind[]
  readonly protectedNamespaces: readonly string[]
  /** Empty: everywhere. */
  readonly onlyNamespaces: readonly string[]
  /** Whether the marks of other tools count beside our own. */
  readonly othersMarks: boolean
  /** `key` or `key=value`, of what is protected beside. */
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /** Finalizers of others that an order may remove. */
  readonly mayRemove: readonly string[]
  /**
   * Keys that rules of the config set; `any` where policies of the cluster may name others: any
   * that a rule may set.
   */
  readonly annotated: readonly string[] | 'any'
}

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
      metadata: { ...LOCK, annotations: { [OWN_KEY]: 'true' } },
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
          {
            // The one object that Kinfold changes otherwise, and no one's but its own.
            name: 'not-own-lease',
            expression: `!(${OWN_LEASE})`,
          },
          {
            // Of a policy of the cluster, what Kinfold says of it.
            name: 'not-policy-status',
            expression: `!(${POLICY_STATUS})`,
          },
        ],
        variables: VARIABLES,
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

const OWN_LEASE = [
  "request.operation == 'UPDATE'",
  "request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases'",
  `request.?namespace.orValue('') == ${celText(STARTS.namespace)}`,
  `request.?name.orValue('') == ${celText(STARTS.name)}`,
].join(' && ')

const POLICY_STATUS = [
  "request.operation == 'UPDATE'",
  `request.resource.group == ${celText(POLICY_GROUP)}`,
  "request.?subResource.orValue('') == 'status'",
].join(' && ')

/** Of the object as it is stored; there is none when one is made. */
const VARIABLES = [
  { name: 'labels', expression: 'oldObject == null ? {} : oldObject.metadata.?labels.orValue({})' },
  {
    name: 'annotations',
    expression: 'oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})',
  },
  {
    name: 'isCopy',
    expression: `[request.kind.group, request.kind.kind] in [${COPIED_TO.map(({ group, kind }) => celList([group, kind])).join(', ')}] && oldObject != null && oldObject.metadata.?ownerReferences.orValue([]).exists(r, r.?controller.orValue(false))`,
  },
] as const

function validationsOf(rules: LockRules): readonly Validation[] {
  const { protectedKinds, protectedNamespaces, onlyNamespaces, othersMarks } = rules
  const { unguarded, collection, marked, kind, namespace, elsewhere, content, finalizer } =
    LOCK_REFUSALS
  const resource =
    "(request.resource.group == '' ? request.resource.resource : request.resource.resource + '.' + request.resource.group)"
  const place = "request.?namespace.orValue('')"
  return [
    deleting(`${precondition('uid')} && ${precondition('resourceVersion')}`, unguarded),
    deleting("request.?name.orValue('') != ''", collection),
    ...[...OWN_MARKS, ...(othersMarks ? OTHERS_MARKS : [])].map((mark) =>
      deleting(celUnmarked(mark), `${marked}: ${mark.on} ${mark.key}`),
    ),
    ...configuredMarks('label', rules.labels),
    ...configuredMarks('annotation', rules.annotations),
    ...(protectedKinds.length === 0
      ? []
      : [deleting(`!(${resource} in ${celList(protectedKinds.map(nameOf))})`, kind)]),
    ...(protectedNamespaces.length === 0
      ? []
      : [deleting(`!(${place} in ${celList(protectedNamespaces)})`, namespace)]),
    ...(onlyNamespaces.length === 0
      ? []
      : [
          // To the API server the Namespace itself is in the namespace of its name.
          refusing(
            `${place} in ${celList(onlyNamespaces)} && ${resource} != 'namespaces'`,
            elsewhere,
          ),
        ]),
    refusing(`request.operation != 'UPDATE' || ${onlyRemoved(rules.mayRemove)}`, finalizer),
    refusing(
      `request.operation != 'UPDATE' || (${ONLY_FAILED}) || (${ONLY_SHORTENED})${annotated(rules)}`,
      content,
    ),
  ]
}

/**
 * Finalizers of others stay, but for those that the config lists: and these go only from what is
 * being deleted.
 */
function onlyRemoved(mayRemove: readonly string[]): string {
  const own = celList([FINALIZER_FOREGROUND, FINALIZER_ORPHAN])
  const listed =
    mayRemove.length === 0
      ? ''
      : ` || (each in ${celList(mayRemove)} && has(oldObject.metadata.deletionTimestamp))`
  return `oldObject.metadata.?finalizers.orValue([]).all(each, each in object.metadata.?finalizers.orValue([]) || each in ${own}${listed})`
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

/** What rules set: no annotation is taken off, and no other one is another. */
function annotated({ annotated: keys }: LockRules): string {
  if (keys.length === 0) return ''
  const key = keys === 'any' ? OPEN_KEY : `k in ${celList(keys)}`
  const [old, now] = ['oldObject', 'object'].map(
    (each) => `${each}.metadata.?annotations.orValue({})`,
  )
  const parts = [
    "request.?subResource.orValue('') == ''",
    "object.all(k, k == 'metadata' || (k in oldObject && object[k] == oldObject[k]))",
    'oldObject.all(k, k in object)',
    `object.metadata.all(k, k in ${celList(MARKED)} || (k in oldObject.metadata && object.metadata[k] == oldObject.metadata[k]))`,
    `oldObject.metadata.all(k, k in ${celList(MARKED)} || k in object.metadata)`,
    `${old}.all(k, k in ${now})`,
    `${now}.all(k, ${old}[?k] == optional.of(${now}[k]) || (${key}))`,
  ]
  return ` || (${parts.join(' && ')})`
}

const MARKED = ['annotations', 'managedFields', 'resourceVersion', 'generation']

const DOMAIN = "k.split('/')[0]"
const OPEN_KEY = [
  "k.contains('/')",
  `!${celList(ACTING_DOMAINS)}.exists(d, ${DOMAIN} == d || ${DOMAIN}.endsWith('.' + d))`,
  `!(k in ${celList(ALL_MARKS.map(({ key }) => key))})`,
].join(' && ')

/** A Pod that a rule deletes, set to Failed before: of its status the phase, and why. */
const ONLY_FAILED = [
  "request.resource.group == '' && request.resource.resource == 'pods'",
  "request.?subResource.orValue('') == 'status'",
  "object.?status.?phase.orValue('') == 'Failed'",
  'object.?spec == oldObject.?spec',
  `object.metadata.all(k, k in ['managedFields', 'resourceVersion'] || (k in oldObject.metadata && object.metadata[k] == oldObject.metadata[k]))`,
  `object.status.all(k, k in ['phase', 'conditions'] || (k in oldObject.?status.orValue({}) && object.status[k] == oldObject.status[k]))`,
].join(' && ')

function shortened(list: string): string {
  return `object.metadata.?${list}.orValue([]).all(each, each in oldObject.metadata.?${list}.orValue([]))`
}

function precondition(field: string): string {
  return `request.?options.?preconditions.?${field}.orValue('') != ''`
}

function celUnmarked({ on, key, match }: Mark): string {
  const value = `variables.${on}s[?${celText(key)}]`
  // A controller may have copied it from its owner, of which it speaks.
  const unlessCopied = on === 'annotation' && key !== OWN_KEY ? 'variables.isCopy || ' : ''
  switch (match.type) {
    case 'any-but':
      return `${value}.orValue(${celText(match.value)}) == ${celText(match.value)}`
    case 'one-of':
      return `${unlessCopied}!(${value}.orValue('') in ${celList(match.values)})`
    case 'lists':
      return `${unlessCopied}!${value}.orValue('').split(',').exists(v, v.trim() in ${celList(match.values)})`
  }
}

function configuredMarks(on: Mark['on'], all: readonly string[]): readonly Validation[] {
  return all.map((each) => {
    const { key, value } = readKeyValue(each)
    const place = `variables.${on}s`
    const expression =
      value === null
        ? `!(${celText(key)} in ${place})`
        : `${place}[?${celText(key)}] != optional.of(${celText(value)})`
    return deleting(expression, `${LOCK_REFUSALS.marked}: ${on} ${each}`)
  })
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
