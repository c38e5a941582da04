/**
 * The first screen: what needs a person, and the state of each cluster.
 *
 * What must stay true: what is not known is a need, and never fine.
 */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import type { ClusterList } from '../cli/answer.ts'
import { REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask, failedChecks } from './base/ask.ts'
import { Chips } from './base/chip.ts'
import { Copied } from './base/command.ts'
import { Notice, Section, Table } from './base/frame.ts'
import { allNeeds, needsOf } from './base/need.ts'
import { linkTo } from './base/place.ts'
import { clusterText, countOf, spanText } from './base/text.ts'
import { OneNamespace } from './one-namespace.ts'
import { LastHour } from './record/last-hour.ts'

/** Clusters and needs that are listed; of more clusters one is found by its name. */
const SHOWN = 50
const MOST_NEEDS = 20

export function Home(): ComponentChild {
  const asked = useAnswer(
    'home',
    async (signal) => {
      const [list, failed] = await Promise.all([
        ask('/v1/clusters', {}, signal),
        failedChecks(signal),
      ])
      return { ...list, failed }
    },
    REFRESH_MS,
  )
  const { answer, refusal } = asked
  return h(
    'div',
    null,
    h('h1', null, 'Overview'),
    h(Notice, { asked }),
    h(OneNamespace, { asked, cluster: '' }),
    h(LastHour, null),
    answer === undefined
      ? null
      : [
          h(Section, {
            title: 'Needs a person',
            children: h(Needs, { list: answer, failed: [...answer.failed, ...unknown(refusal)] }),
          }),
          h(Section, {
            title: 'Clusters',
            children: h(Clusters, { list: answer, isKnown: refusal === '' }),
          }),
          h(Section, {
            title: 'On the command line',
            children: h('p', null, h(Copied, { text: 'kinfold status' })),
          }),
        ],
  )
}

/** What was answered before is no state of now. */
function unknown(refusal: string): readonly string[] {
  return refusal === '' ? [] : [`its state is not known just now: ${refusal}`]
}

function Needs({
  list,
  failed,
}: {
  readonly list: ClusterList
  readonly failed: readonly string[]
}): ComponentChild {
  const needs = allNeeds(list, failed)
  if (needs.length === 0) return h('p', { class: 'notice good' }, 'Nothing needs a person.')
  const lines = needs
    .slice(0, MOST_NEEDS)
    .map(({ cluster, what, isHeld }) =>
      h(
        'li',
        { class: 'notice warm' },
        cluster === null ? 'This process: ' : `${clusterText(cluster)}: `,
        isHeld && cluster !== null
          ? h('a', { href: linkTo('held', { cluster: cluster.scope }) }, what)
          : what,
      ),
    )
  const left = needs.length - lines.length
  return [
    h('ul', { class: 'needs' }, lines),
    left === 0 ? null : h('p', null, `and ${left} more: `, h(Copied, { text: STATUS_OF_ALL })),
  ]
}

const STATUS_OF_ALL = 'kinfold status --all'

/** Those that need a person come first. */
function Clusters(props: {
  readonly list: ClusterList
  readonly isKnown: boolean
}): ComponentChild {
  const { clusters } = props.list
  const [sought, setSought] = useState('')
  const found = clusters.filter(({ cluster }) => {
    return clusterText(cluster).toLowerCase().includes(sought.trim().toLowerCase())
  })
  const [amiss = [], fine = []] = [true, false].map((isAmiss) =>
    found.filter((row) => needsOf(row).length > 0 === isAmiss),
  )
  const shown = [...amiss, ...fine].slice(0, SHOWN)
  const onInput = (event: Event & { readonly currentTarget: HTMLInputElement }): void => {
    setSought(event.currentTarget.value)
  }
  const field = { type: 'search', value: sought, onInput, autoComplete: 'off', spellcheck: false }
  return [
    clusters.length <= SHOWN
      ? null
      : h(
          'form',
          { role: 'search', onSubmit: (event: Event) => event.preventDefault() },
          h('label', null, `Cluster, of ${clusters.length}`, h('input', field)),
          h('p', { role: 'status' }, `${shown.length} of ${found.length} shown`),
        ),
    h(Table, { label: 'Clusters', head: HEAD, rows: rowsOf(shown, props.isKnown) }),
  ]
}

const HEAD = [
  ...['Cluster', 'State', 'Mode', 'Kinds listed', 'Sign of life', 'Backlog', 'Held', 'Refused'],
  'Changes',
]

type Rows = Parameters<typeof Table>[0]['rows']

function rowsOf(clusters: ClusterList['clusters'], isKnown: boolean): Rows {
  return clusters.map((row) => {
    const { cluster, status } = row
    const name = h(
      'a',
      { href: linkTo('search', { cluster: cluster.scope }) },
      clusterText(cluster),
    )
    const isFine = needsOf(row).length === 0
    const text = isFine ? (isKnown ? 'fine' : 'was fine') : 'needs a person'
    const tone = isFine ? (isKnown ? 'good' : 'quiet') : 'warm'
    const state = h(Chips, { chips: [{ text, tone }] })
    const changes = h(
      'a',
      {
        href: linkTo('diff', { cluster: cluster.scope }),
        'aria-label': `What changed in ${clusterText(cluster)}`,
      },
      'What changed',
    )
    if (status === null) return [name, state, '?', '?', '?', '?', '?', '?', changes]
    const { mode, preset, synced, monitored, heartbeatAgeMs, lagEntries, held, refused } = status
    const total = held === null ? '?' : Object.values(held).reduce((sum, each) => sum + each, 0)
    return [
      ...[name, state, `${mode}, ${preset}`, `${synced} of ${monitored}`],
      heartbeatAgeMs === null ? '?' : `${spanText(heartbeatAgeMs)} ago`,
      ...[countOf(lagEntries, 'event'), `${total}`, refused === null ? '?' : `${refused}`],
      changes,
    ]
  })
}
