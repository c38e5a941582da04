/**
 * Live GETs: of owners about which nothing is known, once for all of their dependents; and of objects that a server said are deleted, if no watch confirms that.
 *
 * What must stay true: not before the owner's kind could have shown it; unknown is never absent, so without an answer nothing follows.
 *
 * Not here: the effect of the answer (settle.ts).
 */
import { mayIssue } from '../admit/hold.ts'
import { ownerTimer } from '../graph/agenda.ts'
import { kindOf, nodeOf, ownerOf, policyOf, seenOf } from '../graph/graph.ts'
import { ownerKey } from '../graph/key.ts'
import { isMonitored, kindStatus } from '../graph/kind-status.ts'
import type { Step } from '../graph/outcome.ts'
import type { Stand } from '../judge/standing.ts'
import type { Target } from '../model/command.ts'
import {
  COMMAND_LIFE_MS,
  COMMAND_MARGIN_MS,
  LOOKED_UP_AT_ONCE,
  ROUNDS_OF_LOOKS,
} from '../model/constant.ts'
import type { CommandId } from '../model/id.ts'
import type { Attempt } from '../model/node.ts'
import { isUnderWay } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { isSamePlace, versionOf } from '../model/object.ts'
import type { ClusterState, Kind } from '../model/state.ts'
import { UNKNOWN_OWNER } from '../observe/departure.ts'
import { verifyIntent } from '../observe/settle.ts'
import { baseOf } from './issue.ts'
import { servedVersion, targetOf } from './target.ts'

/** Verifies each owner about which nothing is known, once its kind could have shown it. */
export function verifyOwners(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  stands: readonly Stand[],
): void {
  const most = Math.max(LOOKED_UP_AT_ONCE, Math.ceil(stands.length / ROUNDS_OF_LOOKS))
  let asked = 0
  for (const { standing, place, reference } of stands) {
    if (standing !== 'unverified' || place === null) continue
    // An object may have thousands, and other objects wait after it.
    if (asked >= most) return
    // It is an untrusted node, or at other coordinates: a relist settles the first, a live GET at these coordinates the second.
    const node = nodeOf(step.graph, cluster, reference.uid)
    if (node !== undefined && isSamePlace(node.object, place)) continue
    const version = versionOf(reference.apiVersion)
    if (verifyOwner(step, state, cluster, place, reference.uid, version)) asked++
  }
}

/** True when it is asked, now or already. */
export function verifyOwner(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  place: Coordinates,
  uid: Uid,
  version: string,
): boolean {
  const kind = kindOf(step.graph, cluster, place)
  if (kind === undefined || !isReadyToAsk(kind, place, state)) return false
  if (!mayIssue(step.graph, cluster)) return false
  const owner = ownerOf(step.graph, cluster, uid, place)
  const intent = verifyIntent(state)
  const former = owner?.attempt?.intent === intent ? owner.attempt : null
  if (former !== null && isUnderWay(former, state.now)) return true

  const target: Target = {
    group: place.group,
    kind: place.kind,
    namespace: place.namespace,
    name: place.name,
    version: servedVersion(kind, version),
    resource: kind.resource,
    uid,
    resourceVersion: '',
    aggregated: kind.aggregated,
  }
  const command = askFor(step, state, cluster, target)
  const until = state.now + COMMAND_LIFE_MS + COMMAND_MARGIN_MS
  const attempt: Attempt = {
    command,
    verb: 'VerifyOwner',
    intent,
    isDryRun: false,
    finalizer: '',
    state: 'issued',
    count: (former?.count ?? 0) + 1,
    since: former?.since ?? state.now,
    until,
    outcome: null,
    reason: '',
  }
  step.graph.put(ownerKey(cluster, uid, place), { ...(owner ?? UNKNOWN_OWNER), attempt })
  ownerTimer(step, cluster, until, uid, place)
  return true
}

/**
 * Asks whether an object is still there, which by a server's answer is deleted. Null where the answer would prove nothing: of an ambiguous kind, or when it was last seen in another
 * epoch of the cluster, whose relists settle it.
 */
export function verifyDeletion(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  object: ObjectMeta,
): CommandId | null {
  const kind = kindOf(step.graph, cluster, object)
  const seen = seenOf(step.graph, cluster, object, object.uid)
  if (seen?.clusterEpoch !== state.clusterEpoch || !mayIssue(step.graph, cluster)) return null
  if (!isMonitored(kind) || kind?.ambiguous === true) return null
  return askFor(step, state, cluster, { ...targetOf(object, kind), resourceVersion: '' })
}

function askFor(step: Step, state: ClusterState, cluster: ClusterId, target: Target): CommandId {
  const base = baseOf(step, state, cluster, target)
  const because = `is ${target.kind} "${target.name}" there?`
  const basis = [step.at.position, policyOf(step.graph).position]
  const about = { evidence: 'not-found', because, basis } as const
  step.outcome.commands.push({ ...base, type: 'VerifyOwner', ...about })
  return base.id
}

/** A watch that lives would have shown the owner; without one, only a GET can; while one is expected soon, wait for it. Of an ambiguous kind it may be the other resource, where nothing proves anything. */
function isReadyToAsk(kind: Kind, about: GroupKind, state: ClusterState): boolean {
  const status = kindStatus(kind, about, state)
  if (kind.ambiguous || status.type === 'gone') return false
  return status.type !== 'listing' || state.now >= status.until
}
