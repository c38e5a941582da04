/**
 * Owners in other clusters: how an object names one, and which of them a rule imports.
 *
 * What must stay true: the annotation is any author's text, and one that cannot be read whole names
 * nothing. A cluster is named by its uid alone, never by a name that another one may have later.
 *
 * Not here: what is known of such an owner (core/judge/elsewhere.ts).
 */
import type { GroupKind } from './group-kind.ts'

/** Its value: `CLUSTER/GROUP/KIND/NAMESPACE/NAME/UID`, of a kind of the core group `CLUSTER//…`. */
export const OWNER_ANNOTATION = 'kinfold.io/owner'

/** Which owners it imports. */
export interface RuleElsewhere {
  /** The uid of that cluster's namespace kube-system. */
  readonly cluster: string
  /** At least one. */
  readonly kinds: readonly GroupKind[]
  /** At least one; `*` in one stands for any text. */
  readonly namespaces: readonly string[]
  /** What that cluster exports: an owner is imported only where one of these has it, too. */
  readonly exports: readonly OwnerExport[]
}

export interface OwnerExport {
  readonly kinds: readonly GroupKind[]
  readonly namespaces: readonly string[]
  /** Uids of clusters. */
  readonly to: readonly string[]
}

/** An owner as an object names it. */
export interface OwnerElsewhereName extends GroupKind {
  readonly cluster: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** More than any whole name has. */
const MOST_CHARACTERS = 1_024

/** Null where the text is none. */
export function ownerElsewhere(text: string): OwnerElsewhereName | null {
  if (text.length > MOST_CHARACTERS) return null
  const parts = text.split('/')
  const [cluster = '', group = '', kind = '', namespace = '', name = '', uid = ''] = parts
  if (parts.length !== 6 || /\s/.test(text)) return null
  if (cluster === '' || kind === '' || name === '' || uid === '') return null
  return { cluster, group, kind, namespace, name, uid }
}

/** The text that names it. */
export function ownerElsewhereWith(owner: OwnerElsewhereName): string {
  const { cluster, group, kind, namespace, name, uid } = owner
  return [cluster, group, kind, namespace, name, uid].join('/')
}

/** Null where it names none. */
export function ownerNamedBy(annotations: readonly Annotation[]): OwnerElsewhereName | null {
  const named = annotations.find(({ key }) => key === OWNER_ANNOTATION)
  return named === undefined ? null : ownerElsewhere(named.value)
}

interface Annotation {
  readonly key: string
  readonly value: string
}
