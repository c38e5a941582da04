/**
 * What holds an object that a rule has deleted or annotated: its waiting time, the rule's limit,
 * who makes the object again, or takes the annotation off, and that no order enforces the rule.
 *
 * What must stay true: a rule is in dry run until an order enforces it, as it is. All that becomes
 * due together is counted before the first of it is deleted, so a rule over its limit deletes
 * nothing. What holds all of a rule ends by an order only.
 *
 * Not here: whether the rule matches (judge/rule.ts), what holds any deletion (hold.ts).
 */
import type { ClusterGraph } from '../graph/cluster-graph.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import type { Step } from '../graph/outcome.ts'
import { freeTurnsOf, ruleTurnOf } from '../graph/rule/rule-turn.ts'
import { ANY_KIND, waitFor } from '../graph/wait.ts'
import { byNamespace, isTenant, minuteOf, since, sumOf, withOne } from '../graph/window.ts'
import { unsureBecause } from '../judge/condition.ts'
import { unsureOfElsewhere } from '../judge/elsewhere.ts'
import { NAMESPACES_COUNTED } from '../model/constant.ts'
import type { Node } from '../model/node.ts'
import type { GroupKind, ObjectMeta, OwnerReference, Uid } from '../model/object.ts'
import { reportOf } from '../model/rule/report.ts'
import type { Rule, RuleLimit } from '../model/rule/rule.ts'
import { boundTo, digestOf, orderOf, rulesOfKind } from '../model/rule/rule.ts'
import type { HeldNamespace, RuleOwner, RuleRun } from '../model/state.ts'
import { timeText } from '../model/text.ts'
import { enforceText, releaseText, untrustedPolicy } from './policy-hold.ts'

const HOUR_MINUTES = 60
const DAY_MS = 24 * 3_600_000
/** An object made this soon after one was deleted replaces it. */
const REPLACED_MS = 120_000
/** So many, and the rule deletes no more of that controller's. */
const MOST_REPLACED = 2

interface RuleHindrance {
  readonly by: 'hold' | 'rule' | 'budget'
  readonly because: string
  readonly until: number | null
}

/**
 * Since when it waits: of a rule that warns ahead since the warning, so that nothing is deleted
 * without one. `since`: since when it has been due.
 */
export function waitsSince(
  { warnedAt }: Node,
  { warnMs }: Rule,
  since: number,
  now: number,
): number {
  return warnMs === 0 ? since : (warnedAt.find((at) => at >= since) ?? now)
}

/** `until`: log time at which it has waited; null where it need not. */
export function heldByRule(
  facts: ClusterFacts,
  node: Node,
  rule: Rule,
  until: number | null,
): RuleHindrance | null {
  const now = facts.state?.now ?? 0
  const held = (because: string): RuleHindrance => ({ by: 'rule', because, until: null })
  // The time that it waits begins anew once that cluster is followed again.
  const unfollowed = unsureOfElsewhere(facts, rule)
  if (unfollowed !== '') return held(unfollowed)
  if (until !== null && now < until) {
    const because = `held until ${timeText(until)} (rule ${rule.name})`
    return { by: 'hold', because, until }
  }
  const report = reportOf(rule)
  if (report !== '') return held(`rule ${rule.name} only reports (${report})`)
  const untrusted = untrustedPolicy(facts, rule)
  if (untrusted !== null) {
    return held(`rule ${rule.name} waits until its ${untrusted.kind} is listed: it is untrusted`)
  }
  const order = orderOf(rule, facts.enforced)
  const run = currentRun(facts, rule)
  const over = run === null ? '' : overIn(run, node.object.namespace)
  if (over !== '') return held(`${over}; ${releaseText(rule)}`)
  if (!isShareKnown(facts, rule)) {
    return held(`rule ${rule.name} has a limit by share, and its kinds are not all listed yet`)
  }
  const unsure = unsureBecause(facts, rule, node.object)
  if (unsure !== '') return held(unsure)
  const fight = fightOf(facts, node, rule)
  if (fight !== '') return held(`${fight}; ${releaseText(rule)}`)
  const stripped = heldByRemoval(facts, node, rule)
  if (stripped !== null) return stripped
  return order === undefined
    ? held(`rule ${rule.name} is in dry run; ${enforceText(rule)} ends that`)
    : null
}

/**
 * Of all rules of a cluster so many deletions are under way, however many objects are due: what is
 * deleted beside them waits for no more.
 */
export function heldForTurn(facts: ClusterFacts, node: Node): RuleHindrance | null {
  if (ruleTurnOf(node) === 'has' || freeTurnsOf(facts, node.object.namespace) > 0) return null
  const because = 'deletions by rules take turns, and others are under way'
  return { by: 'budget', because, until: null }
}

/** Null where nothing was counted since the rule is as it is, and since it was enforced last. */
export function currentRun(facts: ClusterFacts, rule: Rule): RuleRun | null {
  const run = facts.ruleRun(rule.name)
  if (run === undefined || run.digest !== digestOf(rule)) return null
  const enforcedAt = orderOf(rule, facts.enforced)?.at ?? 0
  const heldAt = run.heldAt || (run.heldIn[0]?.heldAt ?? 0)
  return heldAt > 0 && heldAt < enforcedAt ? null : run
}

