/**
 * What a deleted object was part of in the moment before its deletion began: its dependents as a picture and a list, its owners as a list.
 *
 * What must stay true: only what is recorded as deleted with it is drawn so; of all else nothing is said.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { TreeNode } from '../../cli/answer.ts'
import { useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { Notice } from '../base/frame.ts'
import { linkTo } from '../base/place.ts'
import { countOf } from '../base/text.ts'
import { Drawing } from '../picture/drawing.ts'
import type { Look, LookOf } from '../picture/folded.ts'
import { itemOfTree, nodeCount } from './tree-model.ts'
import { TreeView } from './tree-view.ts'

export interface About {
  readonly uid: string
  readonly cluster: string
  readonly at: string
}

const NONE: Look = { tone: 'plain', sign: '', text: '' }
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
  const asked = useAnswer(JSON.stringify(about), async (signal) => await bothOf(about, signal))
  const lookOf = useMemo((): LookOf => {
    return ({ uid }) => (uid === about.uid ? ROOT : along?.has(uid) === true ? ALONG : NONE)
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

async function bothOf(about: About, signal: AbortSignal): Promise<Both> {
  const [dependents, owners] = await Promise.all([
    ask('/v1/tree', about, signal),
    ask('/v1/tree', { ...about, owners: true }, signal),
  ])
  const doubts = new Set([dependents.partial, owners.partial].filter((text) => text !== ''))
  return { partial: [...doubts].join('; '), dependents: dependents.root, owners: owners.root }
}

function FormerRows({
  root,
  about: { cluster, uid, at },
  isOwners,
}: {
  readonly root: TreeNode
  readonly about: About
  readonly isOwners: boolean
}): ComponentChild {
  const item = useMemo(() => itemOfTree(root), [root])
  const [version, setVersion] = useState(0)
  const what = isOwners ? 'owner' : 'dependent'
  if (root.children.length === 0) return h('p', null, `It had no ${what}s.`)
  return h(
    'div',
    null,
    h(
      'p',
      null,
      `${countOf(nodeCount(root) - 1, what)}, of all levels. `,
      h('a', { href: linkTo('past', { cluster, uid, at }) }, 'In its past'),
    ),
    h(TreeView, {
      ...{ root: item, version, cluster, label: `Former ${what}s` },
      load: () => undefined,
      onChange: () => setVersion((each) => each + 1),
    }),
  )
}
