/**
 * Checkpoints of the log: digests of what is kept, in blocks, to be signed and kept where nobody who can write the log can write; and the comparison of a log with one.
 *
 * What must stay true: a block's digest is over what the log itself has (offset, append time, key, value), so a log that was rewritten with digests that fit it differs; what was
 * removed since can neither be proven nor refuted, and is named, never counted as the same or as different.
 *
 * Not here: signatures (runtime/signature.ts), files (cli).
 */
import { type Log, TOPICS, type Topic } from '../../../ports/log.ts'
import { entriesOf } from '../audit/refold.ts'
import { chained, NO_DIGEST } from '../fold/digest.ts'
import { Refusal } from './refusal.ts'
import { IN_TOTO } from './statement.ts'

export const CHECKPOINT = 'https://kinfold.dev/checkpoint/v1'

/** What was observed, what was decided, what was published of it, and what the rules were before. Compacted topics follow from these, and snapshots are trimmed by number. */
const CHECKED: readonly Topic[] = ['events', 'commands', 'history', 'digests']

/** Of a topic and partition at most; a log that lost its beginning can be compared from the first whole one on. */
const MAX_BLOCKS = 128n
/** Records of a block at least, were there no gaps. */
const LEAST_BLOCK = 64n

interface Block {
  readonly records: number
  /** Chained over the records, in hexadecimal. */
  readonly sha256: string
  /** Append time of its last record, in milliseconds; null where it has none. */
  readonly until: number | null
}

/** The log of one topic and partition: from the earliest position that was kept up to the end. */
interface Part {
  readonly topic: Topic
  readonly partition: number
  readonly start: bigint
  readonly end: bigint
  /** Offsets of a block: the first one begins with `start`, each later one at a multiple of this. */
  readonly size: bigint
  readonly blocks: readonly Block[]
}

export type Checkpoint = readonly Part[]

export async function checkpointOf(log: Log, signal: AbortSignal): Promise<Checkpoint> {
  const parts: Part[] = []
  for (const topic of CHECKED) {
    for (let partition = 0; partition < log.partitions(topic); partition++) {
      const { start, end } = await log.bounds(topic, partition)
      const about = { topic, partition, start, end, size: sizeFor(end - start) }
      const blocks: Block[] = []
      for (const [from, to] of rangesOf(about)) {
        blocks.push(await blockOf(log, about, from, to, signal))
      }
      parts.push({ ...about, blocks })
    }
  }
  return parts
}

function sizeFor(records: bigint): bigint {
  let size = LEAST_BLOCK
  while (records / size >= MAX_BLOCKS - 1n) size *= 2n
  return size
}

type About = Omit<Part, 'blocks'>

function rangesOf({ start, end, size }: About): readonly (readonly [from: bigint, to: bigint])[] {
  const ranges: [bigint, bigint][] = []
  for (let from = start; from < end; ) {
    const next = (from / size + 1n) * size
    const to = next < end ? next : end
    ranges.push([from, to])
    from = to
  }
  return ranges
}

async function blockOf(
  log: Log,
  { topic, partition }: Pick<Part, 'topic' | 'partition'>,
  from: bigint,
  to: bigint,
  signal: AbortSignal,
): Promise<Block> {
  let records = 0
  let sha256 = NO_DIGEST
  let until: number | null = null
  for await (const { offset, timestamp, key, value } of entriesOf(log, topic, partition, from)) {
    signal.throwIfAborted()
    if (offset >= to) break
    sha256 = chained(sha256, [String(offset), String(timestamp), key, value ?? ''])
    records += 1
    until = timestamp
  }
  return { records, sha256, until }
}

/** In-toto's Statement v1: one subject for each topic and partition, whose digest is over its blocks. One spelling. */
export function checkpointStatement(checkpoint: Checkpoint): string {
  const parts = checkpoint.map(({ topic, partition, start, end, size, blocks }) => ({
    ...{ topic, partition, start: String(start), end: String(end), size: String(size) },
    blocks: blocks.map(({ records, sha256, until }) => [records, sha256, until]),
  }))
  return JSON.stringify({
    _type: IN_TOTO,
    subject: checkpoint.map(({ topic, partition, blocks }) => ({
      name: `${topic}/${partition}`,
      digest: {
        sha256: chained(
          NO_DIGEST,
          blocks.map(({ sha256 }) => sha256),
        ),
      },
    })),
    predicateType: CHECKPOINT,
    predicate: { parts },
  })
}

