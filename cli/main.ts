#!/usr/bin/env node
/**
 * The command `kinfold`. What must stay true: every failure is one clear sentence on standard error, and the exit code says whose it is.
 */
import { Command, CommanderError } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { addAudit } from './audit.ts'
import { addCascade } from './cascade.ts'
import { addDoctor } from './doctor.ts'
import { addGraph } from './graph.ts'
import { addLineage } from './lineage.ts'
import { addPlan } from './plan.ts'
import { addPlayground } from './playground.ts'
import { addReaper } from './reaper.ts'
import { addTopics } from './topics.ts'
import { addTree } from './tree.ts'
import { addUp } from './up.ts'
import { VERSION } from './version.ts'
import { addWatcher } from './watcher.ts'
import { addWhy } from './why.ts'

const program = new Command('kinfold')
  .description(
    'Garbage collection for Kubernetes-style APIs over several clusters, and the record of who owned what.',
  )
  .version(VERSION)
  .showHelpAfterError('(kinfold COMMAND --help says more)')
  .exitOverride()

addUp(program)
addPlayground(program)
addWatcher(program)
addGraph(program)
addReaper(program)
addTree(program)
addWhy(program)
addCascade(program)
addPlan(program)
addLineage(program)
addAudit(program)
addDoctor(program)
addTopics(program)
program.addHelpText(
  'after',
  '\nExit codes: 0 done, 1 differences or findings, 2 bad input, 3 refused by policy, 4 failure.',
)

// Who reads us may stop, as `head` does: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  throw error
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}
// Whatever still has a handle open (a keep-alive connection, a timer) must not hold a command that is done.
if (process.exitCode !== undefined) process.exit()

function report(error: unknown): number {
  // It has already said what is wrong.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.input
  if (error instanceof ExitError) {
    process.stderr.write(`error: ${error.message}\n`)
    return error.exitCode
  }
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  // The errors of the ports say in one sentence what to do; anything else is ours to mend.
  const isTold = typeof code === 'string' && error instanceof Error && error.name.endsWith('Error')
  process.stderr.write(`error: ${isTold ? message : (stack ?? String(error))}\n`)
  return EXIT.failure
}
