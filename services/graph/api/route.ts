/**
 * All routes of the endpoint: what each takes and answers. The OpenAPI document is written from this table, and parameters are checked by it.
 *
 * What must stay true: a route of the graph service that is not here is not served (`addRouteTable`), so the document lacks none.
 *
 * Not here: schemas of answers (answer-schema.ts), how a parameter is checked (parameter.ts).
 */
import { FLAG, oneOf, ref, type Schema, say, TEXT } from './schema.ts'

export interface Parameter {
  readonly name: string
  readonly description: string
  readonly schema: Schema
}

export interface Route {
  readonly method: 'get' | 'post'
  readonly path: string
  /** Of a client's function. */
  readonly operation: string
  readonly summary: string
  readonly parameters: readonly Parameter[]
  /** By content type. */
  readonly answers: Readonly<Record<string, Schema>>
  readonly body?: Schema
  /** Parameters that other lists of this kind take, and why this one does not. */
  readonly refused?: Readonly<Record<string, string>>
}

const JSON_TYPE = 'application/json'
const LINES = 'application/x-ndjson'
const EVENTS = 'text/event-stream'

const CLUSTER: Parameter = {
  name: 'cluster',
  description: 'Name or id of a cluster.',
  schema: TEXT,
}
const LIMIT = (description: string, minimum: number): Parameter => ({
  name: 'limit',
  description,
  schema: { type: 'integer', minimum },
})
const OBJECT: readonly Parameter[] = [
  {
    name: 'kind',
    description: 'Such as `Deployment`, `deployments` or `deployments.apps`; with `name`.',
    schema: TEXT,
  },
  { name: 'name', description: 'Name of the object.', schema: TEXT },
  {
    name: 'namespace',
    description: 'Namespace of the object; `default` without it.',
    schema: TEXT,
  },
  CLUSTER,
  { name: 'uid', description: 'Uid of the object, instead of kind and name.', schema: TEXT },
]
const FOLLOW: Parameter = {
  name: 'follow',
  description:
    'The answer goes on with what comes later: as `application/x-ndjson`, a document a line.',
  schema: FLAG,
}
const STREAM: readonly Parameter[] = [
  {
    ...FOLLOW,
    description:
      'The answer goes on with what is appended later. With Accept: text/event-stream it does so unless this is false.',
  },
  {
    name: 'from',
    description:
      '`start` (the default): the oldest entry that is kept; `end`: only what is new; or where to go on, for each partition the next offset to read. A partition that is not named is read from its start. The header Last-Event-ID comes before it.',
    schema: {
      type: 'string',
      pattern: '^(start|end|\\d{1,9}-\\d{1,18}(,\\d{1,9}-\\d{1,18})*)$',
      description: 'start, end, PARTITION-OFFSET,…',
      examples: ['0-17,1-5'],
    },
  },
  CLUSTER,
  { name: 'kind', description: 'Only records of this kind.', schema: TEXT },
  {
    name: 'namespace',
    description: 'Only records of this namespace; empty: of objects without one.',
    schema: TEXT,
  },
]
const CASCADES = ['background', 'foreground', 'orphan']

/** The document's own; it is served by this route, and made of this table (openapi.ts). */
export const DOCUMENT_PATH = '/openapi.json'

/** Where API servers send what is in their audit logs. */
export const AUDIT_PATH = '/v1/audit-events'

