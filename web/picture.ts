/**
 * A tree as a picture, up to 500 objects; beyond that, how many there are of each kind.
 *
 * What must stay true: the picture says nothing that the list does not; each object in it is a link.
 */
import { hierarchy, tree as layOut } from 'd3-hierarchy'
import { type ComponentChild, h } from 'preact'
import type { TreeNode } from '../cli/answer.ts'
import { useAnswer } from './answer.ts'
import { ask } from './ask.ts'
import { Notice, Table } from './frame.ts'
import { linkTo } from './place.ts'
import { kindText, lineOf, nameText, phaseText } from './text.ts'
import { nodeCount } from './tree-model.ts'

const MOST_DRAWN = 500
/** Of one object; deeper levels are to the right. */
const ROW_PX = 26
const LEVEL_PX = 250
const MOST_LETTERS = 30

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
    root === undefined ? null : h(Drawing, { root, cluster }),
  )
}

export function Drawing({
  root,
  cluster,
}: {
  readonly root: TreeNode
  readonly cluster: string
}): ComponentChild {
  const count = nodeCount(root)
  if (count > MOST_DRAWN) {
    const said = `${count.toLocaleString('en')} objects are too many for a picture, which has ${MOST_DRAWN} at most:`
    return h(
      'div',
      null,
      h('p', null, said),
      h(Table, {
        label: 'Objects of each kind',
        head: ['Kind', 'Objects'],
        rows: kindCounts(root),
      }),
    )
  }
  const laid = layOut<TreeNode>().nodeSize([ROW_PX, LEVEL_PX])(hierarchy(root))
  const nodes = laid.descendants()
  const tops = nodes.map(({ x }) => x)
  const top = Math.min(...tops) - ROW_PX
  const height = Math.max(...tops) - top + ROW_PX
  const width = (laid.height + 1) * LEVEL_PX + 20
  const links = laid.links().map(({ source, target }) => {
    const middle = (source.y + target.y) / 2
    return h('path', {
      class: 'link',
      d: `M${source.y},${source.x} C${middle},${source.x} ${middle},${target.x} ${target.y},${target.x}`,
    })
  })
  return h(
    'div',
    { class: 'scrolls picture', role: 'group', 'aria-label': 'Picture', tabIndex: 0 },
    h(
      'svg',
      { ...{ width, height }, viewBox: `-12 ${top} ${width} ${height}` },
      h('g', { 'aria-hidden': 'true' }, links),
      nodes.map(({ data, x, y }) => h(Node, { data, x, y, cluster })),
    ),
  )
}

function Node({
  data,
  x,
  y,
  cluster,
}: {
  readonly data: TreeNode
  readonly x: number
  readonly y: number
  readonly cluster: string
}): ComponentChild {
  const name = nameText(data)
  const state = data.phase === 'observed' ? '' : `, ${phaseText(data.phase)}`
  const content = [
    h('title', null, `${name}${state}`),
    h('circle', { r: 5, class: data.phase === 'observed' ? 'node' : 'node changed' }),
    h('text', { x: 10, dy: '0.32em' }, short(name)),
  ]
  const at = { transform: `translate(${y},${x})` }
  if (data.uid === 'hidden') return h('g', at, content)
  const href = linkTo('object', { cluster, uid: data.uid })
  return h('a', { ...at, href, 'aria-label': `${name}${state}` }, content)
}

function short(text: string): string {
  const letters = [...text]
  return letters.length <= MOST_LETTERS ? text : `${letters.slice(0, MOST_LETTERS - 1).join('')}…`
}

function kindCounts(root: TreeNode): readonly (readonly string[])[] {
  const counts = new Map<string, number>()
  const left = [root]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    left.push(...node.children)
    if (node.repeated) continue
    const kind = lineOf(kindText(node))
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  return sorted.map(([kind, count]) => [kind, count.toLocaleString('en')])
}
