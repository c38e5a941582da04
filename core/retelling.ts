/**
 * What partitions have told each other is told again when one of them had a record that it could not read: that may have been a note.
 *
 * What must stay true: notes are absolute and may be doubled, so to tell all of them again does no harm; whoever could not read something tells its own again, too,
 * since what it could not read may have been the request of another one.
 *
 * Not here: what a budget granted, which is asked for again by itself (token.ts); shares of a kind, which are of the moment (share.ts).
 */
import { enqueue, setTimer } from './agenda.ts'
import { openBreakerOf } from './breaker.ts'
import { RETELL_MS } from './constant.ts'
import type { NotesLost, Unreadable } from './event.ts'
import { clusterOf } from './graph.ts'
import { tellOwnerAgain } from './interest.ts'
import { coordinatesIn, lastPart } from './key.ts'
import type { ClusterId } from './object.ts'
import type { Step } from './outcome.ts'
import { noteToOthers } from './outcome.ts'
import { clusterOfHome, homeOf, partitionOf } from './partition.ts'
import type { Work } from './state.ts'

/** A note of what is not in a namespace has no other home than this. However many records are unreadable, others are asked once in a while. */
export function mayHaveLostNotes(step: Step, { home }: Unreadable): void {
  const cluster = clusterOfHome(home)
  if (step.at.partitions === 1 || home !== homeOf(cluster, '')) return
  const now = clusterOf(step.graph, cluster)?.now ?? 0
  const at = (Math.floor(now / RETELL_MS) + 1) * RETELL_MS
  setTimer(step, cluster, at, { what: 'notes', uid: '', coordinates: null })
}

export function notesDue(step: Step, cluster: ClusterId): void {
  const event: NotesLost = { type: 'NotesLost', cluster }
  noteToOthers(step, cluster, event)
  notesLost(step, event)
}

export function notesLost(step: Step, { cluster }: NotesLost): void {
  const { partition, partitions } = step.at
  const breaker = openBreakerOf(step.graph, cluster)
  if (breaker !== undefined) {
    const { openedAt, because } = breaker
    noteToOthers(step, cluster, { type: 'BreakerOpened', cluster, openedAt, because })
  }
  // Others ask for what they need of owners, and answer what is told again.
  if (partitionOf(homeOf(cluster, ''), partitions) !== partition) return
  enqueue(step, { work: 'owners', cluster })
  enqueue(step, { work: 'definitions', cluster })
}

/** `key`: of an interest or a definition. */
export function retell(step: Step, { work, cluster }: Work, key: string): void {
  const value = step.graph.get(key)
  if (work === 'owners' && value?.type === 'Interest') {
    const [, , uid = '', place = ''] = key.split('/')
    const about = { cluster, uid: decodeURIComponent(uid), place: coordinatesIn(place) }
    tellOwnerAgain(step, about, value)
  }
  if (work === 'definitions' && value?.type === 'Definition') {
    const about = { type: 'DefinitionDeleted', cluster, name: lastPart(key) } as const
    for (const span of value.spans) noteToOthers(step, cluster, { ...about, ...span })
  }
}
