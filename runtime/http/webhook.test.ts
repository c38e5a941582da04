/** What a webhook is sent, over HTTP, and what counts as taken; which secrets are none. */
import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { openWebhook, openWebhookSecret } from './webhook.ts'

const EVENT = {
  id: 'approval/u-1/2026-01-02T03:04:05.000Z',
  type: 'dev.kinfold.approval.waiting',
  source: '/clusters/u-1',
  subject: 'north',
  timeMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  data: { message: '2 objects are held' },
}
const SECRET = Buffer.from('a secret of many bytes')
const SIGNAL = AbortSignal.timeout(60_000)

const folder = mkdtempSync(join(tmpdir(), 'kinfold-webhook-'))
after(() => rmSync(folder, { recursive: true, force: true }))

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function receiver(answer: (response: ServerResponse) => void) {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: await text(request) })
    answer(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    got,
    url: `http://127.0.0.1:${port}/hook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('an event is a CloudEvent in JSON, signed over id, time and body', async () => {
  await using at = await receiver((response) => response.writeHead(204).end())
  await openWebhook({ url: at.url, secret: SECRET }).send(EVENT, SIGNAL)
  const [{ headers, body } = { headers: {}, body: '' }] = at.got
  match(headers['content-type'] ?? '', /^application\/cloudevents\+json/)
  const { timeMs: _, ...fields } = EVENT
  deepEqual(JSON.parse(body), {
    ...fields,
    specversion: '1.0',
    time: '2026-01-02T03:04:05.000Z',
    datacontenttype: 'application/json',
  })
  equal(headers['webhook-id'], EVENT.id)
  const signed = `${EVENT.id}.${headers['webhook-timestamp']}.${body}`
  const expected = createHmac('sha256', SECRET).update(signed).digest('base64')
  equal(headers['webhook-signature'], `v1,${expected}`)
})

test('without a secret nothing is signed', async () => {
  await using at = await receiver((response) => response.writeHead(200).end())
  await openWebhook({ url: at.url, secret: undefined }).send(EVENT, SIGNAL)
  equal(at.got[0]?.headers['webhook-signature'], undefined)
})

for (const [what, answer, says] of [
  ['that fails', (to: ServerResponse) => to.writeHead(500).end(), /answered 500/],
  [
    'that leads elsewhere',
    (to: ServerResponse) => to.writeHead(307, { location: '/other' }).end(),
    /answered 307/,
  ],
  ['that breaks off', (to: ServerResponse) => to.destroy(), /cannot be reached/],
] as const) {
  test(`an answer ${what} is none`, async () => {
    await using at = await receiver(answer)
    const webhook = openWebhook({ url: at.url, secret: SECRET })
    await rejects(webhook.send(EVENT, SIGNAL), says)
    equal(at.got.length, 1)
  })
}

test('a receiver that is not there is named by its cause', async () => {
  const at = await receiver(() => undefined)
  await at[Symbol.asyncDispose]()
  const webhook = openWebhook({ url: at.url, secret: undefined })
  await rejects(webhook.send(EVENT, SIGNAL), /cannot be reached: .*ECONNREFUSED/)
})

test('a secret is plain text, or whsec_ and base64', () => {
  const file = (text: string): string => {
    const path = join(folder, 'secret')
    rmSync(path, { force: true })
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  deepEqual(Buffer.from(openWebhookSecret(file(`${SECRET}\n`))), SECRET)
  deepEqual(Buffer.from(openWebhookSecret(file(`whsec_${SECRET.toString('base64')}`))), SECRET)
  throws(() => openWebhookSecret(file('short')), /expected 16 to 1024 bytes.*openssl rand/)
  throws(() => openWebhookSecret(join(folder, 'none')), /cannot be read/)
})

test('a secret that other users may read is refused', () => {
  const path = join(folder, 'open')
  writeFileSync(path, SECRET, { mode: 0o644 })
  throws(() => openWebhookSecret(path), /other users may read/)
})
