/**
 * One life of Jobs on one control plane: carries out its actions as a user and as the Job
 * controller would, and knows what its server accepted.
 *
 * What must stay true: each request names the uid it means, so it never reaches a Job that has the
 * name of a former one; what is known of a Job is what the server answered while the Job was live.
 */
import type { Answer } from '../../cluster/api-client.ts'
import { eventually } from '../../eventually.ts'
import {
  collectionPath,
  type Kind,
  kind,
  type Made,
  make,
  NAMESPACE,
  POD,
  pathOf,
  type Requests,
  referenceTo,
} from '../../process/objects.ts'
import type { Slot } from '../action.ts'
import { canary } from '../canary.ts'
import { JOB } from '../kinds.ts'
import { seenIn } from '../seen.ts'
import { HOLD } from '../world.ts'
import type { JobRequest, MakeJob } from './job-life.ts'
import { statusOf } from './job-status.ts'

/** Of one Job, as its server accepted it. */
export interface Accepted {
  readonly made: Made
  readonly pods: readonly Made[]
  readonly ofCronJob: boolean
  ttl: number | null
  /** Seconds since 1970; undefined: it has not finished, or at no known time. */
  finishedS: number | undefined
  /** By a user, or with its CronJob. */
  isRemoved: boolean
  /** When its TTL was changed last, in milliseconds since 1970. */
  changedAt: number
}

/** The object exists and is not being deleted, is being deleted, or another answer. */
export type Said = 'live' | 'being deleted' | `${number}` | 'nothing'

interface Stored {
  readonly metadata?: {
    readonly uid: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
  }
  readonly spec?: object
}

interface Patch {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
}

const CRON_JOB: Kind = {
  ...kind('batch/v1', 'CronJob', 'cronjobs'),
  body: { spec: { schedule: '0 0 1 1 *', suspend: true, jobTemplate: JOB.body } },
}
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }
const CONFLICT = 409

export class JobSide {
  readonly plane: Requests
  readonly namespace: string
  readonly jobs: Map<Slot, Accepted> = new Map()
  #cron: Made | undefined
  #canaries = 0

  constructor(plane: Requests, namespace: string) {
    this.plane = plane
    this.namespace = namespace
  }

  async begin(): Promise<void> {
    const { plane, namespace } = this
    await make(plane, { kind: NAMESPACE, name: namespace })
    this.#cron = await make(plane, { kind: CRON_JOB, namespace, name: 'cron' })
  }

  /** `nowS`: the same for both sides, in seconds since 1970. */
  async apply(action: JobRequest, nowS: number): Promise<Said> {
    switch (action.type) {
      case 'make':
        return await this.#make(action)
      case 'finish':
        return await this.#finish(action, nowS)
      case 'ttl':
        return await this.#setTtl(action.slot, action.ttl)
      case 'touch':
        return await this.#patch(action.slot, { metadata: { annotations: { touched: 'yes' } } })
      case 'remove':
        return await this.#remove(action)
      case 'release':
        return await this.#release(action.slot)
      case 'remove-cron':
        return await this.#removeCron()
    }
  }

  /** Both collectors know what was made before to these kinds. */
  async settle(): Promise<void> {
    const { plane, namespace } = this
    await canary(
      plane,
      [JOB, POD].map((of) => ({ kind: of, namespace })),
    )
  }

  /** A Job that is due at once is deleted. */
  async expireOne(): Promise<void> {
    const name = `canary-${this.#canaries++}`
    const { plane, namespace } = this
    const body = { spec: { ...bodySpec(), ttlSecondsAfterFinished: 0 } }
    const made = await make(plane, { kind: { ...JOB, body }, namespace, name })
    const status = statusOf('Complete', Math.floor(Date.now() / 1_000))
    await plane.request('PATCH', `${pathOf(made)}/status`, { status }, MERGE_PATCH)
    await eventually(`${namespace}/${name} expires`, async () => {
      const { status: code } = await plane.request('GET', pathOf(made))
      return code === 404 || `${code}`
    })
  }

  /** Of each Job and pod that was made: `live`, or `being deleted` with its finalizers. */
  async look(): Promise<ReadonlyMap<string, string>> {
    const { plane, namespace } = this
    const lists = await Promise.all(
      [JOB, POD].map((of) => seenIn(plane, collectionPath(of, namespace))),
    )
    const seen = lists.flat().map(({ uid, deleting, finalizers, owners }) => {
      const state = deleting ? 'being deleted' : 'live'
      return [uid, `${state}, of [${owners}], with [${[...finalizers].sort()}]`] as const
    })
    return new Map(seen)
  }

