/**
 * `kinfold playground`: two clusters of our own in the process, something living in them, and Kinfold over them in parity and enforce.
 *
 * What must stay true: it never reads a kubeconfig of anybody's, and leaves nothing behind but what it was told to keep.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { EXIT, stopSignal } from '../runtime/lifecycle.ts'
import { upConfig } from './config.ts'
import { becomeLean, keepCompiled } from './lean-process.ts'

interface PlaygroundFlags {
  readonly http?: string
  readonly data?: string
  readonly partitions?: string
  readonly workload: boolean
  readonly logLevel: string
}

export function addPlayground(program: Command): void {
  program
    .command('playground')
    .description('two clusters of our own with something living in them, and Kinfold over them')
    .option('--http <host:port>', 'endpoint, loopback only (default: 127.0.0.1:7070)')
    .option('--data <dir>', 'keep the data here (default: a new directory, gone at the end)')
    .option('--partitions <n>', 'partitions of a new log (default: 1)')
    .option('--no-workload', 'leave the clusters empty')
    .option('--log-level <level>', 'debug, info, warn or error', 'warn')
    .action(async (flags: PlaygroundFlags) => {
      becomeLean()
      await play(flags, stopSignal())
      process.exitCode = EXIT.ok
    })
}

async function play({ workload, ...flags }: PlaygroundFlags, signal: AbortSignal): Promise<void> {
  const { startPlayground } = await import('../playground/playground.ts')
  const { openClusters } = await import('./clusters.ts')
  const { runEmbedded } = await import('./embedded.ts')
  const { createLogger } = await import('../runtime/logger.ts')
  keepCompiled()
  const made = flags.data === undefined ? mkdtempSync(join(tmpdir(), 'kinfold-playground-')) : null
  const data = flags.data ?? made ?? ''
  try {
    const config = upConfig({ ...flags, data, mode: 'enforce', preset: 'parity' })
    await using clusters = await startPlayground({
      directory: data,
      clusters: ['north', 'south'],
      workload,
    })
    await using opened = new AsyncDisposableStack()
    const contexts = clusters.servers.map(({ name }) => name)
    const connected = openClusters(clusters.kubeconfig, contexts)
    for (const cluster of connected) opened.use(cluster)
    const logger = createLogger('kinfold', config.logLevel)
    await runEmbedded(config, connected, logger, signal, (url) => {
      process.stdout.write(welcome(clusters.kubeconfig, url))
    })
  } finally {
    if (made !== null) rmSync(made, { recursive: true, force: true })
  }
}

function welcome(kubeconfig: string, url: string): string {
  const server = url.endsWith(':7070') ? '' : ` --server ${url}`
  return `Kinfold's playground: clusters north and south, collected by Kinfold (parity, enforce).

  kubeconfig   ${kubeconfig}
  endpoint     ${url}/readyz?verbose

Try, in another terminal:

  npx kinfold tree deploy/web -n shop --cluster north${server}
  kubectl --kubeconfig ${kubeconfig} --context north -n shop delete deployment web
  npx kinfold why cm/web-settings -n shop --cluster north${server}

npx kinfold lineage tail${server} shows everything that happens. Ctrl-C ends it all.
`
}
