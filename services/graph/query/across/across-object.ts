/**
 * What is asked about a manager, and how an object that it has is listed.
 *
 * Not here: how such objects are found (across-part.ts, far-part.ts).
 */
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId, Coordinates, GroupKind, Uid } from '../../../../core/model/object.ts'
import type { Phase } from '../../api/across-schema.ts'
import { timeOf } from '../../api/document.ts'
import type { KindWord } from '../view/kind-word.ts'

export interface AcrossAsked {
  /** The word of who asks. */
  readonly kind: string
  readonly word: KindWord
  /** Undefined: any. */
  readonly namespace: string | undefined
  readonly name: string
  /** Of an owner that `kinfold.io/owner` names; undefined: any. Marks of tools name no uid. */
  readonly uid: string | undefined
  /** Objects that are listed. */
  readonly limit: number
  /** Undefined: what is there alone. */
  readonly gone?: GoneAsked | undefined
  /** Objects that would go with it: owners that `kinfold.io/owner` names, too. */
  readonly along?: ReadonlySet<Uid>
}

/** Which objects that named the owner, and are gone, are asked for. */
export interface GoneAsked {
  readonly uid: Uid
  /** Where the owner may have been. */
  readonly clusters: readonly ClusterId[]
  /** When its deletion began, in milliseconds; and what time it is. */
  readonly since: number
  readonly now: number
}

export interface AcrossObject extends GroupKind {
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  readonly phase: Phase
  readonly createdAt: string | null
  readonly isKept: boolean
}

export function acrossObject(node: Node, isKept: boolean): AcrossObject {
  const { group, kind, namespace, name, uid, createdAt } = node.object
  return {
    ...{ group, kind, namespace, name, uid, phase: nodePhase(node) },
    ...{ createdAt: timeOf(createdAt), isKept },
  }
}

export function byPlace(a: Coordinates, b: Coordinates): number {
  const [left, right] = [a, b].map(({ kind, group, namespace, name }) =>
    [kind, group, namespace, name].join('\0'),
  )
  return (left ?? '') < (right ?? '') ? -1 : 1
}
