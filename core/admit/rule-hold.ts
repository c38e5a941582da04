/**
 * What holds an object that a rule has deleted: its waiting time, the rule's limit, a controller
 * that makes the object again, and that no order enforces the rule.
 *
 * What must stay true: a rule is in dry run until an order enforces it, as it is. All that becomes
 * due together is counted before the first of it is deleted, so a rule over its limit deletes
 * nothing. What holds all of a rule ends by an order only.
 *
 * Not here: whether the rule matches (judge/rule.ts), what holds any deletion (hold.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Step } from '../graph/outcome.ts'
import { ANY_KIND, waitFor } from '../graph/wait.ts'
import { minuteOf, since, withOne } from '../graph/window.ts'
import { unsureBecause } from '../judge/condition.ts'
import type { Node } from '../model/node.ts'
import type { GroupKind, ObjectMeta, OwnerReference, Uid } from '../model/object.ts'
import type { Rule, RuleLimit } from '../model/rule/rule.ts'
import { digestOf, orderOf, rulesOfKind } from '../model/rule/rule.ts'
import type { RuleOwner, RuleRun } from '../model/state.ts'
import { shellWord, timeText } from '../model/text.ts'

const HOUR_MINUTES = 60
const DAY_MS = 24 * 3_600_000
/** An object made this soon after one was deleted replaces it. */
const REPLACED_MS = 120_000
/** So many, and the rule deletes no more of that controller's. */
const MOST_REPLACED = 2

interface RuleHindrance {
  readonly by: 'hold' | 'rule'
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
  if (until !== null && now < until) {
    const because = `held until ${timeText(until)} (rule ${rule.name})`
    return { by: 'hold', because, until }
  }
  const held = (because: string): RuleHindrance => ({ by: 'rule', because, until: null })
  const order = orderOf(rule, facts.directives.rules)
  const enforce = `"kinfold rules enforce ${shellWord(rule.name)} --why …"`
  const run = currentRun(facts, rule)
  if (run !== null && run.heldAt > 0) return held(`${run.because}; ${enforce} releases it`)
  if (!isShareKnown(facts, rule)) {
    return held(`rule ${rule.name} has a limit by share, and its kinds are not all listed yet`)
  }
  const unsure = unsureBecause(facts, rule, node.object)
  if (unsure !== '') return held(unsure)
  const fight = fightOf(facts, node, rule)
  if (fight !== '') return held(`${fight}; ${enforce} releases it`)
  return order === undefined ? held(`rule ${rule.name} is in dry run; ${enforce} ends that`) : null
}

/** Null where nothing was counted since the rule is as it is, and since it was enforced last. */
export function currentRun(facts: ClusterFacts, rule: Rule): RuleRun | null {
  const run = facts.ruleRun(rule.name)
  if (run === undefined || run.digest !== digestOf(rule)) return null
  const enforcedAt = orderOf(rule, facts.directives.rules)?.at ?? 0
  return run.heldAt > 0 && run.heldAt < enforcedAt ? null : run
}

/** An object is due by a rule, and counted once. `time`: of the record. */
export function noteDue(step: Step, rule: Rule, { object, verdict }: Node, time: number): void {
  if (rule.limit === null) return
  if (verdict?.rule !== rule.name) {
    const run = currentRun(step.graph, rule) ?? NONE_DUE
    const due = withOne(run.due, time, HOUR_MINUTES, object.namespace)
    step.graph.setRuleRun(rule.name, { ...run, digest: digestOf(rule), due })
    checkLimit(step, rule, time)
  }
  if (!isShareKnown(step.graph, rule)) waitFor(step, ANY_KIND, object.uid)
}

const NONE_DUE: RuleRun = { type: 'RuleRun', digest: '', due: [], heldAt: 0, because: '' }

/** A kind is listed, or not to be, perhaps the last one of a rule: its share is known now. */
export function noteListed(step: Step, kind: GroupKind, time: number): void {
  const ofKind = rulesOfKind(step.graph.policy.policy.rules, kind)
  for (const rule of ofKind?.rules ?? []) checkLimit(step, rule, time)
}

/**
 * Whether what is due together is too much: with each object that becomes due, and not later, when
 * what was deleted meanwhile would be missing in the share.
 */
function checkLimit({ graph }: Step, rule: Rule, time: number): void {
  const run = currentRun(graph, rule)
  if (rule.limit === null || run === null || run.heldAt > 0) return
  if (!isShareKnown(graph, rule)) return
  const most = mostOf(graph, rule, rule.limit)
  if (sumOf(run.due, time) <= most) return
  graph.setRuleRun(rule.name, { ...run, heldAt: time, because: overText(rule, most) })
}

function mostOf(facts: ClusterFacts, { match }: Rule, { perHour, percent }: RuleLimit): number {
  if (percent === 0) return perHour
  const count = match.kinds.reduce((sum, kind) => sum + facts.members(kind).count, 0)
  return Math.max(perHour, Math.floor((count * percent) / 100))
}

/** While kinds are listed for the first time a share of what was listed by then is none of them. */
function isShareKnown(facts: ClusterFacts, { limit, match }: Rule): boolean {
  if (limit === null || limit.percent === 0) return true
  return match.kinds.every((kind) => facts.kind(kind)?.phase !== 'unsynced')
}

function sumOf(minutes: RuleRun['due'], time: number): number {
  const counted = since(minutes, minuteOf(time) - HOUR_MINUTES + 1)
  return counted.flatMap(({ namespaces }) => namespaces).reduce((sum, { count }) => sum + count, 0)
}

function overText({ name }: Rule, most: number): string {
  return `rule ${name} is over its limit: more than ${most} objects became due within an hour`
}

/** The controller of the object makes again what the rule deletes: both would go on for ever. */
function fightOf(facts: ClusterFacts, { object }: Node, rule: Rule): string {
  const controller = controllerOf(facts, object)
  const known = controller && currentOwner(facts, rule, controller.uid)
  if (controller === undefined || known == null || known.replaced < MOST_REPLACED) return ''
  const { kind, name } = controller
  return `${kind} ${name} made ${known.replaced} objects again right after rule ${rule.name} had deleted them`
}

/** Null where nothing was counted since the rule was enforced last. */
function currentOwner(facts: ClusterFacts, rule: Rule, controller: Uid): RuleOwner | null {
  const known = facts.ruleOwner(rule.name, controller)
  const enforcedAt = orderOf(rule, facts.directives.rules)?.at ?? 0
  return known === undefined || known.deletedAt <= enforcedAt ? null : known
}

/** A command by this rule is issued for it. `time`: of the record. */
export function countDeleted({ graph }: Step, rule: Rule, node: Node, time: number): void {
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

/** A watch reports a new object: perhaps it replaces one that a rule deleted. */
export function countMade(step: Step, object: ObjectMeta, time: number): void {
  const { graph } = step
  const ofKind = rulesOfKind(graph.policy.policy.rules, object)
  const controller = controllerOf(graph, object)
  if (ofKind === null || controller === undefined) return
  for (const rule of ofKind.rules) {
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
