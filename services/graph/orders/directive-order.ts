/**
 * What an operator asks for over HTTP, read and checked: the one place where a directive is
 * understood before it is on the log.
 *
 * What must stay true: what is not understood whole is refused with a sentence; a text that is
 * recorded is one line.
 *
 * Not here: carrying it out (directive-http.ts), what it changes (core/admit/directive.ts).
 */
import { readFinalizerSubject } from '../../../core/admit/finalizer-order.ts'
import { annotateCommand } from '../../../core/model/rule/annotate.ts'
import { readSubject } from '../../../core/model/subject.ts'
import { voidSubject } from '../../../ports/record/void-subject.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import { VERBS, type Verb } from '../api/promise.ts'

export interface Order {
  readonly verb: Verb
  /** Name or id; empty for all. */
  readonly cluster: string
  /**
   * Of `protect` and `unprotect`, the name of a rule, of `remove-finalizer`, or the id of a
   * cluster of owners; else empty.
   */
  readonly subject: string
  /** Of a verb in `NEEDS_DIGEST`; else empty. */
  readonly digest: string
  readonly why: string
  /** The user as the request itself names him. */
  readonly claimed: string
  /** Given although the mode cannot keep what it promises: for a mode that comes later. */
  readonly record: boolean
}

/** An emergency and its opposite need no reason; what lets things go does. */
const NEEDS_WHY: ReadonlySet<Verb> = new Set([
  ...(['resume', 'approve', 'reject', 'close-breaker', 'enforce-rule', 'confirm-clock'] as const),
  ...(['remove-finalizer', 'forget-cluster', 'remember-cluster'] as const),
])
const NEEDS_DIGEST: ReadonlySet<Verb> = new Set([
  ...(['approve', 'reject', 'enforce-rule', 'remove-finalizer', 'forget-cluster'] as const),
])
const OF_RULES: ReadonlySet<Verb> = new Set(['enforce-rule', 'suspend-rule'])
const OF_CLUSTERS: ReadonlySet<Verb> = new Set(['forget-cluster', 'remember-cluster'])
const NEEDS_SUBJECT: ReadonlySet<Verb> = new Set([
  ...(['protect', 'unprotect', 'remove-finalizer'] as const),
  ...OF_RULES,
  ...OF_CLUSTERS,
])
const SUBJECTS = 'namespace/NAME, kind/KIND.GROUP, label/KEY[=VALUE], annotation/KEY[=VALUE]'
const FIELDS = ['verb', 'cluster', 'subject', 'digest', 'why', 'claimed', 'record']

/** Characters of a reason, and of a name. */
const MOST_WHY = 500
const MOST_NAME = 253
const ONE_LINE = /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u
const DIGEST = /^[0-9a-f]{64}$/
const RULE_DIGEST = /^[0-9a-f]{32}$/
const PLACEHOLDER = /^(…|\.{3})$/

export function readOrder(body: unknown): Order {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem(400, `expected a JSON object with verb, one of ${VERBS.join(', ')}`)
  }
  const fields = body as Record<string, unknown>
  const unknown = Object.keys(fields).find((key) => !FIELDS.includes(key))
  if (unknown !== undefined) {
    throw new Problem(400, `${unknown} is none of ${FIELDS.join(', ')}`)
  }
  const verb = VERBS.find((each) => each === fields['verb'])
  if (verb === undefined) throw new Problem(400, `verb must be one of ${VERBS.join(', ')}`)
  const line = (key: string, most: number): string => lineOf(key, fields[key], most)
  const order: Order = {
    verb,
    cluster: line('cluster', MOST_NAME),
    subject: line('subject', 2 * MOST_NAME + 1_024),
    digest: line('digest', 71).replace(/^sha256:/, ''),
    why: line('why', MOST_WHY).trim(),
    claimed: line('claimed', MOST_NAME).trim() || 'somebody',
    record: flagOf('record', fields['record']),
  }
  check(order)
  return order
}

