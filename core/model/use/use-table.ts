/**
 * Which kinds of Kubernetes name objects that they use, and where; and which objects are used
 * though none names them.
 *
 * What must stay true: what is not in here is called unused. So a row too many costs a finding, and
 * a row too few may cost an object. Each row has a test of its own.
 *
 * Not here: a PersistentVolume's claim, which is bound to it whether a Pod uses it or not; labels
 * that select objects, as aggregated ClusterRoles have them.
 */
import type { GroupKind } from '../rule/group-kind.ts'
import type { Use, UseException, User } from './use.ts'

function of(group: string, kind: string, at = ''): User {
  return { group, kind, at }
}

const SECRET: GroupKind = { group: '', kind: 'Secret' }
const CONFIG_MAP: GroupKind = { group: '', kind: 'ConfigMap' }
const CLAIM: GroupKind = { group: '', kind: 'PersistentVolumeClaim' }
const ACCOUNT: GroupKind = { group: '', kind: 'ServiceAccount' }
const ROLE: GroupKind = { group: 'rbac.authorization.k8s.io', kind: 'Role' }

const TEMPLATE = 'spec.template.spec'
/** Where the specification of a Pod is. */
export const POD_SPECS: readonly User[] = [
  of('', 'Pod', 'spec'),
  of('', 'PodTemplate', 'template.spec'),
  of('', 'ReplicationController', TEMPLATE),
  of('apps', 'Deployment', TEMPLATE),
  of('apps', 'ReplicaSet', TEMPLATE),
  of('apps', 'StatefulSet', TEMPLATE),
  of('apps', 'DaemonSet', TEMPLATE),
  // What a StatefulSet or a DaemonSet can be set back to.
  of('apps', 'ControllerRevision', `data.${TEMPLATE}`),
  of('batch', 'Job', TEMPLATE),
  of('batch', 'CronJob', `spec.jobTemplate.${TEMPLATE}`),
]

function inContainers(...paths: readonly string[]): readonly string[] {
  return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) => {
    return paths.map((path) => `${list}[].${path}`)
  })
}

/** By the kind that a Pod uses. */
export const POD_USES: readonly Omit<Use, 'users'>[] = [
  {
    used: CONFIG_MAP,
    paths: [
      'volumes[].configMap.name',
      'volumes[].projected.sources[].configMap.name',
      ...inContainers('env[].valueFrom.configMapKeyRef.name', 'envFrom[].configMapRef.name'),
    ],
  },
  {
    used: SECRET,
    paths: [
      'volumes[].secret.secretName',
      'volumes[].projected.sources[].secret.name',
      'volumes[].csi.nodePublishSecretRef.name',
      'volumes[].azureFile.secretName',
      ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map(
        (volume) => `volumes[].${volume}.secretRef.name`,
      ),
      'imagePullSecrets[].name',
      ...inContainers('env[].valueFrom.secretKeyRef.name', 'envFrom[].secretRef.name'),
    ],
  },
  { used: CLAIM, paths: ['volumes[].persistentVolumeClaim.claimName'] },
  { used: ACCOUNT, paths: ['serviceAccountName=default'] },
]

const BINDINGS = ['RoleBinding', 'ClusterRoleBinding'].map((kind) => {
  return of('rbac.authorization.k8s.io', kind)
})

const CSI = 'csi.storage.k8s.io'
const OF_STORAGE_CLASS = [
  ...['provisioner', 'controller-publish', 'node-stage', 'node-publish'],
  ...['controller-expand', 'node-expand'],
]

function parameters(prefix: string, names: readonly string[]): readonly string[] {
  return names.map(
    (name) => `parameters["${prefix}/${name}-secret-name"]@${prefix}/${name}-secret-namespace`,
  )
}

const VOLUME_SECRETS = [
  ...['controllerPublish', 'nodeStage', 'nodePublish', 'controllerExpand', 'nodeExpand'].map(
    (name) => `spec.csi.${name}SecretRef.name@namespace`,
  ),
  ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map(
    (volume) => `spec.${volume}.secretRef.name@namespace`,
  ),
  'spec.azureFile.secretName@secretNamespace',
  // By which the provisioner deletes the volume.
  'metadata.annotations["volume.kubernetes.io/provisioner-deletion-secret-name"]@volume.kubernetes.io/provisioner-deletion-secret-namespace',
]

const INJECTED = 'metadata.annotations["cert-manager.io/inject-ca-from-secret"]'

