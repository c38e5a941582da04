/**
 * The command `kinfold-client`: the questions and orders of `kinfold`, to be bundled into one file
 * (scripts/release/client.ts).
 *
 * What must stay true: nothing at the top of it, or of what it imports, is awaited: a single
 * executable takes no such module.
 */
import { basename } from 'node:path'
import { CLIENT_COMMANDS } from './client-command.ts'
import { addVersion, programOf } from './command-line.ts'
import { runAsProcess } from './run.ts'

const COMMANDS = { ...CLIENT_COMMANDS, version: async () => addVersion }
const REST =
  'The client has what is asked of a running Kinfold. What runs one is in the npm package and the image.'

void runAsProcess(async () => {
  const called = basename(process.argv[1] ?? '')
  const name = called.startsWith('kubectl-kinfold') ? 'kubectl kinfold' : 'kinfold-client'
  const program = await programOf(COMMANDS, process.argv.slice(2), name)
  await program.addHelpText('after', `\n${REST}`).parseAsync()
})
