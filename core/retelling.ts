/**
 * What partitions have told each other is told again to one that had a record which it could not read: that may have been a note.
 *
 * What must stay true: notes are absolute and may be doubled, so to tell them again does no harm; whoever could not read something tells its own again, too,
 * since what it could not read may have been the request of another one. What can never be read is asked for less and less often, and a step tells one
 * partition no more than a page holds.
 *
 * Not here: what a budget granted, which is asked for again by itself (token.ts).
 */
import { enqueue, setTimer } from './agenda.ts'
import { openBreakerOf } from './breaker.ts'
import { RETELL_FIRST_MS, RETELL_LAST_MS } from './constant.ts'
import type { NotesLost, Unreadable } from './event.ts'
import { clusterOf } from './graph.ts'
import { tellOwnerAgain } from './interest.ts'
import {
  coordinatesIn,
  groupKindIn,
  lastPart,
  shareKey,
  unreadableHomeKey,
  unreadableKey,
} from './key.ts'
import type { ClusterId } from './object.ts'
import { noteTo, noteToOthers, type Step } from './outcome.ts'
import { clusterOfHome, homeOf, partitionOf } from './partition.ts'
import { tellShareSoon } from './share.ts'
import type { UnreadableHome, Work } from './state.ts'

/** A record of this home could not be read. A note of what is in no namespace has but one home, and a watcher's start is told to the whole cluster. */
export function noteUnreadable(step: Step, { home, reason }: Unreadable): void {
  const former = unreadableAt(step, unreadableKey(home)) ?? NEVER
  step.graph.put(unreadableKey(home), { ...former, position: step.at.position, reason })
  const cluster = clusterOfHome(home)
  if (home === homeOf(cluster, '') || home === cluster) askSoon(step, cluster)
}

/** Its first watcher: what could not be read before that has not been asked for. */
export function clusterBegins(step: Step, cluster: ClusterId): void {
  const keys = [unreadableHomeKey(cluster, ''), unreadableKey(cluster)]
  if (keys.some((key) => unreadableAt(step, key) !== undefined)) askSoon(step, cluster)
}

/** Others are asked for what they told: once for all that cannot be read until then. */
function askSoon(step: Step, cluster: ClusterId): void {
  const state = clusterOf(step.graph, cluster)
  const key = unreadableHomeKey(cluster, '')
  const former = unreadableAt(step, key) ?? NEVER
  if (step.at.partitions === 1 || state === undefined || former.dueAt > 0) return
  const asks = state.now - former.askedAt > RETELL_LAST_MS ? 0 : former.asks
  const dueAt = state.now + Math.min(RETELL_FIRST_MS * 2 ** asks, RETELL_LAST_MS)
  step.graph.put(key, { ...former, asks: asks + 1, dueAt })
  setTimer(step, cluster, dueAt, { what: 'notes', uid: '', coordinates: null })
}

function unreadableAt(step: Step, key: string): UnreadableHome | undefined {
  const found = step.graph.get(key)
  return found?.type === 'UnreadableHome' ? found : undefined
}

const NEVER: UnreadableHome = {
  type: 'UnreadableHome',
  position: -1n,
  reason: '',
  asks: 0,
  askedAt: 0,
  dueAt: 0,
}

export function notesDue(step: Step, cluster: ClusterId): void {
  const key = unreadableHomeKey(cluster, '')
  const lost = unreadableAt(step, key)
  if (lost === undefined) return
  const askedAt = clusterOf(step.graph, cluster)?.now ?? 0
  step.graph.put(key, { ...lost, askedAt, dueAt: 0 })
  const { partition: own, partitions } = step.at
  noteToOthers(step, cluster, { type: 'NotesLost', cluster, partition: own })
  for (let to = 0; to < partitions; to++) retellTo(step, cluster, to)
}

export function notesLost(step: Step, { cluster, partition }: NotesLost): void {
  retellTo(step, cluster, partition)
}

function retellTo(step: Step, cluster: ClusterId, to: number): void {
  const { partition: own, partitions } = step.at
  const home = partitionOf(homeOf(cluster, ''), partitions)
  // A home tells itself of its shares, too.
  if (to === home) enqueue(step, { work: 'shares', cluster })
  if (to === own) return
  const breaker = openBreakerOf(step.graph, cluster)
  if (breaker !== undefined) {
    const { openedAt, because } = breaker
    noteTo(step, to, cluster, { type: 'BreakerOpened', cluster, openedAt, because })
  }
  // Others ask for what they need of owners, and answer what is told again.
  if (own !== home) return
  enqueue(step, { work: 'owners', cluster, uid: String(to) })
  enqueue(step, { work: 'definitions', cluster, uid: String(to) })
}

/** `key`: of an interest, a definition or a kind. */
export function retell(step: Step, { work, cluster, uid }: Work, key: string): void {
  const value = step.graph.get(key)
  const to = Number(uid)
  if (work === 'owners' && value?.type === 'Interest') {
    const [, , owner = '', place = ''] = key.split('/')
    const about = { cluster, uid: decodeURIComponent(owner), place: coordinatesIn(place) }
    tellOwnerAgain(step, about, value, to)
  }
  if (work === 'definitions' && value?.type === 'Definition') {
    const about = { type: 'DefinitionDeleted', cluster, name: lastPart(key) } as const
    for (const span of value.spans) noteTo(step, to, cluster, { ...about, ...span })
  }
  if (work === 'shares') {
    const kind = groupKindIn(key)
    if (step.graph.get(shareKey(cluster, kind)) !== undefined) tellShareSoon(step, cluster, kind)
  }
}
