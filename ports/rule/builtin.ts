/**
 * Built-in rules, as a config file would have them, each after the collector that it stands for.
 *
 * What must stay true: none is in force unless a config lists it; each deletes what its twin
 * deletes or less, and docs/operate/rules.md says where it is less. Twins are of Kubernetes 1.36,
 * by their paths below pkg/.
 */
import type { Mapping } from './rule-term.ts'

/** What comes after the name that the config gives it → the rule. Without kinds: the user's. */
export type Builtin = Readonly<Record<string, Mapping>>

/** The Job's own TTL; zero is one. */
const JOB_TTL = { after: { seconds: 'spec.ttlSecondsAfterFinished' } }

/** controller/ttlafterfinished. */
const FINISHED_JOBS: Builtin = {
  '': {
    match: { kinds: ['Job.batch'] },
    cases: ['Complete', 'Failed'].map((type) => ({
      when: { [`status.conditions[type=${type}].status`]: 'True' },
      since: { field: `status.conditions[type=${type}].lastTransitionTime` },
      ...JOB_TTL,
    })),
    propagationPolicy: 'Foreground',
  },
}

const NOT_AFTER = 'status.certificate:not-after'

function updated(condition: string): Mapping {
  return { field: `status.conditions[type=${condition}].lastUpdateTime` }
}

/** controller/certificates/cleaner/cleaner.go. */
const CERTIFICATE_REQUESTS: Builtin = {
  '': {
    match: { kinds: ['CertificateSigningRequest.certificates.k8s.io'] },
    cases: [
      { since: updated('Denied'), after: '1h' },
      { since: updated('Failed'), after: '1h' },
      { when: { [NOT_AFTER]: { exists: true } }, since: updated('Approved'), after: '1h' },
      { when: { [NOT_AFTER]: { exists: false } }, since: updated('Approved'), after: '24h' },
      // No condition at all: no signer has decided.
      { when: { 'status.conditions': { exists: false } }, after: '24h' },
      {
        when: { 'status.conditions[type=Approved].type': { exists: true } },
        since: { field: NOT_AFTER },
      },
    ],
  },
}

/** controller/certificates/cleaner/pcrcleaner.go. */
const POD_CERTIFICATE_REQUESTS: Builtin = {
  '': { match: { kinds: ['PodCertificateRequest.certificates.k8s.io'] }, after: '15m' },
}

/** controller/bootstrap/tokencleaner.go. */
const BOOTSTRAP_TOKENS: Builtin = {
  '': {
    match: { kinds: ['Secret'], namespaces: ['kube-system'] },
    when: { type: 'bootstrap.kubernetes.io/token' },
    since: { field: 'data.expiration:base64' },
  },
}

/** controlplane/controller/apiserverleasegc. */
const API_SERVER_LEASES: Builtin = {
  '': {
    match: {
      kinds: ['Lease.coordination.k8s.io'],
      namespaces: ['kube-system'],
      labels: 'apiserver.kubernetes.io/identity=kube-apiserver',
    },
    since: { field: 'spec.renewTime' },
    after: { seconds: 'spec.leaseDurationSeconds' },
  },
}

/** Their provisioner has not deleted them: it is gone, or cannot. */
const RELEASED_VOLUMES: Builtin = {
  '': {
    match: { kinds: ['PersistentVolume'] },
    when: {
      'spec.persistentVolumeReclaimPolicy': 'Delete',
      'status.phase': ['Released', 'Failed'],
    },
    since: { field: 'status.lastPhaseTransitionTime' },
    after: '1h',
  },
}

/** controller/podgc, `gcUnscheduledTerminating`: no node will report that they have ended. */
const UNSCHEDULED_PODS: Builtin = {
  '': {
    match: { kinds: ['Pod'], terminating: true },
    when: { 'spec.nodeName': { exists: false } },
    after: 0,
    gracePeriodSeconds: 0,
    failFirst: true,
  },
}

