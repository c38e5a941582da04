/**
 * `--via`: a kubectl that forwards, one that cannot, and none. It is kubectl's part that is acted
 * out; the API servers of the tests have no nodes to forward to.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { eventually } from '../testing/eventually.ts'
import { runKinfold, startKinfold } from '../testing/process/kinfold-command.ts'

suite('--via', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-via-'))
  const data = join(folder, 'data')
  /** The machine may have a kubectl of its own, which is not to be found. */
  const path = (bin: string): string => [bin, dirname(process.execPath)].join(delimiter)
  let playground: ReturnType<typeof startKinfold>
  let port: string

  before(async () => {
    playground = startKinfold(['playground', '--http', '127.0.0.1:0', '--data', data])
    await eventually('the playground answers', async () => {
      const asked = ['tree', 'deploy/web', '-n', 'shop', '--cluster', 'north', '--data', data]
      const { code, stderr } = await runKinfold(asked)
      return code === 0 || stderr
    })
    const { url } = JSON.parse(readFileSync(join(data, 'http.json'), 'utf8')) as { url: string }
    port = new URL(url).port
  })
  after(async () => {
    playground.child.kill('SIGTERM')
    await playground.ended
    rmSync(folder, { recursive: true, force: true })
  })

  /** Answers the folder that it is in. */
  function kubectl(name: string, script: string): string {
    const bin = mkdtempSync(join(folder, name))
    writeFileSync(join(bin, 'kubectl'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, 'kubectl'), 0o755)
    return bin
  }

  async function ask(bin: string, ...words: string[]): ReturnType<typeof runKinfold> {
    const object = ['tree', 'deploy/web', '-n', 'shop', '--cluster', 'north']
    return await runKinfold([...object, ...words], { PATH: path(bin) })
  }

  test('asks through the port that kubectl forwards, and ends it', async () => {
    const args = join(folder, 'args')
    const pid = join(folder, 'pid')
    const forwards = `echo "$@" > ${args}; echo $$ > ${pid}
      echo "Forwarding from 127.0.0.1:${port} -> 7070"; exec /bin/sleep 600`
    const { code, stdout, stderr } = await ask(
      kubectl('forwards', forwards),
      '--via',
      'kinfold/graph',
    )
    equal(code, 0, stderr)
    match(stdout, /Pod\/web-/)
    equal(
      readFileSync(args, 'utf8'),
      'port-forward --address 127.0.0.1 -n kinfold service/graph :http\n',
    )
    await eventually('kubectl has ended', async () => {
      try {
        process.kill(Number(readFileSync(pid, 'utf8')), 0)
        return 'it runs'
      } catch {
        return true
      }
    })
  })

  test('says what kubectl says', async () => {
    const refuses = 'echo "Error from server (NotFound): services not found" >&2; exit 1'
    const { code, stdout, stderr } = await ask(
      kubectl('refuses', refuses),
      '--via',
      'kinfold/graph',
    )
    deepEqual([code, stdout], [4, ''])
    match(stderr, /^error: --via: kubectl port-forward ended with exit code 1: Error from server/)
  })

  test('says what to do without kubectl', async () => {
    const { code, stderr } = await ask(mkdtempSync(join(folder, 'none')), '--via', 'kinfold/graph')
    equal(code, 4)
    match(stderr, /^error: --via: kubectl, which forwards the port, cannot be run .* --server$/m)
  })

  for (const [words, objection] of [
    [['--via', 'graph'], /--via graph: expected NAMESPACE\/SERVICE or/],
    [['--via', 'kinfold/graph', '--server', 'http://127.0.0.1:1'], /leave out --server and --data/],
  ] as const) {
    test(`${words.join(' ')} is bad input`, async () => {
      const { code, stderr } = await ask(kubectl('unused', 'exit 9'), ...words)
      equal(code, 2)
      match(stderr, objection)
    })
  }
})
