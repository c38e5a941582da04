/**
 * A command that stays is replaced once, by itself with flags. Shown on a program that says what it
 * runs with.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'

const LEAN = new URL('lean-process.ts', import.meta.url)
const SAYS = `
import { becomeLean, keepCompiled } from '${LEAN.href}'
process.stderr.write(process.pid + '\\n')
becomeLean()
keepCompiled()
const { execArgv, argv, env } = process
console.log(JSON.stringify({ execArgv, args: argv.slice(2), arenas: env.MALLOC_ARENA_MAX, kept: env.MALLOC_TRIM_THRESHOLD_, cache: env.NODE_COMPILE_CACHE }))
`
const FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=50']

const directory = mkdtempSync(join(tmpdir(), 'kinfold-lean-'))
const script = join(directory, 'says.mjs')
before(() => writeFileSync(script, SAYS))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

interface Said {
  readonly pids: readonly string[]
  readonly execArgv: readonly string[]
  readonly args: readonly string[]
  readonly arenas?: string
  readonly kept?: string
  readonly cache?: string
}

async function said(nodeArgs: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Said> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...nodeArgs, script, 'up', '--mode', 'observe'],
    { env: { XDG_CACHE_HOME: directory, ...env } },
  )
  const said = JSON.parse(stdout) as Omit<Said, 'pids'>
  return { pids: stderr.trim().split('\n'), ...said }
}

test('a process becomes lean once, and keeps its id and its arguments', async () => {
  const { pids, ...rest } = await said(['--no-warnings'])
  equal(pids.length, 2)
  equal(pids[0], pids[1])
  deepEqual(rest, {
    execArgv: [...FLAGS, '--no-warnings'],
    args: ['up', '--mode', 'observe'],
    arenas: '2',
    kept: '262144',
    cache: join(directory, 'kinfold', 'compiled'),
  })
})

test('whoever sets one of the flags gets Node as it is', async () => {
  const { pids, execArgv } = await said(['--max-semi-space-size=32'])
  deepEqual([pids.length, execArgv], [1, ['--max-semi-space-size=32']])
  const byEnvironment = await said([], { NODE_OPTIONS: '--max_semi_space_size=32' })
  deepEqual([byEnvironment.pids.length, byEnvironment.execArgv], [1, []])
})

test('what the environment says of memory and cache stays', async () => {
  const { arenas, kept, cache } = await said([], {
    MALLOC_ARENA_MAX: '7',
    MALLOC_TRIM_THRESHOLD_: '8',
    NODE_COMPILE_CACHE: directory,
  })
  deepEqual([arenas, kept, cache], ['7', '8', directory])
})
