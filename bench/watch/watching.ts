/**
 * Watches of many clusters in a process of its own, through the adapter's connections; for
 * watches.ts. Arguments: port, clusters, kinds, events, seconds of quiet. Prints a `Watched`.
 */
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { openUndiciExchange } from '../../adapters/kubernetes/connection/exchange.ts'
import type { Exchange, Purpose } from '../../ports/exchange.ts'
import { memoryOf } from '../rig/process-usage.ts'
import { CERTIFICATES, eventBytes, type Watched } from './watched.ts'

const [port = 0, clusters = 0, kinds = 0, events = 0, quiet = 0] = process.argv.slice(2).map(Number)
const ca = readFileSync(new URL('ca.crt', CERTIFICATES))
const total = clusters * kinds
const never = new AbortController().signal
let begun = 0
let received = 0
let heard: () => void = () => undefined

const exchanges = Array.from({ length: clusters }, () =>
  openUndiciExchange({
    name: 'bench',
    server: `https://127.0.0.1:${port}`,
    proxyUrl: null,
    credentials: async () => ({ headers: {}, tls: { ca } }),
  }),
)
const [first] = exchanges as [Exchange]
await ask('/connections')
const memoryBefore = memoryOf(process.pid).anonymousMb
const openMs = await cpuMsOf(async () => {
  for (const exchange of exchanges) {
    for (let kind = 0; kind < kinds; kind++) void follow(exchange, `/kind-${kind}?watch=true`)
  }
  await until(() => begun === total)
})
// What opening left behind is no part of a watch.
globalThis.gc?.()
const memoryKb = ((memoryOf(process.pid).anonymousMb - memoryBefore) * 1_000) / total
const { connections } = JSON.parse(await ask('/connections')) as Watched
const quietMs = (await cpuMsOf(async () => await delay(quiet * 1_000))) / quiet
const eventsMs = await cpuMsOf(async () => {
  for (let sent = 1; sent <= events; sent++) {
    await ask('/event')
    await until(() => received === sent * total * eventBytes().length)
  }
})
const eventUs = (eventsMs * 1_000) / (events * total)
const watched: Watched = { connections, memoryKb, openMs, quietMs, eventUs }
process.stdout.write(`${JSON.stringify(watched)}\n`, () => process.exit())

async function follow(exchange: Exchange, path: string): Promise<void> {
  const { body } = await send(exchange, path, 'watch')
  let isFirst = true
  for await (const chunk of body) {
    if (isFirst) begun += 1
    received += chunk.byteLength - (isFirst ? 1 : 0)
    isFirst = false
    heard()
  }
}

async function ask(path: string): Promise<string> {
  return await text((await send(first, path, 'list')).body)
}

async function send(exchange: Exchange, path: string, purpose: Purpose) {
  return await exchange.request({ method: 'GET', path, purpose, body: null, headers: {} }, never)
}

async function until(isSo: () => boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    heard = () => {
      if (isSo()) resolve()
    }
    heard()
  })
}

/** Processor time of all threads of this process. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
