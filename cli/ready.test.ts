/**
 * The health check of containers: its exit code is what the process that it asks says of itself.
 */
import { equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const READY = join(import.meta.dirname, 'ready.ts')

async function answering(t: TestContext, status: number): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status : 404).end('not ready')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function exitCode(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<unknown> {
  const child = execFile(process.execPath, [READY, ...args], { env: { ...process.env, ...env } })
  const [code] = await once(child, 'exit')
  return code
}

test('one that is ready is told as 0', async (t) => {
  const url = await answering(t, 200)
  equal(await exitCode([url]), 0)
  equal(await exitCode([], { KINFOLD_SERVER: `${url}/` }), 0)
})

test('one that is not ready, or not there, is told as 1', async (t) => {
  equal(await exitCode([await answering(t, 503)]), 1)
  equal(await exitCode(['http://127.0.0.1:1']), 1)
})
