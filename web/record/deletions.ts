/**
 * What was deleted in a span, by whom, after which owner: `kinfold deletions` as a view, the newest
 * first.
 *
 * What must stay true: "nothing" is said only of what was searched; what was not is named.
 *
 * Not here: who it was (deletion-text.ts), bars of the last hour (last-hour.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import type { DeletionList } from '../../cli/answer.ts'
import { REFRESH_MS, useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { Copied } from '../base/command.ts'
import { ClusterField, TextField, textsIn } from '../base/field.ts'
import { Notice, Section, Table, When } from '../base/frame.ts'
import { momentOf } from '../base/moment.ts'
import { goTo, linkTo, type Place } from '../base/place.ts'
import { clusterText, countOf, lineOf, nameText, shellWord } from '../base/text.ts'
import { type Deletion, deletedPhrases } from '../deletion-text.ts'
import { BY, filtered } from './record.ts'
import { Phrases } from './who.ts'

type Words = Place['words']

const PAGE = '2000'
const MOST_PAGES = 5
/** What took more rows is read once. */
const MOST_REFRESHED = 2_000
const LISTED = 200
const SPAN = '1h'

export function DeletionsView({ words }: Pick<Place, 'words'>): ComponentChild {
  const command = commandOf(words)
  const key = JSON.stringify(words)
  return h(
    'div',
    null,
    h('h1', null, 'Deletions'),
    h(Asked, { key: `form ${key}`, words }),
    h(Found, { key, words }),
    command === undefined
      ? null
      : h(Section, {
          title: 'On the command line',
          children: h('p', null, h(Copied, { text: command })),
        }),
  )
}

function Asked({ words }: Pick<Place, 'words'>): ComponentChild {
  const submit = (event: Event): void => {
    event.preventDefault()
    const text = textsIn(event.currentTarget as HTMLFormElement)
    const names = ['kind', 'namespace', 'cluster', 'who', 'by', 'since', 'until']
    goTo('deletions', Object.fromEntries(names.map((name) => [name, text(name)])))
  }
  const field = (name: string, label: string, hint: string, value = ''): ComponentChild =>
    h(TextField, { ...{ name, label, hint }, value: words[name] ?? value })
  const { who = '' } = words
  const form = h(
    'form',
    { class: 'search', onSubmit: submit },
    field('kind', 'Kind', 'all, or deploy, pods …'),
    field('namespace', 'Namespace', 'all'),
    h(ClusterField, { value: words['cluster'] ?? '' }),
    h(
      'label',
      null,
      'Deleted by',
      h(
        'select',
        { name: 'who' },
        h('option', { value: '' }, 'anybody'),
        BY.map((each) => h('option', { value: each, selected: each === who }, each)),
      ),
    ),
    field('by', 'User', 'any, or as its audit log has it'),
    field('since', 'From', '2h, or 2026-01-31T09:30:00Z', SPAN),
    field('until', 'To', 'now'),
    h('button', { type: 'submit', class: 'main' }, 'Show'),
  )
  return h(
    'details',
    { class: 'filter' },
    h('summary', null, `Listed: ${askedText(words)}. Change`),
    form,
  )
}

/** What is listed, as a sentence; it is what opens the form. */
export function askedText(words: Words): string {
  const { kind, namespace, cluster, root, until, outside } = words
  const place = outside ? 'in no namespace' : namespace ? `in namespace ${namespace}` : 'everywhere'
  const parts = [
    kind ? `${kind} ${place}` : place,
    cluster ? `cluster ${cluster}` : '',
    `by ${words['by'] || words['who'] || 'anybody'}`,
    root ? `deleted with ${root}` : '',
    `from ${agoOf(words['since'] ?? SPAN)}${until ? ` to ${until}` : ''}`,
  ]
  return lineOf(parts.filter((text) => text !== '').join(', '))
}

function agoOf(moment: string): string {
  return momentOf(moment, 0) === moment ? moment : `${moment} ago`
}

interface Found {
  readonly partial: string
  readonly deletions: readonly Deletion[]
  /** Rows that were read. */
  readonly read: number
}

