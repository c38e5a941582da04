/**
 * `npm run chaos -- --engine kafka --minutes N [--seed S] [--at-once K]`: three brokers, two
 * processes of each service, a cluster whose ownership churns; kills, pauses and stops in rotation.
 * Prints what came of it; exit code 1 if anything was wrong.
 */
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { missingServers } from '../cluster/binaries.ts'
import { missingKafka } from '../kafka/jars.ts'
import { runChaos } from './chaos.ts'
import { FAULT_KINDS } from './fault.ts'

const USAGE = 'npm run chaos -- --engine kafka --minutes N [--seed S] [--at-once K]'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.exitCode = error instanceof ExitError ? error.exitCode : EXIT.findings
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`)
}
process.exit()

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  const missing = missingKafka({ own: true }) ?? missingServers('etcd', 'kube-apiserver')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const tell = (line: string): unknown => process.stdout.write(`${line}\n`)
  const report = await runChaos({ ...options, tell })
  tell(JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? Number(value) : value), 2))
  return report.record.faults.length === 0 ? EXIT.ok : EXIT.findings
}

function optionsOf(args: string[]): { minutes: number; seed: number; atOnce: number } {
  let values: { engine?: string; minutes?: string; seed?: string; 'at-once'?: string }
  try {
    const text = { type: 'string' } as const
    const options = { engine: text, minutes: text, seed: text, 'at-once': text }
    values = parseArgs({ args, options }).values
  } catch (error) {
    throw new ExitError(EXIT.input, `${(error as Error).message}: ${USAGE}`)
  }
  const { engine = 'kafka', minutes = '3', seed = '1', 'at-once': together = '1' } = values
  if (engine !== 'kafka') throw new ExitError(EXIT.input, `--engine takes kafka: ${USAGE}`)
  const [length, number, atOnce] = [Number(minutes), Number(seed), Number(together)]
  if (!(length > 0) || !Number.isInteger(number)) {
    throw new ExitError(EXIT.input, `--minutes and --seed take numbers: ${USAGE}`)
  }
  if (!Number.isInteger(atOnce) || atOnce < 1 || atOnce > FAULT_KINDS) {
    throw new ExitError(EXIT.input, `--at-once takes 1 to ${FAULT_KINDS}: ${USAGE}`)
  }
  return { minutes: length, seed: number, atOnce }
}
