/**
 * The dependents of an object at a moment of the past, or its owners, level by level, out of the index alone.
 *
 * What must stay true: it is the tree that was folded by then; an object whose state is not kept so far back is named in `partial`, never left out in silence.
 *
 * Not here: whether the moment can be asked (moment.ts), the tree of now (tree.ts).
 */
import type { OwnerReference, Uid } from '../../../core/model/object.ts'
import { kindOfReference } from '../../../core/model/reference.ts'
import type { Turns } from '../turns.ts'
import type { Moment } from './moment.ts'
import { type PastObject, type SpanIndex, uidIn } from './span-index.ts'
import { byKindAndName, grow, MOST_INDEXED, TREE_LIMIT, type TreeNode } from './tree.ts'

const PAGE_KEYS = 500
/** Objects with more states than are kept that one answer looks at. */
const MOST_CUT = 1_000

export interface PastView {
  readonly spans: SpanIndex
  readonly cluster: string
  readonly moment: Moment
  /** To be taken between any two objects that are read. */
  readonly turns: Turns
  /** Who asks may get every object: else none is named outside the tree. */
  readonly isWhole: boolean
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
): Promise<{ answer: TreeNode; cut: string }> {
  const { spans, cluster, moment, turns } = view
  let read = 0
  const unwatched = new Set<Uid>()
  const top = leafOf(root, null)

  async function dependentsOf(owner: Uid): Promise<TreeNode[]> {
    const leaves: TreeNode[] = []
    for (let after = ''; ; ) {
      const page = await spans.dependentsPage(cluster, owner, after, PAGE_KEYS)
      for (const key of page) {
        if (leaves.length >= TREE_LIMIT || read >= MOST_INDEXED) break
        read += 1
        await turns.take()
        const object = spans.objectAt(cluster, uidIn(key), moment)
        if (object?.phase === 'hidden') unwatched.add(object.uid)
        const reference = object?.owners.find(({ uid }) => uid === owner)
        if (wasThere(object) && reference !== undefined) leaves.push(leafOf(object, reference))
      }
      const last = page.at(-1)
      const isFull = leaves.length >= TREE_LIMIT || read >= MOST_INDEXED
      if (last === undefined || page.length < PAGE_KEYS || isFull) break
      after = last
    }
    return leaves.sort(byKindAndName)
  }

  const cut = await grow(top, async (uid) => {
    await turns.take()
    if (!owners) return await dependentsOf(uid)
    const object = spans.objectAt(cluster, uid, moment)
    if (object?.phase === 'hidden') unwatched.add(uid)
    return object?.owners.map((reference) => ownerLeaf(view, reference)) ?? []
  })
  const texts = [cut, unwatchedText(unwatched.size), await cutText(view)]
  if (read >= MOST_INDEXED) texts.push('too many former dependents: some may be left out')
  return { answer: top, cut: texts.filter((text) => text !== '').join('; ') }
}

function unwatchedText(count: number): string {
  if (count === 0) return ''
  const some = count === 1 ? '1 object' : `${count} objects`
  return `the owners of ${some} that nobody watched by then are not known`
}

/** Whom these referenced then is not kept. */
async function cutText({ spans, cluster, moment, turns, isWhole }: PastView): Promise<string> {
  const keys = await spans.cutPage(cluster, MOST_CUT)
  const unknown: Uid[] = []
  for (const uid of keys.map(uidIn)) {
    await turns.take()
    if (spans.objectAt(cluster, uid, moment)?.phase === 'unknown') unknown.push(uid)
  }
  const more = `over ${MOST_CUT} objects changed very often: whether the owners of all are kept so far back is not known`
  if (unknown.length === 0) return keys.length < MOST_CUT ? '' : more
  const some = isWhole ? `: ${unknown.slice(0, 5).join(', ')}` : ''
  return `the owners of ${unknown.length} ${unknown.length === 1 ? 'object' : 'objects'} that changed very often are not kept so far back${some}`
}

function leafOf(object: PastObject, reference: OwnerReference | null): TreeNode {
  const { group, kind, namespace, name, uid, phase } = object
  return {
    ...{ group, kind, namespace, name, uid },
    phase: phase === 'hidden' ? 'unknown' : phase,
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
function ownerLeaf({ spans, cluster, moment }: PastView, reference: OwnerReference): TreeNode {
  const { group, kind } = kindOfReference(reference)
  const known = spans.objectAt(cluster, reference.uid, moment)
  if (known?.name === reference.name && known.kind === kind) return leafOf(known, reference)
  const { name, uid } = reference
  return {
    ...{ group, kind, namespace: '', name, uid },
    phase: 'unknown',
    edge: edgeOf(reference),
    verdict: null,
    repeated: false,
    children: [],
  }
}
