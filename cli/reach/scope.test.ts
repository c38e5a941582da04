/**
 * The namespace and the cluster that a question means: by flags, by a kubeconfig's context, and
 * never by a guess.
 */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'
import { namespaceOf } from './scope.ts'

const STORY = ['put pod/a in shop', 'put pod/a@u-2 in other', 'put pod/b in default']

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-scope-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

interface Written {
  readonly current?: string
  readonly contexts: Readonly<Record<string, string | undefined>>
  readonly server?: string
}

/** JSON is YAML. `contexts`: name → namespace. */
function write(
  file: string,
  { current, contexts, server = 'http://127.0.0.1:1' }: Written,
): string {
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    clusters: [{ name: 'it', cluster: { server } }],
    users: [{ name: 'me', user: {} }],
    contexts: Object.entries(contexts).map(([name, namespace]) => {
      return { name, context: { cluster: 'it', user: 'me', namespace } }
    }),
  }
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 })
  return file
}

async function served(t: TestContext): Promise<string> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  return url
}

/** An API server, as far as it says who it is. */
async function apiServer(t: TestContext, uid: string | undefined): Promise<string> {
  const server = createServer((request, response) => {
    const isKnown = uid !== undefined && request.url === '/api/v1/namespaces/kube-system'
    response.writeHead(isKnown ? 200 : 403, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(
        isKnown
          ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid } }
          : { apiVersion: 'v1', kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' },
      ),
    )
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the namespace is that of the context that is named, else of the current one, else default', (t) => {
  const folder = folderOf(t)
  const contexts = { a: 'shop', b: 'other', c: undefined }
  const kubeconfig = write(join(folder, 'config'), { current: 'a', contexts })
  equal(namespaceOf({ kubeconfig }), 'shop')
  equal(namespaceOf({ kubeconfig, context: 'b' }), 'other')
  equal(namespaceOf({ kubeconfig, context: 'c' }), 'default')
  equal(namespaceOf({ kubeconfig: write(join(folder, 'none'), { contexts }) }), 'default')
  throws(() => namespaceOf({ kubeconfig, context: 'd' }), /no context "d"; it has "a", "b", "c"/)
})

test('files of $KUBECONFIG are merged as kubectl does: missing ones are skipped, the first of a name counts', (t) => {
  const folder = folderOf(t)
  const first = write(join(folder, 'first'), { contexts: { a: 'shop' } })
  const second = write(join(folder, 'second'), { current: 'a', contexts: { a: 'other' } })
  const before = process.env['KUBECONFIG']
  t.after(() => {
    if (before === undefined) delete process.env['KUBECONFIG']
    else process.env['KUBECONFIG'] = before
  })
  process.env['KUBECONFIG'] = [join(folder, 'absent'), first, second].join(delimiter)
  equal(namespaceOf({}), 'shop')
  process.env['KUBECONFIG'] = join(folder, 'absent')
  equal(namespaceOf({}), 'default')
  // Which files these are is said, or that there is none.
  throws(() => namespaceOf({ context: 'x' }), /no kubeconfig has context "x": \$KUBECONFIG and/)
  throws(() => namespaceOf({ kubeconfig: first, context: 'x' }), /the kubeconfig \S*first has no/)
})

test('a kubeconfig that cannot be read is bad input, unless the namespace is named', async (t) => {
  const url = await served(t)
  const KUBECONFIG = join(folderOf(t), 'config')
  writeFileSync(KUBECONFIG, 'contexts: [\n')
  const asked = ['get', 'pods', '--server', url, '-o', 'name']
  const refused = await runKinfold(asked, { KUBECONFIG })
  equal(refused.code, 2, refused.stderr)
  match(refused.stderr, /the kubeconfig .*config cannot be read .*name the namespace with -n/)
  equal((await runKinfold([...asked, '-n', 'shop'], { KUBECONFIG })).stdout, 'pod/a\n')
  equal((await runKinfold([...asked, '-A'], { KUBECONFIG })).stdout, 'pod/b\npod/a\npod/a\n')
})

test("a question is about the current context's namespace, and -n wins", async (t) => {
  const url = await served(t)
  const contexts = { a: 'shop' }
  const KUBECONFIG = write(join(folderOf(t), 'config'), { current: 'a', contexts })
  for (const [line, first] of [
    ['tree pod/a', 'Pod/a -n shop'],
    ['why pod/a', 'Pod/a -n shop'],
    ['plan delete pod/a', 'Plan: delete Pod/a -n shop'],
    ['tree pod/a -n other', 'Pod/a -n other'],
  ] as const) {
    const ran = await runKinfold([...line.split(' '), '--server', url], { KUBECONFIG })
    equal(ran.stdout.slice(0, first.length), first, ran.stderr)
  }
  const pods = await runKinfold(['get', 'pods', '-o', 'name', '--server', url], { KUBECONFIG })
  equal(pods.stdout, 'pod/a\n')
})

test('a context that is named leads to the cluster that says to have its id', async (t) => {
  const url = await served(t)
  const contexts = { ours: 'shop' }
  const file = join(folderOf(t), 'config')
  const run = async (server: string, ...more: readonly string[]) => {
    const KUBECONFIG = write(file, { contexts, server })
    const words = ['tree', 'pod/a', '--context', 'ours', '--server', url, ...more]
    return await runKinfold(words, { KUBECONFIG })
  }
  const found = await run(await apiServer(t, 'c'))
  match(found.stdout, /^Pod\/a -n shop/, found.stderr)

  // A cluster of that id is not known, however its context is called.
  const unknown = await run(await apiServer(t, 'another'))
  equal(unknown.code, 2)
  match(
    unknown.stderr,
    /there is no cluster another; known clusters: .* \(context "ours" leads to the cluster with id another\)/,
  )

  const hidden = await apiServer(t, undefined)
  const unsaid = await run(hidden)
  equal(unsaid.code, 4)
  match(
    unsaid.stderr,
    /which cluster context "ours" leads to is unknown: .*; name the cluster with --cluster/,
  )
  deepEqual((await run(hidden, '--cluster', 'c')).code, 0)
})
