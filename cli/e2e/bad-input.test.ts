/** Bad input ends with one clear sentence and exit code 2, failure with 4, and data stays whole. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSilent, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import type { Playground } from '../../playground/playground.ts'
import { startPlayground } from '../../playground/playground.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'
import { testOnSmallDisk } from '../../testing/process/small-disk.ts'

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'kinfold-input-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** One sentence behind `error: `, and nothing like a stack. */
function isOneSentence(stderr: string): void {
  const lines = stderr
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
  const errors = lines.filter((line) => line.startsWith('error: '))
  equal(errors.length, 1, stderr)
  ok(!stderr.includes('    at '), stderr)
}

const bad: readonly [string, readonly string[], RegExp][] = [
  ['an unknown flag', ['up', '--frobnicate'], /unknown option '--frobnicate'/],
  ['an unknown log level', ['up', '--log-level', 'trace'], /--log-level: "trace" is none of/],
  [
    'an unknown log format',
    ['up', '--log-format', 'xml'],
    /--log-format: "xml" is none of text, json/,
  ],
  [
    'a replay of no time',
    ['audit', 'replay', '--from', 'soon'],
    /--from: expected how long ago, such as 24h/,
  ],
  [
    'a replay of a span that ends before it begins',
    ['audit', 'replay', '--from', '1h', '--to', '2h'],
    /--to 2h is not after --from 1h/,
  ],
  [
    'a replay under no preset',
    ['audit', 'replay', '--from', '1h', '--preset', 'strict'],
    /--preset: "strict" is none of parity, guarded/,
  ],
  ['an unknown command', ['frobnicate'], /unknown command 'frobnicate'/],
  ['a limit of a tree', ['tree', 'pod/a', '--limit', '5'], /--limit is of what --across lists/],
  [
    'uses in a picture',
    ['tree', 'pod/a', '--uses', '-o', 'dot'],
    /-o dot has owners and dependents alone: with --uses ask for -o tree, wide, json, yaml/,
  ],
  [
    'uses as names',
    ['tree', 'pod/a', '--uses', '-o', 'name'],
    /-o name has owners and dependents alone/,
  ],
  [
    'uses across clusters',
    ['tree', 'application/a', '--across', '--uses'],
    /--uses is of one object and --across of marks in all clusters: ask one, and then the other/,
  ],
  [
    'an unknown mode',
    ['up', '--mode', 'yolo'],
    /--mode: "yolo" is none of observe, dry-run, enforce/,
  ],
  [
    'Secrets to be archived as they are',
    ['up', '--archive', '--archive-secrets'],
    /--archive-secrets: Secrets are archived encrypted only; name a file with a key/,
  ],
  [
    'a key for an archive that is off',
    ['up', '--archive-key-file', '/nowhere'],
    /--archive-key-file: nothing is archived without --archive/,
  ],
  [
    'Secrets for an archive that is off',
    ['up', '--archive-secrets', '--archive-key-file', '/nowhere'],
    /--archive-secrets: nothing is archived without --archive/,
  ],
  [
    'kinds for an archive that is off',
    ['up', '--archive-kinds', 'pods'],
    /--archive-kinds: nothing is archived without --archive/,
  ],
  [
    'deleted Secrets to be archived as they are',
    ['up', '--archive', '--archive-kinds', 'pods,secrets', '--archive-key-file', '/nowhere'],
    /--archive-kinds: Secrets are archived encrypted only; take --archive-secrets/,
  ],
  [
    'deletions to be archived of a kind that is not watched',
    ['up', '--archive', '--archive-kinds', 'pods', '--kinds', 'configmaps'],
    /--archive-kinds: pods is not watched, so none of its deletions is observed/,
  ],
  [
    'one object to protect',
    ['protect', 'deploy/web', '-n', 'shop'],
    /deploy\/web -n shop: expected namespace\/NAME, .*; one object is protected by its annotation/,
  ],
  [
    'an archive that stays empty, since in observe others delete',
    ['up', '--mode', 'observe', '--archive'],
    /--archive: in mode observe .*such as --archive-kinds deployments\.apps,configmaps \(archive\.kinds\)/,
  ],
  [
    'deletions to be archived of a kind that is left out',
    ['watcher', '--archive', '--archive-kinds', 'events'],
    /--archive-kinds: events is not watched/,
  ],
  [
    'a restore as of no moment',
    ['restore', 'deploy/web', '--at', 'yesterday'],
    /--at: expected how long ago, such as 24h, or a time/,
  ],
  [
    'a restore of nothing',
    ['restore'],
    /name an object, as KIND\/NAME, or a rule: --rule NAME --since 24h/,
  ],
  [
    'a restore by a rule of no time',
    ['restore', '--rule', 'previews'],
    /--rule takes --since: a time, or how long ago \(24h\)/,
  ],
  [
    'a restore by a rule and of an object',
    ['restore', 'deploy/web', '--rule', 'previews', '--since', '24h'],
    /--rule is about all that a rule had deleted: name no object/,
  ],
  [
    'a restore since a time of an object',
    ['restore', 'deploy/web', '--since', '24h'],
    /--since belongs to --rule: for one object take --at/,
  ],
  [
    'a restore of the cluster of all other commands',
    ['restore', 'deploy/web', '--cluster', 'north'],
    /restore takes no --cluster, .*: leave it out, name with --context the context that leads to the cluster, and with --from-cluster/,
  ],
  [
    'a key that is none',
    ['up', '--archive', '--archive-key-file', import.meta.filename],
    /the archive's key .* must hold 32 bytes, as they are, in hexadecimal or in base64/,
  ],
  [
    'a list that is given twice',
    ['up', '--kinds', 'pods', '--kinds', 'configmaps'],
    /error: --kinds is given twice: give it once, with commas between$/m,
  ],
  ['an unknown preset', ['up', '--preset', 'x'], /--preset: "x" is none of parity, guarded/],
  [
    'a number of partitions',
    ['up', '--partitions', '0'],
    /--partitions: expected a whole number from 1/,
  ],
  [
    'a way to say who asks that is none',
    ['up', '--http-auth', 'oidc'],
    /--http-auth: expected token-review:CONTEXT, not "oidc"/,
  ],
  [
    'rights of nobody',
    ['up', '--http-authorize', 'sar'],
    /--http-authorize: rights are those of a user, so say who says who it is with httpAuth/,
  ],
  [
    'a kubeconfig that is not there',
    ['up', '--kubeconfig', '/nowhere'],
    /\/nowhere cannot be read/,
  ],
  [
    'a config that is not there',
    ['up', '--config', '/nowhere.yaml'],
    /--config \/nowhere.yaml cannot be read/,
  ],
  [
    'an API server for a cluster too many',
    ['playground', ...['a:1', 'b:1', 'c:1'].flatMap((at) => ['--listen', at])],
    /--listen was given 3 times, and there are 2 clusters/,
  ],
  ['an object without a name', ['tree', 'pod'], /pod: expected KIND\/NAME/],
  [
    'an output format',
    ['tree', 'pod/a', '-o', 'svg'],
    /-o svg is none of tree, wide, name, json, yaml, dot, mermaid/,
  ],
]

