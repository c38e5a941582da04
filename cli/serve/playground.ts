/**
 * `kinfold playground`: two clusters of our own in the process, something living in them, and
 * Kinfold over them, in parity and enforce unless flags say otherwise.
 *
 * What must stay true: it never reads a kubeconfig of anybody's, writes none while another process
 * has the data directory, and leaves nothing behind but what the user asked it to keep.
 */
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { shellWord } from '../../core/model/text.ts'
import { APPLICATION } from '../../playground/argo.ts'
import { EDGE, rulesOver } from '../../playground/edge.ts'
import type { PlaygroundServers } from '../../playground/playground.ts'
import { RULE_NAME } from '../../playground/rules.ts'
import type { MarkSettings } from '../../ports/record/manager-mark.ts'
import { systemClock } from '../../runtime/clock.ts'
import { type Address, parseAddress } from '../../runtime/http/address.ts'
import { readTokens } from '../../runtime/http/http-token.ts'
import { EXIT, ExitError, stopSignal } from '../../runtime/lifecycle.ts'
import { ResourceStack } from '../../runtime/resource-stack.ts'
import {
  type ArchiveFlags,
  addArchiveKindsOption,
  addArchiveOptions,
} from '../config/archive-config.ts'
import { addLogOptions, collect, type UpConfig, upConfig } from '../config/config.ts'
import { becomeLean, keepCompiled } from '../process/lean-process.ts'
import { urlWithoutFlags } from '../reach/client.ts'
import type { EmbeddedSteps } from './embedded.ts'

interface PlaygroundFlags extends ArchiveFlags {
  readonly http?: string
  readonly data?: string
  readonly partitions?: string
  readonly mode: string
  readonly preset: string
  readonly workload: boolean
  readonly apiOnly?: boolean
  readonly listen?: readonly string[]
  readonly logLevel?: string
  readonly logFormat?: string
}

/**
 * Kinds of which also what its user deletes is archived, so that the banner's last step brings it
 * back.
 */
const ARCHIVED = 'deployments.apps,configmaps'
/** Its workload leaves what was deleted missing for so long then: the user restores it. */
const RESTORED_WITHIN_MS = 10 * 60_000
/** Its user reads the banner. */
const QUIET = 'warn'
/** `npx kinfold` is this program only below its checkout. */
const LAUNCHER = fileURLToPath(new URL('../kinfold.js', import.meta.url))
/** As whom Kinfold deletes there. */
const ACCOUNT = 'system:serviceaccount:kinfold:kinfold'
const CLUSTERS = ['north', 'south'] as const
/** Its workload has an Application of Argo CD (playground/argo.ts). */
const MARKS: MarkSettings = { tools: ['argo'], argoInstanceLabel: null }

export function addPlayground(program: Command): void {
  const command = program
    .command('playground')
    .description('two clusters in memory with a workload, and Kinfold collecting them')
    .option('--http <host:port>', 'endpoint, loopback only (default: 127.0.0.1:7070)')
    .option('--data <dir>', 'keep the data here (default: a new directory, removed at the end)')
    .option('--partitions <n>', 'partitions of a new log (default: 1)')
    .option('--mode <mode>', 'observe, dry-run or enforce', 'enforce')
    .option('--preset <preset>', 'parity or guarded', 'parity')
    .option('--no-workload', 'leave the clusters empty')
    .option('--api-only', 'only the clusters, without Kinfold')
    .option(
      '--listen <host:port>',
      'address of an API server without credentials; once for each of the two (default: 127.0.0.1, any port)',
      collect,
    )
  addLogOptions(addArchiveKindsOption(addArchiveOptions(command)), QUIET).action(
    async (flags: PlaygroundFlags) => {
      const listen = listenOf(flags.listen ?? [])
      becomeLean()
      await play(flags, listen, stopSignal())
      process.exitCode = EXIT.ok
    },
  )
}

function settingsOf(flags: PlaygroundFlags): UpConfig {
  const archiveKinds = flags.archiveKinds ?? (flags.archive === true ? ARCHIVED : undefined)
  return upConfig({
    ...{ logLevel: QUIET, ...flags, lock: 'off' },
    ...(archiveKinds !== undefined && { archiveKinds }),
  })
}

function listenOf(addresses: readonly string[]): readonly Address[] {
  if (addresses.length > CLUSTERS.length) {
    const message = `--listen was given ${addresses.length} times, and there are ${CLUSTERS.length} clusters`
    throw new ExitError(EXIT.input, message)
  }
  return addresses.map((each) => parseAddress(each, '--listen'))
}

