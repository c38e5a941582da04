/**
 * Where the user is: a view and what it is about, in the part of the address behind `#`, which no
 * server sees.
 *
 * What must stay true: whatever a name holds, its link leads back to the same name.
 */
import { useEffect, useState } from 'preact/hooks'

export const VIEWS = [
  'home',
  'search',
  'held',
  'rules',
  'diff',
  'deletions',
  'namespace',
  'object',
  'plan',
  'cascade',
  'past',
] as const
export type View = (typeof VIEWS)[number]

export interface Place {
  readonly view: View
  readonly words: Readonly<Record<string, string>>
  /** What was asked for, where there is no such view. */
  readonly unknown: string
}

export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?')
  const view = VIEWS.find((each) => each === path)
  const unknown = view === undefined ? path : ''
  const words = Object.fromEntries(new URLSearchParams(query))
  return { view: view ?? 'home', words, unknown }
}

export function linkTo(view: View, words: Readonly<Record<string, string>> = {}): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(words)) if (value !== '') params.set(key, value)
  const path = view === 'home' ? '' : view
  return params.size === 0 ? `#/${path}` : `#/${path}?${params}`
}

export function goTo(view: View, words: Readonly<Record<string, string>> = {}): void {
  location.hash = linkTo(view, words)
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return placeOf(hash)
}
