/**
 * The etcd under a test's API server: one member, on one port for its whole life, that can be
 * stopped, compacted, copied and put back to an earlier copy.
 *
 * It does not wait for the disk (unsafe-no-fsync): it survives the death of processes, which tests
 * cause, not that of the machine.
 */
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { requireBinary } from './binaries.ts'
import { freePort } from './port.ts'
import { ServerProcess } from './server-process.ts'

const PROBE_WITHIN_MS = 2_000

export class Etcd implements AsyncDisposable {
  readonly endpoint: string
  readonly dataFolder: string
  readonly #args: readonly string[]
  readonly #logFile: string
  #process: ServerProcess | undefined

  private constructor(folder: string, port: number, extraArgs: readonly string[]) {
    this.endpoint = `http://127.0.0.1:${port}`
    this.dataFolder = join(folder, 'etcd')
    this.#logFile = join(folder, 'etcd.log')
    this.#args = [
      `--data-dir=${this.dataFolder}`,
      `--listen-client-urls=${this.endpoint}`,
      `--advertise-client-urls=${this.endpoint}`,
      '--listen-peer-urls=http://127.0.0.1:0',
      '--unsafe-no-fsync',
      '--log-level=warn',
      ...extraArgs,
    ]
  }

  /** Keeps data and log in `folder`; continues with the data there. */
  static async start(folder: string, extraArgs: readonly string[]): Promise<Etcd> {
    const etcd = new Etcd(folder, await freePort(), extraArgs)
    await etcd.start()
    return etcd
  }

  async start(): Promise<void> {
    if (this.#process?.isRunning) return
    const command = {
      name: 'etcd',
      binary: requireBinary('etcd'),
      args: this.#args,
      logFile: this.#logFile,
    }
    this.#process = await ServerProcess.start(command, async () => {
      const answer = await fetch(`${this.endpoint}/health`, {
        signal: AbortSignal.timeout(PROBE_WITHIN_MS),
      })
      await answer.arrayBuffer()
      return answer.ok
    })
  }

  /** In good order: it gives the API server's open watches about 7 s to end. */
  async stop(): Promise<void> {
    await this.#process?.stop()
  }

  /** Loses nothing that was answered: every write has left the process by then. */
  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  async revision(): Promise<string> {
    const { header } = await this.#call<{ header: { revision: string } }>('/v3/kv/range', {
      key: base64('\0'),
    })
    return header.revision
  }

  /** As text; undefined where there is none. */
  async get(key: string): Promise<string | undefined> {
    const { kvs = [] } = await this.#call<{ readonly kvs?: readonly { readonly value: string }[] }>(
      '/v3/kv/range',
      { key: base64(key) },
    )
    const [first] = kvs
    return first && Buffer.from(first.value, 'base64').toString('utf8')
  }

  /** Without the API server's knowledge: for example a value that it cannot read. */
  async put(key: string, value: string): Promise<void> {
    await this.#call('/v3/kv/put', { key: base64(key), value: base64(value) })
  }

  async remove(key: string): Promise<void> {
    await this.#call('/v3/kv/deleterange', { key: base64(key) })
  }

  /**
   * Forgets every version but the current one of each key; the last change is still sent to
   * watches.
   */
  async compact(): Promise<void> {
    await this.#call('/v3/kv/compaction', { revision: await this.revision(), physical: true })
  }

  /** Copies the data into `folder`, replacing it; etcd is down meanwhile, and up afterwards. */
  async snapshot(folder: string): Promise<void> {
    await this.kill()
    await replaceFolder(this.dataFolder, folder)
    await this.start()
  }

  /** Restores the data that `snapshot` copied into `folder`: the same port, lower revisions. */
  async restore(folder: string): Promise<void> {
    await this.kill()
    await replaceFolder(folder, this.dataFolder)
    await this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async #call<T>(path: string, body: object): Promise<T> {
    const answer = await fetch(this.endpoint + path, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`etcd answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as T
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

async function replaceFolder(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await cp(from, to, { recursive: true })
}
