/**
 * Which objects an object uses, as it is read: each row of the table, in a manifest that has it.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GroupKind } from '../../core/model/object.ts'
import { placesIn, type RuleUnused, useReadsOf } from '../../core/model/use/use.ts'
import { readUsePath } from '../../core/model/use/use-path.ts'
import { POD_SPECS, USE_TABLE } from '../../core/model/use/use-table.ts'
import type { Json } from './json.ts'
import { readUses } from './use.ts'

const TABLE: RuleUnused = { forMs: 0, uses: USE_TABLE, except: [] }
const MANY = 100_000

/** `KIND NAMESPACE/NAME`, sorted. */
function usesOf(user: GroupKind, raw: Json, namespace = 'ns', room = MANY): readonly string[] {
  const reads = useReadsOf([TABLE], user)
  const values = readUses(raw, reads, room)
  return reads
    .flatMap((read, index) => placesIn(read, namespace, values[index]?.value))
    .map((place) => `${place.kind} ${place.namespace}/${place.name}`)
    .sort()
}

function containers(of: string): Json {
  return [
    {
      env: [
        { name: 'A', value: 'plain' },
        { name: 'B', valueFrom: { configMapKeyRef: { name: `${of}-env-config`, key: 'k' } } },
        { name: 'C', valueFrom: { secretKeyRef: { name: `${of}-env-secret`, key: 'k' } } },
      ],
      envFrom: [
        { configMapRef: { name: `${of}-from-config` } },
        { secretRef: { name: `${of}-from-secret` } },
      ],
    },
  ] as unknown as Json
}

const IN_TREE = ['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos']

const POD_SPEC = {
  serviceAccountName: 'web',
  imagePullSecrets: [{ name: 'pull' }],
  containers: containers('main'),
  initContainers: containers('init'),
  ephemeralContainers: containers('debug'),
  volumes: [
    { name: 'a', configMap: { name: 'mounted' } },
    { name: 'b', secret: { secretName: 'mounted' } },
    { name: 'c', persistentVolumeClaim: { claimName: 'data' } },
    {
      name: 'd',
      projected: { sources: [{ configMap: { name: 'p' } }, { secret: { name: 'p' } }] },
    },
    { name: 'e', csi: { driver: 'x', nodePublishSecretRef: { name: 'csi' } } },
    { name: 'f', azureFile: { secretName: 'azure', shareName: 'x' } },
    ...IN_TREE.map((type) => ({ name: type, [type]: { secretRef: { name: type.toLowerCase() } } })),
    { name: 'g', emptyDir: {} },
  ],
} as unknown as Json

const OF_CONTAINERS = ['main', 'init', 'debug'].flatMap((of) => [
  ...[`ConfigMap ns/${of}-env-config`, `ConfigMap ns/${of}-from-config`],
  ...[`Secret ns/${of}-env-secret`, `Secret ns/${of}-from-secret`],
])
const OF_POD: readonly string[] = [
  ...OF_CONTAINERS,
  ...['ConfigMap ns/mounted', 'ConfigMap ns/p', 'PersistentVolumeClaim ns/data'],
  ...['Secret ns/mounted', 'Secret ns/p', 'Secret ns/csi', 'Secret ns/azure', 'Secret ns/pull'],
  ...IN_TREE.map((type) => `Secret ns/${type.toLowerCase()}`),
  'ServiceAccount ns/web',
].sort()

/** `spec.template.spec` around it. */
function within(at: string, value: unknown): Json {
  return at.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Json
}

describe('a Pod, and what has a template of one, uses', () => {
  for (const { at, ...user } of POD_SPECS) {
    test(`what its ${user.kind} names`, () => {
      deepEqual(usesOf(user, within(at, POD_SPEC)), OF_POD)
      deepEqual(usesOf(user, within(at, { containers: [] })), ['ServiceAccount ns/default'])
    })
  }
})

const csi = 'csi.storage.k8s.io'
const inPlace = (name: string): object => ({ name, namespace: 'other' })
const parametersOf = (names: readonly string[]): object => {
  const pairs = names.flatMap((name) => [
    [`${csi}/${name}-secret-name`, name],
    [`${csi}/${name}-secret-namespace`, 'other'],
  ])
  return Object.fromEntries(pairs)
}
const CSI_NAMES = [
  'controllerPublish',
  'nodeStage',
  'nodePublish',
  'controllerExpand',
  'nodeExpand',
]
const CLASS_NAMES = [
  ...['provisioner', 'controller-publish', 'node-stage', 'node-publish'],
  ...['controller-expand', 'node-expand'],
]
const INJECTED = { metadata: { annotations: { 'cert-manager.io/inject-ca-from-secret': 'cm/ca' } } }
const ADMISSION = 'admissionregistration.k8s.io'
const RBAC = 'rbac.authorization.k8s.io'
const GATEWAY = 'gateway.networking.k8s.io'

