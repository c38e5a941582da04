/**
 * Which kinds of Kubernetes name objects that they use, and where.
 *
 * What must stay true: what is not in here is called unused. So a row too many costs a finding, and
 * a row too few may cost an object. Each row has a test of its own.
 *
 * Not here: a PersistentVolume's claim, which is bound to it whether a Pod uses it or not; labels
 * that select objects, as aggregated ClusterRoles have them; groups of ServiceAccounts, which name
 * none of them.
 */
import { ADD_ON_USES } from './add-on-use.ts'
import { POD_SPECS, POD_USES } from './pod-use.ts'
import { ROUTE_USES } from './route-use.ts'
import type { Use } from './use.ts'
import { ACCOUNT, CLAIM, CONFIG_MAP, of, ROLE, SECRET } from './use-row.ts'
import { VOLUME_USES } from './volume-use.ts'

const BINDINGS = ['RoleBinding', 'ClusterRoleBinding'].map((kind) => {
  return of('rbac.authorization.k8s.io', kind)
})

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
  {
    used: ACCOUNT,
    users: BINDINGS,
    paths: [
      'subjects[kind=ServiceAccount].name@namespace',
      // By the name as which it calls the API.
      'subjects[kind=User].name@system:serviceaccount:',
    ],
  },
  { used: ROLE, users: BINDINGS.slice(0, 1), paths: ['roleRef[kind=Role].name'] },
  {
    used: ACCOUNT,
    users: [of('flowcontrol.apiserver.k8s.io', 'FlowSchema', 'spec.rules[].subjects[]')],
    paths: ['serviceAccount.name@namespace', 'user.name@system:serviceaccount:'],
  },
  {
    used: ACCOUNT,
    users: [of('kinfold.dev', 'CleanupPolicy', 'spec')],
    paths: ['serviceAccountName'],
  },
  {
    ...{ used: ACCOUNT, users: [of('kinfold.dev', 'ClusterCleanupPolicy', 'spec')] },
    paths: ['serviceAccountName@serviceAccountNamespace'],
  },
  // Of what kind the parameters are, its policy says. What a selector selects may be any.
  ...[CONFIG_MAP, SECRET, CLAIM, ACCOUNT, ROLE].map((used) => ({
    used,
    users: [
      of('admissionregistration.k8s.io', 'ValidatingAdmissionPolicyBinding', 'spec.paramRef'),
      of('admissionregistration.k8s.io', 'MutatingAdmissionPolicyBinding', 'spec.paramRef'),
    ],
    paths: ['name@namespace', 'selector'],
  })),
  ...VOLUME_USES,
  ...ROUTE_USES,
  ...ADD_ON_USES,
]
