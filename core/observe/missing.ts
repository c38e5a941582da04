/**
 * Objects that a complete list did not hold: counted first, then removed, a page of keys at a time.
 *
 * What must stay true: an object is missing only by a list of its epoch that is newer than the
 * version we hold. None is removed before all are counted, since a share of a kind that is missing
 * at once is a bulk deletion.
 *
 * Not here: lists that begin and end (sync.ts), what is remembered about an object that left
 * (departure.ts).
 */
import { enqueue, judgeWaiters, replaceFirst } from '../graph/agenda.ts'
import { isSynced } from '../graph/kind-status.ts'
import type { Step } from '../graph/outcome.ts'
import { subjectOf } from '../graph/row.ts'
import { KEYS_PER_PAGE, MASS_COUNT, MASS_SHARE } from '../model/constant.ts'
import { goesByUs, type Node } from '../model/node.ts'
import type { Uid } from '../model/object.ts'
import { compareVersions } from '../model/object.ts'
import type { ClusterState, MissedTodo, MissingTodo, Work } from '../model/state.ts'
import { depart, proofOf } from './departure.ts'

/**
 * Counts the objects that a relist misses before any is removed: deletions that Kinfold requested
 * are no part of a bulk deletion, however many of them took effect while no watch could report
 * them.
 */
export function countMissing(
  step: Step,
  work: Work,
  { kind, list }: MissingTodo,
  keys: readonly string[],
): boolean {
  let { ours, others } = list
  for (const key of keys) {
    const found = missingOf(step, { kind, list }, subjectOf(key))
    if (found === undefined) continue
    if (found.isOurs && !found.isOlderEpoch) ours++
    else others++
  }
  const counted = { ...list, ours, others }
  if (keys.length === KEYS_PER_PAGE) {
    replaceFirst(step, { ...work, todo: { type: 'missing', kind, list: counted } })
    return false
  }
  const evidence = isMass(others, others + list.listed) ? 'bulk' : 'missing'
  const missed: MissedTodo = { type: 'missed', kind, list: counted, evidence }
  if (ours + others > 0) enqueue(step, { ...work, todo: missed })
  else judgeWaiters(step, kind)
  return true
}

export function takeMissed(step: Step, todo: MissedTodo, keys: readonly string[]): boolean {
  for (const key of keys) miss(step, todo, subjectOf(key))
  if (keys.length === KEYS_PER_PAGE) return false
  judgeWaiters(step, todo.kind)
  return true
}

function miss(step: Step, todo: MissedTodo, uid: Uid): void {
  const found = missingOf(step, todo, uid)
  if (found === undefined) return
  const { node, state, isOurs } = found
  const proof = { ...proofOf(step, state, todo.kind, evidenceOf(todo, found)), isOurs }
  depart(step, state, node.object, proof, 'it was missing from a complete relist')
}

function evidenceOf(
  { list: { ours, others, listed }, evidence }: MissedTodo,
  { node, isOurs, isOlderEpoch }: Missing,
): 'missing' | 'bulk' {
  if (isOlderEpoch) return 'bulk'
  if (isOurs) return 'missing'
  // It may have been counted as initiated by Kinfold, and the request was refused since.
  const isAsked = node.attempt?.verb === 'DeleteObject'
  return isAsked && isMass(ours + others, ours + others + listed) ? 'bulk' : evidence
}

type ListOfKind = Pick<MissingTodo, 'kind' | 'list'>

interface Missing {
  readonly node: Node
  readonly state: ClusterState
  readonly isOurs: boolean
  readonly isOlderEpoch: boolean
}

/** Undefined for an object that the relist listed, or that it can prove nothing about. */
function missingOf(step: Step, { kind, list }: ListOfKind, uid: Uid): Missing | undefined {
  const state = step.graph.state
  const seen = step.graph.seen(kind, uid)
  if (state === undefined || seen === undefined || seen.sync >= list.sync) return undefined
  // A relist from before the epoch proves nothing about it: the next one searches for all objects
  // that it does not list.
  if (list.clusterEpoch !== state.clusterEpoch) return undefined
  const isOlderEpoch = seen.clusterEpoch !== state.clusterEpoch
  if (isOlderEpoch && !isSynced(step.graph.kind(kind), state)) return undefined
  const order = compareVersions(seen.resourceVersion, list.resourceVersion)
  if (!isOlderEpoch && (order === undefined || order > 0)) return undefined
  const node = step.graph.node(uid)
  if (node === undefined) return undefined
  return { node, state, isOurs: goesByUs(node), isOlderEpoch }
}

/** A bulk deletion, by how many are lost of how many. */
export function isMass(lost: number, all: number): boolean {
  return lost > MASS_COUNT && lost > all * MASS_SHARE
}
