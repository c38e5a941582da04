/**
 * Which objects an object uses, as it is read: each row of the table, in a manifest that has it.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GroupKind } from '../../core/model/object.ts'
import { ADD_ON_USES } from '../../core/model/use/add-on-use.ts'
import { BINDING_NAMES } from '../../core/model/use/binding-use.ts'
import { POD_SPECS } from '../../core/model/use/pod-use.ts'
import {
  placesIn,
  placesOfUsed,
  type RuleUnused,
  type UsedPlace,
  useReadsOf,
} from '../../core/model/use/use.ts'
import { readUsePath } from '../../core/model/use/use-path.ts'
import { USE_TABLE } from '../../core/model/use/use-table.ts'
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
  serviceAccount: 'former',
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
    { name: 'h', csi: { driver: 'x', volumeAttributes: { secretName: 'attribute' } } },
    { name: 'j', csi: { driver: 'x', volumeAttributes: { secretname: 'lower' } } },
    {
      name: 'i',
      ephemeral: {
        volumeClaimTemplate: {
          spec: {
            dataSource: { kind: 'PersistentVolumeClaim', name: 'cloned' },
            dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'cloned-by-ref' },
          },
        },
      },
    },
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
  ...['PersistentVolumeClaim ns/cloned', 'PersistentVolumeClaim ns/cloned-by-ref'],
  ...[
    'Secret ns/attribute',
    'Secret ns/lower',
    'ServiceAccount ns/former',
    'ServiceAccount ns/web',
  ],
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
  ...['controller-expand', 'node-expand', 'controller-modify'],
]
const FORMER_NAMES = [
  ...['csiProvisionerSecret', 'csiControllerPublishSecret', 'csiNodeStageSecret'],
  ...['csiNodePublishSecret'],
]
const CLONED = { dataSource: { kind: 'PersistentVolumeClaim', name: 'cloned' } }
const VOLUME = {
  csi: {
    ...Object.fromEntries(CSI_NAMES.map((each) => [`${each}SecretRef`, inPlace(each)])),
    volumeAttributes: {
      ...{ secretName: 'attribute', secretNamespace: 'other' },
      ...{ secretname: 'lower', secretnamespace: 'other' },
    },
  },
  azureFile: { secretName: 'azure', secretNamespace: 'other' },
  ...Object.fromEntries(IN_TREE.map((type) => [type, { secretRef: inPlace(type) }])),
}
const OF_VOLUME = [...CSI_NAMES, 'attribute', 'lower', 'azure', ...IN_TREE].map(
  (n) => `Secret other/${n}`,
)
const deletedBy = (prefix: string): object => ({
  metadata: {
    annotations: {
      [`${prefix}/deletion-secret-name`]: 'deletion',
      [`${prefix}/deletion-secret-namespace`]: 'other',
    },
  },
})
const annotated = (annotations: object): object => ({ metadata: { annotations } })
const NGINX = 'nginx.ingress.kubernetes.io'
const KINDS = ['ConfigMap', 'Secret']
const ofKinds = (name: string): object[] => KINDS.map((kind) => ({ kind, name }))
const MANY_KINDS = ['ConfigMap', 'PersistentVolumeClaim', 'Role', 'Secret', 'ServiceAccount']
const PARAMETERS = ['ValidatingAdmissionPolicyBinding', 'MutatingAdmissionPolicyBinding']
const ROBOT = 'system:serviceaccount:other:robot'
const LISTENER = {
  spec: {
    listeners: [{ tls: { certificateRefs: [{ name: 'own' }, { name: 'far', namespace: 'b' }] } }],
  },
}
const CA_LISTENER = {
  spec: { listeners: [{ tls: { frontendValidation: { caCertificateRefs: ofKinds('ca') } } }] },
}
const INJECTED = { metadata: { annotations: { 'cert-manager.io/inject-ca-from-secret': 'cm/ca' } } }
const ADMISSION = 'admissionregistration.k8s.io'
const RBAC = 'rbac.authorization.k8s.io'
const GATEWAY = 'gateway.networking.k8s.io'

const SOLVER = { email: 'a@example.com', privateKeySecretRef: { name: 'key' } }

/** What issuers of cert-manager use, by their specification. */
const ISSUERS: readonly (readonly [object, readonly string[]])[] = [
  [{ ca: { secretName: 'ca' } }, ['Secret ca']],
  [
    {
      acme: {
        ...SOLVER,
        externalAccountBinding: { keyID: 'x', keySecretRef: { name: 'eab', key: 'k' } },
        solvers: [
          { dns01: { cloudflare: { apiTokenSecretRef: { name: 'token', key: 'k' } } } },
          {
            dns01: {
              route53: {
                secretAccessKeySecretRef: { name: 'access' },
                auth: { kubernetes: { serviceAccountRef: { name: 'robot' } } },
              },
            },
          },
          { http01: { ingress: { podTemplate: { spec: { serviceAccountName: 'solver' } } } } },
        ],
      },
    },
    [
      ...['Secret access', 'Secret eab', 'Secret key', 'Secret robot', 'Secret token'],
      ...['ServiceAccount robot', 'ServiceAccount solver'],
    ],
  ],
  [
    {
      vault: {
        auth: { appRole: { secretRef: { name: 'role' } }, tokenSecretRef: { name: 'token' } },
        caBundleSecretRef: { name: 'bundle' },
      },
    },
    ['Secret bundle', 'Secret role', 'Secret token'],
  ],
  [
    {
      venafi: {
        cloud: { apiTokenSecretRef: { name: 'a' } },
        tpp: { credentialsRef: { name: 'b' } },
      },
    },
    ['Secret a', 'Secret b'],
  ],
  // What a solver of its own reads by its settings is not known.
  [
    { acme: { ...SOLVER, solvers: [{ dns01: { webhook: { config: { token: 'x' } } } }] } },
    ['Secret *', 'Secret key'],
  ],
]

