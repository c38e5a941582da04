/**
 * An object and its dependents at a moment of the past: a slider with a step for each change, the tree after it, and what is different now.
 *
 * What must stay true: a step is a position of the log, so what is shown is exact to the change. Each object that is in the tree, was in it when the span began, or
 * came and left in between by whatever hand has its steps; what could not be looked through is said.
 */
import { type ComponentChild, h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { ChangeList, DeletionList, ObjectList, Tree, TreeNode } from '../cli/answer.ts'
import { type Answered, REFRESH_MS, useAnswer } from './answer.ts'
import { ask, Refusal } from './ask.ts'
import { Chips } from './chip.ts'
import { Copied } from './command.ts'
import { Notice, Section, Table } from './frame.ts'
import { inOrder } from './moment.ts'
import { Drawing } from './picture/drawing.ts'
import { goTo, linkTo, type Place } from './place.ts'
import { countOf, lineOf, nameText, recordedText, shellWord, timeText } from './text.ts'
import { differences } from './tree-difference.ts'
import { itemOfTree } from './tree-model.ts'
import { TreeView } from './tree-view.ts'

type Change = ChangeList['changes'][number]

const SPANS: readonly (readonly [string, string, number])[] = [
  ['1h', 'last hour', 3_600_000],
  ['24h', 'last 24 hours', 86_400_000],
  ['7d', 'last 7 days', 7 * 86_400_000],
  ['all', 'whole record', 0],
]
const PAGE = '2000'
/** Rows of the log that are looked through for changes of this tree. */
const MOST_READ = 20_000
/** Of deletions, in which those with this root are looked for. */
const MOST_PAGES = 10

export function PastView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { uid = '', cluster = '', span = '1h', at = '', beside = '' } = words
  const now = useAnswer(
    `now ${cluster} ${uid}`,
    async (signal) => await ask('/v1/tree', { uid, cluster }, signal),
    REFRESH_MS,
  )
  const steps = useAnswer(
    `steps ${cluster} ${uid} ${span}`,
    async (signal) => await stepsOf({ uid, cluster }, span, signal),
    // What took more than a page is looked through once.
    (last) => ((last?.read ?? 0) > Number(PAGE) ? 0 : REFRESH_MS),
  )
  const changes = steps.answer?.changes ?? []
  const root = now.answer?.root
  return h(
    'div',
    null,
    h('h1', null, root === undefined ? 'Past' : ['Past of ', h('bdi', null, nameText(root))]),
    h('p', null, h('a', { href: linkTo('object', { uid, cluster }) }, 'Now')),
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
          changes,
          at,
          go: (to) => goTo('past', { uid, cluster, span, at: to, beside }),
        }),
    h(Moment, {
      ...{ words: { uid, cluster }, at: at || lastOf(changes), beside, now },
      compare: (other) => goTo('past', { uid, cluster, span, at, beside: other }),
    }),
  )
}

function lastOf(changes: readonly Change[]): string {
  const last = changes.at(-1)
  return last === undefined ? '' : momentAfter(last)
}

/** Everything up to that change, itself included. */
function momentAfter({ partition, position }: Change): string {
  return `pos:${partition}-${position + 1}`
}

function Slider({
  changes,
  at,
  go,
}: {
  readonly changes: readonly Change[]
  readonly at: string
  readonly go: (at: string) => void
}): ComponentChild {
  const steps = stepsIn(changes)
  const step = stepAt(
    steps.map(([first]) => first),
    at,
  )
  const chosen = steps[step]
  const move = (to: number): void => {
    const next = steps[Math.max(0, Math.min(to, steps.length - 1))]
    if (next !== undefined) go(momentAfter(next[0]))
  }
  const moment = (event: Event): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    go(String(form.get('at') ?? '').trim())
  }
  const text =
    chosen === undefined
      ? `Before the first of ${steps.length}`
      : `${step + 1} of ${steps.length}: ${chosen.map(sentence).join('; ')}`
  return h(
    'div',
    { class: 'slider' },
    steps.length === 0
      ? h('p', null, 'Nothing changed in this span.')
      : [
          h(
            'div',
            { class: 'tools' },
            h(
              'button',
              { type: 'button', onClick: () => move(step - 1), disabled: step <= 0 },
              'Earlier',
            ),
            h('input', {
              ...{
                type: 'range',
                min: 0,
                max: steps.length - 1,
                step: 1,
                value: Math.max(0, step),
              },
              ...{ 'aria-label': 'Moment, by changes', 'aria-valuetext': text },
              onInput: (event: Event) =>
                move(Number((event.currentTarget as HTMLInputElement).value)),
            }),
            h(
              'button',
              {
                type: 'button',
                onClick: () => move(step + 1),
                disabled: step === steps.length - 1,
              },
              'Later',
            ),
          ),
          h('p', { class: 'verdict', role: 'status' }, text),
        ],
    h(
      'form',
      { class: 'search', onSubmit: moment },
      h(
        'label',
        null,
        'Any moment',
        h('input', {
          name: 'at',
          defaultValue: at,
          placeholder: '2026-01-31T09:30:00Z',
          required: true,
          autoComplete: 'off',
        }),
      ),
      h('button', { type: 'submit' }, 'Show'),
    ),
  )
}

