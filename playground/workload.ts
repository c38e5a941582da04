/**
 * A small living workload, so that cascades happen by themselves: a shop that is rolled out again and again, previews that come and go,
 * reports that are made and thrown away.
 *
 * What must stay true: it only creates, changes and deletes owners. What becomes of their dependents is the garbage collector's.
 *
 * Not here: making dependents (controllers.ts).
 */
import type { ApiServer } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import { Client } from './client.ts'
import { Controllers } from './controllers.ts'

/** Between steps; each of the three stories takes every third. */
const STEP_MS = 5_000
const NAMESPACE = 'shop'
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`

export interface WorkloadOptions {
  readonly api: ApiServer
  readonly clock: Clock
}

/** Until `signal` aborts. */
export async function runWorkload(options: WorkloadOptions, signal: AbortSignal): Promise<void> {
  const { api, clock } = options
  const controllers = new Controllers(api, clock).run(signal)
  const client = new Client(api, signal)
  await client.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  const shop = new Shop(api, client)
  await shop.open()
  for (let step = 0; !signal.aborted; step++) {
    await shop.step(step)
    await clock.sleep(STEP_MS, signal)
  }
  await controllers
}

class Shop {
  readonly #api: ApiServer
  readonly #client: Client

  constructor(api: ApiServer, client: Client) {
    this.#api = api
    this.#client = client
  }

  async open(): Promise<void> {
    await this.#deploy('web', 3, 1)
    await this.#deploy('cart', 2, 1)
  }

  async step(step: number): Promise<void> {
    const round = Math.floor(step / 3) + 1
    switch (step % 3) {
      case 0:
        return await this.#preview(round)
      case 1:
        return await this.#report(round)
      default:
        return await this.#release(round + 1)
    }
  }

  /** A new preview takes the place of the last one: three kinds deep, all of it left behind. */
  async #preview(round: number): Promise<void> {
    await this.#deploy(`preview-${round}`, 2, round)
    await this.#delete('apps', 'deployments', DEPLOYMENTS, `preview-${round - 1}`)
  }

  async #report(round: number): Promise<void> {
    const labels = { app: 'report' }
    const template = { metadata: { labels }, spec: { containers: [container(round)] } }
    const metadata = { name: `report-${round}`, labels }
    await this.#client.create(JOBS, { metadata, spec: { completions: 2, template } })
    await this.#delete('batch', 'jobs', JOBS, `report-${round - 1}`)
  }

  /** A new template: the controllers make a ReplicaSet for it and delete the old one. */
  async #release(version: number): Promise<void> {
    const template = { spec: { containers: [container(version)] } }
    await this.#client.merge(`${DEPLOYMENTS}/web`, { spec: { template } })
  }

  async #deploy(name: string, replicas: number, version: number): Promise<void> {
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [container(version)] } }
    const spec = { replicas, selector: { matchLabels: labels }, template }
    await this.#client.create(DEPLOYMENTS, { metadata: { name, labels }, spec })
    const owner = this.#api.object('apps', 'deployments', NAMESPACE, name)
    if (owner === undefined) return
    const { uid } = owner.metadata
    const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid }
    for (const part of ['settings', 'theme']) {
      const metadata = { name: `${name}-${part}`, labels, ownerReferences: [reference] }
      await this.#client.create(CONFIG_MAPS, { metadata, data: { version: String(version) } })
    }
  }

  async #delete(group: string, resource: string, path: string, name: string): Promise<void> {
    const object = this.#api.object(group, resource, NAMESPACE, name)
    if (object !== undefined) await this.#client.delete(`${path}/${name}`, object.metadata.uid)
  }
}

function container(version: number): object {
  return { name: 'main', image: `registry.example.com/shop:${version}` }
}
