/**
 * What is common to small worlds: the first events, how it comes to rest, and what its end looks
 * like.
 *
 * What must stay true: two ends that read alike lead to the same commands.
 */
import type { Command } from '../../core/model/command.ts'
import type { Event, Heartbeat } from '../../core/model/event.ts'
import type { Node } from '../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../core/model/node.ts'
import { policyFor } from '../../core/model/policy.ts'
import { CLUSTER, type ModelCluster } from '../../testing/model/model-cluster.ts'
import { normalGraph } from '../../testing/model/normal-graph.ts'
import type { SmallFold } from './small-fold.ts'

/** Longer than any watch takes to catch up after its start. */
const BEGINNING_MS = 20_000
/** Longer than references wait for an owner's kind. */
const SETTLING_MS = 60_000
const BEAT_MS = 20_000

export interface Findings {
  /** Ways that were run to their end. */
  readonly cases: number
  readonly folded: number
  /** Worlds with more ways than were run. */
  readonly cut: number
  readonly complaints: readonly string[]
}

export function beginning(fold: SmallFold, told: readonly Event[]): void {
  const policy = policyFor('enforce', 'parity')
  const cluster = { cluster: CLUSTER, name: 'test', epoch: 1, clusterEpoch: 1 }
  fold.fold({ type: 'WatcherStarted', serverTime: null, ...cluster }, 0)
  fold.fold({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  for (const event of told) fold.fold(event)
  beat(fold, BEGINNING_MS)
}

/** `kinds`: for how long the watch of each was silent; of others nothing is said. */
export function beat(fold: SmallFold, ms: number, kinds: Heartbeat['kinds'] = []): void {
  fold.fold({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds }, fold.nowMs + ms)
}

export function wholeGraph(fold: SmallFold): string {
  return normalGraph(fold.state).join('\n')
}

/** For where only they can be compared. */
export function verdicts({ state }: SmallFold): string {
  const lines = [...state.values()].flatMap((value) =>
    value.type === 'Node' ? [verdictLine(value)] : [],
  )
  return lines.sort().join('\n')
}

function verdictLine(node: Node): string {
  const { object, verdict } = node
  return `${object.uid} ${nodePhase(node)} ${verdict?.type} ${admissionOf(node)?.by}`
}

/** Time passes, and verifications are answered by the truth. */
export function settle(fold: SmallFold, cluster: ModelCluster): void {
  for (let answered = 0, waitedMs = 0; waitedMs <= SETTLING_MS; waitedMs += BEAT_MS) {
    beat(fold, BEAT_MS)
    for (; answered < fold.commands.length; answered++) {
      const command = fold.commands[answered]
      if (command?.type === 'VerifyOwner') fold.fold(cluster.verify(command))
    }
  }
}

/** A command for it was issued, for its present content. */
export function isAsked(command: Command, uid: string, { objects }: ModelCluster): boolean {
  if (command.target.uid !== uid) return false
  const now = objects.get(uid)
  switch (command.type) {
    case 'DeleteObject':
    case 'OrphanDependent':
      return JSON.stringify(command.references) === JSON.stringify(now?.ownerReferences)
    case 'AnnotateObject':
      return command.target.resourceVersion === now?.resourceVersion
    case 'RemoveFinalizer':
      return now?.finalizers.join() === command.finalizers.join()
    case 'VerifyOwner':
    case 'WarnObject':
      return false
  }
}
