/**
 * One server run as a child process of a test: its output in a file, a wait until it is ready, and
 * two ways to end it.
 *
 * It never outlives the test process, however that ends: an exit hook sees to ordinary ends, and a
 * guard (a shell that waits for the end of a pipe we hold) to signals that Node cannot see.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Generous: a machine with two busy cores needs about 10 s for the slowest. */
const READY_WITHIN_MS = 120_000
const POLL_EVERY_MS = 50
/** How long a server may take over its own shutdown before it is killed. */
const STOP_WITHIN_MS = 30_000
const LOG_TAIL_LINES = 25

export interface ServerCommand {
  /** Its name in errors. */
  readonly name: string
  readonly binary: string
  readonly args: readonly string[]
  /** This process's own unless given. */
  readonly env?: NodeJS.ProcessEnv
  /** Opened for appending, so that it contains restarts, too. */
  readonly logFile: string
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export class ServerProcess implements AsyncDisposable {
  readonly command: ServerCommand
  readonly pid: number
  readonly #child: ChildProcess
  readonly #ended: Promise<string>
  /** How it ended; undefined while it runs. */
  #end: string | undefined

  private constructor(command: ServerCommand, child: ChildProcess, pid: number) {
    this.command = command
    this.pid = pid
    this.#child = child
    const guard = guardOf(pid)
    running.add(child)
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#ended = promise
    child.once('exit', (code, signal) => {
      this.#end = signal ?? `exit code ${code}`
      running.delete(child)
      guard.kill('SIGKILL')
      resolve(this.#end)
    })
  }

  /**
   * Starts it and waits until `isReady` answers true; an error that it throws counts as "not yet".
   */
  static async start(
    command: ServerCommand,
    isReady: () => Promise<boolean>,
  ): Promise<ServerProcess> {
    const log = openSync(command.logFile, 'a')
    const { binary, args, env = process.env } = command
    const child = spawn(binary, args, { stdio: ['ignore', log, log], env })
    closeSync(log)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    child.once('spawn', resolve)
    child.once('error', reject)
    await promise
    const server = new ServerProcess(command, child, child.pid!)
    try {
      await server.#ready(isReady)
      return server
    } catch (error) {
      await server.kill()
      throw error
    }
  }

  get isRunning(): boolean {
    return this.#end === undefined
  }

  /** Asks it to end (SIGTERM) and waits; kills it if it does not listen. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_WITHIN_MS)
    await this.#ended
    clearTimeout(timer)
  }

  /** SIGKILL, and waits until the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** SIGSTOP: it keeps its port and its connections and answers nothing. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async #ready(isReady: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + READY_WITHIN_MS
    while (!(await isReady().catch(() => false))) {
      if (this.#end !== undefined) throw await this.#failure(`ended (${this.#end})`)
      if (performance.now() > deadline) throw await this.#failure('took too long')
      await delay(POLL_EVERY_MS)
    }
    if (this.#end !== undefined) throw await this.#failure(`ended (${this.#end})`)
  }

  async #failure(what: string): Promise<Error> {
    const { name, logFile } = this.command
    const log = (await readFile(logFile, 'utf8')).trimEnd().split('\n')
    const tail = log.slice(-LOG_TAIL_LINES).join('\n')
    return new Error(`${name} ${what} before it was ready. Its log ends:\n${tail}`)
  }
}

/** Kills `pid` when this process ends by any means: the pipe that it reads from ends with us. */
function guardOf(pid: number): ChildProcess {
  const script = `trap '' INT TERM HUP; read -r nothing; kill -KILL "$0"`
  const guard = spawn('/bin/sh', ['-c', script, String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  // Neither may keep this process alive.
  const pipe = guard.stdin as Socket
  pipe.unref()
  return guard
}
