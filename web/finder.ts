/**
 * One field in the head that searches everything one may see, deleted objects included: by `/` or
 * Ctrl-K from anywhere.
 *
 * What must stay true: `/` typed into another field stays a letter of it.
 *
 * Not here: searching (search.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { goTo } from './base/place.ts'

export function Finder(): ComponentChild {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey } = event
      const isChord = (ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k'
      const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !isTyping(event.target)
      if (!isChord && !isSlash) return
      event.preventDefault()
      field.current?.focus()
      field.current?.select()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    const name = field.current?.value.trim() ?? ''
    if (name !== '') goTo('search', { name, gone: 'true' })
  }
  return h(
    'form',
    { class: 'finder', role: 'search', 'aria-label': 'Everything', onSubmit: submit },
    h('input', {
      ...{ ref: field, name: 'find', type: 'search', 'aria-label': 'Find an object' },
      ...{ placeholder: 'Find: name or kind/name  ( / )', 'aria-keyshortcuts': '/ Control+K' },
      ...{ autoComplete: 'off', spellcheck: false },
    }),
  )
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea')
}
