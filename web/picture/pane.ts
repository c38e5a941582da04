/**
 * A window onto a picture: moved by dragging, by touch and with the arrows, enlarged by the wheel,
 * two fingers, buttons and keys.
 *
 * What must stay true: a link in it that gets the focus is in sight; a drag opens no link; a wheel
 * that can change nothing here scrolls the page.
 *
 * Not here: the arithmetic (viewport.ts), what is drawn (drawing.ts).
 */
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { BOX } from './layout.ts'
import {
  type Box,
  fitted,
  kept,
  moved,
  type Point,
  type Size,
  shown,
  type Viewport,
  zoomed,
} from './viewport.ts'

const STEP_PX = 60
const STEP_SCALE = 1.3
/** What is smaller cannot be read; all of it is a button away. */
const LEGIBLE = 0.7
/** A pointer that moved less was meant to click. */
const CLICK_PX = 4
/** The frame of what has the focus is outside of its box. */
const AROUND_PX = 4
const LOWEST_PX = 160
const HIGHEST_PART = 0.65

export function Pane({
  box,
  children,
}: {
  readonly box: Box
  readonly children: ComponentChildren
}): ComponentChild {
  const frame = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState<Size>({ width: 800, height: 400 })
  // Null: as it is fitted, whatever comes to the picture.
  const [own, setOwn] = useState<Viewport | null>(null)
  const view = own ?? fitted(box, size, LEGIBLE)
  const now = useRef({ view, size, box })
  now.current = { view, size, box }
  const look = (next: Viewport): void => {
    const to = kept(next, now.current.box, now.current.size)
    // Several events may come before the next drawing.
    now.current = { ...now.current, view: to }
    setOwn(to)
  }
  const middle = { x: size.width / 2, y: size.height / 2 }
  const zoom = (factor: number): void => look(zoomed(now.current.view, factor, middle))
  const fit = (): void => setOwn(fitted(box, size))
  useLayoutEffect(() => {
    const sized = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = frame.current!
      setSize({ width: clientWidth, height: clientHeight })
    })
    sized.observe(frame.current!)
    return () => sized.disconnect()
  }, [])
  const grasp = useGrasp(() => now.current.view, look)
  useEffect(() => {
    const turned = (event: WheelEvent): void => {
      const { view: before } = now.current
      const factor =
        STEP_SCALE ** (-Math.sign(event.deltaY) * Math.min(1, Math.abs(event.deltaY) / 100))
      const next = zoomed(before, factor, pointIn(event, frame.current!))
      if (next.scale === before.scale) return
      event.preventDefault()
      look(next)
    }
    const element = frame.current!
    element.addEventListener('wheel', turned, { passive: false })
    return () => element.removeEventListener('wheel', turned)
  }, [])
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const [x = 0, y = 0] = ARROWS[event.key] ?? []
    if (x !== 0 || y !== 0) look(moved(view, x * STEP_PX, y * STEP_PX))
    else if (event.key === '+' || event.key === '=') zoom(STEP_SCALE)
    else if (event.key === '-') zoom(1 / STEP_SCALE)
    else if (event.key === '0') fit()
    else return
    event.preventDefault()
  }
  const focused = (event: FocusEvent): void => {
    const part = partOf(event.target as Element)
    if (part !== undefined) look(shown(now.current.view, part, now.current.size))
  }
  const most = Math.round(innerHeight * HIGHEST_PART)
  const height = Math.max(LOWEST_PX, Math.min(most, Math.round(box.height + 40)))
  const button = (label: string, text: string, onClick: () => void): ComponentChild =>
    h('button', { type: 'button', 'aria-label': label, title: label, onClick }, text)
  return h(
    'div',
    { class: 'pane' },
    h(
      'div',
      {
        ...{ ref: frame, class: 'picture', role: 'group', 'aria-label': 'Picture', tabIndex: 0 },
        ...{ 'aria-keyshortcuts': '+ - 0 ArrowLeft ArrowRight ArrowUp ArrowDown' },
        ...{ style: { height: `${height}px` }, onKeyDown: pressed, onFocusIn: focused, ...grasp },
      },
      h(
        'svg',
        { width: '100%', height: '100%' },
        h('g', { transform: `scale(${view.scale}) translate(${-view.x},${-view.y})` }, children),
      ),
    ),
    h(
      'p',
      { class: 'tools' },
      button('Zoom in', '+', () => zoom(STEP_SCALE)),
      button('Zoom out', '−', () => zoom(1 / STEP_SCALE)),
      button('Fit all of it', 'Fit', fit),
      h('span', { class: 'quiet' }, 'Drag to move it; the wheel or two fingers zoom.'),
    ),
  )
}

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

function pointIn({ clientX, clientY }: MouseEvent, frame: Element): Point {
  const { left, top } = frame.getBoundingClientRect()
  return { x: clientX - left, y: clientY - top }
}

/** Of the picture, where that element is a box of it. */
function partOf(element: Element): Box | undefined {
  const [, x, y] =
    /translate\(([-\d.]+),([-\d.]+)\)/.exec(element.getAttribute('transform') ?? '') ?? []
  if (x === undefined || y === undefined) return undefined
  return {
    ...{ x: Number(x) - AROUND_PX, y: Number(y) - BOX.height / 2 - AROUND_PX },
    ...{ width: BOX.width + 2 * AROUND_PX, height: BOX.height + 2 * AROUND_PX },
  }
}

type Grasp = Readonly<Record<string, (event: PointerEvent & MouseEvent) => void>>

/** One pointer drags, two of them stretch. */
function useGrasp(viewNow: () => Viewport, look: (view: Viewport) => void): Grasp {
  const held = useRef(new Map<number, Point>())
  const travelled = useRef(0)
  const drop = (event: PointerEvent): void => {
    held.current.delete(event.pointerId)
  }
  return {
    onPointerDown: (event) => {
      if (event.button !== 0) return
      if (held.current.size === 0) travelled.current = 0
      held.current.set(event.pointerId, { x: event.clientX, y: event.clientY })
    },
    onPointerMove: (event) => {
      const before = held.current.get(event.pointerId)
      // The button was released outside of the window.
      if (event.buttons === 0) return drop(event)
      if (before === undefined) return
      const after = { x: event.clientX, y: event.clientY }
      const [byX, byY] = [after.x - before.x, after.y - before.y]
      travelled.current += Math.hypot(byX, byY)
      held.current.set(event.pointerId, after)
      if (travelled.current < CLICK_PX) return
      const frame = event.currentTarget as Element
      // Only now: a captured pointer clicks no link.
      frame.setPointerCapture(event.pointerId)
      const [other] = [...held.current].filter(([id]) => id !== event.pointerId)
      const view = moved(viewNow(), -byX, -byY)
      if (other === undefined) return look(view)
      const [, still] = other
      const factor = distance(after, still) / Math.max(1, distance(before, still))
      const { left, top } = frame.getBoundingClientRect()
      look(zoomed(viewNow(), factor, { x: still.x - left, y: still.y - top }))
    },
    onPointerUp: drop,
    onPointerCancel: drop,
    onClickCapture: (event) => {
      if (travelled.current >= CLICK_PX) event.preventDefault()
    },
    onDragStart: (event) => event.preventDefault(),
  }
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}
