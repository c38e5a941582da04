/**
 * A little of Argo CD: an Application in the first cluster, and what it manages in all of them,
 * with the mark that Argo CD puts on it. There is no owner reference from one cluster to another,
 * so what is seen across them is seen by these marks.
 *
 * What must stay true: as Argo CD it deletes what it manages when its Application is deleted, and
 * removes its finalizer then. It touches nothing that it did not create, whatever its name. What is
 * missing is created again after a while.
 */
import type { ApiObject, ApiServer } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import { Client } from './client.ts'

export const APPLICATION = { namespace: 'argocd', name: 'catalog' } as const

const STEP_MS = 1_000
const USER = 'system:serviceaccount:argocd:argocd-application-controller'
const FINALIZER = 'resources-finalizer.argocd.argoproj.io'
const TRACKING_ID = 'argocd.argoproj.io/tracking-id'
const GROUP = 'argoproj.io'
const NAMESPACES = '/api/v1/namespaces'
const NAMESPACE = 'catalog'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const APPLICATIONS = `/apis/${GROUP}/v1alpha1/namespaces/${APPLICATION.namespace}/applications`

const DEFINITION = {
  metadata: { name: `applications.${GROUP}` },
  spec: {
    ...{ group: GROUP, scope: 'Namespaced' },
    names: {
      ...{ kind: 'Application', plural: 'applications', singular: 'application' },
      ...{ listKind: 'ApplicationList', shortNames: ['app', 'apps'] },
    },
    versions: [
      {
        ...{ name: 'v1alpha1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}

interface Managed {
  readonly group: string
  readonly kind: string
  readonly resource: string
  readonly name: string
  readonly path: string
  readonly content: object
}

const LABELS = { app: 'catalog' }
const MANAGED: readonly Managed[] = [
  {
    ...{ group: 'apps', kind: 'Deployment', resource: 'deployments', name: 'catalog' },
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
    content: {
      spec: {
        ...{ replicas: 1, selector: { matchLabels: LABELS } },
        template: {
          metadata: { labels: LABELS },
          spec: { containers: [{ name: 'main', image: 'registry.example.com/catalog:1' }] },
        },
      },
    },
  },
  {
    ...{ group: '', kind: 'ConfigMap', resource: 'configmaps', name: 'catalog-theme' },
    path: `${NAMESPACES}/${NAMESPACE}/configmaps`,
    content: { data: { colour: 'green' } },
  },
]

export interface ArgoOptions {
  /** The first has the Application. */
  readonly apis: readonly [ApiServer, ...ApiServer[]]
  readonly clock: Clock
  readonly missingMs: number
}

/** Until `signal` aborts. */
export async function runArgo(options: ArgoOptions, signal: AbortSignal): Promise<void> {
  const argo = new Argo(options, signal)
  await argo.open()
  while (!signal.aborted) {
    await argo.step()
    await options.clock.sleep(STEP_MS, signal)
  }
}

class Argo {
  readonly #options: ArgoOptions
  readonly #clients: readonly Client[]
  /** Uids of what it created, by cluster and name; of the Application, too. */
  readonly #created = new Map<string, string>()
  readonly #missing = new Map<string, number>()

  constructor(options: ArgoOptions, signal: AbortSignal) {
    this.#options = options
    this.#clients = options.apis.map((api) => new Client(api, signal, USER))
  }

  async open(): Promise<void> {
    const [first] = this.#clients
    await first?.create(DEFINITIONS, DEFINITION)
    await first?.create(NAMESPACES, { metadata: { name: APPLICATION.namespace } })
    await this.#createApplication()
    for (const [at, client] of this.#clients.entries()) {
      await client.create(NAMESPACES, { metadata: { name: NAMESPACE } })
      for (const managed of MANAGED) await this.#create(at, managed)
    }
  }

  async step(): Promise<void> {
    const [api] = this.#options.apis
    const { namespace, name } = APPLICATION
    const found = api.object(GROUP, 'applications', namespace, name)
    if (found === undefined) {
      if (this.#isDue('application')) await this.#createApplication()
      return
    }
    this.#missing.delete('application')
    // One of a user's is none of ours.
    if (found.metadata.uid !== this.#created.get('application')) return
    if (found.metadata.deletionTimestamp !== undefined) await this.#prune(found)
    else await this.#sync()
  }

  async #sync(): Promise<void> {
    for (const [at, api] of this.#options.apis.entries()) {
      for (const managed of MANAGED) {
        const { group, resource, name } = managed
        const key = `${at} ${name}`
        const isThere = api.object(group, resource, NAMESPACE, name) !== undefined
        if (isThere) this.#missing.delete(key)
        else if (this.#isDue(key)) await this.#create(at, managed)
      }
    }
  }

  async #prune(application: ApiObject): Promise<void> {
    let left = 0
    for (const [at, client] of this.#clients.entries()) {
      for (const { group, resource, name, path } of MANAGED) {
        const found = this.#options.apis[at]?.object(group, resource, NAMESPACE, name)
        const uid = this.#created.get(`${at} ${name}`)
        if (found === undefined || found.metadata.uid !== uid) continue
        left += 1
        await client.delete(`${path}/${name}`, uid)
      }
    }
    if (left > 0) return
    const metadata = { uid: application.metadata.uid, finalizers: null }
    await this.#clients[0]?.merge(`${APPLICATIONS}/${APPLICATION.name}`, { metadata })
  }

  async #createApplication(): Promise<void> {
    const metadata = { name: APPLICATION.name, finalizers: [FINALIZER] }
    const object = { apiVersion: `${GROUP}/v1alpha1`, kind: 'Application', metadata }
    const uid = await this.#clients[0]?.create(APPLICATIONS, object)
    if (uid !== undefined) this.#created.set('application', uid)
  }

  async #create(at: number, { group, kind, name, path, content }: Managed): Promise<void> {
    const id = `${APPLICATION.name}:${group}/${kind}:${NAMESPACE}/${name}`
    const metadata = { name, labels: LABELS, annotations: { [TRACKING_ID]: id } }
    const uid = await this.#clients[at]?.create(path, { metadata, ...content })
    if (uid !== undefined) this.#created.set(`${at} ${name}`, uid)
  }

  #isDue(key: string): boolean {
    const now = this.#options.clock.monotonicMs()
    const since = this.#missing.get(key) ?? now
    this.#missing.set(key, since)
    return now - since >= this.#options.missingMs
  }
}
