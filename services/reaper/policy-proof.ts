/**
 * Live GETs of the policies of a cluster whose rules commands name: whether such a rule may be
 * carried out now, and by whose rights.
 *
 * What must stay true: a command by a policy is carried out only while the object, as the cluster
 * has it, is the one that the fold saw: its uid, the rule that its spec compiles to here, the
 * annotation that enforces just that rule, and the account. A GET is remembered for a moment, from
 * when it was sent. What cannot be read permits nothing, and stops no command of another policy.
 *
 * Not here: reading a spec (ports/rule), the call (reap.ts), what the account may do: the API
 * server decides.
 */
import {
  type Command,
  type CommandRule,
  type RulePolicy,
  ruleOf,
  type Target,
} from '../../core/model/command.ts'
import { policyResource } from '../../core/model/rule/annotate.ts'
import { ENFORCE_ANNOTATION, type PolicyContent } from '../../core/model/rule/policy-content.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { digestOf } from '../../core/model/rule/rule.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ReadAnswer, ReapAnswer, UnknownAnswer } from '../../ports/cluster.ts'
import type { CompileExpression } from '../../ports/expression.ts'
import { policyContent } from '../../ports/rule/policy-content.ts'
import { POLICY_GROUP } from '../../ports/rule/policy-kind.ts'
import type { Caller } from './call.ts'
import { NO_OUTCOMES, type PolicyCounts, type PolicyOutcomes } from './policy-status.ts'

export interface PolicyBounds {
  readonly policyProofMs: number
  readonly policyProofs: number
}

export interface PolicyParts {
  readonly caller: Pick<Caller, 'read'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly bounds: PolicyBounds
  readonly compile: CompileExpression
  /** Other rules are known than before: objects have to be read for these. */
  readonly onRules: () => void
}

/** A policy as it was read. */
interface Read {
  readonly uid: string
  readonly isDeleted: boolean
  /** Of the annotation; empty where there is none. */
  readonly enforced: string
  readonly content: PolicyContent
}

/** Why it could not be read, for people. */
type Look = Read | string

interface SharedLook {
  /** Monotonic: its last try. */
  askedAt(): number
  readonly seen: Promise<Look>
}

/** Of one cluster. */
export class Policies {
  readonly #parts: PolicyParts
  /** By kind, namespace and name, in the order of their requests. */
  readonly #looks = new Map<string, SharedLook>()
  /** Rules of the last answers, by the same. */
  readonly #rules = new Map<string, Rule>()
  /** By the uid of the policy. */
  readonly #outcomes = new Map<string, PolicyOutcomes>()

  constructor(parts: PolicyParts) {
    this.#parts = parts
  }

  /** Those that are known. */
  rules(): readonly Rule[] {
    return [...this.#rules.values()]
  }

  /** The rule that a command names, as it was read last; undefined where it is another by now. */
  ruleOf({ name, digest, policy }: CommandRule): Rule | undefined {
    const rule = policy === null ? undefined : this.#rules.get(keyOf(policy))
    return rule?.name === name && digestOf(rule) === digest ? rule : undefined
  }

  /** Why the command may not be carried out by its policy; empty where it may, or has none. */
  async objection(command: Command, onCall: () => void, signal: AbortSignal): Promise<string> {
    const rule = ruleOf(command)
    if (rule === null || rule.policy === null) return ''
    const { policy } = rule
    const { clock, bounds } = this.#parts
    const { seen, askedAt } = this.#look(policy, onCall, signal)
    const look = await seen
    // It says what was so when it was asked.
    if (clock.monotonicMs() - askedAt() > bounds.policyProofMs) {
      return `${nameOf(policy)} cannot be read: the cluster answers too late`
    }
    if (typeof look === 'string') return `${nameOf(policy)} ${look}`
    const found = disagreement(rule, policy, look)
    return found === '' ? '' : `${nameOf(policy)} ${found}`
  }

  /** The connection broke: what was read over it no longer counts. */
  voidAll(): void {
    this.#looks.clear()
  }

  /** To a DELETE, or to a patch that annotates: by it one knows the account's rights. */
  answered(command: Command, answer: ReapAnswer): void {
    const policy = ruleOf(command)?.policy
    if (policy == null || answer.type === 'Unknown' || answer.type === 'Conflict') return
    const before = this.outcomes(policy.uid)
    const reason = answer.type === 'Refused' ? answer.reason : ''
    const done = Number(answer.type === 'Removed' || answer.type === 'Changed')
    const isAnnotated = command.type === 'AnnotateObject'
    this.#outcomes.delete(policy.uid)
    this.#outcomes.set(policy.uid, {
      deleted: before.deleted + (isAnnotated ? 0 : done),
      annotated: before.annotated + (isAnnotated ? done : 0),
      lacking: reason === '' || answer.code === 403 ? reason : before.lacking,
      lastError: reason,
    })
    forgetOldest(this.#outcomes, this.#parts.bounds.policyProofs)
  }

