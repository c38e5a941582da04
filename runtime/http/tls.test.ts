/** The endpoint with TLS: which files it takes, and that it serves new ones without a restart. */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { fetch } from 'undici'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { type Certificate, issue, makeAuthority } from '../../testing/kafka/certificates.ts'
import { serveEndpoint } from './endpoint.ts'
import { openTls, trustAlso } from './tls.ts'

const folder = await mkdtemp(join(tmpdir(), 'kinfold-tls-'))
after(async () => await rm(folder, { recursive: true }))
const authority = await makeAuthority(folder, 'authority')
const first = await issue(authority, 'first', 'broker')
const second = await issue(authority, 'second', 'broker')

/** Files that change. */
function files(name: string, { certificateFile, keyFile }: Certificate = first) {
  const its = { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}-key.pem`) }
  copyFileSync(certificateFile, its.certFile)
  copyFileSync(keyFile, its.keyFile)
  return its
}

async function nameShown(port: number): Promise<string | undefined> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

test('the endpoint answers over TLS alone, to whoever trusts its authority', async (t) => {
  const parts = { version: 'test', checks: () => [], scrape: async () => '' }
  const tls = openTls(files('served'))
  const clock = new ManualClock()
  const { server, url } = await serveEndpoint({ ...parts, clock }, { address: '127.0.0.1:0', tls })
  t.after(async () => await server.close())
  match(url, /^https:/)
  const why = await fetch(`${url}/livez`).then(
    () => 'answered',
    (error: Error) => String((error.cause as NodeJS.ErrnoException).code),
  )
  match(why, /UNABLE_TO_VERIFY|SELF_SIGNED/)
  await fetch(url.replace('https', 'http')).then(
    () => Promise.reject(new Error('plain HTTP was answered')),
    () => undefined,
  )
  trustAlso(authority.certificateFile)
  equal(await (await fetch(`${url}/livez`)).text(), 'ok')
  equal(await (await globalThis.fetch(`${url}/livez`)).text(), 'ok')
})

test('files that change are served, and until they can be, the former ones', async (t) => {
  const its = files('changing')
  const tls = openTls(its)
  const parts = { version: 'test', checks: () => [], scrape: async () => '' }
  const clock = new ManualClock()
  const { server, url } = await serveEndpoint({ ...parts, clock }, { address: '127.0.0.1:0', tls })
  t.after(async () => await server.close())
  const port = Number(new URL(url).port)
  equal(await nameShown(port), 'first')
  copyFileSync(second.certificateFile, its.certFile)
  await clock.advance(10_000)
  match(tls.failure(), /cannot be used together/)
  equal(await nameShown(port), 'first')
  copyFileSync(second.keyFile, its.keyFile)
  await clock.advance(10_000)
  deepEqual([tls.failure(), await nameShown(port)], ['', 'second'])
  await rm(its.certFile)
  await clock.advance(10_000)
  match(tls.failure(), /cannot be read/)
  equal(await nameShown(port), 'second')
})

test('what cannot be served ends the start, and says why', async () => {
  const its = files('bad')
  throws(() => openTls({ ...its, keyFile: '/nowhere' }), /the key \/nowhere cannot be read/)
  throws(() => openTls({ ...its, certFile: its.keyFile }), /holds no certificate in PEM/)
  throws(() => openTls({ ...its, keyFile: second.keyFile }), /cannot be used together/)
  chmodSync(its.keyFile, 0o644)
  throws(() => openTls(its), /the key .*: other users may read or change it .*chmod 600/)
  const empty = join(folder, 'empty.pem')
  writeFileSync(empty, '')
  throws(() => trustAlso(empty), /holds no certificate/)
  match(await readFile(its.certFile, 'utf8'), /BEGIN CERTIFICATE/)
})
