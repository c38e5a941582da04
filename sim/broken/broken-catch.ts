/**
 * Runs a broken build in a process of its own under the check that is to notice it, and says what
 * was noticed.
 *
 * What must stay true: only a check that reports a failure counts. A process that dies of the
 * mistake, or never loads it, has noticed nothing, and that is an error here.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { BrokenBuild, FailingTest } from './broken-build.ts'
import { placeOf, sourceFiles } from './broken-file.ts'

/** What noticed it, and its first words. */
export interface Caught {
  readonly by: string
  readonly wrong: string
}

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

/** Whether the check that it names notices it; undefined when not. */
export async function caughtBy(build: BrokenBuild): Promise<Caught | undefined> {
  const { by } = build
  if ('test' in by) return await failing(build, by)
  return await run(build, ['--family', by.family, '--world', by.world])
}

/** Searches for a seed of the simulator that notices it, also if another check does. */
export async function searchSeeds(build: BrokenBuild, seeds: Seeds): Promise<Caught | undefined> {
  return await run(build, ['--from', String(seeds.from), '--to', String(seeds.to)])
}

/** Searches for a small world that notices it. */
export async function searchWorlds(build: BrokenBuild): Promise<Caught | undefined> {
  return await run(build, ['--small'])
}

/** Of a change that no longer fits its file: what fails then shows nothing of the check. */
const UNFIT = /\b(?:ReferenceError|SyntaxError|TypeError)\b.*/

function assertFit(build: BrokenBuild, text: string): void {
  const [unfit] = UNFIT.exec(text) ?? []
  if (unfit !== undefined) throw new Error(`build "${build.name}" does not run: ${unfit}`)
}

async function run(build: BrokenBuild, args: readonly string[]): Promise<Caught | undefined> {
  const { code, out, errors } = await broken(build, ['sim/broken/broken-run.ts', ...args])
  if (code !== 0) throw new Error(`build "${build.name}" ended with ${code}: ${errors}`)
  assertFit(build, out)
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
  if (result?.[2]?.includes(' # SKIP') === true) return { by: test, wrong: SKIPPED }
  if (result === undefined)
    throw new Error(`"${test}" of ${file} did not run under build "${build.name}": ${errors}${out}`)
  if (result[1] === 'ok') return undefined
  assertFit(build, out)
  return { by: test, wrong: 'it fails' }
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
    // Processes that it starts are broken as well. A mistake that never ends must not use up the
    // machine.
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
