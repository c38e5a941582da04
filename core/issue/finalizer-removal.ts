/**
 * The one command of an order that removes a finalizer of others.
 *
 * What must stay true: the order issues one command or none. It is no part of a verdict and no
 * attempt of the object, so it is never issued again by itself, and what is decided about the
 * object otherwise stays as it is. The history of the object has the order, or why it was refused,
 * and the result.
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
import type { CommandId } from '../model/id.ts'
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
  const because = ordered(asked, event)
  const refusal = refusalOf(step, node, asked)
  if (refusal !== '') drop(step, refusal)
  const command = refusal === '' ? issued(step, node, asked, because) : null
  const [change, verb, about] =
    command === null
      ? (['result', 'refused', { basis: [step.at.position] }] as const)
      : (['command', `(${command.mode})`, aboutOf(command)] as const)
  const why = refusal === '' ? '' : `: ${refusal}`
  tell(step, node.object, change, `RemoveFinalizer ${verb}: ${because}${why}`, about)
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
function issued(
  step: Step,
  { object }: Node,
  { finalizer, resourceVersion }: FinalizerSubject,
  because: string,
): RemoveFinalizer {
  const { graph } = step
  const { state } = graph
  const { finalizers, deletedAt } = object
  invariant(state !== undefined && deletedAt !== null, 'it was checked before')
  const basis = [step.at.position, graph.policy.position]
  const target = { ...targetOf(object, graph.kind(object)), resourceVersion }
  const command: RemoveFinalizer = {
    type: 'RemoveFinalizer',
    ...baseOf(step, state, target),
    ...{ evidence: 'orphaning', because, basis },
    ...{ finalizer, finalizers, deletedAt },
  }
  step.outcome.commands.push(command)
  return command
}

type About = Pick<RemoveFinalizer, 'evidence' | 'basis'> & { readonly command: CommandId }

function aboutOf({ evidence, id, basis }: RemoveFinalizer): About {
  return { evidence, command: id, basis }
}

function ordered({ finalizer, resourceVersion }: FinalizerSubject, event: Directive): string {
  const { who, why } = event
  return `${who} ordered to remove finalizer ${finalizer} at version ${resourceVersion} (${why})`
}
