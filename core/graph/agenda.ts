/**
 * The agenda: work that fans out, as ordered keys in the store, a lane for each namespace; and timers, as keys ordered by time.
 *
 * What must stay true: no record does unbounded work; what is left waits here and survives a restart. Lanes take turns, a step each, so that the work
 * of one namespace delays only that namespace; work on a whole kind or cluster keeps its order, in a lane of its own. A step that judged many references
 * costs its lane later turns. A lane that can only wait for live GETs has no turn (is parked) until they are answered.
 *
 * Not here: what a page of work does (work.ts).
 */
import { MEMORY_MS, REFERENCES_OF_A_TURN, TURNS_PASSED_ON } from '../model/constant.ts'
import { invariant } from '../model/invariant.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import { goneOf, orphanMarkOf } from '../model/owner.ts'
import type { Lane, LaneTurn, RingVisit, Work } from '../model/state.ts'
import type { Graph, StateReader } from './graph.ts'
import { agendaOf, clusterOf, isNamed, nodeOf, policyOf } from './graph.ts'
import type { Timer } from './key.ts'
import {
  AGENDA_KEY,
  clusterKey,
  coordinatesPart,
  dueKey,
  laneKey,
  ringKey,
  ringVisitKey,
  turnKey,
  workKey,
} from './key.ts'
import type { Step } from './outcome.ts'

/** Keys with this prefix, in order, after `after`. */
export interface PageRequest {
  readonly prefix: string
  readonly after: string
  readonly limit: number
  /** Of edges the key of their `Count`, which says how many there are. Null for any other keys. */
  readonly countKey: string | null
}

/** A work as it is put on the agenda: without a namespace on a whole kind or cluster, without a number as new as what causes it. */
type NewWork = Pick<Work, 'cluster' | 'todo'> & Partial<Pick<Work, 'namespace' | 'number'>>

export function enqueue(step: Step, work: NewWork): void {
  const { graph } = step
  const { cluster, namespace = '', todo } = work
  const known = laneOf(graph, cluster, namespace)
  const lane = known ?? EMPTY_LANE
  const { number = step.work?.number ?? agendaOf(graph).tail } = work
  const queued: Work = { type: 'Work', cluster, namespace, number, cursor: '', todo }
  graph.put(workKey(cluster, namespace, lane.tail), queued)
  const tail = lane.tail + 1
  const isLate = number < lane.newest
  const oldest = isLate && lane.head < lane.until ? Math.min(lane.oldest, number) : number
  const late = isLate ? { oldest, until: tail } : { newest: number }
  graph.put(laneKey(cluster, namespace), { ...lane, ...late, tail })
  if (known === undefined) queueTurn(graph, turnOf(cluster, namespace))
  // Judgements by it rest on facts that may be newer than the last judgement.
  if (todo.type !== 'verify') step.judged.clear()
}

export function hasWork(graph: StateReader): boolean {
  const { head, tail } = agendaOf(graph)
  return head !== tail
}

/** The work to do next; undefined when there is none. */
export function firstWork(graph: StateReader): Work | undefined {
  if (!hasWork(graph)) return undefined
  const { cluster, namespace } = firstTurn(graph)
  const lane = laneOf(graph, cluster, namespace)
  const work = lane && graph.get(workKey(cluster, namespace, lane.head))
  invariant(work?.type === 'Work', 'the agenda has a hole')
  return work
}

/** Whether work that is as old as this is left in a namespace, among cluster-scoped objects, or of all clusters. */
export function isBehind(
  graph: StateReader,
  cluster: ClusterId,
  namespace: string,
  number: number,
): boolean {
  return (
    [laneNamed(namespace), laneNamed()].some((name) => isLeft(graph, cluster, name, number)) ||
    isLeft(graph, '', '', number)
  )
}

function isLeft(graph: StateReader, cluster: ClusterId, name: string, number: number): boolean {
  const lane = laneOf(graph, cluster, name)
  if (lane === undefined) return false
  if (lane.head < lane.until && lane.oldest <= number) return true
  const first = graph.get(workKey(cluster, name, lane.head))
  return first?.type === 'Work' && first.number <= number
}

