/**
 * Kinfold's services apart, over Kafka: some processes of each, started, killed and paused by
 * tests, and asked over their endpoints.
 *
 * What must stay true: none outlives the test; an address is that of the very process that wrote
 * it.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServerProcess } from '../cluster/server-process.ts'
import { eventually } from '../eventually.ts'
import { ACTING } from './kinfold-process.ts'

export const SERVICES = ['watcher', 'graph', 'reaper'] as const
export type ServiceName = (typeof SERVICES)[number]

export interface ServicesOptions {
  readonly kubeconfig: string
  readonly brokers: readonly string[]
  readonly application: string
  /** The folder of stores and logs. */
  readonly folder: string
  readonly partitions: number
  /** Processes of each service. */
  readonly each: number
  readonly standbys?: number
  /** For every service, as they are given; or for each its own. */
  readonly flags?: readonly string[] | ((service: ServiceName) => readonly string[])
  /** In addition to the environment of the test. */
  readonly env?: Readonly<Record<string, string>>
}

const MAIN = join(import.meta.dirname, '..', '..', 'cli', 'main.ts')
const READY_WITHIN_MS = 120_000
const ASK_WITHIN_MS = 10_000
const LOG_TAIL_LINES = 40

export class KinfoldServices implements AsyncDisposable {
  readonly all: readonly ServiceProcess[]

  constructor(options: ServicesOptions) {
    this.all = SERVICES.flatMap((service) =>
      Array.from(
        { length: options.each },
        (_, index) => new ServiceProcess(service, index, options),
      ),
    )
  }

  of(service: ServiceName): readonly ServiceProcess[] {
    return this.all.filter((each) => each.service === service)
  }

  /** Starts those that do not run. */
  async start(): Promise<void> {
    await Promise.all(this.all.map((each) => each.start()))
  }

  async ready(): Promise<void> {
    await Promise.all(this.all.map((each) => each.ready()))
  }

  /** SIGKILL for all of them. */
  async kill(): Promise<void> {
    await Promise.all(this.all.map((each) => each.kill()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

/** One process, and after it is started again the next one on the same data. */
export class ServiceProcess {
  readonly service: ServiceName
  readonly name: string
  readonly data: string
  readonly #options: ServicesOptions
  #process: ServerProcess | undefined
  #main = MAIN
  /** How many lines its log had before this start. */
  #linesBefore = 0

  constructor(service: ServiceName, index: number, options: ServicesOptions) {
    this.service = service
    this.name = `${service}-${index}`
    this.data = join(options.folder, this.name)
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  get logFile(): string {
    return `${this.data}.log`
  }

  /**
   * From its next start on it is the program of that main file (checkout.ts); without one, this
   * checkout's.
   */
  become(main: string = MAIN): void {
    this.#main = main
  }

  /** It is under way, and may not be ready. */
  async start(): Promise<void> {
    if (this.isRunning) return
    this.#linesBefore = (await this.#lines()).length
    const command = {
      name: `kinfold ${this.name}`,
      binary: process.execPath,
      args: [this.#main, this.service, ...this.#flags()],
      logFile: this.logFile,
      env: { ...process.env, ...this.#options.env },
    }
    this.#process = await ServerProcess.start(command, async () => true)
  }

  #flags(): string[] {
    const { brokers, application, kubeconfig, partitions, standbys = 0, flags = [] } = this.#options
    const shared = ['--brokers', brokers.join(','), '--application', application]
    const own = typeof flags === 'function' ? flags(this.service) : flags
    const listening = ['--http', '127.0.0.1:0', '--log-level', 'info', ...own]
    switch (this.service) {
      case 'watcher':
        return [...shared, ...listening, '--kubeconfig', kubeconfig]
      case 'reaper':
        return [...shared, ...listening, '--kubeconfig', kubeconfig, ...ACTING]
      case 'graph': {
        const store = ['--data', this.data, '--partitions', String(partitions)]
        return [...shared, ...listening, ...store, '--standbys', String(standbys), ...ACTING]
      }
    }
  }

  /** Rejects at once, with the end of its log, if the process has ended by itself. */
  async ready(withinMs: number = READY_WITHIN_MS): Promise<void> {
    await eventually(
      `${this.name} is ready`,
      async () => {
        await this.assertRunning()
        const response = await this.ask('/readyz')
        return response.ok ? true : await response.text()
      },
      { withinMs },
    )
  }

  async assertRunning(): Promise<void> {
    if (this.isRunning) return
    const tail = (await this.tail(LOG_TAIL_LINES)).join('\n')
    throw new Error(`${this.name} has ended:\n${tail}`)
  }

  /** The last lines of its log. */
  async tail(count: number): Promise<string[]> {
    return (await this.#lines()).slice(-count)
  }

  /** SIGKILL, and ended. */
  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  /** SIGTERM, and an orderly end. */
  async stop(): Promise<void> {
    await this.#process?.stop()
  }

  pause(): void {
    this.#process?.pause()
  }

  resume(): void {
    this.#process?.resume()
  }

  async ask(path: string): Promise<Response> {
    const url = await this.url()
    return await fetch(url + path, { signal: AbortSignal.timeout(ASK_WITHIN_MS) })
  }

  /** From its log. */
  async url(): Promise<string> {
    for (const line of (await this.#lines()).slice(this.#linesBefore).reverse()) {
      const match = /"url":"(http:[^"]+)"/.exec(line)
      if (match?.[1] !== undefined) return match[1]
    }
    throw new Error(`${this.name} does not serve yet`)
  }

  async #lines(): Promise<string[]> {
    try {
      return (await readFile(this.logFile, 'utf8')).trimEnd().split('\n')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  }
}
