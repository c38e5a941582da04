/** What of a tree is drawn and counted, where it lies, how it looks, and what is in sight of it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Plan, TreeNode } from '../../cli/answer.ts'
import { type Drawn, picked } from './folded.ts'
import { BOX, isFold, layoutOf } from './layout.ts'
import { lookOfPlan, lookOfState } from './look.ts'
import { type Box, fitted, kept, moved, shown, zoomed } from './viewport.ts'

function node(name: string, children: readonly TreeNode[] = [], more: Partial<TreeNode> = {}) {
  const about = { group: '', kind: 'Pod', namespace: 'ns', name, uid: `uid-${name}` }
  const state = { phase: 'observed', createdAt: null, edge: null, verdict: null, repeated: false }
  const judged = { admission: null, doubt: null, deletion: null }
  return { ...about, ...state, ...judged, children, ...more } satisfies TreeNode
}

function pods(count: number, more: Partial<TreeNode> = {}): readonly TreeNode[] {
  return Array.from({ length: count }, (_, at) => node(`${more.phase ?? 'p'}-${at}`, [], more))
}

/** Objects that are drawn, and that folds count. */
function totals(root: Drawn): { readonly drawn: number; readonly folded: number } {
  let [drawn, folded] = [0, 0]
  const left = [root]
  for (const each of left) {
    drawn += 1
    folded += each.folds.reduce((sum, { objects }) => sum + objects, 0)
    left.push(...each.children)
  }
  return { drawn, folded }
}

test('a small tree is drawn whole', () => {
  const { root, drawn, all } = picked(node('a', [node('b', pods(3)), node('c')]), lookOfState)
  deepEqual([drawn, all], [6, 6])
  deepEqual(totals(root), { drawn: 6, folded: 0 })
})

test('of many alike some are drawn, the others counted; those with a state of their own first', () => {
  const children = [...pods(5_000), ...pods(3, { phase: 'deleting' })]
  const { root, drawn, all } = picked(node('a', children), lookOfState)
  deepEqual([drawn, all], [14, 5_004])
  deepEqual(
    root.children.slice(0, 3).map((each) => each.node.phase),
    ['deleting', 'deleting', 'deleting'],
  )
  deepEqual(
    root.folds.map(({ kind, count, objects }) => [kind, count, objects]),
    [['Pod', 4_990, 4_990]],
  )
})

test('whatever the tree is, at most as many are drawn as may be, and every object is drawn or counted once', () => {
  const object = fc.record({
    /** Which of those before it is its owner. */
    owner: fc.nat(),
    kind: fc.constantFrom('Pod', 'Job', 'ConfigMap'),
    phase: fc.constantFrom('observed', 'observed', 'deleting', 'gone'),
  })
  const objects = fc.array(object, { maxLength: 300, size: 'max' })
  fc.assert(
    fc.property(objects, fc.integer({ min: 1, max: 400 }), (all, most) => {
      const children: TreeNode[][] = [[]]
      for (const { owner, ...more } of all) {
        const own: TreeNode[] = []
        children[owner % children.length]?.push(node('x', own, more))
        children.push(own)
      }
      const { root, drawn, all: count } = picked(node('x', children[0]), lookOfState, most)
      ok(drawn <= most)
      equal(count, all.length + 1)
      const told = totals(root)
      deepEqual(told, { drawn, folded: count - drawn })
    }),
    { numRuns: 200 },
  )
})

test('a chain of any depth is drawn without recursion', () => {
  let chain = node('last')
  for (let level = 0; level < 10_000; level++) chain = node(`l${level}`, [chain])
  const { drawn, all } = picked(chain, lookOfState)
  deepEqual([drawn, all], [400, 10_001])
})