function Found({ words }: Pick<Place, 'words'>): ComponentChild {
  const [shown, setShown] = useState(LISTED)
  const asked = useAnswer(
    JSON.stringify(words),
    async (signal) => await foundOf(words, signal),
    (last) => ((last?.read ?? 0) > MOST_REFRESHED ? 0 : REFRESH_MS),
  )
  const { answer } = asked
  if (answer === undefined) return h(Notice, { asked })
  const { deletions, partial } = answer
  const left = deletions.length - shown
  const none = partial === '' ? 'Nothing was deleted.' : 'No deletion is known.'
  return h(Section, {
    title: 'What was deleted',
    children: [
      h(Notice, { asked }),
      h('p', { role: 'status' }, deletions.length === 0 ? none : sumText(deletions, shown)),
      deletions.length === 0 ? null : h(Rows, { deletions: deletions.slice(0, shown), words }),
      left <= 0
        ? null
        : h(
            'p',
            null,
            h('button', { type: 'button', onClick: () => setShown(shown + LISTED) }, 'Show more'),
          ),
    ],
  })
}

function sumText({ length }: readonly Deletion[], shown: number): string {
  const newest = length > shown ? `; the newest ${shown} are listed` : ''
  return `${countOf(length, 'deletion')}${newest}.`
}

function Rows({
  deletions,
  words: { namespace = '', cluster: asked = '' },
}: {
  readonly deletions: readonly Deletion[]
  readonly words: Words
}): ComponentChild {
  const [isEverywhere, isAnyCluster] = [namespace === '', asked === '']
  const head = ['Deleted', 'Object', 'Namespace', 'Cluster', 'By whom, and why']
  const isShown = (name: string): boolean =>
    name === 'Namespace' ? isEverywhere : name !== 'Cluster' || isAnyCluster
  const rows = deletions.map((each) => {
    const { cluster, uid } = each
    const name = h('bdi', null, nameText(each))
    const cells: Readonly<Record<string, ComponentChild>> = {
      Deleted: h(When, { at: each.at }),
      Object: h('a', { href: linkTo('object', { cluster: cluster.scope, uid }) }, name),
      Namespace: lineOf(each.namespace),
      Cluster: clusterText(cluster),
      'By whom, and why': h(Phrases, { phrases: begun(each), cluster: cluster.scope }),
    }
    return head.filter(isShown).map((column) => cells[column])
  })
  return h(Table, { label: 'Deletions', head: head.filter(isShown), rows })
}

/** As in a cell of its own: without what joins it to "Deleted". */
function begun(deletion: Deletion): ReturnType<typeof deletedPhrases> {
  const [first = '', ...others] = deletedPhrases(deletion)
  const text = typeof first === 'string' ? first.replace(/^[,;]? (by )?/, '') : first
  if (text !== '' || others.length === 0) return [text, ...others]
  const [next = '', ...rest] = others
  return [typeof next === 'string' ? next.replace(/^[,;]? /, '') : next, ...rest]
}

async function foundOf(words: Words, signal: AbortSignal): Promise<Found> {
  const { kind, namespace, cluster, by, root, until = '', who = '', outside = '' } = words
  const now = Date.now()
  const since = momentOf(words['since'] ?? SPAN, now)
  const query = { kind, namespace, cluster, by, root, since, until: momentOf(until, now) }
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value))
  const doubts = new Set<string>()
  const all: Deletion[] = []
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const more = { limit: PAGE, reach: 'partial', continue: next || undefined } as const
    const page: DeletionList = await ask('/v1/deletions', { ...given, ...more }, signal)
    all.push(...page.deletions)
    doubts.add(page.partial)
    next = page.continue
  }
  if (next !== null) doubts.add(`only the first ${all.length} of the span were read`)
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  const deletions = filtered(all, { who, isOutside: outside !== '' }).toReversed()
  return { partial, deletions, read: all.length }
}

/** Undefined where a word has characters that a terminal acts on. */
export function commandOf(words: Words): string | undefined {
  const { kind = '', namespace = '', cluster = '', by = '', until = '', who = '' } = words
  // The command knows Kinfold and all others apart, and users by name.
  const whom = by !== '' || who === '' ? by : who === 'Kinfold' ? 'kinfold' : 'others'
  const flags = [
    ...[kind && ['', kind], cluster && ['--cluster ', cluster]],
    ...[namespace && ['-n ', namespace], ['--since ', words['since'] ?? SPAN]],
    ...[until && ['--until ', until], whom && ['--by ', whom]],
  ]
  const texts = flags.flatMap((flag) => {
    if (flag === '' || flag[1] === '') return []
    const [name = '', value = ''] = flag
    const word = shellWord(value)
    return [word === undefined ? undefined : name + word]
  })
  if (texts.includes(undefined)) return undefined
  return ['kinfold deletions', ...(namespace === '' ? ['-A'] : []), ...texts].join(' ')
}
