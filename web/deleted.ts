/**
 * What is first of an object that was deleted: who did it, how long ago, how much it took along, what it was part of, and how to get it back.
 *
 * What must stay true: the count is of recorded deletions; where not all were looked through it is "at least". Owners and dependents are those of the moment
 * before its deletion began.
 *
 * Not here: those trees (former.ts).
 */
import { type ComponentChild, h } from 'preact'
import type { Why } from '../cli/answer.ts'
import { type Answered, REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { Commands, restoreOf } from './base/command.ts'
import { Notice, Section } from './base/frame.ts'
import { linkTo } from './base/place.ts'
import { agoText, countOf, nameText, timeText } from './base/text.ts'
import { type Deletion, deletedPhrases } from './deletion-text.ts'
import { FormerTrees } from './tree/former.ts'

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
  /** Uids of what it took along. */
  readonly along: ReadonlySet<string>
  readonly isAll: boolean
}

/** Who deleted it; below that the tree before beside how to get it back. */
export function DeletedObject({
  why,
  more,
}: {
  readonly why: Why
  /** Sections of what is known of any object. */
  readonly more: ComponentChild
}): ComponentChild {
  const { object, cluster, history } = why
  const end = endOf(history)
  const asked = useAnswer(
    `${cluster.scope} ${object.uid} ${end?.since}`,
    async (signal) => await cascadeOf(why, end?.since ?? undefined, signal),
    REFRESH_MS,
  )
  const along = asked.answer?.along
  return h(
    'div',
    { class: 'whole' },
    h(Section, { title: 'Who deleted it', children: h(Who, { why, asked }) }),
    h(
      'div',
      { class: 'columns' },
      h(Section, { title: 'The tree before', children: h(Before, { why, end, along }) }),
      h(
        'div',
        null,
        h(Section, {
          title: 'Restore',
          note: 'Creates again what is archived of these, linked to each other; the cluster gives new uids. Without --yes it only shows what it would create.',
          children: h(Commands, { commands: restoreOf(object, cluster) }),
        }),
        more,
      ),
    ),
  )
}

function Before({
  why: { object, cluster },
  end,
  along,
}: {
  readonly why: Why
  readonly end: End | undefined
  readonly along: ReadonlySet<string> | undefined
}): ComponentChild {
  if (end === undefined) return h('p', null, 'The record of that time is not kept any more.')
  const about = { uid: object.uid, cluster: cluster.scope, at: end.before }
  return h(FormerTrees, { about, along })
}

function Who({
  why: { object, cluster, deletion, history, asOwner },
  asked,
}: {
  readonly why: Why
  readonly asked: Answered<Cascade>
}): ComponentChild {
  const end = endOf(history)
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
  )
}

function takenText({ along, isAll }: Cascade): string {
  const count = along.size
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
  const along = new Set<string>()
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const more = { limit: PAGE, reach: 'partial', continue: next || undefined } as const
    const page: { readonly deletions: readonly Deletion[] } & {
      readonly partial: string
      readonly continue: string | null
    } = await ask('/v1/deletions', { ...query, ...more }, signal)
    for (const { uid } of page.deletions) if (uid !== object.uid) along.add(uid)
    doubts.add(page.partial)
    next = page.continue
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { partial, along, isAll: next === null && partial === '' }
}
