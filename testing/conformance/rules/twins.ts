/**
 * `npm run rule-twins -- --seeds COUNT --from N`: built-in rules against the controllers of
 * kube-controller-manager that they stand for, on two control planes: random lives of Jobs, and
 * certificate requests that are old enough for one pass of their cleaner. Exit code 1 if one seed
 * ended in a difference.
 *
 * What must stay true: a failing seed is reported with its life and with the command that runs it
 * again; both collectors reach their servers through proxies that spoil answers alike.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { configRules } from '../../../cli/config/config-rules.ts'
import { ruleDigest } from '../../../core/model/rule/rule.ts'
import { EXIT, ExitError } from '../../../runtime/lifecycle.ts'
import { missingServers } from '../../cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts'
import type { ControllerManager } from '../../cluster/controller-manager.ts'
import { eventually } from '../../eventually.ts'
import { type Fault, FaultyProxy } from '../../process/faulty-proxy.ts'
import { ACTING, KinfoldProcess } from '../../process/kinfold-process.ts'
import { redirectKubeconfig } from '../../process/kubeconfigs.ts'
import { type Made, POD } from '../../process/objects.ts'
import { seeded } from '../../seeded.ts'
import { canary } from '../canary.ts'
import { JOB } from '../kinds.ts'
import {
  type CertificateRequest,
  certificateRequests,
  isRequestDue,
  makeRequest,
  requestsLeft,
} from './certificate-request.ts'
import { type JobLife, jobLife, shownLife } from './job-life.ts'
import { type JobTwinResult, runJobTwin } from './job-twin.ts'
import { POD_COLLECTOR, POD_RULES, type PodTwinResult, runPodTwin } from './pod-twin.ts'

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
  readonly jobs: number
  readonly expired: number
  readonly raced: number
  /** Jobs that upstream deleted although their longer TTL had been accepted. */
  readonly late: number
  /** Jobs whose pods upstream's collector left. */
  readonly left: number
  readonly requests: { readonly made: number; readonly deleted: number }
  readonly pods: PodTwinResult
  /** Requests of each collector, upstream first, by `METHOD resource`. */
  readonly calls: readonly [ReadonlyMap<string, number>, ReadonlyMap<string, number>]
}

interface Side extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly proxy: FaultyProxy
  readonly kubeconfig: string
}

const USAGE =
  'npm run rule-twins -- --seeds COUNT --from N [--skew=MS] [--rate SHARE] [--partitions N]'
const TTL_CONTROLLER = 'ttl-after-finished-controller'
const CLEANER = 'certificatesigningrequest-cleaner-controller'
/** Its first pass is at its start, over what it has listed by then; the next one an hour later. */
const CLEANER_STARTS_AFTER = '2s'
const HEAD = { apiVersion: 'kinfold/v1alpha1', kind: 'Config' }
const RULES = [{ builtin: 'finished-jobs' }, { builtin: 'certificate-requests' }, ...POD_RULES]
/** A collector may take a 404 for what it says, so those are not among them. */
const FAULTS: readonly [Fault, ...Fault[]] = ['throttled', 'failed', 'slow', 'cut', 'lost']
const CANARIES = 5
/** Lives side by side, in namespaces of their own. */
const AT_ONCE = 5

export async function runRuleTwins(options: RuleTwinsOptions): Promise<RuleTwinsReport> {
  await using resources = new AsyncDisposableStack()
  const [upstream, kinfold] = await Promise.all([startSide(1), startSide(2)])
  resources.use(upstream)
  resources.use(kinfold)
  const manager = resources.use(await startManager(upstream, TTL_CONTROLLER))
  resources.use(await startKinfold(kinfold, options))
  const kinds = [JOB, POD].map((kind) => ({ kind, namespace: 'default' }))
  await Promise.all([upstream, kinfold].map(({ plane }) => canary(plane, kinds)))
  for (const { proxy } of [upstream, kinfold]) proxy.rate = options.rate
  const failed = new Set<number>()
  const results = await jobLives(options, [upstream, kinfold], failed)
  const calls = [new Map(upstream.proxy.requests), new Map(kinfold.proxy.requests)] as const
  await manager[Symbol.asyncDispose]()
  for (const { proxy } of [upstream, kinfold]) proxy.rate = 0
  const requests = await certificateTwin(options, [upstream, kinfold], failed)
  const pods = await runPodTwin({
    seeds: options.seeds,
    planes: [upstream.plane, kinfold.plane],
    start: async (args) => await startManager(upstream, POD_COLLECTOR, args),
  })
  for (const each of pods.differences) options.tell?.(`FAIL pods: ${each}`)
  const sum = (of: (result: JobTwinResult) => number): number =>
    results.reduce((total, each) => total + of(each), 0)
  return {
    failed: [...failed].sort((one, other) => one - other),
    jobs: sum(({ jobs }) => jobs),
    expired: sum(({ expired }) => expired),
    raced: sum(({ raced }) => raced),
    late: sum(({ late }) => late.length),
    left: sum(({ left }) => left.length),
    requests,
    pods,
    calls,
  }
}

