/**
 * One of the processes that run seeds for another: it is sent seeds, and answers each with what became of it.
 *
 * What must stay true: a seed's run follows from the seed alone, whoever runs it. What a run throws is a wrong like others.
 */
import { FAULTS } from './faults.ts'
import { draw, type SimOptions } from './options.ts'
import { run } from './run.ts'

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
    const nothing = { reaped: 0, fired: [], elapsedMs: 0, digest: '' }
    return { seed, wrongs: [`it threw ${text}`], ...nothing, cpuMs: cpuMs() }
  }
}

process.on('message', (seed: number) => {
  void report(draw(seed, FAULTS)).then((each) => process.send?.(each))
})
