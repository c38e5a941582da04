/**
 * The kinds that every cluster has, by plural and group, with kubectl's short names: what people
 * may mean by a name that is none, and what a shell offers them.
 *
 * What must stay true: no name is resolved by it without a word.
 */
import { type ListedKind, nameOf, readKind } from '../print/kind-name.ts'

const NAMES = `
  componentstatuses cs
  configmaps cm
  endpoints ep
  events ev
  limitranges limits
  namespaces ns
  nodes no
  persistentvolumeclaims pvc
  persistentvolumes pv
  pods po
  podtemplates
  replicationcontrollers rc
  resourcequotas quota
  secrets
  serviceaccounts sa
  services svc
  mutatingwebhookconfigurations.admissionregistration.k8s.io
  validatingadmissionpolicies.admissionregistration.k8s.io
  validatingadmissionpolicybindings.admissionregistration.k8s.io
  validatingwebhookconfigurations.admissionregistration.k8s.io
  customresourcedefinitions.apiextensions.k8s.io crd crds
  apiservices.apiregistration.k8s.io
  controllerrevisions.apps
  daemonsets.apps ds
  deployments.apps deploy
  replicasets.apps rs
  statefulsets.apps sts
  horizontalpodautoscalers.autoscaling hpa
  cronjobs.batch cj
  jobs.batch
  certificatesigningrequests.certificates.k8s.io csr
  leases.coordination.k8s.io
  endpointslices.discovery.k8s.io
  flowschemas.flowcontrol.apiserver.k8s.io
  prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
  ingressclasses.networking.k8s.io
  ingresses.networking.k8s.io ing
  ipaddresses.networking.k8s.io ip
  networkpolicies.networking.k8s.io netpol
  servicecidrs.networking.k8s.io
  runtimeclasses.node.k8s.io
  poddisruptionbudgets.policy pdb
  clusterrolebindings.rbac.authorization.k8s.io
  clusterroles.rbac.authorization.k8s.io
  rolebindings.rbac.authorization.k8s.io
  roles.rbac.authorization.k8s.io
  deviceclasses.resource.k8s.io
  resourceclaims.resource.k8s.io
  resourceclaimtemplates.resource.k8s.io
  resourceslices.resource.k8s.io
  priorityclasses.scheduling.k8s.io pc
  csidrivers.storage.k8s.io
  csinodes.storage.k8s.io
  csistoragecapacities.storage.k8s.io
  storageclasses.storage.k8s.io sc
  volumeattachments.storage.k8s.io
  volumeattributesclasses.storage.k8s.io vac
`

interface BuiltIn extends ListedKind {
  readonly shortNames: readonly string[]
}

const BUILT_IN: readonly BuiltIn[] = NAMES.trim()
  .split('\n')
  .map((line) => {
    const [name = '', ...shortNames] = line.trim().split(' ')
    return { ...readKind(name), shortNames }
  })

/** Of all of them. */
export const SHORT_NAMES: readonly string[] = BUILT_IN.flatMap(({ shortNames }) => shortNames)

/** Its full name; undefined where nothing that every cluster has is called so. */
export function builtInNamed(word: string): string | undefined {
  const { resource, group } = readKind(word)
  const meant = BUILT_IN.find(
    (each) =>
      (group === '' || group === each.group) &&
      (each.resource === resource || each.shortNames.includes(resource)),
  )
  return meant && nameOf(meant)
}