/** The first work continues as this one; null when it is done. */
export function replaceFirst({ graph }: Step, work: Work | null): void {
  const { cluster, namespace } = firstTurn(graph)
  const lane = laneOf(graph, cluster, namespace)
  invariant(lane !== undefined, 'a turn of no lane')
  const key = workKey(cluster, namespace, lane.head)
  if (work !== null) return graph.put(key, work)
  graph.remove(key)
  const head = lane.head + 1
  if (head === lane.tail) graph.remove(laneKey(cluster, namespace))
  else graph.put(laneKey(cluster, namespace), { ...lane, head })
}

/** After a step the next lane has its turn. `references`: that the step judged. */
export function endTurn({ graph }: Step, references: number): void {
  const { head, tail } = agendaOf(graph)
  const turn = firstTurn(graph)
  const lane = laneOf(graph, turn.cluster, turn.namespace)
  const isLeft = lane !== undefined && !lane.isParked
  const next: LaneTurn = { ...turn, owed: Math.floor(references / REFERENCES_OF_A_TURN) }
  if (isLeft && tail - head === 1) {
    if (next.owed !== turn.owed) graph.put(turnKey(head), next)
    return
  }
  takeTurn(graph)
  if (isLeft) queueTurn(graph, next)
}

/** Lanes that owe turns pass theirs on, unless there is no other. */
export function passTurnsOn({ graph }: Step): void {
  for (let passed = 0; passed < TURNS_PASSED_ON; passed++) {
    const { head, tail } = agendaOf(graph)
    if (tail - head < 2) return
    const { owed } = firstTurn(graph)
    if (owed === 0) return
    queueTurn(graph, { ...takeTurn(graph), owed: owed - 1 })
  }
}

function takeTurn(graph: Graph): LaneTurn {
  const turn = firstTurn(graph)
  const { head, tail } = agendaOf(graph)
  graph.remove(turnKey(head))
  graph.put(AGENDA_KEY, { type: 'Agenda', head: head + 1, tail })
  return turn
}

/** The lane whose turn it is has none until `unparkLane`. */
export function parkLane({ graph }: Step): void {
  const { cluster, namespace } = firstTurn(graph)
  const lane = laneOf(graph, cluster, namespace)
  invariant(lane !== undefined, 'a turn of no lane')
  graph.put(laneKey(cluster, namespace), { ...lane, isParked: true })
}

export function unparkLane(graph: Graph, cluster: ClusterId, namespace: string): void {
  const lane = laneOf(graph, cluster, namespace)
  if (lane?.isParked !== true) return
  graph.put(laneKey(cluster, namespace), { ...lane, isParked: false })
  queueTurn(graph, turnOf(cluster, namespace))
}

function turnOf(cluster: ClusterId, namespace: string): LaneTurn {
  return { type: 'LaneTurn', cluster, namespace, owed: 0 }
}

function queueTurn(graph: Graph, turn: LaneTurn): void {
  const agenda = agendaOf(graph)
  graph.put(turnKey(agenda.tail), turn)
  graph.put(AGENDA_KEY, { ...agenda, tail: agenda.tail + 1 })
}

function firstTurn(graph: StateReader): LaneTurn {
  const turn = graph.get(turnKey(agendaOf(graph).head))
  invariant(turn?.type === 'LaneTurn', 'the agenda has no turn')
  return turn
}

function laneOf(graph: StateReader, cluster: ClusterId, namespace: string): Lane | undefined {
  const lane = graph.get(laneKey(cluster, namespace))
  return lane?.type === 'Lane' ? lane : undefined
}

const EMPTY_LANE: Lane = {
  type: 'Lane',
  head: 0,
  tail: 0,
  newest: 0,
  oldest: 0,
  until: 0,
  isParked: false,
}

/** The lane of a namespace, or (`*`, which is no namespace's name) of cluster-scoped objects. */
export function laneNamed(namespace = ''): string {
  return namespace === '' ? '*' : namespace
}

