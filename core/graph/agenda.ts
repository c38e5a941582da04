/**
 * The agenda: work that fans out, as ordered keys in the store, a lane for each namespace; and
 * timers, as keys ordered by time.
 *
 * What must stay true: no record does unbounded work; what is left waits here and survives a
 * restart. Lanes take turns, a step each, so that the work of one namespace delays only that
 * namespace; work on a whole kind or cluster keeps its order, in a lane of its own. A step that
 * judged many references costs its lane later turns. A lane that can only wait for live GETs has no
 * turn (is parked) until they are answered.
 *
 * Not here: what a page of work does (work.ts).
 */
import { MEMORY_MS, REFERENCES_OF_A_TURN, TURNS_PASSED_ON } from '../model/constant.ts'
import { invariant } from '../model/invariant.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import { goneOf, orphanMarkOf } from '../model/owner.ts'
import { boundTo, type Rule } from '../model/rule/rule.ts'
import type { Lane, LaneTurn, RingVisit, RuledTodo, Work } from '../model/state.ts'
import type { ClusterFacts } from './facts.ts'
import type { Graph, StateReader } from './graph.ts'
import { agendaOf } from './graph.ts'
import type { Timer } from './key.ts'
import { AGENDA_KEY, coordinatesPart, duePrefix, timeOfDueKey, turnKey } from './key.ts'
import type { RecordStep, Step } from './outcome.ts'

/** Keys with this prefix, in order, after `after`. */
export interface PageRequest {
  readonly prefix: string
  readonly after: string
  readonly limit: number
  /** Of edges the key of their `Count`, which says how many there are. Null for any other keys. */
  readonly countKey: string | null
}

/**
 * A work as it is put on the agenda of the step's cluster: without a namespace on a whole kind or
 * cluster, without a number as new as what causes it.
 */
type NewWork = Pick<Work, 'todo'> & Partial<Pick<Work, 'namespace' | 'number'>>

export function enqueue(step: Step, work: NewWork): void {
  const { record, cluster, graph } = step
  const { namespace = '', todo } = work
  const known = graph.lane(namespace)
  const lane = known ?? EMPTY_LANE
  const { number = record.work?.number ?? newestNumber(step) } = work
  graph.setWork(namespace, lane.tail, {
    type: 'Work',
    cluster,
    namespace,
    number,
    cursor: '',
    todo,
  })
  const tail = lane.tail + 1
  const isLate = number < lane.newest
  const oldest = isLate && lane.head < lane.until ? Math.min(lane.oldest, number) : number
  const late = isLate ? { oldest, until: tail } : { newest: number }
  graph.setLane(namespace, { ...lane, ...late, tail })
  if (known === undefined) queueTurn(record.graph, turnOf(cluster, namespace))
  // Judgements by it rest on facts that may be newer than the last judgement.
  if (todo.type !== 'verify') record.judged.clear()
}

export function hasWork(graph: StateReader): boolean {
  const { head, tail } = agendaOf(graph)
  return head !== tail
}

/** The work to do next; undefined when there is none. */
export function firstWork(record: RecordStep): Work | undefined {
  if (!hasWork(record.graph)) return undefined
  const { cluster, namespace } = firstTurn(record)
  const { graph } = record.in(cluster)
  const lane = graph.lane(namespace)
  const work = lane && graph.work(namespace, lane.head)
  invariant(work !== undefined, 'the agenda has a hole')
  return work
}

/** That of what is requested now: as new as all that is on the agenda. */
export function newestNumber({ record }: Step): number {
  return agendaOf(record.graph).tail
}

/**
 * Whether work that is as old as this is left in a namespace, among cluster-scoped objects, or of
 * all clusters.
 */
export function isBehind({ record, graph }: Step, namespace: string, number: number): boolean {
  return (
    [laneNamed(namespace), laneNamed()].some((name) => isLeft(graph, name, number)) ||
    isLeft(record.in('').graph, '', number)
  )
}

function isLeft(facts: ClusterFacts, name: string, number: number): boolean {
  const lane = facts.lane(name)
  if (lane === undefined) return false
  if (lane.head < lane.until && lane.oldest <= number) return true
  const first = facts.work(name, lane.head)
  return first !== undefined && first.number <= number
}

