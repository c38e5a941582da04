#!/usr/bin/env node
/**
 * The command `kinfold`. By the name that it is called by it is a plugin of kubectl, too:
 * kubectl-kinfold is the command, kubectl_complete-kinfold completes it.
 *
 * Not here: what becomes of a failure (run.ts).
 */
import { basename } from 'node:path'
import { EXIT } from '../runtime/lifecycle.ts'
import { createProgram } from './program.ts'
import { runAsProcess } from './run.ts'

await runAsProcess(() => run(process.argv.slice(2), basename(process.argv[1] ?? '')))

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
