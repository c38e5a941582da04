/** `kinfold audit import`: what of a file it sends, and what it says of a file that is none. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { documentOf } from '../../services/graph/api/document.ts'
import { auditEvent, eventList } from '../../testing/audit-event.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))
const AT = Date.UTC(2026, 10, 27, 12, 3, 4)
const folder = mkdtempSync(join(tmpdir(), 'kinfold-import-'))
after(() => rmSync(folder, { recursive: true }))

interface Received {
  readonly url: string
  readonly bodies: string[]
  readonly paths: string[]
  /** The next body. */
  next(): Promise<string>
  stop(): void
}

interface ReceiverOptions {
  readonly refusals?: number
  readonly overShare?: number
  /** It refuses requests that are meant for another process. */
  readonly instance?: string
}

/** Takes all that is sent to it, after it has refused so many requests for a second. */
async function receiver(
  t: TestContext,
  { refusals = 0, overShare = 0, instance }: ReceiverOptions = {},
): Promise<Received> {
  const [bodies, paths]: [string[], string[]] = [[], []]
  let left = refusals
  let told: (body: string) => void = () => undefined
  const next = (): Promise<string> =>
    new Promise((resolve) => {
      told = resolve
    })
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => {
      body += part.toString()
    })
    request.on('end', () => {
      const meant = request.headers['kinfold-instance'] ?? instance
      if (meant !== instance) {
        return response.writeHead(421).end('{"detail":"this is another kinfold"}')
      }
      if (left-- > 0) return response.writeHead(429, { 'retry-after': '1' }).end('{}')
      bodies.push(body)
      told(body)
      paths.push(request.url ?? '')
      const { items } = JSON.parse(body) as { items: unknown[] }
      const kept = items.length - overShare
      const answer = { received: items.length, kept, overShare, unreadable: 0 }
      const cluster = { name: 'north', id: 'c', scope: 'north' }
      const text = documentOf('AuditEventsResult', { answer, partial: '', cluster })
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(text))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = (): void => {
    server.close()
    server.closeAllConnections()
  }
  t.after(stop)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, bodies, paths, next, stop }
}

function fileOf(text: string): string {
  const file = join(folder, 'audit.log')
  writeFileSync(file, text)
  return file
}

const lines = (...all: readonly unknown[]): string =>
  all.map((each) => `${JSON.stringify(each)}\n`).join('')

function line(name: string, more: object = {}): object {
  return { kind: 'Event', apiVersion: 'audit.k8s.io/v1', ...auditEvent(name, AT, { ...more }) }
}

test('of a log what names a deletion is sent, in parts, and waits when it is told to', async (t) => {
  const to = await receiver(t, { refusals: 1 })
  const many = Array.from({ length: 250 }, (_, index) => line(`a${index}`))
  const file = fileOf(lines(line('w', { verb: 'watch' }), ...many, line('x', { stage: 'Panic' })))
  const { code, stdout, stderr } = await runKinfold([
    'audit',
    'import',
    file,
    '--server',
    to.url,
    '--cluster',
    'north',
  ])
  deepEqual([code, stderr], [0, ''])
  equal(stdout, '252 events of cluster north read, 250 of them say who deleted something\n')
  const sizes = to.bodies.map((body) => (JSON.parse(body) as { items: unknown[] }).items.length)
  deepEqual(sizes, [100, 100, 50])
  deepEqual(new Set(to.paths), new Set(['/v1/audit-events?cluster=north']))
  ok(!/10\.0\.0\.7|developers/.test(to.bodies.join('')))
})

test('a list is read as well, of one line or of many', async (t) => {
  const to = await receiver(t)
  const list = eventList(auditEvent('a', AT), auditEvent('b', AT))
  for (const text of [JSON.stringify(list), JSON.stringify(list, null, 2)]) {
    const words = ['audit', 'import', fileOf(text), '--server', to.url]
    const { code, stdout } = await runKinfold(words)
    deepEqual([code, stdout.split(' ')[0]], [0, '2'])
  }
})

