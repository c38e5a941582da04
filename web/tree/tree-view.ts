/**
 * A tree as rows: with a mouse, with arrows as the ARIA Authoring Practices have them for trees,
 * and read aloud with level and position.
 *
 * What must stay true: only rows in sight are in the document (window.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useId, useMemo, useState } from 'preact/hooks'
import { phaseText, shortText, withHeld } from '../../services/graph/api/word.ts'
import { type Chip, Chips } from '../base/chip.ts'
import { Age } from '../base/frame.ts'
import { KindMark } from '../base/kind-mark.ts'
import { linkTo } from '../base/place.ts'
import { lineOf, nameText } from '../base/text.ts'
import { movedBy, Rows } from '../base/window.ts'
import { belowText, HIDDEN, type Item, mayHaveChildren, type Row, rowsOf } from './tree-model.ts'

export interface TreeProps {
  readonly root: Item
  /** Another one whenever anything of the tree is another. */
  readonly version: number
  readonly label: string
  readonly cluster: string
  /** What is below each; `dependent` without it. */
  readonly below?: 'dependent' | 'owner'
  /** Loads the next of its dependents. */
  readonly load: (item: Item) => void
  readonly onChange: () => void
}

export function TreeView(props: TreeProps): ComponentChild {
  const { root, version, label, cluster, below, load, onChange } = props
  const rows = useMemo(() => rowsOf(root), [root, version])
  const [wanted, setWanted] = useState(0)
  const [isFocused, setFocused] = useState(false)
  const id = useId()
  const active = Math.min(wanted, rows.length - 1)

  const setOpen = (item: Item, isOpen: boolean): void => {
    item.isOpen = isOpen
    if (isOpen && item.loaded.type === 'unknown') load(item)
    onChange()
  }
  const goUp = (row: Row): void => {
    const to = row.type === 'more' ? row.item : row.item.above
    const at = rows.findIndex((each) => each.type === 'object' && each.item === to)
    if (at >= 0) setWanted(at)
  }
  const pressed = (event: KeyboardEvent): void => {
    const row = rows[active]
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const { key } = event
    const to = movedBy(event, active, rows.length)
    const item = row.type === 'object' ? row.item : undefined
    if (to !== undefined) setWanted(to)
    else if (key === 'ArrowRight' && item !== undefined && mayHaveChildren(item)) {
      if (item.isOpen) setWanted(Math.min(active + 1, rows.length - 1))
      else setOpen(item, true)
    } else if (key === 'ArrowLeft') {
      if (item?.isOpen === true && mayHaveChildren(item)) setOpen(item, false)
      else goUp(row)
    } else if (key === 'Enter' || key === ' ') {
      if (item === undefined) load(row.item)
      else if (isNamed(item)) location.hash = linkTo('object', { cluster, uid: item.object.uid })
    } else return
    event.preventDefault()
  }

  return h(Rows, {
    count: rows.length,
    active: isFocused ? active : -1,
    outer: {
      role: 'tree',
      'aria-label': label,
      ...(isFocused && { 'aria-activedescendant': `${id}-${active}` }),
      tabIndex: 0,
      class: isFocused ? 'tree focused' : 'tree',
      onKeyDown: pressed,
      onFocus: () => setFocused(true),
      onBlur: () => setFocused(false),
    },
    onSeen: ({ first, end }) => {
      // A user who scrolls to the end of what is loaded is shown more.
      for (const row of rows.slice(first, end)) {
        if (row.type === 'more' && row.item.loaded.type === 'part') load(row.item)
      }
    },
    row: (index, style) => {
      const row = rows[index]
      if (row === undefined) return null
      const frame = {
        key: index,
        id: `${id}-${index}`,
        style,
        role: 'treeitem',
        'aria-selected': index === active,
        class: isFocused && index === active ? 'row active' : 'row',
      }
      const level = row.type === 'object' ? row.item.level : row.item.level + 1
      return h(
        'div',
        { ...frame, 'aria-level': level, ...placeIn(row), onClick: () => setWanted(index) },
        h('span', { class: 'indent', style: { width: `${(Math.min(level, 24) - 1) * 1.25}rem` } }),
        row.type === 'object'
          ? h(ObjectRow, { item: row.item, cluster, below, setOpen })
          : h(MoreRow, { item: row.item, load }),
      )
    },
  })
}