for (const [name, args, message] of bad) {
  test(`${name}: exit code 2 and a sentence`, async (t) => {
    const { code, stderr } = await runKinfold(args, { XDG_DATA_HOME: directory(t) })
    equal(code, 2, stderr)
    match(stderr, message)
    isOneSentence(stderr)
  })
}

const configs: readonly [string, string, RegExp][] = [
  [
    'an unknown key',
    'apiVersion: kinfold/v1alpha1\nkind: Config\nmodus: x\n',
    /unknown key modus; known are/,
  ],
  ['no YAML', 'a: [', /--config .*:/],
  ['no mapping', '- a\n', /expected a YAML mapping/],
  [
    'another kind',
    'apiVersion: v1\nkind: Pod\n',
    /expected apiVersion: kinfold\/v1alpha1 and kind: Config/,
  ],
  [
    'a bad duration',
    'apiVersion: kinfold/v1alpha1\nkind: Config\nkeep: 30x\n',
    /keep: expected a duration/,
  ],
]

for (const [name, content, message] of configs) {
  test(`a config with ${name}: exit code 2 and a sentence`, async (t) => {
    const file = join(directory(t), 'kinfold.yaml')
    writeFileSync(file, content)
    const { code, stderr } = await runKinfold(['up', '--config', file])
    equal(code, 2, stderr)
    match(stderr, message)
    isOneSentence(stderr)
  })
}

