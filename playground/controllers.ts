/**
 * The playground's own controllers: ReplicaSets for Deployments, pods for ReplicaSets and Jobs, and
 * pods that come to run.
 *
 * What must stay true: they never fight a deletion. An object that is being deleted, or whose owner
 * is deleted or terminating, gets no new dependents; an object that has lost its owner is left to
 * the garbage collector. Every dependent references its controller, and blocks its deletion.
 *
 * Not here: deciding what there should be (workload.ts, or a user of kubectl).
 */
import type { ApiObject, ApiServer, Effect } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import { hash32 } from '../ports/partition.ts'
import { Client } from './client.ts'

/** Between looks at what has changed. */
const TICK_MS = 250
/** Objects reconciled in one tick; the others wait for the next one. */
const PER_TICK = 100
/** Dependents made for one owner in one tick. */
const AT_ONCE = 50

/** As upstream names the one that deletes old ReplicaSets. */
const USER = 'system:serviceaccount:kube-system:deployment-controller'

type Controlled = 'deployments' | 'replicasets' | 'jobs' | 'pods'

const GROUPS: Readonly<Record<Controlled, string>> = {
  deployments: 'apps',
  replicasets: 'apps',
  jobs: 'batch',
  pods: '',
}
const OF_KIND: ReadonlyMap<string, Controlled> = new Map([
  ['Deployment', 'deployments'],
  ['ReplicaSet', 'replicasets'],
  ['Job', 'jobs'],
])

interface Place {
  readonly resource: Controlled
  readonly namespace: string
  readonly name: string
}

export class Controllers {
  readonly #api: ApiServer
  readonly #clock: Clock
  /** What has changed, or whose dependents have. */
  readonly #dirty = new Map<string, Place>()
  /** Names of dependents by the uid of their controller, so that nothing is ever searched. */
  readonly #dependents = new Map<string, Map<string, Place>>()

  constructor(api: ApiServer, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const client = new Client(this.#api, signal, USER)
    const stop = this.#api.observe((effect) => this.#notice(effect))
    for (const [resource, group] of Object.entries(GROUPS)) {
      for (const object of this.#api.objects(group, resource)) {
        this.#noticeObject(resource as Controlled, object, true)
      }
    }
    while (!signal.aborted) {
      const due = [...this.#dirty].slice(0, PER_TICK)
      for (const [key, place] of due) {
        this.#dirty.delete(key)
        await this.#reconcile(client, place)
      }
      await this.#clock.sleep(TICK_MS, signal)
    }
    stop()
  }

  #notice({ kind, before, after }: Effect): void {
    const resource = kind.resource as Controlled
    if (GROUPS[resource] !== kind.group) return
    this.#noticeObject(resource, (after ?? before)!, after !== null)
  }

  #noticeObject(resource: Controlled, object: ApiObject, isThere: boolean): void {
    const { namespace = '', name, uid } = object.metadata
    const place = { resource, namespace, name }
    if (isThere) this.#dirty.set(keyOf(place), place)
    else this.#dependents.delete(uid)
    const controller = controllerOf(object)
    const of = controller && OF_KIND.get(controller.kind)
    if (controller === undefined || of === undefined) return
    const owner = { resource: of, namespace, name: controller.name }
    this.#dirty.set(keyOf(owner), owner)
    let dependents = this.#dependents.get(controller.uid)
    if (dependents === undefined) {
      if (!isThere || this.#find(owner)?.metadata.uid !== controller.uid) return
      dependents = new Map()
      this.#dependents.set(controller.uid, dependents)
    }
    if (isThere) dependents.set(keyOf(place), place)
    else dependents.delete(keyOf(place))
  }

  async #reconcile(client: Client, place: Place): Promise<void> {
    const object = this.#find(place)
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
    const controller = controllerOf(object)
    const of = controller && OF_KIND.get(controller.kind)
    if (controller !== undefined && of !== undefined) {
      const owner = this.#find({ ...place, resource: of, name: controller.name })
      const isLost = owner?.metadata.uid !== controller.uid
      if (isLost || owner?.metadata.deletionTimestamp !== undefined) return
    }
    switch (place.resource) {
      case 'deployments':
        return await this.#reconcileDeployment(client, object)
      case 'replicasets':
        return await this.#reconcileReplicaSet(client, object)
      case 'jobs':
        return await this.#reconcileJob(client, object)
      case 'pods':
        return await this.#runPod(client, object, place)
    }
  }

