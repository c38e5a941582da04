/**
 * Which commands of one partition are settled: the position that may be saved, with what is settled
 * beyond it.
 *
 * What must stay true: the position is never beyond an unsettled command, and after a restart from
 * any saved position every command is either taken again or was settled. Taking one twice is
 * allowed, losing one is not.
 *
 * Not here: reading (lane.ts), saving (reaper.ts), the bound on its size (each reader asks `size`
 * first).
 */
import type { SavedPosition } from '../../../ports/log.ts'

export interface Window {
  /** The next command read. Its ticket, or undefined when it was settled before the last start. */
  take(offset: bigint): number | undefined
  settle(ticket: number): void
  /** There is no command between the last one taken and `next`. */
  readTo(next: bigint): void
  /** Commands from the oldest unsettled one on, settled ones among them included. */
  size(): number
  unsettled(): number
  position(): SavedPosition
}

interface Range {
  readonly from: bigint
  /** Inclusive. */
  readonly to: bigint
}

/** `detailBytes` bounds the metadata; ranges that do not fit are left out. */
export function openWindow(saved: SavedPosition, detailBytes: number): Window {
  const restored = decodeRanges(saved)
  /** Of `restored`: the ranges before it are before `next`. */
  let first = 0
  let offsets: bigint[] = []
  let settled: boolean[] = []
  let base = 0
  let head = 0
  let open = 0
  let next = saved.offset

  function advance(): void {
    while (head < offsets.length && settled[head] === true) head++
    if (head < 1_024 || head * 2 < offsets.length) return
    offsets = offsets.slice(head)
    settled = settled.slice(head)
    base += head
    head = 0
  }

  function* ranges(): Generator<Range> {
    for (let i = head; i < offsets.length; i++) {
      if (settled[i] !== true) continue
      const from = i
      while (settled[i + 1] === true) i++
      yield { from: offsets[from] as bigint, to: offsets[i] as bigint }
    }
    for (let i = first; i < restored.length; i++) {
      const { from, to } = restored[i] as Range
      yield { from: from < next ? next : from, to }
    }
  }

  /** Offsets only grow, so a range that was passed is never needed again. */
  function pass(end: bigint): void {
    next = end
    while (first < restored.length && (restored[first] as Range).to < end) first++
  }

  return {
    take(offset) {
      pass(offset)
      const range = restored[first]
      const wasSettled = range !== undefined && range.from <= offset
      pass(offset + 1n)
      offsets.push(offset)
      settled.push(wasSettled)
      if (wasSettled) {
        advance()
        return undefined
      }
      open++
      return base + offsets.length - 1
    },
    settle(ticket) {
      const index = ticket - base
      if (index < head || settled[index] !== false) return // A repeat: it is settled already.
      settled[index] = true
      open--
      advance()
    },
    readTo(end) {
      if (end > next) pass(end)
    },
    size: () => offsets.length - head,
    unsettled: () => open,
    position() {
      const offset = offsets[head] ?? next
      return { offset, detail: encodeRanges(offset, ranges(), detailBytes) }
    },
  }
}

/** Pairs in base 36: how far after the one before a range begins, and how far on it ends. */
function encodeRanges(offset: bigint, ranges: Iterable<Range>, detailBytes: number): string {
  const parts: string[] = []
  let bytes = 0
  let from = offset
  for (const range of ranges) {
    const part = `${(range.from - from).toString(36)}-${(range.to - range.from).toString(36)}`
    bytes += part.length + 1
    if (bytes > detailBytes) break
    parts.push(part)
    from = range.to
  }
  return parts.join(',')
}

/** A note that does not read as one counts as empty: then its commands are carried out again. */
function decodeRanges({ offset, detail }: SavedPosition): Range[] {
  const ranges: Range[] = []
  let before = offset
  for (const part of detail === '' ? [] : detail.split(',')) {
    const match = /^([0-9a-z]+)-([0-9a-z]+)$/.exec(part)
    if (match === null) return []
    const from = before + fromBase36(match[1] as string)
    before = from + fromBase36(match[2] as string)
    ranges.push({ from, to: before })
  }
  return ranges
}

function fromBase36(digits: string): bigint {
  let value = 0n
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value
}
