/**
 * The events of a world, line by line, and a digest of them: two runs of one seed are the same when
 * their digests are.
 *
 * What must stay true: the recorded lines follow from the seed alone; nothing of this machine, such
 * as real time, gets in.
 */
import { createHash, type Hash } from 'node:crypto'

export class Trace {
  readonly #now: () => number
  readonly #print: ((line: string) => void) | undefined
  readonly #hash: Hash = createHash('sha256')
  #lines = 0

  constructor(now: () => number, print?: (line: string) => void) {
    this.#now = now
    this.#print = print
  }

  note(what: string, text: string): void {
    const line = `${stamp(this.#now())} ${what} ${text}`
    this.#lines++
    this.#hash.update(line)
    this.#print?.(line)
  }

  get lines(): number {
    return this.#lines
  }

  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 32)
  }
}

/** `1:02:03.004` of elapsed time. */
export function stamp(elapsedMs: number): string {
  const whole = Math.floor(elapsedMs)
  const pad = (value: number, width: number): string => String(value).padStart(width, '0')
  const [hours, rest] = [Math.floor(whole / 3_600_000), whole % 3_600_000]
  const [minutes, seconds] = [Math.floor(rest / 60_000), Math.floor(rest / 1_000) % 60]
  return `${hours}:${pad(minutes, 2)}:${pad(seconds, 2)}.${pad(whole % 1_000, 3)}`
}
