/**
 * Where kafkajs' inside is another than inside.ts knows, the first link says so and names what is
 * missing.
 *
 * Each case loads a kafkajs with one text replaced, in a process of its own. The presence and the
 * number of the texts are asserted, too.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { CLUSTER_CALLS } from './inside.ts'

interface Change {
  readonly file: string
  readonly from: string
  readonly to: string
  readonly says: RegExp
}

const CHANGES: readonly Change[] = [
  {
    file: 'kafkajs/package.json',
    from: '"version": "2.2.4"',
    to: '"version": "2.2.5"',
    says: /knows 2\.2\.4: it is version 2\.2\.5/,
  },
  {
    file: 'kafkajs/src/index.js',
    from: 'private:Kafka:createCluster',
    to: 'private:Kafka:makeCluster',
    says: /its client makes no clusters/,
  },
  ...CLUSTER_CALLS.map((name) => ({
    file: 'kafkajs/src/cluster/index.js',
    from: ` ${name}(`,
    to: ` renamed(`,
    says: new RegExp(`a cluster has no ${name}$`, 'm'),
  })),
  {
    file: 'kafkajs/src/network/requestQueue/index.js',
    from: 'scheduleCheckPendingRequests()',
    to: 'scheduleChecks()',
    says: /a queue of requests schedules nothing/,
  },
  {
    file: 'kafkajs/src/network/connection.js',
    from: 'async disconnect() {',
    to: 'async hangUp() {',
    says: /a connection does not disconnect/,
  },
  {
    file: 'kafkajs/src/cluster/brokerPool.js',
    from: 'refreshMetadata(topics) {',
    to: 'refreshAll(topics) {',
    says: /a pool of brokers refreshes no metadata/,
  },
  {
    file: 'kafkajs/src/protocol/requests/metadata/index.js',
    from: 'protocol:',
    to: 'protocols:',
    says: /requests for metadata have no protocol/,
  },
]

const require = createRequire(import.meta.url)
const OPEN = `
const { openLink } = await import(${JSON.stringify(new URL('inside.ts', import.meta.url).href)})
openLink({ brokers: ['127.0.0.1:9'], tls: null, sasl: null }, 'test')
`

test('the kafkajs that is installed is the one that is known', async () => {
  deepEqual(await run(OPEN), { code: 0, errors: '' })
})

suite('a kafkajs', { concurrency: 2 }, () => {
  for (const { file, from, to, says } of CHANGES) {
    test(`in which ${from.trim()} is ${to.trim()} is refused`, async () => {
      const { code, errors } = await run(`${changing(file, from, to)}${OPEN}`)
      equal(code, 1)
      match(errors, says)
    })
  }
})

/** The stock queue does so after each answer, and Node warns its user of the negative time. */
test('a connection on which nothing waits sets no timer, and that of kafkajs does', async () => {
  const queue = require.resolve('kafkajs/src/network/requestQueue')
  const timers = `
const { createRequire } = await import('node:module')
const Queue = createRequire(${JSON.stringify(queue)})(${JSON.stringify(queue)})
function timers() {
  const state = { pending: [], throttledUntil: -1, throttleCheckTimeoutId: null, checkPendingRequests() {} }
  Queue.prototype.scheduleCheckPendingRequests.call(state)
  clearTimeout(state.throttleCheckTimeoutId)
  return state.throttleCheckTimeoutId === null ? 'none' : 'one'
}
const stock = timers()
${OPEN}
if (stock !== 'one' || timers() !== 'none') throw new Error('stock: ' + stock + ', ours: ' + timers())
`
  equal((await run(timers)).code, 0)
})

test('a connection whose socket is gone is ended any number of times without a warning, and that of kafkajs is not', async () => {
  const file = require.resolve('kafkajs/src/network/connection')
  const ends = `
const { createRequire } = await import('node:module')
const { createConnection } = await import('node:net')
const Connection = createRequire(${JSON.stringify(file)})(${JSON.stringify(file)})
async function waiting() {
  const socket = createConnection({ host: '127.0.0.1', port: 9 }).on('error', () => {})
  await new Promise((resolve) => socket.once('close', resolve))
  const requestQueue = { waitForPendingRequests: async () => {}, destroy() {} }
  const state = { socket, requestQueue, logDebug() {} }
  for (let time = 0; time < 3; time++) await Connection.prototype.disconnect.call(state)
  return socket.listenerCount('connect')
}
const stock = await waiting()
${OPEN}
const ours = await waiting()
if (stock !== 3 || ours !== 0) throw new Error('stock: ' + stock + ', ours: ' + ours)
`
  deepEqual(await run(ends), { code: 0, errors: '' })
})

function changing(file: string, from: string, to: string): string {
  const url = pathToFileURL(require.resolve(file)).href
  const [what, by] = [JSON.stringify(from), JSON.stringify(to)]
  return `
const { registerHooks } = await import('node:module')
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (url !== ${JSON.stringify(url)}) return loaded
    const text = String(loaded.source)
    if (!text.includes(${what})) throw new Error('there is no ' + ${what})
    return { ...loaded, source: text.replaceAll(${what}, ${by}) }
  },
})
`
}

async function run(program: string): Promise<{ code: number; errors: string }> {
  try {
    const args = ['--input-type=module', '--eval', program]
    const { stderr } = await promisify(execFile)(process.execPath, args)
    return { code: 0, errors: stderr }
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string }
    return { code, errors: stderr }
  }
}
