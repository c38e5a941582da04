/**
 * Whether a Kinfold is ready, as an exit code, for health checks of containers:
 * `node cli/ready.ts [URL]`, 0 or 1.
 *
 * What must stay true: it loads nothing of ours. It is started every few seconds beside the process
 * that it asks, and the whole command would cost six times the processor time.
 */
const WITHIN_MS = 5_000

const url = process.argv[2] ?? (process.env['KINFOLD_SERVER'] || 'http://127.0.0.1:7070')

process.exitCode = await isReady(`${url.replace(/\/+$/, '')}/readyz`)

async function isReady(address: string): Promise<0 | 1> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(WITHIN_MS) })
    const text = await response.text()
    process.stdout.write(`${response.ok ? 'ready' : text}\n`)
    return response.ok ? 0 : 1
  } catch (error) {
    process.stdout.write(`${address} does not answer: ${String(error)}\n`)
    return 1
  }
}
