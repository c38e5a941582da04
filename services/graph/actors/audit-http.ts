/**
 * `POST /v1/audit-events`: the backend of an API server's audit webhook, and what `kinfold audit import` sends to.
 *
 * What must stay true: whoever shows a cluster's token tells of that cluster only; what is kept is on the log when it is answered, so that a request that was not
 * answered may be sent again: the same event told twice is one. It is no input of the fold, and takes no more than its share (feed-limit.ts). Any graph process takes it:
 * the log has it for all.
 *
 * Not here: what is kept of an event (audit-event.ts), what is answered from it (query/actor.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../ports/clock.ts'
import type { Codec } from '../../../ports/codec.ts'
import { type Log, LogError, type Produced } from '../../../ports/log.ts'
import { principalOf } from '../../../runtime/principal.ts'
import { Problem, problem } from '../../../runtime/problem.ts'
import { documentOf } from '../api/document.ts'
import { AUDIT_PATH } from '../api/route.ts'
import type { Access } from '../query/access.ts'
import { clusterRefs } from '../query/cluster-label.ts'
import type { Clusters, KnownCluster } from '../query/clusters.ts'
import { namedClusters } from '../query/not-found.ts'
import { Turns } from '../turns.ts'
import { askedBy, eventsIn } from './audit-event.ts'
import { FeedLimit, MOST_BYTES } from './feed-limit.ts'

export interface AuditParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly clusters: Clusters
  readonly access: Access
}

/** What became of a list of events. */
export interface AuditEventsAnswer {
  readonly received: number
  /** Those that attribute a deletion: all others are forgotten. */
  readonly kept: number
}

/** Records of one append. */
const APPENDED_AT_ONCE = 1_000
const TOO_LARGE = `the body has more than ${MOST_BYTES / 1024 ** 2} MiB: send fewer events at once (--audit-webhook-batch-max-size), and of deletions only, at level Metadata (docs/who.md)`

export function addAuditEvents(server: FastifyInstance, parts: AuditParts): void {
  const limit = new FeedLimit(parts.clock)
  // Of all requests together: however many come, nobody else waits for more than a turn.
  const turns = new Turns(parts.clock)
  const clusterOf = new WeakMap<FastifyRequest, KnownCluster>()
  // A scope of its own: its bodies are read by no rule but this one.
  void server.register((scope, _options, done) => {
    scope.removeContentTypeParser('application/json')
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: MOST_BYTES },
      async (_request: FastifyRequest, body: string) => parsed(body),
    )
    scope.post(
      AUDIT_PATH,
      {
        bodyLimit: MOST_BYTES,
        config: { takesClusterToken: true },
        onRequest: async (request, reply) => {
          const cluster = await senderOf(parts, request)
          admit(limit, cluster, request, reply)
          clusterOf.set(request, cluster)
        },
        errorHandler: (error, _request, reply) => {
          const isLarge = error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
          return problem(reply, isLarge ? new Problem(413, TOO_LARGE) : error)
        },
      },
      async (request, reply) => {
        const cluster = clusterOf.get(request)
        if (cluster === undefined) throw new Error('a request that nobody let in')
        return await keep(parts, turns, cluster, request.body, reply)
      },
    )
    done()
  })
}

/** Of texts of users any word may be a key, also those that JavaScript has a meaning for: nothing is made of the body but what audit-event.ts reads. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    throw new Problem(400, 'the body is not valid JSON')
  }
}

/** The one cluster whose audit log it is. Throws `Problem` for whoever may not say so. */
async function senderOf(
  { clusters, access }: AuditParts,
  request: FastifyRequest,
): Promise<KnownCluster> {
  const principal = principalOf(request)
  // Whatever page a browser on this machine shows could send it.
  if (principal.by === 'local' && request.headers.origin !== undefined) {
    throw new Problem(
      403,
      'no audit events are taken from web pages where no token has to be shown',
    )
  }
  await access.attribute(request)
  const { cluster: asked } = request.query as { readonly cluster?: unknown }
  const named = typeof asked === 'string' ? asked : undefined
  const own = principal.cluster
  const all = await clusters.all()
  if (own === undefined) return theOne(namedClusters(all, named))
  const [only, second] = all.filter(({ id, name }) => id === own || name === own)
  if (only === undefined || second !== undefined) {
    const why = only === undefined ? 'is known here' : 'is the only one'
    throw new Problem(
      404,
      `no cluster of this token's name, ${own}, ${why}: name it by its id (the uid of its namespace kube-system) in the file of --audit-token-file`,
    )
  }
  if (named === undefined || named === only.id || named === only.name) return only
  throw new Problem(403, `this token is for events of cluster ${own} alone`)
}

function theOne([only, second]: readonly KnownCluster[]): KnownCluster {
  if (only === undefined) throw new Problem(404, 'no cluster was ever seen')
  if (second === undefined) return only
  throw new Problem(
    400,
    'several clusters are meant, and an event names none: add ?cluster=, or --cluster, with the id of one, or send with the token of one (--audit-token-file)',
  )
}

function admit(
  limit: FeedLimit,
  { id, name }: KnownCluster,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): void {
  const length = Number(headers['content-length'] ?? MOST_BYTES)
  if (length > MOST_BYTES) throw new Problem(413, TOO_LARGE)
  const taken = limit.take(id, length)
  if (taken.waitSeconds > 0) {
    reply.header('retry-after', String(taken.waitSeconds))
    throw new Problem(
      429,
      `audit events of cluster ${name} come faster than they are taken: wait ${taken.waitSeconds} s, and send those of deletions alone (docs/who.md)`,
    )
  }
  if (reply.raw.closed) taken[Symbol.dispose]()
  else reply.raw.once('close', () => taken[Symbol.dispose]())
}

async function keep(
  { log, codec, clusters }: AuditParts,
  turns: Turns,
  { id }: KnownCluster,
  body: unknown,
  reply: FastifyReply,
): Promise<object> {
  const events = eventsIn(body)
  const records: Produced[] = []
  for (const [index, event] of events.entries()) {
    await turns.take()
    for (const asked of askedBy(event, index)) {
      records.push({ key: id, value: codec.encode({ ...asked, cluster: id }) })
    }
  }
  try {
    for (let from = 0; from < records.length; from += APPENDED_AT_ONCE) {
      await log.append('actors', 0, records.slice(from, from + APPENDED_AT_ONCE))
    }
  } catch (error) {
    if (!(error instanceof LogError) || error.remedy !== 'retry') throw error
    reply.header('retry-after', '10')
    throw new Problem(503, `the log cannot be written, send it again: ${error.message}`)
  }
  const answer: AuditEventsAnswer = { received: events.length, kept: records.length }
  const cluster = clusterRefs(await clusters.all())(id)
  return documentOf('AuditEventsResult', { answer, partial: '', cluster })
}
