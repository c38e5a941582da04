/**
 * Kinds that a restore creates only where the user names them: their objects give rights to others,
 * or act on the requests of all.
 *
 * What must stay true: a user who deletes such an object takes rights from others; that it was a
 * dependent of a restored object is no reason to create it again.
 *
 * Not here: which rights these are (rights.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'

export const GUARDS = ['rbac', 'admission', 'crds', 'apiservices', 'secrets'] as const

/** A word of `--include`. */
export type Guard = (typeof GUARDS)[number]

/** All kinds of a group, or one of them. Add those of other servers that do the same. */
const KNOWN: Readonly<Record<Exclude<Guard, 'secrets'>, readonly string[]>> = {
  rbac: [
    'rbac.authorization.k8s.io',
    'certificates.k8s.io',
    'authorization.openshift.io',
    'security.openshift.io',
    'user.openshift.io',
    'oauth.openshift.io',
    'OAuth.config.openshift.io',
    'iamauthenticator.k8s.aws',
    'GlobalRole.management.cattle.io',
    'GlobalRoleBinding.management.cattle.io',
    'RoleTemplate.management.cattle.io',
    'ClusterRoleTemplateBinding.management.cattle.io',
    'ProjectRoleTemplateBinding.management.cattle.io',
  ],
  admission: [
    'admissionregistration.k8s.io',
    'flowcontrol.apiserver.k8s.io',
    'PodSecurityPolicy.policy',
    'PodSecurityPolicy.extensions',
    'kyverno.io',
    'policies.kyverno.io',
    'templates.gatekeeper.sh',
    'constraints.gatekeeper.sh',
    'mutations.gatekeeper.sh',
  ],
  crds: ['apiextensions.k8s.io'],
  apiservices: ['apiregistration.k8s.io'],
}

const BY_NAME = new Map(
  GUARDS.flatMap((guard) =>
    guard === 'secrets' ? [] : KNOWN[guard].map((name) => [name, guard] as const),
  ),
)

/** Undefined: it is restored with its owner. */
export function guardOf({ group, kind }: GroupKind): Guard | undefined {
  if (group === '') return kind === 'Secret' ? 'secrets' : undefined
  return BY_NAME.get(group) ?? BY_NAME.get(`${kind}.${group}`)
}

const WHAT: Readonly<Record<Guard, string>> = {
  rbac: 'it hands out rights',
  admission: 'it has a say in the requests of others',
  crds: 'it defines a kind of the whole cluster',
  apiservices: 'it hands a part of the API over to another server',
  secrets: 'it is a Secret',
}

export function guardText(guard: Guard): string {
  return `${WHAT[guard]}, so it is created only with --include ${guard}`
}
