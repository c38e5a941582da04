/**
 * Budgets: how many tokens a cluster's home grants its partitions within any ten minutes of log time.
 *
 * What must stay true: never more than the policy has, whatever is asked and by how many, also after a restart. Numbers are absolute: what was asked and what was
 * granted since ever, by each partition.
 *
 * Not here: what a token is needed for (price.ts), what is done with it (token.ts).
 */
import { openBreakerOf } from './breaker.ts'
import { noteDemand } from './burst.ts'
import { BUDGET_MINUTES } from './constant.ts'
import type { TokensAsked } from './event.ts'
import { clusterOf, policyOf } from './graph.ts'
import { budgetKey } from './key.ts'
import type { ClusterId } from './object.ts'
import type { Step } from './outcome.ts'
import { drop } from './outcome.ts'
import { homeOf } from './partition.ts'
import type { BudgetClass } from './policy.ts'
import { limitOf } from './policy.ts'
import type { Budget, BudgetMinute, BudgetPlace } from './state.ts'

const MINUTE_MS = 60_000

export function tokensAsked(step: Step, event: TokensAsked): void {
  const { cluster, partition, budget, asked } = event
  const state = clusterOf(step.graph, cluster)
  if (state === undefined) return drop(step, 'its watcher has not started')
  const now = Math.max(state.now, step.at.timestamp)
  const former = budgetOf(step, cluster, budget)
  const place = former.places.find((each) => each.partition === partition)
  const others = former.places.filter((each) => each !== place)
  const known = place ?? { partition, asked: 0, granted: 0 }
  const news = Math.max(0, asked - known.asked)
  const places = [...others, { ...known, asked: Math.max(asked, known.asked) }]
  const minutes = withMinute(former.minutes, now, { asked: news, granted: 0 })
  if (news > 0) noteDemand(step, state, cluster, budget, minutes, event.about)
  // What is granted while the breaker is open could only lapse. Who asks while we are in another mode has folded another policy than we have, with other budgets perhaps.
  const { mode, budgets } = policyOf(step.graph).policy
  const isOpen = openBreakerOf(step.graph, cluster) !== undefined
  const limit = isOpen || mode !== 'enforce' ? 0 : limitOf(budgets, budget)
  const used = minutes.reduce((sum, { granted }) => sum + granted, 0)
  const shared = share(places, Math.max(0, limit - used))
  const granted = sumOf(shared) - sumOf(places)
  const next = {
    ...former,
    places: shared,
    minutes: withMinute(minutes, now, { asked: 0, granted }),
  }
  step.graph.put(budgetKey(cluster, budget), next)
  for (const each of shared) {
    const before = places.find((other) => other.partition === each.partition)
    // Whoever asks is answered, since what it was told before may be lost.
    const isNews = each.granted !== before?.granted || each.partition === partition
    if (isNews && each.granted > 0) answer(step, cluster, budget, each, now)
  }
}

function answer(
  step: Step,
  cluster: ClusterId,
  budget: BudgetClass,
  { partition, granted }: BudgetPlace,
  at: number,
): void {
  step.outcome.notes.push({
    partition,
    key: homeOf(cluster, ''),
    event: { type: 'TokensGranted', cluster, budget, granted, at },
  })
}

/** Those who wait get the same, but none more than it asked for. */
function share(places: readonly BudgetPlace[], tokens: number): BudgetPlace[] {
  const shared = places.map((place) => ({ ...place }))
  for (let left = tokens; left > 0; ) {
    const waiting = shared.filter(({ asked, granted }) => asked > granted)
    if (waiting.length === 0) break
    const each = Math.max(1, Math.floor(left / waiting.length))
    for (const place of waiting) {
      const some = Math.min(each, left, place.asked - place.granted)
      place.granted += some
      left -= some
    }
  }
  return shared
}

function sumOf(places: readonly BudgetPlace[]): number {
  return places.reduce((sum, { granted }) => sum + granted, 0)
}

/** What happened in the minutes that still count, with more in the present one. */
function withMinute(
  minutes: readonly BudgetMinute[],
  now: number,
  { asked, granted }: { readonly asked: number; readonly granted: number },
): readonly BudgetMinute[] {
  const last = minutes.at(-1)?.minute ?? 0
  const minute = Math.max(last, Math.floor(now / MINUTE_MS))
  const kept = minutes.filter((each) => each.minute > minute - BUDGET_MINUTES)
  const current = kept.find((each) => each.minute === minute) ?? { minute, asked: 0, granted: 0 }
  const others = kept.filter((each) => each.minute !== minute)
  return [...others, { minute, asked: current.asked + asked, granted: current.granted + granted }]
}

function budgetOf(step: Step, cluster: ClusterId, budget: BudgetClass): Budget {
  const found = step.graph.get(budgetKey(cluster, budget))
  return found?.type === 'Budget' ? found : { type: 'Budget', places: [], minutes: [] }
}