async function play(
  flags: PlaygroundFlags,
  listen: readonly Address[],
  signal: AbortSignal,
): Promise<void> {
  const { checkAddress, checkFree } = await import('../../runtime/http/endpoint.ts')
  // Before anything is created for it.
  const { http } = settingsOf(flags)
  if (!flags.apiOnly) {
    await throughNpm(['--http', http], async () => await checkAddress({ address: http }))
  }
  for (const address of flags.listen ?? []) {
    await throughNpm(['--listen', address], async () => await checkFree(address, '--listen'))
  }
  const { startServers } = await import('../../playground/playground.ts')
  const made = flags.data === undefined ? mkdtempSync(join(tmpdir(), 'kinfold-playground-')) : null
  const data = flags.data ?? made ?? ''
  try {
    await using clusters = await startServers({
      clusters: CLUSTERS,
      listen,
      workload: flags.workload,
      missingMs: flags.archive === true ? RESTORED_WITHIN_MS : undefined,
    })
    if (flags.apiOnly) await showOnly(clusters, data, signal)
    else await collectIn(clusters, { ...flags, data }, signal)
  } finally {
    if (made !== null) rmSync(made, { recursive: true, force: true })
  }
}

/**
 * npm takes a flag without the `--` before it for one of its own: where the address of this flag
 * cannot be had, the error has the whole command, with another one.
 */
async function throughNpm(
  given: readonly [flag: string, address: string],
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check()
  } catch (error) {
    const isStart = process.env['npm_lifecycle_event'] === 'start'
    if (!(error instanceof ExitError) || !isStart) throw error
    const words = withAnyPort(process.argv.slice(process.argv.indexOf('playground') + 1), given)
    const example = `npm start -- ${words.map(shellWord).join(' ')}`
    throw new ExitError(error.exitCode, `${error.message}; through npm as: ${example}`)
  }
}

function withAnyPort(
  words: readonly string[],
  [flag, address]: readonly [flag: string, address: string],
): readonly string[] {
  const at = words.findIndex((word, index) => {
    return word === `${flag}=${address}` || (word === flag && words[index + 1] === address)
  })
  const [before, behind] = at < 0 ? [words, []] : [words.slice(0, at), words.slice(at)]
  const rest = behind[0] === flag ? behind.slice(2) : behind.slice(1)
  return [...before, flag, '127.0.0.1:0', ...rest]
}

async function showOnly(
  { servers }: PlaygroundServers,
  data: string,
  signal: AbortSignal,
): Promise<void> {
  const { writeKubeconfigIn } = await import('../../playground/playground.ts')
  const { lockDirectory } = await import('../../adapters/sqlite/lock.ts')
  keepCompiled()
  mkdirSync(data, { recursive: true })
  // Only the process that has the lock writes the kubeconfig: the lock of the log where there is
  // one, else that of the directory.
  const log = join(data, 'log')
  using _lock = lockDirectory(existsSync(log) ? log : data)
  const kubeconfig = writeKubeconfigIn(data, servers)
  const urls = servers.map(({ name, url }) => `${name} at ${url}`).join(', ')
  process.stdout.write(`clusters without Kinfold: ${urls}; kubeconfig ${kubeconfig}\n`)
  if (!signal.aborted) await once(signal, 'abort')
}

async function collectIn(
  { servers }: PlaygroundServers,
  flags: PlaygroundFlags & { readonly data: string },
  signal: AbortSignal,
): Promise<void> {
  const { openClusterAt } = await import('../config/clusters.ts')
  const { kubeconfigIn, writeKubeconfigIn } = await import('../../playground/playground.ts')
  const { AuditLog, USER_HEADER } = await import('../../playground/audit-log.ts')
  const { runEmbedded } = await import('./embedded.ts')
  const { createLogger } = await import('../../runtime/logger.ts')
  const { sendAudit } = await import('./playground-audit.ts')
  keepCompiled()
  const config = settingsOf(flags)
  await using opened = new ResourceStack()
  const connected = servers.map((server) =>
    opened.use(openClusterAt('playground', server, { [USER_HEADER]: ACCOUNT })),
  )
  const clock = systemClock()
  const logs = servers.map(({ name, api }) => ({
    cluster: name,
    log: new AuditLog(api, clock),
  }))
  const logger = createLogger('kinfold', config.logLevel, config.logFormat)
  const ended = new AbortController()
  const sending: Promise<void>[] = []
  try {
    const steps: EmbeddedSteps = {
      // A user who finds the endpoint finds the kubeconfig, and a process that was refused the
      // directory writes none.
      locked: () => writeKubeconfigIn(flags.data, servers),
      ready: (url) => {
        const server = { url, token: tokenOf(config), instance: undefined }
        for (const each of logs) sending.push(sendAudit({ ...each, server, logger }, ended.signal))
        process.stdout.write(welcome(kubeconfigIn(flags.data), url, config, flags))
      },
    }
    const rules = flags.workload ? rulesOver(servers.map(({ api }) => api)) : config.rules
    const marks = flags.workload ? MARKS : config.marks
    await runEmbedded(
      { config: { ...config, rules, marks }, clusters: connected, logger, steps },
      signal,
    )
  } finally {
    ended.abort()
    await Promise.all(sending)
  }
}

