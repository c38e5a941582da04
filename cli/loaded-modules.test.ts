/**
 * A question costs what it needs: of each command that asks a running Kinfold, which modules it loads until its question is sent. Counted, since times depend on
 * what else the machine does.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const MARK = 'loaded: '
const HOOK = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module'
const urls = []
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context) } })
process.on('exit', () => process.stderr.write('${MARK}' + JSON.stringify(urls) + '\\n'))`)}`
/** Nothing listens there. */
const NOWHERE = ['--server', 'http://127.0.0.1:1']
/** Of ours; a third more than there were when this was written. */
const MOST_MODULES = 25

const QUESTIONS: readonly (readonly string[])[] = [
  ['status'],
  ['get', 'pods'],
  ['tree', 'deploy/web'],
  ['why', 'deploy/web'],
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
    deepEqual(
      own.filter((file) => /\/(adapters|playground|ports)\//.test(file)),
      [],
    )
    ok(own.length <= MOST_MODULES, own.join('\n'))
  })
}

test('the version loads no command', async () => {
  const { code, loaded } = await run(['--version'])
  equal(code, 0)
  deepEqual(
    loaded.filter((url) => /cli\/(tree|up|client|config)\.ts$/.test(url)),
    [],
  )
})

test('--help loads the flags of every command, and nothing that a command runs', async () => {
  const { code, loaded } = await run(['--help'])
  equal(code, 0)
  const packages = loaded.flatMap((url) => /node_modules\/([^/]+)/.exec(url)?.[1] ?? [])
  deepEqual([...new Set(packages)], ['commander'])
})

async function run(words: readonly string[]): Promise<{ code: number; loaded: string[] }> {
  const args = ['--import', HOOK, join(ROOT, 'cli', 'main.ts'), ...words]
  const { code, stderr } = await promisify(execFile)(process.execPath, args).then(
    (done) => ({ ...done, code: 0 }),
    (error: { code: number; stderr: string }) => error,
  )
  const line = stderr.split('\n').find((each) => each.startsWith(MARK)) ?? ''
  return { code, loaded: JSON.parse(line.slice(MARK.length)) }
}