type Case = readonly [string, string, object, readonly string[]]

/** Kind, namespace, manifest, and what it uses. */
const CASES: readonly Case[] = [
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
        { kind: 'User', name: ROBOT },
        { kind: 'User', name: 'system:serviceaccount:other' },
        { kind: 'Group', name: 'system:serviceaccounts:other' },
      ],
      roleRef: { kind: 'Role', name: 'reader' },
    },
    [
      'Role ns/reader',
      'ServiceAccount ns/b',
      'ServiceAccount other/a',
      'ServiceAccount other/robot',
    ],
  ],
  [
    ...(['FlowSchema.flowcontrol.apiserver.k8s.io', ''] as const),
    {
      spec: {
        rules: [
          { subjects: [{ kind: 'ServiceAccount', serviceAccount: inPlace('a') }] },
          { subjects: [{ kind: 'User', user: { name: ROBOT } }] },
          { subjects: [{ kind: 'Group', group: { name: 'g' } }, { user: { name: '*' } }] },
        ],
      },
    },
    ['ServiceAccount other/a', 'ServiceAccount other/robot'],
  ],
  ...PARAMETERS.flatMap((kind): Case[] => [
    [
      ...([`${kind}.${ADMISSION}`, ''] as const),
      { spec: { paramRef: inPlace('limits') } },
      MANY_KINDS.map((each) => `${each} other/limits`),
    ],
    [
      ...([`${kind}.${ADMISSION}`, ''] as const),
      { spec: { paramRef: { name: 'limits' } } },
      MANY_KINDS.map((each) => `${each} */limits`),
    ],
    [
      ...([`${kind}.${ADMISSION}`, ''] as const),
      { spec: { paramRef: { selector: { matchLabels: { a: 'b' } }, namespace: 'other' } } },
      MANY_KINDS.map((each) => `${each} */*`),
    ],
    [`${kind}.${ADMISSION}`, '', { spec: {} }, []],
  ]),
  [`RoleBinding.${RBAC}`, 'ns', { roleRef: { kind: 'ClusterRole', name: 'view' } }, []],
  [
    ...([`ClusterRoleBinding.${RBAC}`, ''] as const),
    {
      subjects: [
        { kind: 'ServiceAccount', name: 'a', namespace: 'other' },
        { kind: 'User', name: ROBOT },
      ],
    },
    ['ServiceAccount other/a', 'ServiceAccount other/robot'],
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
        volumeClaimTemplates: [
          { metadata: { name: 'data' }, spec: CLONED },
          {
            metadata: { name: 'log' },
            spec: { dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'cloned-by-ref' } },
          },
        ],
      },
    },
    [
      ...['PersistentVolumeClaim ns/cloned', 'PersistentVolumeClaim ns/cloned-by-ref'],
      ...['PersistentVolumeClaim ns/data-web-*', 'PersistentVolumeClaim ns/log-web-*'],
    ],
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
    ...(['Ingress.networking.k8s.io', 'ns'] as const),
    annotated({
      [`${NGINX}/auth-secret`]: 'own',
      [`${NGINX}/auth-tls-secret`]: 'other/client',
      [`${NGINX}/proxy-ssl-secret`]: 'other/proxy',
      [`${NGINX}/secure-verify-ca-secret`]: 'ca',
      [`${NGINX}/custom-headers`]: 'other/headers',
      [`${NGINX}/auth-proxy-set-headers`]: 'other/auth-headers',
      [`${NGINX}/fastcgi-params-configmap`]: 'fastcgi',
      [`${NGINX}/auth-url`]: 'https://example.com/auth',
    }),
    [
      ...['ConfigMap ns/fastcgi', 'ConfigMap other/auth-headers', 'ConfigMap other/headers'],
      ...['Secret ns/ca', 'Secret ns/own', 'Secret other/client', 'Secret other/proxy'],
    ],
  ],
  ...['haproxy-ingress.github.io', 'ingress.kubernetes.io'].map(
    (prefix): Case => [
      ...(['Ingress.networking.k8s.io', 'ns'] as const),
      annotated({
        [`${prefix}/auth-secret`]: 'a',
        [`${prefix}/auth-tls-secret`]: 'b',
        [`${prefix}/secure-crt-secret`]: 'other/c',
        [`${prefix}/secure-verify-ca-secret`]: 'd',
      }),
      ['Secret ns/a', 'Secret ns/b', 'Secret ns/d', 'Secret other/c'],
    ],
  ),
  [
    ...(['Ingress.networking.k8s.io', 'ns'] as const),
    annotated({
      ...{ 'haproxy.org/auth-secret': 'a', 'haproxy.org/client-ca': 'b' },
      ...{ 'haproxy.org/server-ca': 'other/c', 'haproxy.org/server-crt': 'd' },
      ...{ 'nginx.org/basic-auth-secret': 'e', 'nginx.com/jwt-key': 'f' },
    }),
    [...['a', 'b', 'd', 'e', 'f'].map((each) => `Secret ns/${each}`), 'Secret other/c'],
  ],
  [
    ...(['Ingress.networking.k8s.io', 'ns'] as const),
    annotated({ 'alb.ingress.kubernetes.io/auth-idp-oidc': '{"secretName":"oidc"}' }),
    ['Secret ns/*'],
  ],
  [
    ...(['Ingress.networking.k8s.io', 'ns'] as const),
    {
      spec: {
        defaultBackend: { resource: { kind: 'ConfigMap', name: 'page' } },
        rules: [{ http: { paths: [{ backend: { resource: { kind: 'Secret', name: 'b' } } }] } }],
      },
    },
    ['ConfigMap ns/page', 'Secret ns/b'],
  ],
  [
    ...(['Ingress.networking.k8s.io', 'ns'] as const),
    {
      spec: {
        defaultBackend: { resource: { kind: 'Secret', name: 'a' } },
        rules: [{ http: { paths: [{ backend: { resource: { kind: 'ConfigMap', name: 'b' } } }] } }],
      },
    },
    ['ConfigMap ns/b', 'Secret ns/a'],
  ],
  ...KINDS.flatMap((kind): Case[] => [
    [
      ...(['IngressClass.networking.k8s.io', ''] as const),
      { spec: { parameters: { kind, ...inPlace('settings') } } },
      [`${kind} other/settings`],
    ],
    [
      ...([`GatewayClass.${GATEWAY}`, ''] as const),
      { spec: { parametersRef: { group: '', kind, ...inPlace('settings') } } },
      [`${kind} other/settings`],
    ],
    [
      ...([`Gateway.${GATEWAY}`, 'ns'] as const),
      { spec: { infrastructure: { parametersRef: { group: '', kind, name: 'settings' } } } },
      [`${kind} ns/settings`],
    ],
    ...['HTTPRoute', 'GRPCRoute'].map(
      (route): Case => [
        ...([`${route}.${GATEWAY}`, 'ns'] as const),
        {
          spec: {
            rules: [
              { filters: [{ type: 'ExtensionRef', extensionRef: { kind, name: 'a' } }] },
              { backendRefs: [{ name: 'web', filters: [{ extensionRef: { kind, name: 'b' } }] }] },
            ],
          },
        },
        [`${kind} ns/a`, `${kind} ns/b`],
      ],
    ),
  ]),
  ...[
    `Gateway.${GATEWAY}`,
    `ListenerSet.${GATEWAY}`,
    'XListenerSet.gateway.networking.x-k8s.io',
  ].flatMap((kind): Case[] => [
    [kind, 'ns', LISTENER, ['Secret b/far', 'Secret ns/own']],
    [kind, 'ns', CA_LISTENER, ['ConfigMap ns/ca', 'Secret ns/ca']],
  ]),
  [
    ...([`Gateway.${GATEWAY}`, 'ns'] as const),
    {
      spec: {
        tls: {
          backend: { clientCertificateRef: { name: 'client' } },
          frontend: {
            default: { validation: { caCertificateRefs: ofKinds('default') } },
            perPort: [
              {
                tls: {
                  validation: { caCertificateRefs: [{ kind: 'ConfigMap', ...inPlace('port') }] },
                },
              },
              {
                tls: {
                  validation: { caCertificateRefs: [{ kind: 'Secret', ...inPlace('port') }] },
                },
              },
            ],
          },
        },
      },
    },
    [
      ...['ConfigMap ns/default', 'ConfigMap other/port'],
      ...['Secret ns/client', 'Secret ns/default', 'Secret other/port'],
    ],
  ],
  [
    ...(['Route.route.openshift.io', 'ns'] as const),
    { spec: { tls: { externalCertificate: { name: 'tls' } } } },
    ['Secret ns/tls'],
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
    ...([`BackendTLSPolicy.${GATEWAY}`, 'ns'] as const),
    { spec: { tls: { caCertRefs: ofKinds('former') } } },
    ['ConfigMap ns/former', 'Secret ns/former'],
  ],
  [
    ...(['StorageClass.storage.k8s.io', ''] as const),
    {
      parameters: {
        ...parametersOf(CLASS_NAMES),
        ...{ adminSecretName: 'admin', adminSecretNamespace: 'other' },
        ...{ userSecretName: 'user', userSecretNamespace: 'other' },
        ...{ secretName: 'legacy', secretNamespace: 'other' },
        ...{ secretname: 'lower', secretnamespace: 'other' },
        ...Object.fromEntries(FORMER_NAMES.map((name) => [`${name}Name`, name])),
        ...Object.fromEntries(FORMER_NAMES.map((name) => [`${name}Namespace`, 'other'])),
      },
    },
    [...CLASS_NAMES, 'admin', 'user', 'legacy', 'lower', ...FORMER_NAMES]
      .map((name) => `Secret other/${name}`)
      .sort(),
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
    ...(['VolumeSnapshotClass.snapshot.storage.k8s.io', ''] as const),
    { parameters: { csiSnapshotterSecretName: 'a', csiSnapshotterSecretNamespace: '${' + 'b}' } },
    ['Secret */*'],
  ],
  [
    ...(['VolumeGroupSnapshotClass.groupsnapshot.storage.k8s.io', ''] as const),
    { parameters: parametersOf(['group-snapshotter']) },
    ['Secret other/group-snapshotter'],
  ],
  [
    ...(['VolumeSnapshotContent.snapshot.storage.k8s.io', ''] as const),
    deletedBy('snapshot.storage.kubernetes.io'),
    ['Secret other/deletion'],
  ],
  [
    ...(['VolumeGroupSnapshotContent.groupsnapshot.storage.k8s.io', ''] as const),
    deletedBy('groupsnapshot.storage.kubernetes.io'),
    ['Secret other/deletion'],
  ],
  [
    ...(['VolumeAttachment.storage.k8s.io', ''] as const),
    { spec: { source: { inlineVolumeSpec: VOLUME } } },
    OF_VOLUME.toSorted(),
  ],
  [
    ...(['PersistentVolume', ''] as const),
    {
      metadata: {
        annotations: {
          'volume.kubernetes.io/provisioner-deletion-secret-name': 'deletion',
          'volume.kubernetes.io/controller-modify-secret-name': 'modify',
          'volume.kubernetes.io/controller-modify-secret-namespace': 'other',
        },
      },
      spec: { claimRef: inPlace('data'), ...VOLUME },
    },
    ['Secret */deletion', 'Secret other/modify', ...OF_VOLUME].sort(),
  ],
  [`MutatingWebhookConfiguration.${ADMISSION}`, '', INJECTED, ['Secret cm/ca']],
  [`ValidatingWebhookConfiguration.${ADMISSION}`, '', INJECTED, ['Secret cm/ca']],
  ['APIService.apiregistration.k8s.io', '', INJECTED, ['Secret cm/ca']],
  ['CustomResourceDefinition.apiextensions.k8s.io', '', INJECTED, ['Secret cm/ca']],
  [
    ...(['Certificate.cert-manager.io', 'ns'] as const),
    {
      spec: {
        secretName: 'tls',
        issuerRef: { name: 'ca', kind: 'ClusterIssuer' },
        keystores: {
          jks: { create: true, passwordSecretRef: { name: 'jks', key: 'k' } },
          pkcs12: { create: true, passwordSecretRef: { name: 'pkcs12', key: 'k' } },
        },
      },
    },
    ['Secret ns/jks', 'Secret ns/pkcs12', 'Secret ns/tls'],
  ],
  ...[...ISSUERS, ...ISSUERS.map(([spec, uses]) => [spec, uses, ''] as const)].map(
    ([spec, uses, namespace = 'ns']): Case => [
      `${namespace === '' ? 'Cluster' : ''}Issuer.cert-manager.io`,
      namespace,
      { spec },
      uses.map((each) => each.replace(' ', ` ${namespace || '*'}/`)),
    ],
  ),
]