async function startSide(seed: number): Promise<Side> {
  const resources = new AsyncDisposableStack()
  const plane = resources.use(await startControlPlane())
  const ca = await readFile(plane.caFile, 'utf8')
  const { server, token } = plane
  const chance = seeded(seed)
  const proxy = resources.use(await FaultyProxy.start({ server, ca, token, chance }))
  proxy.faults = FAULTS
  // What it asks about itself at its start is no part of this.
  proxy.only = /^\/apis?\/(batch\/v1|v1|certificates\.k8s\.io\/v1)\/.*(jobs|pods|requests)/
  const kubeconfig = join(plane.folder, 'proxied.kubeconfig')
  await redirectKubeconfig(plane.kubeconfig, proxy.url, kubeconfig)
  const close = async (): Promise<void> => await resources.disposeAsync()
  return { plane, proxy, kubeconfig, [Symbol.asyncDispose]: close }
}

async function startManager(
  { plane, kubeconfig }: Side,
  controller: string,
  extraArgs: readonly string[] = [],
): Promise<ControllerManager> {
  return await plane.startControllerManager({
    collector: true,
    beside: [controller],
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

async function jobLives(
  { seeds, skewMs, rate, partitions, tell = () => {} }: RuleTwinsOptions,
  sides: readonly [Side, Side],
  failed: Set<number>,
): Promise<JobTwinResult[]> {
  const results: JobTwinResult[] = []
  const left = seeds.values()
  const onBreak = (): void => {
    for (const { proxy } of sides) proxy.breakConnections()
  }
  const worker = async (): Promise<void> => {
    for (const seed of left) {
      const life = jobLife(seed)
      const began = performance.now()
      const planes = [sides[0].plane, sides[1].plane] as const
      const result = await runJobTwin({ life, name: `r-${seed}`, planes, skewMs, onBreak })
      results.push(result)
      const seconds = ((performance.now() - began) / 1_000).toFixed(1)
      if (result.differences.length > 0) failed.add(seed)
      const { jobs, expired, raced } = result
      const again = `npm run rule-twins -- --seeds 1 --from ${seed} --skew=${skewMs} --rate ${rate} --partitions ${partitions}`
      tell(
        result.differences.length > 0
          ? toldDifferent(life, result, again)
          : `ok   seed ${seed} (${jobs} Jobs, ${expired} expired, ${raced} raced, ${seconds} s)`,
      )
      for (const line of [...result.late, ...result.left]) tell(`     seed ${seed}: ${line}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

function toldDifferent(life: JobLife, { differences }: JobTwinResult, again: string): string {
  const shown = shownLife(life).replaceAll('\n', '\n    ')
  const lines = differences.map((each) => `    ${each}`).join('\n')
  return `FAIL seed ${life.seed}: upstream | Kinfold\n${lines}\n    ${shown}\n    again: ${again}`
}

interface Requested {
  readonly seed: number
  readonly request: CertificateRequest
  readonly made: readonly [Made, Made]
}

/** All of them are made before upstream's cleaner makes its one pass. */
async function certificateTwin(
  { seeds, tell = () => {} }: RuleTwinsOptions,
  [upstream, kinfold]: readonly [Side, Side],
  failed: Set<number>,
): Promise<RuleTwinsReport['requests']> {
  const now = Date.now()
  const all: Requested[] = []
  for (const seed of seeds) {
    for (const request of certificateRequests(seed)) {
      const left = await makeRequest(upstream.plane, request, now)
      const right = await makeRequest(kinfold.plane, request, now)
      all.push({ seed, request, made: [left, right] })
    }
  }
  const planes = [upstream.plane, kinfold.plane] as const
  const extraArgs = [`--controller-start-interval=${CLEANER_STARTS_AFTER}`]
  // The second one deletes what the first one left, and ends as the first one may not have.
  for (let pass = 0; pass < 2; pass++) {
    const canaries = await Promise.all(planes.map(async (plane) => await oldRequests(plane, pass)))
    await using _manager = await startManager(upstream, CLEANER, extraArgs)
    let wrong: readonly Requested[] = []
    await eventually('requests are deleted', async () => {
      const left = await Promise.all(planes.map(requestsLeft))
      if (canaries.flat().some(({ uid }) => left.some((uids) => uids.has(uid))))
        return 'no pass yet'
      wrong = all.filter(({ request, made }) =>
        made.some(({ uid }, side) => left[side]!.has(uid) === isRequestDue(request)),
      )
      return wrong.length === 0 || `${wrong.length} are wrong`
    }).catch((error: unknown) => tell(`FAIL ${String(error)}`))
    for (const { seed, request } of wrong) {
      failed.add(seed)
      tell(`FAIL seed ${seed}: ${JSON.stringify(request)}, due: ${isRequestDue(request)}`)
    }
  }
  const deleted = all.filter(({ request }) => isRequestDue(request)).length
  return { made: all.length, deleted }
}

/** The order of a pass is random: once all of them are deleted, it is over or nearly so. */
async function oldRequests(plane: ControlPlane, pass: number): Promise<Made[]> {
  const made: Made[] = []
  for (let index = 0; index < CANARIES; index++) {
    const conditions = [{ type: 'Denied', agoMs: 7_200_000 }]
    const name = `canary-${pass}-${index}`
    const request = { name, conditions, certificate: 'none', again: false } as const
    made.push(await makeRequest(plane, request, Date.now()))
  }
  return made
}

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  const missing = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const report = await runRuleTwins({ ...options, tell: print })
  const { failed, jobs, expired, raced, late, left, requests, pods, calls } = report
  print(`${jobs} Jobs, ${expired} expired, ${raced} left out of the comparison for a race`)
  print(`${late} deleted by upstream after their longer TTL was accepted, by Kinfold none`)
  print(`${left} deleted by both whose pods upstream has not collected within a minute`)
  print(`${requests.made} certificate requests, ${requests.deleted} deleted`)
  const odd = pods.differences.length === 0 ? '' : ', and others are left'
  print(`${pods.made} pods, ${pods.deleted} deleted${odd}`)
  for (const [index, side] of ['upstream', 'Kinfold'].entries()) {
    const counts = [...calls[index]!].filter(([call]) => / (jobs|pods)/.test(call)).sort()
    print(`${side}: ${counts.map(([call, count]) => `${call} ${count}`).join(', ')}`)
  }
  const differ = failed.length === 0 ? '' : `; different: ${failed.join(', ')}`
  print(`${options.seeds.length} seeds: ${options.seeds.length - failed.length} alike${differ}`)
  return failed.length + pods.differences.length === 0 ? EXIT.ok : EXIT.findings
}

function optionsOf(args: string[]): RuleTwinsOptions {
  const { seeds, from, skew, rate, partitions } = valuesOf(args)
  const first = number('from', from, 1)
  return {
    seeds: Array.from({ length: number('seeds', seeds, 1) }, (_, index) => first + index),
    skewMs: number('skew', skew, Number.NEGATIVE_INFINITY),
    rate: number('rate', rate, 0),
    partitions: number('partitions', partitions, 1),
  }
}

const OPTIONS = ['seeds', 'from', 'skew', 'rate', 'partitions'] as const
const DEFAULTS = { seeds: '20', from: '1', skew: '0', rate: '0.02', partitions: '1' }

function valuesOf(args: string[]): Record<(typeof OPTIONS)[number], string> {
  const options = Object.fromEntries(OPTIONS.map((name) => [name, { type: 'string' } as const]))
  try {
    return { ...DEFAULTS, ...parseArgs({ args, options }).values }
  } catch (error) {
    throw new ExitError(EXIT.input, `${(error as Error).message}: ${USAGE}`)
  }
}

function number(option: string, given: string, least: number): number {
  const value = Number(given)
  const isWhole = option === 'rate' || Number.isSafeInteger(value)
  if (given !== '' && isWhole && value >= least) return value
  throw new ExitError(EXIT.input, `--${option} takes a number, not ${given}: ${USAGE}`)
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof ExitError)) throw error
    process.stderr.write(`error: ${error.message}\n`)
    process.exitCode = error.exitCode
  }
}
