/**
 * `kinfold watcher`, `graph` and `reaper`: their flags.
 *
 * What must stay true: a service is loaded when it is started, so that `--help` waits for none.
 *
 * Not here: what they have in common when they run (service.ts), and what each of them is
 * (watcher.ts, graph.ts, reaper.ts).
 */
import type { Command } from 'commander'
import { addArchiveKindsOption, addArchiveOptions } from '../config/archive-config.ts'
import {
  AUDIT_TOKEN_HINT,
  addClusterOptions,
  addKindsOption,
  addLockOption,
  addLogOptions,
  addPolicyOptions,
} from '../config/config.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addAuthorityOptions } from '../config/http-authority.ts'
import { addKafkaOptions } from '../config/kafka-config.ts'
import { whole } from '../config/setting.ts'
import type { ServiceFlags, ServiceName } from './service.ts'

/** Where each listens by default. */
const HTTP: Readonly<Record<ServiceName, string>> = {
  graph: '127.0.0.1:7070',
  watcher: '127.0.0.1:7071',
  reaper: '127.0.0.1:7072',
}
const MOST_STANDBYS = 8

export function addWatcher(program: Command): void {
  const description = 'watch clusters and publish what changes to Kafka; several elect a leader'
  const command = addClusterOptions(serviceCommand(program, 'watcher', description))
  addArchiveKindsOption(addArchiveOptions(addKindsOption(command))).action(
    async (flags: ServiceFlags) => {
      const { runService } = await import('./service.ts')
      const { openWatcherService } = await import('./watcher.ts')
      await runService('watcher', flags, HTTP.watcher, openWatcherService)
    },
  )
}

export function addGraph(program: Command): void {
  const description =
    'fold the events on Kafka, decide, and answer questions; several share the partitions'
  addPolicyOptions(serviceCommand(program, 'graph', description))
    .option('--data <dir>', `directory of the stores (default: ${DEFAULT_DATA})`)
    .option('--audit-token-file <file>', AUDIT_TOKEN_HINT)
    .option('--partitions <n>', 'partitions of new topics (default: 1)')
    .option(
      '--standbys <n>',
      'processes that follow each partition, for a short takeover (default: 0)',
    )
    .option(
      '--schema-registry <url>',
      'register the schemas of lineage and history there, and write their ids',
    )
    .option('--schema-registry-credentials-file <file>', 'USER:PASSWORD for it')
    .option('--cloud-events', 'give lineage and history the headers of CloudEvents')
    .action(async (flags: ServiceFlags) => {
      const value = flags.standbys
      const standbys = whole({ key: 'standbys', value, from: '--standbys' }, 0, MOST_STANDBYS) ?? 0
      const { runService } = await import('./service.ts')
      const { openGraphService } = await import('./graph.ts')
      await runService('graph', flags, HTTP.graph, async (parts) => {
        return await openGraphService(parts, standbys)
      })
    })
}

export function addReaper(program: Command): void {
  const description = 'carry out the commands on Kafka; several share them'
  const command = serviceCommand(program, 'reaper', description)
  addArchiveOptions(addLockOption(addPolicyOptions(addClusterOptions(command)))).action(
    async (flags: ServiceFlags) => {
      const { runService } = await import('./service.ts')
      const { openReaperService } = await import('./reaper.ts')
      await runService('reaper', flags, HTTP.reaper, openReaperService)
    },
  )
}

function serviceCommand(program: Command, name: ServiceName, description: string): Command {
  const command = program
    .command(name)
    .description(description)
    .option(
      '--http <host:port>',
      `endpoint; beyond loopback with a token only (default: ${HTTP[name]})`,
    )
    .option('--http-token-file <file>', 'file of tokens, one a line, that requests must have')
    .option('--http-metrics-token-file <file>', 'the same, for tokens that may read /metrics alone')
    .option('--http-advertise <host:port>', 'address by which others reach the endpoint')
    .option(
      '--http-tls-cert-file <file>',
      'certificate of the endpoint, in PEM: TLS instead of HTTP',
    )
    .option('--http-tls-key-file <file>', 'its key, in PEM')
    .option('--http-tls-ca-file <file>', 'authorities of other processes, beside the usual ones')
    .option('--config <file>', 'YAML file with the same settings; flags win')
  return addKafkaOptions(addAuthorityOptions(addLogOptions(command)))
}