/** Kind, namespace, manifest, and what it uses. */
const CASES: readonly (readonly [string, string, object, readonly string[]])[] = [
  [
    ...(['ServiceAccount', 'ns'] as const),
    { secrets: [{ name: 'token' }], imagePullSecrets: [{ name: 'pull' }] },
    ['Secret ns/pull', 'Secret ns/token'],
  ],
  [
    ...(['Secret', 'ns'] as const),
    { metadata: { annotations: { 'kubernetes.io/service-account.name': 'robot' } } },
    ['ServiceAccount ns/robot'],
  ],
  ['Secret', 'ns', { metadata: {}, data: { a: 'b' } }, []],
  [
    ...([`RoleBinding.${RBAC}`, 'ns'] as const),
    {
      subjects: [
        { kind: 'ServiceAccount', name: 'a', namespace: 'other' },
        { kind: 'ServiceAccount', name: 'b' },
        { kind: 'User', name: 'ann' },
      ],
      roleRef: { kind: 'Role', name: 'reader' },
    },
    ['Role ns/reader', 'ServiceAccount ns/b', 'ServiceAccount other/a'],
  ],
  [`RoleBinding.${RBAC}`, 'ns', { roleRef: { kind: 'ClusterRole', name: 'view' } }, []],
  [
    ...([`ClusterRoleBinding.${RBAC}`, ''] as const),
    { subjects: [{ kind: 'ServiceAccount', name: 'a', namespace: 'other' }] },
    ['ServiceAccount other/a'],
  ],
  [
    'CleanupPolicy.kinfold.dev',
    'ns',
    { spec: { serviceAccountName: 'a' } },
    ['ServiceAccount ns/a'],
  ],
  [
    ...(['ClusterCleanupPolicy.kinfold.dev', ''] as const),
    { spec: { serviceAccountName: 'a', serviceAccountNamespace: 'other' } },
    ['ServiceAccount other/a'],
  ],
  [
    ...(['StatefulSet.apps', 'ns'] as const),
    {
      metadata: { name: 'web' },
      spec: {
        volumeClaimTemplates: [{ metadata: { name: 'data' } }, { metadata: { name: 'log' } }],
      },
    },
    ['PersistentVolumeClaim ns/data-web-*', 'PersistentVolumeClaim ns/log-web-*'],
  ],
  [
    ...(['PersistentVolumeClaim', 'ns'] as const),
    {
      spec: {
        dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
        dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b', namespace: 'other' },
      },
    },
    ['PersistentVolumeClaim ns/a', 'PersistentVolumeClaim other/b'],
  ],
  [
    ...(['VolumeSnapshot.snapshot.storage.k8s.io', 'ns'] as const),
    { spec: { source: { persistentVolumeClaimName: 'data' } } },
    ['PersistentVolumeClaim ns/data'],
  ],
  [
    ...(['Ingress.networking.k8s.io', 'ns'] as const),
    { spec: { tls: [{ hosts: ['a'], secretName: 'a' }, { secretName: 'b' }, {}] } },
    ['Secret ns/a', 'Secret ns/b'],
  ],
  [
    ...([`Gateway.${GATEWAY}`, 'ns'] as const),
    {
      spec: {
        listeners: [
          { tls: { certificateRefs: [{ name: 'own' }, inPlace('far')] } },
          { tls: { frontendValidation: { caCertificateRefs: [{ name: 'ca' }] } } },
        ],
        tls: {
          backend: { clientCertificateRef: { name: 'client' } },
          frontend: {
            default: { validation: { caCertificateRefs: [{ name: 'default' }] } },
            perPort: [{ tls: { validation: { caCertificateRefs: [inPlace('port')] } } }],
          },
        },
      },
    },
    [
      ...['ConfigMap ns/ca', 'ConfigMap ns/default', 'ConfigMap other/port'],
      ...['Secret ns/client', 'Secret ns/own', 'Secret other/far'],
    ],
  ],
  [
    ...([`BackendTLSPolicy.${GATEWAY}`, 'ns'] as const),
    {
      spec: {
        validation: {
          caCertificateRefs: [
            { kind: 'ConfigMap', name: 'a' },
            { kind: 'Secret', name: 'b' },
          ],
        },
      },
    },
    ['ConfigMap ns/a', 'Secret ns/b'],
  ],
  [
    ...(['StorageClass.storage.k8s.io', ''] as const),
    {
      parameters: {
        ...parametersOf(CLASS_NAMES),
        ...{ adminSecretName: 'admin', adminSecretNamespace: 'other' },
        ...{ userSecretName: 'user', userSecretNamespace: 'other' },
        ...{ secretName: 'legacy', secretNamespace: 'other' },
      },
    },
    [...CLASS_NAMES, 'admin', 'user', 'legacy'].map((name) => `Secret other/${name}`).sort(),
  ],
  [
    ...(['StorageClass.storage.k8s.io', ''] as const),
    { parameters: { [`${csi}/node-stage-secret-name`]: '${' + 'pvc.name}' } },
    ['Secret */*'],
  ],
  [
    ...(['VolumeSnapshotClass.snapshot.storage.k8s.io', ''] as const),
    { parameters: parametersOf(['snapshotter', 'snapshotter-list']) },
    ['Secret other/snapshotter', 'Secret other/snapshotter-list'],
  ],
  [
    ...(['PersistentVolume', ''] as const),
    {
      metadata: {
        annotations: {
          'volume.kubernetes.io/provisioner-deletion-secret-name': 'deletion',
        },
      },
      spec: {
        claimRef: inPlace('data'),
        csi: Object.fromEntries(CSI_NAMES.map((each) => [`${each}SecretRef`, inPlace(each)])),
        azureFile: { secretName: 'azure', secretNamespace: 'other' },
        ...Object.fromEntries(IN_TREE.map((type) => [type, { secretRef: inPlace(type) }])),
      },
    },
    [
      'Secret */deletion',
      ...[...CSI_NAMES, 'azure', ...IN_TREE].map((n) => `Secret other/${n}`),
    ].sort(),
  ],
  [`MutatingWebhookConfiguration.${ADMISSION}`, '', INJECTED, ['Secret cm/ca']],
  [`ValidatingWebhookConfiguration.${ADMISSION}`, '', INJECTED, ['Secret cm/ca']],
  ['APIService.apiregistration.k8s.io', '', INJECTED, ['Secret cm/ca']],
  ['CustomResourceDefinition.apiextensions.k8s.io', '', INJECTED, ['Secret cm/ca']],
  ['Certificate.cert-manager.io', 'ns', { spec: { secretName: 'tls' } }, ['Secret ns/tls']],
  [
    ...(['Issuer.cert-manager.io', 'ns'] as const),
    { spec: { ca: { secretName: 'ca' }, acme: { privateKeySecretRef: { name: 'key' } } } },
    ['Secret ns/ca', 'Secret ns/key'],
  ],
  ['ClusterIssuer.cert-manager.io', '', { spec: { ca: { secretName: 'ca' } } }, ['Secret */ca']],
  [
    ...(['ClusterIssuer.cert-manager.io', ''] as const),
    { spec: { acme: { privateKeySecretRef: { name: 'key' } } } },
    ['Secret */key'],
  ],
]

