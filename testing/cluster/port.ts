/**
 * Free TCP ports on 127.0.0.1 for servers that are told their port.
 *
 * They lie below the range that systems take outgoing connections from: a server that is down for a
 * moment finds its port still free when it comes back.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const LOWEST = 20_000
const BEYOND_HIGHEST = 32_000
const ATTEMPTS = 100

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, BEYOND_HIGHEST)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port found between ${LOWEST} and ${BEYOND_HIGHEST}`)
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
    server.close(() => resolve(true))
  })
  return promise
}
