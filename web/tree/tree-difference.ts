/**
 * What is different between two trees of one object, of two moments.
 *
 * What must stay true: objects are compared by uid: one that was deleted and created again under
 * its name is two changes. A tree lists deleted objects, too: none of them exists at its moment, so
 * one that both trees list as deleted is no difference, and one that was deleted is never "added".
 */
import type { TreeNode } from '../../cli/answer.ts'
import { phaseText } from '../../services/graph/api/word.ts'
import { nameText } from '../base/text.ts'

export interface Difference {
  readonly type: 'added' | 'deleted' | 'removed' | 'changed'
  readonly object: TreeNode
  readonly what: string
}

interface Known {
  readonly node: TreeNode
  /** Uids of those above it in the tree. */
  readonly owners: Map<string, string>
}

export function differences(from: TreeNode, to: TreeNode): readonly Difference[] {
  const [before, after] = [known(from), known(to)]
  const found: Difference[] = []
  for (const [uid, { node }] of before) {
    if (isDeleted(node)) continue
    const later = after.get(uid)
    if (later === undefined) {
      found.push({ type: 'removed', object: node, what: 'is not in the tree any more' })
    } else if (isDeleted(later.node)) {
      found.push({ type: 'deleted', object: node, what: 'was deleted since' })
    }
  }
  for (const [uid, { node, owners }] of after) {
    if (isDeleted(node)) continue
    const former = before.get(uid)
    if (former === undefined || isDeleted(former.node)) {
      found.push({ type: 'added', object: node, what: 'is in the tree since' })
      continue
    }
    const what = changes(former, { node, owners })
    if (what !== '') found.push({ type: 'changed', object: node, what })
  }
  return found
}

/** A tree lists what was deleted, too. */
export function isDeleted({ phase }: TreeNode): boolean {
  return phase === 'gone' || phase === 'absent'
}

function changes(before: Known, after: Known): string {
  const said: string[] = []
  if (before.node.phase !== after.node.phase) {
    said.push(`was: ${phaseText(before.node.phase)}; is: ${phaseText(after.node.phase)}`)
  }
  for (const [uid, name] of before.owners)
    if (!after.owners.has(uid)) said.push(`not owned by ${name} any more`)
  for (const [uid, name] of after.owners)
    if (!before.owners.has(uid)) said.push(`owned by ${name} since`)
  return said.join('; ')
}

function known(root: TreeNode): ReadonlyMap<string, Known> {
  const all = new Map<string, Known>([[root.uid, { node: root, owners: new Map() }]])
  const left = [root]
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    for (const child of at.children) {
      const known = all.get(child.uid) ?? { node: child, owners: new Map<string, string>() }
      known.owners.set(at.uid, nameText(at))
      all.set(child.uid, known)
      if (!child.repeated) left.push(child)
    }
  }
  return all
}
