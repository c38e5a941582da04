/**
 * What people ask for while Kinfold runs: pause, resume, approve, protect.
 *
 * What must stay true: a directive changes what may be carried out, never what is true of a cluster.
 */
import { rule } from './approval.ts'
import type { Directive } from './event.ts'
import type { StateReader } from './graph.ts'
import type { ClusterId } from './object.ts'
import type { Step } from './outcome.ts'
import { drop } from './outcome.ts'

export function directive(step: Step, event: Directive): void {
  switch (event.verb) {
    case 'approve':
      return rule(step, event, 'approved')
    case 'reject':
      return rule(step, event, 'rejected')
    default:
      return drop(step, `this version does not know the directive ${event.verb}`)
  }
}

/** Why nothing is to be done in this cluster now; empty when it may. */
export function pausedBecause(_graph: StateReader, _cluster: ClusterId): string {
  return ''
}
