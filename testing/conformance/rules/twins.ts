/**
 * Built-in rules against the collectors of Kubernetes that they stand for, on two control planes:
 * random lives of Jobs and bootstrap tokens side by side, Leases of API servers, certificate
 * requests that are old enough for one pass of their cleaners, and pods. The command is main.ts.
 *
 * What must stay true: a failing seed is reported with its life and with the command that runs it
 * again; both collectors reach their servers through proxies that spoil answers alike. Upstream's
 * hourly passes are spared: what one of its requests failed to do would be left for an hour.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configRules } from '../../../cli/config/config-rules.ts'
import { ruleDigest } from '../../../core/model/rule/rule.ts'
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts'
import type { ControllerManager } from '../../cluster/controller-manager.ts'
import { type Fault, FaultyProxy } from '../../process/faulty-proxy.ts'
import { ACTING, KinfoldProcess } from '../../process/kinfold-process.ts'
import { redirectKubeconfig } from '../../process/kubeconfigs.ts'
import { POD, SECRET } from '../../process/objects.ts'
import { seeded } from '../../seeded.ts'
import { canary } from '../canary.ts'
import { JOB } from '../kinds.ts'
import { type CertificateTwinResult, runCertificateTwin } from './certificate-twin.ts'
import { type JobLife, jobLife, shownLife } from './job-life.ts'
import { type JobTwinResult, runJobTwin } from './job-twin.ts'
import { type LeaseTwinResult, NO_IDENTITY, runLeaseTwin } from './lease-twin.ts'
import { GATE, SERVED } from './pod-certificate-request.ts'
import { POD_COLLECTOR, POD_RULES, type PodTwinResult, runPodTwin } from './pod-twin.ts'
import { STORED_AS_JSON } from './restored.ts'
import { tokenLife } from './token-life.ts'
import { runTokenTwin, type TokenTwinResult } from './token-twin.ts'

export interface RuleTwinsOptions {
  readonly seeds: readonly number[]
  /** Of Kinfold's clock, beside its machine's. */
  readonly skewMs: number
  /** Share of the requests of each collector that get a fault. */
  readonly rate: number
  readonly partitions: number
  readonly tell?: (line: string) => void
}

export interface RuleTwinsReport {
  /** Seeds. */
  readonly failed: readonly number[]
  readonly jobs: readonly JobTwinResult[]
  readonly tokens: readonly TokenTwinResult[]
  readonly leases: LeaseTwinResult
  readonly requests: CertificateTwinResult
  readonly pods: PodTwinResult
  /** Of Jobs, pods and Secrets, of each collector, upstream first, by `METHOD resource`. */
  readonly calls: readonly [ReadonlyMap<string, number>, ReadonlyMap<string, number>]
}

interface Side extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly proxy: FaultyProxy
  readonly kubeconfig: string
}

type Sides = readonly [Side, Side]

const LIVE_CONTROLLERS = ['ttl-after-finished-controller', 'token-cleaner-controller'] as const
const HEAD = { apiVersion: 'kinfold/v1alpha1', kind: 'Config' }
const NAMED = [
  ...['finished-jobs', 'bootstrap-tokens', 'api-server-leases'],
  ...['certificate-requests', 'pod-certificate-requests'],
].map((builtin) => ({ builtin }))
const RULES = [...NAMED, ...POD_RULES]
/** A collector may take a 404 for what it says, so those are not among them. */
const FAULTS: readonly [Fault, ...Fault[]] = ['throttled', 'failed', 'slow', 'cut', 'lost']
/** What it asks about itself at its start is no part of this. */
const SPOILED =
  /^\/apis?\/(batch\/v1|v1|(certificates|coordination)\.k8s\.io\/v1(beta1)?)\/.*(jobs|pods|requests|secrets|leases)/
/** Lives side by side, in namespaces of their own. */
const AT_ONCE = 5

export async function runRuleTwins(options: RuleTwinsOptions): Promise<RuleTwinsReport> {
  const { seeds, skewMs, rate, tell = () => {} } = options
  await using resources = new AsyncDisposableStack()
  const [upstream, kinfold] = await Promise.all([startSide(1, []), startSide(2, NO_IDENTITY)])
  const sides: Sides = [resources.use(upstream), resources.use(kinfold)]
  const planes = [upstream.plane, kinfold.plane] as const
  const manager = resources.use(await startManager(upstream, LIVE_CONTROLLERS))
  resources.use(await startKinfold(kinfold, options))
  const kinds = [JOB, POD, SECRET].map((kind) => ({ kind, namespace: 'default' }))
  await Promise.all(planes.map((plane) => canary(plane, kinds)))
  for (const { proxy } of sides) proxy.rate = rate
  const failed = new Set<number>()
  const lives = await liveAll(options, sides, failed)
  const calls = [new Map(upstream.proxy.requests), new Map(kinfold.proxy.requests)] as const
  await manager[Symbol.asyncDispose]()
  upstream.proxy.rate = 0
  const onBreak = (): void => kinfold.proxy.breakConnections()
  const leases = await runLeaseTwin({ seeds, planes, skewMs, onBreak })
  for (const each of leases.differences) tell(`FAIL ${each}`)
  const start = async (
    controllers: readonly string[],
    args: readonly string[],
  ): Promise<ControllerManager> => await startManager(upstream, controllers, args)
  const requests = await runCertificateTwin({ seeds, planes, start })
  for (const { seed, what } of requests.differences) {
    failed.add(seed)
    tell(`FAIL seed ${seed}: ${what}`)
  }
  const pods = await runPodTwin({
    seeds,
    planes,
    start: async (args) => await start([POD_COLLECTOR], args),
  })
  for (const each of pods.differences) tell(`FAIL pods: ${each}`)
  const sorted = [...failed].sort((one, other) => one - other)
  return { failed: sorted, ...lives, leases, requests, pods, calls }
}

