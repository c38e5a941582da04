/** Who asked for a deletion is in the playground's audit log, as in a real server's. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../adapters/memory/api-server.ts'
import { ManualClock } from '../adapters/memory/clock.ts'
import { AuditLog } from './audit-log.ts'
import { Client } from './client.ts'

const MAPS = '/api/v1/namespaces/default/configmaps'

class World {
  readonly clock = new ManualClock()
  readonly api = new ApiServer({ clock: this.clock, random: { next: Math.random }, name: 'test' })
  readonly stop = new AbortController()
  readonly log = new AuditLog(this.api, this.clock)

  client(user: string): Client {
    return new Client(this.api, this.stop.signal, user)
  }

  async ask(method: string, path: string, headers = {}, body: string | null = null): Promise<void> {
    await this.api.handle({ method, path, headers, body }, this.stop.signal)
  }

  async events(): Promise<readonly Event[]> {
    return (await this.log.next(this.stop.signal)) as readonly Event[]
  }
}

interface Event {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef: object
  readonly responseObject?: object
  readonly requestObject?: object
  readonly responseStatus: { readonly code: number }
}

test('a deletion is an event with who asked, and which object it was', async () => {
  const world = new World()
  const uid = await world.client('bob').create(MAPS, { metadata: { name: 'a' } })
  await world.ask('GET', `${MAPS}/a`)
  await world.ask('DELETE', `${MAPS}/a`, { 'impersonate-user': 'alice' })
  const [event, ...more] = await world.events()
  deepEqual(more, [])
  deepEqual([event!.verb, event!.user.username], ['delete', 'alice'])
  deepEqual(event!.objectRef, {
    ...{ apiGroup: '', apiVersion: 'v1', resource: 'configmaps' },
    ...{ namespace: 'default', name: 'a' },
  })
  deepEqual(event!.responseObject, { details: { uid } })
  equal(event!.responseStatus.code, 200)
})

test('a refusal is one, too, and so are a dry run and a collection', async () => {
  const world = new World()
  await world.ask('DELETE', `${MAPS}/none`)
  await world.ask('DELETE', MAPS, {}, '{"dryRun":["All"]}')
  const [refused, dry] = await world.events()
  deepEqual([refused!.user.username, refused!.responseStatus.code], ['system:anonymous', 404])
  equal(dry!.verb, 'deletecollection')
  deepEqual(dry!.requestObject, { kind: 'DeleteOptions', dryRun: ['All'] })
})

test('who waits for events is woken by the next one, or by the end', async () => {
  const world = new World()
  const next = world.events()
  await world.ask('DELETE', `${MAPS}/none`)
  equal((await next).length, 1)
  const none = world.events()
  world.stop.abort()
  deepEqual(await none, [])
})
