/**
 * The launcher: any Node can start it, an older one hands over to the Node that npm installed, and
 * npm leaves no process behind when it is ended.
 *
 * An older Node is this one with another version number, set by a module that is loaded first and
 * that the installed Node does not load.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../testing/eventually.ts'
import { VERSION } from './print/version.ts'

const root = dirname(import.meta.dirname)
const LAUNCHER = join(import.meta.dirname, 'kinfold.js')
const on = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process, "versions", { value: { node: "${version}" } })`
const OLD = on('20.1.0')
const installed = join(root, `node_modules/node-${process.platform}-${process.arch}`)
/** It has nothing to write at its end. */
const WITHIN = { withinMs: 20_000 }
const needsInstalled = existsSync(installed) ? false : `npm installs no Node on ${process.platform}`

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

async function run(nodeArgs: readonly string[], args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [...nodeArgs, ...args])
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      output[name] += chunk
    })
  }
  const [code] = await once(child, 'close')
  return { code, ...output }
}

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'kinfold-launcher-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

test('it imports by name only what every Node has that people may start it with', () => {
  const text = readFileSync(LAUNCHER, 'utf8')
  const named = [...text.matchAll(/^import \{ (.+) \} from/gm)].flatMap(([, names = '']) =>
    names.split(', '),
  )
  // Since Node 12; a name that is missing would be a SyntaxError before the first line runs.
  deepEqual(named.sort(), ['existsSync', 'fileURLToPath', 'homedir', 'join', 'spawn'])
})

test('on this Node it is the command', async () => {
  deepEqual(await run([], [LAUNCHER, 'version']), { code: 0, stdout: `${VERSION}\n`, stderr: '' })
})

test('an older Node runs the installed one: arguments, streams and exit code are passed on', {
  skip: needsInstalled,
}, async () => {
  const old = ['--import', OLD]
  deepEqual(await run(old, [LAUNCHER, 'version']), { code: 0, stdout: `${VERSION}\n`, stderr: '' })
  const { code, stderr } = await run(old, [LAUNCHER, 'tree', 'pod'])
  equal(code, 2)
  match(stderr, /^error: pod: expected KIND\/NAME/)
})

test('an older Node without an installed one: a sentence, and exit code 4', async (t) => {
  const copy = join(directory(t), 'cli', 'kinfold.js')
  cpSync(LAUNCHER, copy)
  writeFileSync(join(dirname(copy), 'main.ts'), '')
  const { code, stdout, stderr } = await run(['--import', OLD], [copy, 'version'])
  deepEqual([code, stdout], [4, ''])
  match(
    stderr,
    /^error: kinfold needs Node 24 or newer, and .* is v[\d.]+: install Node 24, or .*\n$/,
  )
})

for (const version of ['20.1.0', '22.18.0']) {
  test(`the package on Node ${version}: a sentence, and exit code 4`, async (t) => {
    const copy = join(directory(t), 'cli', 'kinfold.js')
    cpSync(LAUNCHER, copy)
    const { code, stdout, stderr } = await run(['--import', on(version)], [copy, 'version'])
    deepEqual([code, stdout], [4, ''])
    match(stderr, /^error: kinfold needs Node 22\.19 or newer, and .*: install Node 24\n$/)
  })
}

test('a warning about a delay below zero, as kafkajs asks for, is no news; others are', async (t) => {
  const copy = join(directory(t), 'cli', 'kinfold.js')
  cpSync(LAUNCHER, copy)
  const main = "setTimeout(() => {}, -1)\nprocess.emitWarning('disk is slow')\n"
  writeFileSync(join(dirname(copy), 'main.ts'), main)
  const { code, stderr } = await run([], [copy])
  equal(code, 0)
  match(stderr, /^\(node:\d+\) Warning: disk is slow\n\(Use `node --trace-warnings/)
})

/** A group of its own, so that what is left of it can be counted. */
async function start(t: TestContext, command: string, args: readonly string[]) {
  const temporary = directory(t)
  const env = { ...process.env, TMPDIR: temporary }
  const child = spawn(command, args, { cwd: root, env, detached: true })
  const group = -(child.pid ?? 0)
  t.after(() => {
    if (isRunning(group)) process.kill(group, 'SIGKILL')
  })
  let stdout = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  await eventually('the clusters run', async () => stdout.includes('clusters without Kinfold'))
  return { child, group, left: () => existsSync(playgroundIn(stdout)) }
}

async function hasEnded(child: ChildProcess, group: number): Promise<void> {
  await eventually(
    'the command has ended',
    async () => (child.exitCode ?? child.signalCode) !== null,
    WITHIN,
  )
  await eventually('no process of its group is left', async () => !isRunning(group), WITHIN)
}

function playgroundIn(stdout: string): string {
  return dirname(/kubeconfig (?<file>\S+)/.exec(stdout)?.groups?.['file'] ?? '')
}

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch {
    return false
  }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`npm start ends with npm, by ${signal}, and leaves no process and no file`, async (t) => {
    const { child, group, left } = await start(t, 'npm', ['start', '--', '--api-only'])
    equal(left(), true)
    child.kill(signal)
    await hasEnded(child, group)
    equal(left(), false)
  })
}

test('Ctrl-C, which npm passes on a second time, ends npm start in good order', async (t) => {
  const { child, group, left } = await start(t, 'npm', ['start', '--', '--api-only'])
  process.kill(group, 'SIGINT')
  await hasEnded(child, group)
  equal(left(), false)
})

test('an older Node passes a signal on', { skip: needsInstalled }, async (t) => {
  const args = ['--import', OLD, LAUNCHER, 'playground', '--api-only']
  const { child, group, left } = await start(t, process.execPath, args)
  child.kill('SIGTERM')
  await hasEnded(child, group)
  equal(child.exitCode, 0)
  equal(left(), false)
})
