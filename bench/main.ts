/**
 * `npm run bench NAME [options]`: the measurements that a promise of the README or an issue rests
 * on.
 *
 * What must stay true: an unknown name or option is reported in one sentence with exit code 2; a
 * benchmark never sets a threshold, it prints figures, and people compare.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { benchCascade, PRESET_NAMES, type PresetName } from './cascade.ts'
import { benchCrowd, type CrowdOptions } from './crowd.ts'
import { benchFanout } from './fanout.ts'
import { benchFirstList, type FirstListOptions } from './first-list.ts'
import { benchFold, type FoldOptions } from './fold.ts'
import { benchFolding, type FoldingOptions } from './folding.ts'
import { benchHolding, type HoldingOptions } from './holding.ts'
import { benchHostile, type HostileOptions } from './hostile.ts'
import { benchLatency, type LatencyOptions } from './latency.ts'
import { benchMemory } from './memory.ts'
import { benchPage, type PageOptions } from './page.ts'
import { benchPast, type PastOptions } from './past.ts'
import { benchReplay, type ReplayOptions } from './replay.ts'
import { benchRestore, type RestoreOptions } from './restore.ts'
import { POLICY_NAMES, type PolicyName } from './rig/policy.ts'
import type { Report } from './rig/report.ts'
import { print } from './rig/report.ts'
import { benchExpiry, type ExpiryOptions } from './rule/expiry.ts'
import { benchIdle, type IdleOptions } from './rule/idle.ts'
import { benchTree, type TreeOptions } from './tree.ts'
import { benchTurns, type TurnsOptions } from './turns.ts'
import { benchWatches, type WatchesOptions } from './watch/watches.ts'

interface Bench {
  readonly says: string
  /** Every option is a whole number, with its default; but `--policy` and `--preset`. */
  readonly options: Readonly<Record<string, number>>
  /** Measured one after the other unless `--policy` names one. */
  readonly policies: readonly PolicyName[]
  /** Of `--preset`, the default first; none where it is not taken. */
  readonly presets?: readonly PresetName[]
  /** Takes `--engine kafka`, the only one there is. */
  readonly isOverKafka?: boolean
  /** Takes `--against`, another checkout. */
  readonly isPaired?: boolean
  run(
    options: Readonly<Record<string, number>>,
    policy: PolicyName,
    preset: PresetName,
    against: string,
  ): Promise<Report>
}

