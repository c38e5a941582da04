#!/usr/bin/env node
/**
 * The launcher of the command `kinfold`, in plain JavaScript: an older Node can read it, which it cannot of main.ts.
 *
 * What must stay true: in a checkout, on Node 24, it is main.ts and nothing else, and in the package, on Node 22.19, the compiled main.js. In a checkout below Node 24,
 * the Node that `npm ci` installs runs main.ts with the same arguments and streams, is sent the same signals, and its exit code is passed on; where there is none, one
 * sentence says what to install.
 *
 * Not here: commands, messages of theirs.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as modules from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** As runtime/lifecycle.ts has it, which this Node cannot load. */
const FAILURE = 4
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const [major, minor] = process.versions.node.split('.').map(Number)
// Sources before a build of them, which may be older. The package has no sources, and compiled modules beside this file or below dist.
const isCheckout = existsSync(here('main.ts'))

hideWarnings()
if (isCheckout) {
  if (major >= 24) {
    keepStripped()
    await import('./main.ts')
  } else runInstalled()
} else if (major > 22 || (major === 22 && minor >= 19)) {
  await import(existsSync(here('main.js')) ? './main.js' : '../dist/cli/main.js')
} else fail('22.19', 'install Node 24')

function runInstalled() {
  const installed = here(`../node_modules/node-${process.platform}-${process.arch}/bin/node`)
  if (!existsSync(installed)) {
    fail(
      '24',
      `install Node 24, or on Linux run "npm ci" in ${here('..')}, which installs it there`,
    )
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

/** Sources without their types, so that the next start needs no compiler: half of the time and a third of the memory of a question. As lean-process.ts has it. */
function keepStripped() {
  // Of the user alone, as main.ts sets it for all that is written: a user who may write there
  // decides what code runs.
  process.umask(0o077)
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  modules.enableCompileCache(process.env.NODE_COMPILE_CACHE || join(caches, 'kinfold', 'compiled'))
}

function fail(least, hint) {
  process.stderr.write(
    `error: kinfold needs Node ${least} or newer, and ${process.execPath} is ${process.version}: ${hint}\n`,
  )
  process.exitCode = FAILURE
}

/**
 * On standard error of every command that opens a log: Node 22 calls node:sqlite experimental, which has what Kinfold uses; and kafkajs asks Node 24 for a delay below
 * zero when nothing waits, which is none.
 */
function hideWarnings() {
  const emit = process.emitWarning
  process.emitWarning = (warning, ...rest) => {
    const [type] = rest
    if (type === 'ExperimentalWarning' && String(warning).startsWith('SQLite')) return
    if (type === 'TimeoutNegativeWarning') return
    emit.call(process, warning, ...rest)
  }
}
