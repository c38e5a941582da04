/**
 * Until when a cluster was observed: an object that was created and deleted since is in no archive.
 *
 * What must stay true: it is read from the newest entries of the log, of which a bounded number is
 * read; where none of them is a sign of life, or they cannot be read, it is unknown, and nothing is
 * said.
 */
import type { Event } from '../../core/model/event.ts'
import { timeText } from '../../core/model/text.ts'
import { type Log, LogError } from '../../ports/log.ts'
import { type Codec, CodecError } from '../../ports/record/codec.ts'

/** A watcher that sees its cluster says so every 5 s: two of these may be late. */
const SILENCE_MS = 12_000
/** Entries that are read at once, and of one partition. */
const PAGE = 500n
const MOST_PAGES = 20

/** Empty while a watcher sees the cluster. */
export async function unseenText(
  log: Log,
  codec: Codec,
  cluster: { readonly id: string; readonly name: string },
  now: number,
): Promise<string> {
  const signs: number[] = []
  for (let partition = 0; partition < log.partitions('events'); partition++) {
    signs.push(await lastSignIn(log, codec, cluster.id, partition))
  }
  const last = Math.max(...signs)
  if (last === 0 || now - last <= SILENCE_MS) return ''
  return `nothing was seen of cluster ${cluster.name} since ${timeText(last)}: what was there then may have lived again, or changed, before it was deleted`
}

/** Append time; zero where none was found. */
async function lastSignIn(
  log: Log,
  codec: Codec,
  cluster: string,
  partition: number,
): Promise<number> {
  try {
    const { start, end } = await log.bounds('events', partition)
    let last = end
    for (let page = 0; page < MOST_PAGES && last > start; page++) {
      const from = last - PAGE > start ? last - PAGE : start
      const { entries } = await log.read('events', partition, from, {
        limit: Number(last - from),
        waitMs: 0,
      })
      const sign = entries.findLast(({ offset, value }) => {
        return offset < last && value !== null && isSign(codec, value, cluster)
      })
      if (sign !== undefined) return sign.timestamp
      last = from
    }
  } catch (error) {
    if (!(error instanceof LogError)) throw error
  }
  return 0
}

function isSign(codec: Codec, value: Uint8Array, cluster: string): boolean {
  try {
    const event = codec.decode(value) as Event
    const isOfWatcher = event.type === 'Heartbeat' || event.type === 'WatcherStarted'
    return isOfWatcher && event.cluster === cluster
  } catch (error) {
    if (error instanceof CodecError) return false
    throw error
  }
}
