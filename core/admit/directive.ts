/**
 * Directives that users give while Kinfold runs: pause, resume, approve, protect, enforce a rule,
 * forget a cluster.
 *
 * What must stay true: a directive changes which commands may be carried out, never the recorded
 * state of a cluster. A directive that holds objects ends only by another directive, and then every
 * object it held is judged again.
 *
 * Not here: what is protected (protection.ts), what a pause says of itself (paused.ts), the order
 * that removes a finalizer (issue/finalizer-removal.ts), how reapers apply it immediately
 * (services/reaper/control.ts).
 */
import { judgeAll, judgeWaiters } from '../graph/agenda.ts'
import type { Step } from '../graph/outcome.ts'
import { drop } from '../graph/outcome.ts'
import { elsewhereClusterWait } from '../graph/rule/elsewhere-index.ts'
import { PROTECTED_FOR_MS } from '../model/constant.ts'
import type { Directive } from '../model/event.ts'
import type { ClusterId } from '../model/object.ts'
import { reportOf } from '../model/rule/report.ts'
import { digestOf } from '../model/rule/rule.ts'
import type { Directives, ForgottenCluster, ProtectedSubject } from '../model/state.ts'
import { readSubject } from '../model/subject.ts'
import { rule } from './approval.ts'
import { closeBreaker } from './breaker.ts'

/** All are checked with each verdict that deletes. */
export const MOST_PROTECTED = 200
/** All are read with each verdict by a rule about owners elsewhere. */
export const MOST_FORGOTTEN = 200

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
      return closeBreaker(step)
    case 'enforce-rule':
      return enforceRule(step, event)
    case 'suspend-rule':
      return suspendRule(step, event)
    case 'forget-cluster':
      return forgetCluster(step, event)
    case 'remember-cluster':
      return rememberCluster(step, event)
    case 'confirm-clock':
      // For the record: the log's own time follows it (ports/append-time.ts), not the fold.
      return
    default:
      return drop(step, `this version does not know the directive ${event.verb}`)
  }
}

/** Commands issued before settle as blocked, and their objects are judged then. */
function pause(step: Step, { cluster, who, why }: Directive): void {
  const { pauses } = step.graph.directives
  const others = pauses.filter((each) => each.cluster !== cluster)
  change(step, { pauses: [...others, { cluster, who, why }] })
}

function resume(step: Step, { cluster }: Directive): void {
  const { pauses } = step.graph.directives
  const others = pauses.filter((each) => each.cluster !== cluster)
  if (others.length === pauses.length) return drop(step, 'it was not paused')
  change(step, { pauses: others, resumedAt: step.at.position })
  judgeAll(step)
}

/** Commands issued for it before are refused by the gate, and their objects are judged then. */
function protect(step: Step, event: Directive): void {
  const { cluster, subject, who, why } = event
  if (readSubject(subject) === undefined) return drop(step, 'it names nothing to protect')
  const others = othersThan(step, event)
  if (others.length >= MOST_PROTECTED) return drop(step, 'too much is protected by name')
  change(step, { protections: [...others, { cluster, subject, who, why, liftedAt: null }] })
}

/**
 * In `guarded` the protection counts for a while longer; each object held by it has a timer for its
 * end.
 */
function unprotect(step: Step, event: Directive): void {
  const { protections } = step.graph.directives
  const lifted = protections.find((each) => isSame(each, event))
  if (lifted === undefined || lifted.liftedAt !== null) return drop(step, 'it was not protected')
  const liftedAt = step.at.timestamp
  change(step, { protections: [...othersThan(step, event), { ...lifted, liftedAt }] })
  judgeAll(step)
}

/** Only the rule that was seen: by its digest. What it held until now was seen, too. */
function enforceRule(step: Step, { subject, digest, who, why }: Directive): void {
  const rule = step.graph.policy.policy.rules.find(({ name }) => name === subject)
  if (subject.includes('/')) return drop(step, 'an annotation of its object enforces that rule')
  if (rule === undefined) return drop(step, 'there is no such rule')
  if (reportOf(rule) !== '') return drop(step, 'the rule only reports')
  if (digest === null || digest !== digestOf(rule)) return drop(step, 'the rule is another by now')
  const order = { name: subject, digest, who, why, at: step.at.timestamp }
  change(step, { rules: [...otherRules(step, subject), order] })
  judgeAll(step)
}

/** Commands issued by it before are refused by the gate, and their objects are judged then. */
function suspendRule(step: Step, { subject }: Directive): void {
  const rules = otherRules(step, subject)
  if (rules.length === step.graph.directives.rules.length) return drop(step, 'it was in dry run')
  change(step, { rules })
  judgeAll(step)
}

function otherRules(step: Step, subject: string): Directives['rules'] {
  return step.graph.directives.rules.filter(({ name }) => name !== subject)
}

/**
 * Of one cluster's objects none is due any more by an owner in the other one, whatever is heard of
 * that later: whether it is there can never be asked again.
 */
function forgetCluster(step: Step, event: Directive): void {
  const { cluster, subject: owner, who, why } = event
  const isOfTwo = cluster !== '' && owner !== '' && cluster !== owner
  if (!isOfTwo) return drop(step, 'it names no two clusters')
  const { forgotten } = step.graph.directives
  const others = otherForgotten(step, event)
  if (others.length < forgotten.length) return drop(step, 'it was forgotten already')
  if (others.length >= MOST_FORGOTTEN) return drop(step, 'too many clusters are forgotten')
  change(step, { forgotten: [...others, { cluster, owner, who, why, at: step.at.timestamp }] })
  judgeNaming(step, owner)
}

/** What is due by an owner there is due since now, so its hold begins anew. */
function rememberCluster(step: Step, event: Directive): void {
  const forgotten = otherForgotten(step, event)
  if (forgotten.length === step.graph.directives.forgotten.length) {
    return drop(step, 'it was not forgotten')
  }
  change(step, { forgotten })
  judgeNaming(step, event.subject)
}

function judgeNaming(step: Step, owner: ClusterId): void {
  if (step.graph.keeping !== undefined) judgeWaiters(step, elsewhereClusterWait(owner))
}

function otherForgotten(step: Step, { cluster, subject }: Directive): Directives['forgotten'] {
  const isAbout = (each: ForgottenCluster): boolean =>
    each.cluster === cluster && each.owner === subject
  return step.graph.directives.forgotten.filter((each) => !isAbout(each))
}

/** Without protections that have expired. */
function othersThan(step: Step, event: Directive): readonly ProtectedSubject[] {
  const isOver = ({ liftedAt }: ProtectedSubject): boolean =>
    liftedAt !== null && liftedAt + PROTECTED_FOR_MS < step.at.timestamp
  const { protections } = step.graph.directives
  return protections.filter((each) => !isSame(each, event) && !isOver(each))
}

function isSame(a: ProtectedSubject, b: Directive): boolean {
  return a.cluster === b.cluster && a.subject === b.subject
}

function change(step: Step, changed: Partial<Directives>): void {
  step.graph.setDirectives({ ...step.graph.directives, ...changed })
}
