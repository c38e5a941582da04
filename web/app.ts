/**
 * The page: where one is, who one is, and the view.
 *
 * What must stay true: a fault of one view is shown as such, and leaves the way to the others.
 */
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks'
import { forgetToken, hasToken, whenRefused } from './base/ask.ts'
import { linkTo, type Place, usePlace, type View } from './base/place.ts'
import { lineOf } from './base/text.ts'
import { CascadeView } from './cascade.ts'
import { DiffView } from './diff.ts'
import { Finder } from './finder.ts'
import { HeldView } from './held.ts'
import { Home } from './home.ts'
import { Login } from './login.ts'
import { NamespaceView } from './namespace.ts'
import { ObjectView } from './object.ts'
import { PastView } from './past/past.ts'
import { PlanView } from './plan.ts'
import { DeletionsView } from './record/deletions.ts'
import { RulesView } from './rules.ts'
import { Search } from './search.ts'

const VIEW_OF: Readonly<Record<View, (props: Pick<Place, 'words'>) => ComponentChild>> = {
  home: Home,
  search: Search,
  held: HeldView,
  rules: RulesView,
  diff: DiffView,
  deletions: DeletionsView,
  namespace: NamespaceView,
  object: ObjectView,
  plan: PlanView,
  cascade: CascadeView,
  past: PastView,
}

const MENU = [
  ['home', 'Overview'],
  ['search', 'Search'],
  ['deletions', 'Deletions'],
  ['held', 'Held'],
  ['rules', 'Rules'],
  ['diff', 'Changes'],
] as const

export function App(): ComponentChild {
  const { view, words, unknown } = usePlace()
  const [isWanted, setLogin] = useState(false)
  const [session, setSession] = useState(0)
  const main = useRef<HTMLElement>(null)
  useEffect(() => whenRefused(() => setLogin(true)), [])
  const former = useRef(view)
  useEffect(() => {
    // Another view is read from its beginning; another moment of the same one leaves the focus
    // where it is.
    if (former.current !== view) main.current?.focus()
    former.current = view
    document.title = `Kinfold: ${view === 'home' ? 'overview' : view}`
  }, [view])
  const leave = (): void => {
    forgetToken()
    setLogin(false)
    setSession((each) => each + 1)
  }
  return h(
    'div',
    { class: 'page' },
    h('a', { class: 'skip', href: '#content', onClick: skipTo(main) }, 'Skip to the content'),
    h(
      'header',
      { class: 'top' },
      h('a', { class: 'brand', href: linkTo('home') }, 'Kinfold'),
      h(
        'nav',
        { 'aria-label': 'Views' },
        MENU.map(([each, name]) =>
          h('a', { href: linkTo(each), 'aria-current': each === view ? 'page' : undefined }, name),
        ),
      ),
      h(Finder, null),
      // Where a token is wanted, the first question is refused, and the form is there.
      hasToken() ? h('button', { type: 'button', onClick: leave }, 'Log out') : null,
    ),
    h(
      'main',
      { id: 'content', ref: main, tabIndex: -1 },
      !isWanted
        ? h(Contained, {
            key: `${session} ${view}`,
            children: [
              unknown === '' ? null : h(Unknown, { unknown }),
              h(VIEW_OF[view], { words }),
            ],
          })
        : h(Login, {
            done: () => {
              setLogin(false)
              setSession((each) => each + 1)
            },
          }),
    ),
  )
}

/** The address is the place, so a link to a part of the page is none. */
function skipTo(main: { readonly current: HTMLElement | null }): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    main.current?.focus()
  }
}

/** A mistyped or older link is said to be one. */
function Unknown({ unknown }: { readonly unknown: string }): ComponentChild {
  const text = `There is no view "${lineOf(unknown)}" on this page: this is the overview.`
  return h('p', { class: 'notice warm', role: 'alert' }, text)
}

function Contained({ children }: { readonly children: ComponentChildren }): ComponentChild {
  const [error, reset] = useErrorBoundary()
  if (error === undefined) return h('div', null, children)
  return h(
    'p',
    { class: 'notice bad', role: 'alert' },
    `This view has a fault: ${error instanceof Error ? error.message : String(error)} `,
    h('button', { type: 'button', onClick: reset }, 'Again'),
  )
}
