/**
 * The CustomResourceDefinitions of CleanupPolicy and ClusterCleanupPolicy, and the roles for people
 * who write and read them: deploy/crds and the chart have what this makes.
 *
 * What must stay true: nothing that a user wrote is pruned from `spec`: a key that was misspelt is
 * refused by a sentence and a condition, and never left out of what selects. No role here is part
 * of `edit` or `admin`: who may write a policy is decided by hand.
 *
 * Not here: what is refused (ports/rule), the rights of Kinfold itself
 * (cli/setup/role-manifest.ts).
 */

import { policyResource } from '../core/model/rule/annotate.ts'
import { CLUSTER_POLICY_KIND, POLICY_KIND } from '../core/model/rule/policy-content.ts'
import { POLICY_GROUP, POLICY_VERSION } from '../ports/rule/policy-kind.ts'

type Json = Readonly<Record<string, unknown>>

const ANY: Json = { 'x-kubernetes-preserve-unknown-fields': true }
const TEXT: Json = { type: 'string' }
const TEXTS: Json = { type: 'array', items: TEXT }
const COUNT: Json = { type: 'integer', format: 'int64' }
const DURATION: Json = { 'x-kubernetes-int-or-string': true }

/** Keys that are not among these are kept, too, and refused by the watcher. */
function open(properties: Json): Json {
  return { type: 'object', ...ANY, properties }
}

function said(description: string, schema: Json): Json {
  return { description, ...schema }
}

const TIMES: Json = {
  when: said('{PATH: VALUE} of fields, all of them.', { type: 'object', ...ANY }),
  since: said(
    'The time it counts from; left out: the creation.',
    open({ field: TEXT, annotation: TEXT }),
  ),
  after: said('A duration such as 72h, {seconds: PATH}, or {annotation: KEY}.', ANY),
}

const SPEC: Json = {
  match: said(
    'Which objects: all of it has to hold.',
    open({
      kinds: said('KIND, or KIND.GROUP outside of the core group.', TEXTS),
      namespaces: TEXTS,
      exceptNamespaces: TEXTS,
      labels: said('A label selector as kubectl takes it.', TEXT),
      annotations: said('{KEY: VALUE}, all of them.', { type: 'object', ...ANY }),
      expression: said('CEL that has to be true as well.', TEXT),
      owner: said('none, or {kinds: [KIND.GROUP]} of an owner that it names.', ANY),
      terminating: said('About objects that are being deleted already.', { type: 'boolean' }),
    }),
  ),
  ...TIMES,
  cases: said('A list of when, since and after: due as soon as one says so.', {
    type: 'array',
    items: open(TIMES),
  }),
  for: said('How long an object has to be due without a break.', DURATION),
  warn: said('So long before, an Event on the object says that it is to be deleted.', DURATION),
  limit: said(
    'More that become due within an hour hold all of the rule; the larger counts.',
    open({ perHour: COUNT, percent: COUNT }),
  ),
  propagationPolicy: said('Background (default), Foreground or Orphan.', TEXT),
  gracePeriodSeconds: said('Of Pods; left out: the default of the server.', COUNT),
  failFirst: said('Of Pods: one that has not ended is patched to Failed before.', {
    type: 'boolean',
  }),
  annotate: said(
    'The object gets this annotation and stays, in the place of its deletion.',
    open({ key: TEXT, value: ANY }),
  ),
  keep: said(
    'The newest of each group stay.',
    open({
      newest: COUNT,
      by: said('cluster, namespace, owner, or {label: KEY}.', ANY),
      first: ANY,
    }),
  ),
}

const STATUS: Json = {
  type: 'object',
  properties: {
    observedGeneration: COUNT,
    digest: said('Of the rule as it is: the value of the annotation that enforces it.', TEXT),
    matched: said('Objects that it selects.', COUNT),
    due: said('Of those, to be deleted by now.', COUNT),
    held: said('Of the due ones, those that something holds.', COUNT),
    deleted: said('Objects that it had deleted.', COUNT),
    annotated: said('Objects that it had annotated.', COUNT),
    lastError: TEXT,
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status', 'reason', 'lastTransitionTime'],
        properties: {
          type: TEXT,
          status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
          reason: TEXT,
          message: TEXT,
          observedGeneration: COUNT,
          lastTransitionTime: { type: 'string', format: 'date-time' },
        },
      },
    },
  },
}

function conditionColumn(type: string): Json {
  return {
    name: type,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
  }
}

function countColumn(name: string): Json {
  return { name, type: 'integer', jsonPath: `.status.${name.toLowerCase()}` }
}

const COLUMNS: readonly Json[] = [
  conditionColumn('Ready'),
  conditionColumn('Enforced'),
  ...['Due', 'Deleted', 'Held'].map(countColumn),
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { ...countColumn('Matched'), priority: 1 },
  { ...conditionColumn('Permitted'), priority: 1 },
  { name: 'Digest', type: 'string', jsonPath: '.status.digest', priority: 1 },
]

function definition(kind: string, own: Json, description: string): Json {
  const plural = policyResource(kind)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${POLICY_GROUP}` },
    spec: {
      group: POLICY_GROUP,
      scope: kind === CLUSTER_POLICY_KIND.kind ? 'Cluster' : 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: POLICY_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              required: ['spec'],
              properties: { spec: open({ ...SPEC, ...own }), status: STATUS },
            },
          },
        },
      ],
    },
  }
}

const ACCOUNT = said('By its rights objects are deleted.', TEXT)

export const POLICY_DEFINITIONS: readonly Json[] = [
  definition(
    POLICY_KIND.kind,
    { serviceAccountName: ACCOUNT },
    'A rule of Kinfold about the objects of its own namespace. It deletes nothing before it is enforced by an annotation.',
  ),
  definition(
    CLUSTER_POLICY_KIND.kind,
    {
      serviceAccountName: ACCOUNT,
      serviceAccountNamespace: TEXT,
      builtin: said('A built-in rule of Kinfold.', TEXT),
      absent: said('An object whose name it has is not there.', open({ kind: TEXT, name: ANY })),
      beside: said(
        'The object whose name it has is so.',
        open({ kind: TEXT, name: ANY, when: ANY }),
      ),
    },
    'A rule of Kinfold about objects of the whole cluster. It deletes nothing before it is enforced by an annotation.',
  ),
]

const RBAC = 'rbac.authorization.k8s.io/v1'
const WRITE = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']

/** To be bound by hand, the first two best by RoleBindings. */
export const POLICY_ROLES: readonly Json[] = [
  role('kinfold-cleanup-policies-edit', [policyResource(POLICY_KIND.kind)], WRITE),
  role('kinfold-cleanup-policies-view', [policyResource(POLICY_KIND.kind)], WRITE.slice(0, 3)),
]

function role(name: string, resources: readonly string[], verbs: readonly string[]): Json {
  return {
    apiVersion: RBAC,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [{ apiGroups: [POLICY_GROUP], resources, verbs }],
  }
}
