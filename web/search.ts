/**
 * Which objects there are: by cluster, kind, namespace and a part of the name, now, deleted ones or
 * at a moment of the past.
 *
 * What must stay true: the server lists by kind and namespace, and a part of a name is searched
 * here. What was searched is said, so that nothing found is never taken for nothing there.
 */
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ObjectList } from '../cli/answer.ts'
import { phaseText } from '../services/graph/api/word.ts'
import { REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { ClusterField, TextField, textsIn } from './base/field.ts'
import { Doubt, Notice, Table, When } from './base/frame.ts'
import { goTo, linkTo, type Place } from './base/place.ts'
import { clusterText, countOf, lineOf, nameText } from './base/text.ts'
import { OneNamespace } from './one-namespace.ts'

type Words = Place['words']
type Found = ObjectList['objects'][number]

/** Of one question, and searched before the user is asked whether to continue. */
const PAGE = '1000'
const MOST_READ = 20_000
const MOST_FOUND = 300
/** More than that is searched once, and again when asked to. */
const MOST_REFRESHED = 3_000

export function Search({ words }: Pick<Place, 'words'>): ComponentChild {
  const submit = (event: Event): void => {
    event.preventDefault()
    const text = textsIn(event.currentTarget as HTMLFormElement)
    const [kind, name, namespace] = [text('kind'), text('name'), text('namespace')]
    const gone = text('gone') === '' ? '' : 'true'
    goTo('search', { kind, name, namespace, cluster: text('cluster'), at: text('at'), gone })
  }
  const field = (name: string, label: string, hint: string): ComponentChild =>
    h(TextField, { name, label, hint, value: words[name] ?? '' })
  return h(
    'div',
    null,
    h('h1', null, 'Search'),
    h(
      'form',
      {
        key: JSON.stringify(words),
        class: 'search',
        role: 'search',
        'aria-label': 'Objects',
        onSubmit: submit,
      },
      field('kind', 'Kind', 'all, or deploy, pods …'),
      field('name', 'Name contains', 'any, or KIND/NAME'),
      field('namespace', 'Namespace', 'all'),
      h(ClusterField, { value: words['cluster'] ?? '' }),
      field('at', 'At a moment', 'now, or 2026-01-31T09:30:00Z'),
      h(
        'label',
        { class: 'check' },
        h('input', { type: 'checkbox', name: 'gone', defaultChecked: words['gone'] === 'true' }),
        'Also deleted',
      ),
      h('button', { type: 'submit', class: 'main' }, 'Search'),
    ),
    h(Results, { key: JSON.stringify({ ...words, order: '' }), words }),
  )
}

interface Read {
  readonly found: readonly Found[]
  readonly read: number
  /** Whether any cluster serves the kind that is asked for. */
  readonly isKind: boolean
  readonly next: string | null
  readonly partial: string
}

function Results({ words }: Pick<Place, 'words'>): ComponentChild {
  const [former, setFormer] = useState<Read>(NOTHING)
  const [from, setFrom] = useState('')
  const asked = useAnswer(
    from,
    async (signal) => await lookThrough(words, from, from === '' ? NOTHING : former, signal),
    (last) => (from !== '' || (last?.read ?? 0) > MOST_REFRESHED ? 0 : REFRESH_MS),
  )
  const seen = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (asked.answer !== undefined) setFormer(asked.answer)
  }, [asked.answer])
  const { answer } = asked
  const list = answer ?? former
  const isEnd = list.next === null
  const isRefused = answer === undefined && asked.refusal !== ''
  const text =
    asked.isLoading && answer === undefined
      ? 'Searching…'
      : isRefused && list.read === 0
        ? 'Nothing was looked through.'
        : unknownText(words, list) ||
          `${countOf(list.found.length, 'object')} found; ${isEnd ? 'all' : 'the first'} ${list.read.toLocaleString('en')} looked through.`
  const isAt = words['at'] !== undefined
  const order = words['order'] ?? 'time'
  const rows = inOrder(list.found, order).map(
    ({ cluster, group, kind, namespace, name, uid, ...rest }) => {
      const { phase, createdAt, goneAt, deletionTimestamp } = rest
      const view = isAt ? 'past' : 'object'
      const href = linkTo(view, { cluster: cluster.scope, uid, at: words['at'] ?? '' })
      return [
        h('a', { href }, h('bdi', null, nameText({ kind, name }))),
        lineOf(namespace),
        clusterText(cluster),
        lineOf(group),
        phaseText(phase),
        h(When, { at: goneAt ?? deletionTimestamp ?? createdAt }),
      ]
    },
  )
  const head = ['Object', 'Namespace', 'Cluster', 'API group', 'State', 'Since']
  return h(
    'div',
    null,
    h(Notice, { asked }),
    h(OneNamespace, { asked, cluster: words['cluster'] ?? '' }),
    answer === undefined ? h(Doubt, { partial: former.partial }) : null,
    h('p', { role: 'status', ref: seen }, text),
    rows.length < 2 ? null : h(Order, { words, order }),
    rows.length === 0 ? null : h(Table, { label: 'Objects', head, rows }),
    isEnd || (asked.isLoading && from !== '')
      ? null
      : h('button', { type: 'button', onClick: () => setFrom(list.next ?? '') }, 'Look further'),
  )
}

