/**
 * One Kafka process of a test's cluster: broker and controller in one (KRaft), on ports and data
 * that stay the same through every kill and start, so that clients need no new configuration.
 *
 * It does not wait for the disk: acknowledged data survives the death of processes, which tests
 * cause, not that of the machine.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServerProcess } from '../cluster/server-process.ts'
import { eventually } from '../eventually.ts'
import { kafkaCommand } from './jars.ts'

export interface BrokerProcessOptions {
  readonly nodeId: number
  /** `127.0.0.1:PORT`, where clients connect. */
  readonly address: string
  /** Holds its server.properties, data and log. */
  readonly folder: string
  /** Answers whether it can be used. */
  readonly isReady: () => Promise<boolean>
}

export class BrokerProcess {
  readonly nodeId: number
  readonly address: string
  readonly #options: BrokerProcessOptions
  #process: ServerProcess | undefined

  constructor(options: BrokerProcessOptions) {
    this.nodeId = options.nodeId
    this.address = options.address
    this.#options = options
  }

  get pid(): number {
    return this.#running().pid
  }

  /** Continues with the data there; resolves when it can be used. */
  async start(): Promise<void> {
    if (this.#process?.isRunning) return
    const { nodeId, folder, isReady } = this.#options
    const command = {
      name: `kafka ${nodeId}`,
      logFile: join(folder, 'kafka.log'),
      ...kafkaCommand('kafka.Kafka', join(folder, 'server.properties')),
    }
    this.#process = await ServerProcess.start(command, isReady)
  }

  /** In good order: leadership moves first, open transactions stay open. */
  async stop(): Promise<void> {
    await this.#process?.stop()
  }

  /** SIGKILL: no other process is notified; the others notice by its session. */
  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  /**
   * SIGSTOP: it keeps its port and its connections and answers nothing, from when this resolves.
   */
  async pause(): Promise<void> {
    const server = this.#running()
    server.pause()
    await eventually('each thread has stopped', () => isStopped(server.pid))
  }

  resume(): void {
    this.#running().resume()
  }

  /** Kills it and starts it again. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  #running(): ServerProcess {
    if (this.#process === undefined) throw new Error(`kafka ${this.nodeId} was never started`)
    return this.#process
  }
}

/**
 * Threads stop one by one, and some still answer meanwhile. Systems that show no threads are
 * believed.
 */
async function isStopped(pid: number): Promise<boolean> {
  const threads = `/proc/${pid}/task`
  if (!existsSync(threads)) return true
  for (const thread of await readdir(threads)) {
    const stat = await readFile(join(threads, thread, 'stat'), 'utf8')
    // The state follows the name, which is in parentheses and may hold some itself.
    if (stat.charAt(stat.lastIndexOf(')') + 2) !== 'T') return false
  }
  return true
}