/** The first work continues as this one; null when it is done. */
export function replaceFirst({ record }: Step, work: Work | null): void {
  const { cluster, namespace } = firstTurn(record)
  const { graph } = record.in(cluster)
  const lane = graph.lane(namespace)
  invariant(lane !== undefined, 'a turn of no lane')
  graph.setWork(namespace, lane.head, work)
  if (work !== null) return
  const head = lane.head + 1
  graph.setLane(namespace, head === lane.tail ? null : { ...lane, head })
}

/** After a step the next lane has its turn. `references`: that the step judged. */
export function endTurn(record: RecordStep, references: number): void {
  const { graph } = record
  const { head, tail } = agendaOf(graph)
  const turn = firstTurn(record)
  const lane = record.in(turn.cluster).graph.lane(turn.namespace)
  const isLeft = lane !== undefined && !lane.isParked
  const next: LaneTurn = { ...turn, owed: Math.floor(references / REFERENCES_OF_A_TURN) }
  if (isLeft && tail - head === 1) {
    if (next.owed !== turn.owed) graph.put(turnKey(head), next)
    return
  }
  takeTurn(record)
  if (isLeft) queueTurn(graph, next)
}

/** Lanes that owe turns pass theirs on, unless there is no other. */
export function passTurnsOn(record: RecordStep): void {
  const { graph } = record
  for (let passed = 0; passed < TURNS_PASSED_ON; passed++) {
    const { head, tail } = agendaOf(graph)
    if (tail - head < 2) return
    const { owed } = firstTurn(record)
    if (owed === 0) return
    queueTurn(graph, { ...takeTurn(record), owed: owed - 1 })
  }
}

function takeTurn(record: RecordStep): LaneTurn {
  const turn = firstTurn(record)
  const { graph } = record
  const { head, tail } = agendaOf(graph)
  graph.remove(turnKey(head))
  graph.put(AGENDA_KEY, { type: 'Agenda', head: head + 1, tail })
  return turn
}

/** The lane whose turn it is has none until `unparkLane`. */
export function parkLane({ record }: Step): void {
  const { cluster, namespace } = firstTurn(record)
  const { graph } = record.in(cluster)
  const lane = graph.lane(namespace)
  invariant(lane !== undefined, 'a turn of no lane')
  graph.setLane(namespace, { ...lane, isParked: true })
}

export function unparkLane({ record, cluster, graph }: Step, namespace: string): void {
  const lane = graph.lane(namespace)
  if (lane?.isParked !== true) return
  graph.setLane(namespace, { ...lane, isParked: false })
  queueTurn(record.graph, turnOf(cluster, namespace))
}

function turnOf(cluster: ClusterId, namespace: string): LaneTurn {
  return { type: 'LaneTurn', cluster, namespace, owed: 0 }
}

function queueTurn(graph: Graph, turn: LaneTurn): void {
  const agenda = agendaOf(graph)
  graph.put(turnKey(agenda.tail), turn)
  graph.put(AGENDA_KEY, { ...agenda, tail: agenda.tail + 1 })
}

