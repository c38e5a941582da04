/**
 * The picture of the dependents of an object: of the tree that the list beside it has, or of its
 * own answer.
 *
 * What must stay true: what that answer lacks is said above it.
 */
import { type ComponentChild, h } from 'preact'
import type { TreeNode } from '../../cli/answer.ts'
import { useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { Notice } from '../base/frame.ts'
import { Drawing } from './drawing.ts'

export function Picture({
  cluster,
  uid,
  tree,
}: {
  readonly cluster: string
  readonly uid: string
  readonly tree: TreeNode | undefined
}): ComponentChild {
  const asked = useAnswer(`${cluster} ${uid} ${tree === undefined}`, async (signal) => {
    if (tree !== undefined) return { partial: '', root: tree }
    return await ask('/v1/tree', { cluster, uid }, signal)
  })
  // The tree that was given is the newest one.
  const root = tree ?? asked.answer?.root
  return h(
    'div',
    null,
    h(Notice, { asked }),
    root === undefined ? null : h(Drawing, { root, cluster, now: Date.now() }),
  )
}
