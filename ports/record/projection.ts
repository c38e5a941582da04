/**
 * Which labels and annotations are published for every object, and what rules read beside them of
 * the objects of some kinds.
 *
 * What must stay true: all that may protect an object are among the former, whatever the policy
 * says now; and the marks of `kinfold restore`, by which answers say what an object was restored
 * from. Marks of other tools, which answers read, are published where the settings ask for them.
 * How many of those an object may have is bounded where it is read
 * (adapters/kubernetes/meta.ts). Rules change what is published of their own kinds alone.
 */
import { hash64 } from '../../core/model/hash.ts'
import type { Mark } from '../../core/model/mark.ts'
import { ALL_MARKS } from '../../core/model/mark.ts'
import type { GroupKind } from '../../core/model/object.ts'
import type { Protection } from '../../core/model/policy.ts'
import type { PolicyContent } from '../../core/model/rule/policy-content.ts'
import { type KindReads, type KindWithin, type Rule, readsOf } from '../../core/model/rule/rule.ts'
import { readKeyValue, readSubject } from '../../core/model/subject.ts'
import { type MarkKeys, NO_MARK_KEYS } from './manager-mark.ts'
import { RESTORED_FROM } from './restored-mark.ts'

/** It throws nothing: what cannot be compiled is a problem. */
export type PolicyCompiler = (object: unknown) => PolicyContent

/**
 * Keys of labels and annotations that have to be published for every object. One that ends with a
 * slash means all that begin with it.
 */
export interface Projection {
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /**
   * Published in addition for objects of these kinds: exact keys, and fields. Objects of a
   * namespace that has an entry of its own have that one.
   */
  readonly kinds: readonly KindReads[]
  /** Published in addition of every object, exact keys: for answers, and nothing else. */
  readonly marks: MarkKeys
  /**
   * What the object of a policy is compiled to: of its whole body. The adapter's own; left out,
   * such objects are read as any other one.
   */
  readonly policyContent?: PolicyCompiler
}

/**
 * The built-in marks, whatever the policy says of them: the published fields must not depend on it.
 */
export const MARKED: Projection = projectionOf(null, [], [])

export function projectionOf(
  policy: Pick<Protection, 'labels' | 'annotations'> | null,
  subjects: readonly string[],
  rules: readonly Rule[],
  marks: MarkKeys = NO_MARK_KEYS,
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
    kinds: readsInAddition(readsOf(rules)),
    marks: { labels: marks.labels, annotations: marks.annotations },
  }
}

/**
 * A rule that reads nothing in addition decides about objects as they are read anyway; and a
 * namespace whose rules read nothing in addition to those of all needs no entry of its own.
 */
function readsInAddition(all: readonly KindReads[]): readonly KindReads[] {
  return all.filter((reads) => {
    if (reads.namespace === '') return reads.digest !== ''
    const ofAll = all.find((each) => each.namespace === '' && isSameKind(each, reads))
    return reads.digest !== (ofAll?.digest ?? '')
  })
}

/** What rules read of objects of that kind in a namespace. */
export function readsIn({ kinds }: Projection, of: KindWithin): KindReads | undefined {
  const { namespace = '' } = of
  const own = kinds.find((each) => each.namespace === namespace && isSameKind(each, of))
  if (own !== undefined || namespace === '') return own
  return kinds.find((each) => each.namespace === '' && isSameKind(each, of))
}

/** Of all namespaces: what any rule reads of that kind. */
export function allReadsIn({ kinds }: Projection, of: GroupKind): readonly KindReads[] {
  return kinds.filter((each) => isSameKind(each, of))
}

function isSameKind(a: GroupKind, b: GroupKind): boolean {
  return a.kind === b.kind && a.group === b.group
}

/** Of a projection: objects published under another one may lack keys of this one. */
export function projectionDigest({ labels, annotations, kinds, marks }: Projection): string {
  const read = kinds.map(({ group, kind, namespace, digest }) => {
    return namespace === '' ? [group, kind, digest] : [group, kind, digest, namespace]
  })
  const keys = [...marks.labels.map((key) => `label ${key}`), ...marks.annotations].sort()
  const more = [
    ...(read.length === 0 ? [] : [read.sort()]),
    ...(keys.length === 0 ? [] : [{ keys }]),
  ]
  return hash64(JSON.stringify([labels, annotations, ...more]))
}

/** As `projectionDigest`, of what concerns objects of one kind. */
export function kindDigest(projection: Projection, of: GroupKind): string {
  return projectionDigest({ ...projection, kinds: allReadsIn(projection, of) })
}