const BENCHES: Readonly<Record<string, Bench>> = {
  cascade: {
    says: 'one owner goes: raw calls, Kinfold and the collector of kube-controller-manager',
    options: { dependents: 5_000, rounds: 2, warm: 500, samples: 40 },
    policies: POLICY_NAMES,
    presets: PRESET_NAMES,
    run: ({ dependents = 0, rounds = 0, warm = 0, samples = 0 }, policy, preset) =>
      benchCascade({ dependents, rounds, warm, samples }, policy, preset),
  },
  crowd: {
    says: 'many clusters over Kafka: what a silent one costs, events of all, and one process killed',
    options: {
      ...{ clusters: 1_000, objects: 1_000, partitions: 24, processes: 3 },
      ...{ silent: 60, events: 100_000 },
    },
    policies: [],
    isOverKafka: true,
    run: async (options) => await benchCrowd(options as CrowdOptions),
  },
  fanout: {
    says: 'one owner of very many in the playground: stalls and memory of Kinfold',
    options: { dependents: 200_000 },
    policies: ['background'],
    presets: ['parity', 'guarded'],
    run: ({ dependents = 0 }, policy, preset) =>
      benchFanout({ dependents }, policy, preset === 'guarded' ? preset : 'parity'),
  },
  'first-list': {
    says: 'many objects listed for the first time and after a restart: until ready, CPU an object',
    options: { objects: 60_000, family: 99, rounds: 3, profile: 1 },
    policies: [],
    isPaired: true,
    run: async (options, _policy, _preset, against) =>
      await benchFirstList(options as FirstListOptions, against),
  },
  fold: {
    says: 'ownership events over Kafka: the fold in one process and in two, and Kafka Streams',
    options: {
      ...{ events: 2_000_000, partitions: 8, processes: 0, rounds: 3 },
      ...{ living: 20_000, index: 0, streams: 1 },
    },
    policies: [],
    isOverKafka: true,
    run: async (options) => await benchFold(options as FoldOptions),
  },
  folding: {
    says: 'the fold alone, without servers: CPU, records and reads of an event and of a deleted dependent',
    options: {
      ...{ events: 120_000, living: 2_500, dependents: 20_000, rounds: 1, commit: 120 },
      ...{ digests: 0, traces: 0, heap: 0 },
    },
    policies: [],
    run: async (options) => await benchFolding(options as FoldingOptions),
  },
  turns: {
    says: 'the fold alone, of this checkout and of another one in turn: CPU as a ratio, bytes allocated',
    options: { window: 1_500, windows: 12, warm: 12, living: 20_000 },
    policies: [],
    isPaired: true,
    run: async (options, _policy, _preset, against) =>
      await benchTurns(options as TurnsOptions, against),
  },
  page: {
    says: 'the page of an owner of very many, in Chromium: until it is painted, and what is in the document',
    options: { dependents: 100_000, rounds: 5 },
    policies: [],
    run: async (options) => await benchPage(options as PageOptions),
  },
  past: {
    says: 'what facts were before each change: CPU and bytes of a change, and trees at random moments',
    options: { objects: 1_000_000, states: 10, family: 100, trees: 300 },
    policies: [],
    run: async (options) => await benchPast(options as PastOptions),
  },
  replay: {
    says: 'a log in SQLite folded again offline, under its own policy and another one',
    options: { events: 200_000, living: 2_500, rounds: 3, partitions: 1 },
    policies: [],
    run: async (options) => await benchReplay(options as ReplayOptions),
  },
  restore: {
    says: 'a changelog of many keys into an empty store, and Kafka Streams doing the same',
    options: { keys: 1_000_000, partitions: 8, rounds: 3, streams: 1 },
    policies: [],
    isOverKafka: true,
    run: async (options) => await benchRestore(options as RestoreOptions),
  },
  latency: {
    says: 'event to command over Kafka at an even rate, and while one of two processes is killed',
    options: { rate: 1_000, seconds: 30, partitions: 8, living: 5_000 },
    policies: [],
    isOverKafka: true,
    run: async (options) => await benchLatency(options as LatencyOptions),
  },
  holding: {
    says: 'very many objects folded over Kafka by one process: its memory when idle',
    options: { objects: 1_000_000, partitions: 8, limit: 0 },
    policies: [],
    isOverKafka: true,
    run: async (options) => await benchHolding(options as HoldingOptions),
  },
  tree: {
    says: 'a tree over Kafka with many partitions and over an embedded log, by turns',
    options: { partitions: 8, dependents: 100, trees: 300, pause: 250 },
    policies: [],
    isOverKafka: true,
    run: async (options) => await benchTree(options as TreeOptions),
  },
  hostile: {
    says: 'the heaviest things a tenant can do: bystanders, and CPU beside the collector of kube-controller-manager',
    options: { act: 0, scale: 100, every: 250, patience: 240 },
    policies: [],
    run: async (options) => await benchHostile(options as HostileOptions),
  },
  rules: {
    says: 'finished Jobs whose time to live ends on a real server: calls, delay, cascades beside them',
    options: { jobs: 2_000, span: 72, foreground: 1, dependents: 20, every: 3, quiet: 30 },
    policies: [],
    run: async (options) => await benchExpiry(options as ExpiryOptions),
  },
  'rules-idle': {
    says: 'very many objects and 20 rules of which none has anything due: CPU while nothing happens',
    options: { objects: 1_000_000, seconds: 1_800, rounds: 2 },
    policies: [],
    run: async (options) => await benchIdle(options as IdleOptions),
  },
  memory: {
    says: 'many objects on a real server: memory of Kinfold, time and rate of its sync',
    options: { objects: 60_000 },
    policies: [],
    run: ({ objects = 0 }) => benchMemory({ objects }),
  },
  watches: {
    says: 'watches of many clusters, each over its own connection and shared: memory and CPU',
    options: { clusters: 25, kinds: 80, events: 100, quiet: 30, rounds: 3 },
    policies: [],
    run: async (options) => await benchWatches(options as WatchesOptions),
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
  const { json, numbers, policies, preset, against } = optionsOf(name, bench, rest)
  const reports: Report[] = []
  for (const policy of policies) {
    const report = await bench.run(numbers, policy, preset, against)
    process.stdout.write(`${print(report)}\n`)
    reports.push(report)
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(reports, null, 2)}\n`)
}

function unknownName(name: string | undefined): ExitError {
  const known = Object.entries(BENCHES).map(([each, { says }]) => `${each} (${says})`)
  const asked = name === undefined ? 'no benchmark is named' : `there is no benchmark ${name}`
  return new ExitError(EXIT.input, `${asked}: name one of ${known.join(', ')}`)
}

interface Asked {
  readonly json: string | undefined
  readonly numbers: Record<string, number>
  readonly policies: readonly PolicyName[]
  readonly preset: PresetName
  /** Empty: none was given. */
  readonly against: string
}

function optionsOf(name: string, bench: Bench, args: string[]): Asked {
  const given = valuesOf(name, bench, args)
  const engine = given['engine'] ?? 'kafka'
  if (engine !== 'kafka') throw new ExitError(EXIT.input, `--engine takes kafka, not ${engine}`)
  const numbers: Record<string, number> = {}
  for (const [option, fallback] of Object.entries(bench.options)) {
    const value = given[option] === undefined ? fallback : Number(given[option])
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new ExitError(EXIT.input, `--${option} takes a whole number, not ${given[option]}`)
    }
    numbers[option] = value
  }
  const policies = policiesOf(bench, given['policy'])
  const { json, against = '' } = given
  const preset = presetOf(bench, given['preset'])
  return { json, numbers, policies, preset, against: against && resolve(against) }
}

function policiesOf({ policies }: Bench, asked: string | undefined): readonly PolicyName[] {
  if (asked === undefined) return policies.length > 0 ? policies : ['background']
  const named = POLICY_NAMES.find((each) => each === asked)
  if (named !== undefined) return [named]
  throw new ExitError(EXIT.input, `--policy takes ${POLICY_NAMES.join(', ')}, not ${asked}`)
}

function presetOf({ presets = ['parity'] }: Bench, asked: string | undefined): PresetName {
  const named = presets.find((each) => each === (asked ?? presets[0]))
  if (named !== undefined) return named
  throw new ExitError(EXIT.input, `--preset takes ${presets.join(', ')}, not ${asked}`)
}

function valuesOf(
  name: string,
  { options, policies, presets, isOverKafka = false, isPaired = false }: Bench,
  args: string[],
): Readonly<Record<string, string | undefined>> {
  const texts = [
    'json',
    ...(policies.length > 0 ? ['policy'] : []),
    ...(isPaired ? ['against'] : []),
  ]
  const preset = presets === undefined ? [] : ['preset']
  const engine = isOverKafka ? ['engine'] : []
  const names = [...texts, ...preset, ...engine, ...Object.keys(options)]
  const flags = Object.fromEntries(names.map((each) => [each, { type: 'string' as const }]))
  try {
    return parseArgs({ args, options: flags }).values as Record<string, string | undefined>
  } catch (error) {
    const known = names.map((each) => `--${each}`).join(', ')
    throw new ExitError(EXIT.input, `${(error as Error).message}; ${name} takes ${known}`)
  }
}
