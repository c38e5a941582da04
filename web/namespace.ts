/**
 * One namespace of one cluster: what is held there, what changed lately, and an object by its name.
 * It is what a person is shown who may not see the whole graph.
 *
 * What must stay true: it asks only questions that the server answers about one namespace to a
 * person who may list in it; what such an answer leaves out is said above it.
 *
 * Not here: a list of all objects of the namespace, for which the server wants the right to see the
 * whole graph (search.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import type { ChangeList } from '../cli/answer.ts'
import { recordedText } from '../services/graph/api/word.ts'
import { REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { Chips } from './base/chip.ts'
import { TextField, textsIn } from './base/field.ts'
import { Notice, Section, Table, When } from './base/frame.ts'
import { goTo, linkTo, type Place } from './base/place.ts'
import { countOf, kindText, lineOf, nameText } from './base/text.ts'
import { Counts, Standing, useHeld } from './held.ts'
import { firstPage } from './past/steps.ts'

type Change = ChangeList['changes'][number]

const SPAN_MS = 86_400_000
const PAGE = '2000'
const MOST_PAGES = 10
const MOST_LISTED = 200

export function NamespaceView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { cluster = '', namespace = '' } = words
  const where = { cluster, namespace }
  const held = useHeld(cluster, namespace)
  return h(
    'div',
    null,
    h(
      'header',
      { class: 'about' },
      h('p', { class: 'quiet' }, `Namespace in cluster ${lineOf(cluster)}`),
      h('h1', null, h('bdi', null, lineOf(namespace))),
    ),
    h(Section, { title: 'An object by its name', children: h(ByName, { where }) }),
    h(Notice, { asked: held }),
    held.answer === undefined
      ? null
      : [h(Standing, { held: held.answer }), h(Counts, { held: held.answer, again: held.again })],
    h(Section, {
      title: 'Objects that changed in the last 24 hours',
      children: h(Recent, { where }),
    }),
  )
}

interface Where {
  readonly cluster: string
  readonly namespace: string
}

function ByName({ where }: { readonly where: Where }): ComponentChild {
  const submit = (event: Event): void => {
    event.preventDefault()
    const text = textsIn(event.currentTarget as HTMLFormElement)
    goTo('object', { ...where, kind: text('kind'), name: text('name') })
  }
  const field = (name: string, label: string, hint: string): ComponentChild =>
    h(TextField, { ...{ name, label, hint, value: '' }, isRequired: true })
  return h(
    'form',
    { class: 'search', onSubmit: submit },
    field('kind', 'Kind', 'deploy, pods …'),
    field('name', 'Name', ''),
    h('button', { type: 'submit' }, 'Open'),
  )
}

function Recent({ where }: { readonly where: Where }): ComponentChild {
  // Of the whole record, "recent" is what comes last: so long ago is counted once.
  const [since] = useState(() => new Date(Date.now() - SPAN_MS).toISOString())
  const asked = useAnswer(
    JSON.stringify(where),
    async (signal) => await recentOf(where, since, signal),
    (last) => ((last?.count ?? 0) > Number(PAGE) ? 0 : REFRESH_MS),
  )
  const { answer } = asked
  if (answer === undefined) return h(Notice, { asked })
  const { last, count } = answer
  const rows = last.slice(0, MOST_LISTED).map((each) => [
    h(
      'a',
      { href: linkTo('object', { cluster: each.cluster.scope, uid: each.uid }) },
      h('bdi', null, nameText(each)),
    ),
    lineOf(kindText(each)),
    h(Chips, {
      chips: [
        {
          text: each.change === 'gone' ? 'deleted' : each.change,
          tone: each.change === 'gone' ? 'bad' : 'quiet',
        },
      ],
    }),
    h(When, { at: each.at }),
    lineOf(recordedText(each.text, each.admission)),
  ])
  const left = last.length - rows.length
  const text = `${countOf(last.length, 'object')}, ${countOf(count, 'change')}${left > 0 ? `; the newest ${rows.length} are listed` : ''}.`
  return h(
    'div',
    null,
    h(Notice, { asked }),
    h('p', { role: 'status' }, text),
    rows.length === 0
      ? null
      : h(Table, {
          label: 'Objects that changed',
          head: ['Object', 'Kind', 'Last change', 'At', 'What'],
          rows,
        }),
  )
}

interface Lately {
  readonly partial: string
  /** Of each object the last one, the newest first. */
  readonly last: readonly Change[]
  readonly count: number
}

async function recentOf(where: Where, wanted: string, signal: AbortSignal): Promise<Lately> {
  const last = new Map<string, Change>()
  const doubts = new Set<string>()
  let count = 0
  const { since, first } = await firstPage(where, wanted, signal)
  let page = first
  for (let pages = 1; ; pages++) {
    for (const each of page.changes) {
      // Later ones of an object take its place at the end.
      last.delete(each.uid)
      last.set(each.uid, each)
    }
    count += page.changes.length
    doubts.add(page.partial)
    if (page.continue === null) break
    if (pages === MOST_PAGES) {
      doubts.add(`only the first ${countOf(count, 'change')} were looked through`)
      break
    }
    page = await ask(
      '/v1/changes',
      { ...where, since, limit: PAGE, continue: page.continue },
      signal,
    )
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { partial, last: [...last.values()].reverse(), count }
}
