/**
 * The log as the holder of a lease writes it.
 *
 * What must stay true: nothing is sent once another process may hold the lease, also by a process
 * that slept and has not noticed yet. A record sent before may arrive later: the fold refuses it by
 * its epoch.
 */
import type { HeldLease } from '../../ports/lease.ts'
import type { Log } from '../../ports/log.ts'

/** `append` and `savePosition` reject with the reason of `lost`. */
export function logOfHolder(log: Log, held: HeldLease): Log {
  return {
    partitions: (topic) => log.partitions(topic),
    append: async (topic, partition, records) => {
      held.check()
      return await log.append(topic, partition, records)
    },
    read: (topic, partition, from, options, signal) =>
      log.read(topic, partition, from, options, signal),
    bounds: (topic, partition) => log.bounds(topic, partition),
    end: (topic, partition) => log.end(topic, partition),
    wholeFrom: (topic, partition) => log.wholeFrom(topic, partition),
    latest: (topic, partition) => log.latest(topic, partition),
    loadPosition: (reader, topic, partition) => log.loadPosition(reader, topic, partition),
    savePosition: async (reader, topic, partition, position) => {
      held.check()
      await log.savePosition(reader, topic, partition, position)
    },
    trim: (topic, partition, before) => log.trim(topic, partition, before),
    openTask: (partition) => log.openTask(partition),
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
  }
}
