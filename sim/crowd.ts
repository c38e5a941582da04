/** Runs many seeds in processes of their own, as many at once as there are cores for. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Report } from './worker.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
/** A world that takes longer hangs. */
const MOST_MS = 10 * 60_000

/** Each report as it comes; order is nobody's. */
export async function runSeeds(
  seeds: readonly number[],
  processes: number,
  onReport: (report: Report) => void,
): Promise<void> {
  const left = [...seeds]
  await Promise.all(Array.from({ length: processes }, () => serve(left, onReport)))
}

async function serve(left: number[], onReport: (report: Report) => void): Promise<void> {
  const worker = fork(WORKER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      onReport(await reportOf(worker, seed))
    }
  } finally {
    worker.kill()
  }
}

function reportOf(worker: ReturnType<typeof fork>, seed: number): Promise<Report> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`seed ${seed}: ${why}`))
    const late = setTimeout(() => fail('it hangs; run it alone with --trace'), MOST_MS)
    const gone = (code: number | null): void => fail(`its process ended with ${code}`)
    worker.once('exit', gone)
    worker.once('message', (report: Report) => {
      clearTimeout(late)
      worker.off('exit', gone)
      resolve(report)
    })
    worker.send(seed)
  })
}