/** Of add-ons: what stands in the specification of each such kind, and what that uses. */
const ADD_ONS: readonly (readonly [string, string, object, readonly string[]])[] = [
  [
    'Prometheus PrometheusAgent Alertmanager',
    'monitoring.coreos.com',
    {
      ...{ secrets: ['a'], configMaps: ['b', 'c'], serviceAccountName: 'robot' },
      remoteWrite: [{ basicAuth: { password: { name: 'login', key: 'k' } } }],
    },
    [
      ...['ConfigMap ns/b', 'ConfigMap ns/c', 'ConfigMap ns/login'],
      ...['Secret ns/a', 'Secret ns/login', 'ServiceAccount ns/robot'],
    ],
  ],
  [
    'HelmRelease',
    'helm.toolkit.fluxcd.io',
    {
      serviceAccountName: 'robot',
      kubeConfig: { secretRef: { name: 'kube' }, configMapRef: { name: 'kube' } },
      valuesFrom: [
        { kind: 'Secret', name: 'a' },
        { kind: 'ConfigMap', name: 'b' },
      ],
      values: { name: 'no-name' },
    },
    [
      ...['ConfigMap ns/b', 'ConfigMap ns/kube', 'Secret ns/a', 'Secret ns/kube'],
      'ServiceAccount ns/robot',
    ],
  ],
  [
    'ClusterSecretStore',
    'external-secrets.io',
    {
      provider: {
        aws: { auth: { jwt: { serviceAccountRef: inPlace('robot') } } },
        vault: { auth: { tokenSecretRef: inPlace('token') } },
      },
    },
    [
      ...['ConfigMap other/robot', 'ConfigMap other/token'],
      ...['Secret other/robot', 'Secret other/token', 'ServiceAccount other/robot'],
    ],
  ],
  [
    'VirtualMachine VirtualMachineInstance',
    'kubevirt.io',
    {
      template: {
        spec: {
          volumes: [
            { persistentVolumeClaim: { claimName: 'data' } },
            { dataVolume: { name: 'disk' } },
            { secret: { secretName: 'a' } },
            { cloudInitNoCloud: { secretRef: { name: 'init' } } },
          ],
        },
      },
    },
    [
      ...['ConfigMap ns/disk', 'ConfigMap ns/init'],
      ...['PersistentVolumeClaim ns/data', 'PersistentVolumeClaim ns/disk'],
      ...['Secret ns/a', 'Secret ns/disk', 'Secret ns/init'],
    ],
  ],
  [
    'Cluster',
    'postgresql.cnpg.io',
    {
      superuserSecret: { name: 'admin' },
      certificates: {
        ...{ serverCASecret: 'a', serverTLSSecret: 'b' },
        ...{ clientCASecret: 'c', replicationTLSSecret: 'd' },
      },
    },
    ['ConfigMap ns/admin', ...['a', 'admin', 'b', 'c', 'd'].map((name) => `Secret ns/${name}`)],
  ],
  ...['traefik.io', 'traefik.containo.us'].map(
    (group) =>
      [
        'IngressRoute IngressRouteTCP Middleware TLSStore TLSOption ServersTransport ServersTransportTCP',
        group,
        {
          tls: { secretName: 'a' },
          basicAuth: { secret: 'b' },
          forwardAuth: { tls: { caSecret: 'c', certSecret: 'd' } },
          clientAuth: { secretNames: ['e'] },
          ...{ rootCAsSecrets: ['f'], certificatesSecrets: ['g'] },
          rootCAs: [{ configMap: 'h' }],
        },
        ['ConfigMap ns/h', ...[...'abcdefg'].map((name) => `Secret ns/${name}`)],
      ] as const,
  ),
  [
    'Gateway DestinationRule',
    'networking.istio.io',
    { servers: [{ tls: { mode: 'MUTUAL', credentialName: 'tls' } }] },
    ['Secret */tls', 'Secret */tls-cacert'],
  ],
  [
    'HTTPProxy',
    'projectcontour.io',
    {
      virtualhost: {
        tls: { secretName: 'other/tls', clientValidation: { caSecret: 'ca' } },
      },
    },
    ['Secret ns/ca', 'Secret other/tls'],
  ],
]

