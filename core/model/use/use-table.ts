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

import type { GroupKind } from '../rule/group-kind.ts'
import { ADD_ON_USES } from './add-on-use.ts'
import { BINDING_NAMES, BINDING_USES, BINDINGS, isBinding } from './binding-use.ts'
import { POD_SPECS, POD_USES } from './pod-use.ts'
import { ROUTE_USES } from './route-use.ts'
import { isSameKind, nameOf, type Use } from './use.ts'
import { ACCOUNT, CLAIM, CONFIG_MAP, of, ROLE, SECRET } from './use-row.ts'
import { VOLUME_USES } from './volume-use.ts'

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
  ...BINDING_USES,
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

/** Kinds that a rule may ask about. */
export const KNOWN_KINDS: readonly GroupKind[] = [
  ...new Map(
    [...USE_TABLE.map(({ used }) => used), ...BINDINGS].map(({ group, kind }) => {
      return [nameOf({ group, kind }), { group, kind }] as const
    }),
  ).values(),
]

/** The rows of a rule about these kinds: what uses them, and what bindings among them name. */
export function usesAbout(kinds: readonly GroupKind[], own: readonly Use[] = []): readonly Use[] {
  const isAsked = ({ used }: Use): boolean => kinds.some((each) => isSameKind(each, used))
  const rows = [...USE_TABLE, ...own].filter(isAsked)
  if (!kinds.some(isBinding)) return rows
  return [...rows, ...BINDING_NAMES.filter((each) => !rows.includes(each))]
}
