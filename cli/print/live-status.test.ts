/** What the status of an object is, by rows of kinds and what their controllers write. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { liveStatusOf } from './live-status.ts'

type Json = Readonly<Record<string, unknown>>

const pod = (status: Json): Json => ({ apiVersion: 'v1', kind: 'Pod', status })
const apps = (kind: string, status: Json, spec: Json = { replicas: 2 }): Json => {
  return { apiVersion: 'apps/v1', kind, metadata: { generation: 3 }, spec, status }
}
const widget = (status: Json, metadata: Json = { generation: 1 }): Json => {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata, status }
}
const condition = (type: string, status: string, reason = ''): Json => ({
  conditions: [{ type, status, reason }],
})
const two = { replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 }
const available = condition('Available', 'True')
const waiting = { containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] }
const daemons = { currentNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 }
const late = condition('Progressing', 'False', 'ProgressDeadlineExceeded')
const at = new Date(0).toISOString()

const CASES: readonly (readonly [string, Json, string])[] = [
  ['a kind that says nothing', widget({}), 'Current'],
  ['a kind that is not ready', widget(condition('Ready', 'False')), 'InProgress'],
  ['a kind whose readiness is unknown', widget(condition('Ready', 'Unknown')), 'InProgress'],
  ['a kind that is ready', widget(condition('Ready', 'True')), 'Current'],
  ['one that reconciles', widget(condition('Reconciling', 'True')), 'InProgress'],
  ['one that is stalled', widget(condition('Stalled', 'True')), 'Failed'],
  ['a generation not seen yet', widget({ observedGeneration: 1 }, { generation: 2 }), 'InProgress'],
  ['what is being deleted', widget({}, { deletionTimestamp: at }), 'Terminating'],
  ['a pod that runs', pod({ phase: 'Running', ...condition('Ready', 'True') }), 'Current'],
  [
    'a pod that is not ready',
    pod({ phase: 'Running', ...condition('Ready', 'False') }),
    'InProgress',
  ],
  ['a pod that crashes', pod({ phase: 'Running', ...waiting }), 'Failed'],
  ['a pod that is done', pod({ phase: 'Succeeded' }), 'Current'],
  ['a pod that failed', pod({ phase: 'Failed' }), 'Failed'],
  ['a pod that waits', pod({ phase: 'Pending' }), 'InProgress'],
  ['a pod without a status', pod({}), 'InProgress'],
  ['a deployment', apps('Deployment', { ...two, ...available }), 'Current'],
  ['a rollout', apps('Deployment', { ...two, ...available, updatedReplicas: 1 }), 'InProgress'],
  ['former replicas', apps('Deployment', { ...two, ...available, replicas: 3 }), 'InProgress'],
  ['a deployment that is late', apps('Deployment', { ...two, ...late }), 'Failed'],
  ['a deployment of none', apps('Deployment', available, { replicas: 0 }), 'Current'],
  ['a replica set', apps('ReplicaSet', { ...two, fullyLabeledReplicas: 2 }), 'Current'],
  ['a replica set that lacks one', apps('ReplicaSet', { ...two, readyReplicas: 1 }), 'InProgress'],
  [
    'a stateful set',
    apps('StatefulSet', { ...two, currentRevision: 'a', updateRevision: 'a' }),
    'Current',
  ],
  [
    'a new revision',
    apps('StatefulSet', { ...two, currentRevision: 'a', updateRevision: 'b' }),
    'InProgress',
  ],
  [
    'a daemon set',
    apps('DaemonSet', { ...daemons, desiredNumberScheduled: 3, numberReady: 3 }),
    'Current',
  ],
  [
    'a daemon set that lacks one',
    apps('DaemonSet', { ...daemons, desiredNumberScheduled: 3, numberReady: 2 }),
    'InProgress',
  ],
  [
    'a claim',
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Bound' } },
    'Current',
  ],
  [
    'a claim that waits',
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Pending' } },
    'InProgress',
  ],
  [
    'a job that failed',
    { apiVersion: 'batch/v1', kind: 'Job', status: condition('Failed', 'True') },
    'Failed',
  ],
  [
    'a job that runs',
    { apiVersion: 'batch/v1', kind: 'Job', status: { startTime: at } },
    'Current',
  ],
  ['a job not begun', { apiVersion: 'batch/v1', kind: 'Job', status: {} }, 'InProgress'],
]

for (const [name, object, status] of CASES) {
  test(`${name} is ${status}`, () => equal(liveStatusOf(object).status, status))
}

test('READY and REASON are of the condition Ready', () => {
  const { ready, reason } = liveStatusOf(widget(condition('Ready', 'False', 'Unpaid')))
  deepEqual([ready, reason], ['False', 'Unpaid'])
  equal(liveStatusOf(widget({})).ready, '-')
})

test('what is no such object has no status that is wrong', () => {
  for (const odd of [{}, { status: [] }, { status: { conditions: [null, 1, {}] } }]) {
    equal(liveStatusOf(odd).ready, '-')
  }
})
