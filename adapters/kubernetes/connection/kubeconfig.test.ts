/**
 * Shows how contexts are found in kubeconfig files, which credentials they give, and how mistakes
 * are reported.
 */
import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { KubeconfigError, loadContexts } from './kubeconfig.ts'

let folder: string
const env = { ...process.env }

describe('a kubeconfig', () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-kubeconfig-'))
  })
  after(() => rm(folder, { recursive: true }))
  afterEach(() => {
    process.env = { ...env }
  })

  test('gives its current context when none is named', async () => {
    const [context, ...rest] = loadContexts({ kubeconfig: await file(config()), contexts: [] })
    deepEqual(
      [context?.name, context?.server, context?.proxyUrl, rest],
      [...['blue', 'https://blue.example.com:6443', null, []]],
    )
  })

  test('gives each context that is named, once', async () => {
    const contexts = ['green', 'blue', 'green']
    const found = loadContexts({ kubeconfig: await file(config()), contexts })
    deepEqual(
      found.map(({ name, server }) => [name, server]),
      [
        ['green', 'http://green.example.com'],
        ['blue', 'https://blue.example.com:6443'],
      ],
    )
  })

  test('gives credentials, each context its own', async () => {
    const found = loadContexts({ kubeconfig: await file(config()), contexts: ['blue', 'green'] })
    const [blue, green] = await Promise.all(found.map((it) => it.credentials(false)))
    deepEqual(blue, {
      headers: { authorization: 'Bearer blue-token', 'impersonate-user': 'somebody' },
      tls: { ca: Buffer.from('authority'), servername: 'api.example.com' },
    })
    const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
    deepEqual(green?.headers, { authorization: basic })
  })

  test('is read again for credentials that are to be fresh', async () => {
    const path = await file(config())
    const [blue] = loadContexts({ kubeconfig: path, contexts: ['blue'] })
    await writeFile(path, config().replace('blue-token', 'new-token'))
    equal((await blue!.credentials(false)).headers['authorization'], 'Bearer blue-token')
    equal((await blue!.credentials(true)).headers['authorization'], 'Bearer new-token')
    equal((await blue!.credentials(false)).headers['authorization'], 'Bearer new-token')
  })

  test('may write a server’s scheme in capitals, and a slash behind it', async () => {
    const written = config()
      .replace('https://blue.example.com:6443', 'Https://blue.example.com:6443/')
      .replace('http://green', 'HTTP://green')
    const all = loadContexts({ kubeconfig: await file(written), contexts: ['blue', 'green'] })
    deepEqual(
      all.map(({ server }) => server),
      ['https://blue.example.com:6443', 'http://green.example.com'],
    )
    for (const each of all) ok((await each.credentials(false)).headers['authorization'])
  })

  test('may leave credentials to a program', async () => {
    const [ran, missing] = loadContexts({
      kubeconfig: await file(config()),
      contexts: ['exec', 'broken'],
    })
    equal((await ran!.credentials(false)).headers['authorization'], 'Bearer from-exec')
    await rejects(missing!.credentials(false), /ENOENT/)
  })

  test('kills a program that hangs', async () => {
    const endless = config().replace(/args: .*/, "args: ['-e', 'setInterval(() => {}, 1e6)']")
    const kubeconfig = await file(endless)
    const [hanging] = loadContexts({ kubeconfig, contexts: ['exec'], pluginTimeoutMs: 50 })
    // It reports its end only when the program has ended.
    await rejects(hanging!.credentials(false))
  })

  test('is what $KUBECONFIG lists, the first of a name counts and missing files do not', async () => {
    const other = config()
      .replaceAll('blue.example.com', 'other.example.com')
      .replaceAll('green', 'red')
    const files = [join(folder, 'missing'), await file(config()), await file(other)]
    process.env['KUBECONFIG'] = files.join(delimiter)
    const found = loadContexts({ contexts: ['blue', 'red'] })
    deepEqual(
      found.map(({ server }) => server),
      ['https://blue.example.com:6443', 'http://red.example.com'],
    )
  })

  const mistakes: [string, string | undefined, string[], string, RegExp][] = [
    ['is not there', undefined, [], 'UNREADABLE', /ENOENT.*--kubeconfig FILE/],
    ['is empty', '', [], 'UNREADABLE', /cannot be read/],
    ['is no YAML', 'a: [b', [], 'UNREADABLE', /cannot be read/],
    ['is something else', 'just text', [], 'NO_CONTEXT', /none at all/],
    ['has a nameless cluster', 'clusters: [{}]', [], 'UNREADABLE', /clusters\[0\]/],
    ['has no such context', config(), ['purple'], 'NO_CONTEXT', /"purple"; it has "blue", "green"/],
    [
      'has no current context',
      config().replace('current-context: blue', ''),
      [],
      'NO_CONTEXT',
      /--context/,
    ],
    [
      'has a current context that is none',
      config().replace('text: blue', 'text: gray'),
      [],
      'NO_CONTEXT',
      /"gray"/,
    ],
    ['has a context without a cluster', config(), ['lost'], 'NO_SERVER', /"nowhere"/],
    [
      'has a server that is no URL',
      config().replace('http://green', 'green'),
      ['green'],
      'NO_SERVER',
      /https:\/\/HOST:PORT/,
    ],
    ['has a proxy that is none', config(), ['proxied'], 'NO_SERVER', /proxy-url/],
  ]
  for (const [what, text, contexts, code, message] of mistakes) {
    test(`that ${what} is told in one sentence`, async () => {
      const kubeconfig = text === undefined ? join(folder, 'missing') : await file(text)
      throws(() => loadContexts({ kubeconfig, contexts }), isError(code, message))
    })
  }

  test('that is nowhere to be found is told', () => {
    delete process.env['KUBECONFIG']
    process.env['HOME'] = join(folder, 'home')
    throws(() => loadContexts({ contexts: [] }), isError('NONE', /--kubeconfig FILE/))
  })
})

function isError(code: string, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    if (!(error instanceof KubeconfigError)) throw error
    equal(error.code, code)
    match(error.message, message)
    equal(error.message.includes('\n'), false)
    return true
  }
}

let files = 0

async function file(text: string): Promise<string> {
  const path = join(folder, `config-${files++}`)
  await writeFile(path, text)
  return path
}

function config(): string {
  const said =
    '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-exec"}}'
  return `
apiVersion: v1
kind: Config
current-context: blue
clusters:
- name: blue
  cluster:
    server: https://blue.example.com:6443
    certificate-authority-data: ${Buffer.from('authority').toString('base64')}
    tls-server-name: api.example.com
- name: green
  cluster: { server: 'http://green.example.com' }
- name: proxied
  cluster: { server: 'https://blue.example.com', proxy-url: 'ftp://proxy.example.com' }
users:
- name: blue
  user: { token: blue-token, as: somebody }
- name: green
  user: { username: me, password: secret }
- name: exec
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ${JSON.stringify(process.execPath)}
      args: ['-e', ${JSON.stringify(`console.log(${JSON.stringify(said)})`)}]
- name: broken
  user:
    exec: { apiVersion: client.authentication.k8s.io/v1, command: ./no-such-plugin }
contexts:
- { name: blue, context: { cluster: blue, user: blue } }
- { name: green, context: { cluster: green, user: green } }
- { name: exec, context: { cluster: blue, user: exec } }
- { name: broken, context: { cluster: blue, user: broken } }
- { name: lost, context: { cluster: nowhere, user: blue } }
- { name: proxied, context: { cluster: proxied, user: blue } }
`
}
