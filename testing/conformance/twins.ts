/**
 * `npm run twins -- --seeds COUNT --from N`: random workloads on two control planes, upstream's
 * collector on one, Kinfold (or, with `--against upstream`, upstream's again) on the other. Exit
 * code 1 if one seed ended in a difference.
 *
 * What must stay true: a failing seed is reported with its workload and with the command that runs
 * it again.
 */
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { missingServers } from '../cluster/binaries.ts'
import { startControlPlane } from '../cluster/control-plane.ts'
import { shownSteps } from './action.ts'
import { canary } from './canary.ts'
import { type CollectorName, collectorOf } from './collector.ts'
import { defineAll, PRIORITY_CLASS, REALM, WIDGET } from './kinds.ts'
import { type Difference, runTwins, type Side } from './twin.ts'
import { type Workload, workload } from './workload.ts'

export interface TwinsOptions {
  readonly seeds: readonly number[]
  readonly against: CollectorName
  readonly partitions: number
  readonly tell?: (line: string) => void
}

const USAGE =
  'npm run twins -- --seeds COUNT --from N [--against kinfold|upstream] [--partitions N]'
/** Seeds side by side, in namespaces of their own. */
const AT_ONCE = 4

/** The seeds that ended in a difference. */
export async function runAllTwins(options: TwinsOptions): Promise<number[]> {
  const { seeds, against, partitions, tell = () => {} } = options
  await using resources = new AsyncDisposableStack()
  const sideOf = async (name: CollectorName): Promise<Side> => {
    const plane = resources.use(await startControlPlane())
    await defineAll(plane)
    const collector = resources.use(collectorOf(name, plane, { partitions }))
    await collector.start()
    await canary(plane, places())
    return { plane, collector }
  }
  const sides = await Promise.all([sideOf('upstream'), sideOf(against)])
  const failed: number[] = []
  const left = seeds.values()
  const worker = async (): Promise<void> => {
    for (const seed of left) {
      const life = workload(seed)
      const began = performance.now()
      const difference = await runTwins(life, `t-${seed}`, sides)
      const seconds = ((performance.now() - began) / 1_000).toFixed(1)
      if (difference !== undefined) failed.push(seed)
      tell(
        difference === undefined
          ? `ok   seed ${seed} (${life.steps.length} steps, ${seconds} s)`
          : told(life, difference, options),
      )
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return failed.sort((one, other) => one - other)
}

function told(
  life: Workload,
  { step, lines }: Difference,
  { against, partitions }: TwinsOptions,
): string {
  const again = `npm run twins -- --seeds 1 --from ${life.seed} --against ${against} --partitions ${partitions}`
  const shown = shownSteps(life.steps.slice(0, step + 1)).replaceAll('\n', '\n    ')
  const differences = lines.map((each) => `    ${each}`).join('\n')
  return `FAIL seed ${life.seed}, after step ${step}: upstream | ${against}\n${differences}\n    ${shown}\n    again: ${again}`
}

function places(): { kind: typeof WIDGET; namespace: string }[] {
  return [WIDGET, REALM, PRIORITY_CLASS].map((kind) => ({ kind, namespace: 'default' }))
}

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  const missing = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const failed = await runAllTwins({ ...options, tell: print })
  const alike = options.seeds.length - failed.length
  const differ = failed.length === 0 ? '' : `; different: ${failed.join(', ')}`
  print(`${options.seeds.length} seeds: ${alike} alike${differ}`)
  return failed.length === 0 ? EXIT.ok : EXIT.findings
}

function optionsOf(args: string[]): TwinsOptions {
  const { seeds, from, against, partitions } = valuesOf(args)
  if (against !== 'kinfold' && against !== 'upstream') {
    throw new ExitError(EXIT.input, `--against takes kinfold or upstream: ${USAGE}`)
  }
  const first = wholeNumber('from', from)
  return {
    seeds: Array.from({ length: wholeNumber('seeds', seeds) }, (_, index) => first + index),
    against,
    partitions: wholeNumber('partitions', partitions),
  }
}

function valuesOf(args: string[]): {
  seeds: string
  from: string
  against: string
  partitions: string
} {
  const option = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const options = {
    seeds: option('20'),
    from: option('1'),
    against: option('kinfold'),
    partitions: option('1'),
  }
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new ExitError(EXIT.input, `${(error as Error).message}: ${USAGE}`)
  }
}

function wholeNumber(option: string, given: string): number {
  const value = Number(given)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new ExitError(EXIT.input, `--${option} takes a whole number above 0, not ${given}`)
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
