/**
 * `npm run conformance -- --collector upstream|kinfold`: compares a garbage collector with the
 * observable behaviour of the one in kube-controller-manager. A line a scenario, a summary, and
 * exit code 1 if one failed that may not.
 *
 * What must stay true: a bad option is reported in one sentence with exit code 2.
 */
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { missingServers } from '../cluster/binaries.ts'
import { missingKafka } from '../kafka/jars.ts'
import type { CollectorName, Engine } from './collector.ts'
import { isPicked } from './scenario.ts'
import { type Result, runSuite, SCENARIOS, type SuiteOptions } from './suite.ts'

const USAGE =
  'npm run conformance -- --collector upstream|kinfold [--partitions N] [--engine embedded|kafka] [--kill] [--only ROW] [--without-watch-cache] [--patience SECONDS]'
const SIGNS = { passed: 'ok  ', failed: 'FAIL', weaker: 'weak' } as const

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof ExitError)) throw error
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = error.exitCode
}

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  const missing = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
  const noKafka = options.engine === 'kafka' ? missingKafka() : undefined
  if ((missing ?? noKafka) !== undefined) throw new ExitError(EXIT.input, missing ?? noKafka ?? '')
  const began = performance.now()
  const results = await runSuite({ ...options, tell: (result) => print(line(result)) })
  const seconds = Math.round((performance.now() - began) / 1_000)
  print(summary(results, seconds))
  return results.some(({ outcome }) => outcome === 'failed') ? 1 : EXIT.ok
}

function optionsOf(args: string[]): SuiteOptions {
  const values = valuesOf(args)
  const { collector, only } = values
  if (collector !== 'upstream' && collector !== 'kinfold') {
    throw new ExitError(EXIT.input, `--collector takes upstream or kinfold: ${USAGE}`)
  }
  if (!SCENARIOS.some((each) => isPicked(each, only))) {
    throw new ExitError(EXIT.input, `no scenario covers ${only}: --only takes a row, such as R4`)
  }
  const engine = engineOf(values.engine)
  const patience = wholeNumber('patience', values.patience)
  return {
    collector: collector satisfies CollectorName,
    partitions: wholeNumber('partitions', values.partitions) ?? 1,
    kill: values.kill ?? false,
    withoutWatchCache: values['without-watch-cache'] ?? false,
    engine,
    ...(only !== undefined && { only }),
    ...(patience !== undefined && { withinMs: patience * 1_000 }),
  }
}

function engineOf(text: string = 'embedded'): Engine {
  if (text === 'embedded' || text === 'kafka') return text
  throw new ExitError(EXIT.input, `--engine takes embedded or kafka: ${USAGE}`)
}

interface Values {
  readonly collector?: string | undefined
  readonly partitions?: string | undefined
  readonly patience?: string | undefined
  readonly engine?: string | undefined
  readonly only?: string | undefined
  readonly kill?: boolean | undefined
  readonly 'without-watch-cache'?: boolean | undefined
}

function valuesOf(args: string[]): Values {
  try {
    return parseArgs({
      args,
      options: {
        collector: { type: 'string' },
        partitions: { type: 'string' },
        patience: { type: 'string' },
        engine: { type: 'string' },
        only: { type: 'string' },
        kill: { type: 'boolean' },
        'without-watch-cache': { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new ExitError(EXIT.input, `${(error as Error).message}: ${USAGE}`)
  }
}

function wholeNumber(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const value = Number(given)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new ExitError(EXIT.input, `--${option} takes a whole number above 0, not ${given}`)
}

function line({ scenario: { rows, says, better }, outcome, ms, error }: Result): string {
  const time = `${(ms / 1_000).toFixed(1)} s`
  const told = `${SIGNS[outcome]} ${rows}: ${says} (${time})`
  if (outcome === 'failed') return `${told}\n    ${error}`
  if (outcome === 'weaker') return `${told}\n    better: ${better}\n    ${error}`
  return told
}

function summary(results: readonly Result[], seconds: number): string {
  const count = (wanted: string): number =>
    results.filter(({ outcome }) => outcome === wanted).length
  const parts = [`${count('passed')} passed`, `${count('failed')} failed`]
  if (count('weaker') > 0) parts.push(`${count('weaker')} failed where Kinfold is better`)
  return `${results.length} scenarios: ${parts.join(', ')} in ${seconds} s`
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
