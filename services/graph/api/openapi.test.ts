/**
 * The document of the endpoint is valid OpenAPI 3.1, and names each route of the server and no
 * other. That docs/integrate/openapi.json is current, scripts/pages.test.ts says.
 */
import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import fastify from 'fastify'
import { checked } from '../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../testing/rig/task-rig.ts'
import { openApi } from './openapi.ts'
import { addRouteTable } from './parameter.ts'
import { ROUTES } from './route.ts'

test('the document is as the specification has it', async () => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(JSON.parse(openApi()))
  deepEqual([valid, errors], [true, undefined])
  equal(validator.version, '3.1')
  const wrong = JSON.parse(openApi())
  wrong.paths['/v1/tree'].get.parameters[0].in = 'nowhere'
  equal((await new Validator().validate(wrong)).valid, false)
})

test('each operation has a name of its own, and each schema is used', () => {
  const names = ROUTES.map(({ operation }) => operation)
  equal(new Set(names).size, names.length)
  const text = openApi()
  for (const name of Object.keys(JSON.parse(text).components.schemas)) {
    ok(text.includes(`"#/components/schemas/${name}"`), name)
  }
})

test('a route that is not in the table is not served', () => {
  const server = fastify()
  addRouteTable(server)
  throws(() => server.get('/v1/more', async () => 'x'), /is not in services\/graph\/api\/route.ts/)
})

async function served(t: TestContext): Promise<string> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(
    group.log,
    eventsOf(['rule old cm 10', 'put rs/web', 'put pod/a <- rs/web', 'put node/n']),
  )
  await group.caughtUp()
  return url
}

test('the server serves each route of the document, and no other', async (t) => {
  const url = await served(t)
  for (const { path: written, method } of ROUTES) {
    // Only beside another collector.
    if (written === '/v1/shadow') continue
    const path = written
      .replace('{cluster}', 'test')
      .replace('{namespace}', 'ns')
      .replace('{rule}', 'old')
      .replace('/ownedobjects/{name}', '/ownedobjects/pods:a')
      .replace('/clusterownedobjects/{name}', '/clusterownedobjects/nodes:n')
    const init = method === 'post' ? { method, headers: JSON_BODY, body: '{}' } : { method }
    const { status } = await fetch(url + path, init)
    ok(status !== 404 && status !== 405, `${path}: ${status}`)
    const other = method === 'post' ? 'GET' : 'POST'
    const refused = await checked(url + path, await fetch(url + path, { method: other }), other)
    equal(refused.status, 405, path)
  }
  const document = await fetch(`${url}/openapi.json`)
  equal(await document.text(), openApi())
  const nowhere = await checked(`${url}/v1/nowhere`, await fetch(`${url}/v1/nowhere`))
  deepEqual(await nowhere.json(), {
    ...{ type: 'about:blank', title: 'Not Found', status: 404, detail: 'there is no /v1/nowhere' },
  })
})

const JSON_BODY = { 'content-type': 'application/json' }

test('a parameter that is wrong is refused with what it takes', async (t) => {
  const url = await served(t)
  for (const [asked, expected] of [
    [
      'tree?uid=pod-a&namespce=x',
      /^there is no parameter namespce; parameters of \/v1\/tree: kind, /,
    ],
    ['tree?uid=pod-a&__proto__=x', /^there is no parameter __proto__; /],
    ['tree?uid=pod-a&owners=yes', /^owners yes is none of true, false$/],
    ['tree?uid=pod-a&uid=b', /^uid is given more than once; ask with one$/],
    ['plan?uid=pod-a&cascade=Orphan', /^cascade Orphan is none of background, foreground, orphan$/],
    ['plan?uid=pod-a&limit=-1', /^limit -1 is no whole number$/],
    ['objects?limit=0', /^limit 0 is no whole number from 1 on$/],
    ['shadow?x=1', /^there is no/],
  ] as const) {
    const response = await checked(`${url}/v1/${asked}`, await fetch(`${url}/v1/${asked}`))
    const { detail, status } = (await response.json()) as { detail: string; status: number }
    match(detail, expected)
    equal(status, asked.startsWith('shadow') ? 404 : 400)
  }
})