/** What one event brought about is one step: there is no moment between. */
export function stepsIn<T extends Pick<Change, 'partition' | 'position'>>(
  changes: readonly T[],
): readonly [T, ...T[]][] {
  const steps: [T, ...T[]][] = []
  for (const each of changes) {
    const last = steps.at(-1)
    const isSame = last?.[0].position === each.position && last[0].partition === each.partition
    if (isSame) last?.push(each)
    else steps.push([each])
  }
  return steps
}

/** The last change before the moment; -1: it is before all of them. */
export function stepAt(
  changes: readonly Pick<Change, 'partition' | 'position' | 'at'>[],
  at: string,
): number {
  if (at === '') return changes.length - 1
  const [, partition, position] = /^(?:pos|before):(\d+)-(\d+)/.exec(at) ?? []
  return changes.findLastIndex((each) =>
    partition === undefined
      ? Date.parse(each.at ?? '') <= Date.parse(at)
      : each.partition === Number(partition) && each.position < Number(position),
  )
}

function sentence(change: Change): string {
  const what = change.change === 'gone' ? 'deleted' : change.change
  return `${timeText(change.at)}, ${nameText(change)}: ${what}, ${lineOf(recordedText(change.text))}`
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

/** Others of its namespace may have changed, too. */
function InPlace({
  root: { namespace },
  cluster,
  at,
  beside,
}: {
  readonly root: TreeNode
  readonly cluster: string
  readonly at: string
  readonly beside: string
}): ComponentChild {
  const [from, to] = inOrder(at, beside)
  const where = namespace === '' ? 'its cluster' : `namespace ${lineOf(namespace)}`
  const href = linkTo('diff', { cluster, namespace, from, to })
  return h('a', { href }, `What changed in ${where} between these moments`)
}

const DOUBTFUL =
  'One of the two trees may be incomplete (see above): an object that it lacks may have been in it.'

function undefinedTree(): { readonly partial: string; readonly root: null } {
  return { partial: '', root: null }
}

function Compared({
  before,
  after,
  cluster,
}: {
  readonly before: TreeNode
  readonly after: TreeNode
  readonly cluster: string
}): ComponentChild {
  const all = useMemo(() => differences(before, after), [before, after])
  const tones = { added: 'good', removed: 'bad', changed: 'warm' } as const
  const rows = all.map(({ type, object, what }) => [
    h(Chips, { chips: [{ text: type, tone: tones[type] }] }),
    h(
      'a',
      { href: linkTo('object', { cluster, uid: object.uid }) },
      h('bdi', null, nameText(object)),
    ),
    lineOf(object.namespace),
    what,
  ])
  if (rows.length === 0) {
    return h('p', null, 'Nothing: the same objects, with the same owners and states.')
  }
  const head = ['Change', 'Object', 'Namespace', 'What']
  return h(
    'div',
    null,
    h('p', null, `${countOf(rows.length, 'difference')}.`),
    h(Table, { label: 'Differences', head, rows }),
  )
}

interface Steps {
  readonly partial: string
  readonly changes: readonly Change[]
  /** Rows that were looked through. */
  readonly read: number
}

async function stepsOf(
  about: { readonly uid: string; readonly cluster: string },
  span: string,
  signal: AbortSignal,
): Promise<Steps> {
  const ms = SPANS.find(([each]) => each === span)?.[2] ?? 0
  const wanted = ms === 0 ? undefined : new Date(Date.now() - ms).toISOString()
  const now = await ask('/v1/tree', about, signal)
  const { namespace } = now.root
  const where = { cluster: about.cluster, namespace: namespace === '' ? undefined : namespace }
  const { since, first } = await firstPage(where, wanted, signal)
  const members = new Set<string>([about.uid, ...uidsOf(now.root)])
  const doubts: string[] = []
  if (since !== undefined) {
    const then = await ask('/v1/tree', { ...about, at: since }, signal).catch(notThen)
    for (const uid of then === undefined ? [] : uidsOf(then.root)) members.add(uid)
    if (then !== undefined && then.partial !== '') doubts.push(then.partial)
  }
  const deleted = await deletedWith(about, since, signal)
  for (const uid of deleted.uids) members.add(uid)
  if (deleted.partial !== '') doubts.push(deleted.partial)
  const between = await cameAndLeft(where, members, signal).catch(notAllowed)
  if (between.partial !== '' && !doubts.includes(between.partial)) doubts.push(between.partial)
  const changes: Change[] = []
  let read = 0
  for (let page = first; ; ) {
    changes.push(...page.changes.filter(({ uid }) => members.has(uid)))
    read += page.changes.length
    if (page.partial !== '' && !doubts.includes(page.partial)) doubts.push(page.partial)
    if (page.continue === null) break
    if (read >= MOST_READ) {
      doubts.push(`only the first ${MOST_READ} changes of the span were looked through`)
      break
    }
    const query = { ...where, since, limit: PAGE, continue: page.continue }
    page = await ask('/v1/changes', query, signal)
  }
  return { partial: doubts.join('; '), changes, read: read + between.read }
}

/** Who may not see the whole graph is shown what there is without that list. */
function notAllowed(error: unknown): { readonly read: number; readonly partial: string } {
  if (!(error instanceof Refusal) || error.status !== FORBIDDEN) throw error
  const partial =
    'what came and left in between is not known here: that takes the right to see the whole graph'
  return { read: 0, partial }
}

const FORBIDDEN = 403

/** Adds to `members` whatever has, or had when it was deleted, one of them as its owner, also through others. */
async function cameAndLeft(
  where: { readonly cluster: string; readonly namespace: string | undefined },
  members: Set<string>,
  signal: AbortSignal,
): Promise<{ readonly read: number; readonly partial: string }> {
  const ownedBy = new Map<string, string[]>()
  const doubts = new Set<string>()
  let read = 0
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const query = { ...where, gone: true, limit: PAGE, continue: next || undefined }
    const page: ObjectList = await ask('/v1/objects', query, signal)
    for (const { uid, owners } of page.objects) {
      for (const owner of owners) ownedBy.set(owner, (ownedBy.get(owner) ?? []).concat(uid))
    }
    read += page.objects.length
    doubts.add(page.partial)
    next = page.continue
  }
  // A set that is iterated goes on to what is added meanwhile.
  for (const uid of members) for (const each of ownedBy.get(uid) ?? []) members.add(each)
  if (next !== null)
    doubts.add(`only the first ${read} objects of its namespace were looked through`)
  return { read, partial: [...doubts].filter((text) => text !== '').join('; ') }
}

