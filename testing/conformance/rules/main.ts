/**
 * `npm run rule-twins -- --seeds COUNT --from N`: built-in rules against the collectors of
 * Kubernetes that they stand for, on two control planes.
 *
 * What must stay true: exit code 1 if one seed ended in a difference.
 */
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../../runtime/lifecycle.ts'
import { missingServers } from '../../cluster/binaries.ts'
import { type RuleTwinsOptions, type RuleTwinsReport, runRuleTwins } from './twins.ts'

const USAGE =
  'npm run rule-twins -- --seeds COUNT --from N [--skew=MS] [--rate SHARE] [--partitions N]'

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  const missing = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const report = await runRuleTwins({ ...options, tell: print })
  for (const line of shownReport(report)) print(line)
  const { failed, leases, pods } = report
  const differ = failed.length === 0 ? '' : `; different: ${failed.join(', ')}`
  print(`${options.seeds.length} seeds: ${options.seeds.length - failed.length} alike${differ}`)
  const odd = leases.differences.length + pods.differences.length
  return failed.length + odd === 0 ? EXIT.ok : EXIT.findings
}

function shownReport(report: RuleTwinsReport): string[] {
  const { jobs, tokens, leases, requests, pods, calls } = report
  const job = (of: (each: (typeof jobs)[number]) => number): number => sum(jobs.map(of))
  const token = (of: (each: (typeof tokens)[number]) => number): number => sum(tokens.map(of))
  const other = ({ length }: readonly unknown[]): string =>
    length === 0 ? '' : ', others are left'
  const raced = 'left out of the comparison for a race'
  return [
    `${job((each) => each.jobs)} Jobs, ${job((each) => each.expired)} expired, ${job((each) => each.raced)} ${raced}`,
    `  ${job(({ late }) => late.length)} deleted by upstream after their longer TTL was accepted, by Kinfold none`,
    `  ${job(({ left }) => left.length)} deleted by both whose pods upstream has not collected by then`,
    `${token((each) => each.tokens)} bootstrap tokens, ${token((each) => each.expired)} expired, ${token((each) => each.raced)} ${raced}`,
    `  ${token(({ late }) => late.length)} deleted by upstream after their longer expiration was accepted, by Kinfold none`,
    `  ${token(({ left }) => left.length)} left by upstream, whose one DELETE had failed, until they were touched`,
    `  ${token(({ noTime }) => noTime)} kept by Kinfold alone: their expiration is no time`,
    `${leases.made} Leases of API servers, ${leases.deleted} deleted, ${leases.noTime} kept by Kinfold alone: they lack a field${other(leases.differences)}`,
    `${requests.made} certificate requests, ${requests.deleted} deleted`,
    `${pods.made} pods, ${pods.deleted} deleted${other(pods.differences)}`,
    ...['upstream', 'Kinfold'].map((side, index) => `${side}: ${shownCalls(calls[index]!)}`),
  ]
}

function shownCalls(calls: ReadonlyMap<string, number>): string {
  const counts = [...calls].filter(([call]) => / (jobs|pods|secrets)/.test(call)).sort()
  return counts.map(([call, count]) => `${call} ${count}`).join(', ')
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, each) => total + each, 0)
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
