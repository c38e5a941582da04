/**
 * The part of a picture that is in its window: moved, enlarged, and fitted.
 *
 * What must stay true: what is under the pointer stays under it while it is enlarged; some of the
 * picture is always in the window.
 */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** `x` and `y`: the point of the picture in the corner of the window. */
export interface Viewport {
  readonly x: number
  readonly y: number
  readonly scale: number
}

export interface Point {
  readonly x: number
  readonly y: number
}

const SMALLEST = 0.05
const LARGEST = 3
/** Of the window, around a picture that is fitted. */
const MARGIN_PX = 16
/** At least as much of the picture stays in the window, in both directions. */
const KEPT_PX = 60

/**
 * All of the picture; with `atLeast`, its beginning at that size where all of it would be smaller.
 */
export function fitted(box: Box, size: Size, atLeast: number = SMALLEST): Viewport {
  const [width, height] = [size.width - 2 * MARGIN_PX, size.height - 2 * MARGIN_PX]
  const whole = Math.min(1, width / box.width, height / box.height)
  const scale = Math.max(atLeast, SMALLEST, whole)
  const isWide = box.width * scale > width
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  return {
    x: isWide ? box.x - MARGIN_PX / scale : middle.x - size.width / scale / 2,
    // The root is in the middle of its picture, and so of the window.
    y: middle.y - size.height / scale / 2,
    scale,
  }
}

export function zoomed(view: Viewport, factor: number, at: Point): Viewport {
  const scale = Math.min(LARGEST, Math.max(SMALLEST, view.scale * factor))
  const still = { x: view.x + at.x / view.scale, y: view.y + at.y / view.scale }
  return { x: still.x - at.x / scale, y: still.y - at.y / scale, scale }
}

/** By pixels of the window; positive: what is to the right and below comes into sight. */
export function moved({ x, y, scale }: Viewport, byX: number, byY: number): Viewport {
  return { x: x + byX / scale, y: y + byY / scale, scale }
}

export function kept({ x, y, scale }: Viewport, box: Box, size: Size): Viewport {
  const part = KEPT_PX / scale
  const within = (at: number, from: number, length: number, room: number): number =>
    Math.min(from + length - part, Math.max(from + part - room / scale, at))
  return {
    x: within(x, box.x, box.width, size.width),
    y: within(y, box.y, box.height, size.height),
    scale,
  }
}

/** So that a part is in the window. */
export function shown(view: Viewport, part: Box, size: Size): Viewport {
  const along = (at: number, from: number, length: number, room: number): number => {
    const seen = room / view.scale
    if (from < at) return from
    return from + length > at + seen ? from + length - seen : at
  }
  return {
    x: along(view.x, part.x, part.width, size.width),
    y: along(view.y, part.y, part.height, size.height),
    scale: view.scale,
  }
}
