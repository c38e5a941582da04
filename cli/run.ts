/**
 * Carries out a command line as a process of its own.
 *
 * What must stay true: every failure is one clear sentence on standard error, and the exit code
 * says whose it is; what it writes is its user's alone.
 */
import { CommanderError } from 'commander'
import { EXIT, ExitError, StoppedError } from '../runtime/lifecycle.ts'
import { guard } from './print/terminal.ts'

export async function runAsProcess(act: () => Promise<void>): Promise<void> {
  // What is written may hold users' objects, and the mode of LevelDB's files cannot be chosen: they
  // are this user's alone, whatever the directory lets in.
  process.umask(0o077)

  guard(process.stdout)
  guard(process.stderr)

  // Who reads us may stop, as `head` does: that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    process.stderr.write(`error: what it says cannot be written: ${error.message}\n`)
    process.exit(EXIT.failure)
  })

  try {
    await act()
  } catch (error) {
    process.exitCode = report(error)
  }
  // What was written last may still fail: a full disk is reported a moment later.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  // Whatever still has a handle open (a keep-alive connection, a timer) must not hold a command
  // that is done.
  if (process.exitCode !== undefined) process.exit()
}

function report(error: unknown): number {
  // It has already said what is wrong.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.input
  if (error instanceof ExitError || error instanceof StoppedError) {
    process.stderr.write(`error: ${error.message}\n`)
    return error.exitCode
  }
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  // The errors of the ports say in one sentence what to do; anything else is ours to mend.
  const isOfPort =
    typeof code === 'string' && error instanceof Error && error.name.endsWith('Error')
  process.stderr.write(`error: ${isOfPort ? message : (stack ?? String(error))}\n`)
  return EXIT.failure
}
