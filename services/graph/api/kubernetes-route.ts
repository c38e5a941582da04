/**
 * The routes that are shaped like those of an API server, so that `kubectl` and simple tools read
 * what Kinfold knows: discovery and lists of one group, of the only cluster or of one below
 * `/clusters/`.
 *
 * What must stay true: they only read. What cannot be answered is a `Status`.
 *
 * Not here: the answers (query/ask/kubernetes-question.ts), their schemas (kubernetes-schema.ts).
 */
import { GROUP, VERSION } from './kubernetes-document.ts'
import {
  API_GROUP,
  API_GROUP_LIST,
  API_RESOURCE_LIST,
  API_VERSIONS,
  OWNED_OBJECT,
  OWNED_OBJECT_LIST,
  TABLE,
} from './kubernetes-schema.ts'
import {
  CONTINUE,
  JSON_TYPE,
  limitParameter,
  type Parameter,
  parameter,
  type Route,
} from './operation.ts'
import { type Schema, TEXT } from './schema.ts'

const CLUSTER = parameter('cluster', 'Name or id of a cluster.', TEXT)
const NAMESPACE = parameter('namespace', 'Namespace of the objects.', TEXT)
const NAME = parameter(
  'name',
  'RESOURCE:NAME or RESOURCE.GROUP:NAME, such as `deployments.apps:web`.',
  TEXT,
)
const TIMEOUT = parameter('timeout', 'As kubectl sends it; nothing comes of it.', TEXT)
const INCLUDE = parameter(
  'includeObject',
  'Of a table: what each row has of its object; `Metadata` without it.',
  { type: 'string', enum: ['None', 'Metadata', 'Object'] },
)
const LIST: readonly Parameter[] = [
  parameter('kind', 'Only objects of this kind, such as `pods`.', TEXT),
  limitParameter(
    'Objects on a page, at most 2,000. Without it all are listed, 10,000 at most: then `metadata.continue` leads on.',
    0,
  ),
  CONTINUE,
]
const LABELS =
  'Kinfold keeps no labels but those that protect an object; select by kind, namespace or name'
const FIELDS = 'objects are selected by kind, namespace or name'
const STREAM = 'there is no watch here; /v1/lineage is a stream'

type Row = Pick<Route, 'path' | 'operation' | 'summary'> & {
  readonly answer: Schema
  readonly segments?: readonly Parameter[]
  readonly isList?: boolean
}

const VERSIONED = `/apis/${GROUP}/${VERSION}`
const ROWS: readonly Row[] = [
  {
    path: '/api',
    operation: 'coreVersions',
    summary: 'Versions of the core group: none',
    answer: API_VERSIONS,
  },
  {
    path: '/apis',
    operation: 'apiGroups',
    summary: 'The groups that are served: one',
    answer: API_GROUP_LIST,
  },
  {
    path: `/apis/${GROUP}`,
    operation: 'apiGroup',
    summary: 'The group, and its versions',
    answer: API_GROUP,
  },
  {
    path: VERSIONED,
    operation: 'apiResources',
    summary: 'The resources of the group',
    answer: API_RESOURCE_LIST,
  },
  {
    path: `${VERSIONED}/ownedobjects`,
    operation: 'ownedObjects',
    summary: 'Objects of all namespaces',
    answer: OWNED_OBJECT_LIST,
    isList: true,
  },
  {
    path: `${VERSIONED}/namespaces/{namespace}/ownedobjects`,
    operation: 'namespacedOwnedObjects',
    summary: 'Objects of a namespace',
    answer: OWNED_OBJECT_LIST,
    segments: [NAMESPACE],
    isList: true,
  },
  {
    path: `${VERSIONED}/namespaces/{namespace}/ownedobjects/{name}`,
    operation: 'ownedObject',
    summary: 'An object of a namespace',
    answer: OWNED_OBJECT,
    segments: [NAMESPACE, NAME],
  },
  {
    path: `${VERSIONED}/clusterownedobjects`,
    operation: 'clusterOwnedObjects',
    summary: 'Objects without a namespace',
    answer: OWNED_OBJECT_LIST,
    isList: true,
  },
  {
    path: `${VERSIONED}/clusterownedobjects/{name}`,
    operation: 'clusterOwnedObject',
    summary: 'An object without a namespace',
    answer: OWNED_OBJECT,
    segments: [NAME],
  },
]

export const CLUSTERS_PREFIX = '/clusters/{cluster}'

/** Each for the only cluster, and for one that is named. */
export const KUBERNETES_ROUTES: readonly Route[] = ROWS.flatMap((row) => {
  const { path, operation, summary, segments = [] } = row
  const named = `${operation}InCluster`
  return [
    routeOf(row, { path, operation, summary, segments }),
    routeOf(row, {
      path: CLUSTERS_PREFIX + path,
      operation: named,
      summary: `${summary}, in a cluster`,
      segments: [CLUSTER, ...segments],
    }),
  ]
})

function routeOf(
  { answer, isList = false }: Row,
  more: Pick<Route, 'path' | 'operation' | 'summary' | 'segments'>,
): Route {
  const isTabular = answer === OWNED_OBJECT || answer === OWNED_OBJECT_LIST
  return {
    ...more,
    method: 'get',
    parameters: [...(isList ? LIST : []), ...(isTabular ? [INCLUDE] : []), TIMEOUT],
    answers: { [JSON_TYPE]: isTabular ? { anyOf: [answer, TABLE] } : answer },
    refusal: 'status',
    ...(isList && {
      refused: { labelSelector: LABELS, fieldSelector: FIELDS, watch: STREAM },
    }),
  }
}
