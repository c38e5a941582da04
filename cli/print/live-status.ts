/**
 * READY, REASON and STATUS of an object as kubectl-tree shows them: its condition Ready, and what
 * the kstatus library makes of it.
 *
 * What must stay true: it is decided by the object alone; a kind that is not known here is judged
 * by the conditions that all may have. What is no object is `?`.
 *
 * Not here: reading it (live.ts).
 */
export interface LiveStatus {
  /** `True`, `False`, `Unknown`; `-` where it has no such condition. */
  readonly ready: string
  readonly reason: string
  readonly status: 'Current' | 'InProgress' | 'Failed' | 'Terminating'
}

type Json = Readonly<Record<string, unknown>>
type Status = LiveStatus['status']

export function liveStatusOf(object: Json): LiveStatus {
  const ready = conditionsIn(object).find(({ type }) => type === 'Ready')
  return {
    ready: ready === undefined ? '-' : ready.status,
    reason: ready === undefined ? '' : ready.reason,
    status: statusOf(object),
  }
}

function statusOf(object: Json): Status {
  const metadata = under(object, 'metadata')
  if (metadata['deletionTimestamp'] != null) return 'Terminating'
  const observed = under(object, 'status')['observedGeneration']
  if (typeof observed === 'number' && observed !== metadata['generation']) return 'InProgress'
  if (isTrue(object, 'Stalled')) return 'Failed'
  if (isTrue(object, 'Reconciling')) return 'InProgress'
  const [group = ''] = String(object['apiVersion'] ?? '').split('/', 1)
  const own = BY_KIND[`${group}/${object['kind']}`]
  if (own !== undefined) return own(object)
  return isFalse(object, 'Ready') || conditionOf(object, 'Ready') === 'Unknown'
    ? 'InProgress'
    : 'Current'
}

/** By `GROUP/KIND`; the core group's is its version. */
const BY_KIND: Readonly<Record<string, (object: Json) => Status>> = {
  'v1/Pod': podStatus,
  'v1/PersistentVolumeClaim': (claim) =>
    under(claim, 'status')['phase'] === 'Bound' ? 'Current' : 'InProgress',
  'v1/Service': (service) => {
    const { type, clusterIP } = under(service, 'spec')
    return type === 'LoadBalancer' && !clusterIP ? 'InProgress' : 'Current'
  },
  'apps/Deployment': deploymentStatus,
  'apps/ReplicaSet': (set) => {
    if (isTrue(set, 'ReplicaFailure')) return 'InProgress'
    return isReached(set, [
      'replicas',
      'fullyLabeledReplicas',
      'availableReplicas',
      'readyReplicas',
    ])
  },
  'apps/StatefulSet': statefulSetStatus,
  'apps/DaemonSet': daemonSetStatus,
  'batch/Job': (job) => {
    if (isTrue(job, 'Failed')) return 'Failed'
    if (isTrue(job, 'Complete')) return 'Current'
    return under(job, 'status')['startTime'] === undefined ? 'InProgress' : 'Current'
  },
  'apiextensions.k8s.io/CustomResourceDefinition': (definition) => {
    if (isFalse(definition, 'NamesAccepted')) return 'Failed'
    return isTrue(definition, 'Established') ? 'Current' : 'InProgress'
  },
}

function podStatus(pod: Json): Status {
  const status = under(pod, 'status')
  switch (status['phase']) {
    case 'Succeeded':
      return 'Current'
    case 'Failed':
      return 'Failed'
    case 'Running': {
      if (isTrue(pod, 'Ready')) return 'Current'
      const waiting = listed(status['containerStatuses']).map((each) => {
        return under(under(each, 'state'), 'waiting')['reason']
      })
      return waiting.includes('CrashLoopBackOff') ? 'Failed' : 'InProgress'
    }
    default:
      return 'InProgress'
  }
}

function deploymentStatus(deployment: Json): Status {
  const progress = conditionsIn(deployment).find(({ type }) => type === 'Progressing')
  if (progress?.status === 'False' && progress.reason === 'ProgressDeadlineExceeded')
    return 'Failed'
  const reached = isReached(deployment, [
    ...['replicas', 'updatedReplicas', 'availableReplicas', 'readyReplicas'],
  ])
  return reached === 'Current' && isTrue(deployment, 'Available') ? 'Current' : 'InProgress'
}

function statefulSetStatus(set: Json): Status {
  const strategy = under(under(set, 'spec'), 'updateStrategy')
  if (strategy['type'] === 'OnDelete') return 'Current'
  const { currentRevision, updateRevision } = under(set, 'status')
  const partition = under(strategy, 'rollingUpdate')['partition']
  const isUpdated = currentRevision === updateRevision || (Number(partition) || 0) > 0
  return isUpdated ? isReached(set, ['replicas', 'readyReplicas']) : 'InProgress'
}

function daemonSetStatus(set: Json): Status {
  const status = under(set, 'status')
  const desired = status['desiredNumberScheduled']
  if (typeof desired !== 'number') return 'InProgress'
  const counts = ['currentNumberScheduled', 'updatedNumberScheduled', 'numberAvailable']
  const isThere = [...counts, 'numberReady'].every((key) => numberIn(status, key) >= desired)
  return isThere ? 'Current' : 'InProgress'
}

/** The first is the number of all: more of them than wanted are on their way out. */
function isReached(object: Json, keys: readonly [string, ...string[]] | readonly string[]): Status {
  const wanted = under(object, 'spec')['replicas'] ?? 1
  const status = under(object, 'status')
  const isEnough = keys.every((key) => numberIn(status, key) >= Number(wanted))
  const isTooMany = numberIn(status, keys[0] ?? '') > Number(wanted)
  return isEnough && !isTooMany ? 'Current' : 'InProgress'
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
}

function conditionsIn(object: Json): readonly Condition[] {
  return listed(under(object, 'status')['conditions']).map((each) => {
    return {
      type: textIn(each, 'type'),
      status: textIn(each, 'status'),
      reason: textIn(each, 'reason'),
    }
  })
}

function conditionOf(object: Json, type: string): string | undefined {
  return conditionsIn(object).find((each) => each.type === type)?.status
}

function isTrue(object: Json, type: string): boolean {
  return conditionOf(object, type) === 'True'
}

function isFalse(object: Json, type: string): boolean {
  return conditionOf(object, type) === 'False'
}

function under(object: Json, key: string): Json {
  const value = object[key]
  return isJson(value) ? value : {}
}

function listed(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : []
}

function textIn(object: Json, key: string): string {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}

function numberIn(object: Json, key: string): number {
  const value = object[key]
  return typeof value === 'number' ? value : 0
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