test('what is above a share is said, and what to do', async (t) => {
  const { url } = await receiver(t, { overShare: 1 })
  const file = fileOf(lines(line('a'), line('b')))
  const { code, stdout, stderr } = await runKinfold(['audit', 'import', file, '--server', url])
  deepEqual(
    [code, stdout],
    [0, '2 events of cluster north read, 1 of them say who deleted something\n'],
  )
  match(stderr, /^1 more were above their users' shares of a day .*import the file again a day/)
})

test('an event may be larger than what is read at once', async (t) => {
  const to = await receiver(t)
  const requestURI = `/?${'x'.repeat(3_000_000)}`
  const file = fileOf(lines(line('a', { requestURI }), line('b', { requestURI }), line('c')))
  const { code, stdout } = await runKinfold(['audit', 'import', file, '--server', to.url])
  deepEqual([code, stdout.split(' ')[0]], [0, '3'])
  ok(to.bodies.join('').length < 10_000)
})

test('what clouds export is read, what could not be is said, and a format that is named is held', async (t) => {
  const to = await receiver(t)
  const events = [line('a'), line('b')].map((each) => ({ message: JSON.stringify(each) }))
  const file = fileOf(JSON.stringify({ events: [...events, { message: '{"kind":' }] }))
  const words = ['audit', 'import', file, '--server', to.url]
  const { code, stdout, stderr } = await runKinfold(words)
  equal(
    stdout,
    '3 events of cluster north read, in the format of eks, 2 of them say who deleted something\n',
  )
  match(stderr, /1 of them could not be read, the first in line 1: names may be missing/)
  equal(code, 2)
  const refused = await runKinfold([...words, '--format', 'gke'])
  equal(refused.code, 2)
  match(refused.stderr, /this is eks, and --format says gke/)
  const packed = join(folder, 'audit.gz')
  writeFileSync(packed, gzipSync(lines(line('a'))))
  equal((await runKinfold(['audit', 'import', packed, '--server', to.url])).code, 0)
  writeFileSync(packed, gzipSync(lines(line('a'))).subarray(0, 60))
  const broken = await runKinfold(['audit', 'import', packed, '--server', to.url])
  equal(broken.code, 2)
  match(broken.stderr, /the gzip is damaged/)
})

test('what comes through a pipe is sent before the pipe ends', async (t) => {
  const to = await receiver(t)
  const child = spawn(process.execPath, [MAIN, 'audit', 'import', '-', '--server', to.url])
  t.after(() => child.stdin.destroy())
  // Whether it may send is known before anything comes.
  match(await to.next(), /"items":\[\]/)
  for (const name of ['a', 'b']) {
    const sent = to.next()
    child.stdin.write(lines(line(name)))
    match(await sent, new RegExp(`"name":"${name}"`))
  }
  child.stdin.end()
  deepEqual(await once(child, 'exit'), [0, null])
})

test('a pipe goes on with the kinfold that has the data directory by then, and with no other one', async (t) => {
  const data = mkdtempSync(join(folder, 'data-'))
  const about = join(data, 'http.json')
  const serves = (url: string, instance: string): void =>
    writeFileSync(about, JSON.stringify({ url, instance }))
  const one = await receiver(t, { instance: 'one' })
  serves(one.url, 'one')
  const first = one.next()
  const child = spawn(process.execPath, [MAIN, 'audit', 'import', '-', '--data', data])
  t.after(() => child.kill())
  let said = ''
  child.stderr.on('data', (part: Buffer) => {
    said += part.toString()
  })
  const saysThat = async (expected: RegExp): Promise<void> => {
    while (!expected.test(said)) await once(child.stderr, 'data')
  }
  await first
  const sent = one.next()
  child.stdin.write(lines(line('a')))
  match(await sent, /"name":"a"/)
  // It is stopped, and another one answers where the data directory has its address still.
  const other = await receiver(t, { instance: 'other' })
  serves(other.url, 'one')
  one.stop()
  child.stdin.write(lines(line('b')))
  await saysThat(/^this is another kinfold; waiting for it, nothing is lost meanwhile\n/)
  rmSync(about)
  await saysThat(/no kinfold answers from .*; waiting for it/)
  const two = await receiver(t, { instance: 'two' })
  const later = two.next()
  serves(two.url, 'two')
  match(await later, /"name":"b"/)
  child.stdin.end()
  deepEqual(await once(child, 'exit'), [0, null])
  deepEqual(other.bodies, [])
  // Of the cluster that the first one said.
  deepEqual(new Set([...one.paths.slice(1), ...two.paths]), new Set(['/v1/audit-events?cluster=c']))
  equal(said.split('\n').length, 3, said)
})

const wrong: readonly (readonly [string, RegExp])[] = [
  [`${lines(line('a'))}{"kind":`, /line 2: no JSON; expected an event of audit\.k8s\.io\/v1/],
  [
    lines(line('a'), { a: 1 }),
    /line 2: expected an EventList or an event of audit\.k8s\.io\/v1, or what EKS, GKE or AKS/,
  ],
  [lines({ ...line('a'), stage: 7 }), /line 1: event 1 is no audit event/],
]

for (const [text, expected] of wrong) {
  test(`a file is refused with ${expected.source}`, async (t) => {
    const { url } = await receiver(t)
    const { code, stderr } = await runKinfold(['audit', 'import', fileOf(text), '--server', url])
    equal(code, 2)
    match(stderr, expected)
  })
}
