/**
 * What volumes, their claims, classes and snapshots name: the objects of which they are made, and
 * the Secrets by which drivers do it.
 *
 * What must stay true: only parameters of classes, which administrators alone write, are templates.
 * What a tenant writes is a name as it stands.
 */
import { AZURE, CLONED, VOLUMES_BY_SECRET } from './pod-use.ts'
import type { Use } from './use.ts'
import { CLAIM, of, SECRET } from './use-row.ts'

const CSI = 'csi.storage.k8s.io'
const OF_STORAGE_CLASS = [
  ...['provisioner', 'controller-publish', 'node-stage', 'node-publish'],
  ...['controller-expand', 'node-expand', 'controller-modify'],
]
/** Before names had a prefix. */
const FORMER = ['csiProvisioner', 'csiControllerPublish', 'csiNodeStage', 'csiNodePublish']

function parameters(names: readonly string[]): readonly string[] {
  return names.map(
    (name) => `parameters["${CSI}/${name}-secret-name"]@${CSI}/${name}-secret-namespace$`,
  )
}

function annotated(prefix: string): string {
  return `metadata.annotations["${prefix}-secret-name"]@${prefix}-secret-namespace`
}

const OF_VOLUME = [
  ...['controllerPublish', 'nodeStage', 'nodePublish', 'controllerExpand', 'nodeExpand'].map(
    (name) => `csi.${name}SecretRef.name@namespace`,
  ),
  ...AZURE.map(([name, namespace]) => `csi.volumeAttributes.${name}@${namespace}`),
  ...VOLUMES_BY_SECRET.map((volume) => `${volume}.secretRef.name@namespace`),
  'azureFile.secretName@secretNamespace',
]

const SNAPSHOT = 'snapshot.storage.k8s.io'
const GROUP_SNAPSHOT = 'groupsnapshot.storage.k8s.io'

export const VOLUME_USES: readonly Use[] = [
  {
    used: CLAIM,
    users: [of('apps', 'StatefulSet', 'spec')],
    paths: [
      'volumeClaimTemplates[].metadata.name>{}-{name}-*',
      ...CLONED.map((path) => `volumeClaimTemplates[].${path}`),
    ],
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
    ...{ used: CLAIM, users: [of(SNAPSHOT, 'VolumeSnapshot')] },
    paths: ['spec.source.persistentVolumeClaimName'],
  },
  {
    used: SECRET,
    users: [of('storage.k8s.io', 'StorageClass')],
    paths: [
      ...parameters(OF_STORAGE_CLASS),
      ...[...FORMER.map((name) => `${name}Secret`), 'adminSecret', 'userSecret'].map(
        (name) => `parameters.${name}Name@${name}Namespace$`,
      ),
      ...AZURE.map(([name, namespace]) => `parameters.${name}@${namespace}$`),
    ],
  },
  {
    ...{ used: SECRET, users: [of(SNAPSHOT, 'VolumeSnapshotClass')] },
    paths: [
      ...parameters(['snapshotter', 'snapshotter-list']),
      'parameters.csiSnapshotterSecretName@csiSnapshotterSecretNamespace$',
    ],
  },
  {
    ...{ used: SECRET, users: [of(GROUP_SNAPSHOT, 'VolumeGroupSnapshotClass')] },
    paths: parameters(['group-snapshotter']),
  },
  // By which the snapshot is deleted.
  {
    ...{ used: SECRET, users: [of(SNAPSHOT, 'VolumeSnapshotContent')] },
    paths: [annotated('snapshot.storage.kubernetes.io/deletion')],
  },
  {
    ...{ used: SECRET, users: [of(GROUP_SNAPSHOT, 'VolumeGroupSnapshotContent')] },
    paths: [annotated('groupsnapshot.storage.kubernetes.io/deletion')],
  },
  {
    used: SECRET,
    users: [of('', 'PersistentVolume')],
    paths: [
      ...OF_VOLUME.map((path) => `spec.${path}`),
      // By which the provisioner deletes the volume, and the resizer changes it.
      annotated('volume.kubernetes.io/provisioner-deletion'),
      annotated('volume.kubernetes.io/controller-modify'),
    ],
  },
  // It has a volume's specification where no PersistentVolume has it.
  {
    ...{ used: SECRET, users: [of('storage.k8s.io', 'VolumeAttachment')] },
    paths: OF_VOLUME.map((path) => `spec.source.inlineVolumeSpec.${path}`),
  },
]
