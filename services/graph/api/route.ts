/**
 * All routes of the endpoint: what each takes and answers. The OpenAPI document is written from
 * this table, and parameters are checked by it.
 *
 * What must stay true: a route of the graph service that is not here is not served
 * (`addRouteTable`), so the document lacks none.
 *
 * Not here: schemas of answers (answer-schema.ts), how a parameter is checked (parameter.ts),
 * routes as an API server has them (kubernetes-route.ts).
 */
import {
  ACROSS,
  AUDIT_EVENTS_RESULT,
  CASCADE,
  CHANGE_LIST,
  CLUSTER_LIST,
  DELETION_LIST,
  DEPENDENT_LIST,
  DIFF,
  DIRECTIVE_RESULT,
  FINALIZER_LIST,
  FINALIZER_PLAN,
  FIREHOSE_RESULT,
  FORGET_PLAN,
  HELD,
  HELD_PLAN,
  HISTORY_ENTRY,
  HORIZON,
  LINEAGE_ENTRY,
  OBJECT_LIST,
  PLAN,
  RULE_EXPLANATION,
  RULE_LIST,
  RULE_PLAN,
  SHADOW,
  TREE,
  WHY,
} from './answer-schema.ts'
import { KUBERNETES_ROUTES } from './kubernetes-route.ts'
import {
  CONTINUE,
  JSON_TYPE,
  limitParameter,
  type Parameter,
  parameter,
  patternOf,
  type Route,
} from './operation.ts'
import { VERBS } from './promise.ts'
import { FLAG, oneOf, type Schema, say, TEXT, type TypeOf } from './schema.ts'

/** Null is as good as left out. */
const TEXT_OR_NULL: Schema<string | null> = { type: ['string', 'null'] }
const FLAG_OR_NULL: Schema<boolean | null> = { type: ['boolean', 'null'] }
const LINES = 'application/x-ndjson'
const EVENTS = 'text/event-stream'

const CLUSTER = parameter('cluster', 'Name or id of a cluster.', TEXT)
const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:\\d\\d)'
const AT = moment('at', 'Without it: now.')
const OBJECT = [
  parameter(
    'kind',
    'Such as `Deployment`, `deployments` or `deployments.apps`; with `name`.',
    TEXT,
  ),
  parameter('name', 'Name of the object.', TEXT),
  parameter('namespace', 'Namespace of the object; `default` without it.', TEXT),
  CLUSTER,
  parameter('uid', 'Uid of the object, instead of kind and name.', TEXT),
] as const
const FOLLOW = parameter(
  'follow',
  'The answer goes on with what comes later: as `application/x-ndjson`, a document a line.',
  FLAG,
)
const POSITIONS: Schema<string> = {
  type: 'string',
  pattern: '^(start|end|\\d{1,9}-\\d{1,18}(,\\d{1,9}-\\d{1,18})*)$',
  description: 'start, end, PARTITION-OFFSET,…',
  examples: ['0-17,1-5'],
}
const STREAM: readonly Parameter[] = [
  {
    ...FOLLOW,
    description:
      'The answer goes on with what is appended later. With Accept: text/event-stream it does so unless this is false.',
  },
  parameter(
    'from',
    '`start` (the default): the oldest entry that is kept; `end`: only what is new; or where to go on, for each partition the next offset to read. A partition that is not named is read from its start. The header Last-Event-ID comes before it.',
    POSITIONS,
  ),
  CLUSTER,
  parameter('kind', 'Only records of this kind.', TEXT),
  parameter('namespace', 'Only records of this namespace; empty: of objects without one.', TEXT),
]
const CHANGES = ['created', 'references', 'phase', 'verdict', 'command', 'result', 'owner', 'gone']
const CHANGE = wordList('change', 'Only changes of these kinds, with commas between.', CHANGES)
const SOME_UID = parameter('uid', 'Only records of the object with this uid.', TEXT)
const SPAN = [
  time('since', 'as far back as is known without it; 410 for what lies before that.'),
  parameter(
    'reach',
    'Where the record begins after `since`: `refuse` (the default) with 410, or `partial`, an answer from then on that says so.',
    oneOf(['refuse', 'partial']),
  ),
  time('until', 'up to now without it.'),
] as const
const PAGE = [
  limitParameter('Rows on a page, 500 without it, at most 2,000.', 1),
  CONTINUE,
] as const
const RULE_NAME = parameter('rule', 'Name of a rule.', TEXT)
const IN_NAMESPACE = parameter(
  'namespace',
  'Only what is in this namespace; empty: objects without one. Who may not see the whole graph names it, and the cluster.',
  TEXT,
)
const PROPAGATION = oneOf(['background', 'foreground', 'orphan'])