/** From then on or, where the record begins later, from its beginning. */
export async function firstPage(
  where: { readonly cluster: string; readonly namespace: string | undefined },
  since: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly since: string | undefined; readonly first: ChangeList }> {
  const query = { ...where, limit: PAGE }
  try {
    return { since, first: await ask('/v1/changes', { ...query, since }, signal) }
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== GONE || since === undefined) throw error
    return { since: undefined, first: await ask('/v1/changes', query, signal) }
  }
}

/** So long ago is not known any more. */
const GONE = 410

/** It may not have been there, or that may be too long ago: then there is less to follow, and nothing wrong. Whatever else was refused is not known. */
function notThen(error: unknown): undefined {
  if (error instanceof Refusal && (error.status === GONE || error.status === NOT_FOUND)) return
  throw error
}

const NOT_FOUND = 404

async function deletedWith(
  { uid, cluster }: { readonly uid: string; readonly cluster: string },
  since: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly uids: readonly string[]; readonly partial: string }> {
  const uids: string[] = []
  const doubts = new Set<string>()
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const asked = { cluster, root: `uid:${uid}`, since, limit: PAGE }
    const page: DeletionList = await ask(
      '/v1/deletions',
      { ...asked, continue: next || undefined },
      signal,
    )
    uids.push(...page.deletions.map((each) => each.uid))
    doubts.add(page.partial)
    next = page.continue
  }
  if (next !== null) doubts.add('not all that was deleted with it was looked through')
  return { uids, partial: [...doubts].filter((text) => text !== '').join('; ') }
}

function uidsOf(root: TreeNode): readonly string[] {
  const uids: string[] = []
  const left = [root]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    uids.push(node.uid)
    left.push(...node.children)
  }
  return uids
}