function kindOf(text: string): GroupKind {
  const [kind = '', ...group] = text.split('.')
  return { group: group.join('.'), kind }
}

for (const [kind, namespace, raw, expected] of CASES) {
  test(`a ${kind} uses ${expected.join(', ') || 'nothing'}`, () => {
    const uses = usesOf(kindOf(kind), raw as Json, namespace)
    deepEqual(
      uses.filter((each) => each !== 'ServiceAccount ns/default'),
      expected,
    )
  })
}

test('no row of the table is without a manifest', () => {
  const manifests = new Map<string, Json[]>()
  const add = (kind: string, raw: Json): void => {
    manifests.set(kind, [...(manifests.get(kind) ?? []), raw])
  }
  for (const { kind, group, at } of POD_SPECS) {
    add(group === '' ? kind : `${kind}.${group}`, within(at, POD_SPEC))
  }
  for (const [kind, , raw] of CASES) add(kind, raw as Json)
  for (const { used, users, paths } of USE_TABLE) {
    for (const { group, kind, at } of users) {
      const own = manifests.get(group === '' ? kind : `${kind}.${group}`) ?? []
      for (const path of paths) {
        const whole = at === '' ? path : `${at}.${path}`
        ok(readUsePath(whole) !== undefined, whole)
        const read = { key: 'k', used, paths: [whole] }
        ok(
          own.some((raw) => readUses(raw, [read], MANY)[0]?.value !== ''),
          `${kind} ${whole}`,
        )
      }
    }
  }
})

test('names that are too long together are any of the namespace, or of all', () => {
  const pod = { group: '', kind: 'Pod' }
  const uses = usesOf(pod, within('spec', POD_SPEC), 'ns', 350)
  ok(uses.includes('Secret ns/*'), uses.join())
  const binding = { group: RBAC, kind: 'RoleBinding' }
  const subjects = Array.from({ length: 100 }, (_, index) => {
    return { kind: 'ServiceAccount', name: `a${index}`, namespace: 'other' }
  })
  ok(usesOf(binding, { subjects } as unknown as Json, 'ns', 300).includes('ServiceAccount */*'))
})

test('what is no name where one should be is any', () => {
  const pod = { group: '', kind: 'Pod' }
  ok(usesOf(pod, within('spec', { volumes: { a: 1 } })).every((each) => !each.includes('*')))
  ok(usesOf(pod, within('spec', { volumes: ['x'] })).includes('Secret */*'))
  ok(usesOf(pod, within('spec', { imagePullSecrets: [{ name: 7 }] })).includes('Secret */*'))
})

test('not read is any, in its namespace or in all', () => {
  const [config] = useReadsOf([TABLE], { group: '', kind: 'Pod' })
  ok(config !== undefined)
  const any = placesIn(config, 'ns', undefined)[0]
  equal(`${any?.namespace}/${any?.name}`, 'ns/*')
  const [account] = useReadsOf([TABLE], { group: RBAC, kind: 'ClusterRoleBinding' })
  ok(account !== undefined)
  equal(placesIn(account, '', undefined)[0]?.namespace, '*')
})
