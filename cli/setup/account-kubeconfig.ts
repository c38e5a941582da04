/**
 * `kinfold kubeconfig`: a kubeconfig by which Kinfold connects as the account that `kinfold rbac`
 * prints, made with your own kubeconfig.
 *
 * What must stay true: the file has the token of that account and nothing of yours; it goes to
 * standard output, so you decide who may read it. Its context has the name of yours.
 *
 * Not here: the account and its rights (rbac.ts).
 */
import { type Command, Option } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { Context } from '../config/clusters.ts'
import { bad, duration } from '../config/setting.ts'
import { yaml } from '../print/yaml.ts'
import { accountName, type RightsOf } from './role-manifest.ts'

interface Flags {
  readonly service: RightsOf
  readonly namespace: string
  readonly duration: string
  readonly kubeconfig?: string
  readonly context?: string
}

const CALL_MS = 15_000
/** The least that an API server gives. */
const LEAST_MS = 600_000

export function addKubeconfig(program: Command): void {
  program
    .command('kubeconfig')
    .description(
      'print a kubeconfig of the account that kinfold rbac made, with a token of its own',
    )
    .addOption(
      new Option('--service <name>', 'whose account')
        .choices(['watcher', 'reaper', 'up', 'observe'])
        .default('observe'),
    )
    .option('--namespace <name>', 'namespace of the account', 'kinfold')
    .option('--duration <span>', 'how long the token is good for; servers may give less', '24h')
    .option('--kubeconfig <file>', 'your kubeconfig')
    .option('--context <name>', 'context (default: the current one)')
    .action(async (flags: Flags) => {
      const ms = duration({ key: 'duration', value: flags.duration, from: '--duration' }) ?? 0
      if (ms < LEAST_MS) throw bad('--duration: an API server gives tokens of 10m at least')
      // Loaded here: they have the client of the API server.
      const { loadedContexts } = await import('../config/clusters.ts')
      const contexts = flags.context === undefined ? [] : [flags.context]
      const [context] = loadedContexts(flags.kubeconfig, contexts)
      if (context === undefined) throw bad('the kubeconfig names no context')
      const token = await tokenFor(context, flags, ms)
      process.stdout.write(yaml().stringify(await kubeconfigOf(context, flags, token)))
    })
}

async function tokenFor(context: Context, flags: Flags, ms: number): Promise<string> {
  const { accountTokenOf } = await import('../config/clusters.ts')
  const { namespace, service } = flags
  const account = accountName(service)
  const asked = { namespace, account, seconds: Math.floor(ms / 1_000) }
  const answer = await accountTokenOf(context, asked, AbortSignal.timeout(CALL_MS))
  if (answer.type === 'given') return answer.token
  const why =
    answer.status === 404
      ? `print and apply it first (kinfold rbac --service ${service} … | kubectl apply -f -)`
      : answer.reason
  throw new ExitError(EXIT.failure, `no token of account ${namespace}/${account} was given: ${why}`)
}

async function kubeconfigOf(context: Context, flags: Flags, token: string): Promise<object> {
  const { name, server, proxyUrl } = context
  const { ca, servername, rejectUnauthorized } = (await context.credentials(false)).tls
  const user = `${flags.namespace}-${accountName(flags.service)}`
  const cluster = {
    server,
    ...(ca !== undefined && { 'certificate-authority-data': base64(ca) }),
    ...(servername !== undefined && { 'tls-server-name': servername }),
    ...(rejectUnauthorized === false && { 'insecure-skip-tls-verify': true }),
    ...(proxyUrl !== null && { 'proxy-url': withoutUser(proxyUrl) }),
  }
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
  }
}

/** Your name and password there are yours: Kinfold needs its own, or a proxy that asks for none. */
function withoutUser(proxyUrl: string): string {
  const url = new URL(proxyUrl)
  if (url.username === '' && url.password === '') return proxyUrl
  url.username = ''
  url.password = ''
  process.stderr.write('warning: name and password of your proxy are left out\n')
  return url.href
}

type Certificates = string | Buffer | readonly (string | Buffer)[]

function base64(ca: Certificates): string {
  const all: readonly (string | Buffer)[] =
    typeof ca === 'string' || Buffer.isBuffer(ca) ? [ca] : ca
  return Buffer.concat(all.map((each) => Buffer.from(each))).toString('base64')
}