function firstTurn({ graph }: RecordStep): LaneTurn {
  const turn = graph.get(turnKey(agendaOf(graph).head))
  invariant(turn?.type === 'LaneTurn', 'the agenda has no turn')
  return turn
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
export function judgeDependents(step: Step, uid: Uid, place: Coordinates): void {
  if (!step.graph.isNamed(uid, place)) return
  const namespace = laneNamed(place.namespace)
  const todo = { type: 'dependents', owner: uid, place: coordinatesPart(place) } as const
  enqueue(step, { namespace, todo })
}

/**
 * Judges everything that has a verdict, of one cluster or (empty) of all: once, if that was
 * requested before and has not begun.
 */
export function judgeAll(step: Step): void {
  const lane = step.graph.lane('')
  const last = lane && step.graph.work('', lane.tail - 1)
  const isAsked = last?.todo.type === 'verdicts' && last.cluster === step.cluster
  if (!isAsked || last.cursor !== '') enqueue(step, { todo: { type: 'verdicts' } })
}

/** A rule of an object changed: judges what it is about, once if that was requested before. */
export function judgeRuled(step: Step, rule: Rule): void {
  const namespace = boundTo(rule)
  const name = namespace === '' ? '' : laneNamed(namespace)
  for (const { group, kind } of rule.match.kinds) {
    const todo = { type: 'ruled', kind: { group, kind }, namespace } as const
    if (!isRuledSoon(step.graph, name, todo)) enqueue(step, { namespace: name, todo })
  }
}

/** Among the last ones that its lane has still to begin with. */
function isRuledSoon(facts: ClusterFacts, name: string, { kind }: RuledTodo): boolean {
  const { head, tail } = facts.lane(name) ?? EMPTY_LANE
  for (let number = tail - 1; number >= Math.max(head, tail - LAST_WORKS); number--) {
    const work = facts.work(name, number)
    if (work?.todo.type !== 'ruled' || work.cursor !== '') continue
    if (work.todo.kind.kind === kind.kind && work.todo.kind.group === kind.group) return true
  }
  return false
}

/** More than the kinds of a rule. */
const LAST_WORKS = 64

export function judgeWaiters(step: Step, kind: GroupKind): void {
  enqueue(step, { todo: { type: 'waits', kind: { group: kind.group, kind: kind.kind } } })
}

/**
 * Searches for an ownership cycle among what a waiting owner waits for; once more later if a search
 * is under way.
 */
export function beginWalk(step: Step, uid: Uid): void {
  const { graph } = step
  const ring = graph.ring(uid)
  if (ring !== undefined) {
    if (!ring.again) graph.setRing(uid, { ...ring, again: true })
    return
  }
  graph.setRing(uid, { type: 'Ring', current: uid, visited: 1, again: false })
  graph.setRingVisit(uid, uid, { ...FIRST_VISIT })
  const namespace = laneNamed(graph.node(uid)?.object.namespace)
  // As new as the request for it: a search that is begun again and again is not older than the work
  // queued meanwhile.
  const number = newestNumber(step)
  enqueue(step, { namespace, number, todo: { type: 'ring', root: uid } })
}

const FIRST_VISIT: RingVisit = { type: 'RingVisit', index: 0, low: 0, from: '', cursor: '' }

/**
 * Sets a timer in the log time of a cluster. Timers are never cancelled: a timer that fires decides
 * by what it finds.
 */
export function setTimer({ graph }: Step, timeMs: number, timer: Timer): void {
  graph.setDue(timeMs, timer)
  const { state } = graph
  if (state !== undefined && timeMs < state.nextDue) graph.setState({ ...state, nextDue: timeMs })
}

/** The earliest of the timers set since the last commit that is not due yet. */
export function earliestSet({ record, cluster }: Step, now: number): number {
  const prefix = duePrefix(cluster)
  let earliest = Number.MAX_SAFE_INTEGER
  for (const key of record.graph.overlaid([], { prefix, after: '', upTo: undefined })) {
    const time = timeOfDueKey(key)
    if (time > now && time < earliest) earliest = time
  }
  return earliest
}

export function nodeTimer(step: Step, timeMs: number, uid: Uid): void {
  setTimer(step, timeMs, { type: 'node', uid })
}

/** The same, for a time that is found anew with each judgement. */
export function ensureTimer(step: Step, timeMs: number, uid: Uid): void {
  if (!step.graph.isDue(timeMs, { type: 'node', uid })) nodeTimer(step, timeMs, uid)
}

export function ownerTimer(step: Step, timeMs: number, uid: Uid, place: Coordinates): void {
  setTimer(step, timeMs, { type: 'owner', uid, place })
}

/**
 * How long a deleted owner is remembered, in milliseconds. The policy decides for an owner whose
 * deletion was observed and that orphaned no dependents. With any other, the information for its
 * dependents would be forgotten: that they are to be kept, or (of an owner that a relist missed in
 * a bulk deletion) that a person has to approve.
 */
export function memoryMs(facts: ClusterFacts, owner: KnownOwner): number {
  const { rememberMs } = facts.policy.policy
  const isPlain = orphanMarkOf(owner) === null && goneOf(owner)?.class === 'deleted'
  return isPlain ? rememberMs : Math.max(rememberMs, MEMORY_MS)
}

export function kindTimer(step: Step, timeMs: number, kind: GroupKind): void {
  setTimer(step, timeMs, { type: 'kind', kind })
}
