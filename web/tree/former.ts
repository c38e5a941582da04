/**
 * What a deleted object was part of just before its deletion began: its dependents as a picture and
 * a list, its owners as a list, each object with its state of now.
 *
 * What must stay true: only what is recorded as deleted with it is drawn as "deleted, too". It is
 * the answer that `kinfold tree` prints of the same object.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import type { TreeNode } from '../../cli/answer.ts'
import { REFRESH_MS, useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { Notice } from '../base/frame.ts'
import { linkTo } from '../base/place.ts'
import { relativesText } from '../base/text.ts'
import { Drawing } from '../picture/drawing.ts'
import type { Look, LookOf } from '../picture/folded.ts'
import { lookOfState } from '../picture/look.ts'
import { type Item, itemOfTree, nodeCount } from './tree-model.ts'
import { TreeView } from './tree-view.ts'

export interface About {
  readonly uid: string
  readonly cluster: string
  /** The moment before its deletion began. */
  readonly at: string
  readonly isNamespace: boolean
}

const ROOT: Look = { tone: 'bad', sign: '✕', text: 'deleted' }
const ALONG: Look = { tone: 'bad', sign: '✕', text: 'deleted, too' }

interface Both {
  readonly partial: string
  readonly dependents: TreeNode
  readonly owners: TreeNode
}

export function FormerTrees({
  about,
  along,
}: {
  readonly about: About
  /** Uids of what its deletion took along; undefined: that is not known. */
  readonly along: ReadonlySet<string> | undefined
}): ComponentChild {
  const load = async (signal: AbortSignal): Promise<Both> => await bothOf(about, signal)
  const asked = useAnswer(JSON.stringify(about), load, REFRESH_MS)
  const lookOf = useMemo((): LookOf => {
    return (node) => {
      if (node.uid === about.uid) return ROOT
      return along?.has(node.uid) === true ? ALONG : lookOfState(node)
    }
  }, [along, about.uid])
  const { dependents, owners } = asked.answer ?? {}
  const isDrawn = dependents !== undefined && dependents.children.length > 0
  const picture = { cluster: about.cluster, lookOf, now: Date.now() }
  return h(
    'div',
    null,
    h(Notice, { asked }),
    isDrawn ? h(Drawing, { root: dependents, ...picture }) : null,
    dependents === undefined ? null : h(FormerRows, { root: dependents, about, isOwners: false }),
    owners === undefined ? null : h(FormerRows, { root: owners, about, isOwners: true }),
  )
}

async function bothOf({ uid, cluster }: About, signal: AbortSignal): Promise<Both> {
  const [dependents, owners] = await Promise.all([
    ask('/v1/tree', { uid, cluster }, signal),
    ask('/v1/tree', { uid, cluster, owners: true }, signal),
  ])
  const doubts = new Set([dependents.partial, owners.partial].filter((text) => text !== ''))
  return { partial: [...doubts].join('; '), dependents: dependents.root, owners: owners.root }
}

function FormerRows({
  root,
  about: { cluster, uid, at, isNamespace },
  isOwners,
}: {
  readonly root: TreeNode
  readonly about: About
  readonly isOwners: boolean
}): ComponentChild {
  const shown = useRef<Item | undefined>(undefined)
  const item = useMemo(() => {
    shown.current = itemOfTree(root, shown.current)
    return shown.current
  }, [root])
  const [version, setVersion] = useState(0)
  const what = isOwners ? 'owner' : 'dependent'
  if (root.children.length === 0) {
    // What is in a namespace has no reference to it.
    return isNamespace ? null : h('p', null, `It had no ${what}s.`)
  }
  const direct = root.children.length
  return h(
    'div',
    null,
    h(
      'p',
      null,
      `It had ${relativesText(direct, Math.max(direct, nodeCount(root) - 1), what)}. `,
      isOwners ? null : h('a', { href: linkTo('past', { cluster, uid, at }) }, 'In its past'),
    ),
    h(TreeView, {
      ...{ root: item, version, cluster, label: `Former ${what}s`, below: what },
      load: () => undefined,
      onChange: () => setVersion((each) => each + 1),
    }),
  )
}