function lineOf(key: string, value: unknown, most: number): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string' && value.length <= most && ONE_LINE.test(value)) return value
  throw new Problem(400, `${key} must be one line of ${most} characters at most`)
}

function flagOf(key: string, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw new Problem(400, `${key} must be true or false`)
}

function check({ verb, cluster, subject, digest, why }: Order): void {
  if (verb === 'confirm-clock' && cluster !== '') {
    throw new Problem(400, 'confirm-clock is about the one clock of the log: name no cluster')
  }
  if (OF_RULES.has(verb)) {
    checkRuleOrder({ verb, cluster, subject, digest })
  } else {
    checkSubject(verb, subject)
    const isOfPlan = verb === 'remove-finalizer' || OF_CLUSTERS.has(verb)
    const shown = isOfPlan ? 'its plan' : '"kinfold plan held"'
    checkBelongs('digest', NEEDS_DIGEST, verb, digest, `the one that ${shown} shows`)
    if (digest !== '' && !DIGEST.test(digest)) {
      throw new Problem(400, 'digest must be the 64 hexadecimal digits that the plan shows')
    }
  }
  // As hints print it, to be replaced.
  if (PLACEHOLDER.test(why)) throw new Problem(400, `say why: ${why} stands for your own words`)
  if (why === '' && NEEDS_WHY.has(verb)) {
    const isKeeping = verb === 'reject' || verb === 'forget-cluster'
    const does = isKeeping ? 'keeps objects' : 'permits deletes'
    throw new Problem(400, `say why: ${verb} ${does}, and the reason is kept on record`)
  }
}

function checkSubject(verb: Verb, subject: string): void {
  if (verb === 'remove-finalizer') {
    checkBelongs('subject', NEEDS_SUBJECT, verb, subject, 'the one that its plan shows')
    if (readFinalizerSubject(subject) !== undefined) return
    throw new Problem(400, `${subject} is not the one that its plan shows`)
  }
  if (OF_CLUSTERS.has(verb)) {
    return checkBelongs('subject', NEEDS_SUBJECT, verb, subject, 'the id of a cluster of owners')
  }
  checkBelongs('subject', NEEDS_SUBJECT, verb, subject, `one of ${SUBJECTS}`)
  if (subject !== '' && readSubject(subject) === undefined) {
    throw new Problem(400, `${subject} is none of ${SUBJECTS}`)
  }
  // What was recorded before may be taken back as it was written.
  const vain = verb === 'protect' ? voidSubject(subject) : ''
  if (vain !== '') throw new Problem(400, vain)
}

/** A rule is the policy's, and so it is about all clusters. */
function checkRuleOrder({
  verb,
  cluster,
  subject,
  digest,
}: Pick<Order, 'verb' | 'cluster' | 'subject' | 'digest'>): void {
  if (cluster !== '') {
    throw new Problem(
      400,
      `${verb} is about a rule of the policy, in all clusters: name no cluster`,
    )
  }
  checkBelongs('subject', NEEDS_SUBJECT, verb, subject, 'the name of a rule')
  checkBelongs('digest', NEEDS_DIGEST, verb, digest, 'the one that "kinfold rules explain" shows')
  if (digest !== '' && !RULE_DIGEST.test(digest)) {
    throw new Problem(400, 'digest must be the 32 hexadecimal digits that the rule has')
  }
  if (subject.includes('/')) {
    const how = annotateCommand(subject, verb === 'enforce-rule' ? digest : '')
    throw new Problem(
      400,
      `rule ${subject} is an object of the cluster, and its annotation decides: ${how}`,
    )
  }
}

function checkBelongs(
  field: string,
  verbs: ReadonlySet<Verb>,
  verb: Verb,
  value: string,
  which: string,
): void {
  if (verbs.has(verb) === (value !== '')) return
  if (value === '') throw new Problem(400, `${verb} takes a ${field}, ${which}`)
  throw new Problem(400, `${field} belongs to ${[...verbs].join(', ')}, and to them only`)
}
