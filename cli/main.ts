#!/usr/bin/env node
/**
 * The command `kinfold`. What must stay true: every failure is one clear sentence on standard error, and the exit code says whose it is; what it writes is its
 * user's alone. By the name that it is called by it is a plugin of kubectl, too: kubectl-kinfold is the command, kubectl_complete-kinfold completes it.
 */
import { basename } from 'node:path'
import { CommanderError } from 'commander'
import { EXIT, ExitError, StoppedError } from '../runtime/lifecycle.ts'
import { createProgram } from './program.ts'
import { guard } from './terminal.ts'

// What is written may hold people's objects, and LevelDB lets nobody choose the mode of its files: they are this user's alone, whatever the directory lets in.
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
  await run(process.argv.slice(2), basename(process.argv[1] ?? ''))
} catch (error) {
  process.exitCode = report(error)
}
// What was written last may still fail: a full disk is told a moment later.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
// Whatever still has a handle open (a keep-alive connection, a timer) must not hold a command that is done.
if (process.exitCode !== undefined) process.exit()

async function run(words: readonly string[], called: string): Promise<void> {
  const isOfKubectl = called.startsWith('kubectl_complete-kinfold')
  if (isOfKubectl || words[0] === '__complete') {
    const { complete, completionText } = await import('./complete.ts')
    process.stdout.write(completionText(await complete(isOfKubectl ? words : words.slice(1))))
    process.exitCode = EXIT.ok
    return
  }
  const name = called.startsWith('kubectl-kinfold') ? 'kubectl kinfold' : 'kinfold'
  await (await createProgram(words, name)).parseAsync()
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
  const isTold = typeof code === 'string' && error instanceof Error && error.name.endsWith('Error')
  process.stderr.write(`error: ${isTold ? message : (stack ?? String(error))}\n`)
  return EXIT.failure
}