/** controller/podgc, `gcTerminated`, with the flag's default. */
const TERMINATED_PODS: Builtin = {
  '': {
    match: { kinds: ['Pod'] },
    when: { 'status.phase': ['Succeeded', 'Failed'] },
    after: 0,
    keep: {
      newest: 12_500,
      by: 'cluster',
      first: { 'status.phase': 'Failed', 'status.reason': 'Evicted' },
    },
  },
}

/** controller/podgc, `gcOrphaned`. */
const ORPHANED_PODS: Builtin = {
  '': {
    match: { kinds: ['Pod'] },
    absent: { kind: 'Node', name: { field: 'spec.nodeName' } },
    gracePeriodSeconds: 0,
    failFirst: true,
  },
  '-terminating': {
    match: { kinds: ['Pod'], terminating: true },
    absent: { kind: 'Node', name: { field: 'spec.nodeName' } },
    gracePeriodSeconds: 0,
    failFirst: true,
  },
}

/** controller/podgc, `gcTerminating`. */
const OUT_OF_SERVICE_PODS: Builtin = {
  '': {
    match: { kinds: ['Pod'], terminating: true },
    beside: {
      kind: 'Node',
      name: { field: 'spec.nodeName' },
      when: {
        'status.conditions[type=Ready].status': { not: 'True' },
        'spec.taints[key=node.kubernetes.io/out-of-service].key': { exists: true },
      },
    },
    gracePeriodSeconds: 0,
    failFirst: true,
  },
}

/** Upstream leaves these for ever where their owner reference is missing. */
const NODE_LEASES: Builtin = {
  '': {
    match: { kinds: ['Lease.coordination.k8s.io'], namespaces: ['kube-node-lease'] },
    since: { field: 'spec.renewTime' },
    after: '1h',
    absent: { kind: 'Node', name: { field: 'metadata.name' } },
  },
}

/** None upstream: nothing deletes what no other object names. */
const UNUSED: Builtin = { '': { match: {}, unused: { for: '30d' } } }

const JANITOR_TTL = 'janitor/ttl'

/** kube-janitor: a TTL of nothing is none, and kube-system is left out by default. */
const JANITOR: Builtin = {
  '': {
    match: {
      exceptNamespaces: ['kube-system'],
      annotations: { [JANITOR_TTL]: { not: ['0s', '0m', '0h', '0d', '0w'] } },
    },
    after: { annotation: JANITOR_TTL },
  },
  '-expires': {
    match: { exceptNamespaces: ['kube-system'] },
    since: { annotation: 'janitor/expires' },
  },
}

const TTL = 'k8s-ttl-controller.twin.sh/ttl'
const REFRESHED_AT = 'k8s-ttl-controller.twin.sh/refreshed-at'

/** k8s-ttl-controller. */
const TTL_CONTROLLER: Builtin = {
  '': {
    match: { annotations: { [REFRESHED_AT]: { exists: false } } },
    after: { annotation: TTL },
  },
  '-refreshed': { match: {}, since: { annotation: REFRESHED_AT }, after: { annotation: TTL } },
}

export const BUILTINS: Readonly<Record<string, Builtin>> = {
  'finished-jobs': FINISHED_JOBS,
  'certificate-requests': CERTIFICATE_REQUESTS,
  'pod-certificate-requests': POD_CERTIFICATE_REQUESTS,
  'bootstrap-tokens': BOOTSTRAP_TOKENS,
  'api-server-leases': API_SERVER_LEASES,
  'released-volumes': RELEASED_VOLUMES,
  'unscheduled-pods': UNSCHEDULED_PODS,
  'terminated-pods': TERMINATED_PODS,
  'orphaned-pods': ORPHANED_PODS,
  'out-of-service-pods': OUT_OF_SERVICE_PODS,
  'node-leases': NODE_LEASES,
  janitor: JANITOR,
  'ttl-controller': TTL_CONTROLLER,
  unused: UNUSED,
}
