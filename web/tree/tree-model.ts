/**
 * A tree of which parts may not be loaded yet, and its rows as they are listed.
 *
 * What must stay true: what was not asked for yet is never shown as having no dependents; an object
 * that is shown twice has its dependents once.
 *
 * Not here: asking (object-tree.ts), drawing (tree-view.ts).
 */
import type { DependentList, TreeNode } from '../../cli/answer.ts'
import { relativesText } from '../base/text.ts'

export interface TreeObject {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly phase: string
  readonly createdAt: string | null
  readonly verdict: TreeNode['verdict']
  readonly admission: TreeNode['admission']
  readonly edge: TreeNode['edge']
}

/**
 * - `unknown`: not asked yet.
 * - `loading`.
 * - `part`: there are more, behind `next`.
 * - `all`.
 * - `failed`: `message` says why.
 */
export type Loaded =
  | { readonly type: 'unknown' }
  | { readonly type: 'loading' }
  | { readonly type: 'part'; readonly next: string }
  | { readonly type: 'all' }
  | { readonly type: 'failed'; readonly message: string; readonly next: string }

export interface Item {
  readonly object: TreeObject
  readonly above: Item | undefined
  readonly level: number
  /** Its dependents are shown where it is listed first. */
  readonly isRepeated: boolean
  readonly children: Item[]
  isOpen: boolean
  loaded: Loaded
  /** Objects of all levels below it; undefined: not all of them are loaded. */
  below: number | undefined
}

export type Row =
  | { readonly type: 'object'; readonly item: Item; readonly at: number }
  /** More of the dependents of `item` are there, are coming, or could not be had. */
  | { readonly type: 'more'; readonly item: Item }

/** Its rows are not all opened at once. */
const MOST_OPENED = 200

export function rootItem(object: TreeObject): Item {
  return itemOf(object, undefined, false)
}

function itemOf(object: TreeObject, above: Item | undefined, isRepeated: boolean): Item {
  const level = above === undefined ? 1 : above.level + 1
  const loaded: Loaded = { type: isRepeated ? 'all' : 'unknown' }
  return { object, above, level, isRepeated, children: [], isOpen: false, loaded, below: undefined }
}

/** A page of its dependents, as the server listed them. */
export function addPage(item: Item, page: Pick<DependentList, 'objects' | 'continue'>): void {
  const known = new Set(item.children.map(({ object }) => object.uid))
  for (const each of page.objects) {
    const isAbove = above(item).some(({ object }) => object.uid === each.uid)
    if (!known.has(each.uid) || each.uid === HIDDEN) item.children.push(itemOf(each, item, isAbove))
  }
  item.loaded = page.continue === null ? { type: 'all' } : { type: 'part', next: page.continue }
}

/** What who asks may not get. */
export const HIDDEN = 'hidden'

function above(item: Item): readonly Item[] {
  const all: Item[] = []
  for (let at: Item | undefined = item; at !== undefined; at = at.above) all.push(at)
  return all
}

/** A whole answer at once; what its user opened and closed in the former one stays so. */
export function itemOfTree(root: TreeNode, former?: Item): Item {
  const wasOpen = former === undefined ? new Map<string, boolean>() : openings(former)
  const top = rootItem(root)
  const left: [Item, TreeNode][] = [[top, root]]
  let opened = 0
  for (const [item, node] of left) {
    item.loaded = { type: 'all' }
    for (const child of node.children) {
      const next = itemOf(child, item, child.repeated)
      item.children.push(next)
      left.push([next, child])
    }
    opened += item.children.length
    item.isOpen = wasOpen.get(item.object.uid) ?? (opened <= MOST_OPENED || item === top)
  }
  for (const [item] of left.toReversed()) {
    item.below = item.children.reduce((sum, child) => sum + 1 + (child.below ?? 0), 0)
  }
  return top
}

function openings(root: Item): Map<string, boolean> {
  const known = new Map<string, boolean>()
  const left = [root]
  for (let item = left.pop(); item !== undefined; item = left.pop()) {
    if (item.children.length > 0) known.set(item.object.uid, item.isOpen)
    left.push(...item.children)
  }
  return known
}

export function rowsOf(root: Item): readonly Row[] {
  const rows: Row[] = []
  const left: { readonly item: Item; at: number }[] = []
  const enter = (item: Item, at: number): void => {
    rows.push({ type: 'object', item, at })
    if (item.isOpen) left.push({ item, at: 0 })
  }
  enter(root, 1)
  // Without recursion: any user may make a chain of references without an end.
  for (let top = left.at(-1); top !== undefined; top = left.at(-1)) {
    const child = top.item.children[top.at]
    top.at += 1
    if (child !== undefined) {
      enter(child, top.at)
      continue
    }
    left.pop()
    if (top.item.loaded.type !== 'all') rows.push({ type: 'more', item: top.item })
  }
  return rows
}

/** Whether it can be opened; one that was not asked for may have dependents. */
export function mayHaveChildren({ isRepeated, children, loaded }: Item): boolean {
  return !isRepeated && (children.length > 0 || loaded.type !== 'all')
}

/** Empty: it has none, or they are not known. */
export function belowText(
  { children, loaded, below }: Item,
  one: 'dependent' | 'owner' = 'dependent',
): string {
  if (children.length === 0 || loaded.type !== 'all') return ''
  return relativesText(children.length, below ?? children.length, one)
}

/** Of all levels, without those that are listed a second time. */
export function nodeCount(root: TreeNode): number {
  let count = 0
  const left = [root]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (!node.repeated) count += 1
    left.push(...node.children)
  }
  return count
}
