/**
 * A moment of a span, chosen among its changes: a slider that is as long as the span, below what
 * changed when.
 *
 * What must stay true: time is drawn to scale, so a quiet time is empty, and one of which nothing
 * is recorded is plain grey, a pattern that nothing else has. Keys go from change to change.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo } from 'preact/hooks'
import { recordedText } from '../../services/graph/api/word.ts'
import { Chips } from '../base/chip.ts'
import { When } from '../base/frame.ts'
import { KindMark, markOf } from '../base/kind-mark.ts'
import { linkTo } from '../base/place.ts'
import { kindText, lineOf, momentText, nameText, timeText } from '../base/text.ts'
import { type Deletion, whoText } from '../deletion-text.ts'
import { BY, PATTERN } from '../record/record.ts'
import { Swatch } from '../record/swatch.ts'
import { type Cell, type Density, deletedIn, densityOf, partOf, SLICES } from './density.ts'
import { type Change, momentAfter, type Steps, stepAt, stepsIn } from './steps.ts'

/** Of one step: one event can end very many. */
const MOST_SAID = 8
const PAGE_STEPS = 10

export interface SliderProps {
  readonly steps: Steps
  readonly at: string
  readonly go: (at: string) => void
}

export function Slider(props: SliderProps): ComponentChild {
  const { changes, span, deletions } = props.steps
  const { at, go } = props
  const steps = useMemo(() => stepsIn(changes), [changes])
  const density = useMemo(() => densityOf(changes, span, deletions), [changes, span, deletions])
  const firsts = steps.map(([first]) => first)
  const step = stepAt(firsts, at)
  const chosen = steps[step]
  const move = (to: number): void => {
    const next = steps[Math.max(0, Math.min(to, steps.length - 1))]
    if (next !== undefined) go(momentAfter(next[0]))
  }
  const slid = (event: Event): void => {
    const ms = Number((event.currentTarget as HTMLInputElement).value)
    move(firsts.findLastIndex((each) => timeIn(each, span) <= ms))
  }
  const pressed = (event: KeyboardEvent): void => {
    const to = steppedBy(event.key, step, steps.length)
    if (to === undefined) return
    event.preventDefault()
    move(to)
  }
  const text =
    chosen === undefined
      ? `Before the first of ${steps.length}`
      : `${step + 1} of ${steps.length}: ${chosen.slice(0, MOST_SAID).map(sentence).join('; ')}`
  const input = {
    ...{ type: 'range', min: span.begin, max: span.end, step: 1 },
    value: chosen === undefined ? span.begin : timeIn(chosen[0], span),
    ...{ 'aria-label': 'Moment, by changes', 'aria-valuetext': text },
    ...{ onInput: slid, onKeyDown: pressed },
  }
  return h(
    'div',
    { class: 'slider' },
    steps.length === 0
      ? h('p', null, 'Nothing changed in this span.')
      : [
          h(Lanes, { density, span }),
          h('div', { class: 'track' }, h('input', input)),
          h(
            'div',
            { class: 'track ends quiet' },
            h(When, { at: new Date(span.begin).toISOString() }),
            h('span', null, 'now'),
          ),
          h(Legend, { density, span }),
          h(Walk, {
            ...{ step, count: steps.length, move },
            text:
              chosen === undefined
                ? text
                : `${step + 1} of ${steps.length}: ${momentText(chosen[0].at, Date.now())}`,
          }),
          chosen === undefined ? null : h(Said, { changes: chosen, deletions }),
        ],
    h(AnyMoment, { at, go }),
  )
}

/** From change to change. */
function Walk({
  step,
  count,
  text,
  move,
}: {
  readonly step: number
  readonly count: number
  readonly text: string
  readonly move: (to: number) => void
}): ComponentChild {
  return h(
    'div',
    { class: 'tools' },
    h('button', { type: 'button', onClick: () => move(step - 1), disabled: step <= 0 }, 'Earlier'),
    h(
      'button',
      { type: 'button', onClick: () => move(step + 1), disabled: step === count - 1 },
      'Later',
    ),
    h('span', { role: 'status' }, text),
  )
}

function AnyMoment({ at, go }: Pick<SliderProps, 'at' | 'go'>): ComponentChild {
  const submitted = (event: Event): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    go(String(form.get('at') ?? '').trim())
  }
  return h(
    'form',
    { class: 'search', onSubmit: submitted },
    h(
      'label',
      null,
      'Any moment',
      h('input', {
        ...{ name: 'at', defaultValue: at, required: true, autoComplete: 'off' },
        placeholder: '2026-01-31T09:30:00Z',
      }),
    ),
    h('button', { type: 'submit' }, 'Show'),
  )
}

function timeIn({ at }: Pick<Change, 'at'>, { begin }: Steps['span']): number {
  return at === null ? begin : Date.parse(at)
}

