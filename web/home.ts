/**
 * The first screen: what needs a person, and the state of each cluster.
 *
 * What must stay true: what is not known is a need, and never fine.
 */
import { type ComponentChild, h } from 'preact'
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
  return h(
    'ul',
    { class: 'needs' },
    needs.map(({ cluster, what, isHeld }) =>
      h(
        'li',
        { class: 'notice warm' },
        cluster === null ? 'This process: ' : `${clusterText(cluster)}: `,
        isHeld && cluster !== null
          ? h('a', { href: linkTo('held', { cluster: cluster.scope }) }, what)
          : what,
      ),
    ),
  )
}

function Clusters({
  list,
  isKnown,
}: {
  readonly list: ClusterList
  readonly isKnown: boolean
}): ComponentChild {
  const head = [
    'Cluster',
    'State',
    'Mode',
    'Kinds listed',
    'Sign of life',
    'Backlog',
    'Held',
    'Refused',
    'Changes',
  ]
  const rows = list.clusters.map((row) => {
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
  return h(Table, { label: 'Clusters', head, rows })
}
