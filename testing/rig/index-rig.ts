/** The index of a process that has all partitions, over stores in memory. */
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { HistoryIndex } from '../../services/graph/query/index/history-index.ts'
import { codec, emptyStore } from './task-rig.ts'

/** It reads once it is run. */
export function indexOver(log: Log, clock: Clock, store: () => Store = emptyStore): HistoryIndex {
  const index = new HistoryIndex(log, codec, clock)
  for (let each = 0; each < log.partitions('history'); each++) index.open(each, store())
  return index
}
