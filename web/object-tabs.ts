/**
 * The views of one object, on each of them. What must stay true: a view that has nothing to say of
 * the object, as it is, has no link.
 */
import { type ComponentChild, h } from 'preact'
import { linkTo } from './base/place.ts'

export interface TabsProps {
  readonly uid: string
  readonly cluster: string
  readonly current: 'object' | 'past' | 'plan' | 'cascade'
  /** As far as is known by now; null: it was deleted. */
  readonly phase?: string | null | undefined
  readonly namespace?: string | undefined
}

const STEADY: ReadonlySet<string> = new Set(['observed', 'suspect', 'unknown'])

export function ObjectTabs(props: TabsProps): ComponentChild {
  const { uid, cluster, current, phase, namespace } = props
  const about = { cluster, uid }
  const isThere = phase != null && phase !== 'gone' && phase !== 'absent'
  const isGoing = phase !== undefined && !STEADY.has(phase ?? 'gone')
  const tab = (view: TabsProps['current'], text: string): ComponentChild => {
    const isHere = view === current
    return h('a', { href: linkTo(view, about), 'aria-current': isHere ? 'page' : undefined }, text)
  }
  return h(
    'nav',
    { class: 'of-object', 'aria-label': 'Of this object' },
    tab('object', 'Now'),
    tab('past', 'Past'),
    namespace === undefined
      ? null
      : h(
          'a',
          { href: linkTo('diff', { cluster, namespace }) },
          namespace === '' ? 'Changes in its cluster' : 'Changes in its namespace',
        ),
    isThere || current === 'plan' ? tab('plan', 'Plan a deletion') : null,
    isGoing || current === 'cascade' ? tab('cascade', 'Cascade') : null,
  )
}