export const USE_TABLE: readonly Use[] = [
  ...POD_USES.map((use) => ({ ...use, users: POD_SPECS })),
  {
    used: SECRET,
    users: [of('', 'ServiceAccount')],
    paths: ['secrets[].name', 'imagePullSecrets[].name'],
  },
  // Of a token.
  {
    used: ACCOUNT,
    users: [of('', 'Secret')],
    paths: ['metadata.annotations["kubernetes.io/service-account.name"]'],
  },
  { used: ACCOUNT, users: BINDINGS, paths: ['subjects[kind=ServiceAccount].name@namespace'] },
  { used: ROLE, users: BINDINGS.slice(0, 1), paths: ['roleRef[kind=Role].name'] },
  {
    used: ACCOUNT,
    users: [of('kinfold.dev', 'CleanupPolicy', 'spec')],
    paths: ['serviceAccountName'],
  },
  {
    ...{ used: ACCOUNT, users: [of('kinfold.dev', 'ClusterCleanupPolicy', 'spec')] },
    paths: ['serviceAccountName@serviceAccountNamespace'],
  },
  {
    used: CLAIM,
    users: [of('apps', 'StatefulSet')],
    paths: ['spec.volumeClaimTemplates[].metadata.name>{}-{name}-*'],
  },
  {
    used: CLAIM,
    users: [of('', 'PersistentVolumeClaim', 'spec')],
    paths: [
      'dataSource[kind=PersistentVolumeClaim].name',
      'dataSourceRef[kind=PersistentVolumeClaim].name@namespace',
    ],
  },
  {
    ...{ used: CLAIM, users: [of('snapshot.storage.k8s.io', 'VolumeSnapshot')] },
    paths: ['spec.source.persistentVolumeClaimName'],
  },
  { used: SECRET, users: [of('networking.k8s.io', 'Ingress')], paths: ['spec.tls[].secretName'] },
  {
    used: SECRET,
    users: [of('gateway.networking.k8s.io', 'Gateway')],
    paths: [
      'spec.listeners[].tls.certificateRefs[].name@namespace',
      'spec.tls.backend.clientCertificateRef.name@namespace',
    ],
  },
  {
    used: CONFIG_MAP,
    users: [of('gateway.networking.k8s.io', 'Gateway')],
    paths: [
      'spec.listeners[].tls.frontendValidation.caCertificateRefs[].name@namespace',
      'spec.tls.frontend.default.validation.caCertificateRefs[].name@namespace',
      'spec.tls.frontend.perPort[].tls.validation.caCertificateRefs[].name@namespace',
    ],
  },
  ...[CONFIG_MAP, SECRET].map((used) => ({
    ...{ used, users: [of('gateway.networking.k8s.io', 'BackendTLSPolicy')] },
    paths: [`spec.validation.caCertificateRefs[kind=${used.kind}].name`],
  })),
  {
    used: SECRET,
    users: [of('storage.k8s.io', 'StorageClass')],
    paths: [
      ...parameters(CSI, OF_STORAGE_CLASS),
      ...['admin', 'user'].map((who) => `parameters.${who}SecretName@${who}SecretNamespace`),
      'parameters.secretName@secretNamespace',
    ],
  },
  {
    ...{ used: SECRET, users: [of('snapshot.storage.k8s.io', 'VolumeSnapshotClass')] },
    paths: parameters(CSI, ['snapshotter', 'snapshotter-list']),
  },
  { used: SECRET, users: [of('', 'PersistentVolume')], paths: VOLUME_SECRETS },
  // What they admit by is beside them; whose certificate is put there, cert-manager's mark says.
  {
    used: SECRET,
    users: [
      of('admissionregistration.k8s.io', 'MutatingWebhookConfiguration'),
      of('admissionregistration.k8s.io', 'ValidatingWebhookConfiguration'),
      of('apiregistration.k8s.io', 'APIService'),
      of('apiextensions.k8s.io', 'CustomResourceDefinition'),
    ],
    paths: [INJECTED],
  },
  { used: SECRET, users: [of('cert-manager.io', 'Certificate')], paths: ['spec.secretName'] },
  {
    used: SECRET,
    users: [
      of('cert-manager.io', 'Issuer', 'spec'),
      of('cert-manager.io', 'ClusterIssuer', 'spec'),
    ],
    paths: ['ca.secretName', 'acme.privateKeySecretRef.name'],
  },
]

function except(
  { group, kind }: GroupKind,
  [namespace, name, mark = '']: readonly [string, string, string?],
  because: string,
): UseException {
  return { group, kind, namespace, name, mark, because }
}

const BY_API = 'its controller reads it from the API, and none names it'

export const USE_EXCEPTIONS: readonly UseException[] = [
  except(CONFIG_MAP, ['*', 'kube-root-ca.crt'], 'kube-controller-manager makes it again'),
  except(CONFIG_MAP, ['*', 'openshift-service-ca.crt'], 'its controller makes it again'),
  except(CONFIG_MAP, ['*', 'istio-ca-root-cert'], 'its controller makes it again'),
  ...[
    ...['extension-apiserver-authentication', 'kubeadm-config', 'kubelet-config*', 'coredns*'],
    ...['kube-proxy*', 'kube-apiserver-legacy-service-account-token-tracking', 'aws-auth'],
    ...['cluster-autoscaler-status', 'cluster-config*', 'ingress-gce-lock'],
  ].map((name) => except(CONFIG_MAP, ['kube-system', name], BY_API)),
  except(CONFIG_MAP, ['kube-public', 'cluster-info'], 'who joins the cluster reads it'),
  except(CONFIG_MAP, ['*', '*', 'control-plane.alpha.kubernetes.io/leader'], 'it says who leads'),
  except(CONFIG_MAP, ['*', 'ingress-controller-leader*'], 'it says who leads'),
  except(CONFIG_MAP, ['*', '*', 'grafana_dashboard'], 'it is selected by its label'),
  except(ACCOUNT, ['*', 'default'], 'kube-controller-manager makes it again'),
  except(ACCOUNT, ['kube-system', '*'], 'controllers of the control plane call the API as it'),
  except(SECRET, ['*', 'sh.helm.release.v1.*'], 'Helm keeps a release in it'),
  except(CONFIG_MAP, ['*', 'sh.helm.release.v1.*'], 'Helm keeps a release in it'),
  except(SECRET, ['*', '*', 'kubernetes.io/service-account.name'], 'it is the token of an account'),
  except(SECRET, ['kube-system', 'bootstrap-token-*'], 'nodes join with it'),
  except(SECRET, ['*', '*', 'cert-manager.io/certificate-name'], 'cert-manager renews it'),
  except(SECRET, ['*', '*', 'cert-manager.io/allow-direct-injection'], BY_API),
  except(SECRET, ['*', '*', 'cert-manager.io/next-private-key'], BY_API),
  except(SECRET, ['*', '*', 'argocd.argoproj.io/secret-type'], 'Argo CD selects it by its label'),
  except(SECRET, ['*', '*', 'sealedsecrets.bitnami.com/sealed-secrets-key'], BY_API),
]
