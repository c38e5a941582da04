/**
 * A server on a port of this machine that counts its connections, and what may be before it: a
 * network that can go silent, and a proxy.
 *
 * What must stay true: it ends all of its connections when it is disposed of, whatever is in
 * flight.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'

export interface Listening extends AsyncDisposable {
  readonly port: number
  /** Ever accepted. */
  readonly connections: number
  /** Open now. */
  readonly open: number
  /** Takes no further connection. */
  refuse(): void
}

/** `event`: that of a connection that counts. */
export async function listening(server: Server, event: string): Promise<Listening> {
  const sockets = new Set<Socket>()
  let connections = 0
  let isClosed = false
  server.once('close', () => {
    isClosed = true
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on(event, () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    refuse: () => void server.close(),
    [Symbol.asyncDispose]: async () => {
      if (server.listening) server.close()
      for (const socket of sockets) socket.destroy()
      if (!isClosed) await once(server, 'close')
    },
  }
}

export interface Tunnel extends AsyncDisposable {
  readonly url: string
  /** Ever asked for. */
  readonly tunnels: number
}

/** An HTTP proxy that leads to any host by CONNECT, or always to a port of this machine. */
export async function tunnel(always?: number): Promise<Tunnel> {
  let tunnels = 0
  const proxy = createServer()
  proxy.on('connect', (request, socket) => {
    tunnels++
    const to = always === undefined ? (request.url ?? '') : `127.0.0.1:${always}`
    const [host, port] = to.split(':')
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    for (const it of [socket, onward]) it.on('error', () => {})
  })
  const server = await listening(proxy, 'connection')
  return {
    url: `http://127.0.0.1:${server.port}`,
    get tunnels() {
      return tunnels
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export interface Front extends Listening {
  /** Nothing passes any more, and no connection ends. */
  freeze(): void
}

/** Leads to a port of this machine. */
export async function front(port: number): Promise<Front> {
  const sockets: Socket[] = []
  const server = createTcpServer((socket) => {
    const onward = connect(port, '127.0.0.1')
    for (const it of [socket, onward]) it.on('error', () => undefined)
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
    sockets.push(socket, onward)
    onward.pipe(socket).pipe(onward)
  })
  const own = await listening(server, 'connection')
  const freeze = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  return Object.defineProperties({ freeze }, Object.getOwnPropertyDescriptors(own)) as Front
}
