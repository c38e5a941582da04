/**
 * Kinfold as its users run it, `kinfold up` in a process of its own, ready when this resolves.
 *
 * What must stay true: it gets a data directory of its own, which goes when it does.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ServerProcess } from '../testing/cluster/server-process.ts'

export interface KinfoldProcess extends AsyncDisposable {
  readonly pid: number
  /** Milliseconds from its start until it was ready. */
  readonly readyMs: number
  /** Holds its data and its log; gone with the process. */
  readonly directory: string
  /** Throws, with the end of its log, when it has ended by itself. */
  assertRunning(): void
}

const MAIN = fileURLToPath(new URL('../cli/main.ts', import.meta.url))
const LOG_TAIL_CHARS = 2_000
/** For Node itself, such as a profiler's; from the environment, since it is no part of what is measured. */
const NODE_ARGS = (process.env['KINFOLD_BENCH_NODE_ARGS'] ?? '').split(' ').filter(Boolean)

export async function startKinfold(
  kubeconfig: string,
  nodeArgs: readonly string[] = [],
): Promise<KinfoldProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-bench-'))
  const data = join(directory, 'data')
  const began = performance.now()
  const flags = ['--mode', 'enforce', '--preset', 'parity', '--http', '127.0.0.1:0']
  const from = ['--kubeconfig', kubeconfig, '--data', data]
  try {
    const server = await ServerProcess.start(
      {
        name: 'kinfold up',
        binary: process.execPath,
        args: [...NODE_ARGS, ...nodeArgs, MAIN, 'up', ...from, ...flags, '--log-level', 'warn'],
        logFile: join(directory, 'kinfold.log'),
      },
      async () => (await fetch(`${await addressIn(data)}/readyz`)).ok,
    )
    return {
      pid: server.pid,
      readyMs: performance.now() - began,
      directory,
      assertRunning() {
        if (server.isRunning) return
        const log = readFileSync(join(directory, 'kinfold.log'), 'utf8').slice(-LOG_TAIL_CHARS)
        throw new Error(`kinfold up has ended; its log ends:\n${log}`)
      },
      async [Symbol.asyncDispose]() {
        await server.stop()
        await rm(directory, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}

async function addressIn(data: string): Promise<string> {
  return (JSON.parse(await readFile(join(data, 'http.json'), 'utf8')) as { url: string }).url
}
