/**
 * The dependents of one object, a page at a time; as a picture, where there are few.
 *
 * What must stay true: an owner of very many is shown with its first page. A tree that was cut is
 * not taken for a whole one: then each level is asked for when it is opened.
 */
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Tree } from '../../cli/answer.ts'
import { ask } from '../base/ask.ts'
import { Doubt } from '../base/frame.ts'
import { Picture } from '../picture/picture.ts'
import { addPage, type Item, itemOfTree, rootItem, type TreeObject } from './tree-model.ts'
import { TreeView } from './tree-view.ts'

/** The first page is there soon; a user who continues wants more at a time. */
const FIRST_PAGE = '200'
const NEXT_PAGE = '2000'
const REFRESH_MS = 5_000

interface Shown {
  readonly key: string
  root: Item
  tree: Tree | undefined
  doubts: readonly string[]
  /**
   * A page and the whole tree are in another order, and rows must not move under a pointer: the
   * page is shown where it stays.
   */
  isShown: boolean
}

interface Subject {
  readonly object: TreeObject
  readonly cluster: string
}

export function ObjectTree(subject: Subject): ComponentChild {
  const { object, cluster } = subject
  const [isPicture, setPicture] = useState(false)
  const { mine, version, load, changed } = useDependents(subject)
  return h(
    'div',
    null,
    h(Doubt, { partial: mine.doubts.join('; ') }),
    h(
      'p',
      { class: 'tools' },
      h('span', { role: 'status' }, mine.isShown ? countText(mine.root) : 'Loading…'),
      h(
        'button',
        { type: 'button', 'aria-pressed': isPicture, onClick: () => setPicture(!isPicture) },
        'Picture',
      ),
    ),
    isPicture
      ? h(Picture, { cluster, uid: object.uid, tree: mine.tree?.root })
      : mine.isShown
        ? h(TreeView, {
            ...{ root: mine.root, version, cluster, load, onChange: changed },
            label: 'Dependents',
          })
        : null,
  )
}

interface Dependents {
  readonly mine: Shown
  readonly version: number
  readonly load: (item: Item) => Promise<void>
  readonly changed: () => void
}

/** Of another object it begins anew. */
function useDependents({ object, cluster }: Subject): Dependents {
  const key = `${cluster} ${object.uid}`
  const [state, setState] = useState({ version: 0 })
  const held = useRef<Shown>(shownOf('', object, false))
  const changed = (): void => setState(({ version }) => ({ version: version + 1 }))
  if (held.current.key !== key) held.current = shownOf(key, object, true)
  const mine = held.current
  const changedHere = (): void => {
    if (held.current === mine) changed()
  }

  const load = async (item: Item): Promise<void> => {
    const { loaded } = item
    if (loaded.type === 'loading' || loaded.type === 'all') return
    const next = 'next' in loaded ? loaded.next : ''
    item.loaded = { type: 'loading' }
    changed()
    await loadPage(mine, { item, next, cluster })
    changedHere()
  }

  useEffect(() => {
    void begin()
    // A small list is asked for again; of a large one the user has seen a part, and continues from
    // there.
    const timer = setInterval(() => {
      const isSmall = mine.tree !== undefined || mine.root.children.length === 0
      if (isSmall && !document.hidden) void begin()
    }, REFRESH_MS)
    return () => clearInterval(timer)
    async function begin(): Promise<void> {
      if (mine.tree === undefined) {
        if (mine.root.loaded.type === 'all') mine.root.loaded = { type: 'unknown' }
        await load(mine.root)
      }
      if (held.current === mine) await complete(mine, { object, cluster })
      mine.isShown = true
      changedHere()
    }
  }, [key])
  return { mine, version: state.version, load, changed }
}

function shownOf(key: string, object: TreeObject, isOpen: boolean): Shown {
  const item = rootItem(object)
  const root = isOpen ? { ...item, isOpen } : item
  return { key, root, tree: undefined, doubts: [], isShown: false }
}

interface PageAsked {
  readonly item: Item
  /** Empty: the first page. */
  readonly next: string
  readonly cluster: string
}

async function loadPage(mine: Shown, { item, next, cluster }: PageAsked): Promise<void> {
  const limit = next === '' ? FIRST_PAGE : NEXT_PAGE
  try {
    const query = { cluster, uid: item.object.uid, limit, continue: next || undefined }
    const page = await ask('/v1/dependents', query)
    addPage(item, page)
    const isAnew = next === '' && item === mine.root
    const doubts = new Set([...(isAnew ? [] : mine.doubts), page.partial])
    mine.doubts = [...doubts].filter((text) => text !== '')
  } catch (error) {
    item.loaded = { type: 'failed', message: (error as Error).message, next }
  }
}

/** By the whole tree, where its first level is there as a whole. */
async function complete(mine: Shown, { object, cluster }: Subject): Promise<void> {
  const { loaded, children } = mine.root
  if (loaded.type !== 'all') return
  if (children.length === 0 && mine.tree === undefined) return
  const tree = await ask('/v1/tree', { cluster, uid: object.uid }).catch(refused)
  if (tree.partial !== '') {
    // Levels are asked for as they are opened; of a whole tree that is shown it has to be said.
    if (mine.tree !== undefined) mine.doubts = [`${tree.partial}; this is how it was before`]
    return
  }
  if (!('root' in tree)) return
  mine.doubts = []
  mine.tree = tree
  mine.root = itemOfTree(tree.root, mine.root)
}

function refused(error: unknown): { readonly partial: string } {
  return { partial: (error as Error).message }
}

function countText({ children, loaded }: Item): string {
  const count = children.length.toLocaleString('en')
  switch (loaded.type) {
    case 'unknown':
    case 'loading':
      return children.length === 0 ? 'Loading…' : `${count} direct dependents so far`
    case 'part':
    case 'failed':
      return `The first ${count} direct dependents; more come as you scroll`
    case 'all':
      if (children.length === 0) return 'No dependents'
      return `${count} direct ${children.length === 1 ? 'dependent' : 'dependents'}`
  }
}
