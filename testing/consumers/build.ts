/**
 * Installs the examples of consumers for tests, each by the commands that
 * docs/integrate/consumers.md prints, in a copy outside the checkout.
 *
 * What must stay true: the folder appears under its name only when it is whole (made beside it,
 * then renamed), and an existing folder is not changed. The command is ../servers.ts.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Consumer, installedFolder, sourceFolder } from './consumer.ts'

/** Answers the sentence that says why it failed, if it did. */
export async function installUnlessThere(consumer: Consumer): Promise<string | undefined> {
  const { language, files, install, needs } = consumer
  const folder = installedFolder(consumer)
  const name = `consumer-${language}`
  if (install === undefined || existsSync(folder)) {
    console.log(`${name}: there already (${folder})`)
    return undefined
  }
  const began = performance.now()
  const unfinished = `${folder}.${process.pid}.unfinished`
  try {
    mkdirSync(unfinished, { recursive: true })
    for (const file of files) cpSync(join(sourceFolder(consumer), file), join(unfinished, file))
    const { status, stdout, stderr } = spawnSync('bash', ['-c', install], {
      cwd: unfinished,
      // Go as the servers are built, so that its own packages are compiled once.
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-trimpath' },
      encoding: 'utf8',
    })
    if (status !== 0) {
      const logFile = `${folder}.install.log`
      writeFileSync(logFile, stdout + stderr)
      return `${name} was not installed by "${install}": it needs ${needs}. The output is in ${logFile}.`
    }
    // Two concurrent runs end with the folder of one of them; either is whole.
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${name}: installed in ${seconds} s (${folder})`)
  return undefined
}
