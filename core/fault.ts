/**
 * Whether a node is as the facts around it say: what must hold of every node once no work is left
 * on the agenda.
 *
 * What must stay true: it changes nothing and reads single facts alone, so that a sample of the
 * nodes is checked in production, with each commit. A fault is a mistake of the fold, or a damaged
 * store: no event causes one.
 *
 * Not here: relations of many keys (testing/model/state-check.ts).
 */
import { admit } from './admit/admission.ts'
import type { ClusterFacts } from './graph/facts.ts'
import { isSameEdge } from './graph/link.ts'
import { ownerPlace } from './graph/owner-place.ts'
import { isNothingLeft } from './judge/completion.ts'
import { decide } from './judge/verdict.ts'
import { relistsAwaited } from './judge.ts'
import { type Hold, isUnderWay, type Node, type Verdict } from './model/node.ts'
import { groupOf, projectionHash } from './model/object.ts'
import { kindOfReference } from './model/reference.ts'

/** One sentence for each; none where all is well. */
export function faultsOf(facts: ClusterFacts, node: Node): readonly string[] {
  const { object } = node
  const faults = [...faultsOfPlaces(facts, node), ...faultsOfVerdict(facts, node)]
  if (projectionHash(object) !== node.hash) faults.push('its hash is of another content')
  if (facts.seen(object, object.uid) === undefined) faults.push('no version')
  return faults
}

/**
 * Places may lag behind the known state of a kind only for as long as the node waits for that kind.
 */
function faultsOfPlaces(facts: ClusterFacts, { object, places, namedAt }: Node): string[] {
  if (places.length !== object.ownerReferences.length) return ['a place for each reference']
  if (namedAt.length !== places.length) return ['a time for each reference']
  return object.ownerReferences.flatMap((reference, index) => {
    const at = places[index] ?? null
    const { place = null } = ownerPlace(facts, object, reference)
    const isWaiting = facts.isWaiting(kindOfReference(reference), object.uid)
    const faults = isSameEdge(at, place) || isWaiting ? [] : [`reference ${index} leads elsewhere`]
    if (at === null) return faults
    const group = groupOf(reference.apiVersion)
    const isCounted = facts.isNamed(reference.uid, { ...at, group, name: reference.name })
    return isCounted ? faults : [...faults, `reference ${index} is not counted`]
  })
}

/** No trigger was lost: judged now, the node would get the verdict that it has. */
function faultsOfVerdict(facts: ClusterFacts, node: Node): string[] {
  const { state } = facts
  if (state === undefined || facts.policy.position < 0n) return []
  // A start moves log time, too, and what is due then is looked at with the next heartbeat.
  if (state.nextDue <= state.now) return []
  if (relistsAwaited(facts, node)?.length !== 0) return []
  // It is called when there is room, with the next minute at the latest.
  if (node.hold?.by === 'budget') return []
  const now = admit(facts, node, decide(facts, node), state.now)
  if (waitsToBeJudged(facts, node, now.verdict, state.now)) return []
  const isSame = node.verdict?.type === now.verdict?.type
  const isOnSame = node.verdict?.evidence === now.verdict?.evidence
  if (isSame && isOnSame && isHeldAlike(node, now.hold)) return []
  return [`its verdict is ${textOf(node)}, judged now ${textOf(now)}`]
}

/** Of an owner that waits for its dependents, or does no longer, when that is judged again. */
function waitsToBeJudged(
  facts: ClusterFacts,
  node: Node,
  now: Verdict | null,
  nowMs: number,
): boolean {
  const { verdict, attempt } = node
  const was = verdict?.type
  const isOther =
    (was === 'finish' && now?.type === 'wait') || (was === 'wait' && now?.type === 'finish')
  if (!isOther) return false
  // With the result of the command that is under way, or before it is tried again.
  if (attempt !== null && isUnderWay(attempt, nowMs)) return true
  // Kinds were in sync when its finalizer was to be taken off, and are asked about again before the
  // next try: no event says of each owner that a watch fell silent, or began anew.
  return was === 'finish' && isNothingLeft(facts, node)
}

/**
 * A pause, a protection, or what holds a rule, holds what is issued from then on: a command under
 * way is refused by the gate, and its object is held with its result.
 */
function isHeldAlike({ hold, attempt }: Node, now: Hold | null): boolean {
  const [before, after] = [hold?.by ?? null, now?.by ?? null]
  const isOrdered = after === 'pause' || after === 'protection' || after === 'rule'
  if (before === null && isOrdered && attempt !== null) return true
  return (before === null) === (after === null)
}

function textOf({ verdict, hold }: Pick<Node, 'verdict' | 'hold'>): string {
  if (verdict === null) return 'none'
  const held = (hold?.by ?? null) === null ? '' : `; held by ${hold?.by}: ${hold?.because}`
  return `${verdict.type} ${verdict.evidence}: ${verdict.because}${held}`
}