  async #make({ slot, name, ttl, finalizers, pods, ofCronJob }: MakeJob): Promise<Said> {
    const { plane, namespace } = this
    const owner = { ...referenceTo(this.#cron!), controller: true, blockOwnerDeletion: true }
    const { status, body } = await plane.request<Stored>('POST', collectionPath(JOB, namespace), {
      apiVersion: JOB.apiVersion,
      kind: JOB.kind,
      metadata: {
        name: `j${name}`,
        finalizers,
        ...(ofCronJob && { ownerReferences: [owner] }),
      },
      spec: { ...bodySpec(), ...(ttl !== null && { ttlSecondsAfterFinished: ttl }) },
    })
    if (status !== 201) return `${status}`
    const { uid, resourceVersion } = body.metadata!
    const made: Made = { kind: JOB, namespace, name: `j${name}`, uid, resourceVersion }
    const reference = { ...referenceTo(made), controller: true, blockOwnerDeletion: true }
    const podsMade: Made[] = []
    for (const [index, own] of pods.entries()) {
      const draft = { kind: POD, namespace, name: `j${slot}-${index}`, owners: [reference] }
      podsMade.push(await make(plane, { ...draft, finalizers: own }))
    }
    const fresh = { ttl, finishedS: undefined, isRemoved: false, changedAt: 0 }
    this.jobs.set(slot, { made, pods: podsMade, ofCronJob, ...fresh })
    return 'live'
  }

  async #finish(
    { slot, as, agoS }: Extract<JobRequest, { type: 'finish' }>,
    nowS: number,
  ): Promise<Said> {
    const job = this.jobs.get(slot)
    const time = nowS - agoS
    const said = await this.#patch(slot, { status: statusOf(as, time) }, '/status')
    const isFinal = as === 'Complete' || as === 'Failed'
    if (said === 'live' && isFinal) job!.finishedS = time
    return said
  }

  async #setTtl(slot: Slot, ttl: number | null): Promise<Said> {
    const said = await this.#patch(slot, { spec: { ttlSecondsAfterFinished: ttl } })
    const job = this.jobs.get(slot)
    if (said === 'live') Object.assign(job!, { ttl, changedAt: Date.now() })
    return said
  }

  async #remove({ slot, policy }: Extract<JobRequest, { type: 'remove' }>): Promise<Said> {
    const job = this.jobs.get(slot)
    if (job === undefined) return 'nothing'
    const { status } = await this.plane.request('DELETE', pathOf(job.made), {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: job.made.uid },
      ...(policy && { propagationPolicy: policy }),
    })
    if (status < 300) job.isRemoved = true
    return `${status}`
  }

  async #removeCron(): Promise<Said> {
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
    const { status } = await this.plane.request('DELETE', pathOf(this.#cron!), options)
    for (const job of this.jobs.values()) if (job.ofCronJob) job.isRemoved = true
    return `${status}`
  }

  /** Of the Job and its pods. */
  async #release(slot: Slot): Promise<Said> {
    const job = this.jobs.get(slot)
    for (const made of job === undefined ? [] : [job.made, ...job.pods]) await this.#free(made)
    return 'nothing'
  }

  /** A collector may write finalizers at the same time. */
  async #free(made: Made): Promise<void> {
    for (;;) {
      const { status, body } = await this.plane.request<Stored>('GET', pathOf(made))
      const { uid, resourceVersion, finalizers = [] } = body.metadata ?? {}
      if (status !== 200 || uid !== made.uid || !finalizers.includes(HOLD)) return
      const left = finalizers.filter((each) => each !== HOLD)
      const metadata = { uid, resourceVersion, finalizers: left }
      const answer = await this.plane.request('PATCH', pathOf(made), { metadata }, MERGE_PATCH)
      if (answer.status !== CONFLICT) return
    }
  }

  async #patch(slot: Slot, patch: Patch, below = ''): Promise<Said> {
    const job = this.jobs.get(slot)
    if (job === undefined) return 'nothing'
    const metadata = { ...patch.metadata, uid: job.made.uid }
    const path = `${pathOf(job.made)}${below}`
    const body = { ...patch, metadata }
    return saidOf(await this.plane.request<Stored>('PATCH', path, body, MERGE_PATCH))
  }
}

function saidOf({ status, body }: Answer<Stored>): Said {
  if (status !== 200) return `${status}`
  return body.metadata?.deletionTimestamp === undefined ? 'live' : 'being deleted'
}

function bodySpec(): object {
  return (JOB.body as { readonly spec: object }).spec
}
