/**
 * `POST /v1/audit-events`: the backend of an API server's audit webhook, where clouds deliver what
 * they log of one, and what `kinfold audit import` and `follow` send to.
 *
 * What must stay true: a sender with a cluster's token sends events of that cluster only; what is
 * kept is on the log before the request is answered, so a request without an answer may be sent
 * again: the same event sent twice counts once. No request is refused for its size or for one of
 * its events, since an API server drops a refused request with the events of all users in it. Any
 * graph process accepts it: all of them read the log.
 *
 * Not here: what becomes of the events (audit-feed.ts), what is answered from them
 * (query/answer/actor.ts).
 */
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LogError } from '../../../ports/log.ts'
import { principalOf } from '../../../runtime/http/principal.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import { clusterRefs, documentOf } from '../api/document.ts'
import { AUDIT_PATH } from '../api/route.ts'
import type { Access } from '../query/ask/access.ts'
import { namedClusters } from '../query/ask/not-found.ts'
import type { Clusters, KnownCluster } from '../query/view/clusters.ts'
import type { AuditFeed, Received } from './audit-feed.ts'
import { MOST_AT_ONCE } from './feed-limit.ts'

export interface AuditParts {
  readonly clusters: Clusters
  readonly access: Access
  readonly audit: AuditFeed
}

export function addAuditEvents(server: FastifyInstance, parts: AuditParts): void {
  const clusterOf = new WeakMap<FastifyRequest, KnownCluster>()
  // A scope of its own: its bodies are read by no rule but this one.
  void server.register((scope, _options, done) => {
    scope.removeContentTypeParser('application/json')
    scope.addContentTypeParser('application/json', (_request, payload, taken) =>
      taken(null, payload),
    )
    scope.post(
      AUDIT_PATH,
      {
        config: { takesClusterToken: true },
        onRequest: async (request, reply) => {
          const cluster = await senderOf(parts, request)
          admit(parts.audit, cluster, reply)
          clusterOf.set(request, cluster)
        },
      },
      async (request, reply) => {
        const cluster = clusterOf.get(request)
        if (cluster === undefined) throw new Error('a request that nobody let in')
        return await keep(parts, cluster, request, reply)
      },
    )
    done()
  })
}

/**
 * The one cluster whose audit log it is. Throws `Problem` for a sender that may not send for it.
 */
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
  const all = await clusters.all(own ?? named)
  if (own === undefined) return theOne(namedClusters(all, named))
  const [only, second] = all.filter(({ id, name }) => id === own || name === own)
  if (only === undefined && all.some(({ isNamed }) => !isNamed)) {
    // The ids of others are not for who sends events of one.
    throw new Problem(
      503,
      `whether a cluster is called ${own}, as this token is, is not known: watchers have not said yet what all are called`,
    )
  }
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

function admit(feed: AuditFeed, { id, name }: KnownCluster, reply: FastifyReply): void {
  const taken = feed.admit(id)
  if (taken.waitSeconds > 0) {
    reply.header('retry-after', String(taken.waitSeconds))
    throw new Problem(
      429,
      `${MOST_AT_ONCE} requests with audit events of cluster ${name} are under way: wait ${taken.waitSeconds} s`,
    )
  }
  if (reply.raw.closed) taken[Symbol.dispose]()
  else reply.raw.once('close', () => taken[Symbol.dispose]())
}

async function keep(
  { clusters, audit }: AuditParts,
  { id }: KnownCluster,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const { source } = request.query as { readonly source?: unknown }
  try {
    // The connection is needed for the answer, also where reading ends early.
    const body = (request.body as Readable).iterator({ destroyOnReturn: false })
    const answer = await audit.keep(id, body, typeof source === 'string' ? source : undefined)
    const requestId = request.headers['x-amz-firehose-request-id']
    // Any other answer is a failure to Data Firehose, which then sends all of it again.
    if (typeof requestId === 'string') return { requestId, timestamp: audit.now() }
    const partial = leftOutText(answer)
    const cluster = clusterRefs(await clusters.all())(id)
    return documentOf('AuditEventsResult', { answer, partial, cluster })
  } catch (error) {
    if (!(error instanceof LogError) || error.remedy !== 'retry') throw error
    reply.header('retry-after', '10')
    throw new Problem(503, `the log cannot be written, send it again: ${error.message}`)
  }
}

function leftOutText({ overShare, unreadable }: Received): string {
  const texts = [
    overShare > 0 && `${overShare} requests were above their users' shares of a day`,
    unreadable > 0 &&
      `${unreadable} ${unreadable === 1 ? 'item was' : 'items were'} no audit event`,
  ]
  return texts.filter((text) => text !== false).join('; ')
}
