/**
 * What would be deleted with an object, before it is: nothing is ordered here.
 *
 * What must stay true: all objects are counted; those that are not listed are said to be.
 */
import { type ComponentChild, h } from 'preact'
import type { Plan } from '../cli/answer.ts'
import { REFRESH_MS, useAnswer } from './answer.ts'
import { ask } from './ask.ts'
import { Chips } from './chip.ts'
import { Copied } from './command.ts'
import { Notice, Section, Table } from './frame.ts'
import { goTo, linkTo, type Place } from './place.ts'
import { clusterText, countOf, kindText, lineOf, nameText, shellWord } from './text.ts'

const CASCADES = ['background', 'foreground', 'orphan'] as const
const LISTED = '500'

export function PlanView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { uid, cluster } = words
  const cascade = CASCADES.find((each) => each === words['cascade']) ?? 'background'
  const asked = useAnswer(
    JSON.stringify([uid, cluster, cascade]),
    async (signal) => await ask('/v1/plan', { uid, cluster, cascade, limit: LISTED }, signal),
    // A large one is rehearsed once, and again when asked to.
    (last) => ((last?.total ?? 0) > Number(LISTED) ? 0 : REFRESH_MS),
  )
  const { answer } = asked
  const choose = (each: string): void => goTo('plan', { ...words, cascade: each })
  return h(
    'div',
    null,
    h(
      'h1',
      null,
      answer === undefined ? 'Plan' : ['Plan: delete ', h('bdi', null, nameText(answer.root))],
    ),
    h(
      'p',
      null,
      h(
        'a',
        { href: linkTo('object', { uid: uid ?? '', cluster: cluster ?? '' }) },
        'Back to the object',
      ),
    ),
    h(
      'fieldset',
      { class: 'choice' },
      h('legend', null, 'Propagation policy'),
      CASCADES.map((each) =>
        h(
          'label',
          { class: 'check' },
          h('input', {
            ...{ type: 'radio', name: 'cascade', value: each },
            ...{ checked: each === cascade, onChange: () => choose(each) },
          }),
          each,
        ),
      ),
    ),
    h(Notice, { asked }),
    answer === undefined ? null : h(Planned, { plan: answer }),
  )
}

function Planned({ plan }: { readonly plan: Plan }): ComponentChild {
  const { counts, objects, holds, notes, total, hidden, digest, cluster, cascade, root } = plan
  const known = counts.reduce((sum, { count }) => sum + count, 0)
  const all = countOf(known + hidden, 'object')
  const counted = counts.map((each) => [
    lineOf(kindText(each)),
    each.effect,
    each.count.toLocaleString('en'),
  ])
  const listed = objects.map((each) => {
    const { namespace, uid, effect, because, finalizers } = each
    const href = linkTo('object', { cluster: cluster.scope, uid })
    const tone = effect === 'deleted' ? 'bad' : effect === 'kept' ? 'good' : 'warm'
    return [
      h('a', { href }, h('bdi', null, nameText(each))),
      lineOf(namespace),
      h(Chips, { chips: [{ text: effect, tone }] }),
      lineOf(because),
      lineOf(finalizers.join(', ')),
    ]
  })
  const uid = shellWord(`uid:${root.uid}`)
  const scope = shellWord(cluster.scope)
  return h(
    'div',
    null,
    h(
      'p',
      { class: 'verdict' },
      `${total === null ? `At least ${all}` : all} in cluster ${clusterText(cluster)}, with --cascade=${cascade}. Nothing is ordered by this.`,
    ),
    [...(notes === '' ? [] : [notes]), ...holds].map((each) =>
      h('p', { class: 'notice warm' }, `${lineOf(each)}.`),
    ),
    h(Section, {
      title: 'Effects',
      children: h(Table, { label: 'Effects', head: ['Kind', 'Effect', 'Objects'], rows: counted }),
    }),
    h(Section, {
      title: 'Objects',
      note:
        known > objects.length
          ? `${(known - objects.length).toLocaleString('en')} more are not listed.`
          : '',
      children: h(Table, {
        label: 'Planned objects',
        head: ['Object', 'Namespace', 'Effect', 'Reason', 'Finalizers'],
        rows: listed,
      }),
    }),
    h(Section, {
      title: 'On the command line',
      note: digest === null ? 'No digest: this plan is incomplete.' : `Digest ${digest}`,
      children:
        uid === undefined || scope === undefined
          ? null
          : h(
              'p',
              null,
              h(Copied, {
                text: `kinfold plan delete ${uid} --cluster ${scope} --cascade ${cascade}`,
              }),
            ),
    }),
  )
}