/** The recorded state of an owner has changed: the objects that reference it are judged again. */
export function judgeDependents(
  step: Step,
  cluster: ClusterId,
  uid: Uid,
  place: Coordinates,
): void {
  if (!isNamed(step.graph, cluster, uid, place)) return
  const namespace = laneNamed(place.namespace)
  const todo = { type: 'dependents', owner: uid, place: coordinatesPart(place) } as const
  enqueue(step, { cluster, namespace, todo })
}

/** Judges everything that has a verdict, of one cluster or (empty) of all: once, if that was requested before and has not begun. */
export function judgeAll(step: Step, cluster: ClusterId): void {
  const lane = laneOf(step.graph, cluster, '')
  const last = lane && step.graph.get(workKey(cluster, '', lane.tail - 1))
  const isAsked = last?.type === 'Work' && last.todo.type === 'verdicts' && last.cluster === cluster
  if (!isAsked || last.cursor !== '') enqueue(step, { cluster, todo: { type: 'verdicts' } })
}

export function judgeWaiters(step: Step, cluster: ClusterId, kind: GroupKind): void {
  const todo = { type: 'waits', kind: { group: kind.group, kind: kind.kind } } as const
  enqueue(step, { cluster, todo })
}

/** Searches for an ownership cycle among what a waiting owner waits for; once more later if a search is under way. */
export function beginWalk(step: Step, cluster: ClusterId, uid: Uid): void {
  const key = ringKey(cluster, uid)
  const ring = step.graph.get(key)
  if (ring?.type === 'Ring') {
    if (!ring.again) step.graph.put(key, { ...ring, again: true })
    return
  }
  step.graph.put(key, { type: 'Ring', current: uid, visited: 1, again: false })
  step.graph.put(ringVisitKey(cluster, uid, uid), { ...FIRST_VISIT })
  const namespace = laneNamed(nodeOf(step.graph, cluster, uid)?.object.namespace)
  // As new as the request for it: a search that is begun again and again is not older than the work queued meanwhile.
  const number = agendaOf(step.graph).tail
  enqueue(step, { cluster, namespace, number, todo: { type: 'ring', root: uid } })
}

const FIRST_VISIT: RingVisit = { type: 'RingVisit', index: 0, low: 0, from: '', cursor: '' }

/** Sets a timer in the log time of a cluster. Timers are never cancelled: a timer that fires decides by what it finds. */
export function setTimer(step: Step, cluster: ClusterId, timeMs: number, timer: Timer): void {
  step.graph.put(dueKey(cluster, timeMs, timer), { type: 'Due' })
  const state = clusterOf(step.graph, cluster)
  if (state !== undefined && timeMs < state.nextDue) {
    step.graph.put(clusterKey(cluster), { ...state, nextDue: timeMs })
  }
}

export function nodeTimer(step: Step, cluster: ClusterId, timeMs: number, uid: Uid): void {
  setTimer(step, cluster, timeMs, { type: 'node', uid })
}

export function ownerTimer(
  step: Step,
  cluster: ClusterId,
  timeMs: number,
  uid: Uid,
  place: Coordinates,
): void {
  setTimer(step, cluster, timeMs, { type: 'owner', uid, place })
}

/**
 * How long a deleted owner is remembered, in milliseconds. The policy decides for an owner whose deletion was observed and that orphaned no dependents. With any other,
 * the information for its dependents would be forgotten: that they are to be kept, or (of an owner that a relist missed in a bulk deletion) that a person has to approve.
 */
export function memoryMs(graph: StateReader, owner: KnownOwner): number {
  const { rememberMs } = policyOf(graph).policy
  const isPlain = orphanMarkOf(owner) === null && goneOf(owner)?.class === 'deleted'
  return isPlain ? rememberMs : Math.max(rememberMs, MEMORY_MS)
}

export function kindTimer(step: Step, cluster: ClusterId, timeMs: number, kind: GroupKind): void {
  setTimer(step, cluster, timeMs, { type: 'kind', kind })
}
