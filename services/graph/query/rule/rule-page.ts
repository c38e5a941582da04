/**
 * One page of what a rule deletes, or would: its objects by the time when each is due, the earliest
 * first.
 *
 * What must stay true: pages follow that time and the uid, which no passing of time moves, so what
 * is throughout as it was is listed, and nothing twice. What would be deleted along is counted by a
 * plan of each, for so many and for so long; where it is not, it is null.
 *
 * Not here: counting (rule-scan.ts), plans (query/plan).
 */
import type { Node } from '../../../../core/model/node.ts'
import type { Rule } from '../../../../core/model/rule/rule.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { RulePlan } from '../../api/answer-schema.ts'
import type { Row, Unshaped } from '../../api/document.ts'
import { judgedOf } from '../answer/tree.ts'
import type { Planner } from '../plan/plan.ts'
import type { View } from '../view/view.ts'
import { placeOf, type RuleCounts, type ScanScope, scanned, type TimedObject } from './rule-scan.ts'

/** Objects of a page for which it is counted what is deleted along, and for how long. */
const MOST_ALONG = 100
const ALONG_MS = 2_000

export type RuleObject = Row<Unshaped<RulePlan>['objects']>

/** Where a page begins: behind this one. */
export interface After {
  readonly dueAt: number
  readonly uid: string
}

export interface RulePage {
  readonly counts: RuleCounts
  readonly objects: readonly RuleObject[]
  /** Null: there are no more. */
  readonly next: After | null
  readonly partial: string
}

export interface RulePageAsked extends ScanScope {
  readonly limit: number
  readonly after: After | null
}

export interface RulePageParts {
  readonly planner: Planner
  readonly clock: Pick<Clock, 'monotonicMs'>
}

export async function rulePage(
  { planner, clock }: RulePageParts,
  view: View,
  rule: Rule,
  asked: RulePageAsked,
): Promise<RulePage> {
  const first = new First(asked.limit + 1, asked.after)
  const { counts, partial } = await scanned(view, [rule], asked, {
    onTimed: (_, object) => first.add(object),
  })
  const found = first.all()
  const page = found.slice(0, asked.limit)
  const last = page.at(-1)
  const until = clock.monotonicMs() + ALONG_MS
  const objects: RuleObject[] = []
  for (const each of page) {
    const isCounted = objects.length < MOST_ALONG && clock.monotonicMs() < until
    objects.push(await objectOf(planner, view, { rule, each, isCounted }))
  }
  return {
    counts: counts.get(rule.name)!,
    objects,
    next: found.length > page.length && last !== undefined ? placeIn(last) : null,
    partial,
  }
}

interface Listed {
  readonly rule: Rule
  readonly each: TimedObject
  readonly isCounted: boolean
}

async function objectOf(
  planner: Planner,
  view: View,
  { rule, each: { node, dueAt, because }, isCounted }: Listed,
): Promise<RuleObject> {
  const { group, kind, namespace, name, uid, deletedAt } = node.object
  const isDue = dueAt <= (view.facts.state?.now ?? 0)
  const along = isDue && isCounted && deletedAt === null && rule.annotate === null
  return {
    ...{ group, kind, namespace, name, uid, dueAt, isDue, because },
    by: deciderOf(rule, node),
    along: along ? await alongOf(planner, view, rule, node) : null,
    ...judgedOf(node),
  }
}

function deciderOf(rule: Rule, node: Node): RuleObject['by'] {
  const { verdict } = node
  if (verdict?.rule === rule.name) return 'rule'
  if (verdict?.rule != null) return 'other-rule'
  return placeOf(rule, node).in === 'next' ? 'none' : 'owners'
}

/** But for the object itself. */
async function alongOf(
  planner: Planner,
  view: View,
  { propagationPolicy }: Rule,
  { object }: Node,
): Promise<number | null> {
  const made = await planner.plan(view, object.uid, propagationPolicy, 0)
  if (made === undefined || made.answer.total === null) return null
  const taken = made.answer.counts.filter(
    ({ effect }) => effect === 'deleted' || effect === 'stuck',
  )
  return Math.max(0, taken.reduce((sum, { count }) => sum + count, 0) - 1)
}

/** The first of all that are added, by time and uid. */
class First {
  readonly #most: number
  readonly #after: After | null
  #kept: TimedObject[] = []

  constructor(most: number, after: After | null) {
    this.#most = most
    this.#after = after
  }

  add(object: TimedObject): void {
    if (this.#after !== null && compare(placeIn(object), this.#after) <= 0) return
    this.#kept.push(object)
    if (this.#kept.length >= 2 * this.#most + 1_000) this.#kept = this.all()
  }

  all(): TimedObject[] {
    return this.#kept.sort((a, b) => compare(placeIn(a), placeIn(b))).slice(0, this.#most)
  }
}

function placeIn({ dueAt, node }: TimedObject): After {
  return { dueAt, uid: node.object.uid }
}

function compare(a: After, b: After): number {
  if (a.dueAt !== b.dueAt) return a.dueAt - b.dueAt
  return a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0
}
