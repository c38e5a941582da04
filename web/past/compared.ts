/**
 * What is different between the tree of a moment and that of another, and the way to what changed
 * around it. What must stay true: where one of the trees may lack something, that is said.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo } from 'preact/hooks'
import type { TreeNode } from '../../cli/answer.ts'
import { Chips } from '../base/chip.ts'
import { Table } from '../base/frame.ts'
import { inOrder } from '../base/moment.ts'
import { linkTo } from '../base/place.ts'
import { countOf, lineOf, nameText } from '../base/text.ts'
import { differences, isDeleted } from '../tree/tree-difference.ts'

/** Others of its namespace may have changed, too. */
export function InPlace({
  root: { namespace },
  cluster,
  at,
  beside,
}: {
  readonly root: TreeNode
  readonly cluster: string
  readonly at: string
  readonly beside: string
}): ComponentChild {
  const [from, to] = inOrder(at, beside)
  const where = namespace === '' ? 'its cluster' : `namespace ${lineOf(namespace)}`
  const href = linkTo('diff', { cluster, namespace, from, to })
  return h('a', { href }, `What changed in ${where} between these moments`)
}

export const DOUBTFUL =
  'One of the two trees may be incomplete (see above): an object that it lacks may have been in it.'

export function Compared({
  before,
  after,
  cluster,
}: {
  readonly before: TreeNode
  readonly after: TreeNode
  readonly cluster: string
}): ComponentChild {
  const all = useMemo(() => differences(before, after), [before, after])
  const tones = { added: 'good', deleted: 'bad', removed: 'bad', changed: 'warm' } as const
  const rows = all.map(({ type, object, what }) => [
    h(Chips, { chips: [{ text: type, tone: tones[type] }] }),
    h(
      'a',
      { href: linkTo('object', { cluster, uid: object.uid }) },
      h('bdi', null, nameText(object)),
    ),
    lineOf(object.namespace),
    what,
  ])
  if (rows.length === 0) {
    const same = 'Nothing: the same objects, with the same owners and states.'
    const gone = 'Nothing: it was deleted by both moments.'
    return h('p', null, isDeleted(before) && isDeleted(after) ? gone : same)
  }
  const head = ['Change', 'Object', 'Namespace', 'What']
  return h(
    'div',
    null,
    h('p', null, `${countOf(rows.length, 'difference')}.`),
    h(Table, { label: 'Differences', head, rows }),
  )
}