/** The document's own; it is served by this route, and made of this table (openapi.ts). */
export const DOCUMENT_PATH = '/openapi.json'

/** Where API servers send what is in their audit logs. */
export const AUDIT_PATH = '/v1/audit-events'

const TABLE = [
  question('/v1/tree', 'tree', TREE, 'Dependents of an object, or its owners', [
    ...OBJECT,
    parameter('owners', 'Upwards: its owners, and theirs.', FLAG),
    parameter('uses', 'Beside them: which objects use it, and which it uses.', FLAG),
    AT,
  ]),
  question(
    '/v1/across',
    'across',
    ACROSS,
    "What tools' marks name as managed by an object, in all clusters, and what names it as its owner",
    [
      parameter(
        'kind',
        'Kind of the manager, such as `Application`, `kustomizations` or `Release.helm.sh`.',
        TEXT,
      ),
      parameter('name', 'Name of the manager.', TEXT),
      parameter('namespace', 'Namespace of the manager; any without it.', TEXT),
      parameter('cluster', 'Name or id of the cluster of the manager; any without it.', TEXT),
      parameter(
        'uid',
        'Of the manager, where it is known: of what `kinfold.io/owner` names, that one alone is meant. Marks of tools name no uid.',
        TEXT,
      ),
      parameter(
        'goneSince',
        'Also what named it by `kinfold.io/owner` and is gone: the time when its deletion began, such as `since` of `/v1/cascade`. Takes `uid` and `cluster`.',
        TEXT,
      ),
      parameter(
        'along',
        'Uids of objects that would go with it, in its cluster, with commas between, 200 at most: what names these by `kinfold.io/owner` is in `along`. Takes `cluster`.',
        TEXT,
      ),
      limitParameter('Objects that are listed, 500 without it, at most 10,000.', 0),
      AT,
    ],
  ),
  question(
    '/v1/dependents',
    'dependents',
    DEPENDENT_LIST,
    'Direct dependents of an object, a page at a time',
    [
      ...OBJECT,
      limitParameter('Dependents on a page, 500 without it, at most 2,000.', 1),
      parameter('count', 'Lists nothing, and counts.', FLAG),
      CONTINUE,
      AT,
    ],
  ),
  question('/v1/why', 'why', WHY, 'Why an object exists, is being deleted or was deleted', [
    ...OBJECT,
    AT,
  ]),
  {
    ...question('/v1/cascade', 'cascade', CASCADE, 'Progress of a deletion', [
      ...OBJECT,
      FOLLOW,
      AT,
    ]),
    answers: { [JSON_TYPE]: CASCADE, [LINES]: CASCADE },
  },
  question('/v1/plan', 'plan', PLAN, 'What would be deleted with an object', [
    ...OBJECT,
    parameter('cascade', 'Propagation policy; `background` without it.', PROPAGATION),
    limitParameter('Objects that are listed, 500 without it, at most 20,000; all are counted.', 0),
    AT,
  ]),
  question('/v1/plan/held', 'planHeld', HELD_PLAN, 'What waits for approval in a cluster', [
    CLUSTER,
    limitParameter('Objects that are listed, 500 without it, at most 20,000; all are counted.', 0),
  ]),
  question('/v1/clusters', 'clusters', CLUSTER_LIST, 'Clusters, and how each stands', []),
  question('/v1/held', 'held', HELD, 'What would be deleted and is held, and by what', [
    CLUSTER,
    IN_NAMESPACE,
    AT,
  ]),
  question('/v1/rules', 'rules', RULE_LIST, 'Rules of the policy, and what each is about', [
    CLUSTER,
    parameter('name', 'Only the rule of that name.', TEXT),
    IN_NAMESPACE,
    parameter('counts', 'false: no object is read, and nothing is counted.', FLAG),
    AT,
  ]),
  {
    ...question(
      '/v1/rules/{rule}',
      'rule',
      RULE_EXPLANATION,
      'A rule, and what it says of an object',
      [
        parameter(
          'kind',
          'Of the object, such as `Job`, `jobs` or `jobs.batch`; none is asked about without it.',
          TEXT,
        ),
        parameter('name', 'Name of the object.', TEXT),
        parameter('namespace', 'Namespace of the object; `default` without it.', TEXT),
        CLUSTER,
        parameter('uid', 'Uid of the object, instead of kind and name.', TEXT),
        AT,
      ],
    ),
    segments: [RULE_NAME],
  },
  {
    ...question(
      '/v1/rules/{rule}/plan',
      'rulePlan',
      RULE_PLAN,
      'What a rule deletes, or would, in a cluster: a page at a time',
      [
        CLUSTER,
        IN_NAMESPACE,
        limitParameter('Objects on a page, 100 without it, at most 2,000.', 1),
        CONTINUE,
        AT,
      ],
    ),
    segments: [RULE_NAME],
  },
  {
    ...question('/v1/objects', 'objects', OBJECT_LIST, 'Objects of clusters, a page at a time', [
      CLUSTER,
      parameter('kind', 'All kinds without it.', TEXT),
      parameter(
        'namespace',
        'All namespaces without it. Objects of a cluster-scoped kind are listed whatever it is.',
        TEXT,
      ),
      parameter('name', 'Takes `kind` and `namespace`.', TEXT),
      parameter('gone', 'Also deleted objects, as long as they are remembered.', FLAG),
      parameter(
        'references',
        'Each object with its owner references, and not the uids of its owners alone.',
        FLAG,
      ),
      AT,
      limitParameter('Objects on a page, 500 without it, at most 2,000.', 1),
      parameter('count', 'Lists nothing, and counts.', FLAG),
      CONTINUE,
    ]),
    refused: {
      labelSelector:
        'Kinfold keeps no labels but those that protect an object; select by kind, namespace or name',
    },
  },
  question(
    '/v1/finalizers',
    'finalizers',
    FINALIZER_LIST,
    'Objects that finalizers hold for long after their deletion was asked for, a page at a time',
    [
      CLUSTER,
      parameter('namespace', 'All without it; empty: objects without one.', TEXT),
      parameter('finalizer', 'Only objects that this one holds.', TEXT),
      limited('olderThan', 'Seconds since the end of the grace period, 600 without it.', 0),
      AT,
      limitParameter('Objects on a page, 100 without it, at most 500.', 1),
      CONTINUE,
    ],
  ),
  question(
    '/v1/plan/finalizer',
    'planFinalizer',
    FINALIZER_PLAN,
    'What removing a finalizer of an object means, with the digest that an order names',
    [...OBJECT, parameter('finalizer', 'The one to be removed.', TEXT)],
  ),
  question(
    '/v1/plan/forget-cluster',
    'planForgetCluster',
    FORGET_PLAN,
    'What an order that forgets a cluster means, with the digests that orders name',
    [
      parameter('ownerCluster', 'Name or id of the cluster that is to be forgotten.', TEXT),
      { ...CLUSTER, description: 'Only for objects of this cluster: name or id.' },
      limitParameter(
        'Objects that are listed of each cluster, 500 without it, at most 20,000; all are counted.',
        0,
      ),
    ],
  ),
  question('/v1/shadow', 'shadow', SHADOW, 'Where another collector and Kinfold differ', []),
  stream('/v1/lineage', 'lineage', LINEAGE_ENTRY, 'The stream of who owns what', [SOME_UID]),
  stream('/v1/history', 'history', HISTORY_ENTRY, 'The stream of every change that matters', [
    SOME_UID,
    CHANGE,
  ]),
  question(
    '/v1/changes',
    'changes',
    CHANGE_LIST,
    'What happened to an object, in a namespace or in clusters, the oldest first, a page at a time',
    [
      CLUSTER,
      parameter('namespace', 'With `name`: `default` without it.', TEXT),
      parameter('kind', 'All kinds without it.', TEXT),
      parameter('name', 'Of one object; takes `kind`.', TEXT),
      parameter('uid', 'Of one object, instead of kind and name.', TEXT),
      CHANGE,
      ...SPAN,
      ...PAGE,
    ],
  ),
  question(
    '/v1/deletions',
    'deletions',
    DELETION_LIST,
    'Which objects were deleted, when, by whom and after which owner, a page at a time',
    [
      CLUSTER,
      parameter('namespace', 'All namespaces without it.', TEXT),
      parameter('kind', 'All kinds without it.', TEXT),
      parameter(
        'by',
        '`kinfold`: by a delete of Kinfold; `others`: by anybody else; or the name of a user, as an audit log has it.',
        TEXT,
      ),
      wordList(
        'evidence',
        'Only those that Kinfold deleted on such evidence, with commas between.',
        ['deleted', 'waiting', 'missing', 'not-found', 'bulk', 'rule'],
      ),
      parameter(
        'root',
        'Only the cascade of this object, itself included: `KIND/NAME` in the namespace, or `uid:UID`.',
        TEXT,
      ),
      parameter(
        'from',
        'Only what was recorded behind an earlier list: its `resume`. Instead of `since` and `until`; 410 for what is kept no longer.',
        POSITIONS,
      ),
      ...SPAN,
      ...PAGE,
    ],
  ),
  question(
    '/v1/diff',
    'diff',
    DIFF,
    'Which objects were added, deleted or changed between two moments, a page at a time',
    [
      moment('from', 'It is needed.'),
      moment('to', 'Without it: what is folded by the first page.'),
      CLUSTER,
      parameter('kind', 'All kinds without it.', TEXT),
      parameter(
        'namespace',
        'All namespaces without it. Objects of a cluster-scoped kind that is asked for are listed whatever it is.',
        TEXT,
      ),
      limitParameter('Rows on a page, 500 without it, at most 2,000.', 1),
      CONTINUE,
    ],
  ),
  question('/v1/horizon', 'horizon', HORIZON, 'How far back each question reaches, and why', []),
  {
    ...question('/v1/directives', 'giveDirective', DIRECTIVE_RESULT, 'Gives an order', []),
    method: 'post',
    body: {
      type: 'object',
      properties: {
        verb: oneOf([...VERBS]),
        cluster: say(
          'Name or id; empty for all clusters. Of forget-cluster: that of the objects which name owners elsewhere.',
          TEXT_OR_NULL,
        ),
        subject: say(
          'Of protect and unprotect: namespace/NAME, kind/KIND.GROUP, label/KEY[=VALUE] or annotation/KEY[=VALUE]. Of remove-finalizer: the one of /v1/plan/finalizer. Of forget-cluster and remember-cluster: the id of the cluster of owners.',
          TEXT_OR_NULL,
        ),
        digest: say(
          'Of approve and reject: the one of /v1/plan/held. Of remove-finalizer: that of /v1/plan/finalizer. Of forget-cluster: that of /v1/plan/forget-cluster.',
          TEXT_OR_NULL,
        ),
        why: say('The reason, which is recorded.', TEXT_OR_NULL),
        claimed: say('Who gives it, where no token says so.', TEXT_OR_NULL),
        record: say(
          'Given although the mode cannot keep what it promises (409 otherwise): for a mode that comes later.',
          FLAG_OR_NULL,
        ),
      },
      required: ['verb'],
      additionalProperties: false,
    },
  },
  {
    ...question(
      AUDIT_PATH,
      'sendAuditEvents',
      AUDIT_EVENTS_RESULT,
      "Takes events of a cluster's audit log, as its API server sends them, or its cloud delivers them",
      [
        {
          ...CLUSTER,
          description:
            'Name or id of the cluster. A token of a cluster says which it is; else it is needed where several are known.',
        },
        parameter(
          'source',
          'What its cloud calls the cluster: an AKS resource id, PROJECT/LOCATION/CLUSTER of GKE, or a log group of EKS. Entries of others are left out.',
          TEXT,
        ),
        parameter('timeout', 'What an API server adds to each request; it has no effect.', TEXT),
      ],
    ),
    method: 'post',
    answers: { [JSON_TYPE]: { anyOf: [AUDIT_EVENTS_RESULT, FIREHOSE_RESULT] } },
    body: {
      description:
        'An EventList or events of audit.k8s.io/v1; what EKS, GKE or AKS export of them; a delivery of CloudWatch Logs, Kinesis, Data Firehose or Pub/Sub. Of any size.',
      type: 'object',
    },
  },
  {
    ...text('/debug/graph', 'graph', 'The graph in DOT', 'text/vnd.graphviz'),
    parameters: [
      parameter('uid', 'Only the connected components of these uids; may be given several times.', {
        type: 'array',
        items: TEXT,
      }),
      AT,
    ],
  },
  {
    ...text(DOCUMENT_PATH, 'openapi', 'This document'),
    answers: { [JSON_TYPE]: { type: 'object' } },
  },
  text('/livez', 'livez', 'Whether the process lives'),
  probe('/readyz', 'readyz', 'Whether it is ready'),
  probe('/healthz', 'healthz', 'The same as /readyz'),
  text('/metrics', 'metrics', 'Metrics for Prometheus'),
  {
    ...text('/version', 'version', 'Its version'),
    answers: {
      [JSON_TYPE]: { type: 'object', properties: { version: TEXT }, required: ['version'] },
    },
  },
] as const satisfies readonly Route[]

