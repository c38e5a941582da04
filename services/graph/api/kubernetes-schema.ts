/** Schemas of what is answered as an API server would (kubernetes-document.ts): what a field's absence means there is that it is empty. */
import { COUNT, FLAG, listOf, oneOf, record, ref, type Schema, say, TEXT } from './schema.ts'

const TIME: Schema = { type: 'string', format: 'date-time' }
const VERSIONED = record({ groupVersion: TEXT, version: TEXT })
const GROUP = { name: TEXT, versions: listOf(VERSIONED), preferredVersion: VERSIONED }

/** Of the core group's meta/v1. */
function meta(kind: string, fields: Readonly<Record<string, Schema>>): Schema {
  return record({ kind: { const: kind }, apiVersion: { const: 'v1' }, ...fields })
}

const OWNED = { apiVersion: { const: 'kinfold.dev/v1' } }

export const KUBERNETES_SCHEMAS: Readonly<Record<string, Schema>> = {
  APIVersions: meta('APIVersions', {
    versions: listOf(TEXT),
    serverAddressByClientCIDRs: listOf(TEXT),
  }),
  APIGroupList: meta('APIGroupList', { groups: listOf(record(GROUP)) }),
  APIGroup: meta('APIGroup', GROUP),
  APIResourceList: meta('APIResourceList', {
    groupVersion: TEXT,
    resources: listOf(
      record({
        ...{ name: TEXT, singularName: TEXT, namespaced: FLAG, kind: TEXT },
        ...{ verbs: listOf(TEXT), shortNames: listOf(TEXT) },
      }),
    ),
  }),
  OwnedObject: say(
    'An object of a cluster, as Kinfold knows it.',
    record({
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
        { verdict: record({ type: TEXT, because: TEXT }) },
      ),
    }),
  ),
  OwnedObjectList: say(
    'Objects of a cluster. Why it may be incomplete is in the header Warning.',
    record({
      ...OWNED,
      kind: oneOf(['OwnedObjectList', 'ClusterOwnedObjectList']),
      metadata: record(
        {},
        {
          continue: say('For the next page.', TEXT),
          remainingItemCount: say('After this page; absent where it is not known.', COUNT),
        },
      ),
      items: listOf(ref('OwnedObject')),
    }),
  ),
  Table: say(
    'The same as rows, for who asks with Accept: application/json;as=Table;v=v1;g=meta.k8s.io, as kubectl does.',
    record({
      kind: { const: 'Table' },
      apiVersion: { const: 'meta.k8s.io/v1' },
      metadata: record({}, { continue: TEXT, remainingItemCount: COUNT }),
      columnDefinitions: listOf(
        record({ name: TEXT, type: TEXT, format: TEXT, description: TEXT, priority: COUNT }),
      ),
      rows: listOf(record({ cells: listOf(TEXT) }, { object: { type: 'object' } })),
    }),
  ),
  Status: say(
    'What is wrong with a request, as an API server says it.',
    record({
      kind: { const: 'Status' },
      apiVersion: { const: 'v1' },
      metadata: { type: 'object' },
      status: { const: 'Failure' },
      message: say('One sentence that says what to do.', TEXT),
      code: { type: 'integer' },
      reason: TEXT,
    }),
  ),
}
