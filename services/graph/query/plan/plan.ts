/**
 * What would happen if an object were deleted: all of its dependents, by a rehearsal in which every
 * command takes effect as the API server would have it.
 *
 * What must stay true: nothing is written; what cannot be foreseen (an owner to be verified,
 * another controller's finalizer) is named as a blocker and never assumed; a plan that was cut,
 * made while the graph changed, or in part hidden, says so and has no digest.
 *
 * Not here: what each command would do (plan-run.ts), the fold over an overlay (rehearsal.ts),
 * words and tables (cli/ask/plan.ts).
 */
import { brokenBecause } from '../../../../core/admit/breaker.ts'
import { pausedBecause } from '../../../../core/admit/paused.ts'
import { InvariantError, invariant } from '../../../../core/model/invariant.ts'
import type { PropagationPolicy, Uid } from '../../../../core/model/object.ts'
import type { Evidence } from '../../../../core/model/proof.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { Plan as AnsweredPlan } from '../../api/answer-schema.ts'
import type { AnswerOf, Row } from '../../api/document.ts'
import type { PlannedObject } from '../../api/part-schema.ts'
import { spanText } from '../../api/word.ts'
import type { Turns } from '../../turns.ts'
import { hiddenText, type Sight, shownOf, WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { PlanRun } from './plan-run.ts'
import { digestOf, sorted } from './planned-object.ts'
import { Rehearsal } from './rehearsal.ts'
import { takenAlong, unwatchedText } from './taken-along.ts'

/** Objects that a plan holds at most, some 3 KB each; then it is cut. */
const PLAN_LIMIT = 20_000
/** Breakers that are named. */
const MOST_NAMED = 5
/** How often it is made again when the graph changed under it. */
const ATTEMPTS = 3

export type PlanCount = Row<Plan['counts']>

export interface Plan extends Omit<AnswerOf<AnsweredPlan>, 'cascade'> {
  readonly cascade: PropagationPolicy
}

export interface Planner {
  /** Undefined when it is not there. */
  plan(
    view: View,
    root: Uid,
    cascade: PropagationPolicy,
    limit: number,
    sight?: Sight,
  ): Promise<{ readonly answer: Plan; readonly partial: string } | undefined>
}

export function createPlanner(planLimit: number = PLAN_LIMIT): Planner {
  return {
    async plan(view, root, cascade, limit, sight = WHOLE) {
      for (let attempt = 1; ; attempt++) {
        const node = view.node(root)
        if (node === undefined && view.partial() !== '') {
          throw new Problem(503, `whether it exists is unknown; ask again later: ${view.partial()}`)
        }
        if (node === undefined) return undefined
        const along = await takenAlong(view, node.object, planLimit)
        const rehearsal = new Rehearsal(view)
        const run = new PlanRun(rehearsal, planLimit)
        let isTorn = false
        try {
          await run.make(node.object, cascade, along?.uids)
        } catch (error) {
          // Read while it changed, the graph may contradict itself; otherwise it is as impossible
          // as ever.
          const isExplained = view.partial() !== '' || (await rehearsal.hasChanged())
          if (!(error instanceof InvariantError) || !isExplained) throw error
          isTorn = true
        }
        isTorn ||= await rehearsal.hasChanged()
        if (isTorn && attempt < ATTEMPTS) continue
        const planned = await run.objects(view.turns)
        const shown = await shownIn(planned, root, sight)
        const hidden = planned.filter((each) => !shown.has(each))
        const more = along?.lacking ?? ''
        const doubts = [
          more,
          view.partial(),
          run.isCut ? `cut after ${planLimit} objects: there are more` : '',
          isTorn ? 'what it rests on changed while it was made: ask again' : '',
          unsynced(view),
          hiddenText(hidden.length),
        ].filter((text) => text !== '')
        const isWhole = !run.isCut && !isTorn && more === '' && view.partial() === ''
        const namespaces = new Set([...shown].map(({ namespace }) => namespace))
        const unheld = [...(along?.uids ?? []), ...hidden.map(({ uid }) => uid)]
        const holds = holdsOf(view, namespaces, run.evidence(unheld), sight)
        const notes = along?.leftOut ?? (await unwatchedText(view, node.object))
        const made = { planned, shown: [...shown], isWhole, holds, notes }
        const answer = await answerOf(made, view.turns, root, cascade, limit)
        return { answer, partial: doubts.join('; ') }
      }
    },
  }
}

/** Its root is: who asks may get that one. */
async function shownIn(
  planned: readonly PlannedObject[],
  root: Uid,
  sight: Sight,
): Promise<ReadonlySet<PlannedObject>> {
  const shown = await shownOf(planned, sight)
  return new Set([...planned.filter(({ uid }) => uid === root), ...shown])
}

interface Made {
  readonly planned: readonly PlannedObject[]
  readonly shown: readonly PlannedObject[]
  readonly isWhole: boolean
  readonly holds: readonly string[]
  readonly notes: string
}

async function answerOf(
  { planned, shown, isWhole, holds, notes }: Made,
  turns: Turns,
  root: Uid,
  cascade: PropagationPolicy,
  limit: number,
): Promise<Plan> {
  const first = planned.find(({ uid }) => uid === root)
  invariant(first !== undefined, 'a plan without its root')
  const counts = Map.groupBy(shown, ({ group, kind, effect }) => `${effect} ${kind}.${group}`)
  await turns.take()
  const objects = sorted(shown).slice(0, limit)
  await turns.take()
  const hidden = planned.length - shown.length
  return {
    root: first,
    cascade,
    counts: sorted([...counts.values()].flatMap(countOfAll)),
    total: isWhole ? planned.length : null,
    hidden,
    objects,
    holds,
    digest: isWhole && hidden === 0 ? await digestOf(planned, turns) : null,
    notes,
  }
}

function countOfAll(all: readonly PlannedObject[]): PlanCount[] {
  const [first] = all
  if (first === undefined) return []
  const { group, kind, effect } = first
  return [{ group, kind, effect, count: all.length }]
}

/** What is not seen yet is in no plan. */
function unsynced({ facts }: View): string {
  const { monitored = 0, synced = 0 } = facts.state ?? {}
  return monitored <= synced ? '' : `${monitored - synced} kinds of the cluster are not listed yet`
}

/**
 * What the orders and the policy of now would have wait; the plan itself is the same without them.
 */
function holdsOf(
  { facts }: View,
  namespaces: ReadonlySet<string>,
  evidence: ReadonlyMap<Evidence, number>,
  sight: Sight,
): readonly string[] {
  const { mode, holds: waits } = facts.policy.policy
  const holds: string[] = []
  // There no order holds anything, and nothing waits.
  if (mode === 'observe') {
    return [
      'the cluster’s own collector decides what becomes of dependents: in mode observe Kinfold deletes none of them',
    ]
  }
  if (mode === 'dry-run') {
    holds.push('Kinfold is in mode dry-run and will not delete these dependents')
  }
  const paused = pausedBecause(facts)
  const broken = new Set<string>()
  for (const namespace of namespaces) {
    const because = brokenBecause(facts, namespace)
    // It may name any object of the cluster.
    broken.add(sight.isWhole || because === '' ? because : 'a breaker is open')
    if (broken.size > MOST_NAMED) break
  }
  holds.push(...[paused, ...broken].filter((text) => text !== ''))
  const times = {
    deleted: waits.deletedMs,
    missing: waits.missingMs,
    'not-found': waits.notFoundMs,
  } as const
  for (const each of ['deleted', 'missing', 'not-found'] as const) {
    const count = evidence.get(each) ?? 0
    if (times[each] > 0 && count > 0) {
      const objects = count === 1 ? 'object' : 'objects'
      holds.push(
        `${count} ${objects} would be held for ${spanText(times[each])} (evidence ${each})`,
      )
    }
  }
  return holds
}
