/**
 * Runs many seeds in processes of their own, as many at once as there are cores for.
 *
 * What must stay true: each seed is reported once, however its process ended, unless the run was
 * stopped. A run of hours takes no more memory than a run of minutes.
 *
 * Not here: what is printed about the reports (main.ts, sim.test.ts).
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Report, unfinished } from './worker.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
/** A world that takes longer hangs. */
const MOST_MS = 10 * 60_000
/**
 * A process is warm after a few; its heap keeps what the largest worlds needed, so a new one from
 * time to time keeps memory small.
 */
const SEEDS_OF_A_PROCESS = 50

/**
 * Each report as it comes, in no particular order. Once stopped, it resolves at once, and running
 * seeds are abandoned.
 */
export async function runSeeds(
  seeds: readonly number[],
  processes: number,
  onReport: (report: Report) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const left = seeds[Symbol.iterator]()
  await Promise.all(Array.from({ length: processes }, () => serve(left, onReport, signal)))
}

async function serve(
  left: Iterator<number>,
  onReport: (report: Report) => void,
  signal: AbortSignal,
): Promise<void> {
  let worker: Worker | undefined
  try {
    while (!signal.aborted) {
      const { done, value: seed } = left.next()
      if (done === true) return
      worker ??= new Worker()
      const each = await worker.reportOf(seed, signal)
      if (each === undefined) return
      onReport(each)
      if (worker.isSpent) worker = worker.end()
    }
  } finally {
    worker?.end()
  }
}

class Worker {
  readonly #process: ChildProcess = fork(WORKER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  #seeds = 0
  #isBroken = false

  get isSpent(): boolean {
    return this.#isBroken || this.#seeds >= SEEDS_OF_A_PROCESS
  }

  /** Undefined when the run was stopped meanwhile. */
  async reportOf(seed: number, signal: AbortSignal): Promise<Report | undefined> {
    this.#seeds++
    const { promise, resolve } = Promise.withResolvers<Report | undefined>()
    const breakOff = (why: string): void => {
      this.#isBroken = true
      resolve(unfinished(seed, why))
    }
    const late = setTimeout(() => breakOff('it hangs; run it alone with --trace'), MOST_MS)
    const gone = (code: number | null): void => breakOff(`its process ended with ${code}`)
    const stop = (): void => resolve(undefined)
    this.#process.once('exit', gone)
    this.#process.once('message', resolve)
    signal.addEventListener('abort', stop, { once: true })
    this.#process.send(seed)
    const each = await promise
    clearTimeout(late)
    this.#process.off('exit', gone)
    this.#process.off('message', resolve)
    signal.removeEventListener('abort', stop)
    return each
  }

  end(): undefined {
    this.#process.kill('SIGKILL')
  }
}
