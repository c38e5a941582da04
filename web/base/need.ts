/**
 * What a person has to see to, as `kinfold status` has it.
 *
 * What must stay true: what is not known is never fine.
 *
 * Not here: the lock and the watchers' connections, which are in the metrics only.
 */
import type { Cluster, ClusterList, Held } from '../../cli/answer.ts'
import { overdueText } from '../../services/graph/api/word.ts'
import { countOf, lineOf, spanText } from './text.ts'

/** Watchers give a sign of life each five seconds. */
const SILENT_MS = 60_000
/** Events that are not folded yet: verdicts lag by so many. */
const MUCH_LAG = 1_000

export interface Need {
  /** Null: of the process that was asked. */
  readonly cluster: Cluster | null
  readonly what: string
  /** Whether "held" shows more of it. */
  readonly isHeld: boolean
}

type Row = ClusterList['clusters'][number]

export function needsOf({ cluster, status }: Row): readonly Need[] {
  const need = (what: string, isHeld = false): Need => ({ cluster, what, isHeld })
  if (status === null) {
    return [need('its status is unknown: the process that has it cannot be asked')]
  }
  const { mode, heartbeatAgeMs, openBreakers, isPaused, held, refused, lagEntries } = status
  const { overdue, rules } = status
  const needs: Need[] = []
  // In mode observe nothing is held, and no order has anything to stop.
  if (mode !== 'observe') {
    if (held !== null && held.approval > 0) {
      needs.push(
        need(`${countOf(held.approval, 'object')} held until a person approves or rejects`, true),
      )
    }
    if (rules !== null && rules.overLimit > 0) {
      const many = countOf(rules.overLimit, 'rule')
      needs.push(need(`${many} over its limit, so that it deletes nothing`))
    }
    if (openBreakers > 0) needs.push(need(`${countOf(openBreakers, 'breaker')} open`, true))
    if (refused !== null && refused > 0) {
      needs.push(need(`${countOf(refused, 'object')} that the cluster refuses to change`, true))
    }
    if (isPaused) needs.push(need('it is paused', true))
  }
  if (heartbeatAgeMs === null || heartbeatAgeMs > SILENT_MS) {
    const since = heartbeatAgeMs === null ? 'ever' : `for ${spanText(heartbeatAgeMs)}`
    const effect = mode === 'observe' ? 'recorded' : 'deleted'
    needs.push(
      need(`no sign of life of its watcher ${since}: nothing is ${effect} there meanwhile`),
    )
  }
  if (overdue !== null && overdue.objects > 0) needs.push(need(lineOf(overdueText(overdue))))
  if (lagEntries > MUCH_LAG) needs.push(need(`${countOf(lagEntries, 'event')} not folded yet`))
  if (held === null || refused === null) needs.push(need('what is held is still being counted'))
  return needs
}

export function allNeeds(list: ClusterList, failed: readonly string[]): readonly Need[] {
  const own = failed.map((what): Need => ({ cluster: null, what: lineOf(what), isHeld: false }))
  if (list.clusters.length === 0) {
    own.push({ cluster: null, what: 'no cluster was ever watched', isHeld: false })
  }
  return [...own, ...list.clusters.flatMap(needsOf)]
}

/** What was ordered and what was opened, as sentences. */
export function standing(held: Held): readonly string[] {
  const where = (cluster: Cluster | null): string => {
    return cluster === null ? 'all clusters' : `cluster ${lineOf(cluster.name)}`
  }
  const by = ({ who, why }: { who: string; why: string }): string => {
    return why === '' ? lineOf(who) : `${lineOf(who)} (${lineOf(why)})`
  }
  // An order that is recorded for another mode promises nothing in this one.
  const vain = held.mode === 'observe' ? ', which in mode observe has no effect' : ''
  return [
    ...held.pauses.map((each) => `Paused in ${where(each.cluster)} by ${by(each)}${vain}.`),
    ...held.breakers.map(({ cluster, namespace, since, because }) => {
      const of =
        namespace === '' ? where(cluster) : `namespace ${lineOf(namespace)}, ${where(cluster)}`
      return `Breaker of ${of} open since ${since ?? 'an unknown time'}: ${lineOf(because)}.`
    }),
    ...held.refused.map(({ cluster, objects, tries, example }) => {
      return `${countOf(objects, 'object')} refused in ${where(cluster)}, tried up to ${countOf(tries, 'time')}${example === '' ? '' : `: ${lineOf(example)}`}.`
    }),
    ...held.protections.map((each) => {
      return `${lineOf(each.subject)} is protected in ${where(each.cluster)} by ${by(each)}${vain}.`
    }),
  ]
}
