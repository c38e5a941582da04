/**
 * A small living workload, so that cascades happen by themselves: a shop that is rolled out again
 * and again, previews that come and go, reports that are made and thrown away.
 *
 * What must stay true: it only creates, changes and deletes owners, and summaries that have none.
 * What becomes of dependents is the garbage collector's. It touches nothing that it did not create,
 * whatever its name. What a user deletes of the lasting part is created again after a minute, so
 * that the commands of the README work a second time.
 *
 * Not here: making dependents (controllers.ts).
 */
import type { ApiObject, ApiServer } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import { Client } from './client.ts'
import { Controllers } from './controllers.ts'
import { SUMMARY_LABELS } from './rules.ts'

/** Between steps; each of the three stories takes every third. */
const STEP_MS = 5_000
/** What a user deleted is missing for so long, unless another time is given. */
export const MISSING_MS = 60_000
/** As whom it creates and deletes: what a pipeline of the shop's would be. */
const USER = 'system:serviceaccount:shop:deployer'
const NAMESPACE = 'shop'
const NAMESPACES = '/api/v1/namespaces'
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
const CONFIG_MAPS = `${NAMESPACES}/${NAMESPACE}/configmaps`
const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`
/** The Deployments that last, and their replicas. */
const LASTING = { web: 3, cart: 2 } as const
const PARTS = ['settings', 'theme'] as const
/** One for each round of 15 s. */
const MOST_SUMMARIES = 240

export interface WorkloadOptions {
  readonly api: ApiServer
  readonly clock: Clock
  /** For how long what a user deleted stays missing: with an archive, long enough to restore it. */
  readonly missingMs?: number
}

/** Until `signal` aborts. */
export async function runWorkload(options: WorkloadOptions, signal: AbortSignal): Promise<void> {
  const { api, clock, missingMs = MISSING_MS } = options
  const controllers = new Controllers(api, clock).run(signal)
  const shop = new Shop(api, new Client(api, signal, USER), clock, missingMs)
  await shop.open()
  for (let step = 0; !signal.aborted; step++) {
    await shop.step(step)
    await clock.sleep(STEP_MS, signal)
  }
  await controllers
}

type Resource = 'namespaces' | 'deployments' | 'configmaps' | 'jobs'

const KINDS: Readonly<Record<Resource, { readonly group: string; readonly path: string }>> = {
  namespaces: { group: '', path: NAMESPACES },
  deployments: { group: 'apps', path: DEPLOYMENTS },
  configmaps: { group: '', path: CONFIG_MAPS },
  jobs: { group: 'batch', path: JOBS },
}

class Shop {
  readonly #api: ApiServer
  readonly #client: Client
  readonly #clock: Clock
  readonly #missingMs: number
  /**
   * Uids of what it created and still follows, by `RESOURCE/NAME`: an object of that name and
   * another uid is a user's.
   */
  readonly #created = new Map<string, string>()
  /** Since when what should be there is missing, by `RESOURCE/NAME`. */
  readonly #missing = new Map<string, number>()
  #version = 1

  constructor(api: ApiServer, client: Client, clock: Clock, missingMs: number) {
    this.#api = api
    this.#client = client
    this.#clock = clock
    this.#missingMs = missingMs
  }

  async open(): Promise<void> {
    await this.#create('namespaces', NAMESPACE)
    for (const [name, replicas] of Object.entries(LASTING)) await this.#deploy(name, replicas, 1)
  }

  async step(step: number): Promise<void> {
    await this.#replace()
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

  /** What lasts and has been missing for a minute. */
  async #replace(): Promise<void> {
    if (this.#isDue('namespaces', NAMESPACE)) await this.#create('namespaces', NAMESPACE)
    for (const [name, replicas] of Object.entries(LASTING)) {
      if (this.#isDue('deployments', name)) await this.#deploy(name, replicas, this.#version)
      const owner = this.#own('deployments', name)
      if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) continue
      for (const part of PARTS) await this.#replacePart(owner, part)
    }
  }

  /**
   * One that its owner orphaned is taken back; one of an earlier owner is left to the collector,
   * and keeps the name until then.
   */
  async #replacePart(owner: ApiObject, part: string): Promise<void> {
    const name = partOf(owner.metadata.name, part)
    const mine = this.#own('configmaps', name)
    if (mine !== undefined && (mine.metadata.ownerReferences ?? []).length === 0) {
      const metadata = { uid: mine.metadata.uid, ownerReferences: [referenceTo(owner)] }
      await this.#client.merge(`${CONFIG_MAPS}/${name}`, { metadata })
    }
    if (this.#isDue('configmaps', name)) await this.#createPart(owner, part, this.#version)
  }

  /** A new preview takes the place of the last one: three kinds deep, all of it left behind. */
  async #preview(round: number): Promise<void> {
    await this.#deploy(`preview-${round}`, 2, round)
    await this.#delete('deployments', `preview-${round - 1}`)
  }

  async #report(round: number): Promise<void> {
    const labels = { app: 'report' }
    const template = { metadata: { labels }, spec: { containers: [container(round)] } }
    const spec = { completions: 2, template }
    await this.#create('jobs', `report-${round}`, { labels }, { spec })
    await this.#delete('jobs', `report-${round - 1}`)
    // It has no owner: it stays until a rule, or its maker after an hour, deletes it.
    const data = { summary: `of report ${round}` }
    const name = (of: number): string => `report-${of}-summary`
    await this.#create('configmaps', name(round), { labels: SUMMARY_LABELS }, { data })
    await this.#delete('configmaps', name(round - MOST_SUMMARIES))
  }

  /** A new template: the controllers make a ReplicaSet for it and delete the old one. */
  async #release(version: number): Promise<void> {
    this.#version = version
    const template = { spec: { containers: [container(version)] } }
    if (this.#own('deployments', 'web') === undefined) return
    await this.#client.merge(`${DEPLOYMENTS}/web`, { spec: { template } })
  }

  async #deploy(name: string, replicas: number, version: number): Promise<void> {
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [container(version)] } }
    const spec = { replicas, selector: { matchLabels: labels }, template }
    await this.#create('deployments', name, { labels }, { spec })
    const owner = this.#own('deployments', name)
    if (owner === undefined) return
    for (const part of PARTS) await this.#createPart(owner, part, version)
  }

  async #createPart(owner: ApiObject, part: string, version: number): Promise<void> {
    const { name, labels } = owner.metadata
    const metadata = { labels, ownerReferences: [referenceTo(owner)] }
    const data = { version: String(version) }
    await this.#create('configmaps', partOf(name, part), metadata, { data })
  }

  async #create(
    resource: Resource,
    name: string,
    metadata: object = {},
    content: object = {},
  ): Promise<void> {
    const object = { metadata: { ...metadata, name }, ...content }
    const uid = await this.#client.create(KINDS[resource].path, object)
    if (uid !== undefined) this.#created.set(`${resource}/${name}`, uid)
  }

  async #delete(resource: Resource, name: string): Promise<void> {
    const own = this.#own(resource, name)
    this.#created.delete(`${resource}/${name}`)
    for (const part of PARTS) this.#created.delete(`configmaps/${partOf(name, part)}`)
    const { path } = KINDS[resource]
    if (own !== undefined) await this.#client.delete(`${path}/${name}`, own.metadata.uid)
  }

  /**
   * It has been missing for a minute. Where an object of another creator has its name, it is not
   * missing.
   */
  #isDue(resource: Resource, name: string): boolean {
    const key = `${resource}/${name}`
    const now = this.#clock.monotonicMs()
    if (this.#find(resource, name) !== undefined) {
      this.#missing.delete(key)
      return false
    }
    const since = this.#missing.get(key) ?? now
    this.#missing.set(key, since)
    return now - since >= this.#missingMs
  }

  /** Undefined where it is missing, or was created by another client. */
  #own(resource: Resource, name: string): ApiObject | undefined {
    const found = this.#find(resource, name)
    return found?.metadata.uid === this.#created.get(`${resource}/${name}`) ? found : undefined
  }

  #find(resource: Resource, name: string): ApiObject | undefined {
    const namespace = resource === 'namespaces' ? '' : NAMESPACE
    return this.#api.object(KINDS[resource].group, resource, namespace, name)
  }
}

function partOf(deployment: string, part: string): string {
  return `${deployment}-${part}`
}

function referenceTo({ metadata: { name, uid } }: ApiObject): object {
  return { apiVersion: 'apps/v1', kind: 'Deployment', name, uid }
}

function container(version: number): object {
  return { name: 'main', image: `registry.example.com/shop:${version}` }
}
