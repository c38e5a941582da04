/**
 * A user's terminal: a shell in which `kinfold` is this checkout's command, with an environment of
 * its own. Lines are run as a person pastes them.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ServerProcess } from '../cluster/server-process.ts'
import type { Ran } from './kinfold-command.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'cli', 'main.ts')
const MOST_BYTES = 64 * 2 ** 20

export class Terminal implements Disposable {
  /** Home and working directory. */
  readonly home: string
  readonly #env: NodeJS.ProcessEnv

  constructor(env: Readonly<Record<string, string>>) {
    this.home = mkdtempSync(join(tmpdir(), 'kinfold-terminal-'))
    const script = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`
    writeFileSync(join(this.home, 'kinfold'), script, { mode: 0o755 })
    const { PATH = '' } = process.env
    const own = { HOME: this.home, PATH: [this.home, PATH].join(delimiter), NO_COLOR: '1' }
    this.#env = { ...own, KUBECONFIG: '/nowhere/kubeconfig', ...env }
  }

  async run(line: string): Promise<Ran> {
    const options = { cwd: this.home, env: this.#env, maxBuffer: MOST_BYTES }
    return await new Promise((resolve) => {
      const child = execFile('sh', ['-c', line], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      )
      child.stdin?.end()
    })
  }

  /** One that runs on, until it is stopped. */
  async start(line: string): Promise<ServerProcess> {
    const command = { name: line, binary: 'sh', args: ['-c', `exec ${line}`], env: this.#env }
    return await ServerProcess.start({ ...command, logFile: this.logFile }, async () => true)
  }

  /** Of what was started. */
  get logFile(): string {
    return join(this.home, 'log')
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}
