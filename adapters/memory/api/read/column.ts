/**
 * The columns under which `kubectl get` shows a kind, and their contents.
 *
 * What must stay true: names and order are kube-apiserver's; a cell is computed from the one object
 * alone.
 *
 * Not here: how a Table is written (representation.ts).
 */
import type { Kind } from '../kind.ts'
import { type ApiObject, arrayAt, isJsonObject, objectAt } from '../object.ts'

export interface Column {
  readonly name: string
  readonly type: string
  /** Above zero only in `-o wide`. */
  readonly priority: number
  readonly cell: (object: ApiObject, nowMs: number) => unknown
}

const NONE = '<none>'
const UNSET = '<unset>'

const NAME = column('Name', (object) => object.metadata.name)
const AGE = column('Age', ({ metadata }, now) => ago(metadata.creationTimestamp, now))
const CONTAINERS = wide('Containers', (object) => inContainers(object, 'name'))
const IMAGES = wide('Images', (object) => inContainers(object, 'image'))
const SELECTOR = wide('Selector', selectorOf)

const REPLICAS: readonly Column[] = [
  column('Desired', specNumber('replicas'), 'integer'),
  column('Current', statusNumber('replicas'), 'integer'),
  column('Ready', statusNumber('readyReplicas'), 'integer'),
]

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  configmaps: [NAME, column('Data', (object) => sizeOf(object, 'data', 'binaryData')), AGE],
  secrets: [
    NAME,
    column('Type', (object) => object['type']),
    column('Data', (object) => sizeOf(object, 'data')),
    AGE,
  ],
  namespaces: [NAME, column('Status', status('phase')), AGE],
  pods: [
    NAME,
    column('Ready', podReady),
    column('Status', podStatus),
    column('Restarts', () => '0'),
    AGE,
    wide('IP', (object) => objectAt(object, 'status')['podIP'] ?? NONE),
    wide('Node', (object) => objectAt(object, 'spec')['nodeName'] ?? NONE),
    wide('Nominated Node', () => NONE),
    wide('Readiness Gates', () => NONE),
  ],
  deployments: [
    NAME,
    column('Ready', readyOf('readyReplicas')),
    column('Up-to-date', statusNumber('updatedReplicas')),
    column('Available', statusNumber('availableReplicas')),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  replicasets: [NAME, ...REPLICAS, AGE, CONTAINERS, IMAGES, SELECTOR],
  replicationcontrollers: [NAME, ...REPLICAS, AGE, CONTAINERS, IMAGES, SELECTOR],
  statefulsets: [NAME, column('Ready', readyOf('readyReplicas')), AGE, CONTAINERS, IMAGES],
  daemonsets: [
    NAME,
    column('Desired', statusNumber('desiredNumberScheduled'), 'integer'),
    column('Current', statusNumber('currentNumberScheduled'), 'integer'),
    column('Ready', statusNumber('numberReady'), 'integer'),
    column('Up-to-date', statusNumber('updatedNumberScheduled'), 'integer'),
    column('Available', statusNumber('numberAvailable'), 'integer'),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  jobs: [
    NAME,
    column('Status', jobStatus),
    column(
      'Completions',
      (job) => `${statusNumber('succeeded')(job)}/${specNumber('completions')(job)}`,
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  cronjobs: [
    NAME,
    column('Schedule', (object) => objectAt(object, 'spec')['schedule']),
    column('Suspend', (object) =>
      objectAt(object, 'spec')['suspend'] === true ? 'True' : 'False',
    ),
    column('Active', (object) => arrayAt(object['status'], 'active').length, 'integer'),
    AGE,
  ],
  services: [
    NAME,
    column('Type', (object) => objectAt(object, 'spec')['type']),
    column('Cluster-IP', (object) => objectAt(object, 'spec')['clusterIP'] ?? NONE),
    column('External-IP', () => NONE),
    column('Port(s)', portsOf),
    AGE,
  ],
  nodes: [NAME, column('Status', nodeStatus), column('Roles', () => NONE), AGE],
  events: [
    column('Last Seen', (event, now) => ago(String(event['lastTimestamp'] ?? ''), now)),
    column('Type', (event) => event['type']),
    column('Reason', (event) => event['reason']),
    column('Object', involvedIn),
    column('Message', (event) => event['message']),
    { ...wide('Name', (event) => event.metadata.name) },
  ],
  leases: [
    NAME,
    column('Holder', (object) => objectAt(object, 'spec')['holderIdentity'] ?? ''),
    AGE,
  ],
  validatingadmissionpolicies: [
    NAME,
    column('Validations', (object) => arrayAt(object['spec'], 'validations').length, 'integer'),
    column('ParamKind', (object) => paramKind(objectAt(object, 'spec')['paramKind'])),
    AGE,
  ],
  validatingadmissionpolicybindings: [
    NAME,
    column('PolicyName', (object) => objectAt(object, 'spec')['policyName']),
    column('ParamRef', (object) => paramRef(objectAt(object, 'spec')['paramRef'])),
    AGE,
  ],
  customresourcedefinitions: [
    NAME,
    column('Created At', (object) => object.metadata.creationTimestamp, 'date'),
  ],
}

export function columnsOf(kind: Kind, version: string): readonly Column[] {
  if (!kind.custom) return COLUMNS[kind.resource] ?? [NAME, AGE]
  const own = (kind.columns[version] ?? []).map(({ name, type, priority, jsonPath }) => ({
    name,
    type,
    priority,
    cell: (object: ApiObject) => valueAt(object, jsonPath),
  }))
  return own.length === 0 ? [NAME, AGE] : [NAME, ...own]
}

/** As kubectl prints spans of time: two units while they are small. */
function ago(timestamp: string, nowMs: number): string {
  const since = Date.parse(timestamp)
  if (Number.isNaN(since)) return '<unknown>'
  const seconds = Math.max(0, Math.floor((nowMs - since) / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (seconds < 120) return `${seconds}s`
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  if (days < 8) return two(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  return two(Math.floor(days / 365), 'y', days % 365, 'd')
}

function two(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`
}

function column(name: string, cell: Column['cell'], type = 'string'): Column {
  return { name, type, priority: 0, cell }
}

function wide(name: string, cell: Column['cell']): Column {
  return { name, type: 'string', priority: 1, cell }
}

function status(field: string): Column['cell'] {
  return (object) => objectAt(object, 'status')[field] ?? ''
}

function specNumber(field: string): (object: ApiObject) => number {
  return (object) => Number(objectAt(object, 'spec')[field] ?? 0)
}

function statusNumber(field: string): (object: ApiObject) => number {
  return (object) => Number(objectAt(object, 'status')[field] ?? 0)
}

function readyOf(field: string): Column['cell'] {
  return (object) => `${statusNumber(field)(object)}/${specNumber('replicas')(object)}`
}

function podReady(pod: ApiObject): string {
  const containers = arrayAt(pod['spec'], 'containers').length
  const ready = arrayAt(pod['status'], 'containerStatuses').filter(
    (it) => isJsonObject(it) && it['ready'] === true,
  )
  return `${ready.length}/${containers}`
}

function podStatus(pod: ApiObject): unknown {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return objectAt(pod, 'status')['phase'] ?? 'Pending'
}

function jobStatus(job: ApiObject): string {
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating'
  const done = arrayAt(job['status'], 'conditions').find(
    (it) => isJsonObject(it) && it['status'] === 'True',
  )
  return isJsonObject(done) ? String(done['type']) : 'Running'
}

function nodeStatus(node: ApiObject): string {
  const ready = arrayAt(node['status'], 'conditions').find(
    (it) => isJsonObject(it) && it['type'] === 'Ready',
  )
  if (!isJsonObject(ready)) return 'Unknown'
  return ready['status'] === 'True' ? 'Ready' : 'NotReady'
}

function inContainers(object: ApiObject, field: string): string {
  const spec = objectAt(objectAt(object['spec'], 'template'), 'spec')
  const containers = arrayAt(spec, 'containers').filter(isJsonObject)
  return containers.map((container) => container[field]).join(',')
}

function selectorOf(object: ApiObject): string {
  const selector = objectAt(object['spec'], 'selector')
  const labels = isJsonObject(selector['matchLabels']) ? selector['matchLabels'] : selector
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
  return pairs.length === 0 ? NONE : pairs.join(',')
}

function portsOf(service: ApiObject): string {
  const ports = arrayAt(service['spec'], 'ports').filter(isJsonObject)
  return ports.map((port) => `${port['port']}/${port['protocol'] ?? 'TCP'}`).join(',') || NONE
}

function involvedIn(event: ApiObject): string {
  const { kind, name } = objectAt(event, 'involvedObject') as { kind?: unknown; name?: unknown }
  return `${String(kind ?? '').toLowerCase()}/${name ?? ''}`
}

function paramKind(param: unknown): string {
  return isJsonObject(param) ? `${param['apiVersion']}/${param['kind']}` : UNSET
}

function paramRef(param: unknown): string {
  if (!isJsonObject(param)) return UNSET
  const { namespace, name = '*' } = param
  return namespace === undefined ? String(name) : `${namespace}/${name}`
}

function sizeOf(object: ApiObject, ...fields: readonly string[]): number {
  return fields.reduce((sum, field) => sum + Object.keys(objectAt(object, field)).length, 0)
}

/** Of a JSONPath only `.a.b` is understood. */
function valueAt(object: unknown, jsonPath: string): unknown {
  let found = object
  for (const part of jsonPath.split('.').filter((it) => it !== '')) {
    found = isJsonObject(found) ? found[part] : undefined
  }
  return found
}
