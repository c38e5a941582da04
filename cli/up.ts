/** `kinfold up`: everything in one process, for one or more contexts of a kubeconfig. */
import type { Command } from 'commander'
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../adapters/kubernetes/exchange.ts'
import { KubeconfigError, loadContexts } from '../adapters/kubernetes/kubeconfig.ts'
import type { Cluster } from '../ports/cluster.ts'
import { EXIT, ExitError, stopSignal } from '../runtime/lifecycle.ts'
import { createLogger } from '../runtime/logger.ts'
import type { UpFlags } from './config.ts'
import { upConfig } from './config.ts'
import { runEmbedded } from './embedded.ts'

export function addUp(program: Command): void {
  program
    .command('up')
    .description('watch clusters, fold what they tell, decide and reap: all in one process')
    .option('--kubeconfig <file>', 'kubeconfig (default: $KUBECONFIG, ~/.kube/config, or this pod)')
    .option('--context <name>', 'context to watch; repeat it for several clusters', collect)
    .option('--data <dir>', 'data directory (default: ~/.local/share/kinfold)')
    .option('--mode <mode>', 'observe, dry-run or enforce (default: dry-run)')
    .option('--preset <preset>', 'parity or guarded (default: guarded)')
    .option('--partitions <n>', 'partitions of a new log (default: 1)')
    .option('--http <host:port>', 'endpoint, loopback only (default: 127.0.0.1:7070)')
    .option('--log-level <level>', 'debug, info, warn or error (default: info)')
    .option('--config <file>', 'YAML file with the same settings; flags win')
    .action(async (flags: UpFlags) => {
      const config = upConfig(flags)
      const logger = createLogger('kinfold', config.logLevel)
      const clusters = openClusters(config.kubeconfig, config.contexts)
      try {
        await runEmbedded(config, clusters, logger, stopSignal())
      } finally {
        await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()))
      }
      process.exitCode = EXIT.ok
    })
}

export function openClusters(
  kubeconfig: string | undefined,
  contexts: readonly string[],
): Cluster[] {
  try {
    return loadContexts({ kubeconfig, contexts }).map((context) =>
      openCluster({ name: context.name, exchange: openUndiciExchange(context) }),
    )
  } catch (error) {
    if (error instanceof KubeconfigError) throw new ExitError(EXIT.input, error.message)
    throw error
  }
}

function collect(value: string, former: readonly string[] = []): readonly string[] {
  return [...former, value]
}