/** Undefined: the key is none of the slider's. */
function steppedBy(key: string, step: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return step - 1
    case 'ArrowRight':
    case 'ArrowUp':
      return step + 1
    case 'PageDown':
      return step - PAGE_STEPS
    case 'PageUp':
      return step + PAGE_STEPS
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

function sentence(change: Change): string {
  const what = change.change === 'gone' ? 'deleted' : change.change
  return `${timeText(change.at)}, ${nameText(change)}: ${what}, ${lineOf(recordedText(change.text, change.admission))}`
}

/** What one event brought about, a line each. */
function Said({
  changes,
  deletions,
}: {
  readonly changes: readonly Change[]
  readonly deletions: ReadonlyMap<string, Deletion>
}): ComponentChild {
  const left = changes.length - MOST_SAID
  return h(
    'ul',
    { class: 'said', 'aria-label': 'What changed then' },
    changes.slice(0, MOST_SAID).map((each) => {
      const { uid, cluster, change, text, admission } = each
      const isEnd = change === 'gone'
      const tone = isEnd ? 'bad' : change === 'created' ? 'good' : 'quiet'
      const known = deletions.get(uid)
      const who = isEnd && known !== undefined ? whoText(known) : ''
      const words = [who, lineOf(recordedText(text, admission))].filter((part) => part !== '')
      return h(
        'li',
        null,
        h(KindMark, { of: each }),
        h(
          'a',
          { href: linkTo('object', { cluster: cluster.scope, uid }) },
          h('bdi', null, nameText(each)),
        ),
        h(Chips, { chips: [{ text: isEnd ? 'deleted' : change, tone }] }),
        h('span', null, words.join(' · ')),
      )
    }),
    left > 0 ? h('li', null, `${left.toLocaleString('en')} more by the same event`) : null,
  )
}

function Lanes({
  density: { lanes, most },
  span,
}: {
  readonly density: Density
  readonly span: Steps['span']
}): ComponentChild {
  const gap = 100 * partOf(span, span.recordedFrom)
  return h(
    'div',
    { class: 'lanes', 'aria-hidden': 'true' },
    lanes.map(({ kind, cells }) =>
      h(
        'div',
        { class: 'lane' },
        h(
          'span',
          { class: 'kind-mark', title: kind === null ? 'other kinds' : lineOf(kindText(kind)) },
          kind === null ? '…' : markOf(kind),
        ),
        h(
          'div',
          { class: 'time' },
          gap > 0 ? h('div', { class: 'gap', style: { width: `${gap}%` } }) : null,
          cells.map((cell) => h(Column, { key: cell.slice, cell, most })),
        ),
      ),
    ),
  )
}

/** Created above the line, deleted below it: so they differ without colours. */
function Column({ cell, most }: { readonly cell: Cell; readonly most: number }): ComponentChild {
  const { slice, created, deleted, other } = cell
  // One of many must be seen, too.
  const height = (count: number): string =>
    count === 0 ? '0' : `${Math.max(18, 50 * Math.sqrt(count / most))}%`
  const frame = { left: `${(100 * slice) / SLICES}%`, width: `${100 / SLICES}%` }
  return h(
    'div',
    { class: 'column', style: frame },
    other === 0 ? null : h('div', { class: 'other' }),
    h('div', { class: 'up', style: { height: height(created) } }),
    h(
      'div',
      { class: 'down', style: { height: height(deletedIn(cell)) } },
      BY.map((by) => {
        const count = deleted.get(by)
        if (count === undefined) return null
        return h('div', { class: `part ${PATTERN[by]}`, style: { flexGrow: count } })
      }),
    ),
  )
}

/** All that the drawing says, in words, each pattern beside its own. */
function Legend({
  density: { created, deleted, other },
  span,
}: {
  readonly density: Density
  readonly span: Steps['span']
}): ComponentChild {
  const ended = [...deleted.values()].reduce((sum, each) => sum + each, 0)
  const counts = [
    `${created.toLocaleString('en')} created (above the lines)`,
    `${ended.toLocaleString('en')} deleted (below)`,
    `${other.toLocaleString('en')} other changes (dots)`,
  ].join(' · ')
  const from = timeText(new Date(span.recordedFrom).toISOString())
  return [
    h('p', { class: 'quiet' }, `${counts}.`),
    h(
      'p',
      { class: 'quiet legend' },
      BY.map((by) => {
        const count = deleted.get(by)
        if (count === undefined) return null
        return h(Swatch, { of: by, text: `deleted by ${by}: ${count.toLocaleString('en')}` })
      }),
      span.recordedFrom <= span.begin
        ? null
        : h(Swatch, { of: 'gap', text: `not recorded: the record begins at ${from}` }),
    ),
  ]
}
