/**
 * An object and its dependents at a moment of the past: a slider with a step for each change, the tree
 * after it, and what is different now. Of an object that was deleted it opens just before that.
 *
 * What must stay true: what could not be looked through is said.
 *
 * Not here: which changes there are (steps.ts), the slider (slider.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Tree } from '../../cli/answer.ts'
import { type Answered, REFRESH_MS, useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { Copied } from '../base/command.ts'
import { Notice, Section } from '../base/frame.ts'
import { goTo, type Place } from '../base/place.ts'
import { lineOf, nameText, shellWord } from '../base/text.ts'
import { ObjectTabs } from '../object-tabs.ts'
import { Drawing } from '../picture/drawing.ts'
import { endOf } from '../record/end.ts'
import { isDeleted } from '../tree/tree-difference.ts'
import { itemOfTree } from '../tree/tree-model.ts'
import { TreeView } from '../tree/tree-view.ts'
import { Compared, DOUBTFUL, InPlace } from './compared.ts'
import { Slider } from './slider.ts'
import { lastOf, SPANS, stepsOf } from './steps.ts'

/** What took more rows is looked through once. */
const MOST_REFRESHED = 2_000

export function PastView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { uid = '', cluster = '', span = '1h', beside = '' } = words
  const now = useAnswer(
    `now ${cluster} ${uid}`,
    async (signal) => await ask('/v1/tree', { uid, cluster }, signal),
    REFRESH_MS,
  )
  const steps = useAnswer(
    `steps ${cluster} ${uid} ${span}`,
    async (signal) => await stepsOf({ uid, cluster }, span, signal),
    (last) => ((last?.read ?? 0) > MOST_REFRESHED ? 0 : REFRESH_MS),
  )
  const changes = steps.answer?.changes ?? []
  const root = now.answer?.root
  const end = endOf(changes.filter((each) => each.uid === uid))
  const isGone = root !== undefined && isDeleted(root)
  const at = words['at'] ?? (isGone ? end?.before : undefined) ?? ''
  return h(
    'div',
    null,
    h('h1', null, root === undefined ? 'Past' : ['Past of ', h('bdi', null, nameText(root))]),
    h(ObjectTabs, {
      ...{ uid, cluster, current: 'past', phase: root?.phase, namespace: root?.namespace },
    }),
    h(Notice, { asked: now }),
    h(Notice, { asked: steps }),
    h(
      'fieldset',
      { class: 'choice' },
      h('legend', null, 'Changes of the'),
      SPANS.map(([each, name]) =>
        h(
          'label',
          { class: 'check' },
          h('input', {
            ...{ type: 'radio', name: 'span', checked: each === span },
            onChange: () => goTo('past', { uid, cluster, span: each, beside }),
          }),
          name,
        ),
      ),
    ),
    steps.answer === undefined
      ? null
      : h(Slider, {
          steps: steps.answer,
          at,
          go: (to) => goTo('past', { uid, cluster, span, at: to, beside }),
        }),
    h(Moment, {
      ...{ words: { uid, cluster }, at: at || lastOf(changes), beside, now },
      compare: (other) => goTo('past', { uid, cluster, span, at, beside: other }),
    }),
  )
}

function Moment({
  words: { uid, cluster },
  at,
  beside,
  now,
  compare,
}: {
  readonly words: { readonly uid: string; readonly cluster: string }
  readonly at: string
  /** The moment that it is compared with; empty: now. */
  readonly beside: string
  readonly now: Answered<Tree>
  readonly compare: (beside: string) => void
}): ComponentChild {
  const [isPicture, setPicture] = useState(false)
  const asked = useAnswer(`${cluster} ${uid} ${at}`, async (signal) => {
    return at === '' ? undefinedTree() : await ask('/v1/tree', { uid, cluster, at }, signal)
  })
  const other = useAnswer(`${cluster} ${uid} ${beside}`, async (signal) => {
    return beside === ''
      ? undefinedTree()
      : await ask('/v1/tree', { uid, cluster, at: beside }, signal)
  })
  const tree = asked.answer
  const beyond = beside === '' ? now.answer : other.answer
  const after = beyond?.root
  const isDoubtful = [tree, beyond].some((each) => each !== undefined && each.partial !== '')
  const item = useMemo(() => (tree?.root == null ? undefined : itemOfTree(tree.root)), [tree])
  const [version, setVersion] = useState(0)
  if (at === '') return null
  const scope = shellWord(cluster)
  const word = shellWord(at)
  const about = shellWord(`uid:${uid}`)
  return h(
    'div',
    null,
    h(Section, {
      title: 'The tree then',
      children: [
        h(Notice, { asked }),
        item === undefined || tree?.root == null
          ? null
          : [
              h(
                'p',
                { class: 'tools' },
                h(
                  'button',
                  {
                    type: 'button',
                    'aria-pressed': isPicture,
                    onClick: () => setPicture(!isPicture),
                  },
                  'Picture',
                ),
              ),
              isPicture
                ? h(Drawing, { root: tree.root, cluster, now: Date.now() })
                : h(TreeView, {
                    ...{ root: item, version, cluster, label: 'The tree then' },
                    load: () => undefined,
                    onChange: () => setVersion((each) => each + 1),
                  }),
            ],
      ],
    }),
    h(Notice, { asked: other }),
    h(Section, {
      title: beside === '' ? 'Different now' : `Different at ${lineOf(beside)}`,
      children: [
        h(
          'p',
          { class: 'tools' },
          beside === at
            ? null
            : h(
                'button',
                { type: 'button', onClick: () => compare(at) },
                'Compare others with this moment',
              ),
          beside === ''
            ? null
            : h('button', { type: 'button', onClick: () => compare('') }, 'Compare with now'),
        ),
        tree?.root == null
          ? null
          : h('p', null, h(InPlace, { ...{ root: tree.root, cluster, at, beside } })),
        isDoubtful ? h('p', { class: 'notice warm', role: 'note' }, DOUBTFUL) : null,
        tree?.root == null || after == null
          ? null
          : h(Compared, { before: tree.root, after, cluster }),
      ],
    }),
    scope === undefined || word === undefined || about === undefined
      ? null
      : h(Section, {
          title: 'On the command line',
          children: h(
            'p',
            null,
            h(Copied, { text: `kinfold tree ${about} --cluster ${scope} --at ${word}` }),
          ),
        }),
  )
}

function undefinedTree(): { readonly partial: string; readonly root: null } {
  return { partial: '', root: null }
}
