/**
 * Which labels and annotations are published for every object, and what rules read beside them of
 * the objects of some kinds.
 *
 * What must stay true: all that may protect an object are among the former, whatever the policy
 * says now; and the marks of `kinfold restore`, by which answers say what an object was restored
 * from. How many of those an object may have is bounded where it is read
 * (adapters/kubernetes/meta.ts). Rules change what is published of their own kinds alone.
 */
import { hash64 } from '../../core/model/hash.ts'
import type { Mark } from '../../core/model/mark.ts'
import { ALL_MARKS } from '../../core/model/mark.ts'
import type { GroupKind } from '../../core/model/object.ts'
import type { Protection } from '../../core/model/policy.ts'
import { type KindReads, type Rule, readsOf } from '../../core/model/rule/rule.ts'
import { readKeyValue, readSubject } from '../../core/model/subject.ts'
import { RESTORED_FROM } from './restored-mark.ts'

/**
 * Keys of labels and annotations that have to be published for every object. One that ends with a
 * slash means all that begin with it.
 */
export interface Projection {
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /** Published in addition for objects of these kinds: exact keys, and fields. */
  readonly kinds: readonly KindReads[]
}

/**
 * The built-in marks, whatever the policy says of them: the published fields must not depend on it.
 */
export const MARKED: Projection = projectionOf(null, [], [])

export function projectionOf(
  policy: Pick<Protection, 'labels' | 'annotations'> | null,
  subjects: readonly string[],
  rules: readonly Rule[],
): Projection {
  const keys = (on: Mark['on'], configured: readonly string[]): readonly string[] => {
    const marks = ALL_MARKS.filter((mark) => mark.on === on).map(({ key }) => key)
    const directed = subjects.flatMap((each) => {
      const subject = readSubject(each)
      return subject?.type === on ? [subject.key] : []
    })
    const policed = configured.map((each) => readKeyValue(each).key)
    const restored = on === 'annotation' ? [RESTORED_FROM] : []
    return [...new Set([...marks, ...restored, ...policed, ...directed])].sort()
  }
  return {
    labels: keys('label', policy?.labels ?? []),
    annotations: keys('annotation', policy?.annotations ?? []),
    // A rule that reads nothing in addition decides about objects as they are read anyway.
    kinds: readsOf(rules).filter(({ digest }) => digest !== ''),
  }
}

/** What rules read of objects of that kind. */
export function readsIn({ kinds }: Projection, of: GroupKind): KindReads | undefined {
  return kinds.find(({ group, kind }) => kind === of.kind && group === of.group)
}

/** Of a projection: objects published under another one may lack keys of this one. */
export function projectionDigest({ labels, annotations, kinds }: Projection): string {
  const read = kinds.map(({ group, kind, digest }) => [group, kind, digest])
  return hash64(JSON.stringify([labels, annotations, ...(read.length === 0 ? [] : [read.sort()])]))
}

/** As `projectionDigest`, of what concerns objects of one kind. */
export function kindDigest(projection: Projection, of: GroupKind): string {
  const reads = readsIn(projection, of)
  return projectionDigest({ ...projection, kinds: reads === undefined ? [] : [reads] })
}
