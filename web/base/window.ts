/**
 * Long lists of which only the rows in sight are in the document.
 *
 * What must stay true: how many rows are rendered depends on the height of the list, and never on
 * how many there are.
 */
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** In rem, as page.css has it. */
const ROW_REM = 2
/** Beyond what is seen, so that scrolling shows no gaps. */
const BEYOND = 8
/** Until the list was measured. */
const GUESSED_PX = 640

export interface Window {
  readonly first: number
  /** Exclusive. */
  readonly end: number
}

export function windowOf(top: number, height: number, row: number, count: number): Window {
  const first = Math.max(0, Math.floor(top / row) - BEYOND)
  const end = Math.min(count, Math.ceil((top + height) / row) + BEYOND)
  return { first: Math.min(first, count), end: Math.max(end, Math.min(first, count)) }
}

function rowHeight(): number {
  return ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
}

/** Where a key leads in such a list; undefined: nowhere. */
export function movedBy(event: KeyboardEvent, active: number, count: number): number | undefined {
  const height = (event.currentTarget as HTMLElement).clientHeight
  const page = Math.max(1, Math.floor(height / rowHeight()) - 1)
  switch (event.key) {
    case 'ArrowDown':
      return Math.min(active + 1, count - 1)
    case 'ArrowUp':
      return Math.max(active - 1, 0)
    case 'PageDown':
      return Math.min(active + page, count - 1)
    case 'PageUp':
      return Math.max(active - page, 0)
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

export interface RowsProps {
  readonly count: number
  /** Rendered wherever the list is scrolled to. */
  readonly active: number
  readonly row: (index: number, style: { top: string }) => ComponentChildren
  /** Attributes of the element that scrolls. */
  readonly outer: Readonly<Record<string, unknown>>
  readonly onSeen?: (window: Window) => void
}

export function Rows({ count, active, row, outer, onSeen }: RowsProps): ComponentChild {
  const box = useRef<HTMLDivElement>(null)
  const [scrolled, setScrolled] = useState({ top: 0, height: GUESSED_PX })
  const px = rowHeight()
  const measure = (): void => {
    const { scrollTop = 0, clientHeight = GUESSED_PX } = box.current ?? {}
    setScrolled({ top: scrollTop, height: clientHeight })
  }
  useLayoutEffect(() => {
    measure()
    const sized = new ResizeObserver(measure)
    sized.observe(box.current!)
    return () => sized.disconnect()
  }, [])
  useLayoutEffect(() => {
    const { scrollTop, clientHeight } = box.current!
    if (active < 0) return
    const top = active * px
    if (top < scrollTop) box.current!.scrollTop = top
    else if (top + px > scrollTop + clientHeight) box.current!.scrollTop = top + px - clientHeight
  }, [active])
  const seen = windowOf(scrolled.top, scrolled.height, px, count)
  useEffect(() => onSeen?.(seen), [seen.first, seen.end, count])
  const shown = Array.from({ length: seen.end - seen.first }, (_, at) => seen.first + at)
  if (active >= 0 && active < count && (active < seen.first || active >= seen.end)) {
    shown.push(active)
  }
  return h(
    'div',
    { ...outer, ref: box, onScroll: measure, class: `rows ${outer['class'] ?? ''}` },
    h(
      'div',
      { class: 'all-rows', role: 'presentation', style: { height: `${count * px}px` } },
      shown.map((index) => row(index, { top: `${index * px}px` })),
    ),
  )
}
