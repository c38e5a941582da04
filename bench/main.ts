/**
 * `npm run bench NAME [options]`: the measurements that a promise of the README or an issue rests on.
 *
 * What must stay true: an unknown name or option is told in one sentence with exit code 2; a benchmark never sets a threshold, it prints
 * figures, and people compare.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { benchCascade } from './cascade.ts'
import { benchFanout } from './fanout.ts'
import { benchMemory } from './memory.ts'
import type { Report } from './report.ts'
import { print } from './report.ts'

interface Bench {
  readonly says: string
  /** Every option is a whole number, with its default. */
  readonly options: Readonly<Record<string, number>>
  run(options: Readonly<Record<string, number>>): Promise<Report>
}

const BENCHES: Readonly<Record<string, Bench>> = {
  cascade: {
    says: 'one owner goes: raw DELETEs, Kinfold and the collector of kube-controller-manager',
    options: { dependents: 5_000, rounds: 2, warm: 500, samples: 40 },
    run: ({ dependents = 0, rounds = 0, warm = 0, samples = 0 }) =>
      benchCascade({ dependents, rounds, warm, samples }),
  },
  fanout: {
    says: 'one owner of very many in the playground: stalls and memory of Kinfold',
    options: { dependents: 200_000 },
    run: ({ dependents = 0 }) => benchFanout({ dependents }),
  },
  memory: {
    says: 'many objects on a real server: memory of Kinfold, time and rate of its sync',
    options: { objects: 60_000 },
    run: ({ objects = 0 }) => benchMemory({ objects }),
  },
}

try {
  await main(process.argv.slice(2))
  process.exitCode = EXIT.ok
} catch (error) {
  if (!(error instanceof ExitError)) throw error
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = error.exitCode
}

async function main(args: string[]): Promise<void> {
  const [name, ...rest] = args
  const bench = name === undefined ? undefined : BENCHES[name]
  if (bench === undefined || name === undefined) throw unknownName(name)
  const { json, numbers } = optionsOf(name, bench, rest)
  const report = await bench.run(numbers)
  process.stdout.write(print(report))
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`)
}

function unknownName(name: string | undefined): ExitError {
  const known = Object.entries(BENCHES).map(([each, { says }]) => `${each} (${says})`)
  const asked = name === undefined ? 'no benchmark is named' : `there is no benchmark ${name}`
  return new ExitError(EXIT.input, `${asked}: name one of ${known.join(', ')}`)
}

function optionsOf(
  name: string,
  { options }: Bench,
  args: string[],
): { readonly json: string | undefined; readonly numbers: Record<string, number> } {
  const given = valuesOf(name, options, args)
  const numbers: Record<string, number> = {}
  for (const [option, fallback] of Object.entries(options)) {
    const value = given[option] === undefined ? fallback : Number(given[option])
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new ExitError(EXIT.input, `--${option} takes a whole number, not ${given[option]}`)
    }
    numbers[option] = value
  }
  return { json: given['json'], numbers }
}

function valuesOf(
  name: string,
  options: Readonly<Record<string, number>>,
  args: string[],
): Readonly<Record<string, string | undefined>> {
  const names = ['json', ...Object.keys(options)]
  const flags = Object.fromEntries(names.map((each) => [each, { type: 'string' as const }]))
  try {
    return parseArgs({ args, options: flags }).values as Record<string, string | undefined>
  } catch (error) {
    const known = names.map((each) => `--${each}`).join(', ')
    throw new ExitError(EXIT.input, `${(error as Error).message}; ${name} takes ${known}`)
  }
}
