/**
 * A process that reports its progress, in lines of JSON on its standard output.
 *
 * What must stay true: it never outlives the process that started it; when it ends by itself, a
 * caller that waits for its lines gets an error.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Spoken<Line> extends AsyncDisposable {
  readonly pid: number
  /** The last line printed. */
  readonly last: Line | undefined
  /**
   * Calls `look` at each line until it answers true. Rejects when the process ends before, or
   * prints nothing for long.
   */
  until(look: (line: Line) => boolean): Promise<void>
}

export interface SpokenOptions {
  readonly name: string
  readonly binary: string
  readonly args: readonly string[]
}

/** After this long without a line, something hangs. */
const SILENT_MS = 120_000

export async function startSpoken<Line>(options: SpokenOptions): Promise<Spoken<Line>> {
  const { name, binary, args } = options
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    child.once('error', (error) => resolve(error.message))
  })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  let last: Line | undefined
  let hear: (line: Line) => void = () => undefined
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{')) return
    last = JSON.parse(text) as Line
    hear(last)
  })
  return {
    pid: child.pid ?? 0,
    get last() {
      return last
    },
    async until(look) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      let silence = setTimeout(() => undefined, 0)
      const expect = (): void => {
        clearTimeout(silence)
        silence = setTimeout(() => reject(new Error(`${name} says nothing any more`)), SILENT_MS)
      }
      expect()
      hear = (line) => {
        expect()
        if (look(line)) resolve()
      }
      const failed = ended.then((how) => {
        throw new Error(`${name} has ended by itself: ${how}`)
      })
      try {
        await Promise.race([promise, failed])
      } finally {
        clearTimeout(silence)
        hear = () => undefined
        failed.catch(() => undefined)
      }
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', kill)
      // Lines may still come when the process is gone, and its CPU time with it.
      hear = () => undefined
      child.kill('SIGTERM')
      const timer = setTimeout(kill, STOP_MS)
      await ended
      clearTimeout(timer)
    },
  }
}

/** How long it may take over its own end. */
const STOP_MS = 30_000