const ADD_ON_CASES = ADD_ONS.flatMap(([kinds, group, spec, expected]) => {
  return kinds.split(' ').map((kind): Case => [`${kind}.${group}`, 'ns', { spec }, expected])
})

/** Of most no more is known than that they name objects of theirs by `name`. */
const BY_NAME = {
  auth: [{ secretRef: { name: 'named', key: 'k' } }],
  ...{ serviceAccountName: 'robot', serviceAccountRef: { name: 'other-robot' } },
}

for (const { group, kind } of ADD_ON_USES[0]?.users ?? []) {
  test(`a ${kind}.${group} uses what it names at any depth`, () => {
    deepEqual(usesOf({ group, kind }, { spec: BY_NAME } as unknown as Json), [
      ...['ConfigMap ns/named', 'ConfigMap ns/other-robot'],
      ...['Secret ns/named', 'Secret ns/other-robot'],
      ...['ServiceAccount ns/other-robot', 'ServiceAccount ns/robot'],
    ])
  })
}

function kindOf(text: string): GroupKind {
  const [kind = '', ...group] = text.split('.')
  return { group: group.join('.'), kind }
}

for (const [kind, namespace, raw, expected] of [...CASES, ...ADD_ON_CASES]) {
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
  for (const [kind, , raw] of [...CASES, ...ADD_ON_CASES]) add(kind, raw as Json)
  for (const { kind, group } of ADD_ON_USES[0]?.users ?? []) {
    add(`${kind}.${group}`, { spec: BY_NAME } as unknown as Json)
  }
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
  const ingress = { group: 'networking.k8s.io', kind: 'Ingress' }
  const long = (name: string): object => ({ [`${NGINX}/auth-secret`]: name })
  for (const [name, any] of [
    ['a'.repeat(250), 'ns/*'],
    [`other/${'a'.repeat(250)}`, '*/*'],
  ] as const) {
    const used = usesOf(ingress, annotated(long(name)) as Json, 'ns', 200)
    ok(used.includes(`Secret ${any}`), used.join())
  }
  const binding = { group: RBAC, kind: 'RoleBinding' }
  const subjects = Array.from({ length: 100 }, (_, index) => {
    return { kind: 'ServiceAccount', name: `a${index}`, namespace: 'other' }
  })
  ok(usesOf(binding, { subjects } as unknown as Json, 'ns', 300).includes('ServiceAccount */*'))
})

