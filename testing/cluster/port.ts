/**
 * Free TCP ports on 127.0.0.1 for servers whose port is configured.
 *
 * They are below the range that systems use for outgoing connections: a server that is down for a
 * moment finds its port still free when it comes back.
 *
 * What must stay true: no port is given out twice, to whichever test process, also before its
 * server listens on it. So the process that gets one holds the UDP port of that number until it
 * ends.
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

const LOWEST = 20_000
const BEYOND_HIGHEST = 32_000
const ATTEMPTS = 100
const HOST = '127.0.0.1'

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, BEYOND_HIGHEST)
    if ((await isOurs(port)) && (await isFree(port))) return port
  }
  throw new Error(`no free port found between ${LOWEST} and ${BEYOND_HIGHEST}`)
}

/** Kept also when another program listens on it: it is of no use to other tests either. */
function isOurs(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = createSocket('udp4').unref()
  socket.once('error', () => {
    socket.close()
    resolve(false)
  })
  socket.bind({ port, address: HOST, exclusive: true }, () => resolve(true))
  return promise
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen({ port, host: HOST, exclusive: true }, () => {
    server.close(() => resolve(true))
  })
  return promise
}
