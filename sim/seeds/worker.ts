/**
 * One of the processes that run seeds for another: it is sent seeds, and answers each with its
 * result.
 *
 * What must stay true: a seed's run follows from the seed alone, in whatever process it runs. An
 * error that a run throws is a failure like others.
 */
import { FAULTS } from '../fault/faults.ts'
import { draw, type SimOptions } from '../options.ts'
import { run } from '../run.ts'

export interface Report {
  readonly seed: number
  readonly wrongs: readonly string[]
  readonly reaped: number
  readonly fired: readonly (readonly [row: string, times: number])[]
  readonly elapsedMs: number
  readonly cpuMs: number
  readonly digest: string
}

export async function report(options: SimOptions, print?: (line: string) => void): Promise<Report> {
  const { seed } = options
  const before = process.cpuUsage()
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  try {
    const { fired, ...rest } = await run(options, print)
    return { ...rest, fired: [...fired], cpuMs: cpuMs() }
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { ...unfinished(seed, `it threw ${text}`), cpuMs: cpuMs() }
  }
}

/** Of a run that did not end. */
export function unfinished(seed: number, why: string): Report {
  return { seed, wrongs: [why], reaped: 0, fired: [], elapsedMs: 0, cpuMs: 0, digest: '' }
}

if (import.meta.main) {
  process.on('message', (seed: number) => {
    void report(draw(seed, FAULTS)).then((each) => process.send?.(each))
  })
  // A terminal interrupts all that it started; this one ends with the process that started it.
  process.on('SIGINT', () => undefined)
  process.on('disconnect', () => process.exit())
}
