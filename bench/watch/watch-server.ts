/**
 * A server of watches over HTTP/2 and HTTP/1.1, in a process of its own; for watches.ts.
 *
 * Prints its port. `/event` writes an event to each watch, `/connections` answers how many watches
 * there are and over how many connections; any other path is a watch.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createSecureServer, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { CERTIFICATES, eventBytes } from './watched.ts'

const read = (name: string): Buffer => readFileSync(new URL(name, CERTIFICATES))
const watches = new Map<Http2ServerResponse, Socket>()
const event = eventBytes()
const options = { cert: read('server.crt'), key: read('server.key'), allowHTTP1: true }
const server = createSecureServer(options, (request, response) => {
  switch (request.url) {
    case '/event':
      for (const watch of watches.keys()) watch.write(event)
      response.end()
      return
    case '/connections':
      response.end(JSON.stringify({ connections: new Set(watches.values()).size }))
      return
    default:
      // Over HTTP/2 a proxy of the socket, one for each connection.
      watches.set(response, request.stream?.session?.socket ?? request.socket)
      response.on('close', () => watches.delete(response))
      response.writeHead(200)
      // The head goes with the first bytes over HTTP/1.1.
      response.write('\n')
  }
})
await once(server.listen(0, '127.0.0.1'), 'listening')
process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`)
