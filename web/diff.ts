/**
 * What differs between two moments in a namespace, in a cluster or in all: what was added, deleted
 * (and by whom) or changed, a page at a time.
 *
 * What must stay true: "nothing differs" is said only where all of it was compared and nothing was
 * left out. Only rows in sight are in the document (window.ts).
 *
 * Not here: the tree of one object at two moments (past.ts), the words of a row (diff-text.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { Diff } from '../cli/answer.ts'
import { REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { type Chip, Chips } from './base/chip.ts'
import { Copied } from './base/command.ts'
import { ClusterField, TextField, textsIn } from './base/field.ts'
import { Doubt, Notice, Section, When } from './base/frame.ts'
import { momentOf } from './base/moment.ts'
import { goTo, linkTo, type Place } from './base/place.ts'
import { clusterText, countOf, lineOf, nameText } from './base/text.ts'
import { movedBy, Rows } from './base/window.ts'
import { type DiffAsked, type DiffRow, detailsOf, diffCommand, linkOf } from './diff-text.ts'

const PAGE = '1000'
/** Pages of one question: one may hold no rows, and yet not be the last. */
const MOST_PAGES = 20
const SPANS = [
  ['Last hour', '1h'],
  ['Last 24 hours', '24h'],
  ['Last 7 days', '7d'],
] as const

const TONES: Readonly<Record<DiffRow['change'], Chip['tone']>> = {
  added: 'good',
  deleted: 'bad',
  changed: 'warm',
}

export function DiffView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { cluster = '', namespace, kind = '', from = '', to = '' } = words
  const [turn, setTurn] = useState(0)
  // How long ago is counted back once, so each page of the answer is about the same moment.
  const [opened] = useState(Date.now)
  const [earlier, later] = [momentOf(from, opened), momentOf(to, opened)]
  const asked: DiffAsked = { cluster, namespace, kind, from: earlier, to: later }
  const command = diffCommand(asked)
  const go = (form: HTMLFormElement, since: string): void => {
    const text = textsIn(form)
    const now = Date.now()
    const moments = since === '' ? [text('from'), text('to')] : [since, '']
    const [earlier = '', later = ''] = moments.map((each) => momentOf(each, now))
    const place = { cluster: text('cluster'), namespace: text('namespace'), kind: text('kind') }
    const wanted = { ...place, from: earlier, to: later }
    // The same question once more: its answer may be another one by now.
    if (location.hash === linkTo('diff', wanted)) setTurn((each) => each + 1)
    else goTo('diff', wanted)
  }
  const key = JSON.stringify(words)
  return h(
    'div',
    null,
    h('h1', null, 'What changed'),
    h(Moments, { key, asked, go }),
    from === ''
      ? h('p', { class: 'quiet' }, 'Take one of these spans, or name the earlier moment.')
      : [
          h(Differences, { key: `${turn} ${key}`, asked }),
          command === undefined
            ? null
            : h(Section, {
                title: 'On the command line',
                children: h('p', null, h(Copied, { text: command })),
              }),
        ],
  )
}

function Moments({
  asked: { cluster, namespace = '', kind, from, to },
  go,
}: {
  readonly asked: DiffAsked
  readonly go: (form: HTMLFormElement, since: string) => void
}): ComponentChild {
  const submit = (event: Event): void => {
    event.preventDefault()
    go(event.currentTarget as HTMLFormElement, '')
  }
  const field = (name: string, label: string, value: string, hint: string): ComponentChild =>
    h(TextField, { name, label, value, hint, isRequired: name === 'from' })
  return h(
    'form',
    { class: 'search', onSubmit: submit },
    field('kind', 'Kind', kind, 'all, or deploy, pods …'),
    field('namespace', 'Namespace', namespace, 'all'),
    h(ClusterField, { value: cluster }),
    field('from', 'From', from, '2h, or 2026-01-31T09:30:00Z'),
    field('to', 'To', to, 'now'),
    h('button', { type: 'submit', class: 'main' }, 'Compare'),
    h(
      'div',
      { class: 'tools wide' },
      SPANS.map(([name, since]) =>
        h(
          'button',
          {
            type: 'button',
            onClick: (event: Event) => {
              go((event.currentTarget as HTMLButtonElement).form!, since)
            },
          },
          name,
        ),
      ),
    ),
  )
}

interface Read {
  readonly rows: readonly DiffRow[]
  /** Whether any cluster serves the kind that is asked for. */
  readonly isKind: boolean
  readonly next: string | null
  readonly partial: string
}

function Differences({ asked: about }: { readonly asked: DiffAsked }): ComponentChild {
  const [former, setFormer] = useState<Read>(NOTHING)
  const [from, setFrom] = useState('')
  const asked = useAnswer(
    from,
    async (signal) => await readOn(about, from, from === '' ? NOTHING : former, signal),
    // What was refused at first is asked for again, too.
    (last) => (from === '' && about.to === '' && (last?.next ?? null) === null ? REFRESH_MS : 0),
  )
  useEffect(() => {
    if (asked.answer !== undefined) setFormer(asked.answer)
  }, [asked.answer])
  const { answer, isLoading } = asked
  const read = answer ?? former
  const { rows, next, partial } = read
  const goOn = (): void => {
    if (next === null || answer === undefined) return
    setFormer(answer)
    setFrom(next)
  }
  const isRefused = answer === undefined && asked.refusal !== ''
  return h(Section, {
    title: 'Differences',
    children: [
      h(Notice, { asked }),
      answer === undefined ? h(Doubt, { partial }) : null,
      h(
        'p',
        { role: 'status' },
        isRefused && rows.length === 0
          ? 'Nothing was compared.'
          : statusText(about, read, isLoading && answer === undefined),
      ),
      rows.length === 0 ? null : h(RowList, { rows, isEnd: next === null, about, goOn }),
      next === null || answer === undefined
        ? null
        : h('p', null, h('button', { type: 'button', onClick: goOn }, 'Look further')),
    ],
  })
}

