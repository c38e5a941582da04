/**
 * Why an object was as it was at a moment of the past: its state and owners from the index, and its history up to then.
 *
 * What must stay true: nothing in it was recorded after the moment; where older entries are not kept, it says so.
 *
 * Not here: whether the moment can be asked (past.ts). The verdict of then is in its history, in words: its fields are kept of the last one only.
 */
import { type Identity, identityOf } from '../../../core/graph/identity.ts'
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History } from '../../../core/model/record.ts'
import type { Log } from '../../../ports/log.ts'
import { partitionOf } from '../../../ports/partition.ts'
import { timeOf } from '../api/document.ts'
import type { Turns } from '../turns.ts'
import type { HistoryIndex } from './history-index.ts'
import { holds, type Moment } from './moment.ts'
import type { Answer, Why } from './query.ts'
import { verdictsFirst } from './query.ts'
import type { PastObject } from './span-index.ts'

/** Entries that an answer holds, the oldest ones. */
const MOST_ENTRIES = 10_000
const AT_ONCE = 500

export interface PastWhyParts {
  readonly log: Pick<Log, 'partitions'>
  readonly index: Pick<HistoryIndex, 'entries' | 'begin'>
  readonly cluster: ClusterId
  readonly moment: Moment
  readonly turns: Turns
}

export async function pastWhy(parts: PastWhyParts, past: PastObject): Promise<Answer<Why>> {
  const { group, kind, namespace, name, uid, phase, owners, since } = past
  const { entries, isCut } = await entriesOf(parts, identityOf(parts.cluster, past))
  const doubts = [
    begunText(parts, uid, entries),
    isCut ? `it has more than ${MOST_ENTRIES} entries of history: later ones are left out` : '',
    phase === 'unknown' ? 'it changed very often, and its state of then is not kept' : '',
  ]
  const object = { cluster: parts.cluster, group, kind, namespace, name, uid }
  const answer: Why = {
    object: { ...object, at: entries.at(-1)?.at ?? since },
    phase: phase === 'gone' ? null : phase === 'hidden' ? 'unknown' : phase,
    references: owners.map((owner) => ({ ...owner, standing: null, reason: '' })),
    ...{ verdict: null, attempt: null, obstacle: null, asOwner: null },
    deletedBy: [],
    history: verdictsFirst(entries),
  }
  return { answer, partial: doubts.filter((text) => text !== '').join('; ') }
}

async function entriesOf(
  { index, moment, turns }: PastWhyParts,
  of: Identity,
): Promise<{ readonly entries: History[]; readonly isCut: boolean }> {
  const entries: History[] = []
  for (let from = 0n; ; ) {
    const page = await index.entries(of, from, AT_ONCE)
    await turns.take()
    const then = page.filter(([, { position, at }]) => holds(moment, Number(position), at))
    entries.push(...then.map(([, entry]) => entry))
    const last = page.at(-1)
    if (last === undefined || page.length < AT_ONCE || then.length < page.length) {
      return { entries, isCut: false }
    }
    if (entries.length >= MOST_ENTRIES) return { entries, isCut: true }
    from = last[0] + 1n
  }
}

/** What was trimmed before the index was built. */
function begunText({ log, index, cluster }: PastWhyParts, uid: Uid, entries: History[]): string {
  const partition = partitionOf(objectKey(cluster, uid), log.partitions('history'))
  const begun = index.begin(partition)?.at ?? null
  if (begun === null || entries[0]?.change === 'created') return ''
  return `its history before ${timeOf(begun)} was removed from the log`
}
