/**
 * Directives that users give while Kinfold runs: pause, resume, approve, protect.
 *
 * What must stay true: a directive changes which commands may be carried out, never the recorded state of a cluster. A directive that holds
 * objects ends only by another directive, and then every object it held is judged again.
 *
 * Not here: what is protected (protection.ts), how reapers apply it immediately (services/reaper/control.ts).
 */
import { judgeAll } from '../graph/agenda.ts'
import type { StateReader } from '../graph/graph.ts'
import { directivesOf } from '../graph/graph.ts'
import { DIRECTIVES_KEY } from '../graph/key.ts'
import type { Step } from '../graph/outcome.ts'
import { drop } from '../graph/outcome.ts'
import { scopeFlag } from '../graph/scope-flag.ts'
import { PROTECTED_FOR_MS } from '../model/constant.ts'
import type { Directive } from '../model/event.ts'
import type { ClusterId } from '../model/object.ts'
import type { Directives, ProtectedSubject } from '../model/state.ts'
import { readSubject } from '../model/subject.ts'
import { rule } from './approval.ts'
import { closeBreaker } from './breaker.ts'

/** All are checked with each verdict that deletes. */
export const MOST_PROTECTED = 200

export function directive(step: Step, event: Directive): void {
  switch (event.verb) {
    case 'pause':
      return pause(step, event)
    case 'resume':
      return resume(step, event)
    case 'protect':
      return protect(step, event)
    case 'unprotect':
      return unprotect(step, event)
    case 'approve':
      return rule(step, event, 'approved')
    case 'reject':
      return rule(step, event, 'rejected')
    case 'close-breaker':
      change(step, { resumedAt: step.at.position })
      return closeBreaker(step, event)
    case 'confirm-clock':
      // For the record: the log's own time follows it (ports/append-time.ts), not the fold.
      return
    default:
      return drop(step, `this version does not know the directive ${event.verb}`)
  }
}

/** Commands issued before settle as blocked, and their objects are judged then. */
function pause(step: Step, { cluster, who, why }: Directive): void {
  const { pauses } = directivesOf(step.graph)
  const others = pauses.filter((each) => each.cluster !== cluster)
  change(step, { pauses: [...others, { cluster, who, why }] })
}

function resume(step: Step, { cluster }: Directive): void {
  const { pauses } = directivesOf(step.graph)
  const others = pauses.filter((each) => each.cluster !== cluster)
  if (others.length === pauses.length) return drop(step, 'it was not paused')
  change(step, { pauses: others, resumedAt: step.at.position })
  judgeAll(step, cluster)
}

/** Commands issued for it before are refused by the gate, and their objects are judged then. */
function protect(step: Step, event: Directive): void {
  const { cluster, subject, who, why } = event
  if (readSubject(subject) === undefined) return drop(step, 'it names nothing to protect')
  const others = othersThan(step, event)
  if (others.length >= MOST_PROTECTED) return drop(step, 'too much is protected by name')
  change(step, { protections: [...others, { cluster, subject, who, why, liftedAt: null }] })
}

/** In `guarded` the protection counts for a while longer; each object held by it has a timer for its end. */
function unprotect(step: Step, event: Directive): void {
  const { protections } = directivesOf(step.graph)
  const lifted = protections.find((each) => isSame(each, event))
  if (lifted === undefined || lifted.liftedAt !== null) return drop(step, 'it was not protected')
  const liftedAt = step.at.timestamp
  change(step, { protections: [...othersThan(step, event), { ...lifted, liftedAt }] })
  judgeAll(step, event.cluster)
}

/** Without protections that have expired. */
function othersThan(step: Step, event: Directive): readonly ProtectedSubject[] {
  const isOver = ({ liftedAt }: ProtectedSubject): boolean =>
    liftedAt !== null && liftedAt + PROTECTED_FOR_MS < step.at.timestamp
  const { protections } = directivesOf(step.graph)
  return protections.filter((each) => !isSame(each, event) && !isOver(each))
}

function isSame(a: ProtectedSubject, b: Directive): boolean {
  return a.cluster === b.cluster && a.subject === b.subject
}

function change(step: Step, changed: Partial<Directives>): void {
  step.graph.put(DIRECTIVES_KEY, { ...directivesOf(step.graph), ...changed })
}

/** Why nothing is to be done in this cluster now; empty when it may. */
export function pausedBecause(graph: StateReader, cluster: ClusterId): string {
  const { pauses } = directivesOf(graph)
  const pause = pauses.find((each) => each.cluster === '' || each.cluster === cluster)
  if (pause === undefined) return ''
  const why = pause.why === '' ? '' : ` (${pause.why})`
  const scope = scopeFlag(pause.cluster)
  return `paused by ${pause.who}${why}; "kinfold resume${scope} --why …" releases it`
}
