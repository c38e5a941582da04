/**
 * The one command of an order that removes a finalizer of others.
 *
 * What must stay true: the order issues one command or none. It is no part of a verdict and no
 * attempt of the object, so it is never issued again by itself, and what is decided about the object
 * otherwise stays as it is. The history of the object has the order, or why it was refused, and the
 * result.
 *
 * Not here: why it is refused (admit/finalizer-order.ts), the guard inside the call
 * (services/reaper/decide/guard.ts).
 */
import {
  type FinalizerSubject,
  finalizerRefusal,
  readFinalizerSubject,
} from '../admit/finalizer-order.ts'
import { pausedBecause } from '../admit/paused.ts'
import type { Step } from '../graph/outcome.ts'
import { drop, tell } from '../graph/outcome.ts'
import type { RemoveFinalizer } from '../model/command.ts'
import type { Directive } from '../model/event.ts'
import { invariant } from '../model/invariant.ts'
import type { Node } from '../model/node.ts'
import { baseOf } from './issue.ts'
import { targetOf } from './target.ts'

export function removeFinalizer(step: Step, event: Directive): void {
  const { graph } = step
  // Each partition gets it, and one has the cluster.
  if (graph.state === undefined) return
  const asked = readFinalizerSubject(event.subject)
  if (asked === undefined) return drop(step, 'it names no object, version and finalizer')
  const node = graph.node(asked.uid)
  if (node === undefined) return drop(step, 'there is no such object')
  const refusal = refusalOf(step, node, asked)
  if (refusal === '') return issue(step, node, asked, event)
  drop(step, refusal)
  const text = `RemoveFinalizer refused: ${ordered(asked, event)}: ${refusal}`
  tell(step, node.object, 'result', text, { basis: [step.at.position] })
}

function refusalOf({ graph }: Step, node: Node, asked: FinalizerSubject): string {
  const seen = graph.seen(node.object, asked.uid)
  if (seen?.resourceVersion !== asked.resourceVersion) {
    return `it changed since it was shown: its version was ${asked.resourceVersion}`
  }
  const refusal = finalizerRefusal(graph, node, asked.finalizer)
  if (refusal !== '') return refusal
  if (graph.policy.policy.mode === 'observe') return 'in mode observe nothing is sent'
  return pausedBecause(graph)
}

/** Its evidence is that of the collector's own finalizers: a person asked for it. */
function issue(step: Step, { object }: Node, asked: FinalizerSubject, event: Directive): void {
  const { graph } = step
  const { state } = graph
  const { finalizer, resourceVersion } = asked
  const { finalizers, deletedAt } = object
  invariant(state !== undefined && deletedAt !== null, 'it was checked before')
  const because = ordered(asked, event)
  const basis = [step.at.position, graph.policy.position]
  const target = { ...targetOf(object, graph.kind(object)), resourceVersion }
  const command: RemoveFinalizer = {
    type: 'RemoveFinalizer',
    ...baseOf(step, state, target),
    ...{ evidence: 'orphaning', because, basis },
    ...{ finalizer, finalizers, deletedAt },
  }
  step.outcome.commands.push(command)
  const text = `RemoveFinalizer (${command.mode}): ${because}`
  tell(step, object, 'command', text, { evidence: 'orphaning', command: command.id, basis })
}

function ordered({ finalizer, resourceVersion }: FinalizerSubject, event: Directive): string {
  const { who, why } = event
  return `${who} ordered to remove finalizer ${finalizer} at version ${resourceVersion} (${why})`
}
