/**
 * The agenda: work that fans out, as ordered keys in the store, and timers, as keys ordered by time.
 *
 * What must stay true: no record does unbounded work; what is left waits here and survives a restart.
 *
 * Not here: what a page of work does (work.ts).
 */
import { agendaOf, clusterOf } from './graph.ts'
import { AGENDA_KEY, clusterKey, coordinatesPart, dueKey, workKey } from './key.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from './object.ts'
import type { Step } from './outcome.ts'
import type { Due, Work } from './state.ts'

export function enqueue(step: Step, work: Pick<Work, 'work' | 'cluster'> & Partial<Work>): void {
  const agenda = agendaOf(step.graph)
  step.graph.put(workKey(agenda.tail), { ...EMPTY_WORK, ...work })
  step.graph.put(AGENDA_KEY, { ...agenda, tail: agenda.tail + 1 })
}

export function judgeDependents(step: Step, cluster: ClusterId, uid: Uid): void {
  enqueue(step, { work: 'dependents', cluster, uid })
}

export function judgeWaiters(step: Step, cluster: ClusterId, kind: GroupKind): void {
  enqueue(step, { work: 'waits', cluster, kind: { group: kind.group, kind: kind.kind } })
}

/** Sets a timer in the log time of a cluster. Timers are never cancelled: what they find decides. */
export function setTimer(
  step: Step,
  cluster: ClusterId,
  timeMs: number,
  due: Omit<Due, 'type'>,
): void {
  const subject =
    due.coordinates === null ? due.uid : `${due.uid}/${coordinatesPart(due.coordinates)}`
  step.graph.put(dueKey(cluster, timeMs, due.what, subject), { type: 'Due', ...due })
  const state = clusterOf(step.graph, cluster)
  if (state !== undefined && timeMs < state.nextDue) {
    step.graph.put(clusterKey(cluster), { ...state, nextDue: timeMs })
  }
}

export function nodeTimer(step: Step, cluster: ClusterId, timeMs: number, uid: Uid): void {
  setTimer(step, cluster, timeMs, { what: 'node', uid, coordinates: null })
}

export function ownerTimer(
  step: Step,
  cluster: ClusterId,
  timeMs: number,
  uid: Uid,
  coordinates: Coordinates,
): void {
  const { group, kind, namespace, name } = coordinates
  setTimer(step, cluster, timeMs, {
    what: 'owner',
    uid,
    coordinates: { group, kind, namespace, name },
  })
}

export function kindTimer(step: Step, cluster: ClusterId, timeMs: number, kind: GroupKind): void {
  const coordinates = { group: kind.group, kind: kind.kind, namespace: '', name: '' }
  setTimer(step, cluster, timeMs, { what: 'kind', uid: '', coordinates })
}

const EMPTY_WORK: Omit<Work, 'work' | 'cluster'> = {
  type: 'Work',
  kind: null,
  uid: '',
  sync: 0,
  resourceVersion: '',
  evidence: 'E2',
  cursor: '',
}
