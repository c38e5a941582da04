/**
 * `kinfold up` as a process of its own, with a data directory that outlives it: started, killed and
 * started again by cluster tests, and asked over its endpoint as people ask it.
 *
 * What must stay true: it never outlives the test; its address is the one that this very process
 * wrote.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cascade, Why } from '../../services/graph/api/answer-schema.ts'
import { ServerProcess } from '../cluster/server-process.ts'
import { eventually } from '../eventually.ts'
import { unsettledCommands } from './kinfold-log.ts'
import type { Made } from './objects.ts'

export interface KinfoldOptions {
  readonly kubeconfig: string
  readonly data: string
  /** Given as they are; for example `--mode enforce --preset parity`. */
  readonly flags?: readonly string[]
  /** For Node itself, such as a module to load first. */
  readonly nodeArgs?: readonly string[]
  /** The checkout that runs; this one unless given. */
  readonly root?: string
}

export const ACTING: readonly string[] = ['--mode', 'enforce', '--preset', 'parity']

const ROOT = join(import.meta.dirname, '..', '..')
const READY_WITHIN_MS = 120_000
const ASK_WITHIN_MS = 10_000
const LOG_TAIL_LINES = 40

export class KinfoldProcess implements AsyncDisposable {
  readonly data: string
  readonly #process: ServerProcess
  #url = ''

  private constructor(data: string, process: ServerProcess) {
    this.data = data
    this.#process = process
  }

  /** It is under way, and may not be ready. */
  static async spawn({
    kubeconfig,
    data,
    flags = ACTING,
    nodeArgs = [],
    root = ROOT,
  }: KinfoldOptions): Promise<KinfoldProcess> {
    // A killed one leaves it.
    await rm(addressFile(data), { force: true })
    const fixed = ['--kubeconfig', kubeconfig, '--data', data, '--http', '127.0.0.1:0']
    const command = {
      name: 'kinfold up',
      binary: process.execPath,
      args: [...nodeArgs, join(root, 'cli', 'main.ts'), 'up', ...fixed, ...flags],
      logFile: logFile(data),
    }
    return new KinfoldProcess(data, await ServerProcess.start(command, async () => true))
  }

  static async start(options: KinfoldOptions): Promise<KinfoldProcess> {
    const kinfold = await KinfoldProcess.spawn(options)
    try {
      await kinfold.ready()
      return kinfold
    } catch (error) {
      await kinfold.kill()
      throw error
    }
  }

  /** Every kind synced, every task caught up. Rejects at once if the process has ended. */
  async ready(): Promise<void> {
    await eventually(
      'kinfold is ready',
      async () => {
        if (!this.#process.isRunning) return true
        const response = await this.#ask('/readyz')
        const text = await response.text()
        return response.ok ? true : failing(text)
      },
      { withinMs: READY_WITHIN_MS },
    )
    await this.assertRunning()
  }

  /** Rejects, with the end of its log, when it has ended by itself. */
  async assertRunning(): Promise<void> {
    if (!this.#process.isRunning) throw new Error(`kinfold ended:\n${await this.#logTail()}`)
  }

  get pid(): number {
    return this.#process.pid
  }

  async isReady(): Promise<boolean> {
    return (await this.#ask('/readyz')).ok
  }

  async isLive(): Promise<boolean> {
    return (await this.#ask('/livez')).ok
  }

  /** The lines of `/readyz?verbose`. */
  async readiness(): Promise<readonly string[]> {
    return (await (await this.#ask('/readyz?verbose')).text()).trimEnd().split('\n')
  }

  get isRunning(): boolean {
    return this.#process.isRunning
  }

  /** SIGKILL, and ended. */
  async kill(): Promise<void> {
    await this.#process.kill()
  }

  /** SIGTERM, and an orderly end. */
  async stop(): Promise<void> {
    await this.#process.stop()
  }

  /** SIGSTOP: it sees and does nothing, its connections stay. */
  pause(): void {
    this.#process.pause()
  }

  resume(): void {
    this.#process.resume()
  }

  /** Sum of a metric over the series that have these labels. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const text = await (await this.#ask('/metrics')).text()
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`)
    return text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) && wanted.every((each) => line.includes(each)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf('}') + 1)), 0)
  }

  /** No command waits and none is under way. */
  async idle(): Promise<void> {
    await eventually('kinfold has no command left', async () => {
      const backlog = await this.metric('kinfold_commands_backlog')
      const inFlight = await this.metric('kinfold_commands_in_flight')
      return backlog + inFlight === 0 || `${backlog} waiting, ${inFlight} under way`
    })
  }

  /**
   * Every command that its own log holds has a result there, which `idle` cannot say of those that
   * were not read yet.
   */
  async settled(): Promise<void> {
    await eventually('every command is settled', async () => {
      const open = await unsettledCommands(this.data)
      return open.length === 0 || `${open.length} are not, such as ${open[0]}`
    })
  }

  /** Undefined while it was never seen. */
  async why(asked: Pick<Made, 'uid'> | { kind: string; name: string }): Promise<Why | undefined> {
    const words = 'uid' in asked ? { uid: asked.uid } : asked
    const response = await this.#ask(`/v1/why?${new URLSearchParams(words)}`)
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`why was answered ${response.status}`)
    return (await response.json()) as Why
  }

  async cascade({ uid }: Pick<Made, 'uid'>): Promise<Cascade> {
    const response = await this.#ask(`/v1/cascade?uid=${encodeURIComponent(uid)}`)
    if (!response.ok) throw new Error(`cascade was answered ${response.status}`)
    return (await response.json()) as Cascade
  }

  /** Why holds last longer than by the wall clock, as `held` says; empty while that is believed. */
  async heldClock(): Promise<string> {
    const response = await this.#ask('/v1/held')
    return ((await response.json()) as { readonly clock: string }).clock
  }

<<<<<<< HEAD
  /** An order of a person. Rejects where it is refused. */
=======
  /** An order of a person, about a subject or a digest. Rejects where it is refused. */
>>>>>>> 0014b711 (rules: twin runs of built-in rules; no background DELETE of what has policy finalizers alone)
  async order(
    verb: string,
    why: string,
    about: { readonly subject?: string; readonly digest?: string } = {},
  ): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ verb, why, ...about })
    const response = await this.#ask('/v1/directives', { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`${verb} was answered ${await response.text()}`)
  }

  /**
   * Type of the verdict on each, and what holds it; `none` for an object without owners, `unseen`
   * for one that does not exist.
   */
  async verdicts(all: readonly Made[]): Promise<string[]> {
    return await Promise.all(
      all.map(async (made) => {
        const why = await this.why(made)
        if (why?.phase == null) return 'unseen'
        const held = why.admission === null ? '' : `, held by ${why.admission.by}`
        return `${why.verdict?.type ?? 'none'}${held}`
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Response> {
    if (this.#url === '') {
      const address = await readFile(addressFile(this.data), 'utf8')
      this.#url = (JSON.parse(address) as { url: string }).url
    }
    return await fetch(this.#url + path, { ...init, signal: AbortSignal.timeout(ASK_WITHIN_MS) })
  }

  async #logTail(): Promise<string> {
    const log = await readFile(logFile(this.data), 'utf8')
    return log.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n')
  }
}

/** Of every process that used this data directory. */
export function logFile(data: string): string {
  return `${data}.log`
}

function addressFile(data: string): string {
  return join(data, 'http.json')
}

function failing(readiness: string): string {
  return readiness
    .split('\n')
    .filter((line) => line.startsWith('[-]'))
    .slice(0, 5)
    .join('; ')
}
