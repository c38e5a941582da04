/**
 * Trees that come a page at a time: what is listed, what may still come, and how much of it is
 * rendered.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { DependentList, TreeNode } from '../../cli/answer.ts'
import { windowOf } from '../base/window.ts'
import { differences } from './tree-difference.ts'
import {
  addPage,
  belowText,
  type Item,
  itemOfTree,
  mayHaveChildren,
  nodeCount,
  rootItem,
  rowsOf,
} from './tree-model.ts'

type Listed = DependentList['objects'][number]

function node(
  name: string,
  children: readonly TreeNode[] = [],
  more: Partial<TreeNode> = {},
): TreeNode {
  return {
    ...{
      group: '',
      kind: 'Pod',
      namespace: 'ns',
      name,
      uid: `pod-${name}`,
      phase: 'observed',
      createdAt: null,
    },
    ...{ admission: null, doubt: null, deletion: null },
    ...{ edge: null, verdict: null, repeated: false, children, ...more },
  }
}

function listed(name: string): Listed {
  const { children: _, repeated: __, ...object } = node(name)
  const edge = { standing: 'solid', controller: true, blocking: true } as const
  return { ...object, phase: 'observed', createdAt: null, deletionTimestamp: null, edge }
}

/** `name+` is open, `…` has more to come. */
function drawn(root: Item): string {
  const lines = rowsOf(root).map((row) => {
    if (row.type === 'more') return '…'
    const { object, level, isOpen, isRepeated } = row.item
    const mark = isRepeated ? '=' : mayHaveChildren(row.item) ? (isOpen ? '+' : '?') : ''
    return `${'.'.repeat(level - 1)}${object.name}${mark}`
  })
  return lines.join(' ')
}

test('what was not asked for may have dependents; what was, has those that were listed', () => {
  const root = rootItem(node('a'))
  equal(drawn(root), 'a?')
  root.isOpen = true
  equal(drawn(root), 'a+ …')
  addPage(root, { objects: [listed('b'), listed('c')], continue: 'x' })
  equal(drawn(root), 'a+ .b? .c? …')
  addPage(root, { objects: [listed('c'), listed('d')], continue: null })
  equal(drawn(root), 'a+ .b? .c? .d?')
  const [b] = root.children as [Item]
  b.isOpen = true
  addPage(b, { objects: [], continue: null })
  equal(drawn(root), 'a+ .b .c? .d?')
})

test('an object that owns one above it is listed, and not opened again', () => {
  const root = rootItem(node('a'))
  root.isOpen = true
  addPage(root, { objects: [listed('b')], continue: null })
  const [b] = root.children as [Item]
  b.isOpen = true
  addPage(b, { objects: [listed('a')], continue: null })
  equal(drawn(root), 'a+ .b+ ..a=')
})

test('of a whole tree what its user closed stays closed', () => {
  const tree = node('a', [node('b', [node('c')]), node('d', [node('c', [], { repeated: true })])])
  const root = itemOfTree(tree)
  equal(drawn(root), 'a+ .b+ ..c .d+ ..c=')
  root.children[0]!.isOpen = false
  equal(drawn(itemOfTree(tree, root)), 'a+ .b? .d+ ..c=')
  equal(nodeCount(tree), 4)
})

test('a chain without end is listed without recursion', () => {
  let tree = node('end')
  for (let level = 0; level < 20_000; level++) tree = node(`${level}`, [tree])
  const root = itemOfTree(tree)
  for (let at = root; at.children[0] !== undefined; at = at.children[0]) at.isOpen = true
  equal(rowsOf(root).length, 20_001)
})

test('of 100,000 rows as many are rendered as of 100', () => {
  const sizes = [100, 100_000].map((count) => {
    const { first, end } = windowOf(1_000, 640, 32, count)
    ok(first <= 31 && end >= 51)
    return end - first
  })
  equal(sizes[0], sizes[1])
  deepEqual(windowOf(0, 640, 32, 3), { first: 0, end: 3 })
  // It became shorter than it was scrolled to.
  deepEqual(windowOf(100_000, 640, 32, 3), { first: 3, end: 3 })
  deepEqual(windowOf(0, 640, 32, 0), { first: 0, end: 0 })
})

test('two moments differ by uid, owner and state', () => {
  const before = node('a', [node('b', [node('c')]), node('d')])
  const after = node('a', [
    node('b', [], { uid: 'another' }),
    node('d', [node('c', [], { phase: 'deleting' })]),
  ])
  deepEqual(
    differences(before, after).map(({ type, object, what }) => `${type} ${object.uid}: ${what}`),
    [
      'removed pod-b: is not in the tree any more',
      'added another: is in the tree since',
      'changed pod-c: was: exists; is: being deleted; not owned by Pod/b any more; owned by Pod/d since',
    ],
  )
  deepEqual(differences(before, before), [])
})

test('what was deleted is in the tree of a deleted object, and is never added', () => {
  const gone = { phase: 'gone' }
  const there = node('a', [node('b', [node('c')])])
  const alone = node('a', [], gone)
  const former = node('a', [node('b', [node('c', [], gone)], gone), node('d', [], gone)], gone)
  const told = (from: TreeNode, to: TreeNode): readonly string[] =>
    differences(from, to).map(({ type, object, what }) => `${type} ${object.uid}: ${what}`)
  deepEqual(told(alone, former), [])
  deepEqual(
    told(there, former),
    ['pod-a', 'pod-b', 'pod-c'].map((uid) => `deleted ${uid}: was deleted since`),
  )
  // A moment before all of them, and one at which one of them was there again.
  deepEqual(told(former, there)[0], 'added pod-a: is in the tree since')
})

test('what is above an object is counted as owners', () => {
  const root = itemOfTree(node('a', [node('b', [node('c')])]))
  equal(belowText(root, 'owner'), '1 owner, 2 with theirs')
  equal(belowText(root), '1 dependent, 2 with theirs')
})
