/**
 * Several partitions of one log, folded in memory: each event goes where a log would put it, notes included.
 *
 * What must stay true: each partition folds its own entries in their order; how the partitions take turns is the caller's choice.
 */
import type { Command } from '../core/command.ts'
import type { Event } from '../core/event.ts'
import type { Uid } from '../core/object.ts'
import type { Note, Outcome } from '../core/outcome.ts'
import { partitionOfObject } from '../core/partition.ts'
import type { Folder } from './folder.ts'
import { folder } from './folder.ts'

export interface Folders {
  readonly all: readonly Folder[]
  /** Appends to one partition, or to all what is told to all. */
  append(event: Event, timestampMs: number): void
  /** Folds the next entry of a partition; undefined when there is none. */
  foldNext(partition: number): Outcome | undefined
  /** The next note of each of these types that is told cannot be read where it goes. */
  loseNext(...types: readonly Event['type'][]): void
  /** Append time of the entry that a partition folded last. */
  timeOf(partition: number): number
  /** Entries not folded yet. */
  readonly waiting: number
}

/** `namespaceOf`: of an object that a batch of versions names by uid. `isLost`: whether the note that is told now cannot be read where it goes. */
export function folders(
  partitions: number,
  namespaceOf: (uid: Uid) => string,
  isLost: () => boolean = () => false,
): Folders {
  const all = Array.from({ length: partitions }, (_, each) => folder(1, each, partitions))
  const logs: [Event, number][][] = all.map(() => [])
  const times: number[] = all.map(() => 0)
  let now = 0
  const toLose = new Set<Event['type']>()

  function asRead({ key, event }: Note): Event {
    if (!toLose.delete(event.type) && !isLost()) return event
    return { type: 'Unreadable', home: key, reason: 'garbage' }
  }

  function homeOf(event: Event): number | undefined {
    const at = (cluster: string, namespace: string): number =>
      partitionOfObject(cluster, namespace, partitions)
    switch (event.type) {
      case 'ObjectAdded':
      case 'ObjectUpdated':
      case 'ObjectDeleted':
        return at(event.cluster, event.object.namespace)
      case 'Touched':
        return at(event.cluster, namespaceOf(event.entries[0]?.uid ?? ''))
      case 'CommandSettled':
      case 'OwnerFound':
      case 'OwnerAbsent':
        return Number(event.command.split('-')[0])
      default:
        return undefined
    }
  }

  return {
    all,
    append(event, timestampMs) {
      now = Math.max(now, timestampMs)
      const home = homeOf(event)
      for (const [partition, log] of logs.entries()) {
        if (home === undefined || home === partition) log.push([event, now])
      }
    },
    foldNext(partition) {
      const next = logs[partition]?.shift()
      if (next === undefined) return undefined
      times[partition] = Math.max(times[partition] ?? 0, next[1])
      const outcome = all[partition]?.foldOne(...next)
      for (const note of outcome?.notes ?? []) logs[note.partition]?.push([asRead(note), now])
      return outcome
    },
    loseNext(...types) {
      for (const type of types) toLose.add(type)
    },
    timeOf: (partition) => times[partition] ?? 0,
    get waiting() {
      return logs.reduce((sum, log) => sum + log.length, 0)
    },
  }
}

export function commandsOf({ all }: Folders): Command[] {
  return all.flatMap(({ commands }) => commands)
}
