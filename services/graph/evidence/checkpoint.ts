/**
 * Checkpoints of the log: digests of its records, to be signed and kept where no writer of the log
 * can write; and the comparison of a log with a checkpoint.
 *
 * What must stay true: a digest is over what the log itself has (offset, append time, key, value),
 * so a log that was rewritten with digests that fit it differs; records that were removed since can
 * neither be proven nor refuted, and are named, never counted as the same or as different.
 *
 * Not here: compacted topics record by record (listed-records.ts), signatures
 * (runtime/http/signature.ts), files (cli).
 */
import { COMPACTED, type Log, TOPICS, type Topic } from '../../../ports/log.ts'
import { entriesOf } from '../audit/refold.ts'
import { chained, NO_DIGEST } from '../fold/bytes/digest.ts'
import {
  areSound,
  compareRecords,
  type ListedRecords,
  listRecords,
  type RecordComparison,
  readRecords,
  type Span,
  type WrittenRecords,
  writtenRecords,
} from './listed-records.ts'
import { Refusal } from './refusal.ts'
import { IN_TOTO } from './statement.ts'

export const CHECKPOINT = 'https://kinfold.dev/checkpoint/v1'

/**
 * What was observed, decided and published, by whom, what was archived, and what the rules were
 * before. The state (`changelog`) and snapshots follow from `events`, and the latter are trimmed by
 * number; `control` and `watermarks` decide nothing. Those of which little is written come first:
 * what is left of `mostListed` is for the others.
 */
const CHECKED: readonly Topic[] = [
  ...(['events', 'commands', 'history', 'digests', 'archive', 'actors'] as const),
  ...(['orders', 'lineage'] as const),
]
/** In bytes of the checkpoint 24 each. */
const MOST_LISTED = 1_000_000

/**
 * Of a topic and partition at most; a log that lost its beginning can be compared from the first
 * whole one on.
 */
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

interface BlockPart extends Span {
  /**
   * Offsets of a block: the first one begins with `start`, each later one at a multiple of this.
   */
  readonly size: bigint
  readonly blocks: readonly Block[]
}

/** Of a compacted topic. */
interface RecordPart extends Span {
  readonly records: ListedRecords
}

type Part = BlockPart | RecordPart

export type Checkpoint = readonly Part[]

/** `mostListed`: records of compacted topics, of all together. */
export async function checkpointOf(
  log: Log,
  signal: AbortSignal,
  mostListed: number = MOST_LISTED,
): Promise<Checkpoint> {
  const parts: Part[] = []
  let left = mostListed
  for (const topic of CHECKED) {
    const partitions = log.partitions(topic)
    for (let partition = 0; partition < partitions; partition++) {
      const span = { topic, partition, ...(await log.bounds(topic, partition)) }
      if (COMPACTED.has(topic)) {
        const most = Math.floor(left / (partitions - partition))
        const listed = await listRecords(log, span, most, signal)
        left -= listed.records.offsets.length
        parts.push({ ...span, ...listed })
      } else parts.push(await blockPart(log, span, signal))
    }
  }
  return parts
}

async function blockPart(log: Log, span: Span, signal: AbortSignal): Promise<BlockPart> {
  const about = { ...span, size: sizeFor(span.end - span.start) }
  const blocks: Block[] = []
  for (const [from, to] of rangesOf(about)) {
    blocks.push(await blockOf(log, about, from, to, signal))
  }
  return { ...about, blocks }
}

function sizeFor(records: bigint): bigint {
  let size = LEAST_BLOCK
  while (records / size >= MAX_BLOCKS - 1n) size *= 2n
  return size
}

type About = Omit<BlockPart, 'blocks'>

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
  { topic, partition }: Pick<Span, 'topic' | 'partition'>,
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

/**
 * In-toto's Statement v1: one subject for each topic and partition, whose digest is over its blocks
 * or records. One spelling.
 */
export function checkpointStatement(checkpoint: Checkpoint): string {
  return JSON.stringify({
    _type: IN_TOTO,
    subject: checkpoint.map((part) => ({
      name: `${part.topic}/${part.partition}`,
      digest: { sha256: chained(NO_DIGEST, digestsOf(part)) },
    })),
    predicateType: CHECKPOINT,
    predicate: { parts: checkpoint.map(writtenPart) },
  })
}

function digestsOf(part: Part): readonly (string | Uint8Array)[] {
  return 'records' in part ? [part.records.digests] : part.blocks.map(({ sha256 }) => sha256)
}

