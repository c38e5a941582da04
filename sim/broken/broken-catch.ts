/**
 * Runs a broken build in a process of its own under the check that is to notice it, and says what was noticed.
 *
 * What must stay true: only a check that reports a failure counts. A process that dies of the mistake, or never loads it, has noticed nothing, and
 * that is an error here.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Family } from '../small/small-world.ts'
import type { BrokenBuild, FailingTest } from './broken-build.ts'
import { placeOf, sourceFiles } from './broken-file.ts'

/** The check that noticed it, and its first words. */
export type Caught =
  | { readonly by: 'sim'; readonly seed: number; readonly wrong: string }
  | {
      readonly by: 'small'
      readonly family: Family
      readonly world: string
      readonly wrong: string
    }
  | { readonly by: 'test'; readonly wrong: string }

export interface Seeds {
  readonly from: number
  readonly to: number
}

/** This machine cannot run that test, as where no small disk can be mounted. */
export const SKIPPED = 'skipped'

const HOOK = new URL('broken-hook.ts', import.meta.url).href
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Five hundred seeds, one after the other. */
const MOST_MS = 3_600_000
const MOST_HEAP_MIB = 2_048
const MOST_BYTES = 64 * 1024 * 1024

/** Searches for a check that notices it; undefined when none does. */
export async function search(build: BrokenBuild, seeds: Seeds): Promise<Caught | undefined> {
  const { by } = build
  if (by === 'sim') return await searchSeeds(build, seeds)
  return by === 'small' ? await run(build, ['--small']) : await failing(build, by)
}

/** Searches for a seed that notices it, also if another check does. */
export async function searchSeeds(build: BrokenBuild, seeds: Seeds): Promise<Caught | undefined> {
  return await run(build, ['--from', String(seeds.from), '--to', String(seeds.to)])
}

/** Whether the check that noticed it once does so again. */
export async function replay(
  build: BrokenBuild,
  caught: Caught | undefined,
): Promise<Caught | undefined> {
  switch (caught?.by) {
    case 'sim':
      return await searchSeeds(build, { from: caught.seed, to: caught.seed })
    case 'small': {
      const { family, world } = caught
      return await run(build, ['--small', '--family', family, '--world', world])
    }
    default:
      return typeof build.by === 'object' ? await failing(build, build.by) : undefined
  }
}

async function run(build: BrokenBuild, args: readonly string[]): Promise<Caught | undefined> {
  const { code, out, errors } = await broken(build, ['sim/broken/broken-run.ts', ...args])
  if (code !== 0) throw new Error(`build "${build.name}" ended with ${code}: ${errors}`)
  return (JSON.parse(out) as Caught | null) ?? undefined
}

async function failing(
  build: BrokenBuild,
  { file, test }: FailingTest,
): Promise<Caught | undefined> {
  const pattern = `^${test.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`
  const named = ['--test-reporter=tap', `--test-name-pattern=${pattern}`]
  const { out, errors } = await broken(build, [...named, placeOf(file, sourceFiles())])
  const results = [...out.matchAll(/^\s*(not ok|ok) \d+ - (.*)$/gm)]
  const isIt = (name = ''): boolean =>
    name.replaceAll('\\#', '#').split(' # SKIP')[0]?.trim() === test
  const result = results.find(([, , name]) => isIt(name))
  if (result?.[2]?.includes(' # SKIP') === true) return { by: 'test', wrong: SKIPPED }
  if (result === undefined)
    throw new Error(`"${test}" of ${file} did not run under build "${build.name}": ${errors}${out}`)
  return result[1] === 'ok' ? undefined : { by: 'test', wrong: test }
}

interface Ended {
  readonly code: number | string | null
  readonly out: string
  readonly errors: string
}

function broken(build: BrokenBuild, args: readonly string[]): Promise<Ended> {
  const env = {
    ...process.env,
    KINFOLD_BROKEN_BUILD: build.name,
    KINFOLD_BROKEN_ROOT: '1',
    // Processes that it starts are broken as well. A mistake that never ends must not use up the machine.
    NODE_OPTIONS: `--import=${HOOK} --max-old-space-size=${MOST_HEAP_MIB}`,
  }
  // Set by the test runner that runs this: it would make the process report to that runner.
  Reflect.deleteProperty(env, 'NODE_TEST_CONTEXT')
  const options = { cwd: ROOT, env, timeout: MOST_MS, maxBuffer: MOST_BYTES }
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, out, errors) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal ?? null), out, errors })
    })
  })
}
