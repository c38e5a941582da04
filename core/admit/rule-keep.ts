/**
 * What rules count that keep the newest objects of each group.
 *
 * What must stay true: only trusted objects count that live and about which owners leave the
 * decision to rules. Whatever ends a reason not to delete has the object judged again.
 *
 * Not here: the place of an object, and what is beyond (judge/keep.ts).
 */
import { ensureTimer } from '../graph/agenda.ts'
import { judgeAgain, setRows } from '../graph/keep-index.ts'
import type { Step } from '../graph/outcome.ts'
import { waitFor } from '../graph/wait.ts'
import { caughtUpAt, isMovingBack, rowOf, unsureBecause } from '../judge/keep.ts'
import { duenessOf } from '../judge/rule.ts'
import type { Judgement } from '../judge/verdict.ts'
import { isLeftToRules } from '../judge/verdict.ts'
import type { Node } from '../model/node.ts'
import type { ObjectMeta } from '../model/object.ts'
import type { Rule } from '../model/rule/rule.ts'
import { isReadFor, rulesOfKind } from '../model/rule/rule.ts'
import type { KeptRow } from '../model/state.ts'

/** Before it is decided by what is counted. True: the object is counted otherwise than before. */
export function countKept(step: Step, { object }: Node, judgement: Judgement): boolean {
  const { graph } = step
  const ofKind = rulesOfKind(graph.policy.policy.rules, object)
  const keeping = ofKind?.keeping ?? []
  if (keeping.length === 0 && graph.keeping === undefined) return false
  const isLeft = judgement.rule !== null || isLeftToRules(judgement.verdict)
  const isRead = ofKind !== null && isReadFor(object, ofKind)
  const isCounted = isLeft && isRead && object.deletedAt === null
  const now = graph.state?.now ?? 0
  const rows = isCounted ? keeping.flatMap((rule) => dueRow(rule, object, now) ?? []) : []
  return setRows(step, object.uid, rows)
}

/** Null while it is not due by the rule. */
function dueRow(rule: Rule, object: ObjectMeta, now: number): KeptRow | null {
  const found = duenessOf(rule, object, now)
  return found === null || found.at - rule.warnMs > now ? null : rowOf(rule, object)
}

/** It is due by the rule, and perhaps only because of what is not known now. */
export function noteUnsure(step: Step, rule: Rule, { object }: Node): void {
  if (rule.keep === null || unsureBecause(step.graph, rule, object) === '') return
  waitFor(step, object, object.uid)
  const { state } = step.graph
  if (state !== undefined && state.now < caughtUpAt(state)) {
    ensureTimer(step, caughtUpAt(state), object.uid)
  }
  const moving = isMovingBack(step.graph, rule, object)
  if (moving !== null) judgeAgain(step, moving.row, moving.group)
}