test('a section for Kafka is told to be none of up', async (t) => {
  const file = join(directory(t), 'config.yaml')
  const section = 'kafka: { brokers: [kafka-0:9092] }'
  writeFileSync(file, `apiVersion: kinfold/v1alpha1\nkind: Config\n${section}\n`)
  const { code, stderr } = await runKinfold(['up', '--config', file, '--kubeconfig', '/nowhere'])
  equal(code, 2)
  isOneSentence(stderr)
  match(stderr, /the section kafka is not for up/)
})

test('a kubeconfig that is none, and a context that is not in it', async (t) => {
  const file = join(directory(t), 'kubeconfig')
  writeFileSync(file, '{{{')
  const garbage = await runKinfold(['up', '--kubeconfig', file])
  equal(garbage.code, 2, garbage.stderr)
  isOneSentence(garbage.stderr)
  writeFileSync(file, kubeconfig('http://127.0.0.1:1'))
  const context = await runKinfold(['up', '--kubeconfig', file, '--context', 'nope'])
  equal(context.code, 2, context.stderr)
  match(context.stderr, /nope/)
  isOneSentence(context.stderr)
})

test('an endpoint that is not loopback is refused without a token, and a bad token file always', async (t) => {
  const file = join(directory(t), 'kubeconfig')
  writeFileSync(file, kubeconfig('http://127.0.0.1:1'))
  const data = directory(t)
  const args = ['up', '--kubeconfig', file, '--data', data, '--http', '0.0.0.0:7070']
  const { code, stderr } = await runKinfold(args)
  equal(code, 2, stderr)
  match(stderr, /anybody could ask there; name a file with a token .*--http-token-file/)
  isOneSentence(stderr)
  const token = join(data, 'token')
  for (const [text, why] of [
    ['short', /must hold 1 to 16 lines/],
    [undefined, /cannot be read/],
  ] as const) {
    if (text === undefined) rmSync(token)
    else writeFileSync(token, text)
    const refused = await runKinfold([...args, '--http-token-file', token])
    equal(refused.code, 2, refused.stderr)
    match(refused.stderr, why)
    isOneSentence(refused.stderr)
  }
})

test('a server that cannot be reached: exit code 4 and a sentence', async (t) => {
  const file = join(directory(t), 'kubeconfig')
  writeFileSync(file, kubeconfig('http://127.0.0.1:1'))
  const { code, stderr } = await runKinfold([
    'up',
    '--kubeconfig',
    file,
    '--data',
    directory(t),
    '--http',
    '127.0.0.1:0',
  ])
  equal(code, 4, stderr)
  match(stderr, /cluster test does not say who it is/)
  isOneSentence(stderr)
})

