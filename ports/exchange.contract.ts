/**
 * What every Exchange promises, shown with any API server: one that serves ConfigMaps and the
 * namespaces `default` and `kube-system`, and allows us to create and delete ConfigMaps in
 * `default`.
 *
 * What must stay true: nothing here knows which adapter it runs on, or waits by the clock.
 *
 * Not here: the meaning of an answer (cluster.contract.ts), failures of one adapter's own network
 * (in that adapter's tests).
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Exchange, ExchangeRequest, ExchangeResponse } from './exchange.ts'
import { ExchangeError } from './exchange.ts'

export interface ExchangeContractOptions {
  /** Why it cannot run here. */
  readonly skip?: string | undefined
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
/** Nothing below takes longer on a living server. */
const DEADLINE_MS = 30_000

export function exchangeContract(
  name: string,
  open: () => Promise<Exchange>,
  options: ExchangeContractOptions = {},
): void {
  describe(`the exchange ${name}`, { skip: options.skip ?? false }, () => {
    let exchange: Exchange
    before(async () => {
      exchange = await open()
    })
    after(async () => {
      await exchange?.[Symbol.asyncDispose]()
    })
    const send = (request: Partial<ExchangeRequest>, signal?: AbortSignal) =>
      exchange.request({ ...GET, ...request }, signal ?? AbortSignal.timeout(DEADLINE_MS))

    test('gives status, headers named in lower case, and the whole body', async () => {
      const answer = await send({ path: '/api/v1/namespaces/kube-system' })
      equal(answer.status, 200)
      match(answer.headers['content-type'] ?? '', /^application\/json/)
      const names = Object.keys(answer.headers)
      deepEqual(
        names,
        names.map((header) => header.toLowerCase()),
      )
      equal((await json(answer)).metadata.name, 'kube-system')
    })

    test('gives a refusal as an answer like any other, and leaves the path as it is written', async () => {
      const answer = await send({ path: `${CONFIG_MAPS}/Upper%3ACase` })
      equal(answer.status, 404)
      equal((await json(answer)).details.name, 'Upper:Case')
    })

    test('sends bodies, with any method', async () => {
      const made = await send({ method: 'POST', path: CONFIG_MAPS, body: configMap('exchange') })
      equal(made.status, 201)
      const { uid } = (await json(made)).metadata
      const wrong = deleteOptions('nobody')
      const kept = await send({ method: 'DELETE', path: `${CONFIG_MAPS}/exchange`, body: wrong })
      equal(kept.status, 409)
      await json(kept)
      const right = deleteOptions(uid)
      const gone = await send({ method: 'DELETE', path: `${CONFIG_MAPS}/exchange`, body: right })
      equal(gone.status, 200)
      await json(gone)
    })

    test('gives chunks as they come, while other requests go on', async () => {
      await using stack = new AsyncDisposableStack()
      const stop = new AbortController()
      stack.defer(() => stop.abort())
      const { metadata } = await json(await send({ path: CONFIG_MAPS }))
      const path = `${CONFIG_MAPS}?watch=true&resourceVersion=${metadata.resourceVersion}`
      const watch = await send({ path, purpose: 'watch' }, stop.signal)
      equal(watch.status, 200)
      const made = await send({ method: 'POST', path: CONFIG_MAPS, body: configMap('streamed') })
      equal(made.status, 201)
      await json(made)
      let seen = ''
      for await (const chunk of watch.body) {
        seen += new TextDecoder().decode(chunk)
        if (seen.includes('"streamed"')) break
      }
      await json(await send({ method: 'DELETE', path: `${CONFIG_MAPS}/streamed` }))
    })

    test('rejects with the reason of a signal that is aborted already', async () => {
      await rejects(send({}, AbortSignal.abort(new Stopped())), Stopped)
    })

    test('throws the reason of a signal that is aborted while the body is read', async () => {
      const stop = new AbortController()
      const { metadata } = await json(await send({ path: CONFIG_MAPS }))
      const path = `${CONFIG_MAPS}?watch=true&resourceVersion=${metadata.resourceVersion}`
      const watch = await send({ path, purpose: 'watch' }, stop.signal)
      const reading = text(watch)
      stop.abort(new Stopped())
      await rejects(reading, Stopped)
    })

    test('goes on after a body that nobody read to its end', async () => {
      for await (const _chunk of (await send({ path: '/api/v1/configmaps' })).body) break
      equal((await json(await send({}))).kind, 'Namespace')
    })

    test('answers many requests at once, each with its own answer', async () => {
      const names = Array.from({ length: 50 }, (_, index) => `absent-${index}`)
      const answers = await Promise.all(
        names.map(async (it) => json(await send({ path: `${CONFIG_MAPS}/${it}` }))),
      )
      deepEqual(
        answers.map(({ details }) => details.name),
        names,
      )
    })

    test('sends nothing once it is closed', async () => {
      const closed = await open()
      await closed[Symbol.asyncDispose]()
      const sending = closed.request(GET, AbortSignal.timeout(DEADLINE_MS))
      await rejects(sending, (error) => {
        ok(error instanceof ExchangeError)
        equal(error.code, 'UNREACHABLE')
        return true
      })
    })
  })
}

class Stopped extends Error {}

const GET: ExchangeRequest = {
  method: 'GET',
  path: '/api/v1/namespaces/default',
  headers: { accept: 'application/json', 'content-type': 'application/json' },
  body: null,
  purpose: 'write',
}

/** The fields that these tests read; absent fields fail the test that reads them. */
interface Answered {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly details: { readonly name: string }
}

async function json(response: ExchangeResponse): Promise<Answered> {
  return JSON.parse(await text(response))
}

async function text(response: ExchangeResponse): Promise<string> {
  const decoder = new TextDecoder()
  let whole = ''
  for await (const chunk of response.body) whole += decoder.decode(chunk, { stream: true })
  return whole + decoder.decode()
}

function configMap(name: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
}

function deleteOptions(uid: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } })
}
