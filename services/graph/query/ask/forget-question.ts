/**
 * `GET /v1/plan/forget-cluster`: what an order that forgets a cluster means, in each cluster with
 * objects that name owners there.
 *
 * What must stay true: it takes the right to see the whole graph. A cluster that was never watched
 * into this log is asked for by its id, as annotations name it.
 *
 * Not here: what is found in one cluster (plan/forget-plan.ts), the order (orders).
 */
import type { FastifyInstance } from 'fastify'
import type { ClusterId } from '../../../../core/model/object.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { type AsOf, clusterRefs, documentOf } from '../../api/document.ts'
import { onePerPartition } from '../answer/held.ts'
import { type ForgetPart, forgetPart } from '../plan/forget-plan.ts'
import type { KnownCluster } from '../view/clusters.ts'
import { type Answer, readJson } from '../view/forward-call.ts'
import type { View } from '../view/view.ts'
import { askedOf } from './choice.ts'
import { namedClusters, refuseUnnamed } from './not-found.ts'
import { json, type QuestionParts } from './question.ts'

/** Objects that are listed of a cluster, unless another number is asked for, and at most. */
const LISTED = 500
const LISTED_MOST = 20_000

/** Of the clusters of one process. */
interface Own {
  readonly parts: readonly ForgetPart[]
  readonly partial: string
  readonly asOf: readonly AsOf[]
}

export function addForgetPlan(
  server: FastifyInstance,
  { clusters, forwarding, oneAtATime }: QuestionParts,
): void {
  server.get('/v1/plan/forget-cluster', async (request, reply) => {
    const { ownerCluster = '', cluster, limit: most } = askedOf(request)
    const limit = Math.min(Number(most ?? LISTED), LISTED_MOST)
    const owner = ownerIn(await clusters.all(ownerCluster), ownerCluster)
    const known = await clusters.all(cluster)
    const asked = namedClusters(known, cluster).filter(({ id }) => id !== owner)
    // A partition may have others beside those that are asked about.
    const isAsked = (view: View): boolean => asked.some(({ id }) => id === view.cluster)
    const own = async (views: readonly View[]): Promise<Own> =>
      await oneAtATime(request, async () => await ownOf(views.filter(isAsked), owner, limit))
    const mine = await forwarding.ownOf(request, reply)
    if (mine !== undefined) return json(await own(mine))
    const read = async (answer: Answer): Promise<Own> => (await readJson(answer)) as Own
    const gathered = await forwarding.gathered(request, reply, { asked, own, read })
    const answers = gathered.all.map(({ answer }) => answer)
    const refOf = clusterRefs(known)
    const rows = answers
      .flatMap(({ parts }) => parts)
      .filter(({ named, forgottenBy }) => named > 0 || forgottenBy !== null)
      .map((part) => ({ ...part, cluster: refOf(part.cluster) }))
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    const doubts = new Set([gathered.partial, ...answers.map((each) => each.partial)])
    const partial = [...doubts].filter((each) => each !== '').join('; ')
    const asOf = onePerPartition(answers.flatMap((each) => each.asOf))
    const answer = { ownerCluster: refOf(owner), clusters: rows }
    return documentOf('ForgetPlan', { answer, partial, asOf })
  })
}

function nameOf({
  cluster: { name, id },
}: {
  readonly cluster: { name: string; id: string }
}): string {
  return `${name} ${id}`
}

/** Objects may name one that was never watched. */
function ownerIn(known: readonly KnownCluster[], asked: string): ClusterId {
  if (asked === '') throw new Problem(400, 'ownerCluster: say which cluster is to be forgotten')
  const [found, other] = known.filter(({ id, name }) => id === asked || name === asked)
  if (found === undefined) refuseUnnamed(known, asked)
  if (other === undefined) return found?.id ?? asked
  const names = known.filter(({ name }) => name === asked).map(({ id }) => id)
  throw new Problem(400, `several clusters are called ${asked}: ${names.join(', ')}`)
}

async function ownOf(views: readonly View[], owner: ClusterId, limit: number): Promise<Own> {
  const parts: ForgetPart[] = []
  const doubts = new Set<string>()
  const asOf: AsOf[] = []
  for (const view of views) {
    asOf.push(view.asOf())
    const lacks = view.partial()
    doubts.add(lacks)
    const part = await forgetPart(view, owner, limit)
    parts.push(lacks === '' ? part : { ...part, digest: null, refused: lacks })
  }
  return { parts, partial: [...doubts].filter((each) => each !== '').join('; '), asOf }
}