  async #reconcileDeployment(client: Client, deployment: ApiObject): Promise<void> {
    const { namespace = '', name } = deployment.metadata
    const { replicas, template, selector } = specOf(deployment)
    const wanted = `${name}-${hash32(JSON.stringify(template)).toString(36)}`
    const sets = this.#live(deployment)
    const current = sets.find(({ metadata }) => metadata.name === wanted)
    const path = collectionPath('replicasets', namespace)
    if (current === undefined) {
      const metadata = dependentMetadata(deployment, wanted)
      // Refused while one of an earlier owner of this name is still there; its going brings us
      // back.
      await client.create(path, { metadata, spec: { replicas, selector, template } })
      return
    }
    if (specOf(current).replicas !== replicas) {
      await client.merge(`${path}/${wanted}`, { spec: { replicas } })
    }
    const ready = statusNumber(current, 'readyReplicas')
    // The old ones are deleted when the new one is ready. Their pods have no owner then.
    for (const old of ready < replicas ? [] : sets) {
      if (old !== current) await client.delete(`${path}/${old.metadata.name}`, old.metadata.uid)
    }
    const status = {
      observedGeneration: deployment.metadata.generation,
      replicas: statusNumber(current, 'replicas'),
      ...{ updatedReplicas: ready, readyReplicas: ready, availableReplicas: ready },
      conditions: [{ type: 'Available', status: ready < replicas ? 'False' : 'True' }],
    }
    await client.merge(`${collectionPath('deployments', namespace)}/${name}/status`, { status })
  }

  async #reconcileReplicaSet(client: Client, set: ApiObject): Promise<void> {
    const { namespace = '', name } = set.metadata
    const { replicas } = specOf(set)
    const pods = this.#live(set)
    for (let missing = Math.min(replicas - pods.length, AT_ONCE); missing > 0; missing--) {
      await this.#createPod(client, set)
    }
    for (const { metadata } of pods.slice(replicas)) {
      await client.delete(`${collectionPath('pods', namespace)}/${metadata.name}`, metadata.uid)
    }
    const running = pods.filter((pod) => phaseOf(pod) === 'Running').length
    const status = {
      observedGeneration: set.metadata.generation,
      ...{ replicas: pods.length, readyReplicas: running, availableReplicas: running },
    }
    await client.merge(`${collectionPath('replicasets', namespace)}/${name}/status`, { status })
    if (replicas - pods.length > AT_ONCE) this.#again('replicasets', set)
  }

  async #reconcileJob(client: Client, job: ApiObject): Promise<void> {
    const { namespace = '', name } = job.metadata
    const { completions = 1 } = job['spec'] as { readonly completions?: number }
    const pods = this.#live(job)
    for (let missing = Math.min(completions - pods.length, AT_ONCE); missing > 0; missing--) {
      await this.#createPod(client, job)
    }
    const succeeded = pods.filter((pod) => phaseOf(pod) === 'Succeeded').length
    const conditions = succeeded < completions ? [] : [{ type: 'Complete', status: 'True' }]
    const status = { active: pods.length - succeeded, succeeded, conditions }
    await client.merge(`${collectionPath('jobs', namespace)}/${name}/status`, { status })
  }

  async #createPod(client: Client, owner: ApiObject): Promise<void> {
    const { namespace = '', name } = owner.metadata
    const { labels, ownerReferences } = dependentMetadata(owner, name)
    const spec = (specOf(owner).template as { readonly spec?: object }).spec ?? {}
    const metadata = { generateName: `${name}-`, labels, ownerReferences }
    await client.create(collectionPath('pods', namespace), { metadata, spec })
  }

  /** What a node would do to it: a pod of a Job ends, any other goes on. */
  async #runPod(client: Client, pod: ApiObject, { namespace, name }: Place): Promise<void> {
    const controller = controllerOf(pod)
    const phase = phaseOf(pod)
    if (controller === undefined) return
    const isOfJob = controller.kind === 'Job'
    const next = phase === 'Pending' ? 'Running' : isOfJob ? 'Succeeded' : phase
    if (next === phase) return
    const containers = (pod['spec'] as { readonly containers?: readonly { name: string }[] })
      .containers
    const containerStatuses = containers?.map((container) => ({
      ...{ name: container.name, ready: next === 'Running', restartCount: 0 },
    }))
    const status = { phase: next, containerStatuses }
    await client.merge(`${collectionPath('pods', namespace)}/${name}/status`, { status })
  }

  /** Dependents that are not being deleted, oldest first. */
  #live(owner: ApiObject): readonly ApiObject[] {
    const places = this.#dependents.get(owner.metadata.uid)?.values() ?? []
    const found: ApiObject[] = []
    for (const place of places) {
      const object = this.#find(place)
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) continue
      if (controllerOf(object)?.uid === owner.metadata.uid) found.push(object)
    }
    return found
  }

  #again(resource: Controlled, { metadata }: ApiObject): void {
    const place = { resource, namespace: metadata.namespace ?? '', name: metadata.name }
    this.#dirty.set(keyOf(place), place)
  }

  #find({ resource, namespace, name }: Place): ApiObject | undefined {
    return this.#api.object(GROUPS[resource], resource, namespace, name)
  }
}

function collectionPath(resource: Controlled, namespace: string): string {
  const group = GROUPS[resource]
  const root = group === '' ? '/api/v1' : `/apis/${group}/v1`
  return `${root}/namespaces/${namespace}/${resource}`
}

function keyOf({ resource, namespace, name }: Place): string {
  return `${resource}/${namespace}/${name}`
}

type Reference = NonNullable<ApiObject['metadata']['ownerReferences']>[number]

function controllerOf({ metadata }: ApiObject): Reference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

function dependentMetadata(owner: ApiObject, name: string): ApiObject['metadata'] {
  const { template } = specOf(owner) as { readonly template?: { metadata?: { labels?: object } } }
  const { apiVersion, kind } = owner
  const reference = { apiVersion, kind, name: owner.metadata.name, uid: owner.metadata.uid }
  const ownerReferences = [{ ...reference, controller: true, blockOwnerDeletion: true }]
  const labels = template?.metadata?.labels ?? {}
  return { name, labels, ownerReferences } as unknown as ApiObject['metadata']
}

interface WorkloadSpec {
  readonly replicas: number
  readonly template: object
  readonly selector: object
}

function specOf(object: ApiObject): WorkloadSpec {
  const spec = (object['spec'] ?? {}) as Partial<WorkloadSpec>
  return {
    replicas: spec.replicas ?? 1,
    template: spec.template ?? {},
    selector: spec.selector ?? {},
  }
}

function statusNumber(object: ApiObject, field: string): number {
  const status = (object['status'] ?? {}) as Readonly<Record<string, unknown>>
  return Number(status[field] ?? 0)
}

function phaseOf(pod: ApiObject): string {
  return ((pod['status'] ?? {}) as { readonly phase?: string }).phase ?? 'Pending'
}
