/**
 * `GET /v1/clusters`: the clusters that were ever watched, the state of each, and how fresh it is.
 *
 * What must stay true: each cluster is counted by the process that has it. One that cannot be asked
 * is listed all the same, without a status, and `partial` says why: what is unknown is never fine.
 *
 * Not here: what is held, object by object (held.ts), what watchers and reapers know: whether a
 * cluster is connected, and its lock (metrics).
 */
import type { FastifyInstance } from 'fastify'
import { pausedBecause } from '../../../../core/admit/paused.ts'
import { isOverLimit } from '../../../../core/admit/rule-hold.ts'
import { forgottenOf, unfollowedBecause } from '../../../../core/judge/elsewhere.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import { isEnforced } from '../../../../core/model/rule/rule.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { ClusterList } from '../../api/answer-schema.ts'
import type { AnswerOf, Row } from '../../api/document.ts'
import { clusterRefs, documentOf } from '../../api/document.ts'
import { NONE_DELETING } from '../../fold/deleting-count.ts'
import { type ClusterTally, NONE_HELD } from '../../fold/tally.ts'
import { openBreakersOf } from '../answer/held.ts'
import { overdueOf } from '../answer/overdue.ts'
import type { Clusters } from '../view/clusters.ts'
import type { Forwarding } from '../view/forward.ts'
import { readJson } from '../view/forward-call.ts'
import type { View } from '../view/view.ts'

export type ClusterStatus = NonNullable<ListedCluster['status']>

export type ListedCluster = Row<ClusterListAnswer['clusters']>

export type ClusterListAnswer = AnswerOf<ClusterList>

export interface ClusterListParts {
  readonly clusters: Clusters
  readonly forwarding: Forwarding
  readonly clock: Clock
}

/** Of the clusters of one process, by id. */
interface Own {
  readonly statuses: readonly (readonly [
    id: ClusterId,
    name: string,
    status: ClusterStatus | null,
  ])[]
  readonly partial: string
}

export function addClusterList(server: FastifyInstance, parts: ClusterListParts): void {
  const { clusters, forwarding, clock } = parts
  server.get('/v1/clusters', async (request, reply) => {
    const known = await clusters.all()
    const own = async (views: readonly View[]): Promise<Own> =>
      await ownOf(views, clock, clusterRefs(known))
    const mine = await forwarding.ownOf(request, reply)
    if (mine !== undefined) return await own(mine)
    const { all, partial } = await forwarding.gathered(request, reply, {
      ...{ asked: known, own },
      read: async (answer) => (await readJson(answer)) as Own,
    })
    const told = all.flatMap(({ answer }) => answer.statuses)
    const statuses = new Map(told.map(([id, , status]) => [id, status]))
    // The process that has a cluster has its newest name.
    const names = new Map(told.map(([id, name]) => [id, name]))
    const refOf = clusterRefs(known.map(({ id, name }) => ({ id, name: names.get(id) ?? name })))
    const answer: ClusterListAnswer = {
      clusters: known.map(({ id, partition }) => {
        return { cluster: refOf(id), partition, status: statuses.get(id) ?? null }
      }),
    }
    const doubts = new Set([partial, ...all.map((each) => each.answer.partial)])
    const lacks = [...doubts].filter((text) => text !== '').join('; ')
    return documentOf('ClusterList', { answer, partial: lacks })
  })
}

type RefOf = ReturnType<typeof clusterRefs>

async function ownOf(views: readonly View[], clock: Clock, refOf: RefOf): Promise<Own> {
  const statuses: Own['statuses'][number][] = []
  const doubts = new Set<string>()
  for (const view of views) {
    const partial = view.partial()
    doubts.add(partial)
    const status = partial === '' ? await statusOf(view, clock, refOf) : null
    statuses.push([view.cluster, view.name, status])
  }
  return { statuses, partial: [...doubts].filter((text) => text !== '').join('; ') }
}

async function statusOf(view: View, clock: Clock, refOf: RefOf): Promise<ClusterStatus> {
  const { cluster, facts, partition } = view
  const { state } = facts
  const { mode, preset } = facts.policy.policy
  const tallies = partition.counts()
  // Of a cluster without objects there is no tally.
  const tally = tallies?.find((each) => each.cluster === cluster)
  let openBreakers = 0
  for await (const _ of openBreakersOf(view)) openBreakers += 1
  return {
    ...{ mode, preset },
    heartbeatAgeMs: state === undefined ? null : Math.max(0, clock.now() - state.now),
    monitored: state?.monitored ?? 0,
    synced: state?.synced ?? 0,
    lagEntries: Number(partition.status().lagEntries),
    isPaused: pausedBecause(facts) !== '',
    pauses: facts.directives.pauses
      .filter((each) => each.cluster === '' || each.cluster === cluster)
      .map(({ cluster: of, who, why }) => ({ isOfAll: of === '', who, why })),
    openBreakers,
    held: tallies === undefined ? null : (tally?.held ?? NONE_HELD),
    rules: rulesOf(view, tallies === undefined ? undefined : (tally?.rules ?? {})),
    ...ownerClustersOf(view, refOf),
    refused: tallies === undefined ? null : (tally?.blocked.refused.objects ?? 0),
    overdue: tallies === undefined ? null : await overdueOf(view, tally?.deleting ?? NONE_DELETING),
  }
}

/** Of the rules that may have anything deleted here. */
function ownerClustersOf(
  { facts, cluster }: View,
  refOf: RefOf,
): Pick<ClusterStatus, 'cutOff' | 'forgotten'> {
  const imported = facts.rules.flatMap(({ elsewhere }) => {
    const isShared = elsewhere?.exports.some(({ to }) => to.includes(cluster)) === true
    return elsewhere !== null && isShared ? [elsewhere.cluster] : []
  })
  const cutOff: Row<ClusterStatus['cutOff']>[] = []
  const forgotten: Row<ClusterStatus['forgotten']>[] = []
  for (const owner of new Set(imported)) {
    const ownerCluster = refOf(owner)
    const order = forgottenOf(facts, owner)
    const because = order === undefined ? unfollowedBecause(facts, owner) : ''
    if (order !== undefined) {
      const { who, why, at: since } = order
      forgotten.push({ ownerCluster, who, why, since })
    } else if (because !== '') cutOff.push({ ownerCluster, because })
  }
  return { cutOff, forgotten }
}

/** `counted`: undefined while that is not over. */
function rulesOf(
  { facts }: View,
  counted: ClusterTally['rules'] | undefined,
): ClusterStatus['rules'] {
  const { rules } = facts
  if (rules.length === 0) return null
  const inForce = rules.filter((rule) => isEnforced(rule, facts.enforced))
  const overLimit = inForce.filter((rule) => isOverLimit(facts, rule)).length
  const enforced = inForce.length
  const tallies = counted === undefined ? undefined : Object.values(counted)
  const due = tallies?.reduce((sum, { held, deleting }) => sum + held + deleting, 0) ?? null
  return { dryRun: rules.length - enforced, enforced, overLimit, due }
}
