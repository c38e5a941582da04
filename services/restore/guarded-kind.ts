/**
 * Kinds that a restore creates only where it is told to by name: with them others get rights, or a
 * say in the requests of all.
 *
 * What must stay true: whoever deletes such an object takes something away from somebody; that it
 * hung on what is restored is no reason to give it back.
 *
 * Not here: which rights these are (rights.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'

export const GUARDS = ['rbac', 'admission', 'crds', 'apiservices', 'secrets'] as const

/** A word of `--include`. */
export type Guard = (typeof GUARDS)[number]

const BY_GROUP: Readonly<Record<string, Guard>> = {
  'rbac.authorization.k8s.io': 'rbac',
  'authorization.openshift.io': 'rbac',
  'admissionregistration.k8s.io': 'admission',
  'apiextensions.k8s.io': 'crds',
  'apiregistration.k8s.io': 'apiservices',
}

/** Undefined: whoever restores what it hung on gets it, too. */
export function guardOf({ group, kind }: GroupKind): Guard | undefined {
  return group === '' && kind === 'Secret' ? 'secrets' : BY_GROUP[group]
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
