/** `kinfold up`: everything in one process, for one or more contexts of a kubeconfig. */
import type { Command } from 'commander'
import { EXIT, stopSignal } from '../../runtime/lifecycle.ts'
import { addArchiveKindsOption, addArchiveOptions } from '../config/archive-config.ts'
import type { UpFlags } from '../config/config.ts'
import {
  AUDIT_TOKEN_HINT,
  addClusterOptions,
  addKindsOption,
  addLockOption,
  addLogOptions,
  addPolicyOptions,
  configFile,
  upConfig,
} from '../config/config.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addAuthorityOptions } from '../config/http-authority.ts'
import { becomeLean, keepCompiled } from '../process/lean-process.ts'

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('watch and collect one or more clusters: everything in one process')
  addLogOptions(
    addArchiveKindsOption(
      addArchiveOptions(
        addLockOption(
          addKindsOption(addAuthorityOptions(addPolicyOptions(addClusterOptions(command)))),
        ),
      ),
    ),
  )
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--partitions <n>', 'partitions of a new log, at most as many as clusters (default: 1)')
    .option(
      '--http <host:port>',
      'endpoint; beyond loopback with a token only (default: 127.0.0.1:7070)',
    )
    .option('--http-token-file <file>', 'file of tokens, one a line, that requests must have')
    .option('--http-metrics-token-file <file>', 'the same, for tokens that may read /metrics alone')
    .option('--audit-token-file <file>', AUDIT_TOKEN_HINT)
    .option('--http-advertise <host:port>', 'address by which others reach the endpoint')
    .option(
      '--http-tls-cert-file <file>',
      'certificate of the endpoint, in PEM: TLS instead of HTTP',
    )
    .option('--http-tls-key-file <file>', 'its key, in PEM')
    .option('--http-tls-ca-file <file>', 'authorities of other processes, beside the usual ones')
    .option('--config <file>', 'YAML file with the same settings; flags win')
    .action(async (flags: UpFlags) => {
      const config = upConfig(flags)
      becomeLean()
      // Loaded here: a command that only asks must not wait for all of it.
      const { openClusters } = await import('../config/clusters.ts')
      const { runEmbedded } = await import('./embedded.ts')
      const { createLogger } = await import('../../runtime/logger.ts')
      keepCompiled()
      const logger = createLogger('kinfold', config.logLevel, config.logFormat)
      // One file may serve both; who expects Kafka here would look for the events there in vain.
      if (configFile(flags)['kafka'] !== undefined) {
        const hint = 'kinfold watcher, graph and reaper take it'
        const message = 'the section kafka is not for up, whose log is in its data directory'
        logger.log('warn', message, { config: flags.config, hint })
      }
      const clusters = openClusters('up', config.kubeconfig, config.contexts)
      try {
        await runEmbedded({ config, clusters, logger }, stopSignal())
      } finally {
        await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()))
      }
      process.exitCode = EXIT.ok
    })
}
