/**
 * What nothing uses, by `kinfold up` on a real kube-apiserver, with the objects that a Helm chart
 * usually has: what a Pod, a template, a webhook, an Ingress or a binding names is never called
 * unused, nor what is used though none names it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { kubectlEach } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl') ?? false

const CONFIG = `
apiVersion: kinfold/v1alpha1
kind: Config
rules:
  - builtin: unused
    match: { kinds: [ConfigMap, Secret, PersistentVolumeClaim, ServiceAccount, Role.rbac.authorization.k8s.io] }
  - name: stale-bindings
    match: { kinds: [RoleBinding.rbac.authorization.k8s.io, ClusterRoleBinding.rbac.authorization.k8s.io] }
    unused: { for: 30d }
`

/** Of what is not there, beside a user, of whom nothing is known. */
const BINDINGS = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: no-role, namespace: shop }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: away }
subjects: [{ kind: ServiceAccount, name: robot, namespace: shop }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: no-subject }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects: [{ kind: ServiceAccount, name: away, namespace: shop }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: of-a-user }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects:
  - { kind: ServiceAccount, name: away, namespace: shop }
  - { kind: User, apiGroup: rbac.authorization.k8s.io, name: ann }
`

/** A chart's objects, which use those of `USED`. */
const CHART = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: web, namespace: shop }
imagePullSecrets: [{ name: registry }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: web, namespace: shop }
rules: [{ apiGroups: [''], resources: [pods], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: web, namespace: shop }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: web }
subjects: [{ kind: ServiceAccount, name: robot, namespace: shop }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      serviceAccountName: web
      initContainers:
        - { name: init, image: a, envFrom: [{ secretRef: { name: init } }] }
      containers:
        - name: web
          image: a
          env: [{ name: A, valueFrom: { configMapKeyRef: { name: env, key: a } } }]
          volumeMounts: [{ name: config, mountPath: /c }]
      volumes:
        - { name: config, configMap: { name: mounted } }
        - { name: both, projected: { sources: [{ secret: { name: projected } }, { configMap: { name: projected } }] } }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db, namespace: shop }
spec:
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec: { containers: [{ name: db, image: a }] }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, namespace: shop }
spec:
  schedule: 0 3 * * *
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{ name: a, image: a, envFrom: [{ configMapRef: { name: nightly } }] }]
          volumes: [{ name: b, persistentVolumeClaim: { claimName: backup } }]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, namespace: shop }
spec:
  tls: [{ hosts: [shop.example.com], secretName: web-tls }]
  defaultBackend: { service: { name: web, port: { number: 80 } } }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: web
  annotations: { cert-manager.io/inject-ca-from-secret: shop/webhook-ca }
webhooks: []
`

const USED: readonly (readonly [string, readonly string[]])[] = [
  ['configmaps', ['mounted', 'env', 'projected', 'nightly']],
  [
    'secrets',
    ['registry', 'init', 'projected', 'web-tls', 'webhook-ca', 'sh.helm.release.v1.web.v1'],
  ],
  ['serviceaccounts', ['robot']],
]
const UNUSED: readonly (readonly [string, readonly string[]])[] = [
  ['configmaps', ['old']],
  ['secrets', ['old', 'by-pod']],
  ['serviceaccounts', ['old']],
]
const CLAIM = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const POD = { containers: [{ name: 'a', image: 'a' }], volumes: [secretVolume('by-pod')] }

function secretVolume(secretName: string): object {
  return { name: 'a', secret: { secretName } }
}

interface Plan {
  readonly objects: readonly {
    readonly kind: string
    readonly name: string
    readonly because: string
  }[]
}

suite('kinfold up with a rule about what nothing uses', { skip }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-unused-'))
    plane = await startControlPlane()
    await kubectlEach(plane, 'apply', `${CHART}---${BINDINGS}`)
    for (const [resource, names] of [...USED, ...UNUSED])
      for (const name of names) await make(resource, name)
    for (const name of ['data-db-0', 'data-db-12', 'backup', 'data-db-x', 'old']) {
      await make('persistentvolumeclaims', name, { spec: CLAIM })
    }
    const config = join(folder, 'kinfold.yaml')
    await writeFile(config, CONFIG)
    const { kubeconfig } = plane
    const data = join(folder, 'data')
    const flags = ['--mode', 'enforce', '--config', config]
    kinfold = await KinfoldProcess.start({ kubeconfig, data, flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  async function make(resource: string, name: string, more: object = {}): Promise<void> {
    const path = `/api/v1/namespaces/shop/${resource}`
    const made = await plane.request('POST', path, { metadata: { name }, ...more })
    equal(made.status, 201, `${resource} ${name}`)
  }

  async function ask(...words: readonly string[]): Promise<string> {
    const ran = await runKinfold([...words, '--data', kinfold.data])
    equal(ran.code, 0, ran.stderr)
    return ran.stdout
  }

  /** What is or becomes due. */
  async function planned(): Promise<Plan['objects']> {
    const text = await ask('rules', 'plan', 'unused', '--output', 'json')
    return (JSON.parse(text) as Plan).objects
  }

  async function plannedAre(expected: readonly string[], rule = 'unused'): Promise<void> {
    await eventually('the plan has what nothing uses', async () => {
      const text = await ask('rules', 'plan', rule, '--output', 'json')
      const names = (JSON.parse(text) as Plan).objects
        .map(({ kind, name }) => `${kind} ${name}`)
        .sort()
      return names.join() === expected.join() || text
    })
  }

  const ALWAYS = [
    ...['ConfigMap old', 'PersistentVolumeClaim data-db-x', 'PersistentVolumeClaim old'],
    'Secret old',
  ]

  test('lists what nothing names, and nothing else', async () => {
    await plannedAre([...ALWAYS.slice(0, 3), 'Secret by-pod', 'Secret old', 'ServiceAccount old'])
    for (const { because } of await planned()) match(because, /unused since 20\d\d-/)
  })

  test('lists bindings of what is not there, and none of the control plane', async () => {
    await plannedAre(['ClusterRoleBinding no-subject', 'RoleBinding no-role'], 'stale-bindings')
  })

  test('follows Pods that come and go', async () => {
    const pods = '/api/v1/namespaces/shop/pods'
    const spec = { ...POD, serviceAccountName: 'old', automountServiceAccountToken: false }
    equal((await plane.request('POST', pods, { metadata: { name: 'p' }, spec })).status, 201)
    await plannedAre(ALWAYS)
    match(
      await ask('rules', 'explain', 'unused', 'secret/by-pod', '-n', 'shop'),
      /used by an object; .*: Pod\/p/,
    )
    const tree = await ask('tree', 'secret/by-pod', '-n', 'shop', '--uses')
    match(tree, /\nUsed by:\n {2}pod\/p -n shop since 20/)
    match(await ask('tree', 'pod/p', '-n', 'shop', '--uses'), /\nUses:\n.*secret\/by-pod -n shop/s)
    await plane.request('DELETE', `${pods}/p`, { gracePeriodSeconds: 0 })
    await plannedAre([...ALWAYS.slice(0, 3), 'Secret by-pod', 'Secret old', 'ServiceAccount old'])
    const gone = await ask('tree', 'secret/by-pod', '-n', 'shop', '--uses')
    match(gone, /\nUsed by nothing that is known; last use ended 20.*\(Pod\/p came or left last\)/)
    const left = (await planned()).find(({ name }) => name === 'by-pod')
    match(left?.because ?? '', /\(its last use ended then\)/)
    ok(kinfold.isRunning)
    deepEqual((await plane.request('GET', '/api/v1/namespaces/shop/secrets/old')).status, 200)
  })
})