test('what is no text where a name should be is any', () => {
  const pod = { group: '', kind: 'Pod' }
  ok(usesOf(pod, within('spec', { volumes: { a: 1 } })).every((each) => !each.includes('*')))
  ok(usesOf(pod, within('spec', { volumes: ['x'] })).includes('Secret ns/*'))
  ok(usesOf(pod, within('spec', { imagePullSecrets: [{ name: 7 }] })).includes('Secret ns/*'))
})

/** No API server makes sure that these are names. */
const ODD = [
  '${' + 'x}',
  '*',
  'a-*',
  '*/*',
  'other/a',
  'a,b',
  '%2A',
  ...['x', 'é', ':'].map((each) => each.repeat(300)),
]

for (const name of ODD) {
  test(`a tenant that writes ${name.slice(0, 20)} for a name uses no other object`, () => {
    const claim = { group: '', kind: 'PersistentVolumeClaim' }
    const dataSourceRef = { kind: 'PersistentVolumeClaim', name, namespace: name }
    const binding = { group: RBAC, kind: 'RoleBinding' }
    const subjects = [{ kind: 'ServiceAccount', name: 'a', namespace: name }]
    const gateway = { group: GATEWAY, kind: 'Gateway' }
    const listeners = [{ tls: { certificateRefs: [{ name, namespace: 'other' }] } }]
    const all = [
      ...placesOf(claim, { spec: { dataSourceRef } }),
      ...placesOf(binding, { subjects }),
      ...placesOf(gateway, { spec: { listeners } }),
      ...placesOf({ group: '', kind: 'Pod' }, { spec: { imagePullSecrets: [{ name }] } }),
    ].filter((place) => place.name !== 'default')
    equal(all.length, 4)
    for (const place of all) {
      ok(!`${place.namespace} ${place.name}`.includes('*'), JSON.stringify(place))
    }
  })
}