test('a start that fails for a port, a kubeconfig or a cluster leaves no data directory behind', async (t) => {
  const other = createServer()
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
  t.after(() => other.close())
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`
  await using playground = await startPlayground({
    directory: directory(t),
    clusters: ['test'],
    workload: false,
  })
  const silent = join(directory(t), 'kubeconfig')
  writeFileSync(silent, kubeconfig('http://127.0.0.1:1'))
  const { kubeconfig: known } = playground
  const key = ['--archive', '--archive-key-file', '/nowhere']
  const free = ['--http', '127.0.0.1:0']
  const starts: readonly (readonly [readonly string[], RegExp])[] = [
    [['up', '--kubeconfig', known, '--http', taken], /cannot be listened on: another program has/],
    [['playground', '--http', taken], /cannot be listened on: another program has it/],
    [['playground', ...free, '--listen', taken], /cannot be listened on: another program has it/],
    [['up', '--kubeconfig', known, '--context', 'x', ...free], /no context "x"/],
    [['up', '--kubeconfig', silent, ...free], /cluster test does not say who it is/],
    [['up', '--kubeconfig', known, ...free, ...key], /\/nowhere/],
    [['up', '--kubeconfig', known, ...free, '--http-token-file', '/nowhere'], /\/nowhere/],
  ]
  for (const [args, expected] of starts) {
    const data = join(directory(t), 'data')
    const { code, stderr } = await runKinfold([...args, '--data', data])
    ok(code === 2 || code === 4, `${args.join(' ')}: ${code}`)
    match(stderr, expected, args.join(' '))
    isOneSentence(stderr)
    ok(!existsSync(data), args.join(' '))
  }
  // npm takes the flag that the error names for its own.
  const throughNpm = { npm_lifecycle_event: 'start' }
  const { stderr } = await runKinfold(['playground', '--http', taken], throughNpm)
  match(stderr, /; through npm as: npm start -- --http 127\.0\.0\.1:0$/m)
  const more = ['playground', '--no-workload', `--http=${taken}`, '--mode', 'observe']
  const { stderr: whole } = await runKinfold(more, throughNpm)
  match(whole, /npm start -- --no-workload --http 127\.0\.0\.1:0 --mode observe$/m)
})

test('a data directory in use, of other partitions, or that is no log (F52, F61)', async (t) => {
  await using playground = await startPlayground({
    directory: directory(t),
    clusters: ['test'],
    workload: false,
  })
  const data = directory(t)
  const up = ['up', '--kubeconfig', playground.kubeconfig, '--data', data, '--http', '127.0.0.1:0']
  {
    await using _log = await openSqliteLog({
      directory: join(data, 'log'),
      partitions: 2,
      clock: systemClock(),
    })
    const inUse = await runKinfold(up)
    equal(inUse.code, 4, inUse.stderr)
    match(inUse.stderr, /in use|locked|another process/i)
    isOneSentence(inUse.stderr)
  }
  const other = await runKinfold([...up, '--partitions', '3'])
  equal(other.code, 4, other.stderr)
  match(other.stderr, /has 2 partitions, not 3/)
  isOneSentence(other.stderr)
  const before = readFileSync(join(data, 'log', 'log.sqlite'))
  writeFileSync(join(data, 'log', 'log.sqlite'), 'this is no database, and was never one')
  const garbage = await runKinfold(up)
  equal(garbage.code, 4, garbage.stderr)
  isOneSentence(garbage.stderr)
  writeFileSync(join(data, 'log', 'log.sqlite'), before)
})

test('beyond loopback only who shows the token is answered, and the client on its machine finds it', async (t) => {
  await using playground = await startPlayground({
    directory: directory(t),
    clusters: ['test'],
    workload: false,
  })
  const data = directory(t)
  const token = join(directory(t), 'token')
  writeFileSync(token, 'a-token-for-this-test\n', { mode: 0o600 })
  const metrics = join(directory(t), 'metrics-token')
  writeFileSync(metrics, 'a-token-for-the-metrics\n', { mode: 0o600 })
  const up = ['up', '--kubeconfig', playground.kubeconfig, '--data', data, '--http', '0.0.0.0:0']
  const { child, ended } = startKinfold([
    ...[...up, '--http-token-file', token],
    ...['--http-metrics-token-file', metrics],
  ])
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await eventually('kinfold serves', async () => existsSync(join(data, 'http.json')))
  const { url } = JSON.parse(readFileSync(join(data, 'http.json'), 'utf8')) as { url: string }
  const ask = ['tree', 'namespace/kube-system']
  await eventually('it is asked about what it has seen', async () => {
    const { code, stderr } = await runKinfold([...ask, '--data', data])
    return code === 0 || stderr
  })
  const elsewhere = { XDG_DATA_HOME: directory(t) }
  const refused = await runKinfold([...ask, '--server', url], elsewhere)
  equal(refused.code, 4, refused.stderr)
  match(refused.stderr, /must be shown: kinfold takes --token-file/)
  isOneSentence(refused.stderr)
  const asked = await runKinfold([...ask, '--server', url, '--token-file', token], elsewhere)
  equal(asked.code, 0, asked.stderr)
  equal((await fetch(`${url}/livez`)).status, 200)
  const headers = { authorization: 'Bearer a-token-for-the-metrics' }
  match(await (await fetch(`${url}/metrics`, { headers })).text(), /^kinfold_build_info/m)
  equal((await fetch(`${url}/version`, { headers })).status, 403)
})

test('a signal while it starts: one sentence, and the exit code of that signal', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createSilent((socket) => sockets.add(socket))
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const file = join(directory(t), 'kubeconfig')
  writeFileSync(file, kubeconfig(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`))
  const up = ['up', '--kubeconfig', file, '--data', directory(t), '--http', '127.0.0.1:0']
  const { child, ended } = startKinfold(up)
  await eventually('it asks who the cluster is', async () => sockets.size > 0)
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  equal(code, 143, stderr)
  match(stderr, /error: stopped by SIGTERM/)
  isOneSentence(stderr)
})

const FULL_DEVICE = '/dev/full'

