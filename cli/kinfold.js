#!/usr/bin/env node
/**
 * The launcher of the command `kinfold`, in plain JavaScript: an older Node can read it, which it cannot of main.ts.
 *
 * What must stay true: on Node 24 it is main.ts and nothing else. Below, the Node that `npm ci` installs runs main.ts with the same arguments and streams, is
 * sent the same signals, and its exit code is passed on; where there is none, one sentence says what to install.
 *
 * Not here: commands, messages of theirs.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const LEAST = 24
/** As runtime/lifecycle.ts has it, which this Node cannot load. */
const FAILURE = 4
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

if (Number.parseInt(process.versions.node, 10) >= LEAST) await import('./main.ts')
else runInstalled()

function runInstalled() {
  const here = (path) => fileURLToPath(new URL(path, import.meta.url))
  const installed = here(`../node_modules/node-${process.platform}-${process.arch}/bin/node`)
  if (!existsSync(installed)) {
    process.stderr.write(
      `error: kinfold needs Node ${LEAST} or newer, and ${process.execPath} is ${process.version}: install Node ${LEAST}, or on Linux run "npm ci" in ${here('..')}, which installs it there\n`,
    )
    process.exitCode = FAILURE
    return
  }
  const child = spawn(installed, [here('main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
