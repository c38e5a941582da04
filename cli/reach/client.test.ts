/** Where a running Kinfold is asked, as flags name it. */
import { equal, match, rejects, throws } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { issue, makeAuthority } from '../../testing/kafka/certificates.ts'
import { defaultDataDirectory } from '../config/data-directory.ts'
import { ask, objectQuery, order, serverOf } from './client.ts'

async function listening(t: TestContext, server: HttpServer): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const [named, url] of [
  ['http://127.0.0.1:7070', 'http://127.0.0.1:7070'],
  ['https://kinfold.example.com/', 'https://kinfold.example.com'],
  ['localhost:7070', 'http://localhost:7070'],
  ['[::1]:7070/', 'http://[::1]:7070'],
] as const) {
  test(`--server ${named} is ${url}`, () => {
    equal(serverOf({ server: named }).url, url)
  })
}

for (const [words, kind] of [
  [['deploy/web'], 'deploy'],
  [['deploy.v1.apps', 'web'], 'deploy.v1.apps'],
  [['widgets.example.com/x'], 'widgets.example.com'],
] as const) {
  test(`${words.join(' ')} is of kind ${kind}`, () => {
    equal(objectQuery(words, { namespace: 'ns' }).kind, kind)
  })
}

test('an environment variable that is empty names nothing', (t) => {
  for (const name of ['KINFOLD_SERVER', 'KINFOLD_TOKEN_FILE', 'XDG_DATA_HOME', 'KINFOLD_DATA']) {
    const before = process.env[name]
    process.env[name] = ''
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  match(serverOf({}).url, /^http:\/\/127\.0\.0\.1:\d+$/)
  equal(isAbsolute(defaultDataDirectory()), true)
})

test('KINFOLD_DATA names a directory as --data does: nobody else is asked', (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-client-'))
  const others = { KINFOLD_DATA: data, KINFOLD_SERVER: 'http://127.0.0.1:1' }
  const before = Object.keys(others).map((name) => [name, process.env[name]] as const)
  t.after(() => {
    rmSync(data, { recursive: true, force: true })
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  Object.assign(process.env, others)
  throws(() => serverOf({}), /no kinfold answers from/)
  writeFileSync(join(data, 'http.json'), JSON.stringify({ url: 'http://127.0.0.1:2' }))
  equal(serverOf({}).url, 'http://127.0.0.1:2')
  equal(serverOf({ server: 'http://127.0.0.1:3' }).url, 'http://127.0.0.1:3')
  equal(defaultDataDirectory(), data)
})

test('a kinfold that is not running any more is named by its directory, with how to start it', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-client-'))
  const before = process.env['KINFOLD_SERVER']
  delete process.env['KINFOLD_SERVER']
  t.after(() => {
    rmSync(data, { recursive: true, force: true })
    if (before !== undefined) process.env['KINFOLD_SERVER'] = before
  })
  writeFileSync(join(data, 'http.json'), JSON.stringify({ url: 'http://127.0.0.1:1' }))
  await rejects(
    ask(serverOf({ data }), '/v1/why'),
    /answers at http:\/\/127\.0\.0\.1:1: the one that served \S+ is not running; start it with "kinfold up --data /,
  )
  // What a user names was not found by a directory.
  await rejects(ask(serverOf({ server: 'http://127.0.0.1:1' }), '/v1/why'), /; start one with/)
})

test('a directory of data without an address is named only where it has a log', (t) => {
  const home = mkdtempSync(join(tmpdir(), 'kinfold-client-'))
  const names = ['KINFOLD_SERVER', 'KINFOLD_DATA', 'XDG_DATA_HOME']
  const before = names.map((name) => [name, process.env[name]] as const)
  for (const name of names) delete process.env[name]
  t.after(() => {
    rmSync(home, { recursive: true, force: true })
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  process.env['XDG_DATA_HOME'] = home
  equal(serverOf({}).data, undefined)
  mkdirSync(join(home, 'kinfold', 'log'), { recursive: true })
  equal(serverOf({}).data, join(home, 'kinfold'))
  match(serverOf({}).url, /:7070$/)
})

test('over TLS it asks who shows a certificate that it trusts, and says what to do with another one', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-client-tls-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const authority = await makeAuthority(folder, 'authority')
  const { certificateFile, keyFile } = await issue(authority, 'endpoint', 'broker')
  const pair = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) }
  const server = createSecureServer(pair, (_request, response) => response.end('{}'))
  const url = (await listening(t, server)).replace('http:', 'https:')
  await rejects(
    ask(serverOf({ server: url }), '/v1/why'),
    /the certificate of https:.* is not trusted .*--certificate-authority/,
  )
  const certificateAuthority = authority.certificateFile
  equal((await ask(serverOf({ server: url, certificateAuthority }), '/v1/why')).status, 200)
  const elsewhere = url.replace('127.0.0.1', 'localhost')
  await rejects(ask(serverOf({ server: elsewhere }), '/v1/why'), /is not trusted .*ALTNAME/)
})

test('uid: names no object', () => {
  throws(() => objectQuery(['uid:'], { namespace: 'ns' }), /expected KIND\/NAME/)
})

test('an order goes to the process that wrote the address into its data directory, by name', async (t) => {
  const asked: unknown[] = []
  const server = createServer(({ headers }, response) => {
    asked.push(headers['kinfold-instance'])
    response.end('{}')
  })
  const url = await listening(t, server)
  const data = mkdtempSync(join(tmpdir(), 'kinfold-client-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  writeFileSync(join(data, 'http.json'), JSON.stringify({ url, instance: 'the-one' }))
  await order(serverOf({ data }), '/v1/directives', {})
  await order(serverOf({ server: url }), '/v1/directives', {})
  equal(asked.join(), 'the-one,')
})

test('an order that is not answered within ten seconds says so, and that it may be carried out later', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const url = await listening(
    t,
    createServer(() => arrived.resolve()),
  )
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const ordered = order(serverOf({ server: url }), '/v1/directives', {})
  const refused = rejects(
    ordered,
    /does not answer within 10 s; it may still carry out the order later/,
  )
  await arrived.promise
  t.mock.timers.tick(10_000)
  await refused
})

for (const [status, ofQuestion, ofOrder] of [
  [400, 2, 2],
  [401, 4, 4],
  [403, 4, 4],
  [404, 2, 2],
  [409, 2, 3],
  [425, 4, 4],
  [429, 4, 4],
  [503, 4, 4],
] as const) {
  test(`status ${status} ends a question with exit code ${ofQuestion} and an order with ${ofOrder}`, async (t) => {
    const server = createServer((_request, response) => {
      response.statusCode = status
      response.end(JSON.stringify({ detail: 'as the server says' }))
    })
    const at = serverOf({ server: await listening(t, server) })
    await rejects(ask(at, '/v1/why'), { exitCode: ofQuestion, message: 'as the server says' })
    await rejects(order(at, '/v1/directives', {}), { exitCode: ofOrder })
  })
}

test('two objects are not joined to one', () => {
  for (const words of [
    ['deploy/web', 'pod/x'],
    ['deploy', 'web', 'more'],
    ['uid:1', 'uid:2'],
  ]) {
    throws(() => objectQuery(words, { namespace: 'shop' }), {
      message: /: expected one object, as KIND\/NAME, KIND NAME or uid:UID$/,
    })
  }
  equal(objectQuery(['deploy', 'web'], { namespace: 'shop' }).kind, 'deploy')
})