  /** Of the policy with that uid; the same object while nothing more is known. */
  outcomes(uid: string): PolicyOutcomes {
    return this.#outcomes.get(uid) ?? NO_OUTCOMES
  }

  /** That many are in its status now. */
  written(uid: string, { deleted, annotated }: PolicyCounts): void {
    const known = this.#outcomes.get(uid)
    if (known === undefined || deleted + annotated === 0) return
    const left = { deleted: known.deleted - deleted, annotated: known.annotated - annotated }
    this.#outcomes.set(uid, { ...known, ...left })
  }

  #look(policy: RulePolicy, onCall: () => void, signal: AbortSignal): SharedLook {
    const { caller, clock, bounds, compile } = this.#parts
    const key = keyOf(policy)
    const known = this.#looks.get(key)
    if (known !== undefined && clock.monotonicMs() - known.askedAt() < bounds.policyProofMs) {
      return known
    }
    let askedAt = clock.monotonicMs()
    const onTry = (): void => {
      askedAt = clock.monotonicMs()
      onCall()
    }
    const seen = caller.read(targetOf(policy), onTry, signal).then((answer) => {
      const found = lookOf(answer, compile)
      this.#keep(key, typeof found === 'string' ? null : found.content.rule)
      return found
    })
    this.#looks.delete(key)
    const shared = { askedAt: () => askedAt, seen }
    this.#looks.set(key, shared)
    forgetOldest(this.#looks, bounds.policyProofs)
    return shared
  }

  #keep(key: string, rule: Rule | null): void {
    const known = this.#rules.get(key)
    this.#rules.delete(key)
    if (rule !== null) this.#rules.set(key, rule)
    forgetOldest(this.#rules, this.#parts.bounds.policyProofs)
    const isSame = rule === null ? known === undefined : known && digestOf(known) === digestOf(rule)
    if (isSame !== true) this.#parts.onRules()
  }
}

/** Empty where the policy is as the command has it. */
function disagreement({ name, digest }: CommandRule, policy: RulePolicy, look: Read): string {
  if (look.uid !== policy.uid) return 'is another object by now'
  if (look.isDeleted) return 'is being deleted'
  const { rule, problem, account } = look.content
  if (rule === null) return `is refused: ${problem}`
  // By which it is another rule, too; this says more.
  if (account !== policy.account) return 'names another account by now'
  if (rule.name !== name || digestOf(rule) !== digest) return 'was changed since'
  if (look.enforced === digest) return ''
  return `is not enforced: its annotation ${ENFORCE_ANNOTATION} is not ${digest}`
}

function lookOf(answer: ReadAnswer | UnknownAnswer, compile: CompileExpression): Look {
  switch (answer.type) {
    case 'Absent':
      return 'does not exist any more'
    case 'Unknown':
      return `cannot be read: ${answer.reason}`
    case 'Found': {
      const { uid, deletedAt } = answer.object
      const body: unknown = JSON.parse(answer.text)
      const content = policyContent(body, compile)
      return { uid, isDeleted: deletedAt !== null, enforced: enforcedIn(body), content }
    }
  }
}

function enforcedIn(body: unknown): string {
  const metadata = fieldOf(body, 'metadata')
  const value = fieldOf(fieldOf(metadata, 'annotations'), ENFORCE_ANNOTATION)
  return typeof value === 'string' ? value : ''
}

function fieldOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Readonly<Record<string, unknown>>)[key]
}

function nameOf({ kind, namespace, name }: RulePolicy): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`
}

function keyOf({ kind, namespace, name }: RulePolicy): string {
  return `${kind}/${namespace}/${name}`
}

function targetOf({ kind, version, namespace, name, uid }: RulePolicy): Target {
  const resource = policyResource(kind)
  return {
    ...{ group: POLICY_GROUP, kind, version, resource, namespace, name, uid },
    ...{ resourceVersion: '', aggregated: false },
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