/** Why it holds what is due in a namespace; empty where it is within its limit there. */
function overIn({ because, heldIn }: RuleRun, namespace: string): string {
  return because || (heldIn.find((each) => each.namespace === namespace)?.because ?? '')
}

/** In all of the cluster, or in a namespace. */
export function isOverLimit(facts: ClusterFacts, rule: Rule): boolean {
  const run = currentRun(facts, rule)
  return run !== null && overText(run) !== ''
}

/** Where it is over its limit, for people; empty where it is not. */
export function overText({ because, heldIn }: RuleRun): string {
  return because || heldIn.map((each) => each.because).join('; ')
}

/** An object is due by a rule as it is, and counted once. `time`: of the record. */
export function noteDue(step: Step, rule: Rule, { object, dueBy }: Node, time: number): void {
  const untrusted = untrustedPolicy(step.graph, rule)
  if (untrusted !== null) waitFor(step, untrusted, object.uid)
  if (rule.limit === null) return
  if (dueBy !== digestOf(rule)) {
    const run = currentRun(step.graph, rule) ?? NONE_DUE
    const due = withOne(run.due, time, HOUR_MINUTES, object.namespace)
    step.graph.setRuleRun(rule.name, { ...run, digest: digestOf(rule), due })
    checkLimit(step, rule, time)
  }
  if (!isShareKnown(step.graph, rule)) waitFor(step, ANY_KIND, object.uid)
}

const NONE_DUE: RuleRun = {
  ...{ type: 'RuleRun', digest: '', due: [] },
  ...{ heldAt: 0, because: '', heldIn: [] },
}

/** A kind is listed, or not to be, perhaps the last one of a rule: its share is known now. */
export function noteListed(step: Step, kind: GroupKind, time: number): void {
  for (const rule of step.graph.rules) {
    const { kinds } = rule.match
    const isAbout = kinds.some((each) => each.kind === kind.kind && each.group === kind.group)
    if (isAbout) checkLimit(step, rule, time)
  }
}

/**
 * Whether what is due together is too much: with each object that becomes due, and not later, when
 * what was deleted meanwhile would be missing in the share. A namespace has half of the limit, and
 * is held alone when it is over that: so one with many objects that are due does not hold the rule
 * for the others. All together are never more than the limit.
 */
function checkLimit({ graph }: Step, rule: Rule, time: number): void {
  const run = currentRun(graph, rule)
  if (rule.limit === null || run === null || run.heldAt > 0) return
  if (!isShareKnown(graph, rule)) return
  const most = mostOf(graph, rule, rule.limit)
  const each = isOfOneNamespace(rule) ? undefined : Math.ceil(most / 2)
  const counts = byNamespace(since(run.due, minuteOf(time) - HOUR_MINUTES + 1))
  const because = overLimit(rule, most, 'its limit')
  if (sumOf(counts, each) > most) {
    return graph.setRuleRun(rule.name, { ...run, heldAt: time, because })
  }
  for (const [namespace, count] of counts) {
    if (each === undefined || count <= each || !isTenant(namespace)) continue
    if (overIn(run, namespace) !== '') continue
    const half = `half of its limit in namespace ${namespace}`
    const held = { namespace, heldAt: time, because: overLimit(rule, each, half) }
    return holdIn(graph, rule, run, held)
  }
}

/** Where too many namespaces are held all are. */
function holdIn(graph: ClusterGraph, rule: Rule, run: RuleRun, held: HeldNamespace): void {
  const { heldAt, because } = held
  const heldIn = [...run.heldIn, held]
  const isAll = heldIn.length > NAMESPACES_COUNTED
  graph.setRuleRun(rule.name, isAll ? { ...run, heldAt, because } : { ...run, heldIn })
}

function isOfOneNamespace(rule: Rule): boolean {
  const { namespaces } = rule.match
  if (boundTo(rule) !== '') return true
  return namespaces.length === 1 && namespaces[0]?.includes('*') === false
}

function mostOf(facts: ClusterFacts, rule: Rule, { perHour, percent }: RuleLimit): number {
  const { match } = rule
  // How many objects a namespace has is not counted, and a share of all would be none of its own.
  if (percent === 0 || boundTo(rule) !== '') return perHour
  const count = match.kinds.reduce((sum, kind) => sum + facts.members(kind).count, 0)
  return Math.max(perHour, Math.floor((count * percent) / 100))
}

/** While kinds are listed for the first time a share of what was listed by then is none of them. */
function isShareKnown(facts: ClusterFacts, rule: Rule): boolean {
  const { limit, match } = rule
  if (limit === null || limit.percent === 0 || boundTo(rule) !== '') return true
  return match.kinds.every((kind) => facts.kind(kind)?.phase !== 'unsynced')
}

function overLimit({ name }: Rule, most: number, limit: string): string {
  return `rule ${name} is over ${limit}: more than ${most} objects became due within an hour`
}

