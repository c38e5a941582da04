/**
 * The pattern of who deleted, beside its words. What must stay true: the words say it without the
 * pattern.
 */
import { type ComponentChild, h } from 'preact'
import { type By, PATTERN } from './record.ts'

export function Swatch({
  of,
  text,
}: {
  /** `gap`: a time of which nothing is recorded. */
  readonly of: By | 'gap'
  readonly text: string
}): ComponentChild {
  const look = of === 'gap' ? 'swatch gap' : `swatch part ${PATTERN[of]}`
  return h('span', null, h('span', { class: look, 'aria-hidden': 'true' }), text)
}
