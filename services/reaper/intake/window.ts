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

interface Range {
  readonly from: bigint
  /** Inclusive. */
  readonly to: bigint
}

export class Window {
  readonly #detailBytes: number
  readonly #restored: readonly Range[]
  /** Of `#restored`: the ranges before it are before `#next`. */
  #first = 0
  #offsets: bigint[] = []
  #settled: boolean[] = []
  #base = 0
  #head = 0
  #open = 0
  #next: bigint

  /** `detailBytes` bounds the metadata; ranges that do not fit are left out. */
  constructor(saved: SavedPosition, detailBytes: number) {
    this.#detailBytes = detailBytes
    this.#restored = decodeRanges(saved)
    this.#next = saved.offset
  }

  /** The next command read. Its ticket, or undefined when it was settled before the last start. */
  take(offset: bigint): number | undefined {
    this.#pass(offset)
    const range = this.#restored[this.#first]
    const wasSettled = range !== undefined && range.from <= offset
    this.#pass(offset + 1n)
    this.#offsets.push(offset)
    this.#settled.push(wasSettled)
    if (wasSettled) {
      this.#advance()
      return undefined
    }
    this.#open++
    return this.#base + this.#offsets.length - 1
  }

  /** False: it was settled before. */
  settle(ticket: number): boolean {
    const index = ticket - this.#base
    if (index < this.#head || this.#settled[index] !== false) return false
    this.#settled[index] = true
    this.#open--
    this.#advance()
    return true
  }

  /** Of a command that is not settled. */
  offsetOf(ticket: number): bigint {
    return this.#offsets[ticket - this.#base] as bigint
  }

  /** There is no command between the last one taken and `end`. */
  readTo(end: bigint): void {
    if (end > this.#next) this.#pass(end)
  }

  /** Commands from the oldest unsettled one on, settled ones among them included. */
  size(): number {
    return this.#offsets.length - this.#head
  }

  unsettled(): number {
    return this.#open
  }

  position(): SavedPosition {
    const offset = this.#offsets[this.#head] ?? this.#next
    return { offset, detail: encodeRanges(offset, this.#ranges(), this.#detailBytes) }
  }

  #advance(): void {
    while (this.#head < this.#offsets.length && this.#settled[this.#head] === true) this.#head++
    if (this.#head < 1_024 || this.#head * 2 < this.#offsets.length) return
    this.#offsets = this.#offsets.slice(this.#head)
    this.#settled = this.#settled.slice(this.#head)
    this.#base += this.#head
    this.#head = 0
  }

  *#ranges(): Generator<Range> {
    const [offsets, settled] = [this.#offsets, this.#settled]
    for (let i = this.#head; i < offsets.length; i++) {
      if (settled[i] !== true) continue
      const from = i
      while (settled[i + 1] === true) i++
      yield { from: offsets[from] as bigint, to: offsets[i] as bigint }
    }
    for (const { from, to } of this.#restored.slice(this.#first)) {
      yield { from: from < this.#next ? this.#next : from, to }
    }
  }

  /** Offsets only grow, so a range that was passed is never needed again. */
  #pass(end: bigint): void {
    this.#next = end
    for (let range = this.#restored[this.#first]; range !== undefined && range.to < end; ) {
      range = this.#restored[++this.#first]
    }
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
