/**
 * The dependents of an object at a moment of the past, or its owners, level by level, out of the index alone.
 *
 * What must stay true: it is the tree that was folded by then, each dependent naming its owner by uid and coordinates; an object whose state is not kept so far
 * back is named in `partial`, never left out in silence.
 *
 * Not here: whether the moment can be asked (moment.ts), the tree of now (tree.ts).
 */
import { identityOf, isNamedBy } from '../../../../core/graph/identity.ts'
import type { OwnerReference, Uid } from '../../../../core/model/object.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import { kindOfReference } from '../../../../core/model/reference.ts'
import { timeOf } from '../../api/document.ts'
import type { Misnamed } from '../../api/part-schema.ts'
import type { Turns } from '../../turns.ts'
import type { Moment } from '../index/moment.ts'
import { type PastObject, type SpanIndex, uidIn } from '../index/span-index.ts'
import type { Sight } from '../view/sight.ts'
import { misnamedOf, NONE_MISNAMED, type Referring } from './misnamed.ts'
import { byKindAndName, grow, TREE_LIMIT, type TreeNode } from './tree.ts'

const PAGE_KEYS = 500
/** Entries of the index that one tree reads at most: it knows former dependents, too. */
const MOST_INDEXED = 100_000
/** Objects with more states than are kept that one answer looks at. */
const MOST_CUT = 1_000

export interface PastView {
  readonly spans: SpanIndex
  readonly cluster: string
  readonly moment: Moment
  /** To be taken between any two objects that are read. */
  readonly turns: Turns
  /** What is told of objects outside the tree. */
  readonly sight: Sight
}

/** It was in the graph. */
export function wasThere(object: PastObject | undefined): object is PastObject {
  if (object === undefined) return false
  return object.phase !== 'gone' && object.phase !== 'hidden'
}

export async function pastTree(
  view: PastView,
  root: PastObject,
  owners: boolean,
): Promise<{ answer: TreeNode; misnamed: Misnamed; cut: string }> {
  const { spans, cluster, moment, turns } = view
  let read = 0
  const unwatched = new Set<Uid>()
  const top = leafOf(root, null)

  async function dependentsOf(node: TreeNode): Promise<TreeNode[]> {
    const owner = identityOf(cluster, node)
    const leaves: TreeNode[] = []
    for (let after = ''; ; ) {
      const page = await spans.dependentsPage(owner, after, PAGE_KEYS)
      for (const key of page) {
        if (leaves.length >= TREE_LIMIT || read >= MOST_INDEXED) break
        read += 1
        await turns.take()
        const object = spans.objectAt(cluster, uidIn(key), moment)
        if (object?.phase === 'hidden') unwatched.add(object.uid)
        const reference = object?.owners.find((each) => isNamedBy(owner, object, each))
        if (wasThere(object) && reference !== undefined) leaves.push(leafOf(object, reference))
      }
      const last = page.at(-1)
      const isFull = leaves.length >= TREE_LIMIT || read >= MOST_INDEXED
      if (last === undefined || page.length < PAGE_KEYS || isFull) break
      after = last
    }
    return leaves.sort(byKindAndName)
  }

  const cut = await grow(cluster, top, async (node) => {
    await turns.take()
    if (!owners) return await dependentsOf(node)
    const object = spans.objectAt(cluster, node.uid, moment)
    if (object === undefined || !isSamePlace(object, node)) return []
    if (object.phase === 'hidden') unwatched.add(node.uid)
    return object.owners.map((reference) => ownerLeaf(view, object, reference))
  })
  const misnamed = owners ? NONE_MISNAMED : await misnamedThen(view, root)
  const texts = [cut, unwatchedText(unwatched.size), await cutText(view)]
  if (read >= MOST_INDEXED) texts.push('too many former dependents: some may be left out')
  return { answer: top, misnamed, cut: texts.filter((text) => text !== '').join('; ') }
}

async function misnamedThen(
  { spans, cluster, moment, turns, sight }: PastView,
  root: PastObject,
): Promise<Misnamed> {
  const owner = identityOf(cluster, root)
  const referring = (uid: Uid): Referring | undefined => {
    const object = spans.objectAt(cluster, uid, moment)
    if (!wasThere(object)) return undefined
    const names = (reference: OwnerReference): boolean => isNamedBy(owner, object, reference)
    return { object, references: object.owners, names }
  }
  return await misnamedOf(owner, { spans, turns, sight, referring })
}

function unwatchedText(count: number): string {
  if (count === 0) return ''
  const some = count === 1 ? '1 object' : `${count} objects`
  return `the owners of ${some} that nobody watched by then are not known`
}

/** Whom these referenced then is not kept. */
async function cutText({ spans, cluster, moment, turns, sight }: PastView): Promise<string> {
  const keys = await spans.cutPage(cluster, MOST_CUT)
  const unknown: Uid[] = []
  for (const uid of keys.map(uidIn)) {
    await turns.take()
    if (spans.objectAt(cluster, uid, moment)?.phase === 'unknown') unknown.push(uid)
  }
  const more = `over ${MOST_CUT} objects changed very often: whether the owners of all are kept so far back is not known`
  if (unknown.length === 0) return keys.length < MOST_CUT ? '' : more
  const some = sight.isWhole ? `: ${unknown.slice(0, 5).join(', ')}` : ''
  return `the owners of ${unknown.length} ${unknown.length === 1 ? 'object' : 'objects'} that changed very often are not kept so far back${some}`
}

function leafOf(object: PastObject, reference: OwnerReference | null): TreeNode {
  const { group, kind, namespace, name, uid, phase, createdAt } = object
  return {
    ...{ group, kind, namespace, name, uid },
    phase: phase === 'hidden' ? 'unknown' : phase,
    createdAt: timeOf(createdAt),
    edge: reference && edgeOf(reference),
    verdict: null,
    repeated: false,
    children: [],
  }
}

function edgeOf({ controller, blockOwnerDeletion }: OwnerReference): NonNullable<TreeNode['edge']> {
  return {
    standing: null,
    controller: controller === true,
    blocking: blockOwnerDeletion === true,
  }
}

/** One that was never seen by then is unknown: it may be of a kind that is not watched. */
function ownerLeaf(
  { spans, cluster, moment }: PastView,
  dependent: PastObject,
  reference: OwnerReference,
): TreeNode {
  const { group, kind } = kindOfReference(reference)
  const known = spans.objectAt(cluster, reference.uid, moment)
  if (known !== undefined && isNamedBy(identityOf(cluster, known), dependent, reference)) {
    return leafOf(known, reference)
  }
  const { name, uid } = reference
  return {
    ...{ group, kind, namespace: '', name, uid },
    phase: 'unknown',
    createdAt: null,
    edge: edgeOf(reference),
    verdict: null,
    repeated: false,
    children: [],
  }
}
