/**
 * An order that removes one finalizer of others from an object that is being deleted: its subject,
 * why it is refused, and the one command that it issues.
 *
 * What must stay true: the order names uid, version and finalizer, and only an object that is still
 * just that, and being deleted, loses it. The order issues one command or none: it is no part of a
 * verdict and no attempt of the object, so it is never issued again by itself, and what is decided
 * about the object otherwise stays as it is. Whoever gave it sees in the history what became of it.
 *
 * Not here: what was shown before (services/graph/query/answer/finalizer-plan.ts), the finalizers
 * of the collector (judge/completion.ts), the guard inside the call (services/reaper).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Step } from '../graph/outcome.ts'
import { drop, tell } from '../graph/outcome.ts'
import { baseOf } from '../issue/issue.ts'
import { targetOf } from '../issue/target.ts'
import { leftOf } from '../judge/completion.ts'
import type { RemoveFinalizer } from '../model/command.ts'
import type { Directive } from '../model/event.ts'
import { invariant } from '../model/invariant.ts'
import type { Node } from '../model/node.ts'
import { nodePhase } from '../model/node.ts'
import {
  FINALIZER_FOREGROUND,
  isOfCollector,
  type ResourceVersion,
  type Uid,
} from '../model/object.ts'
import { pausedBecause } from './paused.ts'
import { protectedBecause } from './protection.ts'

/** What an order names. */
export interface FinalizerSubject {
  readonly uid: Uid
  readonly resourceVersion: ResourceVersion
  readonly finalizer: string
}

/**
 * As JSON: a uid and a finalizer are texts of servers, which may hold whatever a separator would
 * be.
 */
export function finalizerSubject({ uid, resourceVersion, finalizer }: FinalizerSubject): string {
  return JSON.stringify([uid, resourceVersion, finalizer])
}

/** Undefined for any other text. */
export function readFinalizerSubject(text: string): FinalizerSubject | undefined {
  const [uid, resourceVersion, finalizer, more] = listIn(text)
  if (typeof uid !== 'string' || uid === '' || more !== undefined) return undefined
  if (typeof resourceVersion !== 'string' || resourceVersion === '') return undefined
  if (typeof finalizer !== 'string' || finalizer === '') return undefined
  return { uid, resourceVersion, finalizer }
}

function listIn(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text)
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

/**
 * Why that finalizer may not be removed from the object, whatever the mode, as far as its own state
 * and the policy say; empty where it may.
 */
export function finalizerRefusal(facts: ClusterFacts, node: Node, finalizer: string): string {
  const { object } = node
  if (object.deletedAt === null) return 'it is not being deleted'
  if (node.doubt !== null) return 'what is known of it is untrusted until its kind is listed again'
  if (nodePhase(node) === 'reaped') return 'a server said that it is deleted'
  if (!object.finalizers.includes(finalizer)) return notThere(object.kind, finalizer)
  if (isOfCollector(finalizer)) return ofCollector(facts, node, finalizer)
  const spared = protectedBecause(facts, node, 'orphaning')
  if (spared !== null) return spared.because
  if (facts.policy.policy.mayRemove.includes(finalizer)) return ''
  return 'the config does not list that finalizer in finalizers.mayRemove'
}

/** Those in the spec of a namespace are no metadata, and its controller removes them. */
function notThere(kind: string, finalizer: string): string {
  if (kind !== 'Namespace' || finalizer !== 'kubernetes') return 'it has no such finalizer'
  return 'kubernetes is in spec.finalizers of a Namespace, which only its controller empties, once all objects in it are deleted'
}

function ofCollector(facts: ClusterFacts, { object }: Node, finalizer: string): string {
  const left = leftOf(facts, object.uid, object)
  const isForeground = finalizer === FINALIZER_FOREGROUND
  const count = isForeground ? left.blocking : left.dependents
  const what = `dependent${count === 1 ? '' : 's'} that ${isForeground ? 'block' : 'reference'}${count === 1 ? 's' : ''} it`
  const when =
    count === 0 ? 'no dependent is left' : `${count} ${what} ${count === 1 ? 'is' : 'are'} left`
  return `the collector removes ${finalizer} once no dependent is left: ${when}`
}

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
