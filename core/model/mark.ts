/**
 * The marks that users put on an object so that it stays: our own mark, and those of tools that
 * they use already.
 *
 * What must stay true: data, from which the fold, the gate and the admission policy are all built;
 * every key in it is published for every object.
 *
 * Not here: other protection (admit/protection.ts), which fields of objects are published
 * (ports/record/projection.ts).
 */
import type { GroupKind, ObjectMeta } from './object.ts'

/** How the value of a mark is read. */
export type MarkMatch =
  | { readonly type: 'any-but'; readonly value: string }
  | { readonly type: 'one-of'; readonly values: readonly string[] }
  /** Words with commas between them, blanks around them left out: one of these is among them. */
  | { readonly type: 'lists'; readonly values: readonly string[] }

/** A label or annotation that a user puts on an object so that it stays. */
export interface Mark {
  /** Whose it is, for people. */
  readonly name: string
  readonly on: 'label' | 'annotation'
  readonly key: string
  readonly match: MarkMatch
}

/** Label or annotation; of any value but `false`. */
export const OWN_KEY = 'kinfold.dev/protected'
const NOT_FALSE: MarkMatch = { type: 'any-but', value: 'false' }

/** These count in every preset. */
export const OWN_MARKS: readonly Mark[] = [
  { name: 'Kinfold', on: 'annotation', key: OWN_KEY, match: NOT_FALSE },
  { name: 'Kinfold', on: 'label', key: OWN_KEY, match: NOT_FALSE },
]

/** These where the policy says so. */
export const OTHERS_MARKS: readonly Mark[] = [
  {
    name: 'Argo CD',
    on: 'annotation',
    key: 'argocd.argoproj.io/sync-options',
    match: {
      type: 'lists',
      values: ['Prune=false', 'Prune=confirm', 'Delete=false', 'Delete=confirm'],
    },
  },
  {
    name: 'Helm',
    on: 'annotation',
    key: 'helm.sh/resource-policy',
    match: { type: 'one-of', values: ['keep'] },
  },
  {
    name: 'Karmada',
    on: 'label',
    key: 'resourcetemplate.karmada.io/deletion-protected',
    match: { type: 'one-of', values: ['Always'] },
  },
  {
    name: 'OpenKruise',
    on: 'label',
    key: 'policy.kruise.io/delete-protection',
    match: { type: 'one-of', values: ['Always', 'Cascading'] },
  },
]

/**
 * Controllers (Deployment, DaemonSet, StatefulSet) copy all annotations of the owner to these, so
 * other tools' annotations there are about the owner: they must not keep the ReplicaSets of a
 * Deployment that a user deleted.
 */
export const COPIED_TO: readonly GroupKind[] = [
  { group: 'apps', kind: 'ReplicaSet' },
  { group: 'apps', kind: 'ControllerRevision' },
]

export const ALL_MARKS: readonly Mark[] = [...OWN_MARKS, ...OTHERS_MARKS]

/** The first of these marks that counts for the object. */
export function markOf(object: ObjectMeta, othersMarks: boolean): Mark | undefined {
  const isCopy = isCopied(object)
  return (othersMarks ? ALL_MARKS : OWN_MARKS).find((mark) => {
    const isCopiedMark = isCopy && mark.on === 'annotation' && mark.key !== OWN_KEY
    return !isCopiedMark && bears(object, mark)
  })
}

function isCopied({ group, kind, ownerReferences }: ObjectMeta): boolean {
  const isOfKind = COPIED_TO.some((each) => each.kind === kind && each.group === group)
  return isOfKind && ownerReferences.some(({ controller }) => controller === true)
}

function bears({ labels, annotations }: ObjectMeta, { on, key, match }: Mark): boolean {
  const pair = (on === 'label' ? labels : annotations).find((each) => each.key === key)
  return pair !== undefined && isMatch(pair.value, match)
}

function isMatch(text: string, match: MarkMatch): boolean {
  switch (match.type) {
    case 'any-but':
      return text !== match.value
    case 'one-of':
      return match.values.includes(text)
    case 'lists':
      return text.split(',').some((word) => match.values.includes(word.trim()))
  }
}
