/**
 * A playground as a reader of one document has it, with that document's commands run in a shell:
 * `kinfold`, `npx kinfold` and `kubectl` exist, and use this checkout and that playground.
 *
 * What must stay true: all that a command writes is in a directory that is removed at the end; no
 * kubeconfig and no data of a user is read; every started process ends with it.
 */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireBinary } from '../cluster/binaries.ts'
import { ServerProcess } from '../cluster/server-process.ts'
import { eventually } from '../eventually.ts'
import { type Example, ROOT } from './example.ts'
import { missingLine } from './shape.ts'
import { ENDLESS, type Filled, filledIn, REPEATABLE, SETTINGS } from './table.ts'

const MAIN = join(ROOT, 'cli', 'main.ts')
/** Of one command. */
const WITHIN_MS = 60_000
/** Until output is as shown. */
const SHOWN_WITHIN_MS = 30_000
const AGAIN_MS = 500
/** A command that runs until it is ended has not failed by then. */
const GOES_ON_MS = 2_000
/** By SIGTERM, as a shell says it. */
const ENDED = 143
/** `kinfold` answers 1 for differences and findings, which are answers, too. */
const FINDINGS = 1

interface Ran {
  /** Null: it was ended. */
  readonly code: number | null
  readonly output: string
}

export class Stage implements AsyncDisposable {
  readonly #directory: string
  readonly #playground: ServerProcess
  readonly #filled: Filled

  private constructor(directory: string, playground: ServerProcess, http: string) {
    this.#directory = directory
    this.#playground = playground
    const data = dataIn(directory)
    const kubeconfig = join(data, 'kubeconfig')
    const asked = { digest: () => this.#digest(), command: () => this.#command() }
    this.#filled = { kubeconfig, http, data, directory, ...asked }
  }

  static async open(document: string): Promise<Stage> {
    const { flags = [] } = SETTINGS[document] ?? {}
    const directory = await mkdtemp(join(tmpdir(), 'kinfold-examples-'))
    try {
      await writePrograms(join(directory, 'bin'))
      const data = dataIn(directory)
      const args = [MAIN, 'playground', '--data', data, '--http', '127.0.0.1:0', ...flags]
      const command = { name: 'playground', binary: process.execPath, args }
      const logFile = join(directory, 'playground.log')
      let http = ''
      const playground = await ServerProcess.start({ ...command, logFile }, async () => {
        const address = await readFile(join(data, 'http.json'), 'utf8')
        const { url } = JSON.parse(address) as { readonly url: string }
        http = new URL(url).host
        return (await fetch(`${url}/readyz`)).ok
      })
      const stage = new Stage(directory, playground, http)
      try {
        await stage.#prepare(document)
        return stage
      } catch (error) {
        await playground.kill()
        throw error
      }
    } catch (error) {
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  /** The difference from the document; undefined when it is. */
  async fault(example: Example): Promise<string | undefined> {
    const { again } = SETTINGS[example.document] ?? {}
    if (again?.test(example.command)) await this.#prepare(example.document)
    const command = await filledIn(example.command, this.#filled)
    const isEndless = ENDLESS.test(example.command)
    const deadline = performance.now() + (REPEATABLE.test(example.command) ? SHOWN_WITHIN_MS : 0)
    for (;;) {
      const ran = await this.#run(command, isEndless)
      const fault = faultOf(example, ran, isEndless)
      if (fault === undefined || performance.now() > deadline) return fault
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#playground.stop()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #prepare(document: string): Promise<void> {
    for (const command of SETTINGS[document]?.before ?? []) {
      const succeeds = async (): Promise<boolean | string> => {
        const { code, output } = await this.#run(command, false)
        return code === 0 || output
      }
      await eventually(command, succeeds, { everyMs: AGAIN_MS })
    }
  }

  async #digest(): Promise<string> {
    const { output } = await this.#run('kinfold plan held --cluster north -o json', false)
    return /"digest": *"(?:sha256:)?([0-9a-f]{64})"/.exec(output)?.[1] ?? `no digest in ${output}`
  }

  async #command(): Promise<string> {
    const asked = 'kinfold history -n shop --cluster north --change command -o json'
    const { output } = await this.#run(asked, false)
    return /"command": *"([\d-]+)"/.exec(output)?.[1] ?? `no command in ${output}`
  }

  /** In bash, as a reader would; a command that ends by itself is waited for. */
  async #run(command: string, isEndless: boolean): Promise<Ran> {
    const { PATH = '', HOME: _, KUBECONFIG: _1, ...env } = process.env
    const own = {
      PATH: `${join(this.#directory, 'bin')}:${PATH}`,
      HOME: this.#directory,
      XDG_DATA_HOME: join(this.#directory, 'share'),
      KUBECONFIG: this.#filled.kubeconfig,
      NO_COLOR: '1',
    }
    // In a group of its own, so that all of a pipeline can be ended, and nothing else.
    const child = spawn('bash', ['-c', command], {
      cwd: this.#directory,
      env: { ...env, ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const end = (): void => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    }
    const timers = [setTimeout(end, WITHIN_MS)]
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        if (isEndless && output === '') timers.push(setTimeout(end, GOES_ON_MS))
        output += chunk
      })
    }
    const { promise, resolve, reject } = Promise.withResolvers<number | null>()
    child.once('error', reject)
    child.once('close', resolve)
    const code = await promise
    for (const timer of timers) clearTimeout(timer)
    return { code, output }
  }
}

function faultOf({ command, shown }: Example, ran: Ran, isEndless: boolean): string | undefined {
  const { code, output } = ran
  const isFound = code === FINDINGS && /^(npx )?kinfold /.test(command)
  const isDone = code === 0 || (isEndless ? code === null || code === ENDED : isFound)
  if (isEndless && output === '') return 'it said nothing'
  if (!isDone) return `exit code ${code}:\n${output}`
  const missing = missingLine(shown, output)
  return missing === undefined ? undefined : `no line like\n${missing}\nin\n${output}`
}

function dataIn(directory: string): string {
  return join(directory, 'share', 'kinfold')
}

/** The programs on a reader's path. curl fails where the answer is an error. */
async function writePrograms(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const programs = {
    kinfold: `exec "${process.execPath}" "${MAIN}" "$@"`,
    npx: '[ "$1" = kinfold ] || { echo "npx $1?" >&2; exit 127; }; shift; exec kinfold "$@"',
    kubectl: `exec "${requireBinary('kubectl')}" "$@"`,
    curl: 'PATH=$(echo "$PATH" | cut -d: -f2-) exec curl -sS --fail-with-body "$@"',
  }
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
}