/** Of a payload whose signature fits. Throws `Refusal`. */
export function readCheckpoint(text: string): Checkpoint {
  let checkpoint: Checkpoint
  try {
    const { predicate } = JSON.parse(text) as Written
    checkpoint = predicate.parts.map(({ topic, partition, start, end, size, blocks }) => {
      const numbers = { start: BigInt(start), end: BigInt(end), size: BigInt(size) }
      return {
        ...{ topic, partition, ...numbers },
        blocks: blocks.map(([records, sha256, until]) => ({ records, sha256, until })),
      }
    })
    if (!checkpoint.every(isSound) || checkpointStatement(checkpoint) !== text) throw new Error()
  } catch {
    throw new Refusal(`it is no ${CHECKPOINT} as Kinfold writes them`)
  }
  return checkpoint
}

interface Written {
  readonly predicate: {
    readonly parts: readonly (Readonly<Record<'start' | 'end' | 'size', string>> & {
      readonly topic: Topic
      readonly partition: number
      readonly blocks: readonly (readonly [Block['records'], Block['sha256'], Block['until']])[]
    })[]
  }
}

function isSound(part: Part): boolean {
  const { topic, partition, start, end, size, blocks } = part
  const isRange = start >= 0n && end >= start && size >= 1n && (end - start) / size <= MAX_BLOCKS
  const isPlace = TOPICS.includes(topic) && Number.isSafeInteger(partition) && partition >= 0
  return isPlace && isRange && rangesOf(part).length === blocks.length
}

/** Of one topic and partition. */
export interface Comparison {
  readonly topic: Topic
  readonly partition: number
  /** Offsets whose blocks are the same; null where none is. */
  readonly same: Range | null
  /** The first block that is another one, or what is missing at the end. */
  readonly different: (Range & { readonly what: string }) | null
  /** Removed since: nothing can be said of these. `until`: append time of the newest of them. */
  readonly unknown: Removed | null
}

interface Range {
  readonly from: bigint
  readonly to: bigint
}

interface Removed extends Range {
  readonly until: number | null
}

/** `sinceMs`: blocks whose records are all older are not asked for. */
export async function compareWith(
  log: Log,
  checkpoint: Checkpoint,
  sinceMs: number,
  signal: AbortSignal,
): Promise<readonly Comparison[]> {
  const found: Comparison[] = []
  for (const part of checkpoint) found.push(await comparePart(log, part, sinceMs, signal))
  return found
}

async function comparePart(
  log: Log,
  part: Part,
  sinceMs: number,
  signal: AbortSignal,
): Promise<Comparison> {
  const { topic, partition } = part
  const about = { topic, partition }
  if (partition >= log.partitions(topic)) {
    const different = { from: part.start, to: part.end, what: 'the log has no such partition' }
    return { ...about, same: null, different, unknown: null }
  }
  const { start, end } = await log.bounds(topic, partition)
  if (end < part.end) {
    const what = `the log ends at ${end}, and had records up to ${part.end}`
    return { ...about, same: null, different: { from: end, to: part.end, what }, unknown: null }
  }
  const same: Range[] = []
  const removed: Removed[] = []
  const found = (different: Comparison['different']): Comparison => ({
    ...{ topic, partition, different, same: joined(same) },
    unknown: withUntil(removed),
  })
  for (const [index, [from, to]] of rangesOf(part).entries()) {
    const block = part.blocks[index]
    if (block === undefined || (block.until !== null && block.until < sinceMs)) continue
    if (from < start) {
      removed.push({ from, to, until: block.until ?? removed.at(-1)?.until ?? null })
      continue
    }
    const now = await blockOf(log, about, from, to, signal)
    if (now.records !== block.records || now.sha256 !== block.sha256) {
      const what = `${now.records} records there are not the ${block.records} that there were`
      return found({ from, to, what })
    }
    same.push({ from, to })
  }
  return found(null)
}

function withUntil(removed: readonly Removed[]): Removed | null {
  const range = joined(removed)
  return range === null ? null : { ...range, until: removed.at(-1)?.until ?? null }
}

function joined(ranges: readonly Range[]): Range | null {
  const [first, last] = [ranges[0], ranges.at(-1)]
  return first === undefined || last === undefined ? null : { from: first.from, to: last.to }
}
