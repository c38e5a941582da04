/**
 * An object and its dependents at a moment of the past: a slider with a step for each change, the
 * tree after it, and what is different now. Of an object that was deleted it opens just before
 * that.
 *
 * What must stay true: what could not be searched is said.
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

/** What took more rows is searched once. */
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
    h(SpanChoice, { span, choose: (to) => goTo('past', { uid, cluster, span: to, beside }) }),
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

function SpanChoice({
  span,
  choose,
}: {
  readonly span: string
  readonly choose: (span: string) => void
}): ComponentChild {
  return h(
    'fieldset',
    { class: 'choice' },
    h('legend', null, 'Changes of the'),
    SPANS.map(([each, name]) =>
      h(
        'label',
        { class: 'check' },
        h('input', {
          ...{ type: 'radio', name: 'span', checked: each === span },
          onChange: () => choose(each),
        }),
        name,
      ),
    ),
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
  if (at === '') return null
  return h(
    'div',
    null,
    h(Section, {
      title: 'The tree then',
      children: [
        h(Notice, { asked }),
        tree?.root == null
          ? null
          : h(TreeThen, { root: tree.root, cluster, isPicture, setPicture }),
      ],
    }),
    h(Notice, { asked: other }),
    h(Section, {
      title: beside === '' ? 'Different now' : `Different at ${lineOf(beside)}`,
      children: [
        h(Choice, { at, beside, compare }),
        tree?.root == null
          ? null
          : h('p', null, h(InPlace, { ...{ root: tree.root, cluster, at, beside } })),
        isDoubtful ? h('p', { class: 'notice warm', role: 'note' }, DOUBTFUL) : null,
        tree?.root == null || after == null
          ? null
          : h(Compared, { before: tree.root, after, cluster }),
      ],
    }),
    h(OnCommandLine, { uid, cluster, at }),
  )
}

interface ThenProps {
  readonly root: Tree['root']
  readonly cluster: string
  readonly isPicture: boolean
  readonly setPicture: (isPicture: boolean) => void
}

/** As rows, or as a picture: of the next moment in the same form. */
function TreeThen({ root, cluster, isPicture, setPicture }: ThenProps): ComponentChild {
  const [version, setVersion] = useState(0)
  const item = useMemo(() => itemOfTree(root), [root])
  return [
    h(
      'p',
      { class: 'tools' },
      h(
        'button',
        { type: 'button', 'aria-pressed': isPicture, onClick: () => setPicture(!isPicture) },
        'Picture',
      ),
    ),
    isPicture
      ? h(Drawing, { root, cluster, now: Date.now() })
      : h(TreeView, {
          ...{ root: item, version, cluster, label: 'The tree then' },
          load: () => undefined,
          onChange: () => setVersion((each) => each + 1),
        }),
  ]
}

/** Which moment this one is compared with. */
function Choice({
  at,
  beside,
  compare,
}: {
  readonly at: string
  readonly beside: string
  readonly compare: (beside: string) => void
}): ComponentChild {
  const compareWith = (to: string, text: string): ComponentChild =>
    h('button', { type: 'button', onClick: () => compare(to) }, text)
  return h(
    'p',
    { class: 'tools' },
    beside === at ? null : compareWith(at, 'Compare others with this moment'),
    beside === '' ? null : compareWith('', 'Compare with now'),
  )
}

function OnCommandLine({
  uid,
  cluster,
  at,
}: {
  readonly uid: string
  readonly cluster: string
  readonly at: string
}): ComponentChild {
  const scope = shellWord(cluster)
  const word = shellWord(at)
  const about = shellWord(`uid:${uid}`)
  if (scope === undefined || word === undefined || about === undefined) return null
  return h(Section, {
    title: 'On the command line',
    children: h(
      'p',
      null,
      h(Copied, { text: `kinfold tree ${about} --cluster ${scope} --at ${word}` }),
    ),
  })
}

function undefinedTree(): { readonly partial: string; readonly root: null } {
  return { partial: '', root: null }
}