export const ROUTES: readonly Route[] = [...TABLE, ...KUBERNETES_ROUTES]

type Row = (typeof TABLE)[number]
/** Those that one document answers: the others answer text, or a stream. */
type Question = Extract<
  Row,
  {
    readonly method: 'get'
    readonly path: `/v1/${string}`
    readonly answers: { readonly [JSON_TYPE]: Schema }
  }
>

/** What each question is answered. */
export type Answers = {
  readonly [Q in Question as Q['path']]: TypeOf<Q['answers'][typeof JSON_TYPE]>
}

/**
 * What each question takes. Numbers are passed on as they were written: the server says what is
 * wrong with one.
 */
export type Queries = {
  readonly [Q in Question as Q['path']]: {
    readonly [P in Q['parameters'][number] as P['name']]?: Word<TypeOf<P['schema']>> | undefined
  }
}
type Word<T> = T extends number ? string : T

/** `pattern`: as the server takes it. */
export function routeOf(method: string, pattern: string): Route | undefined {
  return ROUTES.find(
    (route) => patternOf(route) === pattern && route.method === method.toLowerCase(),
  )
}

function question<const P extends string, A, const Q extends readonly Parameter[]>(
  path: P,
  operation: string,
  answer: Schema<A>,
  summary: string,
  parameters: Q,
) {
  return {
    method: 'get',
    path,
    operation,
    summary,
    parameters,
    answers: { [JSON_TYPE]: answer },
  } as const
}

