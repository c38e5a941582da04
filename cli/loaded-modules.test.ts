/**
 * A question costs what it needs: of each command that asks a running Kinfold, which modules it
 * loads until its question is sent. Counted, since times depend on what else the machine does.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../testing/eventually.ts'

const ROOT = join(import.meta.dirname, '..')
const MARK = 'loaded: '
const HOOK = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module'
const urls = []
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context) } })
process.on('exit', () => process.stderr.write('${MARK}' + JSON.stringify(urls) + '\\n'))`)}`
/** Nothing listens there. */
const NOBODY = 'http://127.0.0.1:1'
const NOWHERE = ['--server', NOBODY]
/** Of ours; a third more than there were when this was written. */
const MOST_MODULES = 25
/** How a value is checked, of a flag as of a rule: functions, and nothing that they load. */
const VALUES = join(ROOT, 'ports', 'rule', 'setting.ts')

const QUESTIONS: readonly (readonly string[])[] = [
  ['status'],
  ['get', 'pods'],
  ['tree', 'deploy/web'],
  ['why', 'deploy/web'],
  ['history', 'deploy/web'],
  ['deletions', '-A'],
  ['diff', '-A', '--from', '2h'],
  ['cascade', 'deploy/web'],
  ['plan', 'delete', 'deploy/web'],
  ['plan', 'held'],
  ['held'],
  ['shadow'],
  ['lineage', 'tail'],
  ['pause', '--why', 'a test'],
]

for (const words of QUESTIONS) {
  test(`${words.join(' ')} loads itself, the client and commander`, async () => {
    const { code, loaded } = await run([...words, ...NOWHERE])
    equal(code, 4)
    const files = loaded.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url))
    const packages = files.flatMap((file) => /node_modules\/([^/]+)/.exec(file)?.[1] ?? [])
    deepEqual([...new Set(packages)], ['commander'])
    const own = files.filter((file) => !file.includes('node_modules'))
    const others = own.filter((file) => /\/(adapters|playground|ports)\//.test(file))
    deepEqual(
      others.filter((file) => file !== VALUES),
      [],
    )
    ok(own.length <= MOST_MODULES, own.join('\n'))
  })
}

test('the version loads no command', async () => {
  const { code, loaded } = await run(['--version'])
  equal(code, 0)
  deepEqual(
    loaded.filter((url) => /cli\/(\w+\/)?(tree|up|client|config)\.ts$/.test(url)),
    [],
  )
})

test('--help loads the flags of every command, and nothing that a command runs', async () => {
  const { code, loaded } = await run(['--help'])
  equal(code, 0)
  const packages = loaded.flatMap((url) => /node_modules\/([^/]+)/.exec(url)?.[1] ?? [])
  deepEqual([...new Set(packages)], ['commander'])
})

/** What a whole Kinfold loads for traces, or to send anything. */
const TELEMETRY =
  /@opentelemetry\/(sdk-trace|exporter-(trace|metrics)|otlp-)|telemetry\/(traces|otlp|span-queue|attribute)\./

for (const [what, env, isLoaded] of [
  ['without the variables of OpenTelemetry nothing that traces or sends is loaded', {}, false],
  [
    'nor where they switch it off',
    { OTEL_EXPORTER_OTLP_ENDPOINT: NOBODY, OTEL_SDK_DISABLED: 'true' },
    false,
  ],
  ['with them it is', { OTEL_EXPORTER_OTLP_ENDPOINT: NOBODY }, true],
] as const) {
  test(what, async (t) => {
    const loaded = await served(t, env)
    ok(loaded.some((url) => url.endsWith('/cli/serve/embedded.ts')))
    equal(
      loaded.some((url) => TELEMETRY.test(url)),
      isLoaded,
    )
  })
}

/** Of a playground that was ready and then stopped. */
async function served(t: TestContext, env: Readonly<Record<string, string>>): Promise<string[]> {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-loaded-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const words = ['playground', '--no-workload', '--http', '127.0.0.1:0', '--data', data]
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('OTEL_'))
  const child = spawn(
    process.execPath,
    ['--import', HOOK, join(ROOT, 'cli', 'main.ts'), ...words],
    {
      env: { ...Object.fromEntries(others), ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  t.after(() => child.kill('SIGTERM'))
  const said = text(child.stderr)
  await eventually('it is served', async () => existsSync(join(data, 'http.json')))
  child.kill('SIGTERM')
  return loadedIn(await said)
}

async function run(words: readonly string[]): Promise<{ code: number; loaded: string[] }> {
  const args = ['--import', HOOK, join(ROOT, 'cli', 'main.ts'), ...words]
  const { code, stderr } = await promisify(execFile)(process.execPath, args).then(
    (done) => ({ ...done, code: 0 }),
    (error: { code: number; stderr: string }) => error,
  )
  return { code, loaded: loadedIn(stderr) }
}

function loadedIn(stderr: string): string[] {
  const line = stderr.split('\n').find((each) => each.startsWith(MARK)) ?? ''
  return JSON.parse(line.slice(MARK.length)) as string[]
}
