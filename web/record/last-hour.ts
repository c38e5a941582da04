/**
 * Draws the deletions of the last hour (record.ts); each bar and part leads to the list of its
 * deletions, or to the one object whose deletion was the cause of all of them.
 *
 * What must stay true: all of it is text first, so it is read aloud, and is there without colours.
 */
import { type ComponentChild, h } from 'preact'
import { useRef } from 'preact/hooks'
import { REFRESH_MS, useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { Notice, Section } from '../base/frame.ts'
import { linkTo } from '../base/place.ts'
import { clusterText, countOf, lineOf, nameText } from '../base/text.ts'
import type { Deletion } from '../deletion-text.ts'
import { type Bar, BY, type By, barsOf, PATTERN, partText } from './record.ts'
import { Swatch } from './swatch.ts'

const HOUR_MS = 3_600_000
const PAGE = '2000'
const MOST_PAGES = 5
/** So late an audit log may name a user. */
const AUDIT_MS = 120_000

interface Hour {
  readonly partial: string
  /** What `partial` is made of, each once, however often it was asked. */
  readonly doubts: ReadonlySet<string>
  readonly deletions: readonly Deletion[]
}

export function LastHour(): ComponentChild {
  const known = useRef<Hour>({ partial: '', doubts: new Set(), deletions: [] })
  const load = async (signal: AbortSignal): Promise<Hour> => {
    known.current = await hour(known.current, signal)
    return known.current
  }
  const asked = useAnswer('last hour', load, REFRESH_MS)
  const { answer, isDenied } = asked
  if (isDenied) return null
  const bars = barsOf(answer?.deletions ?? [])
  const most = Math.max(1, ...bars.map(({ total }) => total))
  const count = answer?.deletions.length ?? 0
  return h(Section, {
    title: 'Deleted in the last hour',
    children: [
      h(Notice, { asked }),
      answer === undefined
        ? null
        : h('p', null, count === 0 ? 'Nothing.' : `${countOf(count, 'object')}, by namespace:`),
      h(
        'ul',
        { class: 'bars' },
        bars.map((bar) => h(BarRow, { key: `${bar.cluster.id} ${bar.namespace}`, bar, most })),
      ),
    ],
  })
}

function BarRow({ bar, most }: { readonly bar: Bar; readonly most: number }): ComponentChild {
  const { cluster, namespace, total, parts } = bar
  const place = namespace === '' ? 'no namespace' : lineOf(namespace)
  const outside = namespace === '' ? 'true' : ''
  const about = { cluster: cluster.scope, namespace, outside, since: '1h' }
  return h(
    'li',
    null,
    h(
      'div',
      null,
      h('a', { href: linkTo('deletions', about) }, place),
      ` ${total} in ${clusterText(cluster)}`,
    ),
    h(
      'div',
      { class: 'bar', style: { width: `${Math.max(4, (100 * total) / most)}%` } },
      BY.map((by) => {
        const part = parts.get(by)
        if (part === undefined) return null
        return h(Part, { by, part, list: linkTo('deletions', { ...about, who: by }) })
      }),
    ),
    h(
      'div',
      { class: 'quiet legend' },
      BY.map((by) => {
        const part = parts.get(by)
        return part === undefined ? null : h(Swatch, { of: by, text: partText(by, part) })
      }),
    ),
  )
}

/** One cascade leads to its root; several, to the list. */
function Part({
  by,
  part,
  list,
}: {
  readonly by: By
  readonly part: readonly Deletion[]
  readonly list: string
}): ComponentChild {
  const [newest] = part
  const roots = new Map(part.map((each) => [(each.root ?? each).uid, each.root ?? each]))
  const [only, ...others] = [...roots.values()]
  const isOne = only !== undefined && others.length === 0
  const words = { cluster: newest?.cluster.scope ?? '', uid: only?.uid ?? '' }
  const to = isOne ? linkTo('object', words) : list
  const what = isOne ? nameText(only) : countOf(roots.size, 'root')
  const text = `${part.length} by ${by}: ${what}`
  return h('a', {
    ...{ href: to, class: `part ${PATTERN[by]}`, title: text, 'aria-label': text },
    style: { flexGrow: part.length },
  })
}

/**
 * The whole hour at first; then what came since, and a little before, since an audit log names
 * users a while later.
 */
async function hour(known: Hour, signal: AbortSignal): Promise<Hour> {
  const begin = Date.now() - HOUR_MS
  const newest = Math.max(0, ...known.deletions.map(timeOf))
  const since = new Date(Math.max(begin, newest - AUDIT_MS)).toISOString()
  const found = new Map(
    known.deletions
      .filter((each) => timeOf(each) >= begin)
      .map((each) => [keyOf(each), each] as const),
  )
  const doubts = new Set(known.doubts)
  let next: string | null = ''
  for (let pages = 0; next !== null && pages < MOST_PAGES; pages++) {
    const query = { since, reach: 'partial', limit: PAGE, continue: next || undefined } as const
    const page: {
      readonly deletions: readonly Deletion[]
      readonly partial: string
      readonly continue: string | null
    } = await ask('/v1/deletions', query, signal)
    for (const each of page.deletions) found.set(keyOf(each), each)
    doubts.add(page.partial)
    next = page.continue
  }
  if (next !== null) doubts.add('only the first of the hour were counted')
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { partial, doubts, deletions: [...found.values()] }
}

function timeOf({ at }: Deletion): number {
  return at === null ? 0 : Date.parse(at)
}

function keyOf({ cluster, uid, partition, position }: Deletion): string {
  return `${cluster.id} ${uid} ${partition}-${position}`
}