function stream(
  path: string,
  operation: string,
  answer: Schema,
  summary: string,
  more: readonly Parameter[],
): Route {
  const answers = { [LINES]: answer, [EVENTS]: TEXT }
  const parameters = [...STREAM, ...more]
  return { method: 'get', path, operation, summary, parameters, answers }
}

/** Words with commas between. */
function wordList<const N extends string>(
  name: N,
  description: string,
  words: readonly string[],
): Parameter<N, string> {
  const one = `(${words.join('|')})`
  const schema = { type: 'string', pattern: `^${one}(,${one})*$`, description: words.join(', ') }
  return { name, description, schema }
}

function moment<const N extends string>(name: N, without: string): Parameter<N, string> {
  return {
    name,
    description: `A moment of the past: a time, a position (everything before it), or just before a command. Of a time: all that was appended by then. ${without}`,
    schema: {
      type: 'string',
      pattern: `^(pos:\\d{1,9}-\\d{1,15}|before:\\d{1,9}-\\d{1,15}-\\d{1,9}|${TIME})$`,
      description: 'RFC 3339 such as 2026-01-31T09:30:00Z, pos:PARTITION-OFFSET, before:COMMAND',
      examples: ['2026-01-31T09:30:00Z', 'pos:0-4711', 'before:0-4711-0'],
    },
  }
}

function limited<const N extends string>(
  name: N,
  description: string,
  minimum: number,
): Parameter<N, number> {
  return { name, description, schema: { type: 'integer', minimum } }
}

function time<const N extends string>(name: N, without: string): Parameter<N, string> {
  const pattern = `^${TIME}$`
  const schema = { type: 'string', pattern, description: 'RFC 3339, such as 2026-01-31T09:30:00Z' }
  return { name, description: `RFC 3339; ${without}`, schema }
}

function text(path: string, operation: string, summary: string, type = 'text/plain'): Route {
  return { method: 'get', path, operation, summary, parameters: [], answers: { [type]: TEXT } }
}

function probe(path: string, operation: string, summary: string): Route {
  const verbose = parameter('verbose', 'With each check.', TEXT)
  return { ...text(path, operation, summary), parameters: [verbose] }
}
