/**
 * Lines of `aws logs tail`: a time, with `--format detailed` the name of the log stream, and the
 * message. Takes away what is before an event, and lines of other streams; all else passes as it
 * is.
 *
 * What must stay true: line ends pass, so that lines are counted; of what is before an event so
 * much is held as a log stream's name may have.
 *
 * Not here: what the events are (audit-decoder.ts).
 */

/** A time, a space, and a name of 512 characters at most. */
const LONGEST_PREFIX = 640
const [LINE_FEED, OPEN_OBJECT, ZERO, NINE] = [0x0a, 0x7b, 0x30, 0x39]

type State = 'undecided' | 'none' | 'prefix' | 'event' | 'skip'

export class TailLines {
  #state: State = 'undecided'
  #prefix = ''
  /** Lines of other streams. */
  others: number = 0

  get isUsed(): boolean {
    return this.#state !== 'undecided' && this.#state !== 'none'
  }

  #decide(bytes: Uint8Array): void {
    const first = bytes.find((byte) => byte > 0x20)
    if (first !== undefined) this.#state = first >= ZERO && first <= NINE ? 'prefix' : 'none'
  }

  /** Whether it is such lines shows in the first byte: JSON of an event has no digit there. */
  *read(bytes: Uint8Array): Iterable<Uint8Array> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#state === 'undecided') this.#decide(bytes)
      if (this.#state === 'undecided' || this.#state === 'none') {
        yield bytes.subarray(at)
        return
      }
      const isWithin = this.#state === 'prefix'
      const end = isWithin ? this.#endOfPrefix(bytes, at) : this.#endOfLine(bytes, at)
      if (this.#state !== 'skip' && !isWithin) yield bytes.subarray(at, end)
      if (!isWithin && bytes[end - 1] === LINE_FEED) {
        if (this.#state === 'skip') yield bytes.subarray(end - 1, end)
        this.#state = 'prefix'
      }
      at = end
    }
  }

  #endOfLine(bytes: Uint8Array, from: number): number {
    const at = bytes.indexOf(LINE_FEED, from)
    return at < 0 ? bytes.length : at + 1
  }

  /** Up to the event, or to the line's end. */
  #endOfPrefix(bytes: Uint8Array, from: number): number {
    let at = from
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      const isOver = byte === OPEN_OBJECT || byte === LINE_FEED
      if (isOver || this.#prefix.length > LONGEST_PREFIX) {
        this.#endPrefix(byte === OPEN_OBJECT)
        return at
      }
      this.#prefix += String.fromCharCode(byte)
    }
    return at
  }

  #endPrefix(hasEvent: boolean): void {
    const words = this.#prefix.trim().split(/\s+/)
    const [time = '', stream = 'kube-apiserver-audit'] = words
    const isAudit = words.length <= 2 && stream.startsWith('kube-apiserver-audit')
    const isEvent = hasEvent && isAudit && (time === '' || /^\d{4}-\d\d-\d\dT\S+$/.test(time))
    this.#state = isEvent ? 'event' : 'skip'
    if (!isEvent && this.#prefix.trim() !== '') this.others += 1
    this.#prefix = ''
  }
}