/** The controller of the object makes again what the rule deletes: both would go on for ever. */
function fightOf(facts: ClusterFacts, { object }: Node, rule: Rule): string {
  if (rule.annotate !== null) return ''
  const controller = controllerOf(facts, object)
  const known = controller && currentOwner(facts, rule, controller.uid)
  if (controller === undefined || known == null || known.replaced < MOST_REPLACED) return ''
  const { kind, name } = controller
  return `${kind} ${name} made ${known.replaced} objects again right after rule ${rule.name} had deleted them`
}

/** Null where nothing was counted since the rule was enforced last. */
function currentOwner(facts: ClusterFacts, rule: Rule, controller: Uid): RuleOwner | null {
  const known = facts.ruleOwner(rule.name, controller)
  const enforcedAt = orderOf(rule, facts.enforced)?.at ?? 0
  return known === undefined || known.deletedAt < enforcedAt ? null : known
}

/** A command by this rule is issued for it. `time`: of the record. */
export function countDeleted(step: Step, rule: Rule, node: Node, time: number): void {
  if (rule.annotate !== null) return countAnnotated(step, rule, node, time)
  const { graph } = step
  const { object } = node
  const controller = controllerOf(graph, object)
  if (controller === undefined) return
  const known = currentOwner(graph, rule, controller.uid)
  // Its time: how long such an object lives under the rule, and at least a day.
  const span = Math.max(DAY_MS, 2 * (time - (object.createdAt ?? time)))
  const isGoneBy = known !== null && time > known.deletedAt + span
  const before = known === null || isGoneBy ? NONE_DELETED : known
  graph.setRuleOwner(rule.name, controller.uid, {
    ...before,
    deletedAt: time,
    deleted: before.deleted + 1,
  })
}

const NONE_DELETED: RuleOwner = { type: 'RuleOwner', deletedAt: 0, deleted: 0, replaced: 0 }

/** An annotation that was taken off so often in this time is not set again until it is over. */
const MOST_REMOVED = 2
const REMOVED_MS = 7 * DAY_MS

/**
 * Another actor takes the annotation off that the rule sets: both would go on for ever. So does a
 * webhook of the cluster that drops it.
 */
function heldByRemoval(facts: ClusterFacts, node: Node, rule: Rule): RuleHindrance | null {
  if (rule.annotate === null) return null
  const known = annotatedBy(facts, rule, node, facts.state?.now ?? 0)
  const removed = removedOf(known, node)
  if (removed < MOST_REMOVED) return null
  const until = known.deletedAt + REMOVED_MS
  const what = `annotation ${rule.annotate.key} was removed ${removed} times after rule ${rule.name} had set it`
  const because = `${what}: held until ${timeText(until)}; ${releaseText(rule)}`
  return { by: 'rule', because, until }
}

/** The rule's command was carried out, and the object is due again: it lacks the annotation. */
function removedOf({ deleted, replaced }: RuleOwner, { attempt }: Node): number {
  const isDone = attempt?.verb === 'AnnotateObject' && attempt.state === 'done'
  return Math.min(deleted, replaced + Number(isDone))
}

/** Of one object, under its own uid. */
function annotatedBy(facts: ClusterFacts, rule: Rule, { object }: Node, now: number): RuleOwner {
  const known = currentOwner(facts, rule, object.uid)
  return known === null || now >= known.deletedAt + REMOVED_MS ? NONE_DELETED : known
}

/** A command to set it is issued. */
function countAnnotated({ graph }: Step, rule: Rule, node: Node, time: number): void {
  const known = annotatedBy(graph, rule, node, time)
  const counted = { deletedAt: time, deleted: known.deleted + 1, replaced: removedOf(known, node) }
  graph.setRuleOwner(rule.name, node.object.uid, { type: 'RuleOwner', ...counted })
}

/** A watch reports a new object: perhaps it replaces one that a rule deleted. */
export function countMade(step: Step, object: ObjectMeta, time: number): void {
  const { graph } = step
  const ofKind = rulesOfKind(graph.rules, object)
  const controller = controllerOf(graph, object)
  if (ofKind === null || controller === undefined) return
  for (const rule of ofKind.rules) {
    if (rule.annotate !== null) continue
    const known = currentOwner(graph, rule, controller.uid)
    if (known === null || time > known.deletedAt + REPLACED_MS) continue
    if (known.replaced >= known.deleted) continue
    const replaced = known.replaced + 1
    graph.setRuleOwner(rule.name, controller.uid, { ...known, replaced })
  }
}

/**
 * One that is there, in the object's own namespace or in none: an object of another namespace may
 * name any uid. A CronJob makes Jobs by its schedule, whatever becomes of former ones.
 */
function controllerOf(facts: ClusterFacts, object: ObjectMeta): OwnerReference | undefined {
  const named = object.ownerReferences.find(({ controller }) => controller === true)
  const owner = named && facts.node(named.uid)?.object
  if (named === undefined || owner === undefined || owner.kind === 'CronJob') return undefined
  return owner.namespace === '' || owner.namespace === object.namespace ? named : undefined
}
