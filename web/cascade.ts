/**
 * The progress of a deletion, as it comes.
 *
 * What must stay true: a stream that ended before the cascade did is said to have ended, and never
 * that the cascade is over.
 */
import { type ComponentChild, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Cascade } from '../cli/answer.ts'
import { doneText, phaseText } from '../services/graph/api/word.ts'
import { follow } from './base/ask.ts'
import { Section, Table, When } from './base/frame.ts'
import { linkTo, type Place } from './base/place.ts'
import { kindText, lineOf, nameText } from './base/text.ts'
import { ObjectTabs } from './object-tabs.ts'

const PROGRESS: Readonly<Record<string, string>> = {
  reaping: 'being deleted',
  blocked: 'blocked',
  waiting: 'waiting for dependents',
  queued: 'queued',
  unknown: 'unknown',
}

export function CascadeView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { uid = '', cluster = '' } = words
  const about = JSON.stringify([cluster, uid])
  const [last, setLast] = useState<{ readonly about: string; readonly cascade: Cascade }>()
  // The answer about another object is not shown for this one.
  const cascade = last?.about === about ? last.cascade : undefined
  const [ended, setEnded] = useState('')
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const left = new AbortController()
    setEnded('')
    void watch()
    async function watch(): Promise<void> {
      try {
        for await (const each of follow(
          '/v1/cascade',
          { uid, cluster, follow: true },
          left.signal,
        )) {
          setLast({ about, cascade: each })
          if (each.isFinal) return
        }
        setEnded('The server ended before the cascade did.')
      } catch (error) {
        if (!left.signal.aborted) setEnded((error as Error).message)
      }
    }
    return () => left.abort()
  }, [about, turn])
  return h(
    'div',
    null,
    h(
      'h1',
      null,
      cascade === undefined ? 'Cascade' : ['Cascade of ', h('bdi', null, nameText(cascade.root))],
    ),
    h(ObjectTabs, { uid, cluster, current: 'cascade' }),
    cascade === undefined && ended === ''
      ? h('p', { class: 'quiet', role: 'status' }, 'Loading…')
      : null,
    ended === ''
      ? null
      : h(
          'p',
          { class: 'notice warm', role: 'alert' },
          lineOf(ended),
          ' ',
          h('button', { type: 'button', onClick: () => setTurn(turn + 1) }, 'Follow again'),
        ),
    cascade === undefined ? null : h(Progress, { cascade, cluster }),
  )
}

function Progress({
  cascade,
  cluster,
}: {
  readonly cascade: Cascade
  readonly cluster: string
}): ComponentChild {
  const { done, remaining, progress, kinds, blocked, waiting, root, isOver, partial } = cascade
  const parts = Object.entries(progress).filter(([, count]) => count > 0)
  const detail = parts.map(([what, count]) => `${count} ${PROGRESS[what] ?? what}`).join(', ')
  const state = isOver ? 'It is over.' : `${phaseText(root.phase)}.`
  const text = `${doneText(cascade)}, ${remaining} remaining${detail === '' ? '' : ` (${detail})`}. ${state}`
  const link = (object: { kind: string; name: string; uid: string }): ComponentChild =>
    h(
      'a',
      { href: linkTo('object', { cluster, uid: object.uid }) },
      h('bdi', null, nameText(object)),
    )
  return h(
    'div',
    null,
    partial === ''
      ? null
      : h('p', { class: 'notice warm' }, `This may be incomplete: ${lineOf(partial)}`),
    h('p', { class: 'verdict', role: 'status' }, text),
    h('progress', {
      'aria-label': 'Dependents done',
      max: Math.max(1, done + remaining),
      value: isOver ? Math.max(1, done) : done,
    }),
    kinds.length === 0
      ? null
      : h(Section, {
          title: 'Kinds',
          children: h(Table, {
            label: 'Kinds',
            head: ['Kind', 'Done', 'Remaining'],
            rows: kinds.map((each) => [
              lineOf(kindText(each)),
              `${each.done}`,
              `${each.remaining}`,
            ]),
          }),
        }),
    blocked.length === 0
      ? null
      : h(Section, {
          title: 'Blocked',
          children: h(Table, {
            label: 'Blocked',
            head: ['Object', 'Namespace', 'Blocked by', 'Since', 'Tried again', 'Reason'],
            rows: blocked.map((each) => [
              ...[link(each), lineOf(each.namespace), each.by],
              ...[h(When, { at: each.since }), h(When, { at: each.until }), lineOf(each.reason)],
            ]),
          }),
        }),
    waiting.length === 0
      ? null
      : h(Section, {
          title: 'Waiting',
          children: h(Table, {
            label: 'Waiting',
            head: ['Object', 'Namespace', 'State', 'Dependents', 'Blocking', 'Reason'],
            rows: waiting.map((each) => [
              ...[link(each), lineOf(each.namespace), phaseText(each.phase)],
              ...[`${each.dependents}`, `${each.blocking}`, lineOf(each.because)],
            ]),
          }),
        }),
  )
}
