/**
 * What is held and by what; what waits for approval, with the form that approves or rejects it.
 *
 * What must stay true: approved is the very set that was shown, named by its digest: while the form
 * is filled in, the list is not replaced by another one.
 */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import type { Held, HeldPlan } from '../cli/answer.ts'
import { Approval } from './approval.ts'
import { type Answered, REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { Notice, Section, Table, When } from './base/frame.ts'
import { standing } from './base/need.ts'
import { linkTo, type Place } from './base/place.ts'
import { clusterText, countOf, kindText, lineOf, nameText } from './base/text.ts'
import { OneNamespace } from './one-namespace.ts'

const LISTED = '500'

export function HeldView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { cluster } = words
  const asked = useHeld(cluster)
  // Kept here: once all of it is approved, there is no form any more.
  const [given, setGiven] = useState('')
  const { answer } = asked
  const waiting = new Map<string, string>()
  for (const each of answer?.counts ?? []) {
    if (each.by === 'approval') waiting.set(each.cluster.scope, clusterText(each.cluster))
  }
  return h(
    'div',
    null,
    h('h1', null, 'Held'),
    cluster === undefined
      ? null
      : h(
          'p',
          null,
          `Cluster ${lineOf(cluster)}. `,
          h('a', { href: linkTo('held') }, 'All clusters'),
        ),
    h(Notice, { asked }),
    h(OneNamespace, { asked, cluster: cluster ?? '' }),
    h('p', { role: 'status', class: given === '' ? '' : 'notice good' }, lineOf(given)),
    answer === undefined ? null : h(Standing, { held: answer }),
    [...waiting].map(([scope, name]) =>
      h(Waiting, {
        key: scope,
        scope,
        name,
        onGiven: (sentence) => {
          setGiven(sentence)
          asked.again()
        },
      }),
    ),
    answer === undefined ? null : h(Counts, { held: answer, again: asked.again }),
  )
}

/** Undefined: of all clusters, or namespaces. */
export function useHeld(
  cluster: string | undefined,
  namespace?: string | undefined,
): Answered<Held> {
  return useAnswer(
    `held ${cluster} ${namespace}`,
    async (signal) => await ask('/v1/held', { cluster, namespace }, signal),
    REFRESH_MS,
  )
}

export function Standing({ held }: { readonly held: Held }): ComponentChild {
  const lines = standing(held)
  if (lines.length === 0) return null
  return h(Section, {
    title: 'Orders, breakers and refusals',
    children: h(
      'ul',
      null,
      lines.map((line) => h('li', null, line)),
    ),
  })
}

export function Counts({
  held,
  again,
}: {
  readonly held: Held
  readonly again: () => void
}): ComponentChild {
  const head = [
    'Cluster',
    'Held by',
    'Evidence',
    'Namespace',
    'Kind',
    'Objects',
    'Since',
    'Not before',
    'Example',
  ]
  const rows = held.counts.map((each) => [
    ...[clusterText(each.cluster), each.by, lineOf(each.evidence), lineOf(each.namespace)],
    ...[
      lineOf(kindText(each)),
      `${each.count}`,
      h(When, { at: each.since }),
      h(When, { at: each.until }),
    ],
    lineOf(each.because),
  ])
  const observing = 'In mode observe Kinfold deletes nothing, so no object is listed as held.'
  const none = held.partial === '' ? 'Nothing is held.' : 'Nothing is known to be held.'
  const nothing = held.mode === 'observe' ? observing : none
  const refresh = h('button', { type: 'button', onClick: again }, 'Refresh')
  return h(Section, {
    title: 'All that is held',
    children: [
      held.total === 0 ? h('p', null, nothing) : h('p', null, `${countOf(held.total, 'object')}.`),
      h('p', null, refresh),
      rows.length === 0 ? null : h(Table, { label: 'Held', head, rows }),
    ],
  })
}

function Waiting({
  scope,
  name,
  onGiven,
}: {
  readonly scope: string
  readonly name: string
  readonly onGiven: (sentence: string) => void
}): ComponentChild {
  const asked = useAnswer(
    `plan ${scope}`,
    async (signal) => await ask('/v1/plan/held', { cluster: scope, limit: LISTED }, signal),
    REFRESH_MS,
  )
  // While the form is filled in, what it approves stays what was shown.
  const [kept, setKept] = useState<HeldPlan>()
  const answer = kept ?? asked.answer
  const isOther = kept !== undefined && asked.answer?.digest !== kept.digest
  const filling = (is: boolean): void =>
    setKept((former) => (is ? (former ?? asked.answer) : undefined))
  return h(Section, {
    title: `Waiting for approval in ${name}`,
    children: [
      h(Notice, { asked }),
      isOther
        ? h(
            'p',
            { class: 'notice warm', role: 'alert' },
            'Another set is held for approval by now. ',
            h('button', { type: 'button', onClick: () => setKept(undefined) }, 'Show it'),
          )
        : null,
      answer === undefined
        ? null
        : [
            h(Objects, { plan: answer }),
            h(Approval, {
              plan: answer,
              filling,
              onGiven: (sentence) => {
                setKept(undefined)
                asked.again()
                onGiven(sentence)
              },
            }),
          ],
    ],
  })
}

function Objects({ plan }: { readonly plan: HeldPlan }): ComponentChild {
  const { objects, total, cluster } = plan
  const rows = objects.map((each) => [
    h(
      'a',
      { href: linkTo('object', { cluster: cluster.scope, uid: each.uid }) },
      h('bdi', null, nameText(each)),
    ),
    ...[
      lineOf(each.namespace),
      lineOf(each.what),
      h(When, { at: each.since }),
      lineOf(each.evidence),
    ],
    lineOf(each.because),
  ])
  const left = total - objects.length
  return h(
    'div',
    null,
    h(
      'p',
      null,
      `${countOf(total, 'object')}${left > 0 ? `, of which ${left} are not listed` : ''}.`,
    ),
    h(Table, {
      label: 'Waiting for approval',
      head: ['Object', 'Namespace', 'Action', 'Since', 'Evidence', 'Reason'],
      rows,
    }),
  )
}