/** By a room as it is (`MOST_PROJECTED`). */
function placesOf(user: GroupKind, raw: object): readonly UsedPlace[] {
  const reads = useReadsOf([TABLE], user)
  const values = readUses(raw as Json, reads, 1_024)
  return reads.flatMap((read, index) => placesIn(read, 'ns', values[index]?.value))
}

test('a Role whatever its name is used by that name', () => {
  const binding = { group: RBAC, kind: 'RoleBinding' }
  for (const name of ODD) {
    const [place] = placesOf(binding, { roleRef: { kind: 'Role', name } })
    const role = { group: RBAC, kind: 'Role', namespace: 'ns', name }
    deepEqual(placesOfUsed(role)[0], place)
  }
})

/** What a binding names, for a rule about bindings. */
const NAMED: readonly (readonly [string, object, readonly string[]])[] = [
  ['RoleBinding', { roleRef: { kind: 'Role', name: 'reader' } }, ['Role ns/reader']],
  ['RoleBinding', { roleRef: { kind: 'ClusterRole', name: 'view' } }, ['ClusterRole /view']],
  ['ClusterRoleBinding', { roleRef: { kind: 'ClusterRole', name: 'view' } }, ['ClusterRole /view']],
  [
    'RoleBinding',
    { subjects: [{ kind: 'ServiceAccount', name: 'a', namespace: 'other' }] },
    ['ServiceAccount other/a'],
  ],
  ['RoleBinding', { subjects: [{ kind: 'User', name: 'ann' }] }, ['User ns/ann']],
  [
    'RoleBinding',
    { subjects: [{ kind: 'User', name: ROBOT }] },
    ['ServiceAccount other/robot', `User ns/${ROBOT}`],
  ],
  ['ClusterRoleBinding', { subjects: [{ kind: 'Group', name: 'ops' }] }, ['Group */ops']],
  [
    'ClusterRoleBinding',
    { subjects: [{ kind: 'ServiceAccount', name: 'a' }] },
    ['ServiceAccount */a'],
  ],
]

for (const [kind, raw, expected] of NAMED) {
  test(`a ${kind} names ${expected.join(', ')}`, () => {
    const user = { group: RBAC, kind }
    const rule: RuleUnused = { forMs: 0, uses: BINDING_NAMES, except: [] }
    const reads = useReadsOf([rule], user)
    const values = readUses(raw as Json, reads, MANY)
    const within = kind === 'RoleBinding' ? 'ns' : ''
    const places = reads.flatMap((read, index) => placesIn(read, within, values[index]?.value))
    deepEqual(
      places.map((place) => `${place.kind} ${place.namespace}/${place.name}`).sort(),
      expected,
    )
  })
}

test('not read is any, in its namespace or in all', () => {
  const [config] = useReadsOf([TABLE], { group: '', kind: 'Pod' })
  ok(config !== undefined)
  const any = placesIn(config, 'ns', undefined)[0]
  equal(`${any?.namespace}/${any?.name}`, 'ns/*')
  const [account] = useReadsOf([TABLE], { group: RBAC, kind: 'ClusterRoleBinding' })
  ok(account !== undefined)
  equal(placesIn(account, '', undefined)[0]?.namespace, '*')
})