function tokenOf({ httpTokenFile }: UpConfig): string | undefined {
  return httpTokenFile === undefined ? undefined : readTokens(httpTokenFile)[0]
}

type Welcomed = Pick<UpConfig, 'mode' | 'preset' | 'data' | 'archive'>

/**
 * Each command is whole: it does what it says in any terminal, whatever else of Kinfold runs on the
 * machine.
 */
function welcome(
  kubeconfig: string,
  url: string,
  config: Welcomed,
  { workload, archiveKeyFile }: PlaygroundFlags,
): string {
  const { mode, preset, archive } = config
  const kinfold = shellWord(LAUNCHER)
  const data = ` --data ${shellWord(resolve(config.data))}`
  // Where a command without flags would ask this very process, it needs none.
  const asked = urlWithoutFlags() === url ? '' : data
  // What messages and the page call "kinfold" is about this process then, whatever else runs.
  const ours = {
    KINFOLD_DATA: resolve(config.data),
    KUBECONFIG: resolve(kubeconfig),
  }
  const words = Object.entries(ours).map(([name, value]) => `${name}=${shellWord(value)}`)
  const alias = shellWord([...words, kinfold].join(' '))
  const into = `--kubeconfig ${shellWord(resolve(kubeconfig))} --context north`
  const key =
    archiveKeyFile === undefined ? '' : ` --archive-key-file ${shellWord(resolve(archiveKeyFile))}`
  const web = 'deploy/web -n shop'
  const ofWorkload = [
    `${kinfold} tree ${web} --cluster north${asked}`,
    `${kinfold} plan delete ${web} --cluster north${asked}`,
    `kubectl ${into} -n shop delete deployment web`,
    `${kinfold} why cm/web-settings -n shop --cluster north${asked}`,
    `${kinfold} tree --across app/${APPLICATION.name}${asked}`,
    `${kinfold} plan delete app/${APPLICATION.name} -n ${APPLICATION.namespace} --cluster north${asked}`,
    `${kinfold} rules plan ${RULE_NAME} --cluster north${asked}`,
    `${kinfold} rules enforce ${RULE_NAME} --why 'seen its plan' --yes${asked}`,
    `${kinfold} rules explain ${EDGE.rule} cm/${EDGE.dependent} -n ${EDGE.namespace} --cluster south${asked}`,
    `${kinfold} plan delete cm/${EDGE.owner} -n ${EDGE.namespace} --cluster north${asked}`,
    `kubectl ${into} -n ${EDGE.namespace} delete configmap ${EDGE.owner}`,
    `${kinfold} why cm/${EDGE.dependent} -n ${EDGE.namespace} --cluster south${asked}`,
    ...(archive.settings === undefined
      ? []
      : [
          `${kinfold} restore ${web}${data} ${into}${key}`,
          `${kinfold} restore ${web}${data} ${into}${key} --yes`,
        ]),
  ]
  const commands = [...(workload ? ofWorkload : []), `${kinfold} lineage tail${asked}`]
  const done = {
    observe: 'recorded by Kinfold (observe), and collected by nobody',
    'dry-run': `recorded by Kinfold (${preset}, dry-run), and collected by nobody`,
    enforce: `collected by Kinfold (${preset}, enforce)`,
  }[mode]
  return `Kinfold's playground: clusters north and south, ${done}.

  kubeconfig   ${resolve(kubeconfig)}
  data         ${resolve(config.data)}
  page         ${url}/
  endpoint     ${url}/readyz?verbose

Try, in another terminal, in any directory:

${commands.map((command) => `  ${command}\n`).join('')}
The last one shows everything that happens. In messages and documents this is "kinfold":
alias kinfold=${alias}
Ctrl-C ends it all.
`
}
