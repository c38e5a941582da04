/**
 * What is first of an object that was deleted: who did it, how long ago, how much it took along,
 * what it was part of, and how to get it back.
 *
 * What must stay true: the count is of recorded deletions that followed from its own; where not all
 * were searched it is "at least". Owners and dependents are those of the moment before its deletion
 * began.
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
import { agoText, countOf, lineOf, type Named, timeText } from './base/text.ts'
import { type Deletion, deletedPhrases } from './deletion-text.ts'
import { type End, endOf } from './record/end.ts'
import { Phrases } from './record/who.ts'
import { AcrossSection } from './tree/across.ts'
import { FormerTrees } from './tree/former.ts'

const PAGE = '2000'
const MOST_PAGES = 5

interface Cascade {
  readonly partial: string
  /** Uids of what it took along. */
  readonly along: ReadonlySet<string>
  readonly isAll: boolean
}

/** Watches of two kinds may report one moment so far apart. */
const SKEW_MS = 2_000

function isNamespace({ group, kind }: Named): boolean {
  return group === '' && kind === 'Namespace'
}

/** From when it was being deleted until it was; undefined where only its end is recorded. */
function spanOf(end: End | undefined): { since: string; until: string } | undefined {
  if (end === undefined || !end.isBegun || end.at === null || end.since === null) return undefined
  return { since: end.since, until: new Date(Date.parse(end.at) + SKEW_MS).toISOString() }
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
    async (signal) => await cascadeOf(why, end, signal),
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
      h('div', null, h(Restore, { why, end }), h(TookElsewhere, { why, end }), more),
    ),
  )
}

/** Where it is not recorded when its deletion began, all that is remembered is asked for. */
function TookElsewhere({
  why,
  end,
}: {
  readonly why: Why
  readonly end: End | undefined
}): ComponentChild {
  const { object, cluster } = why
  const goneSince = end?.since ?? new Date(0).toISOString()
  return h(AcrossSection, { object, cluster: cluster.scope, goneSince })
}

function Restore({
  why: { object, cluster },
  end,
}: {
  readonly why: Why
  readonly end: End | undefined
}): ComponentChild {
  if (!isNamespace(object)) {
    return h(Section, {
      title: 'Restore',
      note: 'Creates again what is archived of these, linked to each other; the cluster gives new uids. Without --yes it only shows what it would create.',
      children: h(Commands, { commands: restoreOf(object, cluster) }),
    })
  }
  return h(Section, {
    title: 'Restore',
    note: 'Create the namespace, then restore what was in it, object by object: each has its command, and is restored with its dependents.',
    children: [
      h(Commands, { commands: restoreOf(object, cluster) }),
      h('p', null, h('a', { href: hrefOfContent(object, cluster.scope, end) }, 'What was in it')),
    ],
  })
}

/** Deletions in the namespace that was deleted. */
function hrefOfContent({ name }: Named, cluster: string, end: End | undefined): string {
  const since = end?.at == null ? '24h' : new Date(Date.parse(end.at) - BEFORE_MS).toISOString()
  return linkTo('deletions', { cluster, namespace: name, ...(spanOf(end) ?? { since }) })
}

/** Before the end of a namespace whose deletion was not observed to begin. */
const BEFORE_MS = 3_600_000

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
  const trees = h(FormerTrees, { about: { ...about, isNamespace: isNamespace(object) }, along })
  if (!isNamespace(object)) return trees
  const href = hrefOfContent(object, cluster.scope, end)
  const text = `What was deleted in namespace ${lineOf(object.name)}`
  return h('div', null, h('p', null, h('a', { href }, text)), trees)
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
      h(Phrases, { phrases, cluster: cluster.scope }),
      answer === undefined || !isRecorded ? '.' : `. ${takenText(answer)}`,
    ),
    h('p', { class: 'quiet' }, isRecorded ? timeText(at) : 'Its deletion is not in the record.'),
    // A user who may not list deletions sees who did it all the same.
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
  end: End | undefined,
  signal: AbortSignal,
): Promise<Cascade> {
  const namespace = object.namespace === '' ? undefined : object.namespace
  const root = `uid:${object.uid}`
  const since = end?.since ?? undefined
  const { uids: along, ...read } = await deletionsOf(
    { cluster: cluster.scope, namespace, root, since },
    signal,
  )
  along.delete(object.uid)
  return { along, ...read }
}

async function deletionsOf(
  query: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<{ readonly uids: Set<string>; readonly partial: string; readonly isAll: boolean }> {
  const doubts = new Set<string>()
  const uids = new Set<string>()
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const more = { limit: PAGE, reach: 'partial', continue: next || undefined } as const
    const page: { readonly deletions: readonly Deletion[] } & {
      readonly partial: string
      readonly continue: string | null
    } = await ask('/v1/deletions', { ...query, ...more }, signal)
    for (const { uid } of page.deletions) uids.add(uid)
    doubts.add(page.partial)
    next = page.continue
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { uids, partial, isAll: next === null && partial === '' }
}
