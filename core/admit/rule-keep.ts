/**
 * What rules count that keep the newest objects of each group, and what objects wait for that are
 * due while another one is absent, or as the rule says.
 *
 * What must stay true: only trusted objects count that live and about which owners leave the
 * decision to rules. Whatever ends a reason not to delete has the object judged again.
 *
 * Not here: the place of an object, and what is beyond (judge/keep.ts); what is absent
 * (judge/beside.ts).
 */
import { ensureTimer } from '../graph/agenda.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import type { Step } from '../graph/outcome.ts'
import { judgeAgain, setIndexed } from '../graph/rule/keep-index.ts'
import { nameKind } from '../graph/rule/name-index.ts'
import { waitFor } from '../graph/wait.ts'
import { namedBy } from '../judge/beside.ts'
import { unsureBecause } from '../judge/condition.ts'
import { waitsForElsewhere } from '../judge/elsewhere.ts'
import { caughtUpAt, isMovingBack, rowOf } from '../judge/keep.ts'
import { dueWith } from '../judge/rule.ts'
import { silenceClearedAt, waitsForUse } from '../judge/unused.ts'
import type { Judgement } from '../judge/verdict.ts'
import { isLeftToRules } from '../judge/verdict.ts'
import type { Node } from '../model/node.ts'
import type { GroupKind, ObjectMeta } from '../model/object.ts'
import type { Rule } from '../model/rule/rule.ts'
import { isAboutOthers, isEnforced, isReadFor, rulesOfKind } from '../model/rule/rule.ts'

/** Before it is decided by what is counted. True: the object is counted otherwise than before. */
export function countKept(step: Step, { object }: Node, judgement: Judgement): boolean {
  const { graph } = step
  const ofKind = rulesOfKind(graph.rules, object)
  const indexed = ofKind?.indexed ?? []
  if (indexed.length === 0 && graph.keeping === undefined) return false
  const isLeft = judgement.rule !== null || isLeftToRules(judgement.verdict)
  const isRead = ofKind !== null && isReadFor(object, ofKind)
  const due = isLeft && isRead ? indexed.filter((rule) => isDue(graph, rule, object)) : []
  const rows = goesAnyway(graph, judgement) ? [] : due.flatMap((rule) => rowOf(rule, object) ?? [])
  const waits = due.flatMap((rule) => waitsOf(step, rule, object))
  return setIndexed(step, object.uid, { rows, waits })
}

/** An order has another rule delete it, whatever else is there: it is none of those that stay. */
function goesAnyway({ enforced }: ClusterFacts, { rule }: Judgement): boolean {
  if (rule === null || rule.keep !== null || rule.annotate !== null) return false
  if (isAboutOthers(rule)) return false
  return isEnforced(rule, enforced)
}

/** But for what takes other objects. */
function isDue(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  if (rule.match.terminating !== (object.deletedAt !== null)) return false
  const now = facts.state?.now ?? 0
  const found = dueWith(facts, rule, object)
  return found !== null && found.at - rule.warnMs <= now
}

/**
 * For the object that it names; and for the kind, whose list may show one where none is known, and
 * without whose watch it is not known what one is like.
 */
function waitsOf({ graph }: Step, rule: Rule, object: ObjectMeta): readonly GroupKind[] {
  if (rule.unused !== null) return waitsForUse(graph, rule, object)
  if (rule.elsewhere !== null) return waitsForElsewhere(object)
  const named = namedBy(rule, object)
  if (named === null) return []
  const { group, kind } = named
  const isKnown = rule.beside === null && graph.named(named).length > 0
  return isKnown ? [nameKind(named)] : [nameKind(named), { group, kind }]
}

/** It is due by the rule, and perhaps only because of what is not known now. */
export function noteUnsure(step: Step, rule: Rule, { object }: Node): void {
  if (rule.keep === null && !isAboutOthers(rule)) return
  const { state } = step.graph
  if (state === undefined || unsureBecause(step.graph, rule, object) === '') return
  if (state.now < caughtUpAt(state)) ensureTimer(step, caughtUpAt(state), object.uid)
  const clearedAt = silenceClearedAt(step.graph, rule, object)
  if (state.now < clearedAt) ensureTimer(step, clearedAt, object.uid)
  if (rule.keep === null) return
  waitFor(step, object, object.uid)
  const moving = isMovingBack(step.graph, rule, object)
  if (moving !== null) judgeAgain(step, moving.row, moving.group)
}
