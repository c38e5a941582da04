/** What a Pod names, and which kinds hold the specification of one. */
import type { Use, User } from './use.ts'
import { ACCOUNT, CLAIM, CONFIG_MAP, of, SECRET } from './use-row.ts'

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
  of('apps.openshift.io', 'DeploymentConfig', TEMPLATE),
]

function inContainers(...paths: readonly string[]): readonly string[] {
  return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) => {
    return paths.map((path) => `${list}[].${path}`)
  })
}

/** Volumes of the core that log in somewhere by a `secretRef`. */
export const VOLUMES_BY_SECRET: readonly string[] = [
  ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'],
]

/** Drivers of Azure read it of a volume, in whatever case it is written: name, and namespace. */
export const AZURE: readonly (readonly [string, string])[] = [
  ['secretName', 'secretNamespace'],
  ['secretname', 'secretnamespace'],
]

/** Of a claim that is made from it, in its namespace. */
export const CLONED: readonly string[] = ['dataSource', 'dataSourceRef'].map(
  (source) => `spec.${source}[kind=PersistentVolumeClaim].name`,
)

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
      ...AZURE.map(([name]) => `volumes[].csi.volumeAttributes.${name}`),
      'volumes[].azureFile.secretName',
      ...VOLUMES_BY_SECRET.map((volume) => `volumes[].${volume}.secretRef.name`),
      'imagePullSecrets[].name',
      ...inContainers('env[].valueFrom.secretKeyRef.name', 'envFrom[].secretRef.name'),
    ],
  },
  {
    used: CLAIM,
    paths: [
      'volumes[].persistentVolumeClaim.claimName',
      ...CLONED.map((path) => `volumes[].ephemeral.volumeClaimTemplate.${path}`),
    ],
  },
  // The second is its former name, and a template that no server has defaulted may have it alone.
  { used: ACCOUNT, paths: ['serviceAccountName=default', 'serviceAccount'] },
]
