/**
 * What is first of an object that was deleted: who did it, how long ago, how much it took along, what it was part of, and how to get it back.
 *
 * What must stay true: the count is of recorded deletions; where not all were looked through it is "at least". Owners and dependents are those of the moment
 * before its deletion began.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Tree, TreeNode, Why } from '../cli/answer.ts'
import { REFRESH_MS, useAnswer } from './answer.ts'
import { ask } from './ask.ts'
import { Commands, restoreOf } from './command.ts'
import { type Deletion, deletedPhrases } from './deletion-text.ts'
import { Notice, Section } from './frame.ts'
import { linkTo } from './place.ts'
import { agoText, countOf, nameText, timeText } from './text.ts'
import { itemOfTree, nodeCount } from './tree-model.ts'
import { TreeView } from './tree-view.ts'

const PAGE = '2000'
const MOST_PAGES = 5

/** Where its deletion began, and where it was over. */
interface End {
  readonly at: string | null
  readonly since: string | null
  /** Everything before its deletion. */
  readonly before: string
}

/** Undefined: its end is not in what is kept of its history. */
export function endOf(history: Why['history']): End | undefined {
  const gone = history.findLast(({ change }) => change === 'gone')
  if (gone === undefined) return undefined
  const begun = history.find(({ phase, change }) => change === 'phase' && ENDING.has(phase ?? ''))
  const { partition, position, at } = begun ?? gone
  return { at: gone.at, since: at, before: `pos:${partition}-${position}` }
}

const ENDING: ReadonlySet<string> = new Set(['deleting', 'waiting', 'orphaning'])

interface Cascade {
  readonly partial: string
  readonly count: number
  readonly isAll: boolean
}

export function Deleted({ why }: { readonly why: Why }): ComponentChild {
  const { object, cluster, deletion, history, asOwner } = why
  const end = endOf(history)
  const asked = useAnswer(
    `${cluster.scope} ${object.uid} ${end?.since}`,
    async (signal) => await cascadeOf(why, end?.since ?? undefined, signal),
    REFRESH_MS,
  )
  const { answer, isDenied } = asked
  const at = end?.at ?? asOwner?.proof?.at ?? object.at
  const isRecorded = end !== undefined || asOwner?.proof?.evidence === 'deleted'
  const phrases = isRecorded && deletion !== null ? deletedPhrases(deletion) : []
  return h(
    'div',
    { class: 'deleted' },
    h(
      'p',
      { class: 'verdict' },
      isRecorded ? `Deleted ${agoText(at, Date.now())}` : 'It does not exist',
      phrases.map((each) =>
        typeof each === 'string'
          ? each
          : h(
              'a',
              { href: linkTo('object', { cluster: cluster.scope, uid: each.uid }) },
              h('bdi', null, nameText(each)),
            ),
      ),
      answer === undefined || !isRecorded ? '.' : `. ${takenText(answer)}`,
    ),
    h('p', { class: 'quiet' }, isRecorded ? timeText(at) : 'Its deletion is not in the record.'),
    // Who may not list deletions is told who did it all the same.
    isDenied ? null : h(Notice, { asked }),
    h(Commands, { commands: restoreOf(object, cluster) }),
  )
}

function takenText({ count, isAll }: Cascade): string {
  if (count === 0 && isAll) return 'It took nothing along.'
  return `It took ${isAll ? '' : 'at least '}${countOf(count, 'object')} along.`
}

async function cascadeOf(
  { object, cluster }: Why,
  since: string | undefined,
  signal: AbortSignal,
): Promise<Cascade> {
  const namespace = object.namespace === '' ? undefined : object.namespace
  const query = { cluster: cluster.scope, namespace, root: `uid:${object.uid}`, since }
  const doubts = new Set<string>()
  let count = 0
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const more = { limit: PAGE, reach: 'partial', continue: next || undefined } as const
    const page: { readonly deletions: readonly Deletion[] } & {
      readonly partial: string
      readonly continue: string | null
    } = await ask('/v1/deletions', { ...query, ...more }, signal)
    count += page.deletions.filter(({ uid }) => uid !== object.uid).length
    doubts.add(page.partial)
    next = page.continue
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { partial, count, isAll: next === null && partial === '' }
}

/** Its owners and dependents just before it was deleted. */
export function Former({ why }: { readonly why: Why }): ComponentChild {
  const end = endOf(why.history)
  if (end === undefined) {
    return h(Section, {
      title: 'Former owners and dependents',
      children: h('p', null, 'The record of that time is not kept any more.'),
    })
  }
  const { object, cluster } = why
  const about = { uid: object.uid, cluster: cluster.scope, at: end.before }
  return [
    h(Section, {
      title: 'Former owners',
      children: h(FormerTree, { about, isOwners: true }),
    }),
    h(Section, {
      title: 'Former dependents',
      children: h(FormerTree, { about, isOwners: false }),
    }),
  ]
}

interface About {
  readonly uid: string
  readonly cluster: string
  readonly at: string
}

function FormerTree({
  about,
  isOwners,
}: {
  readonly about: About
  readonly isOwners: boolean
}): ComponentChild {
  const query = isOwners ? { ...about, owners: true } : about
  const asked = useAnswer<Tree>(JSON.stringify(query), async (signal) => {
    return await ask('/v1/tree', query, signal)
  })
  const root = asked.answer?.root
  return h(
    'div',
    null,
    h(Notice, { asked }),
    root === undefined ? null : h(FormerRows, { root, about, isOwners }),
  )
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
      h('a', { href: linkTo('past', { cluster, uid, at }) }, 'The tree before'),
    ),
    h(TreeView, {
      ...{ root: item, version, cluster, label: `Former ${what}s` },
      load: () => undefined,
      onChange: () => setVersion((each) => each + 1),
    }),
  )
}
