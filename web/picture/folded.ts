/**
 * What of a tree is drawn: all of a small one; of a large one at most 400 objects, those with a
 * state of their own first, and in the place of the rest how many there are.
 *
 * What must stay true: every object is drawn or counted in exactly one fold, so the numbers in a
 * picture add up to the tree. The work is one pass over the tree.
 *
 * Not here: where it is drawn (layout.ts), and how (drawing.ts).
 */
import type { TreeNode } from '../../cli/answer.ts'
import { kindText } from '../base/text.ts'

export const MOST_DRAWN = 400
/** Dependents of one owner, of one kind and state; one more or less is no reason to fold. */
const MOST_ALIKE = 12
const SHOWN_ALIKE = 10
/** The same of those that have dependents themselves. */
const MOST_OWNERS = 40

/** How an object is drawn. `sign` and `text` say what `tone` says in colour. */
export interface Look {
  readonly tone: 'plain' | 'good' | 'warm' | 'bad' | 'quiet'
  readonly sign: string
  /** Empty: nothing to say. */
  readonly text: string
}

export type LookOf = (node: TreeNode) => Look

export interface Folded {
  readonly group: string
  readonly kind: string
  readonly look: Look
  /** Directly below the owner, and with all that is below them. */
  readonly count: number
  readonly objects: number
}

export interface Drawn {
  readonly look: Look
  /** Of all levels below it, as in the tree. */
  readonly below: number
  readonly node: TreeNode
  readonly children: Drawn[]
  folds: readonly Folded[]
}

export interface Picked {
  readonly root: Drawn
  readonly drawn: number
  readonly all: number
}

export function picked(root: TreeNode, lookOf: LookOf, most: number = MOST_DRAWN): Picked {
  const below = countsBelow(root)
  const drawnOf = (node: TreeNode): Drawn => {
    return { node, look: lookOf(node), below: below.get(node) ?? 0, children: [], folds: [] }
  }
  const top = drawnOf(root)
  const queue = [top]
  let drawn = 1
  // Level by level: what is near the root is drawn before what is deep.
  for (const at of queue) {
    const left: Drawn[] = []
    for (const alike of alikeIn(at.node.children.map(drawnOf))) {
      const room = Math.max(0, Math.min(wantedOf(alike), most - drawn))
      at.children.push(...alike.slice(0, room))
      left.push(...alike.slice(room))
      drawn += room
    }
    at.folds = foldsOf(left)
    queue.push(...at.children)
  }
  return { root: top, drawn, all: (below.get(root) ?? 0) + 1 }
}

function wantedOf(alike: readonly Drawn[]): number {
  if (alike.some(({ below }) => below > 0)) return Math.min(alike.length, MOST_OWNERS)
  return alike.length > MOST_ALIKE ? SHOWN_ALIKE : alike.length
}

/** Those with something to say first. */
function alikeIn(children: readonly Drawn[]): readonly (readonly Drawn[])[] {
  const groups = Map.groupBy(children, (each) => `${each.below > 0} ${keyOf(each)}`)
  const rank = ([first]: readonly Drawn[]): number => (first?.look.text === '' ? 1 : 0)
  return [...groups.values()].toSorted((a, b) => rank(a) - rank(b))
}

function keyOf({ node, look }: Drawn): string {
  return `${look.text} ${kindText(node)}`
}

function foldsOf(left: readonly Drawn[]): readonly Folded[] {
  return [...Map.groupBy(left, keyOf).values()].flatMap((all) => {
    const [first] = all
    if (first === undefined) return []
    const { group, kind } = first.node
    const objects = all.reduce((sum, { below }) => sum + 1 + below, 0)
    return [{ group, kind, look: first.look, count: all.length, objects }]
  })
}

/** Without recursion: any user may make a chain of references without an end. */
function countsBelow(root: TreeNode): ReadonlyMap<TreeNode, number> {
  const order = [root]
  for (const node of order) order.push(...node.children)
  const counts = new Map<TreeNode, number>()
  for (const node of order.toReversed()) {
    const sum = node.children.reduce((all, child) => all + 1 + (counts.get(child) ?? 0), 0)
    counts.set(node, sum)
  }
  return counts
}
