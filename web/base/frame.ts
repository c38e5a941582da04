/**
 * What views are made of: sections with a heading, tables that scroll by themselves, what is
 * missing, and what was refused.
 *
 * What must stay true: an answer that may be incomplete says so above itself.
 */
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import type { Answered } from './answer.ts'
import { inText, lineOf, spanText, timeText } from './text.ts'

export function Section({
  title,
  children,
  note = '',
}: {
  readonly title: string
  readonly note?: string
  readonly children: ComponentChildren
}): ComponentChild {
  const id = `section-${title.toLowerCase().replaceAll(/\W+/g, '-')}`
  return h(
    'section',
    { 'aria-labelledby': id },
    h('h2', { id }, title),
    note === '' ? null : h('p', { class: 'quiet' }, note),
    children,
  )
}

/**
 * How long ago, or in how long, and in which moment: both, since one thinks in the one and compares
 * by the other.
 */
export function When({ at }: { readonly at: string | null }): ComponentChild {
  if (at === null) return '–'
  return h(
    'time',
    { dateTime: at, class: 'when' },
    inText(at, Date.now()),
    ' ',
    h('span', { class: 'quiet' }, timeText(at)),
  )
}

/** How old, where there is room for no more; the moment itself is its title. */
export function Age({ at }: { readonly at: string }): ComponentChild {
  const text = spanText(Date.now() - Date.parse(at))
  return h('time', { dateTime: at, class: 'quiet', title: `created ${timeText(at)}` }, text)
}

export type Cell = ComponentChildren

export interface TableProps {
  readonly label: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/**
 * Where the window is narrow, a row is a block, in which each cell has the name of its column
 * (page.css): roles are named, since blocks have none.
 */
export function Table({ label, head, rows }: TableProps): ComponentChild {
  const names = head.map((each) => h('th', { scope: 'col', role: 'columnheader' }, each))
  const row = (cells: readonly Cell[]): ComponentChild =>
    h(
      'tr',
      { role: 'row' },
      cells.map((each, at) =>
        h('td', { role: 'cell', 'data-label': head[at] }, h('div', null, each)),
      ),
    )
  return h(
    'div',
    { class: 'scrolls', role: 'group', 'aria-label': label, tabIndex: 0 },
    h(
      'table',
      { role: 'table', 'aria-label': label },
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, names)),
      h('tbody', { role: 'rowgroup' }, rows.map(row)),
    ),
  )
}

/** What an answer says of itself: it may be incomplete, it is not there yet, it was refused. */
export function Notice<T extends { readonly partial: string }>({
  asked: { answer, refusal, isLoading, again },
}: {
  readonly asked: Answered<T>
}): ComponentChild {
  if (refusal === '' && answer === undefined)
    return isLoading ? h('p', { class: 'quiet', role: 'status' }, 'Loading…') : null
  return [
    refusal === ''
      ? null
      : h(
          'p',
          { class: 'notice bad', role: 'alert' },
          lineOf(refusal),
          ' ',
          h('button', { type: 'button', onClick: again }, 'Try again'),
        ),
    h(Doubt, { partial: answer?.partial ?? '' }),
  ]
}

/** Also above what was answered before the last refusal. */
export function Doubt({ partial }: { readonly partial: string }): ComponentChild {
  if (partial === '') return null
  return h(
    'p',
    { class: 'notice warm', role: 'note' },
    `This may be incomplete: ${lineOf(partial)}`,
  )
}
