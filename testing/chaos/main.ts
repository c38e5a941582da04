/**
 * `npm run chaos -- --engine kafka --minutes N [--seed S]`: three brokers, two processes of each service, a cluster whose ownership churns; kills, pauses and stops in
 * rotation. Prints what came of it; exit code 1 if anything was wrong.
 */
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { missingServers } from '../cluster/binaries.ts'
import { missingKafka } from '../kafka/jars.ts'
import { runChaos } from './chaos.ts'

const USAGE = 'npm run chaos -- --engine kafka --minutes N [--seed S]'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.exitCode = error instanceof ExitError ? error.exitCode : EXIT.findings
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`)
}
process.exit()

async function main(args: string[]): Promise<number> {
  const { minutes, seed } = optionsOf(args)
  const missing = missingKafka({ own: true }) ?? missingServers('etcd', 'kube-apiserver')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const tell = (line: string): unknown => process.stdout.write(`${line}\n`)
  const report = await runChaos({ minutes, seed, tell })
  tell(JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? Number(value) : value), 2))
  return report.record.faults.length === 0 ? EXIT.ok : EXIT.findings
}

function optionsOf(args: string[]): { minutes: number; seed: number } {
  let values: { engine?: string; minutes?: string; seed?: string }
  try {
    const text = { type: 'string' } as const
    values = parseArgs({ args, options: { engine: text, minutes: text, seed: text } }).values
  } catch (error) {
    throw new ExitError(EXIT.input, `${(error as Error).message}: ${USAGE}`)
  }
  const { engine = 'kafka', minutes = '3', seed = '1' } = values
  if (engine !== 'kafka') throw new ExitError(EXIT.input, `--engine takes kafka: ${USAGE}`)
  const [length, number] = [Number(minutes), Number(seed)]
  if (!(length > 0) || !Number.isInteger(number)) {
    throw new ExitError(EXIT.input, `--minutes and --seed take numbers: ${USAGE}`)
  }
  return { minutes: length, seed: number }
}
