/**
 * `--via NAMESPACE/SERVICE`: asks a Kinfold that runs in a cluster, through the port that the
 * user's own kubectl forwards.
 *
 * What must stay true: kubectl ends with this process; what it says when it cannot forward is
 * passed on.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'

const VIA = /^([a-z0-9-]+)\/([a-z0-9.-]+)(?::([a-z0-9-]+))?$/
/** The name of the chart's port. */
const PORT = 'http'
const START_MS = 20_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface Via {
  readonly via: string
  readonly server?: string
  readonly data?: string
  readonly kubeconfig?: string
  readonly certificateAuthority?: string
}

/** Answers the address on this machine. */
export async function forwarded(flags: Via): Promise<string> {
  const { via, server, data, kubeconfig, certificateAuthority } = flags
  const [, namespace, service, port = PORT] = VIA.exec(via) ?? []
  if (namespace === undefined || service === undefined) {
    throw new ExitError(
      EXIT.input,
      `--via ${via}: expected NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT`,
    )
  }
  if (server !== undefined || data !== undefined) {
    throw new ExitError(EXIT.input, '--via names the Kinfold to ask: leave out --server and --data')
  }
  const config = kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]
  const to = ['port-forward', '--address', '127.0.0.1', '-n', namespace, `service/${service}`]
  const local = await start([...to, `:${port}`, ...config])
  return `${certificateAuthority === undefined ? 'http' : 'https'}://127.0.0.1:${local}`
}

/** Answers the port. */
async function start(args: readonly string[]): Promise<string> {
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  process.once('exit', () => child.kill())
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      child.kill()
      // As without this listener.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const fail = (why: string): void => reject(new ExitError(EXIT.failure, `--via: ${why}`))
  let said = ''
  createInterface(child.stderr).on('line', (line) => {
    said = line
  })
  createInterface(child.stdout).on('line', (line) => {
    const [, port] = /^Forwarding from 127\.0\.0\.1:(\d+) /.exec(line) ?? []
    if (port !== undefined) resolve(port)
  })
  child.once('error', ({ message }) =>
    fail(
      `kubectl, which forwards the port, cannot be run (${message}): put it on the PATH, or forward the port yourself and name it with --server`,
    ),
  )
  child.once('close', (code) => fail(`kubectl port-forward ended with exit code ${code}: ${said}`))
  const late = setTimeout(
    () => fail(`kubectl forwards nothing within ${START_MS / 1_000} s: ${said}`),
    START_MS,
  )
  try {
    return await promise
  } finally {
    clearTimeout(late)
    // Nothing waits for it any longer: when all is asked, this process ends, and kubectl with it.
    child.unref()
    for (const stream of [child.stdout, child.stderr])
      (stream as unknown as { unref(): void }).unref()
  }
}