const NOTHING: Read = { rows: [], isKind: false, next: '', partial: '' }

function statusText(
  { kind }: DiffAsked,
  { rows, isKind, next, partial }: Read,
  isFirst: boolean,
): string {
  if (rows.length === 0) {
    if (isFirst) return 'Comparing…'
    if (next !== null) return 'No difference so far; not everything was compared.'
    if (partial !== '') return 'No difference is known.'
    if (kind !== '' && !isKind) return 'No cluster that is asked serves this kind.'
    return 'Nothing differs.'
  }
  const parts = (['added', 'deleted', 'changed'] as const).flatMap((change) => {
    const count = rows.filter((row) => row.change === change).length
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${change}`]
  })
  const more = next === null ? '.' : ' so far; more come as you scroll.'
  return `${countOf(rows.length, 'difference')}: ${parts.join(', ')}${more}`
}

async function readOn(
  { cluster, namespace, kind, from, to }: DiffAsked,
  cursor: string,
  former: Read,
  signal: AbortSignal,
): Promise<Read> {
  const query = { cluster: cluster || undefined, namespace, kind: kind || undefined }
  const asked = { ...query, from, to: to || undefined, limit: PAGE }
  const rows = [...former.rows]
  const doubts = new Set([former.partial])
  let { isKind } = former
  let next: string | null = cursor
  for (let pages = 0; pages < MOST_PAGES && next !== null; pages++) {
    const page: Diff = await ask('/v1/diff', { ...asked, continue: next || undefined }, signal)
    // Pages come by the minute, and within one by uid.
    rows.push(...page.differences.toSorted((a, b) => timeOf(a) - timeOf(b)))
    isKind ||= page.kinds.length > 0
    doubts.add(page.partial)
    next = page.continue
    if (rows.length > former.rows.length) break
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { rows, isKind, next, partial }
}

function timeOf({ at }: DiffRow): number {
  return at === null ? 0 : Date.parse(at)
}

function RowList({
  rows,
  isEnd,
  about,
  goOn,
}: {
  readonly rows: readonly DiffRow[]
  readonly isEnd: boolean
  readonly about: DiffAsked
  readonly goOn: () => void
}): ComponentChild {
  const [wanted, setWanted] = useState(0)
  const [isFocused, setFocused] = useState(false)
  const id = useId()
  const active = Math.min(wanted, rows.length - 1)
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const to = movedBy(event, active, rows.length)
    const row = rows[active]
    if (to !== undefined) setWanted(to)
    else if (event.key === 'Enter' && row !== undefined) location.hash = linkOf(row, about)
    else return
    event.preventDefault()
  }
  return h(Rows, {
    count: rows.length,
    active: isFocused ? active : -1,
    outer: {
      role: 'grid',
      'aria-label': 'Differences',
      'aria-rowcount': isEnd ? rows.length : -1,
      ...(isFocused && { 'aria-activedescendant': `${id}-${active}` }),
      tabIndex: 0,
      class: isFocused ? 'focused' : '',
      onKeyDown: pressed,
      onFocus: () => setFocused(true),
      onBlur: () => setFocused(false),
    },
    onSeen: ({ end }) => {
      if (end === rows.length) goOn()
    },
    row: (index, style) => {
      const row = rows[index]
      if (row === undefined) return null
      const frame = {
        ...{ key: index, id: `${id}-${index}`, style, role: 'row', 'aria-rowindex': index + 1 },
        'aria-selected': index === active,
        class: isFocused && index === active ? 'row active' : 'row',
        onClick: () => setWanted(index),
      }
      return h(
        'div',
        frame,
        h('span', { class: 'cells', role: 'presentation' }, cellsOf(row, about)),
      )
    },
  })
}

function cellsOf(row: DiffRow, about: DiffAsked): ComponentChild {
  const { change, namespace, cluster, at } = row
  const chip = h(Chips, { chips: [{ text: change, tone: TONES[change] }] })
  const link = { href: linkOf(row, about), tabIndex: -1 }
  const where = [
    about.namespace === undefined ? lineOf(namespace) : '',
    about.cluster === '' ? clusterText(cluster) : '',
  ].filter((each) => each !== '')
  const cells: readonly (readonly [string, ComponentChild])[] = [
    ['change', chip],
    ['', h(When, { at })],
    ['', h('a', link, h('bdi', null, nameText(row)))],
    ...where.map((each) => ['quiet', each] as const),
    ['', detailsOf(row)],
  ]
  return cells.map(([name, cell]) => h('span', { class: name, role: 'gridcell' }, cell))
}
