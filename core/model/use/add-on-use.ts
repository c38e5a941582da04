/**
 * What custom resources of common add-ons name. Their fields are many, and more come with each
 * version: so any name at any depth of a specification counts, whatever it is of.
 *
 * What must stay true: a name too many costs a finding. Where names are too many to be published,
 * the object may use any.
 *
 * Not here: the Gateway API and cert-manager (route-use.ts), and all other add-ons, which a rule
 * says itself (`unused.uses`).
 */
import type { Use, User } from './use.ts'
import { ACCOUNT, CLAIM, CONFIG_MAP, of, SECRET } from './use-row.ts'

function each(group: string, kinds: readonly string[], at = 'spec'): readonly User[] {
  return kinds.map((kind) => of(group, kind, at))
}

/** They name Secrets, ConfigMaps and ServiceAccounts wherever a name can be. */
const BY_NAME: readonly User[] = [
  ...each('monitoring.coreos.com', [
    ...['Prometheus', 'PrometheusAgent', 'Alertmanager', 'ThanosRuler', 'AlertmanagerConfig'],
    ...['ServiceMonitor', 'PodMonitor', 'Probe', 'ScrapeConfig'],
  ]),
  ...each('source.toolkit.fluxcd.io', [
    ...['GitRepository', 'HelmRepository', 'OCIRepository', 'Bucket'],
  ]),
  ...each('kustomize.toolkit.fluxcd.io', ['Kustomization']),
  ...each('notification.toolkit.fluxcd.io', ['Provider', 'Receiver']),
  ...each('image.toolkit.fluxcd.io', ['ImageRepository']),
  ...each('external-secrets.io', ['SecretStore', 'ExternalSecret']),
  ...each('keda.sh', ['TriggerAuthentication', 'ClusterTriggerAuthentication']),
  ...each('velero.io', ['BackupStorageLocation', 'VolumeSnapshotLocation']),
  ...each('postgresql.cnpg.io', ['Cluster', 'Pooler']),
  ...each('trust.cert-manager.io', ['Bundle']),
  ...each('kubevirt.io', ['VirtualMachine', 'VirtualMachineInstance']),
]

const MACHINES = each('kubevirt.io', ['VirtualMachine', 'VirtualMachineInstance'])
const RELEASE = each('helm.toolkit.fluxcd.io', ['HelmRelease'])
const STORE = each('external-secrets.io', ['ClusterSecretStore'])
/** `basicAuth.secret` of a Middleware, for example, is a name itself. */
const TRAEFIK = ['traefik.io', 'traefik.containo.us'].flatMap((group) => {
  return each(group, [
    ...['IngressRoute', 'IngressRouteTCP', 'Middleware', 'TLSStore', 'TLSOption'],
    ...['ServersTransport', 'ServersTransportTCP'],
  ])
})
const MOUNTING = ['Prometheus', 'PrometheusAgent', 'Alertmanager']
const CREDENTIAL = '**.credentialName@*'

export const ADD_ON_USES: readonly Use[] = [
  { used: SECRET, users: BY_NAME, paths: ['**.name'] },
  { used: CONFIG_MAP, users: BY_NAME, paths: ['**.name'] },
  {
    ...{ used: ACCOUNT, users: BY_NAME },
    paths: ['**.serviceAccountName', '**.serviceAccountRef.name'],
  },
  { used: SECRET, users: each('monitoring.coreos.com', MOUNTING), paths: ['secrets'] },
  { used: CONFIG_MAP, users: each('monitoring.coreos.com', MOUNTING), paths: ['configMaps'] },
  {
    ...{ used: SECRET, users: RELEASE },
    paths: ['valuesFrom[kind=Secret].name', 'kubeConfig.secretRef.name'],
  },
  {
    ...{ used: CONFIG_MAP, users: RELEASE },
    paths: ['valuesFrom[kind=ConfigMap].name', 'kubeConfig.configMapRef.name'],
  },
  { used: ACCOUNT, users: RELEASE, paths: ['serviceAccountName'] },
  { used: SECRET, users: STORE, paths: ['**.name@namespace'] },
  { used: CONFIG_MAP, users: STORE, paths: ['**.name@namespace'] },
  { used: ACCOUNT, users: STORE, paths: ['**.serviceAccountRef.name@namespace'] },
  { used: SECRET, users: MACHINES, paths: ['**.secretName'] },
  { used: CLAIM, users: MACHINES, paths: ['**.claimName', '**.dataVolume.name'] },
  {
    ...{ used: SECRET, users: each('postgresql.cnpg.io', ['Cluster'], 'spec.certificates') },
    paths: ['serverCASecret', 'serverTLSSecret', 'clientCASecret', 'replicationTLSSecret'],
  },
  {
    used: SECRET,
    users: TRAEFIK,
    paths: [
      ...['secretName', 'secret', 'caSecret', 'certSecret', 'secretNames'],
      ...['rootCAsSecrets', 'certificatesSecrets'],
    ].map((name) => `**.${name}`),
  },
  { used: CONFIG_MAP, users: TRAEFIK, paths: ['**.configMap'] },
  // In the namespace of the gateway's Pods; its authorities may be in another Secret.
  {
    ...{ used: SECRET, users: each('networking.istio.io', ['Gateway', 'DestinationRule']) },
    paths: [CREDENTIAL, `${CREDENTIAL}>{}-cacert`],
  },
  {
    ...{ used: SECRET, users: each('projectcontour.io', ['HTTPProxy']) },
    paths: ['**.secretName@/', '**.caSecret@/'],
  },
]
