/**
 * Loaded into a `kinfold up` before its own first line (`node --import`), records each second how
 * long the event loop was blocked, and the memory.
 *
 * What must stay true: no part of Kinfold knows of it, so the measured program is the one that
 * users run.
 *
 * Writes lines of JSON into `stalls.jsonl` next to the directory that `--data` names.
 */
import { appendFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { threadCpuUsage } from 'node:process'

export interface StallLine {
  /** Wall time. */
  readonly atMs: number
  /**
   * The longest and the 99th percentile since the line before. Up to 5 ms too long: the timer's own
   * interval is in it.
   */
  readonly longestMs: number
  readonly p99Ms: number
  /**
   * The most that the main thread computed between two of its own samples: the part of a delay that
   * no other process and no disk caused.
   */
  readonly longestCpuMs: number
  readonly residentMb: number
  readonly heapMb: number
}

export const STALLS_FILE = 'stalls.jsonl'
const EVERY_MS = 1_000
const RESOLUTION_MS = 5

const data = process.argv[process.argv.indexOf('--data') + 1]
if (process.argv.includes('--data') && data !== undefined) {
  probe(join(dirname(data), STALLS_FILE))
}

function probe(file: string): void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  let longestCpuMs = 0
  // Begins with the first turn: loading the program is none.
  let cpuMs = Number.POSITIVE_INFINITY
  setInterval(() => {
    const now = threadCpuMs()
    longestCpuMs = Math.max(longestCpuMs, now - cpuMs)
    cpuMs = now
  }, RESOLUTION_MS).unref()
  setInterval(() => {
    const { rss, heapUsed } = process.memoryUsage()
    const line: StallLine = {
      atMs: Date.now(),
      longestMs: delays.max / 1e6,
      p99Ms: delays.percentile(99) / 1e6,
      longestCpuMs,
      residentMb: rss / 1e6,
      heapMb: heapUsed / 1e6,
    }
    delays.reset()
    longestCpuMs = 0
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  }, EVERY_MS).unref()
}

function threadCpuMs(): number {
  const { user, system } = threadCpuUsage()
  return (user + system) / 1_000
}
