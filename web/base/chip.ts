/**
 * Short states beside a name.
 *
 * What must stay true: a state is a word; its colour says nothing that the word does not.
 */
import { type ComponentChild, h } from 'preact'

export interface Chip {
  readonly text: string
  readonly tone: 'good' | 'warm' | 'bad' | 'quiet'
  readonly title?: string
}

export function Chips({ chips }: { readonly chips: readonly Chip[] }): ComponentChild {
  return h(
    'span',
    { class: 'chips' },
    chips.map(({ text, tone, title }) => h('span', { class: `chip ${tone}`, title }, text)),
  )
}
