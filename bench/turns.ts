/**
 * Two checkouts fold the same windows of events in turn, so that a busy machine slows down both:
 * the ratio of what they take, and the bytes that each allocates.
 *
 * What must stay true: one of them works at a time, and who begins changes with each window.
 *
 * Not here: what a window is (turn-process.ts).
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { machine, median, type Report, rounded, type Table } from './rig/report.ts'
import type { TurnLine } from './turn-process.ts'

export interface TurnsOptions extends Readonly<Record<string, number>> {
  /** Events, and dependents, of a window. */
  readonly window: number
  /** Windows that are measured, and those before them. */
  readonly windows: number
  readonly warm: number
  /** Objects that exist at once. */
  readonly living: number
}

const OWN = fileURLToPath(new URL('..', import.meta.url))
const PROCESS = fileURLToPath(new URL('turn-process.ts', import.meta.url))
/** As a service has them. */
const FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=50']
const STREAMS = [
  ['ownership', 'An event of ownership'],
  ['followed', 'An event of ownership, with the index of history that follows the fold'],
  ['cascade', 'A dependent of an owner that goes, until its deletion is recorded'],
] as const

export async function benchTurns(options: TurnsOptions, against: string): Promise<Report> {
  if (against === '')
    throw new ExitError(EXIT.input, 'turns needs --against DIR: a checkout after its npm ci')
  const tables: Table[] = []
  const measured: unknown[] = []
  for (const [stream, title] of STREAMS) {
    const rows = await turns(stream, options, [against, OWN])
    measured.push({ stream, rows })
    tables.push(tableOf(title, rows))
  }
  return { bench: 'turns', options, machine: machine(), tables, measured }
}

async function turns(
  stream: string,
  { window, windows, warm, living }: TurnsOptions,
  roots: readonly string[],
): Promise<readonly TurnLine[][]> {
  const runners = roots.map((root) => new Runner([root, stream, `${window}`, `${living}`]))
  try {
    const lines: TurnLine[][] = roots.map(() => [])
    for (let at = 0; at < warm + windows + 1; at++) {
      const order = at % 2 === 0 ? [0, 1] : [1, 0]
      // The last window is not timed.
      for (const each of order) {
        const line = await runners[each]!.fold(at === warm + windows ? 'heap' : 'cpu')
        if (at >= warm) lines[each]!.push(line)
      }
    }
    return lines
  } finally {
    for (const runner of runners) runner.end()
  }
}

class Runner {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [...FLAGS, PROCESS, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async fold(what: 'cpu' | 'heap'): Promise<TurnLine> {
    this.#child.stdin.write(`${what}\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new ExitError(EXIT.input, 'the fold of one of the checkouts failed')
    return JSON.parse(value) as TurnLine
  }

  end(): void {
    this.#child.stdin.end()
  }
}

function tableOf(title: string, [base = [], own = []]: readonly TurnLine[][]): Table {
  const row = (name: string, lines: readonly TurnLine[]): (string | number)[] => {
    const timed = lines.slice(0, -1)
    const sum = (all: readonly TurnLine[], of: 'cpu' | 'main'): number =>
      all.reduce((total, each) => total + each[of], 0)
    const ratios = timed.map(({ cpu }, at) => cpu / base[at]!.cpu)
    return [
      name,
      rounded(sum(timed, 'cpu') / timed.length),
      rounded(sum(timed, 'cpu') / sum(base.slice(0, -1), 'cpu'), 3),
      rounded(median(ratios), 3),
      rounded(sum(timed, 'main') / sum(base.slice(0, -1), 'main'), 3),
      rounded((lines.at(-1)?.allocated ?? 0) / 1024, 1),
    ]
  }
  return {
    title,
    columns: ['', 'CPU µs', 'ratio of sums', 'median ratio', 'main thread', 'KiB allocated'],
    rows: [row('against', base), row('this checkout', own)],
  }
}