test('what cannot be written: exit code 4 and a sentence', {
  skip: existsSync(FULL_DEVICE) ? false : `no ${FULL_DEVICE}`,
}, async () => {
  for (const args of [
    ['rbac', '--kinds', 'pods'],
    ['topics', 'plan', '--help'],
  ]) {
    const output = openSync(FULL_DEVICE, 'w')
    const { ended } = startKinfold(args, {}, output)
    closeSync(output)
    const { code, stderr } = await ended
    equal(code, 4, stderr)
    match(stderr, /what it says cannot be written: ENOSPC/)
    isOneSentence(stderr)
  }
})

test('no kinfold to ask: exit code 4 and a sentence', async (t) => {
  const { code, stderr } = await runKinfold(['why', 'pod/a', '--server', 'http://127.0.0.1:1'], {
    XDG_DATA_HOME: directory(t),
  })
  equal(code, 4, stderr)
  match(stderr, /no kinfold answers at/)
  isOneSentence(stderr)
})

test('no kinfold that serves from the data directory: nobody else is asked, and exit code 4', async (t) => {
  const orders: string[] = []
  const other = createServer((request, response) => {
    orders.push(request.url ?? '')
    response.end('{}')
  })
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
  t.after(() => other.close())
  const data = directory(t)
  const elsewhere = {
    XDG_DATA_HOME: directory(t),
    KINFOLD_SERVER: `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
  }
  for (const asked of [['pause'], ['tree', 'pod/a']]) {
    const { code, stderr } = await runKinfold([...asked, '--data', data], elsewhere)
    equal(code, 4, stderr)
    match(stderr, /no kinfold answers from /)
    isOneSentence(stderr)
  }
  deepEqual(orders, [])
  await runKinfold(['tree', 'pod/a'], elsewhere)
  equal(orders.length, 1)
})

const FULL = 'a full disk ends it with a sentence, and data is intact (F51, X4)'

testOnSmallDisk(import.meta.filename, FULL, 6 * 1024, async (disk, t) => {
  const data = disk.path
  await using playground = await startPlayground({
    directory: directory(t),
    clusters: ['test'],
    workload: false,
  })
  const up = ['up', '--kubeconfig', playground.kubeconfig, '--data', data, '--http', '127.0.0.1:0']
  const running = startKinfold(up)
  const flood = flooding(playground)
  const { code, stderr } = await running.ended
  flood.abort()
  equal(code, 4, stderr)
  isOneSentence(stderr)
  match(stderr, /make room/)
  disk.resize(256 * 1024)
  const audit = await runKinfold(['audit', 'verify', '--data', data])
  equal(audit.code, 0, audit.stdout + audit.stderr)
  match(audit.stdout, /identical/)
})

/** Objects without end, until the disk is full. */
function flooding({ servers }: Playground): AbortController {
  const stop = new AbortController()
  const url = `${servers[0]?.url}/api/v1/namespaces/default/configmaps`
  void (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const body = JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `flood-${i}` },
      })
      await fetch(url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      }).catch(() => undefined)
    }
  })()
  return stop
}

function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server } }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  })
}

for (const where of ['/proc/kinfold', '/proc/kinfold/a', '/dev/null']) {
  test(`the data directory ${where} cannot be made: exit code 4`, async (t) => {
    await using playground = await startPlayground({
      directory: directory(t),
      clusters: ['test'],
      workload: false,
    })
    const up = ['up', '--kubeconfig', playground.kubeconfig, '--data', where]
    const { code, stderr } = await runKinfold([...up, '--http', '127.0.0.1:0'])
    equal(code, 4, stderr)
    match(stderr, /the directory \/\S+ cannot be made: .*; name another/)
    isOneSentence(stderr)
  })
}

test('the data directory is made, with its parents', async (t) => {
  const data = join(directory(t), 'a', 'b')
  await using playground = await startPlayground({
    directory: directory(t),
    clusters: ['test'],
    workload: false,
  })
  const running = startKinfold([
    'up',
    '--kubeconfig',
    playground.kubeconfig,
    '--data',
    data,
    '--http',
    '127.0.0.1:0',
  ])
  running.child.stderr?.once('data', () => running.child.kill('SIGTERM'))
  const { code, stderr } = await running.ended
  equal(code, 0, stderr)
  mkdirSync(join(data, 'log'), { recursive: true })
})
