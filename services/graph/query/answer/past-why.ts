/**
 * Why an object was as it was at a moment of the past: its state and owners from the index, and its history up to then.
 *
 * What must stay true: nothing in it was recorded after the moment; where older entries are not kept, it says so.
 *
 * Not here: whether the moment can be asked (past.ts). The verdict of then is in its history, in words: its fields are kept of the last one only.
 */
import { type Identity, identityOf } from '../../../../core/graph/identity.ts'
import type { ClusterId, Uid } from '../../../../core/model/object.ts'
import { objectKey } from '../../../../core/model/partition.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Log } from '../../../../ports/log.ts'
import { partitionOf } from '../../../../ports/partition.ts'
import { timeOf } from '../../api/document.ts'
import type { Turns } from '../../turns.ts'
import { HISTORY_LIMIT, type HistoryIndex } from '../index/history-index.ts'
import { holds, type Moment } from '../index/moment.ts'
import type { PastObject } from '../index/span-index.ts'
import type { Answer, Why } from './query.ts'
import { cutText, verdictsFirst } from './query.ts'

export interface PastWhyParts {
  readonly log: Pick<Log, 'partitions'>
  readonly index: Pick<HistoryIndex, 'entries' | 'newest' | 'begin'>
  readonly cluster: ClusterId
  readonly moment: Moment
  readonly turns: Turns
}

export async function pastWhy(parts: PastWhyParts, past: PastObject): Promise<Answer<Why>> {
  const { group, kind, namespace, name, uid, phase, owners, since } = past
  const { entries, isCut } = await entriesOf(parts, identityOf(parts.cluster, past))
  const doubts = [
    isCut ? cutText({ isCut }) : begunText(parts, uid, entries),
    phase === 'unknown' ? 'it changed very often, and its state of then is not kept' : '',
  ]
  const object = { cluster: parts.cluster, group, kind, namespace, name, uid }
  const answer: Why = {
    object: { ...object, at: entries.at(-1)?.at ?? since },
    phase: phase === 'gone' ? null : phase === 'hidden' ? 'unknown' : phase,
    references: owners.map((owner) => ({ ...owner, standing: null, reason: '' })),
    ...{ verdict: null, attempt: null, obstacle: null, asOwner: null },
    ...{ deletion: null, deletedBy: [] },
    history: verdictsFirst(entries),
  }
  return { answer, partial: doubts.filter((text) => text !== '').join('; ') }
}

/** The newest of those that were recorded by then. */
async function entriesOf(
  parts: PastWhyParts,
  of: Identity,
): Promise<{ readonly entries: History[]; readonly isCut: boolean }> {
  const end = await endOf(parts, of)
  const { entries, isCut } = await parts.index.newest(of, HISTORY_LIMIT, end)
  return { entries: entries.map(([, entry]) => entry), isCut }
}

/** Behind the last entry that was recorded by then: entries of one object are in the order of time. */
async function endOf({ index, moment, turns }: PastWhyParts, of: Identity): Promise<bigint> {
  const wasThen = ({ position, at }: History): boolean => holds(moment, Number(position), at)
  const [last] = (await index.newest(of, 1)).entries
  if (last === undefined) return 0n
  if (wasThen(last[1])) return last[0] + 1n
  // Below `low` all were recorded by then, from `high` on none.
  let [low, high] = [0n, last[0]]
  while (low < high) {
    await turns.take()
    const middle = (low + high) / 2n
    const [next] = await index.entries(of, middle, 1)
    if (next !== undefined && wasThen(next[1])) low = next[0] + 1n
    else high = middle
  }
  return low
}

/** What was trimmed before the index was built. */
function begunText({ log, index, cluster }: PastWhyParts, uid: Uid, entries: History[]): string {
  const partition = partitionOf(objectKey(cluster, uid), log.partitions('history'))
  const begun = index.begin(partition)?.at ?? null
  if (begun === null || entries[0]?.change === 'created') return ''
  return `its history before ${timeOf(begun)} was removed from the log`
}
