/**
 * What would be deleted with an object, before it is: a picture, and beside it the list. Nothing is
 * ordered here.
 *
 * What must stay true: all objects are counted; those that are not listed are said to be, and are
 * never drawn as kept.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Plan, Tree } from '../cli/answer.ts'
import { alongOf } from '../services/graph/api/word.ts'
import { REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { type Chip, Chips } from './base/chip.ts'
import { Copied } from './base/command.ts'
import { Doubt, Notice, Section, Table } from './base/frame.ts'
import { goTo, linkTo, type Place } from './base/place.ts'
import { clusterText, countOf, kindText, lineOf, nameText, shellWord } from './base/text.ts'
import { ObjectTabs } from './object-tabs.ts'
import { Drawing } from './picture/drawing.ts'
import { EFFECTS, lookOfPlan } from './picture/look.ts'
import { AcrossSection } from './tree/across.ts'

const CASCADES = ['background', 'foreground', 'orphan'] as const
/** Of the list on the page. */
const MOST_LISTED = 500
/** No plan has more: the picture shows the effect of each. */
const LIMIT = '20000'

interface Planned {
  readonly partial: string
  readonly plan: Plan
  readonly tree: Tree
}

export function PlanView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { uid, cluster } = words
  const cascade = CASCADES.find((each) => each === words['cascade']) ?? 'background'
  const load = async (signal: AbortSignal): Promise<Planned> => {
    const [plan, tree] = await Promise.all([
      ask('/v1/plan', { uid, cluster, cascade, limit: LIMIT }, signal),
      ask('/v1/tree', { uid, cluster }, signal),
    ])
    return { partial: plan.partial, plan, tree }
  }
  const asked = useAnswer(
    JSON.stringify([uid, cluster, cascade]),
    load,
    // A large one is rehearsed once, and again when asked to.
    (last) => ((last?.plan.total ?? 0) > MOST_LISTED ? 0 : REFRESH_MS),
  )
  const { plan, tree } = asked.answer ?? {}
  const root = tree?.root
  const choose = (each: string): void => goTo('plan', { ...words, cascade: each })
  return h(
    'div',
    null,
    h(
      'h1',
      null,
      plan === undefined ? 'Plan' : ['Plan: delete ', h('bdi', null, nameText(plan.root))],
    ),
    h(ObjectTabs, {
      ...{ uid: uid ?? '', cluster: cluster ?? '', current: 'plan' },
      ...{ phase: root?.phase, namespace: root?.namespace },
    }),
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
    asked.answer === undefined ? null : h(Effects, { planned: asked.answer }),
  )
}

const TONES = { plain: 'quiet', quiet: 'quiet', good: 'good', warm: 'warm', bad: 'bad' } as const

function chipOf(effect: Plan['counts'][number]['effect'], count = ''): Chip {
  const { sign, tone, text } = EFFECTS[effect]
  return { text: `${sign} ${count}${text}`, tone: TONES[tone] }
}

function Effects({ planned: { plan, tree } }: { readonly planned: Planned }): ComponentChild {
  const { counts, holds, notes, total, hidden, cluster, cascade } = plan
  const known = counts.reduce((sum, { count }) => sum + count, 0)
  const all = countOf(known + hidden, 'object')
  const effects = Map.groupBy(counts, ({ effect }) => effect)
  const sums = [...effects].map(([effect, rows]) => {
    const sum = rows.reduce((before, { count }) => before + count, 0)
    return chipOf(effect, `${sum.toLocaleString('en')} `)
  })
  const said = `${total === null ? `At least ${all}` : all} in cluster ${clusterText(cluster)}, with --cascade=${cascade}. Nothing is ordered by this.`
  return h(
    'div',
    null,
    h('p', { class: 'verdict' }, said),
    h('p', null, h(Chips, { chips: sums })),
    [...(notes === '' ? [] : [notes]), ...holds].map((each) =>
      h('p', { class: 'notice warm' }, `${lineOf(each)}.`),
    ),
    h(
      'div',
      { class: 'columns' },
      h(
        'div',
        { class: 'stays' },
        h(Section, { title: 'What would be deleted', children: h(PlanPicture, { plan, tree }) }),
        h(Section, { title: 'By kind', children: h(Counts, { plan }) }),
      ),
      h('div', { class: 'long' }, h(Objects, { plan, known })),
    ),
    h(AcrossSection, { object: plan.root, cluster: cluster.scope, along: alongOf(plan) }),
    h(OnCommandLine, { plan }),
  )
}

function PlanPicture({ plan, tree }: Pick<Planned, 'plan' | 'tree'>): ComponentChild {
  const lookOf = useMemo(() => lookOfPlan(plan), [plan])
  const { root, partial } = tree
  return h(
    'div',
    null,
    h(Doubt, { partial }),
    h(Drawing, { root, cluster: plan.cluster.scope, lookOf, now: Date.now() }),
  )
}

function Objects({ plan, known }: { readonly plan: Plan; readonly known: number }): ComponentChild {
  const listed = plan.objects.slice(0, MOST_LISTED)
  const rows = listed.map((each) => {
    const { namespace, uid, effect, because, finalizers } = each
    const href = linkTo('object', { cluster: plan.cluster.scope, uid })
    const held = finalizers.length === 0 ? '' : `finalizers: ${finalizers.join(', ')}`
    return [
      [
        h('a', { href }, h('bdi', null, nameText(each))),
        namespace === '' || namespace === plan.root.namespace
          ? null
          : h('div', { class: 'quiet' }, lineOf(namespace)),
      ],
      h(Chips, { chips: [chipOf(effect)] }),
      lineOf([because, held].filter((text) => text !== '').join('; ')),
    ]
  })
  const left = (known - listed.length).toLocaleString('en')
  return h(Section, {
    title: 'Objects',
    note: known > listed.length ? `${left} more are not listed.` : '',
    children: h(Table, { label: 'Planned objects', head: ['Object', 'Effect', 'Reason'], rows }),
  })
}

function Counts({ plan: { counts } }: Pick<Planned, 'plan'>): ComponentChild {
  const rows = counts.map((each) => [
    lineOf(kindText(each)),
    h(Chips, { chips: [chipOf(each.effect)] }),
    each.count.toLocaleString('en'),
  ])
  return h(Table, { label: 'Effects', head: ['Kind', 'Effect', 'Objects'], rows })
}

function OnCommandLine({ plan }: Pick<Planned, 'plan'>): ComponentChild {
  const { root, cluster, cascade, digest } = plan
  const [uid, scope] = [shellWord(`uid:${root.uid}`), shellWord(cluster.scope)]
  const text = `kinfold plan delete ${uid} --cluster ${scope} --cascade ${cascade}`
  return h(Section, {
    title: 'On the command line',
    note: digest === null ? 'No digest: this plan is incomplete.' : `Digest ${digest}`,
    children: uid === undefined || scope === undefined ? null : h('p', null, h(Copied, { text })),
  })
}
