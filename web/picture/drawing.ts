/**
 * A tree as a picture: a box for each object, with its kind, age, dependents and state, and a line
 * to what it is below.
 *
 * What must stay true: the picture says nothing that the list does not; each object in it is a
 * link, named in full; what is not drawn is counted.
 *
 * Not here: moving and enlarging (pane.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useMemo } from 'preact/hooks'
import type { TreeNode } from '../../cli/answer.ts'
import { markOf } from '../base/kind-mark.ts'
import { linkTo } from '../base/place.ts'
import { countOf, kindText, lineOf, nameText, spanText } from '../base/text.ts'
import { type Drawn, type Folded, type LookOf, picked } from './folded.ts'
import { BOX, isFold, layoutOf, type Placed } from './layout.ts'
import { lookOfState } from './look.ts'
import { Pane } from './pane.ts'

const MOST_LETTERS = 22
const MOST_DETAIL = 28

export interface DrawingProps {
  readonly root: TreeNode
  readonly cluster: string
  readonly lookOf?: LookOf
  /** Milliseconds, from which ages count. */
  readonly now: number
}

export function Drawing({
  root,
  cluster,
  lookOf = lookOfState,
  now,
}: DrawingProps): ComponentChild {
  const { placed, box, drawn, all } = useMemo(() => {
    const { root: top, ...counts } = picked(root, lookOf)
    return { ...layoutOf(top), ...counts }
  }, [root, lookOf])
  const more = `${drawn.toLocaleString('en')} of ${countOf(all, 'object')} are drawn; the others are counted beside them, and listed in the tree.`
  return h(
    'div',
    null,
    drawn < all ? h('p', { class: 'quiet' }, more) : null,
    h(Pane, {
      box,
      children: [
        h(
          'g',
          { 'aria-hidden': 'true' },
          placed.map(({ above, x, y }) =>
            above === null ? null : h('path', { class: 'link', d: curve(above, { x, y }) }),
          ),
        ),
        placed.map(({ item, ...at }) =>
          isFold(item) ? h(Fold, { at, fold: item }) : h(Box, { at, item, cluster, now }),
        ),
      ],
    }),
  )
}

type At = Pick<Placed, 'x' | 'y'>

function curve(from: At, to: At): string {
  const begin = from.x + BOX.width
  const middle = (begin + to.x) / 2
  return `M${begin},${from.y} C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`
}

function Box({
  at: { x, y },
  item: { node, look, below },
  cluster,
  now,
}: {
  readonly at: At
  readonly item: Drawn
  readonly cluster: string
  readonly now: number
}): ComponentChild {
  const { createdAt } = node
  const name = nameText(node)
  const age = createdAt === null ? '' : spanText(now - Date.parse(createdAt))
  const count = below === 0 ? '' : countOf(below, 'dependent')
  const said = (...texts: readonly string[]): readonly string[] =>
    texts.filter((text) => text !== '')
  const label = said(name, look.text, age, count).join(', ')
  // What is the matter with it is worth more room than its age.
  const detail = said(look.text === '' ? age : look.text, count).join(' · ')
  const content = [
    // It is what the link is called.
    h('title', null, label),
    h(Frame, { look, mark: markOf(node), name: lineOf(node.name), detail }),
  ]
  const place = { transform: `translate(${x},${y})`, class: `box ${look.tone}` }
  if (node.uid === 'hidden') return h('g', place, content)
  const href = linkTo('object', { cluster, uid: node.uid })
  return h('a', { ...place, href }, content)
}

function Fold({ at: { x, y }, fold }: { readonly at: At; readonly fold: Folded }): ComponentChild {
  const { look, count, objects } = fold
  const name = `${count.toLocaleString('en')} more ${lineOf(kindText(fold))}`
  const rest = objects > count ? `${countOf(objects - count, 'object')} below them` : ''
  const detail = [look.text, rest].filter((each) => each !== '').join(' · ')
  return h(
    'g',
    { transform: `translate(${x},${y})`, class: `box fold ${look.tone}` },
    h('title', null, detail === '' ? name : `${name}, ${detail}`),
    h(Frame, { look, mark: markOf(fold), name, detail }),
  )
}

function Frame({
  look: { sign },
  mark,
  name,
  detail,
}: {
  readonly look: Drawn['look']
  readonly mark: string
  readonly name: string
  readonly detail: string
}): ComponentChild {
  const isLow = detail === ''
  return [
    h('rect', { class: 'frame', y: -BOX.height / 2, ...BOX, rx: 5 }),
    h('rect', {
      class: 'mark',
      x: 2,
      y: 2 - BOX.height / 2,
      width: 42,
      height: BOX.height - 4,
      rx: 4,
    }),
    h('text', { class: 'kind', x: 22, dy: '0.32em' }, mark),
    h(
      'text',
      { x: 52, y: isLow ? 0 : -7, dy: '0.32em' },
      short(name, sign === '' ? MOST_LETTERS : MOST_LETTERS - 3),
    ),
    isLow
      ? null
      : h('text', { class: 'detail', x: 52, y: 10, dy: '0.32em' }, short(detail, MOST_DETAIL)),
    sign === '' ? null : h('text', { class: 'sign', x: BOX.width - 14, y: -7, dy: '0.32em' }, sign),
  ]
}

/** The middle is left out: names of one owner differ at their ends. */
export function short(text: string, most: number): string {
  const letters = [...text]
  if (letters.length <= most) return text
  const end = Math.floor((most - 1) / 2)
  return `${letters.slice(0, most - 1 - end).join('')}…${letters.slice(-end).join('')}`
}