export const ROUTES: readonly Route[] = [
  question('/v1/tree', 'tree', 'Tree', 'Dependents of an object, or its owners', [
    ...OBJECT,
    { name: 'owners', description: 'Upwards: its owners, and theirs.', schema: FLAG },
  ]),
  question(
    '/v1/why',
    'why',
    'Why',
    'Why an object exists, is being deleted or was deleted',
    OBJECT,
  ),
  {
    ...question('/v1/cascade', 'cascade', 'Cascade', 'Progress of a deletion', [...OBJECT, FOLLOW]),
    answers: { [JSON_TYPE]: ref('Cascade'), [LINES]: ref('Cascade') },
  },
  question('/v1/plan', 'plan', 'Plan', 'What would be deleted with an object', [
    ...OBJECT,
    {
      name: 'cascade',
      description: 'Propagation policy; `background` without it.',
      schema: oneOf(CASCADES),
    },
    LIMIT('Objects that are listed, 500 without it, at most 20,000; all are counted.', 0),
  ]),
  question('/v1/plan/held', 'planHeld', 'HeldPlan', 'What waits for approval in a cluster', [
    CLUSTER,
    LIMIT('Objects that are listed, 500 without it, at most 20,000; all are counted.', 0),
  ]),
  question('/v1/clusters', 'clusters', 'ClusterList', 'Clusters, and how each stands', []),
  question('/v1/held', 'held', 'Held', 'What would be deleted and is held, and by what', [CLUSTER]),
  {
    ...question('/v1/objects', 'objects', 'ObjectList', 'Objects of clusters, a page at a time', [
      CLUSTER,
      { name: 'kind', description: 'All kinds without it.', schema: TEXT },
      {
        name: 'namespace',
        description:
          'All namespaces without it. Objects of a cluster-scoped kind are listed whatever it is.',
        schema: TEXT,
      },
      { name: 'name', description: 'Takes `kind` and `namespace`.', schema: TEXT },
      {
        name: 'gone',
        description: 'Also deleted objects, as long as they are remembered.',
        schema: FLAG,
      },
      LIMIT('Objects on a page, 500 without it, at most 2,000.', 1),
      { name: 'count', description: 'Lists nothing, and counts.', schema: FLAG },
      { name: 'continue', description: 'From the answer before.', schema: TEXT },
    ]),
    refused: {
      labelSelector:
        'Kinfold keeps no labels but those that protect an object; select by kind, namespace or name',
    },
  },
  question('/v1/shadow', 'shadow', 'Shadow', 'Where another collector and Kinfold differ', []),
  stream('/v1/lineage', 'lineage', 'LineageEntry', 'The stream of who owns what'),
  stream('/v1/history', 'history', 'HistoryEntry', 'The stream of every change that matters'),
  {
    ...question('/v1/directives', 'giveDirective', 'DirectiveResult', 'Gives an order', []),
    method: 'post',
    body: {
      type: 'object',
      properties: {
        verb: oneOf([
          ...['pause', 'resume', 'protect', 'unprotect', 'approve', 'reject', 'close-breaker'],
        ]),
        cluster: say('Name or id; empty for all clusters.', TEXT),
        subject: say(
          'Of protect and unprotect: namespace/NAME, kind/KIND.GROUP, label/KEY[=VALUE] or annotation/KEY[=VALUE].',
          TEXT,
        ),
        digest: say('Of approve and reject: the one of /v1/plan/held.', {
          type: ['string', 'null'],
        }),
        why: say('The reason, which is recorded.', TEXT),
        claimed: say('Who gives it, where no token says so.', TEXT),
      },
      required: ['verb'],
      additionalProperties: false,
    },
  },
  {
    ...question(
      AUDIT_PATH,
      'sendAuditEvents',
      'AuditEventsResult',
      "Takes events of a cluster's audit log, as its API server sends them",
      [
        {
          ...CLUSTER,
          description:
            'Name or id of the cluster. A token of a cluster says which it is; else it is needed where several are known.',
        },
        {
          name: 'timeout',
          description: 'What an API server adds to each request; it has no effect.',
          schema: TEXT,
        },
      ],
    ),
    method: 'post',
    body: {
      description: 'An EventList of audit.k8s.io/v1; at most 1 MiB.',
      type: 'object',
      properties: {
        apiVersion: { const: 'audit.k8s.io/v1' },
        kind: { const: 'EventList' },
        items: { type: 'array', items: { type: 'object' } },
      },
      required: ['apiVersion', 'kind', 'items'],
    },
  },
  {
    ...text('/debug/graph', 'graph', 'The graph in DOT', 'text/vnd.graphviz'),
    parameters: [
      {
        name: 'uid',
        description: 'Only the connected components of these uids; may be given several times.',
        schema: { type: 'array', items: TEXT },
      },
    ],
  },
  {
    ...question(DOCUMENT_PATH, 'openapi', '', 'This document', []),
    answers: { [JSON_TYPE]: { type: 'object' } },
  },
  text('/livez', 'livez', 'Whether the process lives'),
  probe('/readyz', 'readyz', 'Whether it is ready'),
  probe('/healthz', 'healthz', 'The same as /readyz'),
  text('/metrics', 'metrics', 'Metrics for Prometheus'),
  {
    ...question('/version', 'version', '', 'Its version', []),
    answers: {
      [JSON_TYPE]: { type: 'object', properties: { version: TEXT }, required: ['version'] },
    },
  },
]

export function routeOf(method: string, path: string): Route | undefined {
  return ROUTES.find((route) => route.path === path && route.method === method.toLowerCase())
}

function question(
  path: string,
  operation: string,
  answer: string,
  summary: string,
  parameters: readonly Parameter[],
): Route {
  const answers = { [JSON_TYPE]: ref(answer) }
  return { method: 'get', path, operation, summary, parameters, answers }
}

function stream(path: string, operation: string, answer: string, summary: string): Route {
  const answers = { [LINES]: ref(answer), [EVENTS]: TEXT }
  return { method: 'get', path, operation, summary, parameters: STREAM, answers }
}

function text(path: string, operation: string, summary: string, type = 'text/plain'): Route {
  return { method: 'get', path, operation, summary, parameters: [], answers: { [type]: TEXT } }
}

function probe(path: string, operation: string, summary: string): Route {
  const verbose = { name: 'verbose', description: 'With each check.', schema: TEXT }
  return { ...text(path, operation, summary), parameters: [verbose] }
}
