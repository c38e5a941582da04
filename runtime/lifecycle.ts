/**
 * How a process ends: by a signal, by the end of its work, or by an error that says what to do.
 *
 * What must stay true: exit codes mean the same in every command: 0 done, 1 findings, 2 bad input,
 * 3 refused by policy, 4 failure.
 */
export const EXIT = { ok: 0, findings: 1, input: 2, refused: 3, failure: 4 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An end that is reported to a person in one sentence. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const

/**
 * A person or a supervisor asked for the end; of work that had not begun yet, or was not complete,
 * nothing more is known.
 */
export class StoppedError extends Error {
  override readonly name = 'StoppedError'
  /** As shells count. */
  readonly exitCode: number

  constructor(signal: keyof typeof SIGNALS) {
    super(`stopped by ${signal}`)
    this.exitCode = 128 + SIGNALS[signal]
  }
}

/**
 * Ctrl-C below npm arrives twice, from the terminal and from npm: within this time it is one
 * request.
 */
const ONE_REQUEST_MS = 500

/**
 * Aborts on the first SIGINT or SIGTERM, with a `StoppedError`; a later one ends the process at
 * once.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  let askedAt: number | undefined
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const stopped = new StoppedError(name)
      askedAt ??= performance.now()
      if (performance.now() - askedAt > ONE_REQUEST_MS) process.exit(stopped.exitCode)
      controller.abort(stopped)
    })
  }
  return controller.signal
}

type Loop = (signal: AbortSignal) => Promise<void>

/**
 * Runs loops side by side until one fails or all end; a failure stops the others, and is thrown
 * once they have stopped.
 */
export async function together(loops: readonly Loop[], signal: AbortSignal): Promise<void> {
  await joining(async (begin) => loops.forEach(begin), signal)
}

/** The same of loops that `lead` begins one after the other, as long as it runs itself. */
export async function joining(
  lead: (begin: (loop: Loop) => void, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const errors: unknown[] = []
  const running = new Set<Promise<void>>()
  const guarded = async (loop: Loop): Promise<void> => {
    try {
      await loop(either)
    } catch (error) {
      if (!either.aborted || !(error instanceof Error && error === either.reason))
        errors.push(error)
      failed.abort(error)
    }
  }
  const begin = (loop: Loop): void => {
    const ended = guarded(loop)
    running.add(ended)
    void ended.then(() => running.delete(ended))
  }
  await guarded(async (each) => await lead(begin, each))
  await Promise.all(running)
  if (errors.length > 0) throw errors[0]
}