function Order({
  words,
  order,
}: {
  readonly words: Words
  readonly order: string
}): ComponentChild {
  return h(
    'p',
    { class: 'tools' },
    [
      ['time', 'Newest first'],
      ['name', 'By name'],
    ].map(([each = '', text]) =>
      h(
        'button',
        {
          ...{ type: 'button', 'aria-pressed': each === order },
          onClick: () => goTo('search', { ...words, order: each }),
        },
        text,
      ),
    ),
  )
}

const NOTHING: Read = { found: [], read: 0, isKind: false, next: '', partial: '' }

function inOrder(found: readonly Found[], order: string): readonly Found[] {
  if (order === 'name') return found.toSorted((a, b) => compare(a.name, b.name))
  const since = (each: Found): number => {
    return Date.parse(each.goneAt ?? each.deletionTimestamp ?? each.createdAt ?? '') || 0
  }
  return found.toSorted((a, b) => since(b) - since(a))
}

const { compare } = new Intl.Collator('en', { numeric: true })

/**
 * An empty list for a kind that no cluster serves, or a namespace that has no objects, is no answer
 * of "nothing". Empty: what is asked for is known.
 */
function unknownText(words: Words, read: Read): string {
  const { namespace = '' } = words
  const { kind = '' } = wantedIn(words)
  if (read.read > 0 || read.next !== null || read.partial !== '') return ''
  if (kind !== '' && !read.isKind) return `No cluster that is asked serves a kind ${lineOf(kind)}.`
  if (namespace === '') return ''
  return `Nothing is recorded in a namespace ${lineOf(namespace)}${kind === '' ? '' : ` of kind ${lineOf(kind)}`}.`
}

/** `KIND/NAME` in the field of the name, as a terminal takes it. */
function wantedIn({ kind, name = '' }: Words): {
  readonly kind: string | undefined
  readonly part: string
} {
  const [, before, after] = /^([^/]+)\/(.*)$/s.exec(name) ?? []
  const isBoth = kind === undefined && before !== undefined && after !== undefined
  return isBoth ? { kind: before, part: after.toLowerCase() } : { kind, part: name.toLowerCase() }
}

async function lookThrough(
  words: Place['words'],
  from: string,
  former: Read,
  signal: AbortSignal,
): Promise<Read> {
  const { namespace, cluster, at, gone } = words
  const { kind, part } = wantedIn(words)
  const found = [...former.found]
  let { read, isKind } = former
  let next: string | null = from
  const doubts = new Set([former.partial])
  const most = { found: found.length + MOST_FOUND, read: read + MOST_READ }
  while (next !== null && found.length < most.found && read < most.read) {
    const query = { kind, namespace, cluster, at, gone: gone === 'true' ? true : undefined }
    const page: ObjectList = await ask(
      '/v1/objects',
      { ...query, limit: PAGE, continue: next || undefined },
      signal,
    )
    found.push(...page.objects.filter(({ name }) => name.toLowerCase().includes(part)))
    read += page.objects.length
    isKind ||= page.kinds.length > 0
    next = page.continue
    doubts.add(page.partial)
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { found, read, isKind, next, partial }
}
