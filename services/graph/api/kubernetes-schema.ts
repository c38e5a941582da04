/**
 * Schemas of what is answered as an API server would (kubernetes-document.ts): what a field's
 * absence means there is that it is empty.
 */
import {
  COUNT,
  component,
  constant,
  type Fields,
  FLAG,
  listOf,
  oneOf,
  record,
  type Schema,
  say,
  TEXT,
  type TypeOf,
} from './schema.ts'

const TIME: Schema<string> = { type: 'string', format: 'date-time' }
const OBJECT: Schema<object> = { type: 'object' }
const WHOLE: Schema<number> = { type: 'integer' }
const VERSIONED = record({ groupVersion: TEXT, version: TEXT })
const GROUP = { name: TEXT, versions: listOf(VERSIONED), preferredVersion: VERSIONED }

const OWNED = { apiVersion: constant('kinfold.dev/v1') }

export const KUBERNETES_SCHEMAS: Record<string, Schema> = {}

function part<F extends Fields>(name: string, description: string, fields: F) {
  return component(KUBERNETES_SCHEMAS, name, description, fields)
}

/** Of the core group's meta/v1. */
function meta<const K extends string, F extends Fields>(kind: K, fields: F) {
  return part(kind, '', { kind: constant(kind), apiVersion: constant('v1'), ...fields })
}

export const API_VERSIONS = meta('APIVersions', {
  versions: listOf(TEXT),
  serverAddressByClientCIDRs: listOf(TEXT),
})
export type APIVersions = TypeOf<typeof API_VERSIONS>

export const API_GROUP_LIST = meta('APIGroupList', { groups: listOf(record(GROUP)) })
export type APIGroupList = TypeOf<typeof API_GROUP_LIST>

export const API_GROUP = meta('APIGroup', GROUP)
export type APIGroup = TypeOf<typeof API_GROUP>

export const API_RESOURCE_LIST = meta('APIResourceList', {
  groupVersion: TEXT,
  resources: listOf(
    record({
      ...{ name: TEXT, singularName: TEXT, namespaced: FLAG, kind: TEXT },
      ...{ verbs: listOf(TEXT), shortNames: listOf(TEXT) },
    }),
  ),
})
export type APIResourceList = TypeOf<typeof API_RESOURCE_LIST>

export const OWNED_OBJECT = part('OwnedObject', 'An object of a cluster, as Kinfold knows it.', {
  ...OWNED,
  kind: oneOf(['OwnedObject', 'ClusterOwnedObject']),
  metadata: record(
    {
      name: say('RESOURCE.GROUP:NAME of the object.', TEXT),
      uid: say('Of the object.', TEXT),
      resourceVersion: say('Of the content that was judged.', TEXT),
    },
    {
      namespace: TEXT,
      ...{ creationTimestamp: TIME, deletionTimestamp: TIME },
      finalizers: listOf(TEXT),
      ownerReferences: listOf(
        record(
          { apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
          { controller: FLAG, blockOwnerDeletion: FLAG },
        ),
      ),
    },
  ),
  object: record({ apiVersion: TEXT, kind: TEXT, name: TEXT }),
  status: record(
    { phase: say('As in `/v1/tree`.', TEXT) },
    {
      verdict: say(
        'What should become of it, whatever holds that.',
        record({ type: TEXT, because: TEXT }),
      ),
      admission: say('What holds the verdict.', record({ by: TEXT, because: TEXT })),
    },
  ),
})
export type OwnedObject = TypeOf<typeof OWNED_OBJECT>

export const OWNED_OBJECT_LIST = part(
  'OwnedObjectList',
  'Objects of a cluster. Why it may be incomplete is in the header Warning.',
  {
    ...OWNED,
    kind: oneOf(['OwnedObjectList', 'ClusterOwnedObjectList']),
    metadata: record(
      {},
      {
        continue: say('For the next page.', TEXT),
        remainingItemCount: say('After this page; absent where it is not known.', COUNT),
      },
    ),
    items: listOf(OWNED_OBJECT),
  },
)
export type OwnedObjectList = TypeOf<typeof OWNED_OBJECT_LIST>

export const TABLE = part(
  'Table',
  'The same as rows, for who asks with Accept: application/json;as=Table;v=v1;g=meta.k8s.io, as kubectl does.',
  {
    kind: constant('Table'),
    apiVersion: constant('meta.k8s.io/v1'),
    metadata: record({}, { continue: TEXT, remainingItemCount: COUNT }),
    columnDefinitions: listOf(
      record({ name: TEXT, type: TEXT, format: TEXT, description: TEXT, priority: COUNT }),
    ),
    rows: listOf(record({ cells: listOf(TEXT) }, { object: OBJECT })),
  },
)
export type Table = TypeOf<typeof TABLE>

export const STATUS = part('Status', 'What is wrong with a request, as an API server says it.', {
  kind: constant('Status'),
  apiVersion: constant('v1'),
  metadata: OBJECT,
  status: constant('Failure'),
  message: say('One sentence that says what to do.', TEXT),
  code: WHOLE,
  reason: TEXT,
})
export type Status = TypeOf<typeof STATUS>