type WrittenPart = Readonly<Record<'start' | 'end', string>> & {
  readonly topic: Topic
  readonly partition: number
} & (
    | { readonly records: WrittenRecords }
    | { readonly size: string; readonly blocks: readonly WrittenBlock[] }
  )

type WrittenBlock = readonly [Block['records'], Block['sha256'], Block['until']]

function writtenPart(part: Part): WrittenPart {
  const { topic, partition, start, end } = part
  const span = { topic, partition, start: String(start), end: String(end) }
  if ('records' in part) return { ...span, records: writtenRecords(part.records, start) }
  const blocks = part.blocks.map(({ records, sha256, until }) => [records, sha256, until] as const)
  return { ...span, size: String(part.size), blocks }
}

/** Of a payload whose signature fits. Throws `Refusal`. */
export function readCheckpoint(text: string): Checkpoint {
  let checkpoint: Checkpoint
  try {
    const { predicate } = JSON.parse(text) as { predicate: { parts: readonly WrittenPart[] } }
    checkpoint = predicate.parts.map(readPart)
    if (!checkpoint.every(isSound) || checkpointStatement(checkpoint) !== text) throw new Error()
  } catch {
    throw new Refusal(`it is no ${CHECKPOINT} as Kinfold writes them`)
  }
  return checkpoint
}

function readPart(part: WrittenPart): Part {
  const { topic, partition } = part
  const span = { topic, partition, start: BigInt(part.start), end: BigInt(part.end) }
  if ('records' in part) return { ...span, records: readRecords(part.records, span.start) }
  const blocks = part.blocks.map(([records, sha256, until]) => ({ records, sha256, until }))
  return { ...span, size: BigInt(part.size), blocks }
}

function isSound(part: Part): boolean {
  const { topic, partition, start, end } = part
  const isPlace = TOPICS.includes(topic) && Number.isSafeInteger(partition) && partition >= 0
  if (!isPlace || start < 0n || end < start || 'records' in part !== COMPACTED.has(topic)) {
    return false
  }
  if ('records' in part) return areSound(part.records, start, end)
  const { size, blocks } = part
  const isRange = size >= 1n && (end - start) / size <= MAX_BLOCKS
  return isRange && rangesOf(part).length === blocks.length
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
  /** Of a compacted topic; null of others. */
  readonly records: Pick<RecordComparison, 'same' | 'replaced'> | null
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
  const nothing = { same: null, different: null, unknown: null, records: null }
  const about = { topic, partition, ...nothing }
  if (partition >= log.partitions(topic)) {
    const different = { from: part.start, to: part.end, what: 'the log has no such partition' }
    return { ...about, different }
  }
  const { start, end } = await log.bounds(topic, partition)
  if (end < part.end) {
    const what = `the log ends at ${end}, and had records up to ${part.end}`
    return { ...about, different: { from: end, to: part.end, what } }
  }
  return 'records' in part
    ? { ...about, ...(await compareListed(log, part, signal)) }
    : { ...about, ...(await compareBlocks(log, part, { start, sinceMs }, signal)) }
}

async function compareListed(
  log: Log,
  part: RecordPart,
  signal: AbortSignal,
): Promise<Partial<Comparison>> {
  const { same, replaced, different } = await compareRecords(log, part, signal)
  const records = { same, replaced }
  const whole = { from: part.start, to: part.end }
  if (different === null) return { same: part.start < part.end ? whole : null, records }
  const { offset: from, what } = different
  return { different: { from, to: from + 1n, what }, records }
}

async function compareBlocks(
  log: Log,
  part: BlockPart,
  { start, sinceMs }: { readonly start: bigint; readonly sinceMs: number },
  signal: AbortSignal,
): Promise<Partial<Comparison>> {
  const same: Range[] = []
  const removed: Removed[] = []
  const found = (different: Comparison['different']): Partial<Comparison> => ({
    ...{ different, same: joined(same), unknown: withUntil(removed) },
  })
  for (const [index, [from, to]] of rangesOf(part).entries()) {
    const block = part.blocks[index]
    if (block === undefined || (block.until !== null && block.until < sinceMs)) continue
    if (from < start) {
      removed.push({ from, to, until: block.until ?? removed.at(-1)?.until ?? null })
      continue
    }
    const now = await blockOf(log, part, from, to, signal)
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
