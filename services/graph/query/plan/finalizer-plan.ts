/**
 * What removing one finalizer of an object would mean, and the digest that an order names.
 *
 * What must stay true: it is read from committed state and changes nothing. The digest covers
 * cluster, uid, version and finalizer: it is of nothing else, and of no later version.
 *
 * Not here: whether it may be removed, which the fold decides, too (core/admit/finalizer-order.ts).
 */
import { createHash } from 'node:crypto'
import {
  type FinalizerSubject,
  finalizerRefusal,
  finalizerSubject,
} from '../../../../core/admit/finalizer-order.ts'
import { pausedBecause } from '../../../../core/admit/paused.ts'
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId, ObjectMeta } from '../../../../core/model/object.ts'
import { timeText } from '../../../../core/model/text.ts'
import type { FinalizerPlan as AnsweredPlan } from '../../api/answer-schema.ts'
import type { AnswerOf } from '../../api/document.ts'
import { removerOf } from '../answer/known-finalizer.ts'
import type { View } from '../view/view.ts'

export type FinalizerPlan = AnswerOf<AnsweredPlan>

export function finalizerPlanOf(view: View, node: Node, finalizer: string): FinalizerPlan {
  const { object } = node
  const { group, kind, namespace, name, uid } = object
  const subject = { uid, resourceVersion: versionOf(view, object), finalizer }
  const refused = finalizerRefusal(view.facts, node, finalizer)
  const { clockLeadMs = 0 } = view.facts.state ?? {}
  return {
    object: { group, kind, namespace, name, uid, phase: nodePhase(node) },
    resourceVersion: subject.resourceVersion,
    since: object.deletedAt === null ? null : object.deletedAt - clockLeadMs,
    finalizers: [...object.finalizers],
    finalizer,
    refused,
    paused: pausedBecause(view.facts),
    mode: view.facts.policy.policy.mode,
    means: refused === '' ? meaning(object, finalizer) : '',
    call: refused === '' ? callOf(object, subject) : '',
    subject: finalizerSubject(subject),
    digest: refused === '' ? finalizerDigest(view.cluster, subject) : null,
  }
}

export function finalizerDigest(
  cluster: ClusterId,
  { uid, resourceVersion, finalizer }: FinalizerSubject,
): string {
  const text = JSON.stringify([cluster, uid, resourceVersion, finalizer])
  return createHash('sha256').update(text).digest('hex')
}

export function versionOf({ facts }: View, object: ObjectMeta): string {
  return facts.seen(object, object.uid)?.resourceVersion ?? object.resourceVersion
}

function meaning(object: ObjectMeta, finalizer: string): string {
  const others = object.finalizers.filter((each) => each !== finalizer)
  const ends =
    others.length === 0
      ? 'The object is deleted at once'
      : `The object stays until its other finalizers are removed (${others.join(', ')})`
  const { by = '', once = null } = removerOf(object, finalizer) ?? {}
  const whose =
    by === ''
      ? 'what its controller wanted to clean up is not cleaned up'
      : `${by} removes it ${once === null ? 'by itself' : `once ${once}`}, and what it guards is not cleaned up`
  return `${ends}; ${whose}.`
}

/** As the API server gets it. */
function callOf(object: ObjectMeta, { uid, resourceVersion, finalizer }: FinalizerSubject): string {
  const { group, resource, deletedAt, finalizers } = object
  const what = group === '' ? resource : `${resource}.${group}`
  const place = `/metadata/finalizers/${finalizers.indexOf(finalizer)}`
  const tests = [
    `uid ${uid}`,
    `deletionTimestamp ${timeText(deletedAt ?? 0)}`,
    `resourceVersion ${resourceVersion}`,
    `${place} ${JSON.stringify(finalizer)}`,
  ]
  return `JSON Patch of ${what}: test ${tests.join(', ')}; remove ${place}`
}