/** For a screen reader: which of how many it is; -1 where that is not known. */
function placeIn(row: Row): Readonly<Record<string, unknown>> {
  if (row.type === 'more') return { 'aria-setsize': -1 }
  const { item, at } = row
  const { above } = item
  const size = above === undefined ? 1 : above.loaded.type === 'all' ? above.children.length : -1
  const expanded = mayHaveChildren(item) ? { 'aria-expanded': item.isOpen } : {}
  return { 'aria-posinset': at, 'aria-setsize': size, ...expanded }
}

function ObjectRow({
  item,
  cluster,
  below,
  setOpen,
}: {
  readonly item: Item
  readonly cluster: string
  readonly below: TreeProps['below']
  readonly setOpen: (item: Item, isOpen: boolean) => void
}): ComponentChild {
  const { object, isOpen, isRepeated } = item
  const toggled = (event: Event): void => {
    event.preventDefault()
    setOpen(item, !isOpen)
  }
  const name = h('bdi', null, nameText(object))
  return h(
    'span',
    { class: 'cells' },
    h(
      'span',
      { class: 'twist', 'aria-hidden': 'true', ...(mayHaveChildren(item) && { onClick: toggled }) },
      mayHaveChildren(item) ? (isOpen ? '▾' : '▸') : '',
    ),
    h(KindMark, { of: object }),
    isNamed(item)
      ? h('a', { href: linkTo('object', { cluster, uid: object.uid }), tabIndex: -1 }, name)
      : name,
    object.namespace === '' || object.namespace === item.above?.object.namespace
      ? null
      : h('span', { class: 'quiet' }, lineOf(object.namespace)),
    h(Chips, { chips: chipsOf(item) }),
    object.createdAt === null ? null : h(Age, { at: object.createdAt }),
    belowText(item, below) === '' ? null : h('span', { class: 'quiet' }, belowText(item, below)),
    isRepeated ? h('span', { class: 'quiet' }, 'shown above') : null,
  )
}

/** Of what who asks may not get, there is no page. */
function isNamed({ object }: Item): boolean {
  return object.uid !== HIDDEN
}

function chipsOf({ object: { phase, verdict, admission, edge } }: Item): readonly Chip[] {
  const chips: Chip[] = []
  if (phase !== 'observed') chips.push({ text: phaseText(phase), tone: toneOfPhase(phase) })
  if (verdict !== null && verdict.type !== 'keep') {
    const title = lineOf(withHeld(verdict.because, admission))
    chips.push({ text: shortText(verdict.type, admission), tone: 'warm', title })
  }
  if (edge?.standing != null && edge.standing !== 'solid') {
    chips.push({ text: `reference ${edge.standing}`, tone: 'quiet' })
  }
  return chips
}

function toneOfPhase(phase: string): Chip['tone'] {
  return phase === 'gone' || phase === 'absent' || phase === 'reaped' ? 'bad' : 'warm'
}

function MoreRow({
  item,
  load,
}: {
  readonly item: Item
  readonly load: (item: Item) => void
}): ComponentChild {
  const { loaded } = item
  if (loaded.type === 'failed') {
    return h(
      'span',
      { class: 'cells' },
      h('span', { class: 'bad' }, lineOf(loaded.message)),
      h('button', { type: 'button', tabIndex: -1, onClick: () => load(item) }, 'Again'),
    )
  }
  return h('span', { class: 'cells quiet' }, loaded.type === 'loading' ? 'Loading…' : 'More below')
}
