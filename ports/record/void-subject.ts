/**
 * Subjects of protection that can be read and protect nothing, since nothing is ever so called:
 * refused before they are recorded.
 */
import { readSubject } from '../../core/model/subject.ts'

/** Of RFC 1123, as names of namespaces are. */
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Complete: new kinds of Kubernetes get groups. */
const CORE_KINDS: ReadonlySet<string> = new Set([
  'Binding',
  'ComponentStatus',
  'ConfigMap',
  'Endpoints',
  'Event',
  'LimitRange',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Pod',
  'PodTemplate',
  'ReplicationController',
  'ResourceQuota',
  'Secret',
  'Service',
  'ServiceAccount',
])

/**
 * Why nothing is ever so called, so that it would protect nothing; empty where there may be such
 * things.
 */
export function voidSubject(text: string): string {
  const subject = readSubject(text)
  if (subject?.type === 'namespace' && !LABEL.test(subject.name)) {
    return `no namespace can be called ${subject.name}: names are of lower-case letters, digits and "-", 63 at most`
  }
  if (subject?.type !== 'kind') return ''
  const { kind, group } = subject
  if (!/^[A-Z]/.test(kind)) {
    return `${kind} is no kind: kinds are written as in manifests, such as Pod or Widget.example.com`
  }
  if (group !== '' || CORE_KINDS.has(kind)) return ''
  return `the core group has no kind ${kind}: write its group as well, such as ReplicaSet.apps`
}
