/**
 * What the graph service adds to its endpoint: the page, the questions people ask, what they order,
 * and streams of public records.
 *
 * What must stay true: only an order changes anything, and that by records on the log; what audit
 * logs say is kept there, too, and changes no verdict.
 *
 * Not here: listening, health and metrics (runtime/http/endpoint.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { MarkSettings } from '../../ports/record/manager-mark.ts'
import type { AuditFeed } from './actors/audit-feed.ts'
import { addAuditEvents } from './actors/audit-http.ts'
import { documentOf } from './api/document.ts'
import { addTags } from './api/etag.ts'
import { openApi } from './api/openapi.ts'
import { addRouteTable } from './api/parameter.ts'
import { AUDIT_PATH, DOCUMENT_PATH } from './api/route.ts'
import type { Shadow } from './audit/shadow.ts'
import { shadowAnswer } from './audit/shadow-answer.ts'
import type { DirectiveParts } from './orders/directive-http.ts'
import { addDirectives } from './orders/directive-http.ts'
import { addPage } from './page.ts'
import type { Differ } from './query/answer/diff.ts'
import type { Access } from './query/ask/access.ts'
import { addAcross } from './query/ask/across-question.ts'
import { addClusterList } from './query/ask/cluster-list.ts'
import { addDependents } from './query/ask/dependent-question.ts'
import { addFinalizers } from './query/ask/finalizer-question.ts'
import { addFinding } from './query/ask/finder.ts'
import { addForgetPlan } from './query/ask/forget-question.ts'
import { addKubernetes } from './query/ask/kubernetes-question.ts'
import { addObjectList } from './query/ask/list-question.ts'
import type { QuestionParts } from './query/ask/question.ts'
import { addGraphDump, addQuestions } from './query/ask/question.ts'
import { addRules } from './query/ask/rule-question.ts'
import type { ActorIndex } from './query/index/actor-index.ts'
import type { HistoryIndex } from './query/index/history-index.ts'
import { addChanges } from './record/change-question.ts'
import { addDeletions } from './record/deletion-question.ts'
import { addDiff } from './record/diff-question.ts'
import { addHorizon } from './record/horizon-question.ts'
import { addStreams } from './record-stream.ts'

export interface HttpParts extends QuestionParts, DirectiveParts {
  readonly marks: MarkSettings
  readonly log: Log
  readonly codec: Codec
  readonly index: HistoryIndex
  readonly actors: ActorIndex | undefined
  readonly differ: Differ
  readonly audit: AuditFeed
}

export function addGraphRoutes(server: FastifyInstance, parts: HttpParts): void {
  addPage(server)
  addRouteTable(server)
  addTags(server)
  // Before its words are read: a user who may not ask learns nothing of them.
  server.addHook('preValidation', async (request) => await mayAsk(request, parts.access))
  const document = openApi()
  server.get(DOCUMENT_PATH, async (_request, reply) =>
    reply.type('application/json').send(document),
  )
  addFinding(server, parts)
  addQuestions(server, parts)
  addAcross(server, parts)
  addDependents(server, parts)
  addRules(server, parts)
  addObjectList(server, parts)
  addFinalizers(server, parts)
  addForgetPlan(server, parts)
  addClusterList(server, parts)
  addKubernetes(server, parts)
  addGraphDump(server, parts)
  addDirectives(server, parts)
  addAuditEvents(server, parts)
  addStreams(server, parts)
  addChanges(server, parts)
  addDeletions(server, parts)
  addDiff(server, parts)
  addHorizon(server, parts)
}

/**
 * Routes that are about one object, or show a part to users who may not see all, and orders, check
 * that themselves.
 */
const OWN_LOOK: ReadonlySet<string> = new Set([
  ...['/v1/tree', '/v1/dependents', '/v1/why', '/v1/plan', '/v1/cascade', '/v1/held'],
  ...['/v1/across', '/v1/plan/finalizer'],
  ...['/v1/rules', '/v1/rules/:rule', '/v1/rules/:rule/plan'],
  ...['/v1/lineage', '/v1/history', '/v1/directives', '/v1/changes', '/v1/deletions', AUDIT_PATH],
])

async function mayAsk(request: FastifyRequest, access: Access): Promise<void> {
  const route = request.routeOptions.url ?? ''
  const isOfGraph = route.startsWith('/v1/') || route.startsWith('/debug/')
  if (isOfGraph && !OWN_LOOK.has(route)) await access.graph(request)
}

/** Where another collector and this one agree, and where not. */
export function addShadow(server: FastifyInstance, shadow: Pick<Shadow, 'report'>): void {
  server.get('/v1/shadow', async () =>
    documentOf('Shadow', { answer: shadowAnswer(await shadow.report()), partial: '' }),
  )
}