async function startSide(seed: number, args: readonly string[]): Promise<Side> {
  const resources = new AsyncDisposableStack()
  const apiserverArgs = [...SERVED, `--feature-gates=${GATE}`, STORED_AS_JSON, ...args]
  const plane = resources.use(await startControlPlane({ apiserverArgs }))
  const ca = await readFile(plane.caFile, 'utf8')
  const { server, token } = plane
  const chance = seeded(seed)
  const proxy = resources.use(await FaultyProxy.start({ server, ca, token, chance }))
  proxy.faults = FAULTS
  proxy.only = SPOILED
  const kubeconfig = join(plane.folder, 'proxied.kubeconfig')
  await redirectKubeconfig(plane.kubeconfig, proxy.url, kubeconfig)
  const close = async (): Promise<void> => await resources.disposeAsync()
  return { plane, proxy, kubeconfig, [Symbol.asyncDispose]: close }
}

async function startManager(
  { plane, kubeconfig }: Side,
  controllers: readonly string[],
  extraArgs: readonly string[] = [],
): Promise<ControllerManager> {
  return await plane.startControllerManager({
    collector: true,
    beside: controllers,
    kubeconfig,
    clientLimitsLifted: true,
    extraArgs,
  })
}

async function startKinfold(
  { plane, kubeconfig }: Side,
  { skewMs, partitions }: RuleTwinsOptions,
): Promise<KinfoldProcess> {
  const config = join(plane.folder, 'kinfold.yaml')
  // JSON is YAML.
  await writeFile(config, JSON.stringify({ ...HEAD, rules: RULES }))
  const kinfold = await KinfoldProcess.start({
    kubeconfig,
    data: join(plane.folder, 'kinfold'),
    flags: [
      ...[...ACTING, '--config', config],
      ...['--partitions', `${partitions}`, '--log-level', 'warn'],
    ],
    nodeArgs: skewMs === 0 ? [] : ['--import', skewedBy(skewMs)],
  })
  for (const rule of configRules(RULES, 'rules')) {
    const about = { subject: rule.name, digest: ruleDigest(rule) }
    await kinfold.order('enforce-rule', 'twin run', about)
  }
  return kinfold
}

function skewedBy(ms: number): string {
  return `data:text/javascript,const now=Date.now;Date.now=()=>now()+(${ms})`
}

/** Of each seed a life of Jobs and one of tokens, at the same time. */
async function liveAll(
  { seeds, skewMs, rate, partitions, tell = () => {} }: RuleTwinsOptions,
  sides: Sides,
  failed: Set<number>,
): Promise<Pick<RuleTwinsReport, 'jobs' | 'tokens'>> {
  const jobs: JobTwinResult[] = []
  const tokens: TokenTwinResult[] = []
  const left = seeds.values()
  const planes = [sides[0].plane, sides[1].plane] as const
  const onBreak = (): void => {
    for (const { proxy } of sides) proxy.breakConnections()
  }
  const worker = async (): Promise<void> => {
    for (const seed of left) {
      const life = jobLife(seed)
      const began = performance.now()
      const of = { planes, skewMs, name: `r-${seed}` }
      const [job, token] = await Promise.all([
        runJobTwin({ ...of, life, onBreak }),
        runTokenTwin({ ...of, life: tokenLife(seed) }),
      ])
      jobs.push(job)
      tokens.push(token)
      const seconds = ((performance.now() - began) / 1_000).toFixed(1)
      const differences = [...job.differences, ...token.differences]
      if (differences.length > 0) failed.add(seed)
      const again = `npm run rule-twins -- --seeds 1 --from ${seed} --skew=${skewMs} --rate ${rate} --partitions ${partitions}`
      tell(
        differences.length > 0
          ? toldDifferent(life, differences, again)
          : `ok   seed ${seed} (${countOf(job, token)}, ${seconds} s)`,
      )
      for (const line of [...job.late, ...job.left, ...token.late, ...token.left])
        tell(`     seed ${seed}: ${line}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { jobs, tokens }
}

function countOf(job: JobTwinResult, token: TokenTwinResult): string {
  const of = ({ expired, raced }: JobTwinResult | TokenTwinResult): string =>
    `${expired} expired, ${raced} raced`
  return `${job.jobs} Jobs, ${of(job)}; ${token.tokens} tokens, ${of(token)}`
}

function toldDifferent(life: JobLife, differences: readonly string[], again: string): string {
  const shown = `${shownLife(life)}\n${JSON.stringify(tokenLife(life.seed).steps)}`
  const lines = differences.map((each) => `    ${each}`).join('\n')
  const indented = shown.replaceAll('\n', '\n    ')
  return `FAIL seed ${life.seed}: upstream | Kinfold\n${lines}\n    ${indented}\n    again: ${again}`
}