test('no two boxes overlap', () => {
  const children = [node('b', pods(20)), node('c', pods(7)), node('d', [node('e', pods(2))])]
  const { placed, box } = layoutOf(picked(node('a', children), lookOfState).root)
  for (const one of placed) {
    ok(one.x >= box.x && one.x + BOX.width <= box.x + box.width)
    for (const other of placed) {
      if (one === other || one.x !== other.x) continue
      ok(Math.abs(one.y - other.y) >= BOX.height, `${one.y} and ${other.y}`)
    }
  }
  equal(placed.filter(({ item }) => isFold(item)).length, 1)
})

test('what a plan does not list is never drawn as kept', () => {
  type Planned = Plan['objects'][number]
  const planned = (name: string, effect: Planned['effect']): Planned => {
    const { group, kind, namespace, uid } = node(name)
    const rest = { resourceVersion: '1', because: '', owners: [], finalizers: [] }
    return { group, kind, namespace, name, uid, effect, ...rest }
  }
  const objects = [planned('a', 'deleted'), planned('b', 'kept')]
  const counts = [
    { group: '', kind: 'Pod', effect: 'deleted', count: 1 },
    { group: '', kind: 'Pod', effect: 'kept', count: 1 },
  ] as const
  const whole = { root: planned('a', 'deleted'), objects, counts, total: 2, hidden: 0 }
  const texts = (plan: Parameters<typeof lookOfPlan>[0]): readonly string[] => {
    return ['a', 'b', 'c'].map((name) => lookOfPlan(plan)(node(name)).text)
  }
  deepEqual(texts(whole), ['deleted', 'kept', 'not touched'])
  deepEqual(texts({ ...whole, objects: objects.slice(0, 1) }), [
    'deleted',
    'not listed',
    'not listed',
  ])
  deepEqual(texts({ ...whole, total: null })[2], 'not listed')
  deepEqual(texts({ ...whole, hidden: 1 })[2], 'not listed')
})

const PICTURE: Box = { x: 0, y: -500, width: 2_000, height: 1_000 }
const WINDOW = { width: 400, height: 300 }

test('fitted, all of it is in the window; at least legible, its beginning is', () => {
  const all = fitted(PICTURE, WINDOW)
  ok(PICTURE.width * all.scale <= WINDOW.width)
  ok(all.x <= 0 && all.x + WINDOW.width / all.scale >= 2_000)
  const legible = fitted(PICTURE, WINDOW, 0.7)
  equal(legible.scale, 0.7)
  ok(legible.x < 0 && legible.x > -50)
  // The root is in the middle of the height.
  equal(Math.round(legible.y + WINDOW.height / 0.7 / 2), 0)
})

test('what is under the pointer stays there while it is enlarged', () => {
  const view = { x: 10, y: 20, scale: 0.5 }
  const at = { x: 100, y: 50 }
  const next = zoomed(view, 2, at)
  deepEqual(next, { x: 110, y: 70, scale: 1 })
  equal(next.x + at.x / next.scale, view.x + at.x / view.scale)
  equal(zoomed(view, 1_000, at).scale, 3)
  equal(zoomed(view, 0.0001, at).scale, 0.05)
})

test('however far it is moved, some of it stays in the window', () => {
  for (const [x, y] of [
    [1e6, 0],
    [-1e6, 0],
    [0, 1e6],
    [0, -1e6],
  ] as const) {
    const view = kept(moved({ x: 0, y: 0, scale: 1 }, x, y), PICTURE, WINDOW)
    ok(view.x < 2_000 && view.x + WINDOW.width > 0, JSON.stringify(view))
    ok(view.y < 500 && view.y + WINDOW.height > -500, JSON.stringify(view))
  }
})

test('a part that gets the focus comes into sight, and one in sight moves nothing', () => {
  const view = { x: 0, y: 0, scale: 1 }
  const part = { width: 100, height: 30 }
  deepEqual(shown(view, { x: 10, y: 10, ...part }, WINDOW), view)
  deepEqual(shown(view, { x: 900, y: -40, ...part }, WINDOW), { x: 600, y: -40, scale: 1 })
})
