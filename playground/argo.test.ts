/** The little Argo CD of the playground, over two API servers: it deletes what it manages. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../adapters/memory/api-server.ts'
import { ManualClock } from '../adapters/memory/clock.ts'
import { managersOf } from '../ports/record/manager-mark.ts'
import { APPLICATION, runArgo } from './argo.ts'
import { Client } from './client.ts'

const MISSING_MS = 60_000
const APPLICATIONS = `/apis/argoproj.io/v1alpha1/namespaces/${APPLICATION.namespace}/applications`

class World implements AsyncDisposable {
  readonly clock = new ManualClock()
  readonly apis = ['north', 'south'].map(
    (name) => new ApiServer({ clock: this.clock, random: { next: Math.random }, name }),
  ) as [ApiServer, ApiServer]
  readonly stop = new AbortController()
  readonly client = new Client(this.apis[0], this.stop.signal, 'tester')
  readonly #running = runArgo(
    { apis: this.apis, clock: this.clock, missingMs: MISSING_MS },
    this.stop.signal,
  )

  application() {
    return this.apis[0].object('argoproj.io', 'applications', APPLICATION.namespace, 'catalog')
  }

  managed(): readonly string[] {
    return this.apis.flatMap((api, at) =>
      ['configmaps', 'deployments'].flatMap((resource) => {
        const group = resource === 'deployments' ? 'apps' : ''
        return [...api.objects(group, resource)]
          .filter(({ metadata }) => metadata.namespace === 'catalog')
          .map(({ metadata }) => `${at} ${resource}/${metadata.name}`)
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort()
    await this.#running
  }
}

const ALL = [0, 1].flatMap((at) => [`${at} configmaps/catalog-theme`, `${at} deployments/catalog`])

test('makes an Application and what it manages, with its mark', async () => {
  await using world = new World()
  await world.clock.advance(1_000)
  deepEqual(world.application()?.metadata.finalizers, ['resources-finalizer.argocd.argoproj.io'])
  deepEqual(world.managed(), ALL)
  for (const api of world.apis) {
    const { metadata } = api.object('apps', 'deployments', 'catalog', 'catalog') ?? {}
    const annotations = Object.entries(metadata?.annotations ?? {}).map(([key, value]) => ({
      key,
      value,
    }))
    const object = {
      ...{ group: 'apps', kind: 'Deployment', namespace: 'catalog', name: 'catalog' },
      ...{ scope: 'Namespaced' as const, labels: [], annotations, ownerReferences: [] },
    } as const
    const named = managersOf(object, { tools: ['argo'], argoInstanceLabel: null })
    deepEqual(
      named.map(({ name }) => name),
      ['catalog'],
    )
  }
})

test('deletes what it manages in all clusters when its Application is deleted, and makes it again', async () => {
  await using world = new World()
  await world.clock.advance(1_000)
  await world.client.delete(`${APPLICATIONS}/catalog`, world.application()?.metadata.uid ?? '')
  ok(world.application()?.metadata.deletionTimestamp !== undefined)
  await world.clock.advance(3_000)
  deepEqual([world.application(), world.managed()], [undefined, []])
  await world.clock.advance(MISSING_MS / 2)
  equal(world.application(), undefined)
  await world.clock.advance(MISSING_MS * 2)
  deepEqual([world.application() === undefined, world.managed()], [false, ALL])
})

test('an Application that a user made in its place is none of its own', async () => {
  await using world = new World()
  await world.clock.advance(1_000)
  await world.client.merge(`${APPLICATIONS}/catalog`, { metadata: { finalizers: null } })
  await world.client.delete(`${APPLICATIONS}/catalog`, world.application()?.metadata.uid ?? '')
  await world.client.create(APPLICATIONS, {
    ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
    metadata: { name: 'catalog' },
  })
  const mine = world.application()?.metadata.uid
  await world.client.delete(`${APPLICATIONS}/catalog`, mine ?? '')
  await world.clock.advance(3_000)
  deepEqual(world.managed(), ALL)
})
