/**
 * Live GETs of owners that are under way, counted for the namespace whose objects they are made
 * for.
 *
 * What must stay true: the count of a lane is the number of `Owner` records with a GET of this
 * epoch of the cluster that was made for it and is not answered. So every such record is written
 * here. A namespace has no more of them than `GETS_OF_A_NAMESPACE`, however many objects and
 * references it has: what others ask the reaper for never waits behind more.
 *
 * Not here: which owners are asked for (issue/verification.ts), the answers (observe/settle.ts).
 */
import { GETS_OF_A_NAMESPACE } from '../model/constant.ts'
import type { Coordinates, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import { lookOf } from '../model/owner.ts'
import { laneNamed, unparkLane } from './agenda.ts'
import type { ClusterFacts } from './facts.ts'
import type { Step } from './outcome.ts'

/**
 * The lane in which the objects of a namespace wait to have their owners asked for; no namespace
 * has such a name.
 */
export function laneOfGets(namespace: string): string {
  return `gets of ${laneNamed(namespace)}`
}

/** Null: nothing is known of it any longer. */
export function putOwner(
  step: Step,
  { uid, place }: { readonly uid: Uid; readonly place: Coordinates },
  owner: KnownOwner | null,
): void {
  const before = countedFor(step.graph, step.graph.owner(uid, place))
  step.graph.setOwner(uid, place, owner)
  const after = countedFor(step.graph, owner ?? undefined)
  if (before === after) return
  if (before !== '') add(step, before, -1)
  if (after !== '') add(step, after, 1)
}

/** The lane that a GET under way counts for; empty for none. */
export function countedFor(facts: ClusterFacts, owner: KnownOwner | undefined): string {
  const look = lookOf(owner)
  if (look?.state !== 'issued') return ''
  return look.clusterEpoch === facts.state?.clusterEpoch ? look.askedFor : ''
}

export function getsUnderWay(facts: ClusterFacts, lane: string): number {
  const gets = facts.gets(lane)
  if (gets === undefined) return 0
  return gets.clusterEpoch === facts.state?.clusterEpoch ? gets.count : 0
}

export function hasRoomForGet(facts: ClusterFacts, lane: string): boolean {
  return getsUnderWay(facts, lane) < GETS_OF_A_NAMESPACE
}

function add(step: Step, lane: string, gets: 1 | -1): void {
  const count = Math.max(0, getsUnderWay(step.graph, lane) + gets)
  const clusterEpoch = step.graph.state?.clusterEpoch ?? 0
  step.graph.setGets(lane, count === 0 ? null : { type: 'Gets', count, clusterEpoch })
  // Not for each answer: a turn costs more than a GET.
  if (gets < 0) wakeLane(step, lane)
}

/** Where half of the room is free: its objects may have more owners asked for. */
export function wakeLane(step: Step, lane: string): void {
  const isRoomy = getsUnderWay(step.graph, lane) <= GETS_OF_A_NAMESPACE / 2
  if (isRoomy) unparkLane(step, lane)
}
